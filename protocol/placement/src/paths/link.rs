//! What paths lead over, and what is on its way there.

use std::collections::BTreeMap;

use farcall_base::Instant;

use crate::GrantId;

/// A transfer that lasts longer than expected has so much of its time left.
const LATE_PART: f64 = 0.1;

/// A transfer on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub bytes: f64,
    pub begun: Instant,
    pub until: Instant,
    /// Others on the link when it began.
    pub beside: f64,
}

impl Flow {
    /// What is left of it.
    fn left(&self, now: Instant) -> f64 {
        let whole = self.until.since(self.begun).as_secs_f64();
        let left = self.until.since(now).as_secs_f64();
        if whole <= 0.0 { 0.0 } else { self.bytes * (left / whole).max(LATE_PART) }
    }
}

/// What is on its way over a link.
#[derive(Debug)]
pub(super) struct Link {
    pub flows: BTreeMap<GrantId, Flow>,
    /// How much more than what is on its way now a transfer has beside it until it ends: others
    /// follow those that end.
    pub crowding: f64,
    /// What a transfer of `memo.bytes` that begins at `memo.at` has before it: of a thousand
    /// servers behind one link it is worked out once.
    pub memo: Memo,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Memo {
    at: Instant,
    bytes: f64,
    before: f64,
}

impl Default for Link {
    fn default() -> Link {
        Link { flows: BTreeMap::new(), crowding: 1.0, memo: Memo::default() }
    }
}

impl Link {
    /// Fair shares: each of the others delays a new transfer by at most as many bytes as it has.
    #[inline]
    pub fn before(&mut self, now: Instant, bytes: f64) -> f64 {
        if self.flows.is_empty() { 0.0 } else { self.before_busy(now, bytes) }
    }

    fn before_busy(&mut self, now: Instant, bytes: f64) -> f64 {
        if self.memo.at != now || self.memo.bytes != bytes {
            let before: f64 = self.flows.values().map(|flow| flow.left(now).min(bytes)).sum();
            self.memo = Memo { at: now, bytes, before: before * self.crowding };
        }
        self.memo.before
    }
}
