//! When to look for an answer again and again before going to sleep.
//!
//! A call between two idle cores costs two wake-ups, some 30 µs each, and little else. Whoever
//! polls the socket instead of sleeping saves its own. That pays only while answers come soon, and
//! from another core: where both ends share one, the server cannot answer before its client sleeps.
//! So polling stops after a few misses, and is tried again ever more seldom.

use std::time::Duration;

/// Time for which an answer is looked for.
pub const POLL: Duration = Duration::from_micros(100);
/// A gap between two checks that tells that somebody else had our core meanwhile.
pub const GAP: Duration = Duration::from_micros(20);
/// What a miss costs in hits: useless polling takes longer than a wake-up.
const MISS: u32 = 4;
/// Hits that are remembered, at most: three misses in a row end it.
const CREDIT_MAX: u32 = 3 * MISS;
/// Waits that go by before it is tried again, at first and at most.
const PAUSE_MIN: u32 = 64;
const PAUSE_MAX: u32 = 1 << 14;

/// How a try went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Try {
    /// The answer came while we looked for it.
    Hit,
    /// It had not come when time was over, or it came because our core was taken from us.
    Miss,
    /// It was there already.
    Nothing,
}

/// What was learned of one connection.
#[derive(Debug)]
pub struct Polling {
    credit: u32,
    /// Waits until the next try, while polling has stopped.
    pause: u32,
    next_pause: u32,
}

impl Default for Polling {
    fn default() -> Self {
        Polling { credit: CREDIT_MAX, pause: 0, next_pause: PAUSE_MIN }
    }
}

impl Polling {
    /// Whether to poll in the wait that begins.
    pub fn is_due(&mut self) -> bool {
        self.pause = self.pause.saturating_sub(1);
        self.pause == 0
    }

    /// Learns from a try.
    pub fn tried(&mut self, outcome: Try) {
        match outcome {
            Try::Nothing => {}
            Try::Hit => {
                self.credit = (self.credit + 1).min(CREDIT_MAX);
                if self.credit == CREDIT_MAX {
                    self.next_pause = PAUSE_MIN;
                }
            }
            Try::Miss => {
                self.credit = self.credit.saturating_sub(MISS);
                if self.credit < MISS {
                    self.pause = self.next_pause;
                    self.next_pause = (self.next_pause * 2).min(PAUSE_MAX);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tries(polling: &mut Polling, waits: u32, outcome: Try) -> u32 {
        let mut tried = 0;
        for _ in 0..waits {
            if polling.is_due() {
                polling.tried(outcome);
                tried += 1;
            }
        }
        tried
    }

    #[test]
    fn polls_as_long_as_answers_come_in_time() {
        assert_eq!(tries(&mut Polling::default(), 1000, Try::Hit), 1000);
        assert_eq!(tries(&mut Polling::default(), 1000, Try::Nothing), 1000);
    }

    #[test]
    fn stops_after_three_misses_and_tries_ever_more_seldom() {
        let mut polling = Polling::default();
        assert_eq!(tries(&mut polling, 3, Try::Miss), 3);
        assert_eq!(tries(&mut polling, PAUSE_MIN - 1, Try::Miss), 0);
        assert_eq!(tries(&mut polling, 1, Try::Miss), 1);
        assert_eq!(tries(&mut polling, 2 * PAUSE_MIN - 1, Try::Miss), 0);
        // However long it goes on, hardly any wait pays for it.
        let seldom = tries(&mut polling, 1 << 20, Try::Miss);
        assert!(seldom <= (1 << 20) / PAUSE_MAX + 10, "{seldom}");
    }

    #[test]
    fn hits_bring_it_back() {
        let mut polling = Polling::default();
        tries(&mut polling, 1000, Try::Miss);
        while !polling.is_due() {}
        assert_eq!(tries(&mut polling, 100, Try::Hit), 100);
        assert_eq!(tries(&mut polling, 100, Try::Miss), 3 + 1);
    }

    #[test]
    fn a_miss_is_dearer_than_a_hit() {
        let mut polling = Polling::default();
        let mut tried = 0;
        for _ in 0..1000 {
            tried += tries(&mut polling, 2, Try::Hit) + tries(&mut polling, 1, Try::Miss);
        }
        assert!(tried < 100, "{tried}");
    }
}
