//! How long calls run, learned from those that ran.
//!
//! The logarithm of a run's time is a sum: what the routine needs for so much work with so many
//! threads (a curve that all servers share), how slow the server is, how slow it is with this
//! routine, and what is left for exactly these sizes. Each part is learned from what the parts
//! before it left unexplained, and counts the more the more often it was seen. So a server is
//! guessed from what it did with other routines, a size from its neighbors, and a server that
//! becomes slow is followed within a few calls.

mod curve;
mod deviation;
mod routine;
mod servers;
mod sized;

use std::collections::BTreeMap;

pub use curve::Curve;
pub use deviation::Deviation;
pub use routine::RoutineTimes;
pub use servers::Servers;
pub use sized::{OfSize, SizedOnServer};

use crate::limits::Limits;
use crate::{Contract, MemberId};

/// Where nothing is known: a routine that does an operation, or moves a byte, each
/// nanosecond.
const SECONDS_FOR_EACH: f64 = 1e-9;
/// What a run is wrong by where nothing is known: a factor of e.
const UNKNOWN_SPREAD: f64 = 1.0;

/// So many measurements of a kind are news whatever they say.
pub(crate) const NEWS_FIRST: u64 = 5;
/// Others are if their prediction was wrong by more than this part of them.
pub(crate) const NEWS_PART: f64 = 0.1;

/// How much a call has to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Operations by the interface's `Complexity`; bytes of all arguments and results where it has
    /// none. At least one.
    pub amount: f64,
    /// A hash of the call's scalars: equal for calls that do the same.
    pub sizes: u64,
    /// Threads that it may use, at least one.
    pub threads: u32,
}

impl Work {
    fn log_amount(&self) -> f64 {
        self.amount.max(1.0).ln()
    }
}

/// A run that is expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunTime {
    /// Seconds.
    pub seconds: f64,
    /// By how many seconds it may well be wrong.
    pub error: f64,
}

/// What is known of the runs of all routines on all servers.
#[derive(Debug, Default)]
pub struct RunTimes {
    routines: BTreeMap<Contract, RoutineTimes>,
    /// How slow each server is, whatever it runs.
    servers: Servers,
    routines_max: usize,
    observations: u64,
}

impl RunTimes {
    /// Nothing known yet.
    pub fn new(limits: &Limits) -> RunTimes {
        RunTimes { routines_max: limits.routines_max, ..RunTimes::default() }
    }

    /// A server says how fast it is, in operations a second: where nothing ran on it, this is what
    /// it is judged by, against what others said. Whether that is something new.
    pub fn handle_claim(&mut self, member: MemberId, operations_per_second: f64) -> bool {
        let is_number = operations_per_second.is_finite() && operations_per_second > 0.0;
        is_number && self.servers.claim(member, -operations_per_second.ln())
    }

    /// A call ran. A time that is no number, or negative, says nothing.
    pub fn observe(&mut self, member: MemberId, contract: &Contract, work: &Work, seconds: f64) {
        if !seconds.is_finite() || seconds < 0.0 {
            return;
        }
        self.observations += 1;
        let routine = self.routines.entry(*contract).or_default();
        routine.touch(self.observations);
        routine.observe(member, work, seconds.max(1e-9).ln(), &mut self.servers);
        self.forget_routines();
    }

    /// The routine that was not seen for the longest time is forgotten where there are too many.
    fn forget_routines(&mut self) {
        if self.routines.len() <= self.routines_max.max(1) {
            return;
        }
        let oldest = self.routines.iter().min_by_key(|(_, routine)| routine.last_seen());
        if let Some(oldest) = oldest.map(|(contract, _)| *contract) {
            self.routines.remove(&oldest);
        }
    }

    /// Whether the routine ran anywhere.
    pub fn is_known(&self, contract: &Contract) -> bool {
        self.routines.contains_key(contract)
    }

    /// How long a call will run.
    pub fn predict(&self, member: MemberId, contract: &Contract, work: &Work) -> RunTime {
        let routine = self.routines.get(contract);
        let of_size = routine.map_or(0.0, |routine| routine.own_of_size(member, work));
        let log = self.log_common(contract, work) + self.log_own(member, contract) + of_size;
        let spread = routine.map_or(UNKNOWN_SPREAD, |routine| routine.spread(member, work));
        let seconds = log.exp();
        RunTime { seconds, error: seconds * spread.exp_m1() }
    }

    /// Whether a run tells something that is not known yet: it is among the first of its size on
    /// its server, or its prediction is more than a tenth away. For a writer of what was
    /// learned, before [`RunTimes::observe`].
    pub fn is_news(
        &self,
        member: MemberId,
        contract: &Contract,
        work: &Work,
        seconds: f64,
    ) -> bool {
        let seen = self.routines.get(contract).map_or(0, |routine| routine.seen(member, work));
        let expected = self.predict(member, contract, work).seconds;
        seen < NEWS_FIRST || (expected - seconds).abs() > NEWS_PART * seconds
    }

    /// The part of the logarithm that all servers share.
    pub fn log_common(&self, contract: &Contract, work: &Work) -> f64 {
        let known = self.routines.get(contract).and_then(|routine| routine.common(work));
        known.unwrap_or_else(|| work.log_amount() + SECONDS_FOR_EACH.ln())
    }

    /// The part of the logarithm that is a server's own, whatever the size.
    pub fn log_own(&self, member: MemberId, contract: &Contract) -> f64 {
        let routine = self.routines.get(contract);
        self.servers.value(member) + routine.map_or(0.0, |routine| routine.own(member))
    }

    /// What servers that ran exactly this size have of their own for it.
    pub fn of_size(&self, contract: &Contract, work: &Work) -> OfSize<'_> {
        let routine = self.routines.get(contract);
        OfSize::new(routine.map_or(&[], |routine| routine.of_size(work)))
    }

    /// By how much a run becomes shorter with more threads: the time of one thread over that of
    /// `threads`.
    pub fn gain(&self, contract: &Contract, work: &Work, threads: u32) -> f64 {
        let with = |threads| self.log_common(contract, &Work { threads, ..*work });
        (with(1) - with(threads.max(1))).exp().max(f64::MIN_POSITIVE)
    }

    /// A server is gone for good: what is known of it is, too.
    pub fn forget(&mut self, member: MemberId) {
        self.servers.forget(member);
        self.routines.values_mut().for_each(|routine| routine.forget(member));
    }
}
