//! Room on this host for calls that ask for cores or GPUs (spec/call.md, section 12).
//!
//! - An executable whose calls asked for N cores takes N places: of `executables_max`, or of the
//!   host's processors where these are more. So nobody is slowed down by what others asked for.
//! - Its GPUs are its own until its end is reported.
//! - What exceeds all that there is does not wait: the spawner refuses it.

use farcall_base::{ExecutableId, Resources};

use super::Pool;
use crate::state::{Executable, ModuleKey, Phase, QueuePolicy, State};

/// Cores and GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Room {
    cores: u64,
    gpus: u64,
}

impl Room {
    /// What one executable takes: one place where its calls ask for no cores, however many ranks it
    /// has.
    fn of(asked: &Resources, ranks: u32) -> Room {
        let processes = u64::from(ranks.max(1));
        Room {
            cores: asked.cores.map_or(1, |cores| u64::from(cores) * processes),
            gpus: u64::from(asked.gpus.unwrap_or(0)) * processes,
        }
    }

    /// Whether it takes more than any executable does.
    fn is_more(self) -> bool {
        self.cores > 1 || self.gpus > 0
    }
}

/// What a waiting executable lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    Cores,
    Gpus,
}

impl Pool {
    /// What one of its executables takes of this host.
    fn room(&self) -> Room {
        Room::of(&self.image.resources, self.image.ranks)
    }
}

impl State {
    /// Whether a pool's next executable has the GPUs that it asks for.
    pub(crate) fn has_gpus(&self, pool: &Pool) -> bool {
        pool.room().gpus == 0 || self.lack(pool) != Some(Lack::Gpus)
    }

    /// Whether it has all that it asks for.
    pub(crate) fn has_room(&self, pool: &Pool) -> bool {
        self.lack(pool).is_none()
    }

    /// Whether an executable with GPUs that becomes free is ended for an older call that waits for
    /// them: calls of its own would keep them for ever.
    pub(crate) fn gives_gpus(&self, module: &ModuleKey) -> bool {
        let Some(own) = self.queue.get(module).filter(|pool| pool.room().gpus > 0) else {
            return false;
        };
        let pools = self.queue.pools.values().filter(|pool| pool.is_here());
        let lacking = pools.filter(|pool| !pool.has_executables() && !self.has_gpus(pool));
        let oldest = lacking.filter_map(Pool::next).min();
        oldest.is_some_and(|oldest| self.queue.policy.gives_way(own.next(), oldest))
    }

    /// Whether a pool waits for GPUs that calls have which wait for calls of their own: one of those
    /// would wait for itself.
    pub(crate) fn waits_for_own_gpus(&self, pool: &Pool) -> bool {
        let mut holders =
            self.executables.values().filter(|record| !record.launched && room_of(record).gpus > 0);
        !self.has_gpus(pool) && holders.all(|record| self.lends(record))
    }

    /// The executable that is to end now, so that another has what its calls asked for: the one that
    /// has been idle longest, unless those that end leave enough.
    pub(crate) fn next_to_give_room(&self) -> Option<ExecutableId> {
        if !self.queue.pools.values().any(|pool| pool.room().is_more()) {
            return None;
        }
        let waits = |pool: &&Pool| pool.is_here() && pool.next_unserved().is_some();
        let waiting = self.queue.pools.values().filter(waits);
        waiting.filter_map(|pool| self.idle_for(pool)).next()
    }

    fn idle_for(&self, pool: &Pool) -> Option<ExecutableId> {
        let lack = self.lack(pool)?;
        self.lack_beside(pool, |record| record.phase == Phase::Ending)?;
        let holds = |record: &Executable| lack == Lack::Cores || room_of(record).gpus > 0;
        self.executables.longest_idle_where(holds)
    }

    /// What a pool's next executable lacks.
    fn lack(&self, pool: &Pool) -> Option<Lack> {
        self.lack_beside(pool, |_| false)
    }

    /// The same if those executables were gone.
    fn lack_beside(&self, pool: &Pool, is_gone: impl Fn(&Executable) -> bool) -> Option<Lack> {
        let wanted = pool.room();
        let here = self.executables.values().filter(|record| !record.launched && !is_gone(record));
        let mut taken = Room::default();
        let mut is_shared = wanted.is_more();
        for record in here {
            let one = room_of(record);
            taken.gpus += one.gpus;
            // One that waits for calls of its own lends these its cores; objects have their own
            // limit.
            if !self.lends(record) && (!record.held || one.is_more()) {
                taken.cores += one.cores;
                is_shared |= one.is_more();
            }
        }
        let capacity = self.limits.capacity;
        let cores = (self.limits.executables_max as u64).max(u64::from(capacity.cores));
        let gpus = u64::from(capacity.gpus);
        if wanted.gpus > 0 && wanted.gpus <= gpus && taken.gpus + wanted.gpus > gpus {
            return Some(Lack::Gpus);
        }
        let lacks_cores = is_shared && wanted.cores <= cores && taken.cores + wanted.cores > cores;
        lacks_cores.then_some(Lack::Cores)
    }

    fn lends(&self, record: &Executable) -> bool {
        let front = record.line.front().filter(|_| record.phase == Phase::Busy);
        let call = front.and_then(|key| self.calls.get(&key));
        call.is_some_and(|call| !call.nesting.inner.is_empty())
    }
}

fn room_of(record: &Executable) -> Room {
    Room::of(&record.module.2.resources, record.module.2.ranks)
}
