//! In the order in which calls came.

use super::{Fit, QueuePolicy, QueuedCall, Rank};

/// First come, first served.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstCome;

impl QueuePolicy for FirstCome {
    fn rank(&self, call: &QueuedCall) -> Rank {
        Rank::at(call.arrived)
    }

    fn fit(&self) -> Fit {
        Fit::InOrder
    }
}
