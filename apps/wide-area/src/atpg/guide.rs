//! How hard it is to set a node to a value, and how far it is from an output: what guides PODEM.

use super::circuit::{Circuit, Kind};

/// An effort that no circuit needs.
const EFFORT_MAX: u32 = 1 << 24;

/// The combinational controllability of SCOAP (Goldstein 1979), and distances to outputs.
#[derive(Clone, Debug)]
pub(super) struct Guide {
    /// Inputs that have to be set, about, for 0 and for 1.
    efforts: Vec<[u32; 2]>,
    /// Gates to the nearest output.
    pub(super) distances: Vec<u32>,
}

impl Guide {
    pub(super) fn new(circuit: &Circuit) -> Guide {
        let mut efforts: Vec<[u32; 2]> = Vec::with_capacity(circuit.nodes().len());
        for node in circuit.nodes() {
            let reads = circuit.reads(node).iter().map(|read| efforts[*read as usize]);
            efforts.push(node_efforts(circuit.kind(node), reads));
        }
        let mut distances = vec![u32::MAX; circuit.nodes().len()];
        for node in circuit.nodes().rev() {
            let readers = circuit.readers(node).iter();
            let nearest = readers.map(|reader| distances[*reader as usize].saturating_add(1)).min();
            let here = if circuit.is_output(node) { Some(0) } else { nearest };
            distances[node] = here.unwrap_or(u32::MAX);
        }
        Guide { efforts, distances }
    }

    /// The effort of setting a node to a value.
    pub(super) fn effort(&self, node: usize, value: bool) -> u32 {
        self.efforts[node][usize::from(value)]
    }
}

fn node_efforts(kind: Kind, reads: impl Iterator<Item = [u32; 2]> + Clone) -> [u32; 2] {
    let bounded = |effort: u32| (effort + 1).min(EFFORT_MAX);
    let sum = |value: usize| {
        let efforts = reads.clone().map(|read| read[value]);
        bounded(efforts.fold(0, |all, one| (all + one).min(EFFORT_MAX)))
    };
    let least = |value: usize| bounded(reads.clone().map(|read| read[value]).min().unwrap_or(0));
    let plain = match kind {
        Kind::Input => [1, 1],
        Kind::Buffer | Kind::Not => [least(0), least(1)],
        Kind::And | Kind::Nand => [least(0), sum(1)],
        Kind::Or | Kind::Nor => [sum(0), least(1)],
        Kind::Xor | Kind::Xnor => parity_efforts(reads, bounded),
    };
    if kind.inverts() { [plain[1], plain[0]] } else { plain }
}

/// Of an even and of an odd number of ones.
fn parity_efforts(reads: impl Iterator<Item = [u32; 2]>, bounded: impl Fn(u32) -> u32) -> [u32; 2] {
    let mut parity = [0, EFFORT_MAX];
    for [zero, one] in reads {
        let even = (parity[0] + zero).min(parity[1] + one).min(EFFORT_MAX);
        let odd = (parity[0] + one).min(parity[1] + zero).min(EFFORT_MAX);
        parity = [even, odd];
    }
    parity.map(bounded)
}
