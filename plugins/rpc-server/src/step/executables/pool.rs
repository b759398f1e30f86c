//! Lines of waiting calls and the executables that take from them.

use farcall_base::{Error, ExecutableId, Instant};
use farcall_services::directory::ExecutableImage;

use crate::state::processors_of;
use crate::state::{Action, Call, CallKey, Executable, ModuleKey, Phase, Pool, Turn, Where};
use crate::step::{Server, Surroundings};

/// Where a call stands among those like it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::step) enum Rank {
    /// It has waited before.
    First,
    /// It comes now.
    Last,
}

/// Where an executable belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::step) enum Place {
    /// Among those of its module.
    Pool,
    /// It is held for somebody.
    Held,
}

/// Which of the calls that wait for a module.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::step) enum Waiting {
    /// All.
    All,
    /// Those that routines made.
    Inside,
}

impl Server {
    /// A call's arguments are complete: it takes its place in its module's line.
    pub(in crate::step) fn enqueue(&mut self, surroundings: &mut dyn Surroundings, key: CallKey) {
        let Some(call) = self.state.calls.get_mut(&key) else { return };
        call.times.queued = surroundings.now();
        call.arguments.complete = true;
        let module = call.module_key();
        let fetching = call.arguments.fetching;
        let on = call.on;
        let is_put = call.is_put();
        self.state.calls.arrived(key);
        if fetching > 0 {
            return;
        }
        if is_put {
            return self.put(surroundings, key);
        }
        if let Some(executable) = on {
            self.serve_object(surroundings, executable);
            return self.tell_place(key);
        }
        if !self.stands_behind(key) {
            self.stand_in_pool(surroundings, key, &module);
        }
    }

    /// A call takes its place in its module's line, regardless of who came before it, unless it begins.
    pub(in crate::step) fn stand_in_pool(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
        module: &ModuleKey,
    ) {
        if let Some(call) = self.state.calls.get_mut(&key) {
            self.state.queue.arrive(surroundings.now(), call);
        }
        self.choose_threads(key, module);
        if let Some(executable) = self.executable_at_once(key, module) {
            self.begin(surroundings, key, executable);
            return self.retire_outdated(module);
        }
        self.wait_in_pool(key, Rank::Last);
        self.serve_pool(surroundings, module);
        self.tell_place(key);
        self.retire_outdated(module);
        self.refuse_if_all_wait(surroundings, key);
    }

    /// A call takes its place in its module's line: behind those that stand deeper in others, since
    /// these wait for them, and as the first or the last of those that stand as deep.
    pub(in crate::step) fn wait_in_pool(&mut self, key: CallKey, rank: Rank) {
        self.state.settle_share(key, 0.0);
        self.expect_run(key);
        let Some(call) = self.state.calls.get(&key) else { return };
        let turn = match rank {
            Rank::First => self.state.queue.wait_first(key, call),
            Rank::Last => self.state.queue.wait_last(key, call),
        };
        self.take_turn(key, turn);
    }

    /// A call stands in a line from now on.
    pub(in crate::step) fn take_turn(&mut self, key: CallKey, turn: Turn) {
        if let Some(call) = self.state.calls.get_mut(&key) {
            call.run.turn = Some(turn);
        }
    }

    /// A call is to wait: how long it will run, where that is part of the order.
    fn expect_run(&mut self, key: CallKey) {
        let Some(run_s) = self.state.calls.get(&key).map(|call| self.state.expected_run(call))
        else {
            return;
        };
        if let Some(call) = self.state.calls.get_mut(&key) {
            call.run.share.run_s = run_s;
        }
    }

    /// The executable of a call that comes and does not have to wait: one that is free, or one that
    /// is almost free.
    fn executable_at_once(&mut self, key: CallKey, module: &ModuleKey) -> Option<ExecutableId> {
        if self.state.ending {
            return None;
        }
        if let Some(executable) = self.state.take_at_once(key, module) {
            return Some(executable);
        }
        let pool = self.state.queue.get(module).filter(|pool| pool.count() == 0)?;
        let executable = self.almost_free(pool, key)?;
        self.state.pass_at_once(key);
        Some(executable)
    }

    /// The call that the policy puts first, and the executable for it: the free one that was busy
    /// last, whose memory is warm, or one that is almost free.
    fn next_pair(&mut self, module: &ModuleKey) -> Option<(CallKey, ExecutableId)> {
        if self.state.ending {
            // What waits ends with the server, or waits for the next one.
            return None;
        }
        self.state.take_next(module).or_else(|| self.next_ahead(module))
    }

    fn next_ahead(&mut self, module: &ModuleKey) -> Option<(CallKey, ExecutableId)> {
        let pool = self.state.queue.get(module).filter(|pool| !pool.brief().is_empty())?;
        let key = self.state.first_in_order(pool)?;
        let executable = self.almost_free(pool, key)?;
        self.state.begin_ahead(key);
        Some((key, executable))
    }

    /// One that takes the call ahead of time, unless another call waits until one is free.
    fn almost_free(&self, pool: &Pool, key: CallKey) -> Option<ExecutableId> {
        if pool.brief().is_empty() || pool.is_here() && self.state.queue.is_held() {
            return None;
        }
        let executable = self.with_room_ahead(pool, key)?;
        (!self.is_wanted_elsewhere()).then_some(executable)
    }

    /// Whether another module waits for an executable of this one to be free.
    fn is_wanted_elsewhere(&self) -> bool {
        let has_others = self.state.queue.len() > 1;
        self.state.is_full() && has_others && self.state.oldest_starving().is_some()
    }

    /// Gives waiting calls to free executables, and starts more if calls still wait.
    pub(super) fn serve_pool(&mut self, surroundings: &mut dyn Surroundings, module: &ModuleKey) {
        while let Some((key, executable)) = self.next_pair(module) {
            self.begin(surroundings, key, executable);
        }
        self.start_executables(surroundings.now());
        if let Some(pool) = self.state.queue.get_mut(module) {
            pool.look_for_surplus(surroundings.now());
        }
        self.state.queue.drop_empty(module);
    }

    /// Waiting calls are looked at where processors became free, and no executable did.
    pub(in crate::step) fn serve_waiting(&mut self, surroundings: &mut dyn Surroundings) {
        if !self.state.queue.is_to_look() {
            return;
        }
        let here = self.state.queue.pools().find(|(_, pool)| pool.is_here() && pool.is_ready());
        match here.map(|(module, _)| module.clone()) {
            Some(module) => self.serve_pool(surroundings, &module),
            None => self.state.queue.hold_nobody(),
        }
    }

    /// An executable is taken for a call, which begins when all who must know of it do.
    fn begin(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
        executable: ExecutableId,
    ) {
        if !self.is_to_be_marked(key, executable) && !self.is_to_be_listened_to(key, executable) {
            self.pass_on(surroundings, key, executable);
        }
    }

    /// Gives a call to an executable that can take it.
    pub(in crate::step) fn pass_on(
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
    pub(in crate::step) fn free(&mut self, now: Instant, executable: ExecutableId) {
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        if !record.line.is_empty() {
            return;
        }
        record.phase = Phase::Idle { since: now };
        let is_late = record.limits.takes_calls_until.is_some_and(|until| until <= now);
        if record.held {
            return;
        }
        let module = record.module.clone();
        self.state.free_its_processors(executable);
        if is_late {
            // Its job has too little time left for one more.
            return self.stop_executable(executable);
        }
        if let Some(pool) = self.state.queue.get_mut(&module) {
            pool.add_idle(executable);
        }
    }

    /// An executable became free: it serves its own line, unless an older call waits for a module
    /// that has no executable and gets none while all places are taken.
    pub(in crate::step) fn serve_all(
        &mut self,
        surroundings: &mut dyn Surroundings,
        module: &ModuleKey,
    ) {
        if self.state.queue.is_empty() {
            // Most calls come one after the other.
        } else if self.state.gives_way(module) {
            self.make_a_place(surroundings.now());
            self.free_gpus();
        } else if self.state.gives_gpus(module) {
            self.free_gpus();
        }
        self.serve_pool(surroundings, module);
        self.retire_outdated(module);
    }

    /// Executables of a module's older publications end when they have nothing to do: no new call
    /// is theirs.
    fn retire_outdated(&mut self, module: &ModuleKey) {
        if self.state.queue.len() < 2 {
            return;
        }
        for executable in self.state.queue.outdated(module) {
            self.stop_executable(executable);
        }
    }

    /// Starts executables until as many come as calls wait, as far as there are places. The deepest
    /// calls come first, then modules that have none, then those whose call has waited longest.
    pub(in crate::step) fn start_executables(&mut self, now: Instant) {
        while self.state.executables.launched.count() < self.state.limits.launched_max
            && let Some((module, _)) = self.state.most_wanting(Where::Elsewhere)
        {
            self.start_executable(&module, now);
        }
        while let Some((module, call)) = self.state.most_wanting(Where::Here) {
            let pool = self.state.queue.get(&module);
            if !self.state.has_place(&call) || !pool.is_some_and(|pool| self.state.has_gpus(pool)) {
                while self.make_a_place(now) {}
                return self.free_gpus();
            }
            self.start_executable(&module, now);
        }
        self.free_gpus();
        while self.state.is_crowded() && self.make_a_place(now) {}
    }

    fn start_executable(&mut self, module: &ModuleKey, now: Instant) {
        let executable = ExecutableId(self.state.number());
        let Some(pool) = self.state.queue.get_mut(module) else { return };
        pool.begin_executable();
        let image = pool.image.clone();
        self.begin_executable(executable, module, image, now, Place::Pool);
    }

    /// Has an executable started.
    pub(in crate::step) fn begin_executable(
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
        let array = self.state.objects.array_of(executable);
        let image = Box::new(image);
        self.state.out.act(Action::Start { executable, module: module.0.clone(), image, array });
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
            threads: Default::default(),
            processors: 0,
            held: place == Place::Held,
            launched,
            pid: None,
        };
        let cores = if launched || place == Place::Pool { None } else { module.2.resources.cores };
        self.state.executables.insert(executable, record);
        if cores.is_some_and(|cores| cores > 1) {
            self.state.take_processors(executable, processors_of(&module.2, None));
        }
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

    /// Ends executables that do nothing and hold GPUs that waiting calls ask for.
    fn free_gpus(&mut self) {
        while let Some(executable) = self.state.next_to_give_gpus() {
            self.stop_executable(executable);
        }
    }

    /// A module cannot be run: calls that wait for it fail with the reason.
    pub(super) fn fail_waiting(
        &mut self,
        surroundings: &mut dyn Surroundings,
        module: &ModuleKey,
        which: Waiting,
        error: &Error,
    ) {
        let Some(pool) = self.state.queue.get(module) else { return };
        let fails = |key: &CallKey| which == Waiting::All || self.state.depth_of(*key) > 0;
        let failing: Vec<CallKey> = pool.waiting().filter(fails).collect();
        for key in failing {
            let copy = Error::from(farcall_wire::Failure::from(error));
            self.finish(surroundings, key, Err(copy));
        }
    }

    /// An executable of the module is gone.
    pub(in crate::step) fn forget(&mut self, module: &ModuleKey) {
        if let Some(pool) = self.state.queue.get_mut(module) {
            pool.end_executable();
        }
        self.state.queue.drop_empty(module);
    }

    /// A call that ends while it waits leaves its line at once: lines would grow without bound
    /// otherwise.
    pub(in crate::step) fn leave_line(&mut self, key: CallKey, call: &Call) {
        let module = call.module_key();
        self.state.queue.leave(key, call);
        self.state.queue.look_again();
        self.stop_unneeded(&module);
        self.state.queue.drop_empty(&module);
    }

    /// Executables that were to come for calls which others have taken are stopped: so their jobs
    /// leave the queue.
    pub(in crate::step) fn end_surplus(&mut self, now: Instant) {
        while let Some((_, module)) = self.state.next_surplus().filter(|(at, _)| *at <= now) {
            let module = module.clone();
            if let Some(pool) = self.state.queue.get_mut(&module) {
                pool.forget_surplus();
            }
            self.stop_unneeded(&module);
        }
    }

    fn stop_unneeded(&mut self, module: &ModuleKey) {
        while let Some(executable) = self.state.unneeded(module) {
            self.stop_executable(executable);
        }
    }
}
