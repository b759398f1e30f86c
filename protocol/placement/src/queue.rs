//! Queue policies of a server: which of the calls that wait runs next, on how many processors. Each
//! is one pure file.
//!
//! Whatever the policy, users take turns by the processor time that they used: it decides among the
//! calls of one user.

mod earliest_deadline;
mod first_come;
mod fit_processors;
mod line;
mod rank;
mod shortest_first;
mod turns;

pub use earliest_deadline::EarliestDeadline;
pub use first_come::FirstCome;
pub use fit_processors::{FitMostProcessors, FitProcessors};
pub use line::{Chosen, Line, Next};
pub use rank::Rank;
pub use shortest_first::ShortestFirst;
pub use turns::Turns;

use farcall_base::Instant;

/// A user, as a server numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserId(pub u32);

/// What is known of a call that waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueuedCall {
    /// Whose.
    pub user: UserId,
    /// When it came.
    pub arrived: Instant,
    /// Seconds that it is expected to run.
    pub run_s: f64,
    /// Processors that it takes here; 0 where it runs elsewhere.
    pub processors: u32,
    /// When it must have ended.
    pub deadline: Option<Instant>,
}

impl QueuedCall {
    /// What it is expected to take, wherever it runs.
    pub fn processor_seconds(&self) -> f64 {
        self.run_s * f64::from(self.processors.max(1))
    }
}

/// Which call a policy lets pass others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// None: where the first has not enough processors, all wait.
    InOrder,
    /// The first that has enough.
    First,
    /// Of those that have enough, the one that takes the most.
    Most,
}

/// Decides who is next.
pub trait QueuePolicy: std::fmt::Debug + Send {
    /// Where a call stands; it keeps this place, so that a line is sorted once.
    fn rank(&self, call: &QueuedCall) -> Rank;

    /// Whether calls pass others that have not enough processors.
    fn fit(&self) -> Fit;

    /// Whether a rank depends on how long a call is expected to run: predicting that costs time.
    fn needs_run_times(&self) -> bool {
        false
    }
}

/// The policy of a name, as configuration files and plans write it; nothing for another name.
pub fn by_name(name: &str) -> Option<Box<dyn QueuePolicy>> {
    match name {
        "first-come" => Some(Box::new(FirstCome)),
        "shortest-first" => Some(Box::new(ShortestFirst::default())),
        "fit-processors" => Some(Box::new(FitProcessors)),
        "fit-most-processors" => Some(Box::new(FitMostProcessors)),
        "earliest-deadline" => Some(Box::new(EarliestDeadline)),
        _ => None,
    }
}

/// Names that [`by_name`] knows.
pub const NAMES: [&str; 5] =
    ["first-come", "shortest-first", "fit-processors", "fit-most-processors", "earliest-deadline"];
