//! Lower bounds of what is left of a tour: nothing, a spanning tree, or a reduced matrix.

use super::search::CITIES_MAX;
use super::table::Table;

/// Parts of a unit of distance in which bounds are computed.
pub(super) const FINE: i64 = 1024;
/// Rounds in which a spanning tree is bent towards a tour.
const ROUNDS: usize = 600;

/// What the cities ahead cost at least, for all children of a path at once.
///
/// A tour from a path of length l whose next city is c, at distance d, is at least
/// `(l + d) * SCALE + base + extra(c)` long, in units of 1 / `SCALE`.
pub(super) trait Remainder {
    /// Parts of a unit of distance.
    const SCALE: i64;
    /// Whether a job remembers the paths that it went through.
    const REMEMBERS: bool = true;

    /// The base, where these cities are ahead and city 0 ends the tour; `depth` cities are behind.
    fn base(&mut self, depth: usize, ahead: u64) -> i64;

    /// What is to be added for the next city, after `base` for the same depth.
    fn extra(&self, depth: usize, city: usize) -> i64;
}

/// The paper's: the length alone.
pub(super) struct Nothing;

impl Remainder for Nothing {
    const SCALE: i64 = 1;
    const REMEMBERS: bool = false;

    fn base(&mut self, _depth: usize, _ahead: u64) -> i64 {
        0
    }

    fn extra(&self, _depth: usize, _city: usize) -> i64 {
        0
    }
}

/// For symmetric tables: the rest of a tour is a spanning tree of the cities ahead and city 0 (Held
/// and Karp 1970). Each city has a price for each of its edges, and the rest of the tour has two at
/// each city ahead, but one at the next city and at city 0. Prices that make the tree look like a
/// tour are found once.
pub(super) struct Tree {
    cities: usize,
    prices: Vec<i64>,
    /// Distances in fine units with both prices.
    priced: Vec<i64>,
    nearest: [i64; CITIES_MAX],
}

impl Tree {
    pub(super) fn new(table: &Table) -> Tree {
        let cities = table.cities();
        let prices = vec![0; cities];
        let mut tree =
            Tree { cities, prices, priced: vec![0; cities * cities], nearest: [0; CITIES_MAX] };
        tree.price(table);
        if cities > 2 {
            tree.find_prices(table);
        }
        tree
    }

    fn price(&mut self, table: &Table) {
        for from in 0..self.cities {
            for to in 0..self.cities {
                let distance = i64::from(table.distance(from, to)) * FINE;
                self.priced[from * self.cities + to] =
                    distance + self.prices[from] + self.prices[to];
            }
        }
    }

    /// Raises the prices of cities with many edges in the smallest 1-tree, and lowers those of
    /// leaves, by steps that become smaller; keeps the prices of the highest bound.
    fn find_prices(&mut self, table: &Table) {
        let tour = table.nearest_neighbor_tour() as i64 * FINE;
        let mut step = tour / (2 * self.cities as i64) + 1;
        let mut best = (i64::MIN, self.prices.clone());
        for _ in 0..ROUNDS {
            let mut degrees = [0_i64; CITIES_MAX];
            let weight = self.one_tree(&mut degrees);
            let bound = weight - 2 * self.prices.iter().sum::<i64>();
            if bound > best.0 {
                best = (bound, self.prices.clone());
            }
            for (price, degree) in self.prices.iter_mut().zip(degrees) {
                *price += step * (degree - 2);
            }
            self.price(table);
            step = step * 97 / 100 + 1;
        }
        self.prices = best.1;
        self.price(table);
    }

    /// The smallest tree of all cities but 0, and the two shortest edges of city 0.
    fn one_tree(&mut self, degrees: &mut [i64; CITIES_MAX]) -> i64 {
        let others = all(self.cities) & !1;
        let weight = self.spanning_tree(others, |from, to| {
            degrees[from] += 1;
            degrees[to] += 1;
        });
        let mut edges: Vec<(i64, usize)> =
            (1..self.cities).map(|city| (self.priced[city], city)).collect();
        edges.sort_unstable();
        let shortest = edges.iter().take(2);
        degrees[0] = 2;
        weight
            + shortest.fold(0, |sum, (weight, city)| {
                degrees[*city] += 1;
                sum + weight
            })
    }

    /// The weight of the smallest tree of these cities (Prim); its edges go to `edge`.
    fn spanning_tree(&mut self, cities: u64, mut edge: impl FnMut(usize, usize)) -> i64 {
        let mut parents = [0_u8; CITIES_MAX];
        let mut newest = cities.trailing_zeros() as usize;
        let mut outside = cities & (cities - 1);
        for city in ones(outside) {
            self.nearest[city] = i64::MAX;
        }
        let mut weight = 0;
        while outside != 0 {
            let row = &self.priced[newest * self.cities..][..self.cities];
            let mut next = (i64::MAX, 0);
            for city in ones(outside) {
                if row[city] < self.nearest[city] {
                    self.nearest[city] = row[city];
                    parents[city] = newest as u8;
                }
                next = next.min((self.nearest[city], city));
            }
            newest = next.1;
            outside &= !(1 << newest);
            weight += next.0;
            edge(usize::from(parents[newest]), newest);
        }
        weight
    }
}

impl Remainder for Tree {
    const SCALE: i64 = FINE;

    fn base(&mut self, _depth: usize, ahead: u64) -> i64 {
        let weight = self.spanning_tree(ahead | 1, |_, _| {});
        let prices: i64 = ones(ahead).map(|city| self.prices[city]).sum();
        weight - 2 * prices - self.prices[0]
    }

    fn extra(&self, _depth: usize, city: usize) -> i64 {
        self.prices[city]
    }
}

/// For any table: each city ahead is left once, and each but the next is entered once, as is city
/// 0. The shortest ways out, and what the shortest ways in cost more, are a bound (Little, Murty,
/// Sweeney and Karel 1963).
pub(super) struct Reduced {
    cities: usize,
    distances: Vec<i64>,
    out: [i64; CITIES_MAX],
    entering: Vec<[i64; CITIES_MAX]>,
}

impl Reduced {
    pub(super) fn new(table: &Table) -> Reduced {
        let cities = table.cities();
        let pairs = (0..cities).flat_map(|from| (0..cities).map(move |to| (from, to)));
        let distances = pairs.map(|(from, to)| i64::from(table.distance(from, to))).collect();
        let entering = vec![[0; CITIES_MAX]; cities + 1];
        Reduced { cities, distances, out: [0; CITIES_MAX], entering }
    }
}

impl Remainder for Reduced {
    const SCALE: i64 = 1;

    fn base(&mut self, depth: usize, ahead: u64) -> i64 {
        let mut base = 0;
        for from in ones(ahead) {
            let row = &self.distances[from * self.cities..][..self.cities];
            let ways = ones((ahead | 1) & !(1 << from)).map(|to| row[to]);
            self.out[from] = ways.min().unwrap_or(0);
            base += self.out[from];
        }
        for to in ones(ahead | 1) {
            let ways = ones(ahead & !(1 << to))
                .map(|from| self.distances[from * self.cities + to] - self.out[from]);
            self.entering[depth][to] = ways.min().unwrap_or(0);
            base += self.entering[depth][to];
        }
        base
    }

    fn extra(&self, depth: usize, city: usize) -> i64 {
        -self.entering[depth][city]
    }
}

/// A set of all cities.
pub(super) fn all(cities: usize) -> u64 {
    (1_u128 << cities).wrapping_sub(1) as u64
}

/// The members of a set, in order.
pub(super) fn ones(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (first < 64).then_some(first)
    })
}
