//! What is made small for a server: its disk, and the memory of its cgroup.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use farcall_tests::eventually;

/// The disk: more than all outcomes at a time take.
const DISK: &str = "size=8m,nr_inodes=4096";
/// Memory of the cgroup: much more than a server and its executables need.
pub const MEMORY_BYTES: u64 = 400 << 20;

/// A disk that only servers see which enter the namespaces of its keeper.
pub struct Disk {
    keeper: Child,
    /// Where it lies for them.
    place: PathBuf,
}

impl Disk {
    /// `None` where this user can make none.
    pub fn new(place: &Path) -> Option<Disk> {
        std::fs::create_dir(place).unwrap();
        let script = format!("mount -t tmpfs -o {DISK} tmpfs \"$0\" && echo mounted && exec cat");
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", &script]).arg(place);
        let mut keeper = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let mut line = String::new();
        let _ = BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut line);
        // It ends with its standard input.
        let disk = Disk { keeper, place: place.into() };
        if line.is_empty() {
            eprintln!("skipped: no disk can be made here");
            return None;
        }
        std::fs::create_dir(disk.inside().join("tmp")).unwrap();
        Some(disk)
    }

    /// The disk as who is outside sees it.
    pub fn inside(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{}", self.keeper.id(), self.place.display()))
    }

    pub fn keeper(&self) -> u32 {
        self.keeper.id()
    }

    /// What a program is started by that is to have it.
    pub fn entered_by(&self) -> Vec<String> {
        let words = ["nsenter", "--preserve-credentials", "--user", "--mount", "--target"];
        words
            .iter()
            .map(ToString::to_string)
            .chain([self.keeper.id().to_string(), "--".into()])
            .collect()
    }

    /// Takes all the room that is left; whether there was any.
    pub fn fill(&self) -> bool {
        let Ok(mut file) = File::create(self.filler()) else { return true };
        let mut written = 0;
        for size in [1 << 16, 1 << 12, 1] {
            let piece = vec![7; size];
            while file.write(&piece).is_ok_and(|count| count > 0) {
                written += 1;
            }
        }
        written > 0
    }

    pub fn make_room(&self) {
        let _ = std::fs::remove_file(self.filler());
    }

    fn filler(&self) -> PathBuf {
        self.inside().join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// A cgroup with little memory.
pub struct Cgroup(PathBuf);

impl Cgroup {
    /// `None` where none can be made.
    pub fn new(name: &str) -> Option<Cgroup> {
        let limits = [("memory", "memory.limit_in_bytes"), (".", "memory.max")];
        let made = limits.iter().find_map(|(base, file)| {
            let folder = Path::new("/sys/fs/cgroup").join(base).join(name);
            std::fs::create_dir(&folder).ok()?;
            // The kernel makes the file where memory is counted.
            let limit = File::options().write(true).open(folder.join(file));
            let is_limited = limit.is_ok_and(|mut limit| {
                limit.write_all(MEMORY_BYTES.to_string().as_bytes()).is_ok()
            });
            let cgroup = Cgroup(folder);
            is_limited.then_some(cgroup)
        });
        if made.is_none() {
            eprintln!("skipped: no cgroup that limits memory can be made here");
        }
        made
    }

    /// What a program is started by that is to be in it.
    pub fn entered_by(&self) -> Vec<String> {
        let script = "echo $$ >\"$0/cgroup.procs\" && exec \"$@\"";
        vec!["sh".into(), "-c".into(), script.into(), self.0.display().to_string()]
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        eventually(|| std::fs::remove_dir(&self.0).is_ok() || !self.0.exists());
    }
}
