//! What it means that the server closes the connection.

use farcall_base::{Error, ErrorKind};

use super::Session;

impl Session {
    /// The connection ends with something that the server alone does not tell of: this says what.
    pub fn ends_with(&self, closed: fn() -> Error) {
        self.lock().closed = closed;
    }

    /// The program needs the connection no more: it is left in order, and all that waits for it ends.
    /// In a process that was forked from the owner's, nothing: it is the owner's.
    pub fn close(&self) {
        if self.is_foreign() {
            return;
        }
        let mut core = self.lock();
        if core.is_up() {
            self.advance(&mut core);
            core.caller.leave();
            core.pump();
        }
        core.die(closed_here());
        self.tell(&mut core);
    }
}

/// What a program hears that goes on with a connection which it has closed.
pub fn closed_here() -> Error {
    Error::new(ErrorKind::ConnectionLost, "call", "this connection was closed").fix("connect again")
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
