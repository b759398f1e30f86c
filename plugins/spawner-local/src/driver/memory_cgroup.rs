//! The cgroup that holds one process of a module, and what it starts, to its memory.
//!
//! RLIMIT_DATA counts private memory alone. What a process shares with itself (`MAP_SHARED`, memfd,
//! files in a tmpfs) only a memory cgroup counts. Each executable has one, and each zygote: a limit
//! is for one process, and a cgroup of all of them would let one take what is meant for the others.
//! It lets a process have a little more than RLIMIT_DATA does, so that `malloc` answers NULL before
//! the system ends the process.

use std::io::Write;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use super::rooms::{new_name, remove_cgroup};

/// What a process has on top of its limit: stacks, page tables, what the kernel keeps for it.
const EXTRA_BYTES: u64 = 8 << 20;
/// The same as a part of the limit.
const EXTRA_PART: u64 = 16;

/// Where cgroups are mounted (cgroups(7)).
const CGROUPS: &str = "/sys/fs/cgroup";

/// Removed with its process, which is killed if it still runs.
pub(super) struct MemoryCgroup(PathBuf);

impl MemoryCgroup {
    /// One for a process that may have so many bytes; below its module's cgroup `above`, if all
    /// controllers are there (version 2). `None` where that cannot be had.
    pub(super) fn new(above: Option<&Path>, bytes_max: u64) -> Option<MemoryCgroup> {
        let limit = bytes_max.saturating_add(bytes_max / EXTRA_PART).saturating_add(EXTRA_BYTES);
        let one = base()
            .map(|base| (base, "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", limit));
        let two = above.filter(|above| gives_memory(above));
        let two = two.map(|above| (above.to_path_buf(), "memory.max", "memory.swap.max", 0));
        one.into_iter().chain(two).find_map(|(base, file, swap, swap_limit)| {
            let cgroup = MemoryCgroup::make(&base, file, limit)?;
            // There may be no swap, or nobody who counts it.
            let _ = put(&cgroup.0.join(swap), swap_limit);
            Some(cgroup)
        })
    }

    fn make(base: &Path, file: &str, limit: u64) -> Option<MemoryCgroup> {
        let cgroup = base.join(new_name());
        std::fs::create_dir(&cgroup).ok()?;
        if put(&cgroup.join(file), limit).is_ok() {
            return Some(MemoryCgroup(cgroup));
        }
        // No cgroup that counts: the kernel would have made the file.
        let _ = std::fs::remove_dir(&cgroup);
        None
    }

    /// The file that a process writes to, to be held.
    pub(super) fn door(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }

    /// Holds a process that another one has forked; it has done nothing yet.
    pub(super) fn hold(&self, process: Pid) -> std::io::Result<()> {
        put(&self.door(), process.as_raw_nonzero().get().unsigned_abs().into())
    }
}

impl Drop for MemoryCgroup {
    fn drop(&mut self) {
        remove_cgroup(&self.0);
    }
}

/// Writes to a file that the kernel made, and makes none.
fn put(file: &Path, number: u64) -> std::io::Result<()> {
    std::fs::OpenOptions::new().write(true).open(file)?.write_all(number.to_string().as_bytes())
}

/// Where the own cgroup of the controller `memory` lies (version 1).
pub(super) fn base() -> Option<PathBuf> {
    let text = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let (controllers, path) = lines.find(|(all, _)| all.split(',').any(|one| one == "memory"))?;
    Some(Path::new(CGROUPS).join(controllers).join(path.trim_start_matches('/')))
}

/// Whether cgroups below this one (of version 2, and without processes of its own) can be held to
/// memory.
fn gives_memory(above: &Path) -> bool {
    let control =
        std::fs::OpenOptions::new().write(true).open(above.join("cgroup.subtree_control"));
    control.is_ok_and(|mut control| control.write_all(b"+memory").is_ok())
}

/// Whether this host can hold a process to memory that it shares; for people.
pub(crate) fn is_counted() -> bool {
    MemoryCgroup::new(None, EXTRA_BYTES).is_some() || super::rooms::counts_below(gives_memory)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_process_is_held_with_a_little_more_than_its_limit_and_nothing_stays() {
        let Some(cgroup) = MemoryCgroup::new(None, 64 << 20) else {
            eprintln!("skipped: no memory cgroup of version 1 can be made here");
            return;
        };
        let limit = std::fs::read_to_string(cgroup.0.join("memory.limit_in_bytes")).unwrap();
        assert_eq!(limit.trim(), ((64_u64 << 20) + (4 << 20) + (8 << 20)).to_string());
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        cgroup.hold(Pid::from_child(&child)).unwrap();
        let place = cgroup.0.clone();
        // What still runs there ends with it.
        drop(cgroup);
        child.wait().unwrap();
        let begin = std::time::Instant::now();
        while place.exists() && begin.elapsed() < std::time::Duration::from_secs(10) {
            remove_cgroup(&place);
        }
        assert!(!place.exists());
    }

    #[test]
    fn a_folder_that_is_no_cgroup_holds_nobody() {
        let base =
            std::env::temp_dir().join(format!("farcall-no-memory-cgroup-{}", std::process::id()));
        std::fs::create_dir(&base).unwrap();
        assert!(MemoryCgroup::make(&base, "memory.max", 1).is_none() && !gives_memory(&base));
        assert_eq!(std::fs::read_dir(&base).unwrap().count(), 0);
        std::fs::remove_dir(&base).unwrap();
    }
}
