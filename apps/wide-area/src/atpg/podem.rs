//! PODEM (Goel, IEEE Transactions on Computers C-30, 1981): decisions on inputs alone, and a
//! backtrace from what is wanted to the input that may bring it. Complete: without a limit it
//! finds a test or proves that there is no test.

use super::circuit::{Circuit, Kind, Pending};
use super::cone::Cone;
use super::fault::{Fault, Place};
use super::guide::Guide;

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// An assignment of inputs that shows the fault.
    Test,
    /// No assignment shows the fault.
    Redundant,
    /// Nothing within the limit.
    GaveUp,
}

/// The bit of a rail for the circuit without the fault.
const GOOD: u8 = 1;
/// The bit for the circuit with the fault.
const FAULTY: u8 = 2;

/// The value of a node in both circuits: known to be 0, known to be 1, or not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rail {
    zero: u8,
    one: u8,
}

impl Rail {
    fn of(value: bool) -> Rail {
        let both = GOOD | FAULTY;
        if value { Rail { zero: 0, one: both } } else { Rail { zero: both, one: 0 } }
    }

    fn is_unknown(self) -> bool {
        self.zero | self.one != GOOD | FAULTY
    }

    fn differs(self) -> bool {
        !self.is_unknown() && (self.one == GOOD || self.one == FAULTY)
    }

    fn good(self) -> Option<bool> {
        match ((self.zero | self.one) & GOOD, self.one & GOOD) {
            (0, _) => None,
            (_, one) => Some(one != 0),
        }
    }

    /// The same with a value of its own in the circuit with the fault.
    fn stuck(self, value: bool) -> Rail {
        let forced = Rail::of(value);
        Rail {
            zero: self.zero & GOOD | forced.zero & FAULTY,
            one: self.one & GOOD | forced.one & FAULTY,
        }
    }

    fn and(self, other: Rail) -> Rail {
        Rail { zero: self.zero | other.zero, one: self.one & other.one }
    }

    fn or(self, other: Rail) -> Rail {
        Rail { zero: self.zero & other.zero, one: self.one | other.one }
    }

    fn xor(self, other: Rail) -> Rail {
        Rail {
            zero: self.zero & other.zero | self.one & other.one,
            one: self.zero & other.one | self.one & other.zero,
        }
    }
}

/// An input that was set, and whether the other value was tried already.
#[derive(Clone, Copy, Debug)]
struct Decision {
    input: u32,
    value: bool,
    is_second: bool,
    /// Changes made before it.
    changes: usize,
}

/// The state of searches in one circuit; its memory is used again for the next fault.
#[derive(Debug)]
pub(super) struct Podem<'c> {
    circuit: &'c Circuit,
    guide: Guide,
    rails: Vec<Rail>,
    changes: Vec<(u32, Rail)>,
    decisions: Vec<Decision>,
    pending: Pending,
    /// Whether a difference could still travel from a node to an output.
    is_open: Vec<bool>,
    operations: u64,
}

impl<'c> Podem<'c> {
    pub(super) fn new(circuit: &'c Circuit) -> Self {
        let nodes = circuit.nodes().len();
        Podem {
            circuit,
            guide: Guide::new(circuit),
            rails: vec![Rail::default(); nodes],
            changes: Vec::with_capacity(2 * nodes),
            decisions: Vec::with_capacity(circuit.inputs()),
            pending: Pending::new(nodes),
            is_open: vec![false; nodes],
            operations: 0,
        }
    }

    /// Searches a test of a fault, whose cone is given, and goes back at most `limit` times.
    pub(super) fn find(&mut self, fault: &Fault, cone: &Cone, limit: u32) -> Found {
        self.undo(0);
        self.decisions.clear();
        self.pending.add(fault.node as usize);
        self.imply(fault, cone);
        let mut backtracks = 0;
        loop {
            let wanted = match self.look(fault, cone) {
                Look::Detected => return Found::Test,
                Look::Wanted(node, value) => Some((node, value)),
                Look::Conflict => None,
            };
            if let Some((node, value)) = wanted {
                let decision = self.backtrace(node, value);
                self.decide(decision, fault, cone);
                continue;
            }
            let Some(decision) = self.last_open_decision() else { return Found::Redundant };
            backtracks += 1;
            if backtracks > limit {
                return Found::GaveUp;
            }
            self.decide(decision, fault, cone);
        }
    }

    /// What the test that was found last sets an input to; nothing if it may be either.
    pub(super) fn assigned(&self, input: usize) -> Option<bool> {
        self.rails[input].good()
    }

    /// The operations since this was asked last.
    pub(super) fn take_operations(&mut self) -> u64 {
        std::mem::take(&mut self.operations)
    }

    fn undo(&mut self, changes: usize) {
        while self.changes.len() > changes {
            if let Some((node, rail)) = self.changes.pop() {
                self.rails[node as usize] = rail;
            }
        }
    }

    /// Takes decisions back to the last one with another value to try, and gives that value.
    fn last_open_decision(&mut self) -> Option<Decision> {
        while let Some(decision) = self.decisions.pop() {
            self.undo(decision.changes);
            if !decision.is_second {
                return Some(Decision { value: !decision.value, is_second: true, ..decision });
            }
        }
        None
    }

    fn decide(&mut self, decision: Decision, fault: &Fault, cone: &Cone) {
        self.decisions.push(decision);
        let input = decision.input as usize;
        let is_site = fault.node == decision.input;
        let rail = Rail::of(decision.value);
        self.set(input, if is_site { rail.stuck(fault.stuck) } else { rail }, cone);
        self.imply(fault, cone);
    }

    fn set(&mut self, node: usize, rail: Rail, cone: &Cone) {
        if self.rails[node] == rail {
            return;
        }
        self.changes.push((node as u32, self.rails[node]));
        self.rails[node] = rail;
        for reader in self.circuit.readers(node) {
            if cone.concerns(*reader as usize) {
                self.pending.add(*reader as usize);
            }
        }
    }

    /// Evaluates forward until nothing changes.
    fn imply(&mut self, fault: &Fault, cone: &Cone) {
        while let Some(node) = self.pending.take() {
            let rail = self.evaluate(node, fault);
            self.operations += 1;
            self.set(node, rail, cone);
        }
    }

    fn evaluate(&self, node: usize, fault: &Fault) -> Rail {
        let is_site = fault.node as usize == node;
        let kind = self.circuit.kind(node);
        let reads = self.circuit.reads(node).iter().enumerate().map(|(pin, read)| {
            let rail = self.rails[*read as usize];
            let is_stuck = is_site && fault.place == Place::Pin(pin as u32);
            if is_stuck { rail.stuck(fault.stuck) } else { rail }
        });
        let plain = match kind {
            Kind::Input => self.rails[node],
            Kind::Buffer | Kind::Not | Kind::Or | Kind::Nor => {
                reads.fold(Rail::of(false), Rail::or)
            }
            Kind::And | Kind::Nand => reads.fold(Rail::of(true), Rail::and),
            Kind::Xor | Kind::Xnor => reads.fold(Rail::of(false), Rail::xor),
        };
        let inverts = kind.inverts();
        let rail = if inverts { Rail { zero: plain.one, one: plain.zero } } else { plain };
        if is_site && fault.place == Place::Stem { rail.stuck(fault.stuck) } else { rail }
    }

    /// Whether the fault is seen, or else what has to be set next, or that it cannot be seen.
    fn look(&mut self, fault: &Fault, cone: &Cone) -> Look {
        let driver = fault.driver(self.circuit);
        match self.rails[driver].good() {
            None => return Look::Wanted(driver, !fault.stuck),
            Some(value) if value == fault.stuck => return Look::Conflict,
            Some(_) => {}
        }
        let mut nearest: Option<usize> = None;
        self.operations += cone.nodes.len() as u64;
        for node in cone.nodes.iter().rev().map(|node| *node as usize) {
            let is_output = self.circuit.is_output(node);
            if is_output && self.rails[node].differs() {
                return Look::Detected;
            }
            let mut readers = self.circuit.readers(node).iter();
            let leads = is_output || readers.any(|reader| self.is_open[*reader as usize]);
            self.is_open[node] = leads && self.rails[node].is_unknown();
            if self.is_open[node] && self.is_frontier(node, fault) {
                let distance = |node: usize| self.guide.distances[node];
                let is_nearer = nearest.is_none_or(|other| distance(node) < distance(other));
                nearest = if is_nearer { Some(node) } else { nearest };
            }
        }
        nearest.map_or(Look::Conflict, |node| self.open_gate(node))
    }

    /// Whether a difference has come to a node whose own value is not known.
    fn is_frontier(&self, node: usize, fault: &Fault) -> bool {
        let is_site = fault.node as usize == node && fault.place != Place::Stem;
        let mut reads = self.circuit.reads(node).iter();
        is_site || reads.any(|read| self.rails[*read as usize].differs())
    }

    /// What lets a difference through a gate: the hardest of its unknown pins first.
    fn open_gate(&self, node: usize) -> Look {
        let controlling = self.circuit.kind(node).controlling();
        let value = |read: usize| match controlling {
            Some(controlling) => !controlling,
            None => self.guide.effort(read, true) < self.guide.effort(read, false),
        };
        let hardest =
            self.unknown_reads(node).max_by_key(|read| self.guide.effort(*read, value(*read)));
        hardest.map_or(Look::Conflict, |read| Look::Wanted(read, value(read)))
    }

    fn unknown_reads(&self, node: usize) -> impl Iterator<Item = usize> {
        let reads = self.circuit.reads(node).iter().map(|read| *read as usize);
        reads.filter(|read| self.rails[*read].is_unknown())
    }

    /// Follows unknown nodes from what is wanted to an input. A guess: any input that the node
    /// depends on and is not set yet keeps the search complete.
    fn backtrace(&self, node: usize, value: bool) -> Decision {
        let mut node = node;
        let mut value = value;
        loop {
            let kind = self.circuit.kind(node);
            let plain = value ^ kind.inverts();
            let effort = |read: &usize| self.guide.effort(*read, plain);
            let is_any = kind.controlling() == Some(plain);
            let mut unknown = self.unknown_reads(node);
            let next = match kind.controlling() {
                Some(_) if is_any => unknown.min_by_key(effort),
                Some(_) => unknown.max_by_key(effort),
                None => unknown.next(),
            };
            let Some(next) = next else {
                let changes = self.changes.len();
                return Decision { input: node as u32, value, is_second: false, changes };
            };
            value = plain;
            if matches!(kind, Kind::Xor | Kind::Xnor) {
                let reads = self.circuit.reads(node).iter();
                let known = reads.filter_map(|read| self.rails[*read as usize].good());
                value = known.fold(plain, |parity, one| parity ^ one);
            }
            node = next;
        }
    }
}

/// What a look at the state of a search says.
enum Look {
    Detected,
    Wanted(usize, bool),
    Conflict,
}
