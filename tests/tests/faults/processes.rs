//! Processes of a test's servers, and what those that have ended left behind.

use std::path::{Path, PathBuf};

/// A process of a world.
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    name: String,
    pub words: String,
}

impl Process {
    pub fn shown(&self) -> String {
        format!("process {} {} {}", self.pid, self.name, self.words.replace('\0', " "))
    }

    pub fn is_zygote(&self) -> bool {
        self.name == "farcall-zygote"
    }
}

/// All processes whose words or variables name a world's folder, but for callers.
pub fn of(folder: &Path) -> Vec<Process> {
    let folder = folder.to_str().unwrap();
    let ours = |pid: u32| {
        let read = |name: &str| {
            String::from_utf8_lossy(
                &std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default(),
            )
            .into_owned()
        };
        let environment = read("environ");
        let words = read("cmdline");
        let is_named = |text: &str| {
            text.match_indices(folder)
                .any(|(at, _)| !text[at + folder.len()..].starts_with(|c: char| c.is_ascii_digit()))
        };
        if !(is_named(&environment) || is_named(&words)) || words.contains("as_a_caller") {
            return None;
        }
        let status = read("stat");
        let (name, rest) = status.split_once('(')?.1.rsplit_once(')')?;
        let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
        Some(Process { pid, parent, name: name.to_owned(), words })
    };
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(ours).collect()
}

/// Files and sockets of servers that have ended. The folder of sockets itself stays, and so do locks,
/// which are as many as there are addresses.
pub fn files_in(folders: &[PathBuf]) -> Vec<String> {
    let entries = folders.iter().flat_map(std::fs::read_dir).flatten().flatten();
    let stays = |entry: &std::fs::DirEntry| entry.file_name() == "farcall";
    let left = entries.filter(|entry| !stays(entry));
    left.map(|entry| entry.path().display().to_string()).collect()
}

/// Cgroups and shared memory of servers that have ended.
pub fn shared_by(servers: &[u32]) -> Vec<String> {
    let cgroups = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"];
    let cgroups = cgroups.into_iter().flat_map(std::fs::read_dir).flatten().flatten();
    let names = cgroups.chain(std::fs::read_dir("/dev/shm").into_iter().flatten().flatten());
    let is_left = |path: &String| {
        servers.iter().any(|pid| {
            path.contains(&format!("farcall-module-{pid}-"))
                || path.contains(&format!("farcall-{pid}-"))
        })
    };
    names.map(|entry| entry.path().display().to_string()).filter(is_left).collect()
}
