//! What a farm asks of its calls.

use std::time::{Duration, Instant};

use farcall_base::Result;
use farcall_peer::Audience;

use super::{LAST_WORD, PendingCall};
use crate::results::Outputs;

/// How a call of a farm is opened.
#[derive(Clone, Copy)]
pub(crate) struct Farmed {
    /// The farm.
    pub farm: Audience,
    /// How long to wait while the server takes no more calls.
    pub room: Duration,
}

impl PendingCall {
    /// When its owner hears that it timed out, even if the server says nothing.
    pub(crate) fn last_moment(&self) -> Option<Instant> {
        let deadline = self.deadline?;
        Some(deadline.checked_add(LAST_WORD).unwrap_or(deadline))
    }

    /// Its outcome, if that has come: what has not been received yet is left where it is.
    ///
    /// # Errors
    /// As [`PendingCall::poll`].
    pub(crate) fn outcome(&mut self) -> Result<Option<Outputs>> {
        self.collect(Some(Instant::now()))
    }
}
