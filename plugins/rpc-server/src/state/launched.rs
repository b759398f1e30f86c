//! Executables that launchers have started elsewhere: they take no place of this host's, and leave
//! when they were idle.

use std::collections::BTreeSet;

use farcall_base::{ExecutableId, Instant};

use super::{ModuleKey, Phase, State};

/// Those of pools, from the decision to start until the end was reported.
#[derive(Debug, Default)]
pub struct Launched {
    pooled: BTreeSet<ExecutableId>,
}

impl Launched {
    /// One is to be started for a pool.
    pub fn begin(&mut self, executable: ExecutableId) {
        self.pooled.insert(executable);
    }

    /// One has ended, or was none of these.
    pub fn end(&mut self, executable: ExecutableId) {
        self.pooled.remove(&executable);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.pooled.len()
    }
}

impl State {
    /// The last of a module's that are to come and that no call waits for any more: its job would
    /// hold its place in a queue, and then processors, for nobody.
    pub fn unneeded(&self, module: &ModuleKey) -> Option<ExecutableId> {
        let pool = self.pools.get(module).filter(|pool| pool.coming > pool.waiting.len())?;
        let comes = |executable: &ExecutableId| {
            let record = self.executables.get(executable);
            record.is_some_and(|record| {
                record.module == *module && record.phase == Phase::Starting && record.launched
            })
        };
        if pool.image.launcher.is_empty() {
            None
        } else {
            self.launched.pooled.iter().copied().rfind(comes)
        }
    }

    /// The one that leaves next if it stays idle, and when.
    pub fn next_launched_to_leave(&self) -> Option<(Instant, ExecutableId)> {
        let idle = self.launched.pooled.iter().filter_map(|executable| {
            match self.executables.get(executable)?.phase {
                Phase::Idle { since } => Some((since + self.limits.launched_idle, *executable)),
                _ => None,
            }
        });
        idle.min()
    }
}
