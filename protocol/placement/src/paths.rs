//! The ways between sites: how fast they were, and what is on its way.
//!
//! A path leads from one site to another; each direction is one of its own. Its rate is learned
//! from transfers alone and from transfers beside others: one stream may not fill a link that many
//! share. Transfers that were granted count against their link until they are seen to end, so that
//! a hundred callers do not all choose the link that is free now.

mod link;
mod path;
mod ways;

use std::collections::HashMap;
use std::time::Duration;

use farcall_base::Instant;

use crate::limits::Limits;
use crate::pair_hash::PairHash;
use crate::run_times::{NEWS_FIRST, NEWS_PART};
use crate::{GrantId, SiteId};
use link::{Flow, Link, Memo};
use path::{Expected, Path};
pub use ways::{Bytes, Ways};
use ways::{Row, refresh};

/// Sites whose ways lie ready; more than these take turns.
const ROWS_MAX: usize = 256;
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

/// What transfers showed of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LearnedPath {
    /// Bytes a second of a stream that is alone, where one was long enough to tell.
    pub rate: Option<f64>,
    /// Seconds that a small message takes, where there was one.
    pub latency_s: Option<f64>,
}

/// All that is known of paths.
#[derive(Debug)]
pub struct Paths {
    paths: HashMap<Direction, Path, PairHash>,
    /// What each path leads over, by the path's number.
    links: Vec<Link>,
    paths_max: usize,
    /// Ready for questions from one site: by the site at the other end.
    rows: HashMap<SiteId, Row, PairHash>,
}

impl Paths {
    /// Nothing known yet.
    pub fn new(limits: &Limits) -> Paths {
        Paths {
            paths: HashMap::default(),
            links: Vec::new(),
            paths_max: limits.paths_max,
            rows: HashMap::default(),
        }
    }

    /// A transfer ended.
    pub fn observe(&mut self, direction: Direction, transfer: &Transfer) {
        if let Some(path) = self.path_mut(direction) {
            path.observe(transfer);
            path.expect(direction);
        }
        self.refresh(direction);
    }

    /// Whether a transfer tells something that is not known yet, as [`crate::RunTimes::is_news`].
    pub fn is_news(&mut self, now: Instant, direction: Direction, transfer: &Transfer) -> bool {
        let seen = self.paths.get(&direction).map_or(0, Path::seen);
        let expected = self.seconds(now, direction, transfer.bytes);
        seen < NEWS_FIRST || (expected - transfer.seconds).abs() > NEWS_PART * transfer.seconds
    }

    fn path_mut(&mut self, direction: Direction) -> Option<&mut Path> {
        if !self.paths.contains_key(&direction) {
            if self.paths.len() >= self.paths_max {
                return None;
            }
            self.links.push(Link::default());
            let link = self.links.len() - 1;
            self.paths.insert(direction, Path::new(direction, link));
            self.refresh(direction);
        }
        self.paths.get_mut(&direction)
    }

    fn refresh(&mut self, direction: Direction) {
        if let Some(path) = self.paths.get(&direction) {
            refresh(&mut self.rows, direction, path);
        }
    }

    /// The ways of one site to all others, for a question.
    pub fn ways(&mut self, site: SiteId) -> Ways<'_> {
        if self.rows.len() >= ROWS_MAX && !self.rows.contains_key(&site) {
            self.rows.clear();
        }
        let row = self.rows.entry(site).or_default();
        Ways { site, row, paths: &self.paths, links: &mut self.links }
    }

    /// What was learned of a way, if anything was.
    pub fn learned(&self, direction: Direction) -> Option<LearnedPath> {
        self.paths.get(&direction).map(Path::learned)
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
