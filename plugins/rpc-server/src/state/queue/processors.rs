//! Processors of this host: how many calls may have together, and what each call takes of them.
//!
//! - An executable of a pool has its calls' processors from the moment that it is taken for one of
//!   them until it is free again, or gone.
//! - An object's executable has the cores that it was made with as long as it lives.
//! - One whose call waits for calls of its own, or for a function of its client, gives them back.
//!   It takes them again when that has ended, though others may have them by then: it never waits
//!   for them.

use farcall_base::Instant;
use farcall_placement::queue::{QueuedCall, UserId};

use crate::state::{Call, Known, Limits, Variant};

/// What a call is taken to need whose routine did not run yet, in seconds. It keeps users' turns
/// apart until the call has ended.
const UNKNOWN_S: f64 = 1e-6;

/// What a call takes, and whose turn that is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    /// Whose.
    pub user: UserId,
    /// Processors of this host; 0 where it runs elsewhere.
    pub processors: u32,
    /// Threads that its libraries are told to run, where they can be told.
    pub threads: Option<u32>,
    /// When it came to the queue, and its number there; it keeps both.
    pub arrived: Instant,
    /// Calls that came before have smaller ones.
    pub number: u64,
    /// Seconds that it is expected to run, once it has waited.
    pub run_s: f64,
    /// Processor-seconds that its user has paid for it.
    pub charged_s: f64,
}

impl Share {
    /// How it stands in the order of those that wait.
    pub(crate) fn queued(&self, deadline: Option<Instant>) -> QueuedCall {
        let Share { user, arrived, run_s, processors, .. } = *self;
        QueuedCall { user, arrived, run_s, processors, deadline }
    }

    /// Processor-seconds of a run that took so long.
    pub(crate) fn cost(&self, seconds: f64) -> f64 {
        seconds * f64::from(self.processors.max(1))
    }

    /// What is paid for it before anything is known of its run.
    pub(crate) fn least_cost(&self) -> f64 {
        self.cost(UNKNOWN_S)
    }
}

impl Call {
    /// How it stands in the order of those that wait.
    pub(crate) fn queued(&self) -> QueuedCall {
        self.run.share.queued(self.times.deadline)
    }
}

impl Known {
    /// Seconds that its calls with little data take, as far as that is known.
    pub(crate) fn typical_s(&self) -> f64 {
        self.typical().map_or(UNKNOWN_S, |typical| typical.as_secs_f64())
    }
}

/// How many processors an executable takes of this host while it runs a call; `wanted` is what the
/// interface says.
pub(crate) fn processors_of(variant: &Variant, wanted: Option<u32>) -> u32 {
    let ranks = variant.ranks.max(1);
    match variant.resources.cores {
        Some(cores) => cores.saturating_mul(ranks),
        None => wanted.unwrap_or(1).max(ranks),
    }
}

/// What calls may have together, and what they have.
#[derive(Clone, Copy, Debug)]
pub struct Processors {
    max: u32,
    used: u64,
}

impl Processors {
    /// None is taken.
    pub(crate) fn new(limits: &Limits) -> Processors {
        Processors { max: limits.processors(), used: 0 }
    }

    /// All that calls may have together.
    pub fn max(&self) -> u32 {
        self.max
    }

    /// Those that executables have, what is lent to others included.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Whether so many are free though nobody lends any.
    pub(crate) fn has(&self, wanted: u32) -> bool {
        wanted == 0 || self.used + u64::from(wanted) <= u64::from(self.max)
    }

    /// Those that are free, with those that are lent.
    pub(crate) fn free(&self, lent: u64) -> u32 {
        let left = u64::from(self.max).saturating_sub(self.used.saturating_sub(lent));
        u32::try_from(left).unwrap_or(u32::MAX)
    }

    /// An executable takes some.
    pub(crate) fn take(&mut self, count: u32) {
        self.used += u64::from(count);
    }

    /// It gives them back.
    pub(crate) fn give_back(&mut self, count: u32) {
        self.used = self.used.saturating_sub(u64::from(count));
    }
}
