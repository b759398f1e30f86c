//! Whether the server is still there: while somebody waits and nothing moves, it is asked for a
//! sign of life.
//!
//! A server that ended closes its connections, which is noticed at once. One that hangs or was
//! stopped, or whose machine or network is gone, closes nothing: its client would wait for ever. A
//! program that waits for nothing asks for nothing.

use std::time::Duration;

use farcall_base::{Error, ErrorKind, Instant, Result};

/// The variable with the time in seconds; 0: no limit.
pub const VARIABLE: &str = "FARCALL_HEARTBEAT";
/// Long enough for a question to pass what a slow network has queued before it.
const DEFAULT: Duration = Duration::from_secs(30);
/// The sign of life is asked for after this part of the time.
const PART: u32 = 3;
/// The answer is waited for in so many steps. One that takes much longer than it should is no
/// silence of the server's: this process stood still, or its machine, and perhaps the server with
/// it.
const STEPS: u32 = 8;

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulse {
    /// Nothing, for so long at most; `None`: there is no limit.
    Wait(Option<Duration>),
    /// Ask for a sign of life, and look again.
    Ask,
    /// The server has been silent for too long.
    Gone,
}

/// What is known of one connection.
#[derive(Debug)]
pub struct Heartbeat {
    /// Time without a sign of life after which a server is given up.
    limit: Option<Duration>,
    /// Bytes that had gone either way when the silence began.
    moved: u64,
    since: Option<Instant>,
    /// When the sign of life was asked for, or the network came closer to delivering the question.
    asked: Option<Instant>,
    /// When the current wait ends.
    until: Option<Instant>,
    /// Bytes that were on their way then, the question last.
    in_transit: u64,
}

/// What a variable says in seconds, or what holds without it; what is wrong with it.
pub fn seconds(text: Option<&str>, default: Duration) -> std::result::Result<Duration, String> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(default);
    };
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| format!("{text:?} is not a number of seconds"))
}

fn given(text: Option<&str>) -> Result<Duration> {
    seconds(text, DEFAULT).map_err(|message| {
        Error::new(ErrorKind::InvalidArgument, "set the heartbeat", message)
            .fix("write seconds, such as 30, or 0 for no limit")
            .with("variable", VARIABLE)
    })
}

impl Heartbeat {
    /// With the time limit that the variable has, in seconds.
    ///
    /// # Errors
    /// `InvalidArgument` when that is no number of seconds.
    pub fn new(text: Option<&str>) -> Result<Heartbeat> {
        let mut heart = Heartbeat {
            limit: None,
            moved: 0,
            since: None,
            asked: None,
            until: None,
            in_transit: 0,
        };
        heart.limit(given(text)?);
        Ok(heart)
    }

    /// Another time limit; zero: none.
    pub fn limit(&mut self, limit: Duration) {
        self.limit = (!limit.is_zero()).then_some(limit);
    }

    /// The time limit, if there is one.
    pub fn time_limit(&self) -> Option<Duration> {
        self.limit
    }

    /// Another connection: its silence has not begun.
    pub fn restart(&mut self) {
        (self.moved, self.since, self.asked) = (0, None, None);
    }

    /// Looks whether anything moved: `moved` counts bytes of both directions, and whoever looks is
    /// about to wait.
    pub fn look(&mut self, moved: u64, now: Instant) -> Pulse {
        let Some(limit) = self.limit else { return Pulse::Wait(None) };
        if self.moved != moved {
            (self.moved, self.since, self.asked) = (moved, None, None);
        }
        // Time in which nobody waited counts, but for the answer: that is waited for from the
        // question on.
        let (begun, limit, step) = match self.asked {
            None => (*self.since.get_or_insert(now), limit / PART, limit),
            Some(_) => {
                let limit = limit - limit / PART;
                let step = limit / STEPS;
                (self.asked_but_for_standstills(now, step), limit, step)
            }
        };
        let silent = now.since(begun);
        match limit.checked_sub(silent).filter(|left| !left.is_zero()) {
            Some(left) => Pulse::Wait(Some(left.min(step))),
            None if self.asked.is_none() => Pulse::Ask,
            None => Pulse::Gone,
        }
    }

    /// When the question would have been asked if no wait since had taken longer than it should.
    fn asked_but_for_standstills(&mut self, now: Instant, step: Duration) -> Instant {
        let late = self.until.take().map_or(Duration::ZERO, |until| now.since(until));
        let stood = if late > step { late } else { Duration::ZERO };
        let asked = self.asked.unwrap_or(now) + stood;
        self.asked = Some(asked);
        asked
    }

    /// Whoever looked waits for so long at most, if it waits at all.
    pub fn waits(&mut self, pause: Option<Duration>, now: Instant) {
        self.until = pause.filter(|pause| !pause.is_zero()).map(|pause| now + pause);
    }

    /// Whether an answer is awaited.
    pub fn awaits_answer(&self) -> bool {
        self.asked.is_some()
    }

    /// The question is on its way, and counts among what moved; so many bytes are before the other
    /// end, it among them.
    pub fn asked(&mut self, moved: u64, in_transit: u64, now: Instant) {
        (self.moved, self.asked, self.in_transit) = (moved, Some(now), in_transit);
    }

    /// So many bytes are before the other end now. While there are fewer and fewer, the question
    /// has not come there yet, and no answer is due: the network is slow, and delivers.
    pub fn delivering(&mut self, in_transit: u64, now: Instant) {
        if let Some(asked) = self.asked.as_mut().filter(|_| in_transit < self.in_transit) {
            (*asked, self.in_transit) = (now, in_transit);
        }
    }

    /// Why the connection ends.
    pub fn silence(&self) -> Error {
        let limit = self.limit.unwrap_or(DEFAULT).as_secs_f64();
        Error::new(
            ErrorKind::ConnectionLost,
            "wait for the server",
            format!(
                "the server was silent for {limit} s: it hangs, was stopped, or its machine \
                or network failed"
            ),
        )
        .fix(format!(
            "check whether it runs, connect again or to another server; \
            {VARIABLE}=SECONDS waits longer"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    fn beating() -> (Heartbeat, Instant) {
        (
            Heartbeat {
                limit: Some(LIMIT),
                moved: 0,
                since: None,
                asked: None,
                until: None,
                in_transit: 0,
            },
            Instant(0),
        )
    }

    #[test]
    fn asks_in_time_and_gives_up_in_the_end() {
        let (mut heart, start) = beating();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(heart.look(5, start), Pulse::Wait(Some(Duration::from_secs(10))));
        assert_eq!(heart.look(5, at(4)), Pulse::Wait(Some(Duration::from_secs(6))));
        assert_eq!(heart.look(5, at(10)), Pulse::Ask);
        heart.asked(29, 0, at(10));
        for second in (10..30).step_by(2) {
            let step = Duration::from_millis(2500);
            let left = Duration::from_secs(30 - second);
            assert_eq!(heart.look(29, at(second)), Pulse::Wait(Some(left.min(step))), "{second}");
        }
        assert_eq!(heart.look(29, at(30)), Pulse::Gone);
    }

    #[test]
    fn a_machine_that_stood_still_is_no_silence() {
        let (mut heart, start) = beating();
        let at = |seconds| start + Duration::from_secs(seconds);
        heart.look(5, start);
        assert_eq!(heart.look(5, at(10)), Pulse::Ask);
        heart.asked(29, 0, at(10));
        let pause = Some(Duration::from_millis(2500));
        assert_eq!(heart.look(29, at(10)), Pulse::Wait(pause));
        // A wait of 2.5 s took an hour: it counts as what it should have taken.
        heart.waits(pause, at(10));
        assert_eq!(heart.look(29, at(3610)), Pulse::Wait(pause));
        // Whoever does something else meanwhile and only looks now and then does not wait.
        heart.waits(Some(Duration::ZERO), at(3610));
        assert_eq!(heart.look(29, at(3700)), Pulse::Gone);
    }

    #[test]
    fn whatever_moves_is_a_sign_of_life() {
        let (mut heart, start) = beating();
        for second in 0..1000 {
            let pulse = heart.look(second / 9, start + Duration::from_secs(second));
            assert!(matches!(pulse, Pulse::Wait(_)), "{second}: {pulse:?}");
        }
    }

    #[test]
    fn a_question_that_is_on_its_way_is_waited_for() {
        let (mut heart, start) = beating();
        let at = |seconds| start + Duration::from_secs(seconds);
        heart.look(5, start);
        assert_eq!(heart.look(5, at(10)), Pulse::Ask);
        heart.asked(29, 4000, at(10));
        for (seconds, in_transit) in [(30, 3000), (50, 1), (70, 0)] {
            assert_eq!(heart.look(29, at(seconds)), Pulse::Gone);
            heart.delivering(in_transit, at(seconds));
            assert!(matches!(heart.look(29, at(seconds)), Pulse::Wait(_)));
        }
        // It has come there; nothing else that the network delivers is an answer.
        heart.delivering(0, at(90));
        assert_eq!(heart.look(29, at(90)), Pulse::Gone);
    }

    #[test]
    fn time_in_which_nobody_waited_ends_no_connection() {
        let (mut heart, start) = beating();
        heart.look(5, start);
        let much_later = start + Duration::from_secs(3600);
        assert_eq!(heart.look(5, much_later), Pulse::Ask);
        heart.asked(29, 0, much_later);
        assert!(matches!(heart.look(29, much_later), Pulse::Wait(_)));
    }

    #[test]
    fn the_variable_has_seconds_and_nonsense_is_refused() {
        let known = |text| given(text).expect("a number of seconds");
        assert_eq!(known(Some(" 2.5 ")), Duration::from_millis(2500));
        assert_eq!(
            (known(Some("0")), known(Some("")), known(None)),
            (Duration::ZERO, DEFAULT, DEFAULT)
        );
        for text in ["soon", "5s", "-1", "1e300", "NaN", "inf"] {
            let error = given(Some(text)).expect_err(text).to_string();
            assert!(
                error.contains("not a number of seconds") && error.contains(VARIABLE),
                "{error}"
            );
        }
    }
}
