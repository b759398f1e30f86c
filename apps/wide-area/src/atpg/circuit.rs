//! A combinational circuit: nodes in an order in which each comes behind all that it reads.

use std::ops::Range;

/// What a node computes from the nodes that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: it is set from outside.
    Input,
    /// Its only input.
    Buffer,
    /// The opposite of its only input.
    Not,
    /// Whether all inputs are 1.
    And,
    /// The opposite of And.
    Nand,
    /// Whether any input is 1.
    Or,
    /// The opposite of Or.
    Nor,
    /// Whether an odd number of inputs is 1.
    Xor,
    /// The opposite of Xor.
    Xnor,
}

impl Kind {
    /// Whether the output is the opposite of what And, Or or Xor gives.
    pub(super) fn inverts(self) -> bool {
        matches!(self, Kind::Not | Kind::Nand | Kind::Nor | Kind::Xnor)
    }

    /// The value of one input that decides the output whatever the others are.
    pub(super) fn controlling(self) -> Option<bool> {
        match self {
            Kind::And | Kind::Nand => Some(false),
            Kind::Or | Kind::Nor => Some(true),
            Kind::Input | Kind::Buffer | Kind::Not | Kind::Xor | Kind::Xnor => None,
        }
    }
}

/// A circuit. Nodes are numbered: inputs first, then gates, each behind all that it reads.
#[derive(Clone, Debug)]
pub struct Circuit {
    pub(super) names: Vec<String>,
    pub(super) kinds: Vec<Kind>,
    pub(super) reads: Lists,
    pub(super) readers: Lists,
    pub(super) is_output: Vec<bool>,
    pub(super) inputs: usize,
}

/// A list of nodes for each node, one behind the other in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    ends: Vec<u32>,
    nodes: Vec<u32>,
}

impl Lists {
    /// The list of node number `node`.
    pub(super) fn of(&self, node: usize) -> &[u32] {
        let begin = if node == 0 { 0 } else { self.ends[node - 1] as usize };
        &self.nodes[begin..self.ends[node] as usize]
    }

    /// Appends the list of the next node.
    pub(super) fn push(&mut self, list: impl IntoIterator<Item = u32>) {
        self.nodes.extend(list);
        self.ends.push(self.nodes.len() as u32);
    }
}

impl Circuit {
    /// Nodes: inputs and gates. These numbers are what is split over members.
    pub fn nodes(&self) -> Range<usize> {
        0..self.kinds.len()
    }

    /// How many inputs there are; they have the first numbers.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// How many gates there are.
    pub fn gates(&self) -> usize {
        self.kinds.len() - self.inputs
    }

    /// How many outputs there are.
    pub fn outputs(&self) -> usize {
        self.is_output.iter().filter(|is_output| **is_output).count()
    }

    /// The name of a node in the file.
    pub fn name(&self, node: usize) -> &str {
        self.names.get(node).map_or("", String::as_str)
    }

    /// What a node computes.
    pub fn kind(&self, node: usize) -> Kind {
        self.kinds[node]
    }

    /// The nodes that a node reads, in the order of its pins.
    pub fn reads(&self, node: usize) -> &[u32] {
        self.reads.of(node)
    }

    /// The nodes that read a node, once for each pin.
    pub fn readers(&self, node: usize) -> &[u32] {
        self.readers.of(node)
    }

    /// Whether a node can be seen from outside.
    pub fn is_output(&self, node: usize) -> bool {
        self.is_output[node]
    }

    /// Whether the line behind a node parts: into its readers and an output.
    pub(super) fn branches(&self, node: usize) -> bool {
        self.readers(node).len() + usize::from(self.is_output[node]) > 1
    }

    /// What a gate gives for 64 patterns, where `value(pin, node)` is what it reads.
    pub(super) fn evaluate(&self, node: usize, value: impl Fn(usize, usize) -> u64) -> u64 {
        let reads = self.reads.of(node).iter().enumerate();
        let values = reads.map(|(pin, read)| value(pin, *read as usize));
        let kind = self.kinds[node];
        let plain = match kind {
            Kind::Input | Kind::Buffer | Kind::Not | Kind::Or | Kind::Nor => {
                values.fold(0, |all, one| all | one)
            }
            Kind::And | Kind::Nand => values.fold(u64::MAX, |all, one| all & one),
            Kind::Xor | Kind::Xnor => values.fold(0, |all, one| all ^ one),
        };
        if kind.inverts() { !plain } else { plain }
    }
}

/// Nodes that wait for their turn, given out from the lowest number: one bit each.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    words: Vec<u64>,
    lowest: usize,
}

impl Pending {
    /// None of so many nodes.
    pub(super) fn new(nodes: usize) -> Pending {
        Pending { words: vec![0; nodes.div_ceil(64)], lowest: usize::MAX }
    }

    /// Adds a node.
    pub(super) fn add(&mut self, node: usize) {
        self.words[node / 64] |= 1 << (node % 64);
        self.lowest = self.lowest.min(node / 64);
    }

    /// Takes the node with the lowest number.
    pub(super) fn take(&mut self) -> Option<usize> {
        while self.lowest < self.words.len() {
            let word = &mut self.words[self.lowest];
            if *word != 0 {
                let bit = word.trailing_zeros() as usize;
                *word &= *word - 1;
                return Some(64 * self.lowest + bit);
            }
            self.lowest += 1;
        }
        self.lowest = usize::MAX;
        None
    }
}
