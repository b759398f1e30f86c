//! The seam for queue policies: in which order waiting calls are served, and how many executables
//! work at a time. Calls, pools and executables know no more of it than this trait.

use std::cmp::Reverse;
use std::time::Duration;

use super::Places;
use crate::state::{CallKey, Limits};

/// Where a call stands among those of its queue: the smallest first, equals in the order in which
/// they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(Reverse<u32>);

impl Rank {
    /// Before all of a smaller weight.
    pub fn of_weight(weight: u32) -> Rank {
        Rank(Reverse(weight))
    }
}

/// What is known of a call that waits.
#[derive(Clone, Copy, Debug)]
pub struct WaitingCall {
    /// Which: older calls come first.
    pub key: CallKey,
    /// How many calls it stands in.
    pub depth: u32,
}

/// Decides who is next, and whether there is a place.
pub trait QueuePolicy {
    /// Where a call stands in the queue of its module.
    fn rank(&self, call: &WaitingCall) -> Rank;

    /// Which module gets the next executable: one with the smallest of these, for its first call
    /// that no executable comes for.
    fn start_rank(&self, call: &WaitingCall, has_executables: bool) -> (Rank, bool);

    /// Whether an executable that becomes free is ended for the first call of a module that has
    /// none, though a call of its own module may wait.
    fn gives_way(&self, own: Option<CallKey>, starving: CallKey) -> bool;

    /// Whether an executable may be started for a call.
    fn has_place(&self, call: &WaitingCall, places: &Places<'_>) -> bool;

    /// Whether all executables work that may at a time.
    fn is_full(&self, places: &Places<'_>) -> bool;

    /// Whether more could work at a time than may.
    fn is_crowded(&self, places: &Places<'_>) -> bool;

    /// Executables at a time, those that wait for calls of their own included.
    fn places_max(&self) -> usize;

    /// How long an executable stays idle while calls of other modules wait for its place.
    fn idle_time(&self, starving_modules: usize, places: &Places<'_>) -> Duration;
}

/// The deepest calls first, since others wait for them; then the oldest. `executables_max` work at
/// a time, and those that wait for calls of their own lend these their places.
pub struct DeepestFirst {
    executables_max: usize,
    places_max: usize,
    executable_idle: Duration,
}

impl DeepestFirst {
    /// Within these limits.
    pub fn new(limits: &Limits) -> DeepestFirst {
        let levels = 1 + limits.nesting_max as usize;
        DeepestFirst {
            executables_max: limits.executables_max,
            places_max: limits.executables_max.saturating_mul(levels),
            executable_idle: limits.executable_idle,
        }
    }
}

impl QueuePolicy for DeepestFirst {
    fn rank(&self, call: &WaitingCall) -> Rank {
        Rank::of_weight(call.depth)
    }

    fn start_rank(&self, call: &WaitingCall, has_executables: bool) -> (Rank, bool) {
        (self.rank(call), has_executables)
    }

    fn gives_way(&self, own: Option<CallKey>, starving: CallKey) -> bool {
        own.is_none_or(|own| starving < own)
    }

    /// Of the places beyond `executables_max` half are left to calls that are known to stand in
    /// others: those that wait for them might take all otherwise.
    fn has_place(&self, call: &WaitingCall, places: &Places<'_>) -> bool {
        let alive = places.alive();
        let beyond = self.places_max - self.executables_max;
        let lent = || match call.depth {
            0 => places.lent_to_clients().min(beyond.div_ceil(2)),
            _ => places.lent().min(beyond),
        };
        alive < self.executables_max || alive < self.executables_max + lent()
    }

    fn is_full(&self, places: &Places<'_>) -> bool {
        places.alive() >= self.executables_max
    }

    /// Those that waited go on.
    fn is_crowded(&self, places: &Places<'_>) -> bool {
        let alive = places.alive();
        alive > self.executables_max
            && alive - places.ending() > self.executables_max + places.lent()
    }

    fn places_max(&self) -> usize {
        self.places_max
    }

    /// For a module that has no executable one goes at once. For one that has, it goes only after
    /// it has been idle for a while: modules that take turns would otherwise end each other's
    /// executables with every call.
    fn idle_time(&self, starving_modules: usize, places: &Places<'_>) -> Duration {
        if starving_modules > places.ending() { Duration::ZERO } else { self.executable_idle }
    }
}
