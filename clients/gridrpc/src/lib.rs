//! GridRPC (GFD-R.052 with Ninf-G's extensions) over the Rust client: what `include/grpc.h`
//! declares.
//!
//! The header is the contract, and every `unsafe` here leans on it. Variadic entries are C
//! (`variadic.c`): they hand their arguments over one by one, as [`calling`] asks for them. The
//! entries are in [`entries`]; no other file needs them. What the words mean: a *context* is
//! everything between `grpc_initialize` and `grpc_finalize`; a *handle* names a routine at a
//! server; a *session* is an asynchronous call.

#![allow(clippy::missing_safety_doc)] // grpc.h says what callers promise

mod attributes;
mod calling;
mod clock;
mod code;
mod communication;
mod connecting;
mod context;
mod debugging;
mod ending;
mod entries;
mod entry;
mod fortran;
mod handles;
mod held;
mod information;
pub mod inside;
mod log;
mod ninf;
mod numbers;
mod own;
mod pointers;
mod printing;
mod progress;
mod servers;
mod sessions;
mod signals;
mod stacks;
mod transfers;
mod waiting;
mod within;
