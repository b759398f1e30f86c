//! The call whose time ends first; those without a limit come last, in their order.

use super::{Fit, QueuePolicy, QueuedCall, Rank};

/// Earliest deadline first.
#[derive(Clone, Copy, Debug, Default)]
pub struct EarliestDeadline;

impl QueuePolicy for EarliestDeadline {
    fn rank(&self, call: &QueuedCall) -> Rank {
        call.deadline.map_or_else(Rank::last, Rank::at)
    }

    fn fit(&self) -> Fit {
        Fit::InOrder
    }
}
