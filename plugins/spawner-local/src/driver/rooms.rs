//! What the processes of a module share on this host: a working folder, and the cgroup that counts
//! them.
//!
//! Both are made with the module's first process and removed after its last; what still ran in the
//! cgroup is killed.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use farcall_base::{Error, ErrorKind, Result};
use farcall_services::spawner::rules::{Missing, Rules};
use farcall_system::temporary;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, getpid, kill_process, test_kill_process};

use super::memory_cgroup::{self, MemoryCgroup};
use crate::limits::{Limits, find_user};

/// Names of folders and cgroups begin so; the number of the server's process follows.
const PREFIX: &str = "farcall-module-";

/// More than there can be in all (the kernel's PID_MAX_LIMIT).
const TASKS_OF_SYSTEM: u64 = 4 << 20;

/// Names tried for a folder.
const NAMES_MAX: u32 = 1000;

/// Times that a cgroup is looked at until its processes, which were killed, are gone; a millisecond
/// each.
const LOOKS_MAX: u32 = 200;

/// The rooms in use, by module.
#[derive(Default)]
pub(super) struct Rooms {
    table: BTreeMap<String, Weak<Room>>,
    swept: bool,
    /// How many were made again, because somebody had removed the folder of one in use.
    pub(super) remade: u64,
}

/// Rooms made by this process, of all its nodes.
static MADE: AtomicU64 = AtomicU64::new(0);

/// One module's.
pub(super) struct Room {
    folder: PathBuf,
    cgroup: Option<PathBuf>,
    user: Option<(u32, u32)>,
    _lock: OwnedFd,
}

impl Rooms {
    /// The room of `module`, made if nobody is in it.
    pub(super) fn enter(&mut self, module: &str, limits: &Limits) -> Result<Arc<Room>> {
        match self.table.get(module).and_then(Weak::upgrade) {
            Some(room) if room.is_there() => return Ok(room),
            Some(_) => self.remade += 1,
            None => {}
        }
        if !std::mem::replace(&mut self.swept, true) {
            sweep();
        }
        let room = Arc::new(Room::new(limits).map_err(|error| error.with("module", module))?);
        self.table.retain(|_, room| room.strong_count() > 0);
        self.table.insert(module.to_string(), Arc::downgrade(&room));
        Ok(room)
    }
}

impl Room {
    /// A folder and a cgroup for the processes of one module.
    pub(super) fn new(limits: &Limits) -> Result<Room> {
        let user = limits.user().map(|user| find_user(user, &passwd())).transpose()?;
        let (name, folder) = make_folder()?;
        // A lock that ends with this process, wherever that is: others must not take the folder for
        // left behind.
        let lock = std::fs::File::open(&folder).map(OwnedFd::from);
        let lock = lock.map_err(|error| {
            let _ = std::fs::remove_dir(&folder);
            Error::system("lock a working folder", error)
        })?;
        let _ = flock(&lock, FlockOperation::NonBlockingLockExclusive);
        let mut room = Room { folder, cgroup: None, user, _lock: lock };
        if let Some((user, group)) = user {
            std::os::unix::fs::chown(&room.folder, Some(user), Some(group)).map_err(|error| {
                Error::system("give a working folder to its user", error).with("user", user)
            })?;
        }
        // Memory is counted below it where one cgroup has all controllers.
        let counts_memory = limits.memory_bytes_max().map(|_| TASKS_OF_SYSTEM);
        room.cgroup = limits
            .tasks_max()
            .or(counts_memory)
            .and_then(|tasks_max| make_cgroup(&name, tasks_max));
        Ok(room)
    }

    /// The rules of a process in this room.
    fn rules(&self, limits: &Limits, rules: &Rules) -> Result<Rules> {
        let mut rules = rules.clone();
        rules.folder = Some(self.folder.display().to_string());
        rules.user = self.user;
        match (&self.cgroup, limits.tasks_max()) {
            (Some(cgroup), _) => rules.cgroups.push(door_of(cgroup)),
            (None, Some(tasks_max)) => self.count_by_user(tasks_max, &mut rules)?,
            (None, None) => {}
        }
        Ok(rules)
    }

    /// The rules of one more process (or `processes` that a launcher starts) with all that counts
    /// it. What counts its memory is to live as long as it.
    pub(super) fn held(
        &self,
        limits: &Limits,
        rules: &Rules,
        processes: u32,
    ) -> Result<(Rules, Option<MemoryCgroup>)> {
        let mut rules = self.rules(limits, rules)?;
        let memory = self.memory(limits, processes, rules.missing)?;
        if let Some(cgroup) = &memory {
            let door = cgroup.door();
            // A cgroup of all controllers holds no processes itself where some are below it.
            let above = door.parent().and_then(Path::parent).map(door_of);
            rules.cgroups.retain(|other| Some(other) != above.as_ref());
            rules.cgroups.push(door.display().to_string());
        }
        Ok((rules, memory))
    }

    /// What holds one more process (or `processes` that a launcher starts) to its memory, shared
    /// memory included, where the module has a limit.
    pub(super) fn memory(
        &self,
        limits: &Limits,
        processes: u32,
        missing: Missing,
    ) -> Result<Option<MemoryCgroup>> {
        let Some(bytes_max) = limits.memory_bytes_max() else { return Ok(None) };
        let bytes_max = bytes_max.saturating_mul(processes.into());
        let cgroup = MemoryCgroup::new(self.cgroup.as_deref(), bytes_max);
        if cgroup.is_some() || missing == Missing::Allowed {
            return Ok(cgroup);
        }
        let message = "this system cannot enforce the module's memory_bytes_max: only a memory \
            cgroup counts memory that a process shares (MAP_SHARED, memfd, /dev/shm), and the \
            server cannot write one";
        Err(Error::new(ErrorKind::Unavailable, "start a module", message).fix(
            "give the server a memory cgroup (Delegate=yes in its unit), or set required = \
                false in farcall.toml",
        ))
    }

    /// Without a cgroup, the system counts all that the user runs: what runs now comes on top of
    /// what the module may have. It counts nothing of root's.
    fn count_by_user(&self, tasks_max: u64, rules: &mut Rules) -> Result<()> {
        let user = self.user.map_or_else(|| rustix::process::geteuid().as_raw(), |(user, _)| user);
        if user != 0 {
            rules.tasks_of_user_max = Some(tasks_max.saturating_add(tasks_of(user)));
            return Ok(());
        }
        if rules.missing == Missing::Allowed {
            return Ok(());
        }
        let message = "this system cannot count the module's processes: the server cannot write a \
            cgroup, and it runs as root";
        Err(Error::new(ErrorKind::Unavailable, "start a module", message)
            .fix("set a user for it in farcall.toml, or set required = false"))
    }

    /// The user that its processes are, where that is not the server's.
    pub(super) fn user(&self) -> Option<(u32, u32)> {
        self.user
    }

    /// Whether its folder is the one that was made: a cleaner of temporary files may have removed
    /// it.
    fn is_there(&self) -> bool {
        let made = rustix::fs::fstat(&self._lock).map(|status| (status.st_dev, status.st_ino));
        std::fs::symlink_metadata(&self.folder)
            .is_ok_and(|status| made == Ok((status.dev(), status.ino())))
    }

    /// Where temporary files go.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some(cgroup) = &self.cgroup {
            remove_cgroup(cgroup);
        }
        if self.user.is_some() {
            // Where this is not root, only its owner may look into it.
            let _ = std::os::unix::fs::chown(
                &self.folder,
                Some(rustix::process::geteuid().as_raw()),
                None,
            );
        }
        temporary::remove(&self.folder);
    }
}

impl Drop for Rooms {
    fn drop(&mut self) {
        temporary::remove_left();
    }
}

/// Where a process writes to be counted.
fn door_of(cgroup: &Path) -> String {
    cgroup.join("cgroup.procs").display().to_string()
}

/// A name that nothing of this process has had.
pub(super) fn new_name() -> String {
    format!("{PREFIX}{}-{}", getpid().as_raw_nonzero(), MADE.fetch_add(1, Ordering::Relaxed))
}

/// A folder that nobody else may enter, and its name.
fn make_folder() -> Result<(String, PathBuf)> {
    let base = temporary::folder();
    let mut outcome = Ok(());
    // Somebody who takes names in advance gets tired of it, or does not know which come.
    for _ in 0..NAMES_MAX {
        let name = new_name();
        let folder = base.join(&name);
        outcome = std::fs::DirBuilder::new().mode(0o700).create(&folder);
        match &outcome {
            Ok(()) => return Ok((name, folder)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(_) => break,
        }
    }
    let error = outcome.expect_err("the loop ends at success");
    Err(Error::system("make a working folder", error).with("in", base.display()))
}

/// How the processes of a module are counted on this host, for people.
pub(crate) fn counted_by() -> Option<&'static str> {
    let name = new_name();
    if let Some(cgroup) = make_cgroup(&name, 4096) {
        remove_cgroup(&cgroup);
        return Some("cgroup");
    }
    (!rustix::process::geteuid().is_root()).then_some("user")
}

/// Whether a module's cgroup does what is asked of it.
pub(super) fn counts_below(does: impl Fn(&Path) -> bool) -> bool {
    make_cgroup(&new_name(), TASKS_OF_SYSTEM).is_some_and(|cgroup| {
        let answer = does(&cgroup);
        remove_cgroup(&cgroup);
        answer
    })
}

/// A cgroup below ours that has so many tasks at most; `None` where that cannot be had.
fn make_cgroup(name: &str, tasks_max: u64) -> Option<PathBuf> {
    bases().into_iter().find_map(|base| make_cgroup_in(&base, name, tasks_max))
}

fn make_cgroup_in(base: &Path, name: &str, tasks_max: u64) -> Option<PathBuf> {
    let cgroup = base.join(name);
    std::fs::create_dir(&cgroup).ok()?;
    // The kernel makes the file in a cgroup that counts. In any other folder it would be a file,
    // and nobody counted.
    let limit = std::fs::OpenOptions::new().write(true).open(cgroup.join("pids.max"));
    if limit.is_ok_and(|mut limit| limit.write_all(tasks_max.to_string().as_bytes()).is_ok()) {
        return Some(cgroup);
    }
    let _ = std::fs::remove_dir(&cgroup);
    None
}

/// Where our own cgroup lies: that of the controller `pids` (version 1), or the one of all
/// controllers (version 2) and the one above it, since a cgroup that has processes can have no
/// counted ones below it.
fn bases() -> Vec<PathBuf> {
    let text = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut bases = Vec::new();
    for (controllers, path) in
        text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'))
    {
        let path = path.trim_start_matches('/');
        if controllers.split(',').any(|controller| controller == "pids") {
            bases.push(Path::new("/sys/fs/cgroup").join(controllers).join(path));
        }
        if controllers.is_empty() {
            let own = Path::new("/sys/fs/cgroup").join(path);
            let above = own
                .parent()
                .filter(|above| above.starts_with("/sys/fs/cgroup"))
                .map(Path::to_path_buf);
            bases.extend([Some(own), above].into_iter().flatten());
        }
    }
    bases
}

/// Kills what runs in a cgroup and below it, and removes it. A process that forks meanwhile is
/// found by the next look.
pub(super) fn remove_cgroup(cgroup: &Path) {
    let below = std::fs::read_dir(cgroup).into_iter().flatten().flatten();
    for entry in below.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        remove_cgroup(&entry.path());
    }
    for _ in 0..LOOKS_MAX {
        let text = std::fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
        let processes = text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?));
        let mut killed = 0;
        for process in processes {
            let _ = kill_process(process, Signal::KILL);
            killed += 1;
        }
        // One that is busy has processes still; any other that stays is no cgroup, and time changes
        // nothing.
        if killed == 0
            && !std::fs::remove_dir(cgroup)
                .is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
        {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Removes what servers of ours left behind that were killed.
fn sweep() {
    let places = bases().into_iter().chain(memory_cgroup::base()).chain([temporary::folder()]);
    let entries = places.flat_map(std::fs::read_dir).flatten().flatten();
    let own = rustix::process::geteuid();
    // Those of a server that was root may be other users'.
    let is_ours =
        |data: std::fs::Metadata| data.is_dir() && (own.is_root() || data.uid() == own.as_raw());
    for entry in entries.filter(|entry| entry.metadata().is_ok_and(is_ours)) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let server =
            name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')?.0.parse().ok());
        if server.and_then(Pid::from_raw).is_none_or(|server| test_kill_process(server).is_ok()) {
            continue;
        }
        if entry.path().starts_with("/sys") {
            remove_cgroup(&entry.path());
        } else if std::fs::File::open(entry.path())
            .is_ok_and(|folder| flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok())
        {
            temporary::remove(&entry.path());
        }
    }
}

/// Processes and threads of a user.
fn tasks_of(user: u32) -> u64 {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = processes.filter(|entry| entry.metadata().is_ok_and(|data| data.uid() == user));
    let threads = own.filter_map(|entry| std::fs::read_dir(entry.path().join("task")).ok());
    threads.map(|tasks| tasks.count() as u64).sum()
}

pub(super) fn passwd() -> String {
    std::fs::read_to_string("/etc/passwd").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn whoever_asks_how_processes_are_counted_is_in_the_way_of_no_module() {
        let Some(cgroup) = make_cgroup(&new_name(), 10) else { return };
        assert_eq!(counted_by(), Some("cgroup"));
        assert!(cgroup.exists());
        remove_cgroup(&cgroup);
    }

    #[test]
    fn a_folder_that_is_no_cgroup_counts_nobody_and_is_given_up_at_once() {
        let base =
            std::env::temp_dir().join(format!("farcall-no-cgroup-{}", getpid().as_raw_nonzero()));
        std::fs::create_dir(&base).unwrap();
        assert_eq!(make_cgroup_in(&base, "module", 10), None);
        assert_eq!(std::fs::read_dir(&base).unwrap().count(), 0);
        let stuck = base.join("stuck");
        std::fs::create_dir(&stuck).unwrap();
        std::fs::write(stuck.join("cgroup.procs"), "0").unwrap();
        let begin = std::time::Instant::now();
        remove_cgroup(&stuck);
        assert!(begin.elapsed() < std::time::Duration::from_millis(100), "{:?}", begin.elapsed());
        std::fs::remove_dir_all(&base).unwrap();
    }
}
