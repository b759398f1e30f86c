//! A network: variables with finite domains, and constraints of two variables each.

use std::collections::HashMap;

/// Values that a domain may have.
pub const VALUES_MAX: usize = 1024;

/// Words of relations that a network may have: 512 MB.
const RELATION_WORDS_MAX: usize = 1 << 26;

/// A constraint seen from one of its variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arc {
    /// The other variable.
    pub(super) other: u32,
    /// Which values of it go with each value of this one.
    pub(super) relation: u32,
}

/// A network. Values are numbered within their domain; domains are sets of these numbers, `words`
/// words of 64 bits each.
#[derive(Clone, Debug, Default)]
pub struct Network {
    words: usize,
    /// The values of each variable at the beginning, `words` words for each.
    initial: Vec<u64>,
    arcs: Vec<Vec<Arc>>,
    constraints: usize,
    /// For each relation and each value of the variable that looks, a set of the other's values.
    rows: Vec<u64>,
    /// Where each relation begins among the rows.
    relations: Vec<usize>,
    known: HashMap<([i64; 4], bool), u32>,
}

impl Network {
    /// A network without constraints, of so many variables with `values` values each at most.
    pub fn new(variables: usize, values: usize) -> Network {
        let words = values.clamp(1, VALUES_MAX).div_ceil(64);
        Network {
            words,
            initial: vec![0; variables * words],
            arcs: vec![Vec::new(); variables],
            ..Network::default()
        }
    }

    /// Adds a value to a variable's domain.
    pub fn add_value(&mut self, variable: usize, value: usize) {
        self.initial[variable * self.words + value / 64] |= 1 << (value % 64);
    }

    /// Adds a constraint: which pairs of values of `x` and `y` go together. Constraints with the
    /// same `name` share one table, for which `allows` is asked once; `sizes` are the values that
    /// `x` and `y` may have.
    ///
    /// # Errors
    /// Tables that need more than 512 MB together.
    pub fn constrain(
        &mut self,
        pair: (usize, usize),
        sizes: (usize, usize),
        name: [i64; 4],
        allows: impl Fn(usize, usize) -> bool,
    ) -> Result<(), String> {
        let there = self.relation((name, false), sizes.0, sizes.1, &allows)?;
        let back = |b: usize, a: usize| allows(a, b);
        let back = self.relation((name, true), sizes.1, sizes.0, &back)?;
        self.arcs[pair.0].push(Arc { other: pair.1 as u32, relation: there });
        self.arcs[pair.1].push(Arc { other: pair.0 as u32, relation: back });
        self.constraints += 1;
        Ok(())
    }

    fn relation(
        &mut self,
        name: ([i64; 4], bool),
        values: usize,
        others: usize,
        allows: &impl Fn(usize, usize) -> bool,
    ) -> Result<u32, String> {
        if let Some(known) = self.known.get(&name) {
            return Ok(*known);
        }
        let begin = self.rows.len();
        if begin + values * self.words > RELATION_WORDS_MAX {
            return Err("the tables of the constraints need more than 512 MB; give a network of \
                 fewer constraints or values"
                .to_string());
        }
        self.rows.resize(begin + values * self.words, 0);
        for value in 0..values {
            let row = begin + value * self.words;
            for other in (0..others).filter(|other| allows(value, *other)) {
                self.rows[row + other / 64] |= 1 << (other % 64);
            }
        }
        let number = self.relations.len() as u32;
        self.relations.push(begin);
        self.known.insert(name, number);
        Ok(number)
    }

    /// How many variables there are; their numbers are what is split over members.
    pub fn variables(&self) -> usize {
        self.arcs.len()
    }

    /// How many constraints there are.
    pub fn constraints(&self) -> usize {
        self.constraints
    }

    /// Values of all domains at the beginning.
    pub fn values(&self) -> u64 {
        self.initial.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Words of a domain.
    pub fn words(&self) -> usize {
        self.words
    }

    pub(super) fn initial(&self) -> &[u64] {
        &self.initial
    }

    pub(super) fn arcs(&self, variable: usize) -> &[Arc] {
        &self.arcs[variable]
    }

    /// The values that go with a value, along an arc.
    pub(super) fn row(&self, arc: &Arc, value: usize) -> &[u64] {
        let begin = self.relations[arc.relation as usize] + value * self.words;
        &self.rows[begin..begin + self.words]
    }
}
