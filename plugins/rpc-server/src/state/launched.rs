//! Executables that launchers have started elsewhere: they take no place of this host's, and leave when they were idle.

use std::collections::BTreeSet;

use farcall_base::{ExecutableId, Instant};

use super::{Phase, State};

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
    /// The one that leaves next if it stays idle, and when.
    pub fn next_launched_to_leave(&self) -> Option<(Instant, ExecutableId)> {
        let idle = self.launched.pooled.iter().filter_map(|executable| match self.executables.get(executable)?.phase {
            Phase::Idle { since } => Some((since + self.limits.launched_idle, *executable)),
            _ => None,
        });
        idle.min()
    }
}
