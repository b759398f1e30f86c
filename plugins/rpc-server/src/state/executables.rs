//! Executables: the processes that run routines, on this host or where launchers start them.
//!
//! - An executable stands here from the decision to start it until its exit was reported.
//! - It stands in `ahead` while it has calls behind the one that it works on, and in `graces` from
//!   the word that its call is to end until it has ended.

mod assigned;
mod executable;
mod jobs;
mod launched;
mod passing;
mod shared;
mod starts;

use std::collections::{BTreeMap, BTreeSet};

use farcall_base::{ExecutableId, Instant};

use super::ModuleKey;
pub use assigned::{AssignedCalls, InLine};
pub use executable::{Executable, Phase};
use jobs::Jobs;
use launched::Launched;
pub(crate) use passing::FREE_BYTES;
use passing::Passing;
pub use shared::SharedMemory;
use starts::Starts;

/// All executables.
#[derive(Default)]
pub struct Executables {
    all: BTreeMap<ExecutableId, Executable>,
    /// Those that were told that the call that they run is to end, and when they are ended if it
    /// does not.
    graces: BTreeMap<ExecutableId, Instant>,
    /// Those that were passed calls ahead of time.
    ahead: BTreeSet<ExecutableId>,
    /// Those on their way to their first call.
    pub(crate) starts: Starts,
    /// Results of launched ones on their way here.
    pub(crate) passing: Passing,
    /// Those of pools that launchers have started.
    pub(crate) launched: Launched,
    /// Jobs of launchers.
    pub(crate) jobs: Jobs,
}

impl Executables {
    /// Enters one.
    pub(crate) fn insert(&mut self, executable: ExecutableId, record: Executable) {
        self.all.insert(executable, record);
    }

    /// One is gone.
    pub(crate) fn remove(&mut self, executable: ExecutableId) -> Option<Executable> {
        let record = self.all.remove(&executable)?;
        self.passing.gone(executable);
        self.launched.end(executable);
        Some(record)
    }

    /// One of them, unless it is gone.
    pub(crate) fn get(&self, executable: &ExecutableId) -> Option<&Executable> {
        self.all.get(executable)
    }

    /// As [`Executables::get`], to change it.
    pub(crate) fn get_mut(&mut self, executable: &ExecutableId) -> Option<&mut Executable> {
        self.all.get_mut(executable)
    }

    /// Whether it is not gone.
    pub(crate) fn contains_key(&self, executable: &ExecutableId) -> bool {
        self.all.contains_key(executable)
    }

    /// All of them.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Executable> {
        self.all.values()
    }

    /// As [`Executables::values`], to change them.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Executable> {
        self.all.values_mut()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Of those of this host that are not held, the one that has been idle longest, and since when.
    pub(crate) fn longest_idle(&self) -> Option<(Instant, ExecutableId)> {
        self.idle().min()
    }

    /// Of the same, the one that has been idle longest of some of them.
    pub(crate) fn longest_idle_of(
        &self,
        is_one: impl Fn(&Executable) -> bool,
    ) -> Option<(Instant, ExecutableId)> {
        let is_one = |(_, executable): &(_, _)| self.all.get(executable).is_some_and(&is_one);
        self.idle().filter(is_one).min()
    }

    fn idle(&self) -> impl Iterator<Item = (Instant, ExecutableId)> {
        self.all.iter().filter_map(|(executable, record)| match record.phase {
            Phase::Idle { since } if !record.held && !record.launched => Some((since, *executable)),
            _ => None,
        })
    }

    /// Of the same, how many end.
    pub(crate) fn pooled_ending(&self) -> usize {
        self.all
            .values()
            .filter(|record| !record.held && !record.launched && record.phase == Phase::Ending)
            .count()
    }

    /// The last of a module's that launchers are to start: its job would hold its place in a queue,
    /// and then processors, for nobody.
    pub(crate) fn last_to_be_launched(&self, module: &ModuleKey) -> Option<ExecutableId> {
        let comes = |executable: &ExecutableId| {
            self.all.get(executable).is_some_and(|record| {
                record.module == *module && record.phase == Phase::Starting && record.launched
            })
        };
        self.launched.all().rfind(comes)
    }

    /// Of those that launchers have started, the one that has been idle longest, and since when.
    pub(crate) fn longest_idle_launched(&self) -> Option<(Instant, ExecutableId)> {
        let idle =
            self.launched.all().filter_map(|executable| match self.all.get(&executable)?.phase {
                Phase::Idle { since } => Some((since, executable)),
                _ => None,
            });
        idle.min()
    }
}

/// Calls that are to end, and calls ahead of time.
impl Executables {
    /// One is told that its call is to end, and has until then; `false` if it was told before.
    pub(crate) fn begin_grace(&mut self, executable: ExecutableId, until: Instant) -> bool {
        if self.graces.contains_key(&executable) {
            return false;
        }
        self.graces.insert(executable, until);
        true
    }

    /// Its call has ended, or the executable has.
    pub(crate) fn end_grace(&mut self, executable: ExecutableId) {
        self.graces.remove(&executable);
    }

    /// When the first of them is ended.
    pub(crate) fn next_grace(&self) -> Option<Instant> {
        self.graces.values().min().copied()
    }

    /// Those whose time for that has passed.
    pub(crate) fn late(&self, now: Instant) -> Vec<ExecutableId> {
        let late = self.graces.iter().filter(|(_, until)| **until <= now);
        late.map(|(executable, _)| *executable).collect()
    }

    /// One has calls behind the one that it works on.
    pub(crate) fn begin_ahead(&mut self, executable: ExecutableId) {
        self.ahead.insert(executable);
    }

    /// It has none.
    pub(crate) fn end_ahead(&mut self, executable: ExecutableId) {
        self.ahead.remove(&executable);
    }

    /// Whether any has.
    pub(crate) fn has_ahead(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// Those that have, and may begin them.
    pub(crate) fn ahead(&self) -> impl Iterator<Item = &Executable> {
        let records = self.ahead.iter().filter_map(|executable| self.all.get(executable));
        records.filter(|record| record.line.is_open())
    }

    /// As [`Executables::ahead`], to change them.
    pub(crate) fn each_ahead(&mut self, mut each: impl FnMut(ExecutableId, &mut Executable)) {
        for executable in &self.ahead {
            if let Some(record) =
                self.all.get_mut(executable).filter(|record| record.line.is_open())
            {
                each(*executable, record);
            }
        }
    }
}
