//! Calls that leave together.
//!
//! A program that keeps many short calls under way starts one for each answer that it takes, and
//! answers come in bunches. A system call for each costs it, and the server, more than the rest of
//! the call. So a call may wait for those that follow it, as long as an answer lies here that the
//! program has not taken: it will come for it. Only calls of routines that take less time than
//! anybody would notice wait like this, and whatever else the program asks of the connection sends
//! them on their way.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Calls that wait for others, at most.
const GATHERED_MAX: u32 = 16;
/// Calls of a farm that do: what a system call costs is small beside so many.
const FARMED_MAX: u32 = 64;
/// Time that the routine of a call that waits took when it ran last, at most.
const BRIEF: Duration = Duration::from_micros(100);

/// What the last call of a routine took.
#[derive(Debug)]
pub struct Pace(AtomicU64);

impl Default for Pace {
    fn default() -> Self {
        Pace(AtomicU64::new(u64::MAX))
    }
}

impl Pace {
    /// A call of the routine took so many nanoseconds.
    pub fn took(&self, nanoseconds: u64) {
        // An estimate of a neighbouring call serves as well.
        self.0.store(nanoseconds, Ordering::Relaxed);
    }

    fn is_brief(&self) -> bool {
        u128::from(self.0.load(Ordering::Relaxed)) <= BRIEF.as_nanos()
    }
}

/// Calls opened whose frames were not made yet.
#[derive(Debug, Default)]
pub struct Gathering {
    count: u32,
}

impl Gathering {
    /// Whether one more call may wait for others; it is counted if so.
    pub fn takes(&mut self, pace: &Pace) -> bool {
        let takes = self.count < GATHERED_MAX && pace.is_brief();
        self.count += u32::from(takes);
        takes
    }

    /// The same of a farm's, which sees to it that they leave soon.
    pub fn takes_farmed(&mut self) -> bool {
        let takes = self.count < FARMED_MAX;
        self.count += u32::from(takes);
        takes
    }

    /// Whether no call waits.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All leave.
    pub fn clear(&mut self) {
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(time: Duration) -> Pace {
        let pace = Pace::default();
        pace.took(time.as_nanos() as u64);
        pace
    }

    #[test]
    fn a_routine_nobody_has_called_waits_for_nothing() {
        assert!(!Gathering::default().takes(&Pace::default()));
    }

    #[test]
    fn only_brief_calls_wait() {
        let mut gathering = Gathering::default();
        assert!(!gathering.takes(&pace(BRIEF + Duration::from_nanos(1))));
        assert!(gathering.is_empty());
        assert!(gathering.takes(&pace(BRIEF)));
        assert!(!gathering.is_empty());
    }

    #[test]
    fn so_many_wait_and_no_more() {
        let mut gathering = Gathering::default();
        let pace = pace(Duration::ZERO);
        assert_eq!((0..100).filter(|_| gathering.takes(&pace)).count(), GATHERED_MAX as usize);
        gathering.clear();
        assert!(gathering.takes(&pace));
    }
}
