//! Where a call stands in its line.

use farcall_base::Instant;

/// The smallest is first; of equals the one that came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u64);

impl Rank {
    /// By a time.
    pub fn at(time: Instant) -> Rank {
        Rank(time.0)
    }

    /// By a time, and so many seconds later.
    pub fn later(time: Instant, seconds: f64) -> Rank {
        // A number too large for 64 bits becomes the largest, and what is no number becomes 0.
        Rank(time.0.saturating_add((seconds * 1e9) as u64))
    }

    /// Behind all others.
    pub fn last() -> Rank {
        Rank(u64::MAX)
    }
}
