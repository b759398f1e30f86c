//! Calls that have enough processors pass those that have not (Ninf paper, section 5.3).

use super::{Fit, QueuePolicy, QueuedCall, Rank};

/// Fit Processors First Served (FPFS): the first that has enough.
#[derive(Clone, Copy, Debug, Default)]
pub struct FitProcessors;

impl QueuePolicy for FitProcessors {
    fn rank(&self, call: &QueuedCall) -> Rank {
        Rank::at(call.arrived)
    }

    fn fit(&self) -> Fit {
        Fit::First
    }
}

/// Fit Processors Most Processors First Served (FPMPFS): of those that have enough, the one that
/// takes the most.
#[derive(Clone, Copy, Debug, Default)]
pub struct FitMostProcessors;

impl QueuePolicy for FitMostProcessors {
    fn rank(&self, call: &QueuedCall) -> Rank {
        Rank::at(call.arrived)
    }

    fn fit(&self) -> Fit {
        Fit::Most
    }
}
