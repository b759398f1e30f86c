//! The slowest server that still ends in time, so that fast ones stay free for calls that need
//! them. Where none does, the one that ends soonest.

use super::PlacementPolicy;
use crate::{Candidate, Question};

/// Added to what cannot end in time: more than any call lasts.
const LATE: f64 = 1e12;

/// By the time that a call has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deadline;

impl PlacementPolicy for Deadline {
    fn cost(&self, candidate: &Candidate, question: &Question) -> f64 {
        let total = candidate.total_s();
        match question.deadline_s {
            // A prediction may be wrong: what is left must hold its error, too.
            Some(limit) if total + candidate.error_s > limit => LATE + total,
            Some(limit) => limit - total,
            None => total,
        }
    }
}
