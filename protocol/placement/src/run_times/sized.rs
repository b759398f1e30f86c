//! What calls of exactly one size have of their own on each server.

use crate::MemberId;
use crate::forecast::Forecast;

/// So many measurements count as much as none: the second call of a size knows nearly all.
const DOUBT: f64 = 0.5;

/// One size of a routine on one server.
#[derive(Clone, Debug)]
pub struct SizedOnServer {
    /// The server.
    pub member: MemberId,
    left: Forecast,
    /// What it multiplies the time of a run by.
    factor: f64,
}

impl SizedOnServer {
    /// After its first run.
    pub fn first(member: MemberId, left: f64) -> SizedOnServer {
        let mut sized = SizedOnServer { member, left: Forecast::default(), factor: 1.0 };
        sized.observe(left);
        sized
    }

    /// A run; `left` is what all else did not explain of its logarithm.
    pub fn observe(&mut self, left: f64) {
        self.left.observe(left);
        self.factor = self.log().exp();
    }

    /// What it adds to the logarithm, as far as it is to be believed after so few runs.
    pub fn log(&self) -> f64 {
        let seen = self.left.seen() as f64;
        self.left.value().unwrap_or_default() * seen / (seen + DOUBT)
    }

    /// How often it ran.
    pub fn seen(&self) -> u64 {
        self.left.seen()
    }

    /// What its forecasts are wrong by.
    pub fn error(&self) -> Option<f64> {
        self.left.error()
    }
}

/// Servers that ran one size, read in the order of their numbers.
#[derive(Clone, Copy, Debug)]
pub struct OfSize<'r> {
    left: &'r [SizedOnServer],
}

impl<'r> OfSize<'r> {
    /// All of them.
    pub fn new(left: &'r [SizedOnServer]) -> OfSize<'r> {
        OfSize { left }
    }

    /// What a server multiplies the time by; servers are asked for in the order of their numbers.
    pub fn factor(&mut self, member: MemberId) -> f64 {
        while let Some((first, others)) = self.left.split_first() {
            if first.member > member {
                return 1.0;
            }
            self.left = others;
            if first.member == member {
                return first.factor;
            }
        }
        1.0
    }
}
