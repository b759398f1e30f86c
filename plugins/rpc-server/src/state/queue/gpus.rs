//! GPUs of this host for calls that ask for them (spec/call.md, section 12).
//!
//! - An executable's GPUs are its own until its end is reported.
//! - What exceeds all that there is does not wait: the spawner refuses it.
//!
//! Cores are processors, which calls have while they run (`queue/processors.rs`).

use farcall_base::ExecutableId;

use super::Pool;
use crate::state::{Executable, ModuleKey, Phase, State, Variant};

/// The GPUs that one executable takes.
fn gpus_of(variant: &Variant) -> u64 {
    u64::from(variant.resources.gpus.unwrap_or(0)) * u64::from(variant.ranks.max(1))
}

impl Pool {
    /// The GPUs that one of its executables takes.
    fn gpus(&self) -> u64 {
        gpus_of(&Variant { ranks: self.image.ranks, resources: self.image.resources })
    }
}

impl State {
    /// Whether a pool's next executable has the GPUs that it asks for.
    pub(crate) fn has_gpus(&self, pool: &Pool) -> bool {
        self.has_gpus_beside(pool, |_| false)
    }

    /// Whether an executable with GPUs that becomes free is ended for an older call that waits for
    /// them: calls of its own would keep them for ever.
    pub(crate) fn gives_gpus(&self, module: &ModuleKey) -> bool {
        let Some(own) = self.queue.get(module).filter(|pool| pool.gpus() > 0) else {
            return false;
        };
        self.gives_way_to(own, |pool| !pool.has_executables() && !self.has_gpus(pool))
    }

    /// Whether a pool waits for GPUs that calls have which wait for calls of their own: one of those
    /// would wait for itself.
    pub(crate) fn waits_for_own_gpus(&self, pool: &Pool) -> bool {
        let mut holders = self
            .executables
            .values()
            .filter(|record| !record.launched && gpus_of(&record.module.2) > 0);
        !self.has_gpus(pool) && holders.all(|record| self.lends(record))
    }

    /// The executable that is to end now, so that another has the GPUs that its calls asked for: the
    /// one that has been idle longest, unless those that end leave enough.
    pub(crate) fn next_to_give_gpus(&self) -> Option<ExecutableId> {
        if !self.queue.pools.values().any(|pool| pool.gpus() > 0) {
            return None;
        }
        let waits = |pool: &&Pool| pool.is_here() && pool.next_unserved().is_some();
        let waiting = self.queue.pools.values().filter(waits);
        waiting.filter_map(|pool| self.idle_for(pool)).next()
    }

    fn idle_for(&self, pool: &Pool) -> Option<ExecutableId> {
        if self.has_gpus_beside(pool, |record| record.phase == Phase::Ending) {
            return None;
        }
        let idle = self.executables.longest_idle_of(|record| gpus_of(&record.module.2) > 0);
        idle.map(|(_, executable)| executable)
    }

    /// Whether there are enough, if some executables were gone. What exceeds all does not wait.
    fn has_gpus_beside(&self, pool: &Pool, is_gone: impl Fn(&Executable) -> bool) -> bool {
        let wanted = pool.gpus();
        let all = u64::from(self.limits.capacity.gpus);
        if wanted == 0 || wanted > all {
            return true;
        }
        let here = self.executables.values().filter(|record| !record.launched && !is_gone(record));
        let taken: u64 = here.map(|record| gpus_of(&record.module.2)).sum();
        taken + wanted <= all
    }

    fn lends(&self, record: &Executable) -> bool {
        let front = record.line.front().filter(|_| record.phase == Phase::Busy);
        let call = front.and_then(|key| self.calls.get(&key));
        call.is_some_and(|call| !call.nesting.inner.is_empty())
    }
}
