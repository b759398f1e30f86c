//! A server whose routines run in jobs of a Slurm that several such servers share.

use std::path::Path;
use std::time::Duration;

use farcall_client::{CallOptions, Client, Error, ErrorKind, JobStatus, PendingCall, Stage};
use farcall_tests::{Directory, Server, Slurm, manifest, program};
use rustix::process::{Pid, Signal, kill_process};

/// For any one thing; Slurm's own clock ticks slowly.
pub const PATIENCE: Duration = Duration::from_secs(180);

pub struct Site<'a> {
    // Its jobs end before its folder goes.
    server: Option<Server>,
    pub client: Client,
    pub slurm: &'a Slurm,
    folder: Directory,
}

impl<'a> Site<'a> {
    /// With more settings of its launcher.
    pub fn new(slurm: &'a Slurm, settings: &str) -> Site<'a> {
        let folder = Directory::new();
        let launch = [
            &*program().display().to_string(),
            "launch",
            "slurm",
            "--interval-min",
            "0.2",
            "--interval-max",
            "0.5",
        ]
        .map(|word| format!("{word:?}"))
        .join(", ");
        let jobs = format!(
            "[[plugin]]\nname = \"spawner-jobs\"\nslot = \"jobs\"\n[plugin.options]\nfolder = \
             {:?}\ndefault = \"slurm\"\ngather_ms = 300\nlaunchers.slurm = {{ command = \
             [{launch}], idle_seconds = 1, reached_at = [\"localhost\"], {settings} }}\n",
            folder.0.join("jobs")
        );
        let file = folder.write("farcall.toml", &(manifest("launched_idle_ms = 500") + &jobs));
        let mut command = Server::command();
        command.env("PATH", slurm.path()).args(["--manifest", file.to_str().unwrap()]);
        let routines = ["far.idl", "late.idl"]
            .map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join("routines").join(name));
        let server = Server::start_as(command, &routines);
        Site { client: server.client(), server: Some(server), slurm, folder }
    }

    pub fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    pub fn call(&self, routine: &str, milliseconds: i32) -> PendingCall {
        let options = CallOptions { timeout: Some(PATIENCE), ..CallOptions::default() };
        self.client
            .routine(routine)
            .unwrap()
            .start([("milliseconds", milliseconds.into())], &options)
            .unwrap()
    }

    /// A call that an executable works on.
    pub fn running_call(&self, routine: &str, milliseconds: i32) -> PendingCall {
        let call = self.call(routine, milliseconds);
        self.wait_for("it runs", || self.running() == 1);
        call
    }

    /// One that may run again and one that may not, which run in one job: both, and that job's id.
    pub fn pair(&self, again: i32, once: i32) -> (PendingCall, PendingCall, String) {
        let calls = (self.call("rest", again), self.call("rest_once", once));
        self.wait_for("two calls run", || self.running() == 2);
        let jobs = self.jobs();
        assert_eq!(jobs.len(), 1, "{jobs:?}");
        (calls.0, calls.1, jobs[0].id.clone())
    }

    pub fn running(&self) -> usize {
        let calls = self.client.status(PATIENCE).unwrap().calls;
        calls.iter().filter(|call| call.stage == Stage::Running).count()
    }

    pub fn jobs(&self) -> Vec<JobStatus> {
        self.client.status(PATIENCE).unwrap().jobs.unwrap()
    }

    /// What `farcall jobs` shows.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.server().run(&["jobs"]).stdout).into_owned()
    }

    pub fn wait_for(&self, what: &str, done: impl FnMut() -> bool) {
        assert!(
            self.slurm.brings(done),
            "{what}: {}",
            self.server.as_ref().map_or(String::new(), Server::log)
        );
    }

    /// The process of its launcher, and that which looks after it.
    pub fn launcher(&self) -> (u32, u32) {
        let all = self.server.as_ref().map(Server::processes).unwrap_or_default();
        let with = |is_one: fn(&str) -> bool| {
            let found = all.iter().copied().filter(|pid| is_one(&words(*pid))).collect::<Vec<_>>();
            assert_eq!(
                found.len(),
                1,
                "{:?}",
                all.iter().map(|pid| words(*pid)).collect::<Vec<_>>()
            );
            found[0]
        };
        let launcher =
            with(|words| words.contains("\0launch\0slurm") && !words.contains("\0--guard\0"));
        (launcher, with(|words| words.contains("\0--guard\0")))
    }

    /// The name of its launcher's jobs.
    pub fn name(&self) -> String {
        words(self.launcher().1).split('\0').nth(4).unwrap().to_owned()
    }

    pub fn kill_server(&mut self) {
        self.server.take().unwrap().kill();
    }

    /// Jobs of this name that Slurm has not ended.
    pub fn queue(&self, name: &str) -> Vec<String> {
        self.slurm.ask(&["squeue", "--noheader", "--all", "--format=%i", &format!("--name={name}")])
    }

    /// No job, no program of one, and no file.
    pub fn leaves_nothing(&self) {
        self.wait_for("no job is left", || self.jobs().is_empty());
        self.wait_for("no file is left", || !self.folder.0.join("jobs").exists());
        let name = self.name();
        self.wait_for("Slurm has no job", || self.queue(&name).is_empty());
        self.wait_for("no program is left", || self.pilots().is_empty());
    }

    pub fn pilots(&self) -> Vec<u32> {
        let folder = self.folder.0.display().to_string();
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        all.filter(|pid| words(*pid).contains("\0pilot\0") && words(*pid).contains(&folder))
            .collect()
    }
}

/// A command line, with NUL between its words.
fn words(pid: u32) -> String {
    String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default())
        .into_owned()
}

/// What the caller of a lost call reads.
pub fn says(call: PendingCall, what: &str) {
    says_so(&call.wait().err().expect("it is lost"), what);
}

pub fn says_so(error: &Error, what: &str) {
    assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    assert!(error.to_string().contains(what), "{what}: {error}");
    println!("    {error}");
}

pub fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
}
