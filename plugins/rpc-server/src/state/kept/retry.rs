//! When outcomes are tried again that could not be written to the results folder.

use std::time::Duration;

use farcall_base::Instant;

/// Time after which the first try comes, and the longest that this becomes.
const RETRY_FIRST: Duration = Duration::from_millis(500);
const RETRY_MAX: Duration = Duration::from_secs(4);

/// When, and how long after the next failure.
#[derive(Debug, Default)]
pub struct Retry {
    at: Option<Instant>,
    after: Duration,
}

impl Retry {
    /// When.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.at
    }

    /// One could not be written.
    pub(crate) fn failed(&mut self, now: Instant) {
        let after = self.after.max(RETRY_FIRST);
        self.after = (2 * after).min(RETRY_MAX);
        self.at = Some(now + after);
    }

    /// One was: there may be room for another.
    pub(crate) fn succeeded(&mut self, now: Instant) {
        self.after = RETRY_FIRST;
        if self.at.is_some() {
            self.at = Some(now);
        }
    }

    /// Whether it is time.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        self.at.take_if(|at| *at <= now).is_some()
    }

    /// One is being tried. The next is, should the answer be long in coming; and when it is here.
    pub(crate) fn begins(&mut self, now: Instant) {
        self.at = Some(now + RETRY_MAX);
    }
}
