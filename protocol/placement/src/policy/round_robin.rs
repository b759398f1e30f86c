//! The server that was chosen least lately.

use super::PlacementPolicy;
use crate::{Candidate, Question};

/// In turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin;

impl PlacementPolicy for RoundRobin {
    fn cost(&self, candidate: &Candidate, _question: &Question) -> f64 {
        candidate.turn as f64
    }
}
