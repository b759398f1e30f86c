//! Time and randomness as arguments: pure code never reads a clock or draws a number itself.

use std::fmt;
use std::ops::Add;
use std::sync::OnceLock;
use std::time::Duration;

/// A point in time, in nanoseconds since an origin that only its clock knows. Virtual in
/// simulation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(pub u64);

impl Instant {
    /// Time since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Instant(self.0.saturating_add(nanos))
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", Duration::from_nanos(self.0))
    }
}

/// Tells the time.
pub trait Clock {
    /// Now; never goes back.
    fn now(&self) -> Instant;
}

/// The machine's monotonic clock. All of one process agree, so that a time may travel from one
/// plugin to another.
#[derive(Debug)]
pub struct SystemClock {
    origin: std::time::Instant,
}

impl SystemClock {
    /// A clock whose origin is the making of the process's first one.
    pub fn new() -> Self {
        static ORIGIN: OnceLock<std::time::Instant> = OnceLock::new();
        SystemClock { origin: *ORIGIN.get_or_init(std::time::Instant::now) }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Draws random numbers.
pub trait Random {
    /// 64 random bits.
    fn next(&mut self) -> u64;

    /// 16 random bytes: a call id.
    fn bytes16(&mut self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.next().to_le_bytes());
        bytes[8..].copy_from_slice(&self.next().to_le_bytes());
        bytes
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): repeatable numbers for simulation, ids and fuzz loops. Not
/// for secrets.
#[derive(Clone, Debug)]
pub struct SeededRandom(u64);

impl SeededRandom {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Self {
        SeededRandom(seed)
    }
}

impl Random for SeededRandom {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
