//! The ways from one site to all others and back, side by side in memory: a question is asked of
//! thousands of servers.

use std::collections::HashMap;

use farcall_base::Instant;

use super::Direction;
use super::link::Link;
use super::path::{Expected, Path};
use crate::SiteId;
use crate::pair_hash::PairHash;

/// What is expected of one direction, and which link it leads over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    expected: Expected,
    /// None where nothing is known of the path.
    link: Option<u32>,
}

/// Both directions.
#[derive(Clone, Copy, Debug)]
pub(super) struct BothWays {
    there: Way,
    back: Way,
}

/// Of one site, by the number of the site at the other end.
pub(super) type Row = Vec<BothWays>;

pub(super) fn way(direction: Direction, path: Option<&Path>) -> Way {
    match path {
        Some(path) => Way { expected: path.now, link: u32::try_from(path.link).ok() },
        None => Way { expected: Expected::guess(direction), link: None },
    }
}

/// A path changed: the rows that hold it follow.
pub(super) fn refresh(
    rows: &mut HashMap<SiteId, Row, PairHash>,
    direction: Direction,
    path: &Path,
) {
    let changed = way(direction, Some(path));
    let Direction { from, to } = direction;
    if let Some(both) = rows.get_mut(&from).and_then(|row| row.get_mut(to.0 as usize)) {
        both.there = changed;
    }
    if let Some(both) = rows.get_mut(&to).and_then(|row| row.get_mut(from.0 as usize)) {
        both.back = changed;
    }
}

/// The ways of one site.
pub struct Ways<'p> {
    pub(super) site: SiteId,
    pub(super) row: &'p mut Row,
    pub(super) paths: &'p HashMap<Direction, Path, PairHash>,
    pub(super) links: &'p mut [Link],
}

impl Ways<'_> {
    /// Whatever is asked later is of sites before this number.
    pub fn reach(&mut self, sites: usize) {
        while self.row.len() < sites {
            let other = SiteId(self.row.len() as u32);
            let there = Direction { from: self.site, to: other };
            let back = Direction { from: other, to: self.site };
            self.row.push(BothWays {
                there: way(there, self.paths.get(&there)),
                back: way(back, self.paths.get(&back)),
            });
        }
    }

    /// How long bytes take to another site, and others back.
    #[inline]
    pub fn seconds(&mut self, now: Instant, other: SiteId, bytes: Bytes) -> Seconds {
        let both = &self.row[other.0 as usize];
        Seconds {
            there: seconds(self.links, now, &both.there, bytes.there),
            back: seconds(self.links, now, &both.back, bytes.back),
        }
    }
}

#[inline]
fn seconds(links: &mut [Link], now: Instant, way: &Way, bytes: f64) -> f64 {
    let before = match way.link {
        Some(link) => links[link as usize].before(now, bytes),
        None => 0.0,
    };
    way.expected.seconds(bytes, before)
}

/// Bytes in both directions.
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    /// To the other site.
    pub there: f64,
    /// From it.
    pub back: f64,
}

/// Seconds that they take.
#[derive(Clone, Copy, Debug)]
pub struct Seconds {
    /// To the other site.
    pub there: f64,
    /// From it.
    pub back: f64,
}
