//! The queue: pools of executables, the calls that wait for them, and who is next.
//!
//! - A pool stands here as long as an executable of it lives or a call waits for one.
//! - Which call is next says one order of all (`queue/order.rs`); calls inside others come before
//!   it. How many executables there may be is the policy's (`queue/policy.rs`).

mod gpus;
mod order;
mod places;
mod policy;
mod pool;
mod processors;
mod times;

mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;

use farcall_base::{ExecutableId, Instant};
use farcall_placement::queue::{Chosen, Line, UserId};
use farcall_services::directory::ExecutableImage;

use super::{Call, CallKey, Limits, ModuleKey, Phase, State, Variant};
pub use places::Places;
pub use policy::{DeepestFirst, QueuePolicy, Rank, WaitingCall};
pub use pool::{Pool, PoolNumber};
pub(crate) use processors::processors_of;
pub use processors::{Processors, Share};
use times::Times;
pub use waiting::{Turn, WaitingLine};

/// Where the executables of a module run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    /// On this host.
    Here,
    /// Where a launcher starts them.
    Elsewhere,
}

/// A call in the order, by its number there.
type Waiting = (u64, CallKey);

/// All pools, and the order of their calls.
pub struct Queue {
    pools: BTreeMap<ModuleKey, Pool>,
    policy: DeepestFirst,
    /// Calls of programs that wait.
    order: Line<Waiting, PoolNumber>,
    /// How many calls wait that stand in others.
    inside: usize,
    /// What calls have of this host's processors.
    pub(crate) processors: Processors,
    /// How long calls ran.
    pub(crate) times: Times,
    /// Whether a call that has a free executable waits for processors.
    is_held: bool,
    /// Whether it may not have to wait any more.
    is_to_look: bool,
    /// Whether executables of any pool can be told how many threads to run.
    any_sets_threads: bool,
    /// Pools and calls so far.
    numbered: u64,
}

impl Queue {
    /// Without pools.
    pub(crate) fn new(limits: &Limits) -> Queue {
        let by_name = farcall_placement::queue::by_name(limits.queue);
        Queue {
            pools: BTreeMap::new(),
            policy: DeepestFirst::new(limits),
            order: Line::new(by_name.expect("options are checked")),
            inside: 0,
            processors: Processors::new(limits),
            times: Times::default(),
            is_held: false,
            is_to_look: false,
            any_sets_threads: false,
            numbered: 0,
        }
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
        let numbered = &mut self.numbered;
        self.pools.entry(call.module_key()).or_insert_with(|| {
            *numbered += 1;
            let image = ExecutableImage { ranks, resources, ..image.clone() };
            Pool::new(image, publication, PoolNumber(*numbered))
        })
    }

    /// An executable of a module can be told how many threads to run, or cannot.
    pub(crate) fn let_set_threads(&mut self, module: &ModuleKey, sets_threads: bool) {
        self.any_sets_threads |= sets_threads;
        if let Some(pool) = self.pools.get_mut(module) {
            pool.let_set_threads(sets_threads);
        }
    }

    /// Whether those of a module can. Where none of any can, nothing is looked up.
    pub(crate) fn sets_threads(&self, module: &ModuleKey) -> bool {
        self.any_sets_threads && self.pools.get(module).is_some_and(Pool::sets_threads)
    }

    /// A call comes: those that came before it are before it from now on.
    pub(crate) fn arrive(&mut self, now: Instant, call: &mut Call) {
        self.numbered += 1;
        let share = &mut call.run.share;
        (share.arrived, share.number) = (now, self.numbered);
    }

    /// A call waits, behind those like it.
    pub(crate) fn wait_last(&mut self, key: CallKey, call: &Call) -> Turn {
        let rank = self.policy.rank(&WaitingCall { key, depth: call.nesting.depth });
        let pool = self.pool_for(call);
        let turn = pool.wait_last(key, rank);
        let number = pool.number();
        self.wait_in_order(key, number, call);
        turn
    }

    /// A call waits again, before those like it.
    pub(crate) fn wait_first(&mut self, key: CallKey, call: &Call) -> Turn {
        let rank = self.policy.rank(&WaitingCall { key, depth: call.nesting.depth });
        let pool = self.pool_for(call);
        let turn = pool.wait_first(key, rank);
        let number = pool.number();
        self.wait_in_order(key, number, call);
        turn
    }

    /// One that waits again has the place that it had.
    fn wait_in_order(&mut self, key: CallKey, number: PoolNumber, call: &Call) {
        if call.nesting.depth > 0 {
            self.inside += 1;
        } else {
            self.order.push((call.run.share.number, key), number, call.queued());
        }
    }

    /// A call waits no more.
    pub(crate) fn leave(&mut self, key: CallKey, call: &Call) {
        let Some(pool) = self.pools.get_mut(&call.module_key()) else { return };
        let number = pool.number();
        let has_waited = call.run.turn.is_some_and(|turn| pool.leave(key, turn));
        if call.nesting.depth == 0 {
            self.order.remove((call.run.share.number, key), number, &call.queued());
        } else if has_waited {
            self.inside -= 1;
        }
    }

    /// Whether no call waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty() && self.inside == 0
    }

    /// Whether calls wait that stand in others.
    pub(crate) fn has_inside(&self) -> bool {
        self.inside > 0
    }

    /// Whether the order depends on how long calls run.
    pub(crate) fn needs_run_times(&self) -> bool {
        self.order.needs_run_times()
    }

    /// Takes the next call of these pools out of the order, where so many processors are lent.
    fn take_in_order(
        &mut self,
        lent: u64,
        is_ready: impl Fn(PoolNumber) -> bool,
    ) -> Chosen<Waiting> {
        self.order.pop(self.processors.free(lent), is_ready)
    }

    /// The next call of a pool.
    fn first_of(&self, number: PoolNumber) -> Option<CallKey> {
        self.order.first(|other| other == number).map(|(_, (_, key))| key)
    }

    /// A call begins without having waited.
    fn pass(&mut self, share: &Share) {
        self.order.pass(share.user, share.charged_s);
    }

    /// A user's calls took more or less than he paid for them.
    fn correct(&mut self, user: UserId, processor_seconds: f64) {
        self.order.correct(user, processor_seconds);
    }

    /// Whether a call that has a free executable waits for processors: nobody passes it.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held
    }

    fn set_held(&mut self, is_held: bool) {
        self.is_held = is_held;
        self.is_to_look = false;
    }

    /// Processors, or a place in the order, became free without an executable becoming free.
    pub(crate) fn look_again(&mut self) {
        self.is_to_look = self.is_held;
    }

    /// None waits for processors alone.
    pub(crate) fn hold_nobody(&mut self) {
        self.set_held(false);
    }

    /// Whether waiting calls are to be looked at.
    pub(crate) fn is_to_look(&self) -> bool {
        self.is_to_look
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
        let Some(pool) = self.queue.get(module) else { return true };
        self.gives_way_to(pool, |pool| !pool.has_executables() && self.has_gpus(pool))
    }

    /// Whether one of a pool is ended for a call of these others: their turn is before that of its
    /// own calls.
    fn gives_way_to(&self, own: &Pool, is_rival: impl Fn(&Pool) -> bool) -> bool {
        let here = self.queue.pools.values().filter(|pool| pool.is_here());
        let rivals: Vec<&Pool> = here.filter(|pool| pool.count() > 0 && is_rival(pool)).collect();
        let Some(oldest) = rivals.iter().filter_map(|pool| pool.next()).min() else { return false };
        let Some(next) = own.next() else { return true };
        if self.depth_of(oldest) > 0 || self.depth_of(next) > 0 {
            return self.queue.policy.gives_way(Some(next), oldest);
        }
        let is_one =
            |number| number == own.number() || rivals.iter().any(|it| it.number() == number);
        self.queue.order.first(is_one).is_some_and(|(first, _)| first != own.number())
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
            let may_start = may_start && (is_first || call.depth > 0 || self.could_run(pool));
            // Code that may never be loaded takes one processor, and not all.
            let may_start = may_start && (is_first || !self.executables.starts.is_slow(module));
            may_start.then(|| (self.queue.policy.start_rank(&call, !is_first), pool, module, call))
        });
        let wanting: Vec<_> = wanting.collect();
        let least = wanting.iter().map(|(rank, ..)| *rank).min()?;
        let first = wanting.iter().filter(|(rank, ..)| *rank == least);
        let numbers: Vec<PoolNumber> = first.clone().map(|(_, pool, ..)| pool.number()).collect();
        // Of calls inside others the oldest; of all others the one whose turn it is. Executables
        // would end for each other for ever if two said differently whose that is.
        let is_turn = numbers.len() > 1 && first.clone().all(|(.., call)| call.depth == 0);
        let next = self.queue.order.first(|number| is_turn && numbers.contains(&number));
        let next = next.map(|(number, _)| number);
        let is_next = |pool: &Pool| next.is_none_or(|next| next == pool.number());
        let found = first.filter(|(_, pool, ..)| is_next(pool)).min_by_key(|(.., call)| call.key);
        found.map(|(_, _, module, call)| ((*module).clone(), *call))
    }

    /// Whether a call waits for which an executable is started as soon as there is a place.
    pub fn wants_executable(&self) -> bool {
        self.most_wanting(Where::Here).is_some()
    }

    /// Whether another executable's call could run beside those of executables that come, or are
    /// free and wait for processors: more of them would only wait.
    fn could_run(&self, pool: &Pool) -> bool {
        if !pool.is_here() {
            return true;
        }
        let wanted = |pool: &Pool| {
            let call = pool.next().and_then(|key| self.calls.get(&key));
            call.map_or(1, |call| u64::from(call.run.share.processors))
        };
        let here = self.queue.pools.values().filter(|pool| pool.is_here());
        let first: u64 = here.map(|pool| pool.about_to_run() as u64 * wanted(pool)).sum();
        first + wanted(pool) <= u64::from(self.queue.processors.max())
    }

    /// The executable that is to make room for waiting calls when all places are taken, and when:
    /// the one that has been idle longest. None where nobody would have the room.
    pub(crate) fn next_to_leave(&self) -> Option<(Instant, ExecutableId)> {
        if !self.is_full() || (self.calls_unserved() == 0 && !self.is_crowded()) {
            return None;
        }
        let (since, executable) = self.executables.longest_idle_of(|record| {
            let pool = self.queue.get(&record.module);
            // It may be free only because its calls wait for processors.
            pool.is_none_or(|pool| pool.count() == 0) || self.gives_way(&record.module)
        })?;
        if !(self.is_crowded() || self.wants_executable()) {
            return None;
        }
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
        let Some(pool) = self.queue.pools.get_mut(&record.module) else { return };
        pool.retire(executable);
        self.queue.is_to_look |= self.queue.is_held;
        if comes {
            pool.came();
            self.executables.starts.end(executable);
        }
    }
}
