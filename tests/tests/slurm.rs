//! Routines in jobs of a real Slurm that cancels and preempts them, does not answer, and whose launcher is killed.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::Duration;

use farcall_client::{CallOptions, Client, ErrorKind, HoldOptions, PendingCall, Stage};
use farcall_tests::{Directory, Server, Slurm, eventually, manifest};
use rustix::process::{Pid, Signal, kill_process};

const PATIENCE: Duration = Duration::from_secs(120);
/// Jobs of `low` make room for those of `high`.
const PARTITIONS: &str = "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n\
    PartitionName=low Nodes=n[1-2] PriorityTier=1 State=UP\n\
    PartitionName=high Nodes=n[1-2] PriorityTier=9 State=UP";

struct Site {
    // Its jobs end before Slurm does.
    server: Server,
    client: Client,
    slurm: Slurm,
    _folder: Directory,
}

impl Site {
    fn new() -> Option<Site> {
        let slurm = Slurm::start(2, 4, PARTITIONS)?;
        let folder = Directory::new();
        let jobs = format!(
            "[[plugin]]\nname = \"spawner-jobs\"\nslot = \"jobs\"\n[plugin.options]\nfolder = {:?}\ndefault = \"slurm\"\n\
             launchers.slurm = {{ idle_seconds = 2, queue = \"low\", reached_at = [\"localhost\"] }}\n",
            folder.0.join("jobs")
        );
        let file = folder.write("farcall.toml", &(manifest("launched_idle_ms = 1500") + &jobs));
        let mut command = Server::command();
        command.env("PATH", slurm.path()).args(["--manifest", file.to_str().unwrap()]);
        let server = Server::start_as(command, &[Path::new(env!("CARGO_MANIFEST_DIR")).join("routines/far.idl")]);
        Some(Site { client: server.client(), server, slurm, _folder: folder })
    }

    fn call(&self, routine: &str, milliseconds: i32) -> PendingCall {
        let options = CallOptions { timeout: Some(PATIENCE), ..CallOptions::default() };
        self.client.routine(routine).unwrap().start([("milliseconds", milliseconds.into())], &options).unwrap()
    }

    /// A call that runs, for long enough to be seen.
    fn start(&self, routine: &str, milliseconds: i32) -> PendingCall {
        let before = self.running();
        let call = self.call(routine, milliseconds);
        assert!(self.slurm.brings(|| self.running() > before), "{}", self.server.log());
        call
    }

    fn running(&self) -> usize {
        let calls = self.client.status(PATIENCE).unwrap().calls;
        calls.iter().filter(|call| call.stage == Stage::Running).count()
    }

    fn launchers(&self) -> Vec<u32> {
        let is_launcher = |pid: &u32| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains("launch\0slurm")
        };
        self.server.processes().into_iter().filter(is_launcher).collect()
    }
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
}

/// The caller reads what became of the job, and what may run again does.
#[test]
fn a_job_that_slurm_ends_says_why() {
    let Some(site) = Site::new() else { return };
    let (again, once) = (site.start("rest", 1500), site.start("rest_once", 60_000));
    let jobs = site.slurm.ask(&["squeue", "--noheader", "--format=%i"]);
    site.slurm.ask(&[&["scancel"], &*jobs.iter().map(String::as_str).collect::<Vec<_>>()].concat());
    let error = once.wait().err().unwrap();
    assert!(error.kind() == ErrorKind::RoutineCrashed && error.to_string().contains("is over: cancelled"), "{error}");
    assert_eq!(again.wait().unwrap().scalar::<i32>("rested").unwrap(), 1500);
    let once = site.start("rest_once", 60_000);
    site.slurm.ask(&[
        "sbatch",
        "--partition=high",
        "--nodes=2",
        "--exclusive",
        "--output=/dev/null",
        "--wrap",
        "sleep 1",
    ]);
    let error = once.wait().err().unwrap();
    assert!(error.kind() == ErrorKind::RoutineCrashed && error.to_string().contains("is over: preempted"), "{error}");
    // Its nodes come back, and with them calls.
    site.call("rest", 10).wait().unwrap();
    assert!(site.slurm.brings(|| site.slurm.ask(&["squeue", "-h"]).is_empty()));
}

#[test]
fn calls_go_on_without_controller_and_launcher() {
    let Some(site) = Site::new() else { return };
    let call = site.start("rest_once", 3000);
    let controller = std::fs::read_to_string(site.slurm.folder().join("slurmctld.pid")).unwrap();
    let controller = controller.trim().parse().unwrap();
    signal(controller, Signal::STOP);
    let outcome = call.wait();
    site.client.routine("place").unwrap().call([]).unwrap();
    signal(controller, Signal::CONT);
    outcome.unwrap();
    // A launcher that is killed is begun anew when it is needed: what runs needs none.
    let call = site.start("rest_once", 3000);
    let launchers = site.launchers();
    launchers.iter().for_each(|pid| signal(*pid, Signal::KILL));
    let hold = site.client.hold("place", 3, &HoldOptions::default()).unwrap();
    assert!(hold.ready(Some(PATIENCE)).unwrap());
    call.wait().unwrap();
    assert!(launchers.len() == 1 && eventually(|| site.launchers().iter().all(|pid| !launchers.contains(pid))));
    hold.release(Some(PATIENCE)).unwrap();
    assert!(site.slurm.brings(|| site.slurm.ask(&["squeue", "-h"]).is_empty()));
}
