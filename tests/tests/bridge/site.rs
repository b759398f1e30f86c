//! A server whose routines all run in jobs.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use farcall_client::{Array, CallOptions, Client, JobStatus, ObjectId, PendingCall, Stage};
use farcall_tests::{Directory, Server, Transport, eventually, manifest};
use rustix::process::Signal;

pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Site {
    server: Option<Server>,
    pub client: Client,
    folder: Directory,
}

/// The process that runs a routine, and the pilot that started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub pid: u32,
    pub pilot: u32,
}

impl Site {
    /// With these options of spawner-jobs.
    pub fn new(options: &str) -> Site {
        let folder = Directory::new();
        let jobs = folder.0.join("jobs");
        let own = format!("folder = {jobs:?}\ndefault = \"local\"\n{options}\n");
        let jobs = format!(
            "[[plugin]]\nname = \"spawner-jobs\"\nslot = \"jobs\"\n[plugin.options]\n{own}"
        );
        let file = folder.write("farcall.toml", &(manifest("launched_idle_ms = 1500") + &jobs));
        let idl = Path::new(env!("CARGO_MANIFEST_DIR")).join("routines/far.idl");
        let server =
            Server::start(Transport::Unix, &[idl], &["--manifest", file.to_str().unwrap()]);
        Site { client: server.client(), server: Some(server), folder }
    }

    pub fn jobs(&self) -> Vec<JobStatus> {
        self.client.status(PATIENCE).unwrap().jobs.unwrap()
    }

    /// Calls that executables work on.
    pub fn running(&self) -> usize {
        let calls = self.client.status(PATIENCE).unwrap().calls;
        calls.iter().filter(|call| call.stage == Stage::Running).count()
    }

    pub fn place(&self, on: Option<ObjectId>) -> Place {
        let options = CallOptions { on, timeout: Some(PATIENCE), ..CallOptions::default() };
        let outputs = self.client.routine("place").unwrap().call_with([], &options).unwrap();
        let number = |name: &str| u32::try_from(outputs.scalar::<i32>(name).unwrap()).unwrap();
        Place { pid: number("pid"), pilot: number("parent") }
    }

    /// Sends that many numbers there, and looks at what comes back.
    pub fn flip(&self, count: u32) {
        let x: Vec<f64> = (0..count).map(f64::from).collect();
        let options = CallOptions { timeout: Some(PATIENCE), ..CallOptions::default() };
        let flip = self.client.routine("flip").unwrap();
        let flipped = flip.call_with([("x", Array::vector(&x).into())], &options).unwrap();
        assert!(
            flipped.array::<f64>("x").unwrap().iter().zip(&x).all(|(flipped, x)| *flipped == -x)
        );
    }

    pub fn start(&self, routine: &str, milliseconds: i32) -> PendingCall {
        let options = CallOptions { timeout: Some(PATIENCE), ..CallOptions::default() };
        self.client
            .routine(routine)
            .unwrap()
            .start([("milliseconds", milliseconds.into())], &options)
            .unwrap()
    }

    /// Pilots of this server, on this host.
    pub fn pilots(&self) -> Vec<u32> {
        let folder = self.jobs_folder();
        processes(|words| {
            words.contains("\0pilot\0--ticket") && words.contains(folder.to_str().unwrap())
        })
    }

    /// What leads pilots to this server: in the process group of a launcher's job, so that its own
    /// words name no folder.
    pub fn bridges(&self) -> Vec<u32> {
        let port = |pid: u32| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words)
                .trim_end_matches('\0')
                .rsplit_once(':')
                .map(|(_, port)| port.to_owned())
        };
        let own = self.server.as_ref().map(Server::pid).unwrap_or_default();
        let ours = |pid: &u32| port(*pid).is_some_and(|port| listens(own, &port));
        processes(|words| words.contains("\0bridge\x00127.0.0.1:"))
            .into_iter()
            .filter(ours)
            .collect()
    }

    pub fn jobs_folder(&self) -> PathBuf {
        self.folder.0.join("jobs")
    }

    pub fn server(&self) -> &Server {
        self.server.as_ref().expect("it is there until it is killed")
    }

    pub fn kill_server(&mut self) {
        self.server.take().unwrap().kill();
    }

    /// No program of a job, nothing between, and no file.
    pub fn leaves_nothing(&self) {
        let is_clean = || {
            self.pilots().is_empty() && self.bridges().is_empty() && !self.jobs_folder().exists()
        };
        assert!(
            eventually(is_clean),
            "{:?} {:?} {:?}",
            self.pilots(),
            self.bridges(),
            self.jobs_folder()
        );
    }
}

/// Processes whose command line, with NUL between its words, is such.
pub fn processes(is_one: impl Fn(&str) -> bool) -> Vec<u32> {
    let has = |pid: &u32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        is_one(&String::from_utf8_lossy(&words))
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(has).collect()
}

/// Whether a process listens at a port of the loopback.
fn listens(pid: u32, port: &str) -> bool {
    let Ok(port) = port.parse::<u16>() else { return false };
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let address = format!("0100007F:{port:04X}");
    let inodes: Vec<String> = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words.get(1) == Some(&&*address) && words.get(3) == Some(&"0A"))
        .filter_map(|words| words.get(9).map(|inode| format!("socket:[{inode}]")))
        .collect();
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut links = descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.any(|link| inodes.iter().any(|inode| link == Path::new(inode)))
}

pub fn kill(pid: u32) {
    signal(pid, Signal::KILL);
}

pub fn signal(pid: u32, signal: Signal) {
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    // One that has ended meanwhile is as dead.
    let _ = rustix::process::kill_process(pid, signal);
}

/// A program of a few lines.
pub fn script(folder: &Directory, name: &str, text: &str) -> PathBuf {
    let path = folder.write(name, text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}
