//! Placement policies: which of the servers that could run a call does. Each is one pure file.

mod deadline;
mod finish_first;
mod load_only;
mod round_robin;

pub use deadline::Deadline;
pub use finish_first::FinishFirst;
pub use load_only::LoadOnly;
pub use round_robin::RoundRobin;

use crate::{Candidate, Question};

/// Decides between servers.
pub trait PlacementPolicy: std::fmt::Debug + Send {
    /// What it would cost to run the call there: the smallest is chosen; of equals the server that
    /// was chosen least lately.
    fn cost(&self, candidate: &Candidate, question: &Question) -> f64;
}

/// The policy of a name, as configuration files and plans write it: `finish-first`, `load-only`,
/// `round-robin`, `deadline`. Nothing for another name.
pub fn by_name(name: &str) -> Option<Box<dyn PlacementPolicy>> {
    match name {
        "finish-first" => Some(Box::new(FinishFirst)),
        "load-only" => Some(Box::new(LoadOnly)),
        "round-robin" => Some(Box::new(RoundRobin)),
        "deadline" => Some(Box::new(Deadline)),
        _ => None,
    }
}

/// Names that [`by_name`] knows.
pub const NAMES: [&str; 4] = ["finish-first", "load-only", "round-robin", "deadline"];
