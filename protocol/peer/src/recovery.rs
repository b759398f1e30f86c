//! What becomes of calls whose connection is lost, and how long it is tried to make it again.
//! Whoever owns the connection dials.

use std::error::Error as _;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Instant};

use crate::application::Reached;

/// Time for which a server may refuse connections: a restart of it, or of a tunnel to it, takes
/// less.
const REFUSED_MAX: Duration = Duration::from_secs(3);
/// Longest time for one attempt.
const ATTEMPT_MAX: Duration = Duration::from_secs(10);
/// Pauses between attempts, the first and the longest.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// What is known here of a call when its connection is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Whether all of it may have reached the server.
    pub sent_whole: bool,
    /// Whether the server had begun to answer it.
    pub answered: bool,
    /// Whether the server was asked to end it.
    pub cancelled: bool,
    /// Whether its arguments are here, so that it can be opened once more.
    pub is_ours: bool,
    /// Whether it may run twice, and nobody notices.
    pub is_idempotent: bool,
}

impl Known {
    /// How far it came.
    pub fn reached(&self) -> Reached {
        let has_left = self.sent_whole || self.answered || !self.is_ours;
        let is_cancelled = self.cancelled;
        Reached { has_left, is_answered: self.answered, is_told: false, is_cancelled }
    }
}

/// What to do with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Take it up where the server has it.
    Resume,
    /// Open it once more: it has not run, or may run twice.
    OpenAgain,
    /// It has not run, and was cancelled.
    Cancelled,
    /// It may have run, and its outcome is not to be had.
    Lost,
}

/// The connection is there again.
pub fn after_loss(call: Known) -> Fate {
    match call {
        Known { sent_whole: true, .. } => Fate::Resume,
        Known { cancelled: true, .. } => Fate::Cancelled,
        Known { is_ours: true, .. } => Fate::OpenAgain,
        // The server has all of what others sent it.
        _ => Fate::Resume,
    }
}

/// The server does not have a call; `never_ran` is its word that none of it has run.
pub fn after_refusal(call: Known, never_ran: bool) -> Fate {
    match call {
        Known { cancelled: true, answered: false, .. } => Fate::Cancelled,
        Known { is_ours: true, answered: false, is_idempotent, .. }
            if never_ran || is_idempotent =>
        {
            Fate::OpenAgain
        }
        _ => Fate::Lost,
    }
}

/// What to do after an attempt that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Try again after so long.
    Pause(Duration),
    /// The server is gone, or does not want us.
    GiveUp,
}

/// Attempts to reach a server again.
#[derive(Debug)]
pub struct Attempts {
    until: Instant,
    /// Time after which a silent server is taken for lost.
    heartbeat: Option<Duration>,
    pause: Duration,
    /// Since when it refuses connections, or takes them and says nothing.
    refused_since: Option<Instant>,
    silent_since: Option<Instant>,
}

impl Attempts {
    /// The connection was lost just now; calls wait for so long.
    pub fn new(now: Instant, keep: Duration, heartbeat: Option<Duration>) -> Attempts {
        Attempts {
            until: now + keep,
            heartbeat,
            pause: PAUSE_MIN,
            refused_since: None,
            silent_since: None,
        }
    }

    /// How long the next attempt may take.
    pub fn patience(&self, now: Instant) -> Duration {
        let silence = self.heartbeat.unwrap_or(ATTEMPT_MAX).min(ATTEMPT_MAX);
        self.until.since(now).min(silence).max(PAUSE_MIN)
    }

    /// An attempt that began then failed: `met` says whether somebody took the connection.
    pub fn failed(&mut self, error: &Error, met: bool, begun: Instant, now: Instant) -> Next {
        let is_refused = is_refused(error);
        let is_silent = met && error.kind() == ErrorKind::TimedOut;
        self.refused_since = is_refused.then(|| self.refused_since.unwrap_or(begun));
        self.silent_since = is_silent.then(|| self.silent_since.unwrap_or(begun));
        let lasts = |since: Option<Instant>| since.map(|since| now.since(since));
        let is_gone = lasts(self.refused_since).is_some_and(|time| time >= REFUSED_MAX);
        let hang_max = self.heartbeat.map(|limit| limit * 3);
        let hangs =
            lasts(self.silent_since).zip(hang_max).is_some_and(|(time, limit)| time >= limit);
        if is_gone || hangs || now >= self.until || is_final(error) {
            return Next::GiveUp;
        }
        let pause = self.pause;
        self.pause = (pause * 2).min(PAUSE_MAX);
        Next::Pause(pause.min(self.until.since(now)))
    }
}

/// Whether the host is there and nobody listens.
fn is_refused(error: &Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::ConnectionRefused)
        || error.kind() == ErrorKind::ShuttingDown
}

/// Whether trying again would end the same way.
fn is_final(error: &Error) -> bool {
    use ErrorKind::{ConnectionLost, LimitExceeded, ShuttingDown, System, TimedOut, Unreachable};
    !matches!(
        error.kind(),
        ConnectionLost | LimitExceeded | ShuttingDown | System | TimedOut | Unreachable
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(bits: u8) -> Known {
        let bit = |bit: u8| bits & (1 << bit) != 0;
        Known {
            sent_whole: bit(0),
            answered: bit(1),
            cancelled: bit(2),
            is_ours: bit(3),
            is_idempotent: bit(4),
        }
    }

    /// All that may be known: a call is opened once more only where it cannot have run, or may run
    /// twice; and never where part of an answer lies in its caller's arrays.
    #[test]
    fn no_call_runs_twice_that_may_not() {
        for call in (0..32).map(known) {
            let fate = after_loss(call);
            let expected = match (call.sent_whole, call.cancelled, call.is_ours) {
                (true, ..) => Fate::Resume,
                (false, true, _) => Fate::Cancelled,
                (false, false, true) => Fate::OpenAgain,
                (false, false, false) => Fate::Resume,
            };
            assert_eq!(fate, expected, "{call:?}");
            assert!(!(fate == Fate::OpenAgain && call.sent_whole));
            if !call.is_idempotent || call.answered || call.cancelled {
                assert_ne!(after_refusal(call, false), Fate::OpenAgain, "{call:?}");
            } else {
                assert_eq!(after_refusal(call, false), after_refusal(call, true), "{call:?}");
            }
            let expected = match (call.answered, call.cancelled, call.is_ours) {
                (true, ..) => Fate::Lost,
                (false, true, _) => Fate::Cancelled,
                (false, false, true) => Fate::OpenAgain,
                (false, false, false) => Fate::Lost,
            };
            assert_eq!(after_refusal(call, true), expected, "{call:?}");
        }
    }

    fn error(kind: ErrorKind) -> Error {
        Error::new(kind, "connect", "no")
    }

    fn refused() -> Error {
        error(ErrorKind::Unreachable)
            .source(std::io::Error::from(std::io::ErrorKind::ConnectionRefused))
    }

    /// Fails in the same way for ever; for how long it is tried, and how often.
    fn tried(
        failure: &Error,
        met: bool,
        heartbeat: Option<u64>,
        takes: Duration,
    ) -> (Duration, u32) {
        let start = Instant(0);
        let mut attempts =
            Attempts::new(start, Duration::from_secs(30), heartbeat.map(Duration::from_secs));
        let mut now = start;
        let mut count = 0;
        loop {
            let begun = now;
            now = now + takes.min(attempts.patience(now));
            count += 1;
            match attempts.failed(failure, met, begun, now) {
                Next::Pause(pause) => now = now + pause,
                Next::GiveUp => return (now.since(start), count),
            }
        }
    }

    const LONG: Duration = Duration::from_secs(100);

    #[test]
    fn a_network_that_is_down_is_waited_for() {
        for failure in
            [error(ErrorKind::TimedOut), error(ErrorKind::Unreachable), error(ErrorKind::System)]
        {
            for takes in [Duration::ZERO, LONG] {
                let (time, count) = tried(&failure, false, Some(1), takes);
                assert!(
                    time >= Duration::from_secs(30) && time < Duration::from_secs(32),
                    "{failure}: {time:?}"
                );
                assert!(count < 80, "{count}");
            }
        }
    }

    #[test]
    fn a_server_that_is_gone_is_given_up_soon() {
        let (time, _) = tried(&refused(), false, Some(30), Duration::ZERO);
        assert!(time >= REFUSED_MAX && time < Duration::from_secs(4), "{time:?}");
    }

    #[test]
    fn one_that_hangs_is_given_up_by_its_heartbeat() {
        let silent = error(ErrorKind::TimedOut);
        let (time, _) = tried(&silent, true, Some(1), LONG);
        assert!(time >= Duration::from_secs(3) && time < Duration::from_secs(5), "{time:?}");
        assert!(tried(&silent, true, Some(30), LONG).0 >= Duration::from_secs(30));
        assert!(tried(&silent, true, None, LONG).0 >= Duration::from_secs(30));
    }

    #[test]
    fn one_that_does_not_want_us_is_not_asked_again() {
        for kind in [
            ErrorKind::PermissionDenied,
            ErrorKind::Version,
            ErrorKind::Protocol,
            ErrorKind::InvalidArgument,
        ] {
            assert_eq!(tried(&error(kind), true, None, Duration::ZERO).1, 1, "{kind:?}");
        }
    }

    /// A tunnel that comes and goes is no server that is gone.
    #[test]
    fn refusals_count_in_a_row() {
        let start = Instant(0);
        let mut attempts = Attempts::new(start, Duration::from_secs(30), None);
        for second in 0..20 {
            let now = start + Duration::from_secs(second);
            let failure =
                if second % 2 == 0 { refused() } else { error(ErrorKind::ConnectionLost) };
            assert!(
                matches!(attempts.failed(&failure, true, now, now), Next::Pause(_)),
                "{second}"
            );
        }
    }
}
