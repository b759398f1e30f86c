//! How many threads the libraries of a call's routine run: what makes calls take the least time, by
//! what was measured and by how many calls there are (spec/placement.md, section 9).
//!
//! A routine is measured with one thread first, and then, when a call of it is alone, with all. Until
//! both are known it counts as one processor: it may gain nothing by more.

use farcall_base::ExecutableId;
use farcall_wire::{Attribute, threads_attribute};

use crate::state::{CallKey, Known, ModuleKey};
use crate::step::Server;
use crate::step::executables::line::is_short;

/// Shorter runs say nothing of threads: to start them takes as long.
const MEASURED_NS: u64 = 100_000;

impl Server {
    /// A call comes whose executables can be told: on how many threads it runs, and what that takes.
    pub(in crate::step) fn choose_threads(&mut self, key: CallKey, module: &ModuleKey) {
        if !self.state.queue.sets_threads(module) {
            return;
        }
        let Some((threads, processors)) = self.best_threads(key) else { return };
        if let Some(call) = self.state.calls.get_mut(&key) {
            call.run.share.threads = Some(threads);
            call.run.share.processors = processors;
        }
    }

    /// The same for a call on an object, which is about to begin. It takes what its object has,
    /// and waits for no processors.
    pub(in crate::step) fn choose_threads_on(&mut self, key: CallKey, executable: ExecutableId) {
        let record = self.state.executables.get(&executable);
        if !record.is_some_and(|record| record.threads.are_set) {
            return;
        }
        let Some((threads, _)) = self.best_threads(key) else { return };
        if let Some(call) = self.state.calls.get_mut(&key) {
            call.run.share.threads = Some(threads);
        }
    }

    /// Threads of a call, and the processors that it takes with them.
    fn best_threads(&mut self, key: CallKey) -> Option<(u32, u32)> {
        let all = self.processors_for_threads();
        let calls = u32::try_from(self.state.calls.count()).unwrap_or(u32::MAX);
        let queue = &mut self.state.queue;
        let call = self.state.calls.get(&key)?;
        Some(match call.routine.is_measured() {
            _ if says(&call.routine) => (call.run.share.processors, call.run.share.processors),
            _ if all < 2 || is_short(&call.routine) => (1, 1),
            [true, false] if calls < 2 => (all, 1),
            [true, true] => {
                let threads = queue.times.threads(call, all, calls);
                (threads, threads)
            }
            _ => (1, 1),
        })
    }

    /// Processors of this host that threads may run on.
    fn processors_for_threads(&self) -> u32 {
        let here = self.state.limits.capacity.cores;
        // A spawner that does not know tells no executable either.
        if here == u32::MAX { 1 } else { here.min(self.state.queue.processors.max()) }
    }

    /// What an executable is told with a call beside its arguments.
    pub(super) fn attributes_for(
        &mut self,
        key: CallKey,
        executable: ExecutableId,
    ) -> Option<Vec<Attribute>> {
        let threads = self.tell_threads(key, executable);
        let wants = self.state.calls.get(&key).and_then(|call| call.wants.of_executable());
        match threads {
            Some(threads) => Some(wants.into_iter().flatten().chain([threads]).collect()),
            None => wants,
        }
    }

    /// The number of threads, if it was told another one before.
    fn tell_threads(&mut self, key: CallKey, executable: ExecutableId) -> Option<Attribute> {
        let record = self.state.executables.get_mut(&executable);
        let record = record.filter(|record| record.threads.are_set)?;
        let call = self.state.calls.get(&key)?;
        let share = &call.run.share;
        let threads = share.threads.or_else(|| says(&call.routine).then_some(share.processors))?;
        let is_news = record.threads.told.replace(threads) != Some(threads);
        is_news.then(|| threads_attribute(threads))
    }

    /// A call failed, perhaps before its executable did what it was told.
    pub(super) fn tell_threads_again(&mut self, executable: Option<ExecutableId>) {
        let record = executable.and_then(|one| self.state.executables.get_mut(&one));
        if let Some(record) = record {
            record.threads.told = None;
        }
    }

    /// A call returned: what that says of its threads.
    pub(super) fn learn_threads(&mut self, key: CallKey, ran_ns: u64) {
        let Some(call) = self.state.calls.get(&key) else { return };
        let Some(threads) = call.run.share.threads.filter(|_| ran_ns >= MEASURED_NS) else {
            return;
        };
        call.routine.measured(threads);
        if !self.state.queue.needs_run_times() {
            self.state.queue.times.observe(call, ran_ns as f64 * 1e-9);
        }
    }
}

/// Whether an interface says how many processors its routine uses.
fn says(routine: &Known) -> bool {
    routine.routine.interface.processors.is_some()
}
