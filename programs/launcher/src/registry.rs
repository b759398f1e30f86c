//! Which programs run, so that each can be ended by its name.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// What a program hears when it is to end.
enum Entry {
    /// A process group: a signal.
    Group(Pid),
    /// An `ssh`: the end of its input, which ends what runs there.
    Far { group: Pid, input: Option<std::process::ChildStdin> },
    /// None yet: it is to end as soon as it has begun.
    Unwanted,
}

/// See the module.
#[derive(Clone)]
pub struct Registry(Arc<Mutex<HashMap<String, Entry>>>);

impl Registry {
    pub fn new() -> Registry {
        Registry(Arc::new(Mutex::new(HashMap::new())))
    }

    fn table(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A program that leads a process group of its own.
    pub fn add(&self, key: &str, child: &Child) {
        group(child).into_iter().for_each(|group| self.insert(key, Entry::Group(group)));
    }

    fn insert(&self, key: &str, entry: Entry) {
        let before = self.table().insert(key.to_owned(), entry);
        if matches!(before, Some(Entry::Unwanted)) {
            self.stop(key);
        }
    }

    /// An `ssh` that runs a program elsewhere, for as long as its input is open.
    pub fn add_far(&self, key: &str, child: &Child, input: std::process::ChildStdin) {
        if let Some(group) = group(child) {
            self.insert(key, Entry::Far { group, input: Some(input) });
        }
    }

    /// A handle of that input; `None` when it is closed.
    pub fn input(&self, key: &str) -> Option<std::fs::File> {
        match self.table().get(key) {
            Some(Entry::Far { input: Some(input), .. }) => {
                input.as_fd().try_clone_to_owned().ok().map(std::fs::File::from)
            }
            _ => None,
        }
    }

    /// That input, which somebody else writes to from now on: to end the program, it is signalled
    /// to.
    pub fn take_input(&self, key: &str) -> Option<std::process::ChildStdin> {
        let mut table = self.table();
        let entry = table.get_mut(key)?;
        let Entry::Far { group, input } = entry else { return None };
        let group = *group;
        let input = input.take()?;
        *entry = Entry::Group(group);
        Some(input)
    }

    /// Has a program end by itself; one that has not begun, when it does.
    pub fn stop(&self, key: &str) {
        match self.table().entry(key.to_owned()).or_insert(Entry::Unwanted) {
            Entry::Group(group) => signal(*group, Signal::TERM),
            Entry::Far { input, .. } => drop(input.take()),
            Entry::Unwanted => {}
        }
    }

    /// It is over, or never began.
    pub fn forget(&self, key: &str) {
        self.table().remove(key);
    }

    /// Ends it, with all that it started.
    pub fn kill(&self, key: &str) {
        if let Some(Entry::Group(group) | Entry::Far { group, .. }) = self.table().get(key) {
            signal(*group, Signal::KILL);
        }
    }

    /// Ends all of them.
    pub fn kill_all(&self) {
        let table = self.table();
        let groups = table.values().filter_map(|entry| match entry {
            Entry::Group(group) | Entry::Far { group, .. } => Some(*group),
            Entry::Unwanted => None,
        });
        groups.for_each(|group| signal(group, Signal::KILL));
    }

    /// Waits for a program's end; nothing of its process group stays, and its number is not used by
    /// others before nobody here signals to it any more.
    pub fn wait(&self, key: &str, mut child: Child) -> std::io::Result<ExitStatus> {
        if let Some(group) = group(&child) {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(group), options), Err(rustix::io::Errno::INTR)) {}
            self.table().remove(key);
            signal(group, Signal::KILL);
        }
        child.wait()
    }
}

fn group(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

fn signal(group: Pid, signal: Signal) {
    // One that has ended needs none.
    let _ = kill_process_group(group, signal);
}
