//! The nodes that a fault can change, and those that they depend on.

use super::circuit::{Circuit, Pending};

/// The cone of one fault; its memory is used again for the next one.
#[derive(Clone, Debug)]
pub(super) struct Cone {
    /// The node of the fault and all behind it, in the circuit's order.
    pub(super) nodes: Vec<u32>,
    /// These and all that they read, directly or not, in the circuit's order.
    pub(super) relevant: Vec<u32>,
    marks: Vec<Mark>,
    pending: Pending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Outside,
    Relevant,
    Changeable,
}

impl Cone {
    pub(super) fn new(circuit: &Circuit) -> Cone {
        let nodes = circuit.nodes().len();
        Cone {
            nodes: Vec::with_capacity(nodes),
            relevant: Vec::with_capacity(nodes),
            marks: vec![Mark::Outside; nodes],
            pending: Pending::new(nodes),
        }
    }

    /// Takes the cone of the faults at a node.
    pub(super) fn find(&mut self, circuit: &Circuit, site: usize) {
        self.marks.fill(Mark::Outside);
        self.nodes.clear();
        self.pending.add(site);
        while let Some(node) = self.pending.take() {
            self.nodes.push(node as u32);
            self.marks[node] = Mark::Changeable;
            circuit.readers(node).iter().for_each(|reader| self.pending.add(*reader as usize));
        }
        self.relevant.clear();
        for node in circuit.nodes().rev() {
            if self.marks[node] == Mark::Outside {
                continue;
            }
            self.relevant.push(node as u32);
            for read in circuit.reads(node) {
                let mark = &mut self.marks[*read as usize];
                if *mark == Mark::Outside {
                    *mark = Mark::Relevant;
                }
            }
        }
        self.relevant.reverse();
    }

    /// Whether the fault can change a node.
    pub(super) fn changes(&self, node: usize) -> bool {
        self.marks[node] == Mark::Changeable
    }

    /// Whether a node has to do with the fault.
    pub(super) fn concerns(&self, node: usize) -> bool {
        self.marks[node] != Mark::Outside
    }
}
