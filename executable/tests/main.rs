//! The crate from outside: what it loads, builds and calls, with the machine's own compilers and
//! libraries.

#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

mod fixture;
mod from_idl;
mod invoke_c;
mod invoke_fortran;
mod lapack;
mod library;
mod linked;
