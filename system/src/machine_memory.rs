//! How much memory this process may count on: the machine's, or that of the memory cgroup that it
//! runs in, where that is less. Limits that the manifest leaves open are fractions of it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use farcall_base::Bytes;

/// Where cgroups are mounted (cgroups(7)).
const CGROUPS: &str = "/sys/fs/cgroup";

/// What is assumed where the system does not say.
const UNKNOWN: u64 = 1 << 40;

/// Memory in all, and whose that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineMemory {
    /// Bytes.
    pub bytes: u64,
    /// Whether a cgroup lets this process have less than the machine has.
    pub is_of_cgroup: bool,
}

impl MachineMemory {
    /// A share of it, in eighths.
    pub fn eighths(self, count: u64) -> u64 {
        self.bytes / 8 * count
    }
}

impl std::fmt::Display for MachineMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let whose = if self.is_of_cgroup { "the memory cgroup's" } else { "the machine's" };
        write!(f, "{}, {whose}", Bytes(self.bytes))
    }
}

/// What this process has; looked up once, when it first asks.
pub fn machine_memory() -> MachineMemory {
    static MEMORY: OnceLock<MachineMemory> = OnceLock::new();
    *MEMORY.get_or_init(|| look(&|path| std::fs::read_to_string(path).ok()))
}

/// The same by what files hold.
fn look(read: &dyn Fn(&Path) -> Option<String>) -> MachineMemory {
    let physical =
        read(Path::new("/proc/meminfo")).and_then(|text| total(&text)).unwrap_or(UNKNOWN);
    let own = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let limits =
        limit_files(&own).into_iter().filter_map(|file| read(&file)?.trim().parse::<u64>().ok());
    // No limit is a word (version 2), or a number that no machine has (version 1).
    match limits.min().filter(|limit| *limit < physical) {
        Some(bytes) => MachineMemory { bytes, is_of_cgroup: true },
        None => MachineMemory { bytes: physical, is_of_cgroup: false },
    }
}

/// The line `MemTotal:   12345 kB` of /proc/meminfo.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Files that may hold a limit: of the process's own cgroup and of all above it. A container may
/// have only the last one, under the name of the first.
fn limit_files(own: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for (controllers, path) in
        own.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'))
    {
        let (root, name) = match controllers {
            "" => (PathBuf::from(CGROUPS), "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => {
                (Path::new(CGROUPS).join(controllers), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let path = Path::new(path.trim_start_matches('/'));
        files.extend(path.ancestors().map(|folder| root.join(folder).join(name)));
    }
    files
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MACHINE: (&str, &str) = ("/proc/meminfo", "MemTotal:        8000000 kB\nMemFree: 1 kB\n");

    fn looked(files: &[(&str, &str)]) -> MachineMemory {
        let all: Vec<_> = files.iter().chain([&MACHINE]).collect();
        look(&|path| {
            all.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| (*text).to_owned())
        })
    }

    #[test]
    fn the_least_limit_above_counts() {
        let machine = MachineMemory { bytes: 8_192_000_000, is_of_cgroup: false };
        assert_eq!(looked(&[]), machine);
        let of_cgroup = |bytes| MachineMemory { bytes, is_of_cgroup: true };
        // Version 1: no limit is a large number.
        let one = ("/proc/self/cgroup", "4:memory:/a/b\n3:cpu:/x\n");
        let b = "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes";
        assert_eq!(looked(&[one, (b, "9223372036854771712\n")]), machine);
        assert_eq!(looked(&[one, (b, "209715200\n")]), of_cgroup(200 << 20));
        let a = "/sys/fs/cgroup/memory/a/memory.limit_in_bytes";
        assert_eq!(looked(&[one, (b, "209715200\n"), (a, "104857600\n")]), of_cgroup(100 << 20));
        // In a container the cgroup of the process may be mounted as the root.
        assert_eq!(
            looked(&[one, ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n")]),
            of_cgroup(1 << 20)
        );
        // Version 2: no limit is a word.
        let two = ("/proc/self/cgroup", "0::/user.slice/run-1.scope\n");
        let scope = "/sys/fs/cgroup/user.slice/run-1.scope/memory.max";
        assert_eq!(looked(&[two, (scope, "max\n")]), machine);
        assert_eq!(
            looked(&[two, (scope, "max\n"), ("/sys/fs/cgroup/user.slice/memory.max", "4096\n")]),
            of_cgroup(4096)
        );
    }

    #[test]
    fn shares_are_of_what_there_is() {
        let memory = MachineMemory { bytes: 800, is_of_cgroup: true };
        assert_eq!((memory.eighths(4), memory.eighths(8)), (400, 800));
        assert!(machine_memory().bytes >= 1 << 20, "{}", machine_memory());
    }
}
