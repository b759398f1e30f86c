//! Tests for the faults of some gates, and what they come to.

use super::circuit::Circuit;
use super::cone::Cone;
use super::encode::Encoding;
use super::fault::{Fault, FaultList};
use super::podem::{Found, Podem};
use super::reduce::best_pattern;
use super::simulate::Simulator;
use super::solver::Solver;
use crate::random::Random;

/// How much is tried. The same effort gives the same figures on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Where random patterns come from.
    pub seed: u64,
    /// Words of 64 random patterns for each gate, at most.
    pub words: u32,
    /// Times that PODEM goes back for one fault before it gives up.
    pub backtracks: u32,
    /// Conflicts of the search with learned clauses before a fault counts as aborted.
    pub conflicts: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { seed: 1, words: 8, backtracks: 64, conflicts: 1 << 18 }
    }
}

/// What became of faults. Statistics of parts add up to those of the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Patterns that show a fault of their gate which no pattern before them showed.
    pub patterns: u64,
    /// Classes of faults looked at.
    pub faults: u64,
    /// Those that a pattern shows.
    pub covered: u64,
    /// Those that no pattern shows, which is proven.
    pub redundant: u64,
    /// Those about which nothing is known.
    pub aborted: u64,
    /// Operations counted.
    pub operations: u64,
}

impl Statistics {
    /// Takes the statistics of another part in.
    pub fn add(&mut self, part: &Statistics) {
        self.patterns += part.patterns;
        self.faults += part.faults;
        self.covered += part.covered;
        self.redundant += part.redundant;
        self.aborted += part.aborted;
        self.operations += part.operations;
    }
}

/// What one member needs to treat gates of a circuit.
#[derive(Debug)]
pub struct Generator<'c> {
    circuit: &'c Circuit,
    faults: &'c FaultList,
    effort: Effort,
    simulator: Simulator<'c>,
    podem: Podem<'c>,
    cone: Cone,
    encoding: Encoding,
    solver: Solver,
    /// Faults of the gate at hand that no pattern shows yet, and which patterns of the word do.
    left: Vec<(Fault, u64)>,
    pattern: Vec<bool>,
    /// What a test sets inputs to.
    test: Vec<Option<bool>>,
}

impl<'c> Generator<'c> {
    /// A generator for any gates of a circuit.
    pub fn new(circuit: &'c Circuit, faults: &'c FaultList, effort: Effort) -> Self {
        Generator {
            circuit,
            faults,
            effort,
            simulator: Simulator::new(circuit),
            podem: Podem::new(circuit),
            cone: Cone::new(circuit),
            encoding: Encoding::new(circuit),
            solver: Solver::default(),
            left: Vec::new(),
            pattern: vec![false; circuit.inputs()],
            test: vec![None; circuit.inputs()],
        }
    }

    /// Treats the faults that nodes own, each node for itself, and hands each pattern to `keep`:
    /// a value for each input. Nodes that cost much lie side by side: members that take every
    /// n-th node finish closer together than members that take ranges.
    pub fn run(
        &mut self,
        nodes: impl Iterator<Item = usize>,
        keep: &mut impl FnMut(&[bool]),
    ) -> Statistics {
        let circuit = self.circuit;
        let mut statistics = Statistics::default();
        for node in nodes.filter(|node| circuit.nodes().contains(node)) {
            self.run_node(node, &mut statistics, keep);
        }
        statistics
    }

    fn run_node(
        &mut self,
        node: usize,
        statistics: &mut Statistics,
        keep: &mut impl FnMut(&[bool]),
    ) {
        let faults = self.faults.of(node);
        self.left.clear();
        self.left.extend(faults.iter().map(|fault| (*fault, 0)));
        statistics.faults += faults.len() as u64;
        let mut random = Random::of_part(self.effort.seed, node as u64);
        self.test.fill(None);
        for _ in 0..self.effort.words {
            if self.left.is_empty() {
                return;
            }
            self.try_word(&mut random, statistics, keep);
        }
        self.cone.find(self.circuit, node);
        while let Some((fault, _)) = self.left.last().copied() {
            match self.find_test(&fault, statistics) {
                Found::Test => {
                    let before = self.left.len();
                    self.try_word(&mut random, statistics, keep);
                    if self.left.len() == before {
                        // A test that simulation does not confirm would be a defect of the search.
                        statistics.aborted += 1;
                        self.left.pop();
                    }
                    continue;
                }
                Found::Redundant => statistics.redundant += 1,
                Found::GaveUp => statistics.aborted += 1,
            }
            self.left.pop();
        }
    }

    fn find_test(&mut self, fault: &Fault, statistics: &mut Statistics) -> Found {
        let mut found = self.podem.find(fault, &self.cone, self.effort.backtracks);
        statistics.operations += self.podem.take_operations();
        if found == Found::Test {
            for (input, set) in self.test.iter_mut().enumerate() {
                *set = self.podem.assigned(input);
            }
        }
        if found == Found::GaveUp {
            self.encoding.write(self.circuit, fault, &self.cone, &mut self.solver);
            found = match self.solver.solve(self.effort.conflicts) {
                Some(true) => Found::Test,
                Some(false) => Found::Redundant,
                None => Found::GaveUp,
            };
            statistics.operations += self.solver.take_operations();
            for (input, set) in self.test.iter_mut().enumerate() {
                *set = self.encoding.assigned(&self.cone, &self.solver, input);
            }
        }
        found
    }

    /// Simulates 64 patterns that set what the test sets and are random elsewhere, and keeps those
    /// that show faults: first the one that shows the most.
    fn try_word(
        &mut self,
        random: &mut Random,
        statistics: &mut Statistics,
        keep: &mut impl FnMut(&[bool]),
    ) {
        let test = &self.test;
        statistics.operations += self.simulator.load(|input| {
            let bits = random.next_bits();
            test[input].map_or(bits, |value| if value { u64::MAX } else { 0 })
        });
        for (fault, shown) in &mut self.left {
            let (mask, evaluated) = self.simulator.detect(fault);
            *shown = mask;
            statistics.operations += evaluated;
        }
        while let Some(best) = best_pattern(&self.left) {
            for (input, value) in self.pattern.iter_mut().enumerate() {
                *value = (self.simulator.value(input) >> best) & 1 == 1;
            }
            keep(&self.pattern);
            let before = self.left.len();
            self.left.retain(|(_, shown)| (shown >> best) & 1 == 0);
            statistics.covered += (before - self.left.len()) as u64;
            statistics.patterns += 1;
        }
    }
}

/// All faults of a circuit, by one member.
pub fn solve(circuit: &Circuit, effort: Effort) -> Statistics {
    let faults = FaultList::new(circuit);
    Generator::new(circuit, &faults, effort).run(circuit.nodes(), &mut |_| ())
}
