//! Fewer patterns that show the same faults: those of one gate often show those of others.

use super::circuit::Circuit;
use super::fault::{Fault, FaultList};
use super::simulate::Simulator;

/// What is left of a set of patterns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// The numbers of the patterns kept.
    pub kept: Vec<usize>,
    /// Classes of faults that they show, which are all that the whole set shows.
    pub covered: u64,
    /// Gates evaluated.
    pub operations: u64,
}

/// Keeps of each 64 patterns, the last ones first, those that show a fault which no pattern kept
/// before shows: first the one that shows the most. One member does this with the patterns of all,
/// ordered by gate.
pub fn reduce(circuit: &Circuit, faults: &FaultList, patterns: &[Vec<bool>]) -> Reduced {
    let mut simulator = Simulator::new(circuit);
    let mut left: Vec<(Fault, u64)> = faults.classes().iter().map(|fault| (*fault, 0)).collect();
    let mut reduced = Reduced { kept: Vec::new(), covered: 0, operations: 0 };
    let words = patterns.chunks(64).enumerate().rev();
    for (word, chunk) in words {
        reduced.operations += simulator.load(|input| {
            let bit = |(at, pattern): (usize, &Vec<bool>)| {
                u64::from(pattern.get(input).copied().unwrap_or(false)) << at
            };
            chunk.iter().enumerate().map(bit).sum()
        });
        for (fault, shown) in &mut left {
            let (mask, evaluated) = simulator.detect(fault);
            *shown = if chunk.len() < 64 { mask & ((1 << chunk.len()) - 1) } else { mask };
            reduced.operations += evaluated;
        }
        while let Some(best) = best_pattern(&left) {
            let before = left.len();
            left.retain(|(_, shown)| (shown >> best) & 1 == 0);
            reduced.covered += (before - left.len()) as u64;
            reduced.kept.push(64 * word + best as usize);
        }
    }
    reduced
}

/// The first of 64 patterns that show the most faults; nothing if none does.
pub(super) fn best_pattern(faults: &[(Fault, u64)]) -> Option<u32> {
    let mut counts = [0u32; 64];
    for (_, shown) in faults {
        let mut rest = *shown;
        while rest != 0 {
            counts[rest.trailing_zeros() as usize] += 1;
            rest &= rest - 1;
        }
    }
    let best = (0..counts.len()).max_by_key(|at| (counts[*at], counts.len() - at))?;
    (counts[best] > 0).then_some(best as u32)
}
