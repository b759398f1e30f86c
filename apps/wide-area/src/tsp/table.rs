//! Distances between cities: read from TSPLIB, or random.

use std::ops::RangeInclusive;

use super::tsplib;
use crate::input::{InputError, Source};
use crate::random::Random;

/// Cities that a table may have.
pub const TABLE_CITIES_MAX: usize = 4096;
/// A distance is at most this.
pub const DISTANCE_MAX: u32 = 1 << 25;
/// The bound with which the paper's run of [`Table::default`] begins: one more than its shortest
/// tour.
pub const PAPER_BOUND: u32 = 2943;

/// The distance from each city to each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    cities: usize,
    distances: Vec<u32>,
}

impl Default for Table {
    /// A table of the paper's size, 17 cities; no tour is shorter than [`PAPER_BOUND`] - 1. Its
    /// distances are not too different, so that jobs are not either.
    fn default() -> Table {
        Table::random_within(17, 12, 100, 1000)
    }
}

impl Table {
    /// A table of zeros.
    pub(super) fn new(cities: usize) -> Table {
        Table { cities, distances: vec![0; cities * cities] }
    }

    /// Reads a TSPLIB file (Reinelt 1995) of type TSP or ATSP: coordinates of type EUC_2D, CEIL_2D,
    /// MAN_2D, MAX_2D, ATT or GEO, or EXPLICIT weights in any format of a matrix.
    ///
    /// # Errors
    /// What does not fit, with its place.
    pub fn read(source: &Source<'_>) -> Result<Table, InputError> {
        tsplib::read(source)
    }

    /// A random asymmetric table: distances within `distances`, each of which depends on the seed
    /// and the two cities alone.
    ///
    /// # Errors
    /// No city, or too many, or no distance from 0 to [`DISTANCE_MAX`].
    pub fn random(
        cities: usize,
        seed: u64,
        distances: RangeInclusive<u32>,
    ) -> Result<Table, String> {
        if !(1..=TABLE_CITIES_MAX).contains(&cities) {
            return Err(format!("a table of {cities} cities; give 1 to {TABLE_CITIES_MAX}"));
        }
        let [least, most] = [*distances.start(), *distances.end()];
        if least > most || most > DISTANCE_MAX {
            return Err(format!(
                "distances from {least} to {most}; give some from 0 to {DISTANCE_MAX}"
            ));
        }
        Ok(Table::random_within(cities, seed, least, most))
    }

    fn random_within(cities: usize, seed: u64, least: u32, most: u32) -> Table {
        let distance = |from: usize, to: usize| {
            let mut random = Random::of_part(seed, (from * TABLE_CITIES_MAX + to) as u64);
            least + random.below(u64::from(most - least) + 1) as u32
        };
        let mut table = Table::new(cities);
        for from in 0..cities {
            for to in (0..cities).filter(|to| *to != from) {
                table.set(from, to, distance(from, to));
            }
        }
        table
    }

    /// The number of cities.
    pub fn cities(&self) -> usize {
        self.cities
    }

    /// The distances from a city to all; none from a city that is not there.
    pub fn row(&self, from: usize) -> &[u32] {
        let at = from.saturating_mul(self.cities);
        self.distances.get(at..at.saturating_add(self.cities)).unwrap_or_default()
    }

    pub(super) fn set(&mut self, from: usize, to: usize, distance: u32) {
        self.distances[from * self.cities + to] = distance;
    }

    pub(super) fn distance(&self, from: usize, to: usize) -> u32 {
        self.distances[from * self.cities + to]
    }

    /// Whether each way back is as long.
    pub fn is_symmetric(&self) -> bool {
        let same = |from, to| self.distance(from, to) == self.distance(to, from);
        (0..self.cities).all(|from| (0..from).all(|to| same(from, to)))
    }

    /// The length of a closed tour; `None` unless it visits each city once.
    pub fn length(&self, tour: &[u8]) -> Option<u64> {
        let mut cities: Vec<usize> = tour.iter().map(|city| usize::from(*city)).collect();
        let legs = tour.iter().zip(tour.iter().cycle().skip(1));
        let is_there = cities.iter().all(|city| *city < self.cities);
        cities.sort_unstable();
        cities.dedup();
        let leg = |(from, to): (&u8, &u8)| self.distance((*from).into(), (*to).into());
        let is_tour = is_there && cities.len() == self.cities && tour.len() == self.cities;
        is_tour.then(|| legs.map(leg).map(u64::from).sum())
    }

    /// The length of the best tour that always goes to the nearest city, over all first cities: a
    /// bound to begin with.
    pub fn nearest_neighbor_tour(&self) -> u64 {
        (0..self.cities).map(|first| self.nearest_neighbor_from(first)).min().unwrap_or(0)
    }

    fn nearest_neighbor_from(&self, first: usize) -> u64 {
        let mut ahead: Vec<usize> = (0..self.cities).filter(|city| *city != first).collect();
        let mut at = first;
        let mut length = 0;
        while let Some(place) =
            (0..ahead.len()).min_by_key(|place| (self.distance(at, ahead[*place]), ahead[*place]))
        {
            let next = ahead.swap_remove(place);
            length += u64::from(self.distance(at, next));
            at = next;
        }
        length + u64::from(self.distance(at, first))
    }
}
