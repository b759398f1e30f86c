//! The queue: pools of executables, the calls that wait for them, and who is next.
//!
//! - A pool stands here as long as an executable of it lives or a call waits for one.
//! - The order and the count of places are the policy's (`queue/policy.rs`).

mod places;
mod policy;
mod pool;
mod room;
mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;

use farcall_base::{ExecutableId, Instant};
use farcall_services::directory::ExecutableImage;

use super::{Call, CallKey, ModuleKey, Phase, State, Variant};
pub use places::Places;
pub use policy::{DeepestFirst, QueuePolicy, Rank, WaitingCall};
pub use pool::Pool;
pub use waiting::{Turn, WaitingLine};

/// Where the executables of a module run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    /// On this host.
    Here,
    /// Where a launcher starts them.
    Elsewhere,
}

/// All pools.
pub struct Queue {
    pools: BTreeMap<ModuleKey, Pool>,
    policy: DeepestFirst,
}

impl Queue {
    /// Without pools.
    pub(crate) fn new(policy: DeepestFirst) -> Queue {
        Queue { pools: BTreeMap::new(), policy }
    }

    /// A pool, if there is one.
    pub(crate) fn get(&self, module: &ModuleKey) -> Option<&Pool> {
        self.pools.get(module)
    }

    /// As [`Queue::get`], to change it.
    pub(crate) fn get_mut(&mut self, module: &ModuleKey) -> Option<&mut Pool> {
        self.pools.get_mut(module)
    }

    /// The pool that runs a call.
    fn pool_for(&mut self, call: &Call) -> &mut Pool {
        let image = &call.routine.module.executable;
        let Variant { ranks, resources } = call.variant;
        let publication = call.routine.module.publication;
        self.pools.entry(call.module_key()).or_insert_with(|| {
            Pool::new(ExecutableImage { ranks, resources, ..image.clone() }, publication)
        })
    }

    /// A call waits, behind those like it.
    pub(crate) fn wait_last(&mut self, key: CallKey, call: &Call) -> Turn {
        let rank = self.policy.rank(&WaitingCall { key, depth: call.nesting.depth });
        self.pool_for(call).wait_last(key, rank)
    }

    /// A call waits again, before those like it.
    pub(crate) fn wait_first(&mut self, key: CallKey, call: &Call) -> Turn {
        let rank = self.policy.rank(&WaitingCall { key, depth: call.nesting.depth });
        self.pool_for(call).wait_first(key, rank)
    }

    /// All pools.
    pub(crate) fn pools(&self) -> impl Iterator<Item = (&ModuleKey, &Pool)> {
        self.pools.iter()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.pools.len()
    }

    /// Executables of a module's older publications that have nothing to do: no new call is theirs.
    pub(crate) fn outdated(&self, module: &ModuleKey) -> Vec<ExecutableId> {
        let first = Arc::new((module.0.clone(), 0, Variant::default()));
        let own = self.pools.range(first..).take_while(|(key, _)| key.0 == module.0);
        let mut pools = own.map(|(_, pool)| pool).collect::<Vec<_>>().into_iter();
        // Parts of one publication serve side by side.
        let Some(newest) = pools.next_back().map(Pool::publication) else { return Vec::new() };
        let older = pools.filter(|pool| pool.publication() < newest);
        older.flat_map(Pool::idle).collect()
    }

    /// Forgets a pool that has neither executables nor calls.
    pub(crate) fn drop_empty(&mut self, module: &ModuleKey) {
        if self.pools.get(module).is_some_and(Pool::is_over) {
            self.pools.remove(module);
        }
    }
}

/// What is decided over all pools.
impl State {
    fn places(&self) -> Places<'_> {
        Places(self)
    }

    /// The first call of those whose module has no executable on this host, and may have one.
    pub(crate) fn oldest_starving(&self) -> Option<CallKey> {
        let pools = self.queue.pools.values();
        let starving = pools.filter(|pool| !pool.has_executables() && pool.is_here());
        starving.filter(|pool| self.has_gpus(pool)).filter_map(Pool::next).min()
    }

    /// Whether an executable of a module that becomes free is ended for a call of another.
    pub(crate) fn gives_way(&self, module: &ModuleKey) -> bool {
        let own = self.queue.get(module).and_then(Pool::next);
        let starving = self.oldest_starving();
        starving.is_some_and(|starving| self.queue.policy.gives_way(own, starving))
    }

    fn waiting_call(&self, key: CallKey) -> WaitingCall {
        WaitingCall { key, depth: self.depth_of(key) }
    }

    /// How many calls a call stands in.
    pub(crate) fn depth_of(&self, key: CallKey) -> u32 {
        self.calls.get(&key).map_or(0, |call| call.nesting.depth)
    }

    /// Waiting calls that neither an executable comes for nor one that ends makes room for.
    pub fn calls_unserved(&self) -> usize {
        let ending = self.executables.pooled_ending();
        let here = self.queue.pools.values().filter(|pool| pool.is_here());
        here.filter(|pool| self.has_gpus(pool))
            .map(Pool::unserved)
            .sum::<usize>()
            .saturating_sub(ending)
    }

    /// Whether all executables work that may at a time.
    pub(crate) fn is_full(&self) -> bool {
        self.queue.policy.is_full(&self.places())
    }

    /// Whether more could work at a time than may.
    pub(crate) fn is_crowded(&self) -> bool {
        self.queue.policy.is_crowded(&self.places())
    }

    /// Whether an executable may be started for a call.
    pub(crate) fn has_place(&self, call: &WaitingCall) -> bool {
        self.queue.policy.has_place(call, &self.places())
    }

    /// Whether every executable that may be there waits for a call that it made.
    pub(crate) fn all_wait(&self) -> bool {
        let alive = self.executables_alive();
        alive >= self.queue.policy.places_max() && self.places().lent_to_calls() >= alive
    }

    /// The module that gets the next executable, if a call waits that none comes for; and that
    /// call.
    pub(crate) fn most_wanting(&self, at: Where) -> Option<(ModuleKey, WaitingCall)> {
        let wanting = self.queue.pools.iter().filter_map(|(module, pool)| {
            if pool.is_here() != (at == Where::Here) {
                return None;
            }
            let call = self.waiting_call(pool.next_unserved()?);
            let is_first = !pool.has_executables();
            if at == Where::Here && !self.has_gpus(pool) {
                return None;
            }
            // Those that live may all wait for this call.
            let may_start = is_first || !pool.is_short() || call.depth > 0;
            // Code that may never be loaded takes one processor, and not all.
            let may_start = may_start && (is_first || !self.executables.starts.is_slow(module));
            may_start.then(|| (self.queue.policy.start_rank(&call, !is_first), module, call))
        });
        let next = wanting.min_by_key(|(rank, module, _)| (*rank, *module));
        next.map(|(_, module, call)| (module.clone(), call))
    }

    /// The executable that is to make room for waiting calls when all places are taken, and when:
    /// the one that has been idle longest.
    pub(crate) fn next_to_leave(&self) -> Option<(Instant, ExecutableId)> {
        if !self.is_full() || (self.calls_unserved() == 0 && !self.is_crowded()) {
            return None;
        }
        let (since, executable) = self.executables.longest_idle()?;
        let starving = self.queue.pools.values().filter(|pool| self.is_starving(pool)).count();
        Some((since + self.queue.policy.idle_time(starving, &self.places()), executable))
    }

    /// Whether a module's calls wait for an executable that only another module's can make room
    /// for.
    fn is_starving(&self, pool: &Pool) -> bool {
        let first = pool.next_unserved();
        let starves = |key| !pool.has_executables() || self.depth_of(key) > 0;
        pool.is_here() && first.is_some_and(starves) && self.has_gpus(pool)
    }

    /// An executable of a module that is to come and that no call waits for any more.
    pub(crate) fn unneeded(&self, module: &ModuleKey) -> Option<ExecutableId> {
        let pool = self.queue.get(module).filter(|pool| pool.has_too_many_coming())?;
        if pool.is_here() { None } else { self.executables.last_to_be_launched(module) }
    }

    /// The next module whose executables that no call waits for are stopped, and when.
    pub(crate) fn next_surplus(&self) -> Option<(Instant, &ModuleKey)> {
        let due = |(module, pool): (_, &Pool)| Some((pool.surplus_ends()?, module));
        self.queue.pools.iter().filter_map(due).min()
    }

    /// Of those that launchers have started, the one that leaves next if it stays idle, and when.
    pub(crate) fn next_launched_to_leave(&self) -> Option<(Instant, ExecutableId)> {
        let (since, executable) = self.executables.longest_idle_launched()?;
        Some((since + self.limits.launched_idle, executable))
    }

    /// Takes an executable that will do no more work out of its pool's reckoning.
    pub(crate) fn leave_pool(&mut self, executable: ExecutableId) {
        let Some(record) = self.executables.get(&executable) else { return };
        let comes = matches!(record.phase, Phase::Starting | Phase::Loading(_));
        if record.held {
            self.executables.starts.end(executable);
            self.objects.comes_no_more(executable);
            return;
        }
        let Some(pool) = self.queue.get_mut(&record.module) else { return };
        pool.retire(executable);
        if comes {
            pool.came();
            self.executables.starts.end(executable);
        }
    }
}
