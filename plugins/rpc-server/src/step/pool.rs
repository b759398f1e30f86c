//! Lines of waiting calls and the executables that take from them.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Error, ExecutableId, Instant};
use farcall_services::directory::ExecutableImage;

use crate::state::{Action, Call, CallKey, Executable, ModuleKey, Phase, Pool, State, Turn};
use crate::step::{Server, Surroundings};

/// Where a call stands among those like it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    /// It has waited before.
    First,
    /// It comes now.
    Last,
}

/// Where an executable belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Among those of its module.
    Pool,
    /// It is held for somebody.
    Held,
}

/// Where the executables of a module run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    /// On this host.
    Here,
    /// Where a launcher starts them.
    Elsewhere,
}

/// Which of the calls that wait for a module.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiting {
    /// All.
    All,
    /// Those that routines made.
    Inside,
}

impl Server {
    /// A call's arguments are complete: it takes its place in its module's line.
    pub(super) fn enqueue(&mut self, surroundings: &mut dyn Surroundings, key: CallKey) {
        let Some(call) = self.state.calls.get_mut(&key) else { return };
        call.times.queued = surroundings.now();
        call.arguments.complete = true;
        let (module, fetching, on) = (module_key(call), call.arguments.fetching, call.on);
        self.state.calls.arrived(key);
        if fetching > 0 {
            return;
        }
        if let Some(executable) = on {
            self.serve_object(surroundings, executable);
            return self.tell_place(key);
        }
        if !self.stands_behind(key) {
            self.stand_in_pool(surroundings, key, &module);
        }
    }

    /// A call takes its place in its module's line, whoever came before it.
    pub(super) fn stand_in_pool(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
        module: &ModuleKey,
    ) {
        self.wait_in_pool(key, Rank::Last);
        self.serve_pool(surroundings, module);
        self.tell_place(key);
        self.retire_outdated(module);
        self.refuse_if_all_wait(surroundings, key);
    }

    /// A call takes its place in its module's line: behind those that stand deeper in others, since
    /// these wait for them, and as the first or the last of those that stand as deep.
    pub(super) fn wait_in_pool(&mut self, key: CallKey, rank: Rank) {
        let depth = self.state.depth_of(key);
        let Some(pool) = self.pool_of(key) else { return };
        let turn = match rank {
            Rank::First => pool.waiting.push_first(key, depth),
            Rank::Last => pool.waiting.push_last(key, depth),
        };
        self.take_turn(key, turn);
    }

    /// A call stands in a line from now on.
    pub(super) fn take_turn(&mut self, key: CallKey, turn: Turn) {
        if let Some(call) = self.state.calls.get_mut(&key) {
            call.run.turn = Some(turn);
        }
    }

    /// The pool whose line a call stands in, or is to.
    pub(super) fn pool_of(&mut self, key: CallKey) -> Option<&mut Pool> {
        let call = self.state.calls.get(&key)?;
        let pool = self.state.pools.entry(module_key(call)).or_insert_with(|| Pool {
            image: ExecutableImage { ranks: call.ranks, ..call.routine.module.executable.clone() },
            publication: call.routine.module.publication,
            idle: Vec::new(),
            brief: Vec::new(),
            alive: 0,
            coming: 0,
            is_short: false,
            killed_at_start: 0,
            lost_at_start: None,
            waiting: Default::default(),
        });
        Some(pool)
    }

    /// The oldest waiting call, and the executable for it: the free one that was busy last, whose
    /// memory is warm, or one that is almost free.
    fn next_pair(&mut self, module: &ModuleKey) -> Option<(CallKey, ExecutableId)> {
        if self.state.ending {
            // What waits ends with the server, or waits for the next one.
            return None;
        }
        let pool = self.state.pools.get_mut(module)?;
        let free = if pool.waiting.is_empty() { None } else { pool.idle.pop() };
        let executable = free.or_else(|| {
            if self.is_wanted_elsewhere() { None } else { self.with_room_ahead(module) }
        })?;
        let pool = self.state.pools.get_mut(module)?;
        Some((pool.waiting.pop_front()?, executable))
    }

    /// Whether another module waits for an executable of this one to be free.
    fn is_wanted_elsewhere(&self) -> bool {
        let full = self.state.executables_alive() >= self.state.limits.executables_max;
        full && self.state.pools.len() > 1 && self.oldest_starving().is_some()
    }

    /// Gives waiting calls to free executables, and starts more if calls still wait.
    pub(super) fn serve_pool(&mut self, surroundings: &mut dyn Surroundings, module: &ModuleKey) {
        while let Some((key, executable)) = self.next_pair(module) {
            if !self.is_to_be_marked(key, executable) && !self.is_to_be_listened_to(key, executable)
            {
                self.pass_on(surroundings, key, executable);
            }
        }
        self.start_executables(surroundings.now());
        self.drop_empty(module);
    }

    /// Gives a call to an executable that can take it.
    pub(super) fn pass_on(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
        executable: ExecutableId,
    ) {
        if let Err(error) = self.dispatch(surroundings, key, executable) {
            self.finish(surroundings, key, Err(error));
            self.free(surroundings.now(), executable);
        }
    }

    /// An executable can take a call again.
    pub(super) fn free(&mut self, now: Instant, executable: ExecutableId) {
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        if !record.line.is_empty() {
            return;
        }
        record.phase = Phase::Idle { since: now };
        if record.held {
            return;
        }
        if let Some(pool) = self.state.pools.get_mut(&record.module) {
            pool.brief.retain(|brief| *brief != executable);
            if !pool.idle.contains(&executable) {
                pool.idle.push(executable);
            }
        }
    }

    /// An executable became free: it serves its own line, unless an older call waits for a module
    /// that has no executable and gets none while all places are taken.
    pub(super) fn serve_all(&mut self, surroundings: &mut dyn Surroundings, module: &ModuleKey) {
        let own = self.oldest_waiting(module);
        if self.oldest_starving().is_some_and(|oldest| own.is_none_or(|own| oldest < own)) {
            self.make_a_place(surroundings.now());
        }
        self.serve_pool(surroundings, module);
        self.retire_outdated(module);
    }

    /// Executables of a module's older publications end when they have nothing to do: no new call
    /// is theirs.
    fn retire_outdated(&mut self, module: &ModuleKey) {
        if self.state.pools.len() < 2 {
            return;
        }
        let generation = |number, ranks| Arc::new((module.0.clone(), number, ranks));
        let mut pools = self
            .state
            .pools
            .range(generation(0, 0)..=generation(u64::MAX, u32::MAX))
            .map(|(_, pool)| pool);
        // Parts of one publication serve side by side.
        let Some(newest) = pools.next_back().map(|pool| pool.publication) else { return };
        let pools = pools.filter(|pool| pool.publication < newest);
        let idle: Vec<ExecutableId> = pools.flat_map(|pool| pool.idle.iter().copied()).collect();
        for executable in idle {
            self.stop_executable(executable);
        }
    }

    fn oldest_waiting(&self, module: &ModuleKey) -> Option<CallKey> {
        self.state.pools.get(module)?.waiting.front()
    }

    /// The first call of those whose module has no executable.
    fn oldest_starving(&self) -> Option<CallKey> {
        self.state
            .pools
            .values()
            .filter(|pool| pool.alive == 0 && pool.image.launcher.is_empty())
            .filter_map(|pool| pool.waiting.front())
            .min()
    }

    /// Starts executables until as many come as calls wait, as far as there are places. The deepest
    /// calls come first, then modules that have none, then those whose call has waited longest.
    pub(super) fn start_executables(&mut self, now: Instant) {
        while self.state.executables.launched.count() < self.state.limits.launched_max
            && let Some((module, _)) = self.state.most_wanting(Where::Elsewhere)
        {
            self.start_executable(&module, now);
        }
        while let Some((module, depth)) = self.state.most_wanting(Where::Here) {
            if !self.state.has_place(depth) {
                while self.make_a_place(now) {}
                return;
            }
            self.start_executable(&module, now);
        }
        while self.state.is_crowded() && self.make_a_place(now) {}
    }

    fn start_executable(&mut self, module: &ModuleKey, now: Instant) {
        let executable = ExecutableId(self.state.number());
        let Some(pool) = self.state.pools.get_mut(module) else { return };
        pool.alive += 1;
        pool.coming += 1;
        let image = pool.image.clone();
        self.begin_executable(executable, module, image, now, Place::Pool);
    }

    /// Has an executable started.
    pub(super) fn begin_executable(
        &mut self,
        executable: ExecutableId,
        module: &ModuleKey,
        image: ExecutableImage,
        now: Instant,
        place: Place,
    ) {
        let launched = !image.launcher.is_empty();
        match place {
            // Its job may wait in a queue for a day: the time begins when it is there.
            _ if !launched => {
                self.state.executables.starts.begin(now + self.state.limits.loading_max, executable)
            }
            Place::Pool => self.state.executables.launched.begin(executable),
            Place::Held => {}
        }
        self.state.out.act(Action::Start { executable, module: module.0.clone(), image });
        self.state.counters.started += 1;
        let record = Executable {
            module: module.clone(),
            connection: None,
            phase: Phase::Starting,
            loaded: false,
            asks: false,
            trouble: None,
            line: Default::default(),
            hushing: None,
            shared: Default::default(),
            limits: Default::default(),
            held: place == Place::Held,
            launched,
            pid: None,
        };
        self.state.executables.insert(executable, record);
    }

    /// Ends an executable that does nothing, if one is to make room now. The place is free when its
    /// exit is reported; whoever waits is served then.
    fn make_a_place(&mut self, now: Instant) -> bool {
        let due = self.state.next_to_leave().filter(|(at, _)| *at <= now);
        if let Some((_, executable)) = due {
            self.stop_executable(executable);
        }
        due.is_some()
    }

    /// A module cannot be run: calls that wait for it fail with the reason.
    pub(super) fn fail_waiting(
        &mut self,
        surroundings: &mut dyn Surroundings,
        module: &ModuleKey,
        which: Waiting,
        error: &Error,
    ) {
        let Some(pool) = self.state.pools.get(module) else { return };
        let fails = |key: &CallKey| which == Waiting::All || self.state.depth_of(*key) > 0;
        let failing: Vec<CallKey> = pool.waiting.iter().filter(fails).collect();
        for key in failing {
            let copy = Error::from(farcall_wire::Failure::from(error));
            self.finish(surroundings, key, Err(copy));
        }
    }

    /// An executable of the module is gone.
    pub(super) fn forget(&mut self, module: &ModuleKey) {
        if let Some(pool) = self.state.pools.get_mut(module) {
            pool.alive = pool.alive.saturating_sub(1);
            pool.is_short = false;
        }
        self.drop_empty(module);
    }

    fn drop_empty(&mut self, module: &ModuleKey) {
        if self
            .state
            .pools
            .get(module)
            .is_some_and(|pool| pool.alive == 0 && pool.waiting.is_empty())
        {
            self.state.pools.remove(module);
        }
    }

    /// A call that ends while it waits leaves its line at once: lines would grow without bound
    /// otherwise.
    pub(super) fn leave_line(&mut self, key: CallKey, call: &Call) {
        let module = module_key(call);
        if let (Some(pool), Some(turn)) = (self.state.pools.get_mut(&module), call.run.turn) {
            pool.waiting.remove(key, turn);
        }
        while let Some(executable) = self.state.unneeded(&module) {
            self.stop_executable(executable);
        }
        self.drop_empty(&module);
    }
}

impl State {
    /// An executable of a module that is to come and that no call waits for any more.
    fn unneeded(&self, module: &ModuleKey) -> Option<ExecutableId> {
        let pool = self.pools.get(module).filter(|pool| pool.coming > pool.waiting.len())?;
        if pool.image.launcher.is_empty() {
            None
        } else {
            self.executables.last_to_be_launched(module)
        }
    }

    /// Of those that launchers have started, the one that leaves next if it stays idle, and when.
    pub(super) fn next_launched_to_leave(&self) -> Option<(Instant, ExecutableId)> {
        let (since, executable) = self.executables.longest_idle_launched()?;
        Some((since + self.limits.launched_idle, executable))
    }

    /// The module that gets the next executable, if a call waits that none comes for; and how deep
    /// that call stands.
    fn most_wanting(&self, at: Where) -> Option<(ModuleKey, u32)> {
        let wanting = self.pools.iter().filter_map(|(module, pool)| {
            if pool.image.launcher.is_empty() != (at == Where::Here) {
                return None;
            }
            let call = pool.waiting.iter().nth(pool.coming)?;
            let depth = self.depth_of(call);
            // Those that live may all wait for this call.
            let may_start = pool.alive == 0 || !pool.is_short || depth > 0;
            // Code that may never be loaded takes one processor, and not all.
            let may_start =
                may_start && (pool.alive == 0 || !self.executables.starts.is_slow(module));
            may_start.then_some((Reverse(depth), pool.alive > 0, call, module))
        });
        wanting.min().map(|(Reverse(depth), _, _, module)| (module.clone(), depth))
    }

    /// The executable that is to make room for waiting calls when all places are taken, and when:
    /// the one that has been idle longest. For a module that has no executable it goes at once. For
    /// one that has, it goes only after it has been idle for a while: modules that take turns would
    /// otherwise end each other's executables with every call.
    pub(super) fn next_to_leave(&self) -> Option<(Instant, ExecutableId)> {
        let is_full = self.executables_alive() >= self.limits.executables_max;
        if !is_full || (self.calls_unserved() == 0 && !self.is_crowded()) {
            return None;
        }
        let (since, executable) = self.longest_idle()?;
        let ending = self.executables.pooled_ending();
        let starving = self.pools.values().filter(|pool| self.is_starving(pool)).count();
        let keep = if starving > ending { Duration::ZERO } else { self.limits.executable_idle };
        Some((since + keep, executable))
    }

    /// Takes an executable that will do no more work out of its pool's reckoning.
    pub(super) fn leave_pool(&mut self, executable: ExecutableId) {
        let Some(record) = self.executables.get(&executable) else { return };
        if record.held {
            self.executables.starts.end(executable);
            self.objects.starting.remove(&executable);
            return;
        }
        let Some(pool) = self.pools.get_mut(&record.module) else { return };
        pool.idle.retain(|idle| *idle != executable);
        pool.brief.retain(|brief| *brief != executable);
        if matches!(record.phase, Phase::Starting | Phase::Loading(_)) {
            pool.coming = pool.coming.saturating_sub(1);
            self.executables.starts.end(executable);
        }
    }
}

fn module_key(call: &Call) -> ModuleKey {
    call.module_key()
}
