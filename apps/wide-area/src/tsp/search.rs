//! The search below a prefix.

use super::remainder::{Nothing, Reduced, Remainder, Tree, all};
use super::seen::Seen;
use super::table::Table;

/// Cities that a search can have: a set of them is a word.
pub const CITIES_MAX: usize = 64;
/// A search looks at the newest bound each time it has visited so many nodes.
pub const LOOK_NODES: u64 = 4096;

/// Which paths are given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruning {
    /// Those that are as long as the bound.
    Length,
    /// Those whose length and what is left of the tour, at least, are as long as the bound: by
    /// spanning trees where the table is symmetric, else by reduced matrices. Also those that are
    /// not shorter than another one of the job over the same cities to the same end.
    Remainder,
}

/// The length that a tour must be below, and whether it shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// It stays as it is, whatever is found: nodes do not depend on the order of jobs.
    Fixed(u32),
    /// The length of each tour that is found becomes the bound.
    Shrinking(u32),
}

impl Bound {
    /// The length.
    pub fn limit(self) -> u32 {
        match self {
            Bound::Fixed(limit) | Bound::Shrinking(limit) => limit,
        }
    }

    /// Lowers a bound that shrinks.
    pub fn shrink(&mut self, length: u32) {
        if let Bound::Shrinking(limit) = self {
            *limit = length.min(*limit);
        }
    }
}

/// A tour and its length. Tours are ordered by length, then by their cities.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tour {
    /// The length of the closed tour.
    pub length: u32,
    /// Its cities; the first is 0.
    pub cities: Vec<u8>,
}

/// What the search of a job found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// A shortest tour below the bound that begins with the prefix, if there is one. Which of
    /// several it is depends on the job alone if the bound is fixed.
    pub best: Option<Tour>,
    /// Nodes visited: the counted operations.
    pub visited: u64,
}

/// What a member prepares once to search jobs of a table.
pub struct Searcher {
    map: Map,
    remainder: Kind,
    seen: Seen,
}

enum Kind {
    Nothing(Nothing),
    Tree(Box<Tree>),
    Reduced(Box<Reduced>),
}

/// From each city, the others with their distances, nearest first.
struct Map {
    cities: usize,
    ways: Vec<(u32, u8)>,
    home: Vec<u32>,
}

impl Map {
    fn new(table: &Table) -> Map {
        let cities = table.cities();
        let mut ways = Vec::with_capacity(cities * cities);
        for from in 0..cities {
            let others = (1..cities).filter(|to| *to != from);
            let mut sorted: Vec<_> =
                others.map(|to| (table.distance(from, to), to as u8)).collect();
            sorted.sort_unstable();
            sorted.resize(cities, (u32::MAX, 0));
            ways.extend(sorted);
        }
        let home = (0..cities).map(|from| table.distance(from, 0)).collect();
        Map { cities, ways, home }
    }
}

impl Searcher {
    /// Prepares the search of a table.
    ///
    /// # Errors
    /// More than [`CITIES_MAX`] cities.
    pub fn new(table: &Table, pruning: Pruning) -> Result<Searcher, String> {
        let cities = table.cities();
        if cities > CITIES_MAX {
            return Err(format!("a search of {cities} cities; give {CITIES_MAX} at most"));
        }
        let remainder = match pruning {
            Pruning::Length => Kind::Nothing(Nothing),
            Pruning::Remainder if table.is_symmetric() => Kind::Tree(Box::new(Tree::new(table))),
            Pruning::Remainder => Kind::Reduced(Box::new(Reduced::new(table))),
        };
        let seen = Seen::new(pruning == Pruning::Remainder);
        Ok(Searcher { map: Map::new(table), remainder, seen })
    }

    /// Searches all tours that begin with `prefix`. `look` is called each time [`LOOK_NODES`] nodes
    /// have been visited, and returns the newest bound, which counts if it shrinks.
    ///
    /// # Errors
    /// A prefix that is no path from city 0.
    pub fn search(
        &mut self,
        prefix: &[u8],
        bound: Bound,
        look: &mut dyn FnMut(u64) -> u32,
    ) -> Result<Found, String> {
        let start = Start::new(&self.map, prefix)?;
        self.seen.begin_job();
        let place = (&self.map, &mut self.seen);
        Ok(match &mut self.remainder {
            Kind::Nothing(nothing) => Walk::run(place, nothing, start, bound, look),
            Kind::Tree(tree) => Walk::run(place, &mut **tree, start, bound, look),
            Kind::Reduced(reduced) => Walk::run(place, &mut **reduced, start, bound, look),
        })
    }
}

/// A job's prefix, checked.
struct Start {
    path: [u8; CITIES_MAX],
    depth: usize,
    ahead: u64,
    length: u32,
}

impl Start {
    fn new(map: &Map, prefix: &[u8]) -> Result<Start, String> {
        let refused =
            || format!("{prefix:?} is no path from city 0 over some of {} cities", map.cities);
        let mut start =
            Start { path: [0; CITIES_MAX], depth: 1, ahead: all(map.cities) & !1, length: 0 };
        if prefix.first() != Some(&0) {
            return Err(refused());
        }
        for pair in prefix.windows(2) {
            let ways = &map.ways[usize::from(pair[0]) * map.cities..][..map.cities];
            let bit = 1_u64.checked_shl(pair[1].into()).unwrap_or(0);
            let way = ways.iter().find(|way| way.1 == pair[1] && start.ahead & bit != 0);
            start.length += way.ok_or_else(refused)?.0;
            start.path[start.depth] = pair[1];
            start.depth += 1;
            start.ahead &= !bit;
        }
        Ok(start)
    }
}

struct Walk<'a, R> {
    map: &'a Map,
    seen: &'a mut Seen,
    remainder: &'a mut R,
    look: &'a mut dyn FnMut(u64) -> u32,
    bound: Bound,
    path: [u8; CITIES_MAX],
    best: Option<u32>,
    best_path: [u8; CITIES_MAX],
    visited: u64,
}

impl<'a, R: Remainder> Walk<'a, R> {
    fn run(
        (map, seen): (&'a Map, &'a mut Seen),
        remainder: &'a mut R,
        start: Start,
        bound: Bound,
        look: &'a mut dyn FnMut(u64) -> u32,
    ) -> Found {
        let best_path = start.path;
        let path = start.path;
        let mut walk =
            Walk { map, seen, remainder, look, bound, path, best: None, best_path, visited: 0 };
        if start.length < bound.limit() {
            let last = usize::from(path[start.depth - 1]);
            walk.visit(start.depth, last, start.ahead, start.length);
        }
        let cities = walk.best_path[..map.cities].to_vec();
        let best = walk.best.map(|length| Tour { length, cities });
        Found { best, visited: walk.visited }
    }

    /// Visits the node whose path has `depth` cities.
    fn visit(&mut self, depth: usize, last: usize, ahead: u64, length: u32) {
        self.visited += 1;
        if self.visited.is_multiple_of(LOOK_NODES) {
            let newest = (self.look)(LOOK_NODES);
            self.bound.shrink(newest);
        }
        if ahead == 0 {
            self.arrive(length + self.map.home[last]);
            return;
        }
        let base = self.remainder.base(depth, ahead);
        let map = self.map;
        for (distance, city) in &map.ways[last * map.cities..][..map.cities] {
            let longer = u64::from(length) + u64::from(*distance);
            let limit = u64::from(self.bound.limit());
            if longer >= limit {
                break;
            }
            let next = usize::from(*city);
            let least = longer as i64 * R::SCALE + base + self.remainder.extra(depth, next);
            if ahead & (1 << next) == 0 || least > (limit as i64 - 1) * R::SCALE {
                continue;
            }
            let rest = ahead & !(1 << next);
            if R::REMEMBERS && self.seen.is_dominated(rest, next, longer as u32) {
                continue;
            }
            self.path[depth] = *city;
            self.visit(depth + 1, next, rest, longer as u32);
        }
    }

    fn arrive(&mut self, length: u32) {
        if length >= self.bound.limit() {
            return;
        }
        let is_better = match self.best {
            None => true,
            Some(best) => length < best || (length == best && self.path < self.best_path),
        };
        if is_better {
            self.best = Some(length);
            self.best_path = self.path;
            self.bound.shrink(length);
        }
    }
}
