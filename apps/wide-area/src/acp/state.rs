//! The domains as every member has them, and how removals change them.

use std::ops::Range;

use super::network::Network;

/// Bytes of a removal as it travels.
pub const REMOVAL_BYTES: usize = 14;

/// Values that leave a domain: they have no support any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The variable.
    pub variable: u32,
    /// Which word of its domain.
    pub word: u16,
    /// The values of that word.
    pub values: u64,
}

impl Removal {
    /// The removal as it travels.
    pub fn to_bytes(self) -> [u8; REMOVAL_BYTES] {
        let mut bytes = [0; REMOVAL_BYTES];
        bytes[..4].copy_from_slice(&self.variable.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.word.to_le_bytes());
        bytes[6..].copy_from_slice(&self.values.to_le_bytes());
        bytes
    }

    /// The removal of these bytes.
    pub fn from_bytes(bytes: [u8; REMOVAL_BYTES]) -> Removal {
        let [a, b, c, d, low, high, values @ ..] = bytes;
        Removal {
            variable: u32::from_le_bytes([a, b, c, d]),
            word: u16::from_le_bytes([low, high]),
            values: u64::from_le_bytes(values),
        }
    }
}

/// All domains, and which variables have to be revised because a neighbor's domain has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    domains: Vec<u64>,
    is_pending: Vec<bool>,
    removed: u64,
}

/// What is left of a network: the same on every member and for every order of removals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Values removed from all domains.
    pub removed: u64,
    /// Values left in all domains.
    pub left: u64,
    /// Variables without a value: with any, the network has no solution.
    pub emptied: u64,
    /// The first of them.
    pub first_emptied: Option<usize>,
    /// A number that differs, almost surely, where other values are left.
    pub digest: u64,
}

impl State {
    /// The domains at the beginning; every variable is pending.
    pub fn new(network: &Network) -> State {
        let is_pending = vec![true; network.variables()];
        State { domains: network.initial().to_vec(), is_pending, removed: 0 }
    }

    /// Whether one of the variables has to be revised.
    pub fn has_pending(&self, variables: Range<usize>) -> bool {
        self.is_pending.get(variables).is_some_and(|pending| pending.contains(&true))
    }

    /// Revises the pending ones of some variables against the current domains and appends what
    /// they lose to `removals`; the domains stay until [`State::apply`]. Returns the operations
    /// done: values checked against constraints.
    pub fn revise(
        &mut self,
        network: &Network,
        variables: Range<usize>,
        removals: &mut Vec<Removal>,
    ) -> u64 {
        let mut checks = 0;
        for variable in variables.start..variables.end.min(network.variables()) {
            if std::mem::take(&mut self.is_pending[variable]) {
                checks += self.revise_one(network, variable, removals);
            }
        }
        checks
    }

    fn revise_one(&self, network: &Network, variable: usize, removals: &mut Vec<Removal>) -> u64 {
        let mut checks = 0;
        for (word, values) in self.domain(network, variable).iter().enumerate() {
            let mut kept = *values;
            for arc in network.arcs(variable) {
                let other = self.domain(network, arc.other as usize);
                checks += u64::from(kept.count_ones());
                let mut rest = kept;
                while rest != 0 {
                    let bit = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    let row = network.row(arc, 64 * word + bit);
                    if row.iter().zip(other).all(|(row, other)| row & other == 0) {
                        kept ^= 1 << bit;
                    }
                }
            }
            if kept != *values {
                let values = values ^ kept;
                removals.push(Removal { variable: variable as u32, word: word as u16, values });
            }
        }
        checks
    }

    /// Takes values away and marks the neighbors as pending. Returns how many were there still;
    /// a removal that came before, or of no variable of this network, changes nothing.
    pub fn apply(&mut self, network: &Network, removal: &Removal) -> u32 {
        let variable = removal.variable as usize;
        let word = usize::from(removal.word);
        if variable >= network.variables() || word >= network.words() {
            return 0;
        }
        let values = &mut self.domains[variable * network.words() + word];
        let gone = *values & removal.values;
        if gone == 0 {
            return 0;
        }
        *values ^= gone;
        self.removed += u64::from(gone.count_ones());
        for arc in network.arcs(variable) {
            self.is_pending[arc.other as usize] = true;
        }
        gone.count_ones()
    }

    /// The values left to a variable, as a set of their numbers.
    pub fn domain(&self, network: &Network, variable: usize) -> &[u64] {
        let begin = variable * network.words();
        &self.domains[begin..begin + network.words()]
    }

    /// What is left.
    pub fn answer(&self, network: &Network) -> Answer {
        let domains = self.domains.chunks(network.words());
        let is_empty = |domain: &[u64]| domain.iter().all(|word| *word == 0);
        Answer {
            removed: self.removed,
            left: self.domains.iter().map(|word| u64::from(word.count_ones())).sum(),
            emptied: domains.clone().filter(|domain| is_empty(domain)).count() as u64,
            first_emptied: domains.clone().position(is_empty),
            digest: digest(&self.domains),
        }
    }
}

/// FNV-1a of the words, byte by byte.
fn digest(words: &[u64]) -> u64 {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// What a closure came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solved {
    /// What is left.
    pub answer: Answer,
    /// Rounds in which all pending variables were revised.
    pub rounds: u64,
    /// Removals sent: what members broadcast.
    pub removals: u64,
    /// Operations counted.
    pub operations: u64,
}

/// The closure, by one member.
pub fn solve(network: &Network) -> Solved {
    let mut state = State::new(network);
    let mut waiting = Vec::new();
    let mut rounds = 0;
    let mut removals = 0;
    let mut operations = 0;
    while state.has_pending(0..network.variables()) {
        operations += state.revise(network, 0..network.variables(), &mut waiting);
        rounds += 1;
        removals += waiting.len() as u64;
        for removal in waiting.drain(..) {
            state.apply(network, &removal);
        }
    }
    Solved { answer: state.answer(network), rounds, removals, operations }
}
