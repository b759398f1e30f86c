//! What it means that the server closes the connection.

use farcall_base::{Error, ErrorKind};

use super::Session;

impl Session {
    /// The connection ends with something that the server alone does not tell of: this says what.
    pub fn ends_with(&self, closed: fn() -> Error) {
        self.lock().closed = closed;
    }
}

/// What it means by itself.
pub(super) fn closed() -> Error {
    Error::new(ErrorKind::ConnectionLost, "wait for the server", "the server closed the connection")
        .fix("see whether it runs, and why it ended if it does not; then connect again, or to another server")
}
