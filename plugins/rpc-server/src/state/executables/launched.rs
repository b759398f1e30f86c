//! Executables that launchers have started elsewhere: they take no place of this host's, and leave
//! when they were idle.

use std::collections::BTreeSet;

use farcall_base::ExecutableId;

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

    /// All of them.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = ExecutableId> {
        self.pooled.iter().copied()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.pooled.len()
    }
}
