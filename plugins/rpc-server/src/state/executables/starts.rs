//! Executables on their way to their first call, and modules that none of them could load in time.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use farcall_base::{ExecutableId, Instant};

use crate::state::ModuleKey;

/// Modules remembered as slow: far more than a server publishes.
const SLOW_MAX: usize = 1024;

/// Who comes, and who never came.
///
/// Invariant: `due` is in the order of its times, since all have the same time from their start.
#[derive(Debug, Default)]
pub struct Starts {
    /// When each that comes must have loaded its module.
    due: VecDeque<(Instant, ExecutableId)>,
    /// Modules whose last executable was not there in time: the next one comes alone.
    slow: BTreeSet<ModuleKey>,
}

impl Starts {
    /// One begins, and is to be there by then.
    pub fn begin(&mut self, until: Instant, executable: ExecutableId) {
        self.due.push_back((until, executable));
    }

    /// How long one has been on its way, which was to take no longer than `most`.
    pub fn took(&self, now: Instant, executable: ExecutableId, most: Duration) -> Option<Duration> {
        let until = self.due.iter().find(|(_, other)| *other == executable)?.0;
        Some(most.saturating_sub(until.since(now)))
    }

    /// When to look next.
    pub fn next(&self) -> Option<Instant> {
        self.due.front().map(|(until, _)| *until)
    }

    /// It comes no more: it is there, or will never be.
    pub fn end(&mut self, executable: ExecutableId) {
        self.due.retain(|(_, other)| *other != executable);
    }

    /// One that comes and whose time is over.
    pub fn due(&self, now: Instant) -> Option<ExecutableId> {
        self.due.front().filter(|(until, _)| *until <= now).map(|(_, executable)| *executable)
    }

    /// An executable of the module was not there in time.
    pub fn came_too_late(&mut self, module: &ModuleKey) {
        // Older publications of it are not started any more.
        self.slow.retain(|other| other.0 != module.0);
        if self.slow.len() < SLOW_MAX {
            self.slow.insert(module.clone());
        }
    }

    /// An executable of the module came.
    pub fn came(&mut self, module: &ModuleKey) {
        self.slow.remove(module);
    }

    /// Whether the next executable of the module comes alone.
    pub fn is_slow(&self, module: &ModuleKey) -> bool {
        self.slow.contains(module)
    }
}
