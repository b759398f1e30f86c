//! The shortest call first, as the Ninf paper asks (section 5.2), with ageing.
//!
//! A call that needs r seconds stands where one that came `patience` × r later would stand with no
//! time at all. So a long call lets short ones pass for a time that its own length bounds, and none
//! is passed for ever.

use super::{Fit, QueuePolicy, QueuedCall, Rank};

/// Shortest job first.
#[derive(Clone, Copy, Debug)]
pub struct ShortestFirst {
    /// For how many of its own lengths a call lets shorter ones pass.
    pub patience: f64,
}

impl Default for ShortestFirst {
    fn default() -> ShortestFirst {
        ShortestFirst { patience: 12.0 }
    }
}

impl QueuePolicy for ShortestFirst {
    fn rank(&self, call: &QueuedCall) -> Rank {
        Rank::later(call.arrived, self.patience * call.run_s)
    }

    fn fit(&self) -> Fit {
        Fit::InOrder
    }

    fn needs_run_times(&self) -> bool {
        true
    }
}
