//! How many threads a call gets: as many as make calls take the least time.
//!
//! The Ninf paper (section 4.2.1) compares one processor for each call with all of them for each in
//! turn. Which is better depends on how many callers there are, and on what the routine gains by
//! threads. Both are known here.

use farcall_base::Instant;

/// How crowded a server is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crowding {
    /// Processors that calls may have together.
    pub processors: u32,
    /// Calls that run or wait, the one that is decided among them: those that there are, or as many as
    /// there have been lately ([`Crowd`]).
    pub calls: f64,
}

/// What part of the mean the last call is.
const LEARNING: f64 = 0.125;
/// Nobody has come for so many times as long as a call takes: what was before counts no more.
const IDLE_TIMES: f64 = 8.0;

/// How many calls there have been lately. One that comes alone and takes all processors would let the
/// next ones wait, where others usually come while it runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crowd {
    mean: f64,
    last: Instant,
}

impl Crowd {
    /// A call comes that is expected to run so long; `calls` run or wait with it. How many are to be
    /// reckoned with.
    pub fn handle_call(&mut self, now: Instant, calls: u32, run_s: f64) -> f64 {
        let calls = f64::from(calls);
        let was_idle = now.since(self.last).as_secs_f64() > run_s * IDLE_TIMES;
        self.mean = if was_idle { calls } else { self.mean + (calls - self.mean) * LEARNING };
        self.last = now;
        self.mean.max(calls)
    }
}

/// Threads for one call. `gain` is the time of one thread over that of so many.
///
/// Callers are taken to go on calling, as in the paper's model (section 4.1): what counts is how
/// long a call takes when all of them have one running. A single burst would end sooner on average
/// one call after the other on all processors, but the next burst would wait for its end.
pub fn threads_for(crowding: Crowding, gain: impl Fn(u32) -> f64) -> u32 {
    let processors = crowding.processors.max(1);
    let calls = crowding.calls.max(1.0);
    let mut best = (f64::INFINITY, 1);
    for threads in candidates(processors) {
        let takes = response(processors, calls, threads, gain(threads));
        // More threads must be worth it: a tie goes to fewer.
        if takes < best.0 * 0.99 {
            best = (takes, threads);
        }
    }
    best.1
}

/// One, the powers of two, and all.
fn candidates(processors: u32) -> impl Iterator<Item = u32> {
    let powers = (0..32).map(|power| 1 << power).take_while(move |threads| *threads < processors);
    powers.chain([processors])
}

/// How long a call takes, in times of one that runs alone with one thread.
fn response(processors: u32, calls: f64, threads: u32, gain: f64) -> f64 {
    let at_a_time = (processors / threads).max(1);
    let waves = (calls / f64::from(at_a_time)).max(1.0);
    waves / gain.max(1e-9)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn chosen(processors: u32, calls: impl Into<f64>, parallel: f64) -> u32 {
        let calls = calls.into();
        let gain = |threads| 1.0 / (1.0 - parallel + parallel / f64::from(threads));
        threads_for(Crowding { processors, calls }, gain)
    }

    #[test]
    fn one_caller_has_all_processors_that_help() {
        assert_eq!(chosen(4, 1, 0.95), 4);
        assert_eq!(chosen(16, 1, 0.0), 1, "a routine without threads");
    }

    #[test]
    fn a_call_that_comes_alone_among_many_does_not_take_all() {
        let mut crowd = Crowd::default();
        let mut at = 1_000_000_000;
        let mut came = |crowd: &mut Crowd, after_ms: u64, calls| {
            at += after_ms * 1_000_000;
            crowd.handle_call(Instant(at), calls, 0.01)
        };
        assert_eq!(chosen(2, came(&mut crowd, 0, 1), 0.7), 2, "nobody has come yet");
        for calls in [2, 3, 4, 3, 2, 3, 4, 2] {
            came(&mut crowd, 5, calls);
        }
        assert_eq!(chosen(2, came(&mut crowd, 5, 1), 0.7), 1);
        // By and by it is alone.
        for _ in 0..16 {
            came(&mut crowd, 15, 1);
        }
        assert_eq!(chosen(2, came(&mut crowd, 15, 1), 0.7), 2);
        // So is one that comes long after the others.
        for _ in 0..20 {
            came(&mut crowd, 5, 4);
        }
        assert_eq!(chosen(2, came(&mut crowd, 1000, 1), 0.7), 2);
    }

    #[test]
    fn many_callers_have_one_each() {
        assert_eq!(chosen(4, 16, 0.7), 1);
        assert_eq!(chosen(4, 4, 0.9), 1);
    }

    #[test]
    fn between_them_processors_are_shared_out() {
        assert_eq!(chosen(16, 4, 0.9), 4);
        assert_eq!(chosen(6, 3, 0.95), 2);
    }

    #[test]
    fn no_number_of_calls_or_processors_is_too_large() {
        assert_eq!(chosen(0, 0, 0.9), 1);
        assert!(chosen(u32::MAX, u32::MAX, 0.9) >= 1);
    }
}
