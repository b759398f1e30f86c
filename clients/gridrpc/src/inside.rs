//! The server whose call this process runs, where it runs one: a routine may itself be a client
//! (cascading calls, as in Ninf-G).

use std::sync::OnceLock;

use farcall_client::{Client, Error, ErrorKind, Result};

/// How a routine reaches its own server. The library that has the runtime of executables, too, says
/// so.
pub struct Inside {
    /// Whether a call may run in this process.
    pub runs: fn() -> bool,
    /// A connection for calls inside that call.
    pub connect: fn() -> Result<Client>,
}

static INSIDE: OnceLock<Inside> = OnceLock::new();

/// Says how routines reach their server, once for this process.
pub fn set(inside: Inside) {
    // Said twice, it is the same.
    let _ = INSIDE.set(inside);
}

/// Whether a call may run in this process.
pub(crate) fn runs() -> bool {
    INSIDE.get().is_some_and(|inside| (inside.runs)())
}

pub(crate) fn connect() -> Result<Client> {
    let nowhere = || {
        Error::new(
            ErrorKind::Unavailable,
            "ask for the running server",
            "this process does not run routines",
        )
    };
    INSIDE.get().ok_or_else(nowhere).and_then(|inside| (inside.connect)())
}
