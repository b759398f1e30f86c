//! One way, in one direction: how fast it was, and what is expected of it.

use super::{Direction, LearnedPath, Transfer};
use crate::forecast::Forecast;

/// Transfers of fewer bytes tell the latency and not the rate.
const RATE_BYTES: f64 = 65_536.0;
/// What is assumed of a path that nobody used: a local network of today.
const UNKNOWN_RATE: f64 = 1e8;
const UNKNOWN_LATENCY: f64 = 0.0005;
/// Between processes of one site.
const SITE_RATE: f64 = 2e9;
const SITE_LATENCY: f64 = 0.0001;

/// From one site to another.
#[derive(Debug)]
pub(super) struct Path {
    pub latency: Forecast,
    alone: Forecast,
    shared: Forecast,
    pub link: usize,
    /// What the forecasts say, ready for a thousand questions.
    pub now: Expected,
}

/// What is expected of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    pub latency_s: f64,
    /// Seconds for each byte of a stream that is alone.
    alone_s: f64,
    /// Seconds for each byte of all streams together.
    pub shared_s: f64,
}

impl Path {
    pub fn new(direction: Direction, link: usize) -> Path {
        Path {
            latency: Forecast::default(),
            alone: Forecast::default(),
            shared: Forecast::default(),
            link,
            now: Expected::guess(direction),
        }
    }

    pub fn observe(&mut self, transfer: &Transfer) {
        if transfer.bytes < RATE_BYTES {
            return self.latency.observe(transfer.seconds);
        }
        let latency = self.latency.value().unwrap_or_default();
        let moving = (transfer.seconds - latency).max(transfer.seconds * 0.1).max(1e-9);
        let rate = transfer.bytes / moving;
        if transfer.beside < 0.5 {
            self.alone.observe(rate);
        } else {
            self.shared.observe(rate * (1.0 + transfer.beside));
        }
    }

    pub fn expect(&mut self, direction: Direction) {
        let guess = Expected::guess(direction);
        let alone = self.alone.value().or(self.shared.value()).map(|rate| 1.0 / rate.max(1.0));
        let alone_s = alone.unwrap_or(guess.alone_s);
        let shared = self.shared.value().map_or(alone_s, |rate| 1.0 / rate.max(1.0));
        let latency_s = self.latency.value().unwrap_or(guess.latency_s);
        // All together are never slower than one alone.
        self.now = Expected { latency_s, alone_s, shared_s: shared.min(alone_s) };
    }

    /// Transfers that told its rate.
    pub fn seen(&self) -> u64 {
        self.alone.seen() + self.shared.seen()
    }

    /// What was measured.
    pub fn learned(&self) -> LearnedPath {
        let rate = self.alone.value().or(self.shared.value());
        LearnedPath { rate, latency_s: self.latency.value() }
    }

    /// What forecasts of its rate are wrong by, as a part of it.
    pub fn error(&self) -> Option<f64> {
        let series =
            if self.shared.seen() > self.alone.seen() { &self.shared } else { &self.alone };
        Some(series.error()? / series.value()?.max(1.0))
    }
}

impl Expected {
    /// What is assumed of a path that nobody used.
    pub fn guess(direction: Direction) -> Expected {
        let is_one_site = direction.from == direction.to;
        let rate = if is_one_site { SITE_RATE } else { UNKNOWN_RATE };
        let latency_s = if is_one_site { SITE_LATENCY } else { UNKNOWN_LATENCY };
        Expected { latency_s, alone_s: 1.0 / rate, shared_s: 1.0 / rate }
    }

    pub fn seconds(&self, bytes: f64, before: f64) -> f64 {
        self.latency_s + (bytes * self.alone_s).max((bytes + before) * self.shared_s)
    }
}
