//! Files that clients of Ninf-G bring along: the client configuration, and interface files of stub
//! executables.
//!
//! The GridRPC library and the `farcall` command read them with the same code.

pub mod config;
pub mod interface_files;
mod local;

pub use local::{LocalStubs, local_stubs};
