//! Whether an argument is worth compressing: a state machine of what the stream takes and what
//! trials gave.
//!
//! The rate of the stream is what it took between two moments at which it was full: what it takes
//! when it is not full goes into buffers and tells nothing. It is unknown at first, and bytes leave
//! as they are. The fastest of the last windows counts: a peer that does not get the processor for
//! a while makes a fast stream look slow, not the other way round.

use std::collections::VecDeque;
use std::time::Duration;

use farcall_base::{ChannelId, Instant};
use farcall_wire::FrameHeader;

/// Frames that are compressed, or might be soon, stand for at most so many bytes: they fit in the
/// processor's cache, and a wrong decision does not last.
pub const CHUNK_BYTES: u32 = 256 << 10;
/// Time over which a rate is measured, at least.
const WINDOW: Duration = Duration::from_millis(20);
/// Bytes after which it is known earlier: on the fastest streams large arrays leave in less time,
/// each after a pause.
const WINDOW_BYTES: u64 = BUFFERS_BYTES_MAX;
/// Windows that are remembered, and those without which nothing is known.
const WINDOWS_MAX: usize = 4;
const WINDOWS_MIN: usize = 2;
/// Time without anything to send after which the stream's buffers may have run empty.
const GAP: Duration = Duration::from_millis(5);
/// Bytes a second at which nothing is tried: more than 1 Gbit/s. TLS on a busy loopback takes 300
/// MB/s, and everything on one where each core is wanted by several processes less than 200 MB/s at
/// times: there both ends have better to do.
const FAST: f64 = 130e6;
/// What compressing must be faster than sending by: the other end has work with it, too, and
/// perhaps no core to spare.
const MARGIN: f64 = 3.0;
/// Part of a chunk that may be left for it to be worth it.
const LEFT_MAX: f64 = 0.9;
/// Bytes of an argument that leave as they are before it is tried again.
const REST_BYTES: u64 = 4 << 20;
/// Bytes that leave compressed without the stream being full once after which its rate is measured
/// again: it must be faster than was thought.
const DOUBT_BYTES: u64 = BUFFERS_BYTES_MAX;
/// More than the system's buffers hold.
const BUFFERS_BYTES_MAX: u64 = 8 << 20;
/// Arguments that are remembered: as many as leave at a time, in turn.
const ARGUMENTS_MAX: usize = 16;

/// An argument of a call on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    channel: ChannelId,
    slot: u16,
}

impl Argument {
    /// The one that a data frame belongs to.
    pub fn of(header: &FrameHeader) -> Argument {
        Argument { channel: header.channel, slot: header.slot }
    }
}

/// What to do with a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Send it as it is.
    Raw,
    /// Try a sample of it.
    Sample,
    /// Compress it.
    Compress {
        /// Bytes of an element to shuffle by.
        width: u8,
    },
}

/// What compressing gave.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// Bytes before.
    pub bytes: u64,
    /// Bytes after.
    pub left: u64,
    /// Time it took.
    pub time: Duration,
}

impl Trial {
    fn speed(&self) -> f64 {
        self.bytes as f64 / self.time.as_secs_f64().max(1e-9)
    }

    fn part_left(&self) -> f64 {
        self.left as f64 / self.bytes.max(1) as f64
    }
}

/// What is known of the stream.
#[derive(Debug, Default)]
struct Meter {
    /// When it was full, and what it took since.
    full_at: Option<Instant>,
    taken: u64,
    /// When everything had left.
    drained_at: Option<Instant>,
    /// Rates of the last windows, in bytes a second.
    rates: VecDeque<f64>,
}

impl Meter {
    fn is_full(&mut self, now: Instant) {
        // Whatever was empty for long took more at once than it passes on.
        let starved = self.drained_at.take().is_some_and(|drained| now.since(drained) > GAP);
        let Some(full_at) = self.full_at.filter(|_| !starved) else {
            (self.full_at, self.taken) = (Some(now), 0);
            return;
        };
        let time = now.since(full_at);
        if self.taken >= WINDOW_BYTES || (time >= WINDOW && self.taken > 0) {
            self.rates.truncate(WINDOWS_MAX - 1);
            self.rates.push_front(self.taken as f64 / time.as_secs_f64().max(1e-9));
            (self.full_at, self.taken) = (Some(now), 0);
        }
    }

    fn rate(&self) -> Option<f64> {
        let known = self.rates.len() >= WINDOWS_MIN;
        known.then(|| self.rates.iter().copied().fold(0.0, f64::max))
    }
}

#[derive(Clone, Copy, Debug)]
enum State {
    Compress { width: u8 },
    Rest { left: u64 },
}

/// See the file's documentation.
#[derive(Debug)]
pub struct Chooser {
    meter: Meter,
    arguments: VecDeque<(Argument, State)>,
    /// Bytes sent compressed since the stream was full.
    unchecked: u64,
}

impl Chooser {
    /// Knows nothing.
    pub fn new() -> Chooser {
        Chooser { meter: Meter::default(), arguments: VecDeque::new(), unchecked: 0 }
    }

    /// The stream took so many bytes.
    pub fn took(&mut self, bytes: u64) {
        self.meter.taken += bytes;
    }

    /// The stream takes no more for now.
    pub fn is_full(&mut self, now: Instant) {
        self.unchecked = 0;
        self.meter.is_full(now);
    }

    /// Whether the time counts at which everything has left.
    pub fn is_measuring(&self) -> bool {
        self.meter.full_at.is_some() && self.meter.drained_at.is_none()
    }

    /// Everything has left.
    pub fn is_drained(&mut self, now: Instant) {
        self.meter.drained_at.get_or_insert(now);
    }

    /// Whether the stream is known to be slow enough for compression to gain.
    pub fn is_slow(&self) -> bool {
        self.meter.rate().is_some_and(|rate| rate < FAST)
    }

    /// The longest frame that should be made now.
    pub fn frame_bytes_max(&self) -> u32 {
        if self.meter.rate().is_some_and(|rate| rate >= FAST) { u32::MAX } else { CHUNK_BYTES }
    }

    /// What to do with the next chunk of an argument.
    pub fn choose(&mut self, argument: Argument, bytes: u32) -> Choice {
        if !self.is_slow() {
            return Choice::Raw;
        }
        let Some((_, state)) = self.arguments.iter_mut().find(|(known, _)| *known == argument)
        else {
            return Choice::Sample;
        };
        match state {
            State::Compress { width } => Choice::Compress { width: *width },
            State::Rest { left: 0 } => Choice::Sample,
            State::Rest { left } => {
                *left = left.saturating_sub(bytes.into());
                Choice::Raw
            }
        }
    }

    /// What a sample gave, shuffled by `width`; true when the chunk is to be compressed so.
    pub fn sampled(&mut self, argument: Argument, width: u8, trial: &Trial) -> bool {
        let gains = self.gains(trial);
        self.set(
            argument,
            if gains { State::Compress { width } } else { State::Rest { left: REST_BYTES } },
        );
        gains
    }

    /// What a chunk gave; true when it is to be sent so.
    pub fn compressed(&mut self, argument: Argument, trial: &Trial) -> bool {
        if !self.gains(trial) {
            self.set(argument, State::Rest { left: REST_BYTES });
        }
        let is_sent = trial.part_left() <= LEFT_MAX;
        if is_sent {
            self.unchecked += trial.left;
        }
        if self.unchecked > DOUBT_BYTES {
            (self.meter, self.unchecked) = (Meter::default(), 0);
        }
        is_sent
    }

    /// Is the time that is saved on the stream worth that of compressing?
    fn gains(&self, trial: &Trial) -> bool {
        let saved = 1.0 - trial.part_left();
        trial.part_left() <= LEFT_MAX
            && self.meter.rate().is_some_and(|rate| rate * MARGIN < trial.speed() * saved)
    }

    fn set(&mut self, argument: Argument, state: State) {
        self.arguments.retain(|(known, _)| *known != argument);
        if self.arguments.len() == ARGUMENTS_MAX {
            self.arguments.pop_front();
        }
        self.arguments.push_back((argument, state));
    }

    /// An argument has left: the next under its number is another.
    pub fn forget(&mut self, argument: Argument) {
        self.arguments.retain(|(known, _)| *known != argument);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: u64 = CHUNK_BYTES as u64;
    const ARGUMENT: Argument = Argument { channel: ChannelId(1), slot: 0 };

    /// A chooser whose stream takes so many bytes a second, after so many full windows.
    fn at_rate(rates: &[f64]) -> Chooser {
        let mut chooser = Chooser::new();
        let mut now = Instant(1);
        chooser.is_full(now);
        for rate in rates {
            chooser.took((rate * WINDOW.as_secs_f64()) as u64);
            now = now + WINDOW;
            chooser.is_full(now);
        }
        chooser
    }

    /// A chunk compressed at `speed` bytes a second, of which a part is left.
    fn trial(speed: f64, left: f64) -> Trial {
        let time = Duration::from_secs_f64(CHUNK as f64 / speed);
        Trial { bytes: CHUNK, left: (CHUNK as f64 * left) as u64, time }
    }

    #[test]
    fn nothing_is_tried_before_the_rate_is_known() {
        for rates in [&[][..], &[12.5e6]] {
            let mut chooser = at_rate(rates);
            assert_eq!(chooser.choose(ARGUMENT, CHUNK_BYTES), Choice::Raw);
            assert_eq!(chooser.frame_bytes_max(), CHUNK_BYTES, "small steps until it is known");
        }
    }

    #[test]
    fn a_slow_stream_is_compressed_for() {
        let mut chooser = at_rate(&[12.5e6, 12.5e6]);
        assert_eq!(chooser.choose(ARGUMENT, CHUNK_BYTES), Choice::Sample);
        assert!(chooser.sampled(ARGUMENT, 8, &trial(1e9, 0.8)));
        assert_eq!(chooser.choose(ARGUMENT, CHUNK_BYTES), Choice::Compress { width: 8 });
        assert!(chooser.compressed(ARGUMENT, &trial(1e9, 0.8)));
        // Another argument is another matter.
        assert_eq!(chooser.choose(Argument { slot: 1, ..ARGUMENT }, CHUNK_BYTES), Choice::Sample);
        chooser.forget(ARGUMENT);
        assert_eq!(chooser.choose(ARGUMENT, CHUNK_BYTES), Choice::Sample);
    }

    #[test]
    fn a_fast_stream_is_not_even_sampled_for() {
        let mut chooser = at_rate(&[2e9, 2e9]);
        assert_eq!(chooser.choose(ARGUMENT, CHUNK_BYTES), Choice::Raw);
        assert_eq!(chooser.frame_bytes_max(), u32::MAX);
    }

    #[test]
    fn a_few_slow_windows_do_not_make_a_stream_slow() {
        let mut chooser = at_rate(&[2e9, 1e6, 1e6, 1e6]);
        assert_eq!(chooser.choose(ARGUMENT, CHUNK_BYTES), Choice::Raw);
        let mut chooser = at_rate(&[2e9, 1e6, 1e6, 1e6, 1e6]);
        assert_eq!(chooser.choose(ARGUMENT, CHUNK_BYTES), Choice::Sample);
    }

    #[test]
    fn a_fast_stream_is_known_by_arrays_that_leave_within_a_window() {
        let mut chooser = Chooser::new();
        let mut now = Instant(1);
        for _ in 0..3 {
            // 10 MB in 10 ms, after a pause.
            chooser.is_full(now);
            chooser.took(10_000_000);
            chooser.is_full(now + Duration::from_millis(10));
            chooser.is_drained(now + Duration::from_millis(11));
            now = now + Duration::from_millis(100);
        }
        assert_eq!(chooser.frame_bytes_max(), u32::MAX);
    }

    #[test]
    fn between_slow_and_fast_the_gain_decides() {
        // 100 MB/s: compressing 1 GB/s to a half saves more than it costs, to 0.85 it does not.
        let mut chooser = at_rate(&[100e6, 100e6]);
        assert!(chooser.sampled(ARGUMENT, 8, &trial(1e9, 0.5)));
        assert!(!chooser.sampled(ARGUMENT, 8, &trial(1e9, 0.85)));
        assert!(!chooser.sampled(ARGUMENT, 8, &trial(500e6, 0.5)));
    }

    #[test]
    fn what_does_not_shrink_rests_and_is_tried_again() {
        let mut chooser = at_rate(&[1e6, 1e6]);
        assert!(!chooser.sampled(ARGUMENT, 1, &trial(1e9, 0.95)));
        for _ in 0..REST_BYTES / CHUNK {
            assert_eq!(chooser.choose(ARGUMENT, CHUNK_BYTES), Choice::Raw);
        }
        assert_eq!(chooser.choose(ARGUMENT, CHUNK_BYTES), Choice::Sample);
        // A chunk in the middle that is worse than the sample was leaves as it is.
        assert!(chooser.sampled(ARGUMENT, 8, &trial(1e9, 0.5)));
        assert!(!chooser.compressed(ARGUMENT, &trial(1e9, 0.95)));
        assert_eq!(chooser.choose(ARGUMENT, CHUNK_BYTES), Choice::Raw);
    }

    #[test]
    fn a_stream_that_is_never_full_is_measured_anew() {
        let mut chooser = at_rate(&[12.5e6, 12.5e6]);
        let chunks = DOUBT_BYTES / (CHUNK / 2);
        for _ in 0..=chunks {
            assert!(chooser.is_slow());
            chooser.compressed(ARGUMENT, &trial(1e9, 0.5));
        }
        assert_eq!(chooser.choose(ARGUMENT, CHUNK_BYTES), Choice::Raw);
        // One that is full now and then is as slow as ever.
        let mut chooser = at_rate(&[12.5e6, 12.5e6]);
        for _ in 0..=2 * chunks {
            chooser.compressed(ARGUMENT, &trial(1e9, 0.5));
            chooser.is_full(Instant(1) + 2 * WINDOW);
        }
        assert!(chooser.is_slow());
    }

    #[test]
    fn time_without_anything_to_send_is_not_measured() {
        let mut chooser = Chooser::new();
        let mut now = Instant(1);
        for _ in 0..10 {
            chooser.is_full(now);
            chooser.took(1000);
            chooser.is_drained(now);
            now = now + 2 * WINDOW;
        }
        assert!(
            !chooser.is_slow(),
            "a program that sends little now and then says nothing of its network"
        );
    }

    #[test]
    fn few_arguments_are_remembered() {
        let mut chooser = at_rate(&[1e6, 1e6]);
        for slot in 0..1000 {
            chooser.sampled(Argument { slot, ..ARGUMENT }, 8, &trial(1e9, 0.5));
        }
        assert_eq!(chooser.arguments.len(), ARGUMENTS_MAX);
    }
}
