//! What it means that the server closes the connection.

use farcall_base::{Error, ErrorKind};

use super::Session;

impl Session {
    /// The connection ends with something that the server alone does not tell of: this says what.
    pub fn ends_with(&self, closed: fn() -> Error) {
        self.lock().closed = closed;
    }
}

/// What a process hears that uses the connection of the one it was forked from.
pub(super) fn forked() -> Error {
    Error::new(
        ErrorKind::ConnectionLost,
        "call",
        "this connection belongs to the parent process, before the fork",
    )
    .fix("connect again after the fork")
}

/// What it means by itself.
pub(super) fn closed() -> Error {
    Error::new(ErrorKind::ConnectionLost, "wait for the server", "the server closed the connection")
        .fix(
            "check whether the server runs and why it ended, then connect again or to another \
            server",
        )
}
