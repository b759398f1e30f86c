//! A fault's test as clauses: the circuit without and with the fault, and a way on which a
//! difference travels to an output (Larrabee, IEEE Transactions on CAD 11, 1992).

use super::circuit::{Circuit, Kind};
use super::cone::Cone;
use super::fault::{Fault, Place};
use super::solver::{Literal, Solver};

/// The variables of the nodes of one fault's cone.
#[derive(Clone, Debug)]
pub(super) struct Encoding {
    good: Vec<u32>,
    faulty: Vec<u32>,
    /// Whether the difference travels over a node.
    carries: Vec<u32>,
    /// What a gate reads, while its clauses are written.
    reads: Vec<Literal>,
    clause: Vec<Literal>,
}

impl Encoding {
    pub(super) fn new(circuit: &Circuit) -> Encoding {
        let nodes = circuit.nodes().len();
        Encoding {
            good: vec![0; nodes],
            faulty: vec![0; nodes],
            carries: vec![0; nodes],
            reads: Vec::new(),
            clause: Vec::new(),
        }
    }

    /// Writes all clauses of a fault into an empty solver.
    pub(super) fn write(
        &mut self,
        circuit: &Circuit,
        fault: &Fault,
        cone: &Cone,
        solver: &mut Solver,
    ) {
        solver.clear();
        let constant = solver.variable();
        solver.add(&[Literal::of(constant, true)]);
        for node in cone.relevant.iter().map(|node| *node as usize) {
            self.good[node] = solver.variable();
            self.faulty[node] = self.good[node];
            if cone.changes(node) {
                self.faulty[node] = solver.variable();
                self.carries[node] = solver.variable();
            }
        }
        for node in cone.relevant.iter().map(|node| *node as usize) {
            self.write_gate(circuit, node, None, solver);
        }
        let stuck = Literal::of(constant, fault.stuck);
        for node in cone.nodes.iter().map(|node| *node as usize) {
            let here = (node == fault.node as usize).then_some((fault.place, stuck));
            match here {
                Some((Place::Stem, _)) => {
                    solver.add(&[Literal::of(self.faulty[node], fault.stuck)]);
                }
                _ => self.write_gate(circuit, node, Some(here), solver),
            }
            self.write_travel(circuit, node, solver);
        }
        solver.add(&[Literal::of(self.carries[fault.node as usize], true)]);
        solver.add(&[Literal::of(self.good[fault.driver(circuit)], !fault.stuck)]);
    }

    /// What the assignment that was found sets an input to; nothing if it does not matter.
    pub(super) fn assigned(&self, cone: &Cone, solver: &Solver, input: usize) -> Option<bool> {
        cone.concerns(input).then(|| solver.is_true(self.good[input]))
    }

    /// A gate of the circuit without the fault, or with it: then some pin may be stuck.
    fn write_gate(
        &mut self,
        circuit: &Circuit,
        node: usize,
        faulty: Option<Option<(Place, Literal)>>,
        solver: &mut Solver,
    ) {
        let kind = circuit.kind(node);
        if kind == Kind::Input {
            return;
        }
        let variables = if faulty.is_some() { &self.faulty } else { &self.good };
        self.reads.clear();
        for (pin, read) in circuit.reads(node).iter().enumerate() {
            let literal = match faulty.flatten() {
                Some((place, stuck)) if place == Place::Pin(pin as u32) => stuck,
                _ => Literal::of(variables[*read as usize], true),
            };
            self.reads.push(literal);
        }
        let output = Literal::of(variables[node], !kind.inverts());
        match kind {
            Kind::Xor | Kind::Xnor => self.write_parity(output, solver),
            Kind::Or | Kind::Nor => {
                self.reads.iter_mut().for_each(|read| *read = read.not());
                self.write_and(output.not(), solver);
            }
            _ => self.write_and(output, solver),
        }
    }

    fn write_and(&mut self, output: Literal, solver: &mut Solver) {
        self.clause.clear();
        self.clause.push(output);
        for read in &self.reads {
            solver.add(&[output.not(), *read]);
            self.clause.push(read.not());
        }
        solver.add(&self.clause);
    }

    /// A chain of pairs: each but the last has a variable of its own.
    fn write_parity(&mut self, output: Literal, solver: &mut Solver) {
        let mut before = self.reads[0];
        for at in 1..self.reads.len() {
            let is_last = at + 1 == self.reads.len();
            let after = if is_last { output } else { Literal::of(solver.variable(), true) };
            let read = self.reads[at];
            solver.add(&[after.not(), before, read]);
            solver.add(&[after.not(), before.not(), read.not()]);
            solver.add(&[after, before.not(), read]);
            solver.add(&[after, before, read.not()]);
            before = after;
        }
    }

    /// Where the difference travels, the values differ, and it goes on to a reader or is seen.
    fn write_travel(&mut self, circuit: &Circuit, node: usize, solver: &mut Solver) {
        let carries = Literal::of(self.carries[node], true);
        let good = Literal::of(self.good[node], true);
        let faulty = Literal::of(self.faulty[node], true);
        solver.add(&[carries.not(), good, faulty]);
        solver.add(&[carries.not(), good.not(), faulty.not()]);
        if circuit.is_output(node) {
            return;
        }
        self.clause.clear();
        self.clause.push(carries.not());
        for reader in circuit.readers(node) {
            self.clause.push(Literal::of(self.carries[*reader as usize], true));
        }
        solver.add(&self.clause);
    }
}
