//! The ways between sites: how fast they were, and what is on its way.
//!
//! A path leads from one site to another; each direction is one of its own. Its rate is learned
//! from transfers alone and from transfers beside others: one stream may not fill a link that many
//! share. Transfers that were granted count against their link until they are seen to end, so that
//! a hundred callers do not all choose the link that is free now.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use farcall_base::Instant;

use crate::forecast::Forecast;
use crate::limits::Limits;
use crate::pair_hash::PairHash;
use crate::{GrantId, SiteId};

/// Transfers of fewer bytes tell the latency and not the rate.
const RATE_BYTES: f64 = 65_536.0;
/// What is assumed of a path that nobody used: a local network of today.
const UNKNOWN_RATE: f64 = 1e8;
const UNKNOWN_LATENCY: f64 = 0.0005;
/// Between processes of one site.
const SITE_RATE: f64 = 2e9;
const SITE_LATENCY: f64 = 0.0001;
/// A transfer that lasts longer than expected has so much of its time left.
const LATE_PART: f64 = 0.1;
/// What one transfer that had more or less beside it than expected counts for the next.
const LEARNING: f64 = 0.1;
/// Others are never expected to be more than so many times as many as there are.
const CROWDING_MAX: f64 = 4.0;

/// From one site to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Direction {
    /// Where bytes begin.
    pub from: SiteId,
    /// Where they arrive.
    pub to: SiteId,
}

/// A transfer that ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Bytes of arrays, as they are after compression.
    pub bytes: f64,
    /// Seconds from the first to the last of them.
    pub seconds: f64,
    /// How many others used the link meanwhile, on average.
    pub beside: f64,
}

/// A time that is expected of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TransferTime {
    /// Seconds.
    pub seconds: f64,
    /// By how many seconds it may well be wrong.
    pub error: f64,
}

#[derive(Debug)]
struct Path {
    latency: Forecast,
    alone: Forecast,
    shared: Forecast,
    link: usize,
    /// What the forecasts say, ready for a thousand questions.
    now: Expected,
}

/// What is expected of a path.
#[derive(Clone, Copy, Debug)]
struct Expected {
    latency_s: f64,
    /// Seconds for each byte of a stream that is alone.
    alone_s: f64,
    /// Seconds for each byte of all streams together.
    shared_s: f64,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    bytes: f64,
    begun: Instant,
    until: Instant,
    /// Others on the link when it began.
    beside: f64,
}

impl Flow {
    /// What is left of it.
    fn left(&self, now: Instant) -> f64 {
        let whole = self.until.since(self.begun).as_secs_f64();
        let left = self.until.since(now).as_secs_f64();
        if whole <= 0.0 { 0.0 } else { self.bytes * (left / whole).max(LATE_PART) }
    }
}

/// What is on its way over a link.
#[derive(Debug)]
struct Link {
    flows: BTreeMap<GrantId, Flow>,
    /// How much more than what is on its way now a transfer has beside it until it ends: others
    /// follow those that end.
    crowding: f64,
    /// What a transfer of `memo.bytes` that begins at `memo.at` has before it: of a thousand
    /// servers behind one link it is worked out once.
    memo: Memo,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Memo {
    at: Instant,
    bytes: f64,
    before: f64,
}

impl Default for Link {
    fn default() -> Link {
        Link { flows: BTreeMap::new(), crowding: 1.0, memo: Memo::default() }
    }
}

impl Link {
    /// Fair shares: each of the others delays a new transfer by at most as many bytes as it has.
    fn before(&mut self, now: Instant, bytes: f64) -> f64 {
        if self.flows.is_empty() {
            return 0.0;
        }
        if self.memo.at != now || self.memo.bytes != bytes {
            let before: f64 = self.flows.values().map(|flow| flow.left(now).min(bytes)).sum();
            self.memo = Memo { at: now, bytes, before: before * self.crowding };
        }
        self.memo.before
    }
}

/// All that is known of paths.
#[derive(Debug)]
pub struct Paths {
    paths: HashMap<Direction, Path, PairHash>,
    /// What paths lead over; one that shares no link has its own.
    links: Vec<Link>,
    named: BTreeMap<String, usize>,
    paths_max: usize,
}

impl Paths {
    /// Nothing known yet.
    pub fn new(limits: &Limits) -> Paths {
        Paths {
            paths: HashMap::default(),
            links: Vec::new(),
            named: BTreeMap::new(),
            paths_max: limits.paths_max,
        }
    }

    /// A path leads over a link that other paths lead over, too.
    pub fn share(&mut self, direction: Direction, link: &str) {
        let links = &mut self.links;
        let link = *self.named.entry(link.to_owned()).or_insert_with(|| {
            links.push(Link::default());
            links.len() - 1
        });
        self.paths.entry(direction).or_insert_with(|| Path::new(direction, link)).link = link;
    }

    /// A transfer ended.
    pub fn observe(&mut self, direction: Direction, transfer: &Transfer) {
        if let Some(path) = self.path_mut(direction) {
            path.observe(transfer);
            path.expect(direction);
        }
    }

    /// A message without arrays took so many seconds one way.
    pub fn observe_latency(&mut self, direction: Direction, seconds: f64) {
        if let Some(path) = self.path_mut(direction) {
            path.latency.observe(seconds);
            path.expect(direction);
        }
    }

    fn path_mut(&mut self, direction: Direction) -> Option<&mut Path> {
        if !self.paths.contains_key(&direction) {
            if self.paths.len() >= self.paths_max {
                return None;
            }
            self.links.push(Link::default());
            let link = self.links.len() - 1;
            self.paths.insert(direction, Path::new(direction, link));
        }
        self.paths.get_mut(&direction)
    }

    /// How long a transfer takes that begins now, beside those that are on their way.
    pub fn predict(&mut self, now: Instant, direction: Direction, bytes: f64) -> TransferTime {
        let seconds = self.seconds(now, direction, bytes);
        let error = self.paths.get(&direction).and_then(Path::error);
        TransferTime { seconds, error: seconds * error.unwrap_or(0.5) }
    }

    /// The same without what it may be wrong by.
    pub fn seconds(&mut self, now: Instant, direction: Direction, bytes: f64) -> f64 {
        match self.paths.get(&direction) {
            Some(path) => path.now.seconds(bytes, self.links[path.link].before(now, bytes)),
            None => Expected::guess(direction).seconds(bytes, 0.0),
        }
    }

    /// A grant's transfer will begin.
    pub fn begin(&mut self, now: Instant, direction: Direction, grant: GrantId, bytes: f64) {
        let seconds = self.predict(now, direction, bytes).seconds;
        let until = now + Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let Some(link) = self.path_mut(direction).map(|path| path.link) else { return };
        let link = &mut self.links[link];
        let beside = link.flows.len() as f64;
        link.flows.insert(grant, Flow { bytes, begun: now, until, beside });
        link.memo = Memo::default();
    }

    /// It ended, or will not begin: how many others used the link meanwhile, on average.
    pub fn end(&mut self, direction: Direction, grant: GrantId) -> f64 {
        let Some(path) = self.paths.get(&direction) else { return 0.0 };
        let link = &mut self.links[path.link];
        link.memo = Memo::default();
        let begun = link.flows.remove(&grant).map_or(0.0, |flow| flow.beside);
        (begun + link.flows.len() as f64) / 2.0
    }

    /// A transfer of `bytes` ended after so many seconds, that had been expected to have `before`
    /// bytes of others before it.
    pub fn learn_crowding(&mut self, direction: Direction, before: f64, bytes: f64, seconds: f64) {
        let Some(path) = self.paths.get(&direction) else { return };
        let measured = (seconds - path.now.latency_s) / path.now.shared_s - bytes;
        if before <= bytes * 0.1 || !measured.is_finite() {
            return;
        }
        let link = &mut self.links[path.link];
        let ratio = (measured / before).clamp(0.0, CROWDING_MAX);
        link.crowding *= 1.0 + (ratio - 1.0) * LEARNING;
        link.crowding = link.crowding.clamp(1.0 / CROWDING_MAX, CROWDING_MAX);
    }

    /// Bytes of others that a transfer has before it, which begins now.
    pub fn before(&mut self, now: Instant, direction: Direction, bytes: f64) -> f64 {
        let link = self.paths.get(&direction).map(|path| path.link);
        link.map_or(0.0, |link| self.links[link].before(now, bytes))
    }

    /// Transfers that are on their way.
    pub fn under_way(&self, direction: Direction) -> usize {
        self.paths.get(&direction).map_or(0, |path| self.links[path.link].flows.len())
    }
}

impl Path {
    fn new(direction: Direction, link: usize) -> Path {
        Path {
            latency: Forecast::default(),
            alone: Forecast::default(),
            shared: Forecast::default(),
            link,
            now: Expected::guess(direction),
        }
    }

    fn observe(&mut self, transfer: &Transfer) {
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

    fn expect(&mut self, direction: Direction) {
        let guess = Expected::guess(direction);
        let alone = self.alone.value().or(self.shared.value()).map(|rate| 1.0 / rate.max(1.0));
        let alone_s = alone.unwrap_or(guess.alone_s);
        let shared = self.shared.value().map_or(alone_s, |rate| 1.0 / rate.max(1.0));
        let latency_s = self.latency.value().unwrap_or(guess.latency_s);
        // All together are never slower than one alone.
        self.now = Expected { latency_s, alone_s, shared_s: shared.min(alone_s) };
    }

    /// What forecasts of its rate are wrong by, as a part of it.
    fn error(&self) -> Option<f64> {
        let series = if self.shared.seen() > self.alone.seen() { &self.shared } else { &self.alone };
        Some(series.error()? / series.value()?.max(1.0))
    }
}

impl Expected {
    /// What is assumed of a path that nobody used.
    fn guess(direction: Direction) -> Expected {
        let is_one_site = direction.from == direction.to;
        let rate = if is_one_site { SITE_RATE } else { UNKNOWN_RATE };
        let latency_s = if is_one_site { SITE_LATENCY } else { UNKNOWN_LATENCY };
        Expected { latency_s, alone_s: 1.0 / rate, shared_s: 1.0 / rate }
    }

    fn seconds(&self, bytes: f64, before: f64) -> f64 {
        self.latency_s + (bytes * self.alone_s).max((bytes + before) * self.shared_s)
    }
}
