//! The server that computes soonest by its speed and load, as NetSolve's agent decides: the network
//! does not count. Kept to compare with (the Ninf paper, section 4.2.2, says what it misses).

use super::PlacementPolicy;
use crate::{Candidate, Question};

/// Load and speed.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadOnly;

impl PlacementPolicy for LoadOnly {
    fn cost(&self, candidate: &Candidate, _question: &Question) -> f64 {
        candidate.run_s * (1.0 + candidate.load)
    }
}
