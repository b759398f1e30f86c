//! Virtual time, in seconds.

use std::cmp::Ordering;
use std::time::Duration;

use farcall_base::Instant;

/// Seconds since the run's beginning; never no number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time(f64);

impl Eq for Time {}

impl Ord for Time {
    fn cmp(&self, other: &Time) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Time) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Time {
    /// The beginning.
    pub const ZERO: Time = Time(0.0);

    /// So many seconds later; a time that is no number, or too far away, is a year later.
    pub fn after(self, seconds: f64) -> Time {
        const YEAR: f64 = 3.2e7;
        Time(self.0 + if seconds.is_nan() { YEAR } else { seconds.clamp(0.0, YEAR) })
    }

    /// Seconds since an earlier time.
    pub fn since(self, earlier: Time) -> f64 {
        self.0 - earlier.0
    }

    /// Seconds since the beginning.
    pub fn seconds(self) -> f64 {
        self.0
    }

    /// As the shipped code counts. It takes the beginning for a moment long after the clock's
    /// origin.
    pub fn instant(self) -> Instant {
        Instant(1_000_000_000) + Duration::from_secs_f64(self.0)
    }
}
