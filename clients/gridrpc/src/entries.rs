//! The entries of GridRPC: what C calls. Each reads what it is given, asks the logic, and writes
//! the answer where C wants it. No other file needs one of these.

mod attributes;
mod context;
mod errors;
mod fortran;
mod handles;
mod information;
mod places;
mod requests;
mod signals;
mod stack_calls;
mod stacks;
mod waiting;
