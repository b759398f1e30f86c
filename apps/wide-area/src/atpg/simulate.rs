//! Simulation of faults with 64 patterns in a word.

use super::circuit::{Circuit, Pending};
use super::fault::{Fault, Place};

/// The values of all nodes for 64 patterns, and what a fault changes in them.
#[derive(Clone, Debug)]
pub struct Simulator<'c> {
    circuit: &'c Circuit,
    good: Vec<u64>,
    faulty: Vec<u64>,
    pending: Pending,
    touched: Vec<u32>,
}

impl<'c> Simulator<'c> {
    /// A simulator whose inputs are all 0.
    pub fn new(circuit: &'c Circuit) -> Self {
        let nodes = circuit.nodes().len();
        let good = vec![0; nodes];
        let pending = Pending::new(nodes);
        let touched = Vec::with_capacity(nodes);
        let mut simulator = Simulator { circuit, good, faulty: vec![0; nodes], pending, touched };
        simulator.load(|_| 0);
        simulator
    }

    /// Sets each input to a word, one bit for each pattern, and evaluates all gates. Returns how
    /// many it evaluated.
    pub fn load(&mut self, mut word: impl FnMut(usize) -> u64) -> u64 {
        let inputs = self.circuit.inputs();
        for (input, value) in self.good.iter_mut().take(inputs).enumerate() {
            *value = word(input);
        }
        for node in inputs..self.good.len() {
            self.good[node] = self.circuit.evaluate(node, |_, read| self.good[read]);
        }
        self.faulty.copy_from_slice(&self.good);
        self.circuit.gates() as u64
    }

    /// The word of a node without faults.
    pub fn value(&self, node: usize) -> u64 {
        self.good[node]
    }

    /// Which of the patterns show a fault at an output, one bit each, and how many gates were
    /// evaluated to know it.
    pub fn detect(&mut self, fault: &Fault) -> (u64, u64) {
        let site = fault.node as usize;
        let stuck = if fault.stuck { u64::MAX } else { 0 };
        let value = match fault.place {
            Place::Stem => stuck,
            Place::Pin(faulty) => self.circuit.evaluate(site, |pin, read| {
                if pin == faulty as usize { stuck } else { self.good[read] }
            }),
        };
        let mut seen = self.change(site, value);
        let mut evaluated = 1;
        while let Some(node) = self.pending.take() {
            let value = self.circuit.evaluate(node, |_, read| self.faulty[read]);
            evaluated += 1;
            seen |= self.change(node, value);
        }
        for node in self.touched.drain(..) {
            self.faulty[node as usize] = self.good[node as usize];
        }
        (seen, evaluated)
    }

    /// Gives a node its faulty value; returns where an output shows it.
    fn change(&mut self, node: usize, value: u64) -> u64 {
        let changed = value ^ self.good[node];
        if changed == 0 {
            return 0;
        }
        self.faulty[node] = value;
        self.touched.push(node as u32);
        for reader in self.circuit.readers(node) {
            self.pending.add(*reader as usize);
        }
        if self.circuit.is_output(node) { changed } else { 0 }
    }
}
