//! The server on which the call ends soonest, its transfers included.

use super::PlacementPolicy;
use crate::{Candidate, Question};

/// The default.
#[derive(Clone, Copy, Debug, Default)]
pub struct FinishFirst;

impl PlacementPolicy for FinishFirst {
    fn cost(&self, candidate: &Candidate, _question: &Question) -> f64 {
        candidate.total_s()
    }
}
