//! Stuck-at faults and their classes: faults that no pattern tells apart are counted once.

use super::circuit::{Circuit, Kind};

/// Where a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// On one pin of the node, behind the point where the line to it parts.
    Pin(u32),
    /// On the line behind the node.
    Stem,
}

/// A line that keeps one value whatever drives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fault {
    /// The node that it is at.
    pub node: u32,
    /// The line there.
    pub place: Place,
    /// The value that the line keeps.
    pub stuck: bool,
}

impl Fault {
    /// The node whose value the line would have without the fault.
    pub fn driver(&self, circuit: &Circuit) -> usize {
        match self.place {
            Place::Stem => self.node as usize,
            Place::Pin(pin) => circuit.reads(self.node as usize)[pin as usize] as usize,
        }
    }
}

/// The classes of equivalent faults of a circuit, by the node that owns them.
#[derive(Clone, Debug)]
pub struct FaultList {
    all: usize,
    representatives: Vec<Fault>,
    /// Where the classes of each node end.
    ends: Vec<u32>,
}

impl FaultList {
    /// All faults of stems and branches, collapsed: a controlling value on any pin of a gate is the
    /// same as what it makes of the output, and so are both values of a gate with one pin.
    pub fn new(circuit: &Circuit) -> FaultList {
        let lines = Lines::new(circuit);
        let mut classes = Classes::new(lines.faults.len());
        for node in circuit.nodes() {
            for (pin, stuck, makes) in equivalent(circuit, node) {
                let input = lines.number(circuit, node, pin, stuck);
                classes.join(input, lines.stem(node, makes));
            }
        }
        let mut representatives: Vec<Fault> = Vec::new();
        let mut best: Vec<Option<Fault>> = vec![None; lines.faults.len()];
        for (number, fault) in lines.faults.iter().enumerate() {
            let root = classes.root(number);
            best[root] = best[root].max(Some(*fault));
        }
        representatives.extend(best.into_iter().flatten());
        representatives.sort_unstable();
        let count = |node: usize| representatives.partition_point(|f| f.node as usize <= node);
        let ends = circuit.nodes().map(|node| count(node) as u32).collect();
        FaultList { all: lines.faults.len(), representatives, ends }
    }

    /// Faults before collapsing.
    pub fn uncollapsed(&self) -> usize {
        self.all
    }

    /// One fault of each class, ordered by node.
    pub fn classes(&self) -> &[Fault] {
        &self.representatives
    }

    /// One fault of each class that a node owns.
    pub fn of(&self, node: usize) -> &[Fault] {
        let begin = if node == 0 { 0 } else { self.ends[node - 1] as usize };
        &self.representatives[begin..self.ends[node] as usize]
    }
}

/// What a pin stuck at a value makes of the output: pin, value, and the output's value.
fn equivalent(circuit: &Circuit, node: usize) -> impl Iterator<Item = (usize, bool, bool)> {
    let kind = circuit.kind(node);
    let values: &[bool] = match kind {
        Kind::Input | Kind::Xor | Kind::Xnor => &[],
        Kind::Buffer | Kind::Not => &[false, true],
        Kind::And | Kind::Nand => &[false],
        Kind::Or | Kind::Nor => &[true],
    };
    let pins = 0..circuit.reads(node).len();
    pins.flat_map(move |pin| values.iter().map(move |value| (pin, *value, *value ^ kind.inverts())))
}

/// The lines of a circuit, two faults each: stems by node, then branches by node and pin.
struct Lines {
    faults: Vec<Fault>,
    /// The first branch fault of each node.
    branches: Vec<usize>,
}

impl Lines {
    fn new(circuit: &Circuit) -> Lines {
        let both = |node: usize, place: Place| {
            [false, true].map(|stuck| Fault { node: node as u32, place, stuck })
        };
        let mut faults: Vec<Fault> =
            circuit.nodes().flat_map(|node| both(node, Place::Stem)).collect();
        let mut branches = Vec::with_capacity(circuit.nodes().len());
        for node in circuit.nodes() {
            branches.push(faults.len());
            for (pin, read) in circuit.reads(node).iter().enumerate() {
                if circuit.branches(*read as usize) {
                    faults.extend(both(node, Place::Pin(pin as u32)));
                }
            }
        }
        Lines { faults, branches }
    }

    fn stem(&self, node: usize, stuck: bool) -> usize {
        2 * node + usize::from(stuck)
    }

    /// The fault of the line at a pin: a branch of its own, or the stem of the node that it reads.
    fn number(&self, circuit: &Circuit, node: usize, pin: usize, stuck: bool) -> usize {
        let reads = circuit.reads(node);
        if !circuit.branches(reads[pin] as usize) {
            return self.stem(reads[pin] as usize, stuck);
        }
        let before = reads[..pin].iter().filter(|read| circuit.branches(**read as usize)).count();
        self.branches[node] + 2 * before + usize::from(stuck)
    }
}

/// Sets that are joined, as a forest.
struct Classes {
    parents: Vec<usize>,
}

impl Classes {
    fn new(count: usize) -> Classes {
        Classes { parents: (0..count).collect() }
    }

    fn root(&mut self, mut one: usize) -> usize {
        while self.parents[one] != one {
            self.parents[one] = self.parents[self.parents[one]];
            one = self.parents[one];
        }
        one
    }

    fn join(&mut self, one: usize, other: usize) {
        let one = self.root(one);
        let other = self.root(other);
        self.parents[one] = other;
    }
}
