//! Molecular dynamics of water by all pairs of molecules (wide-area paper, section 4.1).
//!
//! Molecules are flexible: SPC/Fw (Wu, Tepper and Voth 2006), with its angle written by the cosine.
//! Each has a [`Place`] of nine coordinates. Two molecules interact by their nearest images, within
//! half of the box, and fade out before.
//!
//! A step has two stages and one more drift (McLachlan's symmetric method of second order with two
//! forces per step). In a stage a member drifts its [`Block`], gives its places to others, and
//! computes the pairs within its block and with the blocks that [`needs`] names: the next p / 2
//! members'. It gives the forces on their molecules back to them, adds up those on its own, and
//! kicks. After the last step members add up energies and checksums.
//!
//! Forces and energies are whole numbers of tiny units, so that sums do not depend on their order;
//! and a pair is computed in the order of its molecules' numbers. No member count changes a bit.

mod block;
mod field;
mod fixed;
mod pairs;
mod problem;

pub use block::{Block, Stage};
pub use field::Place;
pub use fixed::{ENERGY_UNIT, FORCE_UNIT, Forces, energy};
pub use pairs::{Pairs, Part, Share, needed_by, needs};
pub use problem::{MOLECULES_MAX, Problem, STEPS_MAX};

/// The answer of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The kinetic energy after the last step in kcal/mol.
    pub kinetic: f64,
    /// The potential energy at the last forces in kcal/mol.
    pub potential: f64,
    /// The checksum of all places and velocities.
    pub checksum: u64,
    /// Pairs of molecules looked at.
    pub pairs: u64,
}

/// Runs all steps in one block; also returns the block.
///
/// # Errors
/// Molecules that come too close or move too fast.
pub fn solve(problem: &Problem) -> Result<(Answer, Block), String> {
    let mut block = problem.block(0..problem.molecules());
    let mut forces = vec![[0; 9]; problem.molecules()];
    let mut answer = Answer { kinetic: 0.0, potential: 0.0, checksum: 0, pairs: 0 };
    for _ in 0..problem.steps() {
        for stage in [Stage::First, Stage::Second] {
            block.drift(stage);
            forces.fill([0; 9]);
            let part = Part { first: 0, places: block.places(), forces: &mut forces };
            let pairs = problem.pairs_within(part);
            pairs.check()?;
            let inner = block.kick(&forces)?;
            answer.pairs += pairs.looked;
            answer.potential = energy(pairs.potential.wrapping_add(inner));
        }
        block.drift(Stage::Last);
    }
    answer.kinetic = energy(block.kinetic());
    answer.checksum = block.checksum();
    Ok((answer, block))
}
