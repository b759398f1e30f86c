//! What a host, or an administrator, has to give to calls that ask for it, and the words for what is
//! more than that.

use std::fmt::Display;

use farcall_base::{Error, ErrorKind};

/// Processors and GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Processors.
    pub cores: u32,
    /// GPUs that its manifest names.
    pub gpus: u32,
}

impl Default for Capacity {
    /// Of a spawner that does not say: it refuses by itself what it does not have.
    fn default() -> Capacity {
        Capacity { cores: u32::MAX, gpus: u32::MAX }
    }
}

/// The error for what is more than there can ever be: what was asked for, and the bound.
pub fn beyond(asked: impl Display, bound: impl Display, fix: &'static str) -> Error {
    let message = format!("{asked} requested, and {bound}");
    Error::new(ErrorKind::LimitExceeded, "start an executable", message).fix(fix)
}

/// `4 cores were`, `1 GPU was`.
pub fn counted(count: u32, one: &str) -> String {
    if count == 1 { format!("1 {one} was") } else { format!("{count} {one}s were") }
}
