//! What becomes of calls when a real Slurm ends, requeues, preempts and forgets their jobs, and
//! when its nodes, its controller, the launcher and the server are killed.

#![allow(clippy::unwrap_used)]

#[path = "slurm/site.rs"]
mod site;

use std::os::unix::fs::PermissionsExt;

use farcall_client::{CallOptions, ErrorKind, HoldOptions, News, Order, PendingCall};
use farcall_tests::{Directory, Slurm, alive};
use rustix::process::Signal;
use site::{PATIENCE, Site, says, signal};

/// Jobs of the others make room for those of `high`.
const PARTITIONS: &str = "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n\
    PartitionName=low Nodes=n[1-3] PriorityTier=1 State=UP\n\
    PartitionName=high Nodes=n[1-3] PriorityTier=9 State=UP";
const NODES: &str = "NodeName=n[1-3]";

/// What happens, and what becomes of calls then.
type Scene = (&'static str, fn(&Slurm));

/// One Slurm for all: to start it takes longer than most of these. Some wait beside the others.
#[test]
fn what_becomes_of_jobs() {
    let Some(slurm) = Slurm::start(3, 128, PARTITIONS) else { return };
    let limited = Limited::begin(&slurm);
    let absent = Absent::begin(&slurm);
    let beside: [Scene; 5] = [
        ("an administrator cancels a job", cancelled),
        ("Slurm has a job wait again", requeued),
        ("nodes are drained and come back", drained),
        ("the launcher is killed", launcher_killed),
        ("the server is killed", server_killed),
    ];
    play(&slurm, &beside);
    println!("a job's program does not come");
    absent.end();
    println!("a job reaches its time limit");
    limited.end();
    let alone: [Scene; 4] = [
        ("a job is preempted", preempted),
        ("the controller stands still", without_controller),
        ("a node dies under 200 handles", node_dies_under_handles),
        ("a node dies while an executable starts", node_dies_at_start),
    ];
    play(&slurm, &alone);
    assert!(slurm.brings(|| slurm.ask(&["squeue", "-h"]).is_empty()));
}

fn play(slurm: &Slurm, scenes: &[Scene]) {
    for (what, scene) in scenes {
        let begun = std::time::Instant::now();
        println!("{what}");
        scene(slurm);
        println!("    {:.1} s", begun.elapsed().as_secs_f64());
    }
}

fn rested(call: PendingCall, milliseconds: i32) {
    assert_eq!(call.wait().unwrap().scalar::<i32>("rested").unwrap(), milliseconds);
}

/// A job with a minute. Slurm looks at clocks every half minute: meanwhile, others go on.
struct Limited<'a> {
    site: Site<'a>,
    again: PendingCall,
    once: PendingCall,
}

impl<'a> Limited<'a> {
    fn begin(slurm: &'a Slurm) -> Limited<'a> {
        let site = Site::new(slurm, "minutes = 1");
        let (again, once, job) = site.pair(36_000, 170_000);
        assert_eq!(slurm.ask(&["squeue", "-h", "-o", "%l", "-j", &job]), ["1:00"]);
        // Most of the minute is over.
        slurm.ask(&["scontrol", "update", &format!("JobId={job}"), "EndTime=now+1"]);
        Limited { site, again, once }
    }

    fn end(self) {
        says(self.once, "has ended: timed out: it reached its time limit of 1 min");
        rested(self.again, 36_000);
        self.site.leaves_nothing();
    }
}

/// A job whose program is there, and does not dial back.
struct Absent<'a> {
    site: Site<'a>,
    call: PendingCall,
    _folder: Directory,
}

impl<'a> Absent<'a> {
    fn begin(slurm: &'a Slurm) -> Absent<'a> {
        let folder = Directory::new();
        let program = folder.write("program", "#!/bin/sh\nexec sleep 1000\n");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let site = Site::new(slurm, &format!("program = {program:?}"));
        let call = site.call("rest_once", 10);
        Absent { site, call, _folder: folder }
    }

    fn end(self) {
        let Absent { site, call, .. } = self;
        site.wait_for("it is told", || {
            site.shown().contains("running; its program has been silent for ")
        });
        assert!(
            site.shown().contains("set another reached_at for the launcher, or dial = \"stdio\""),
            "{}",
            site.shown()
        );
        site.client.administer(Order::EndJob(1), PATIENCE).unwrap();
        assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::Cancelled);
        site.leaves_nothing();
    }
}

fn cancelled(slurm: &Slurm) {
    let site = Site::new(slurm, "");
    let (again, once, job) = site.pair(1500, 170_000);
    slurm.ask(&["scancel", &job]);
    says(once, &format!("its job {job} has ended: cancelled"));
    rested(again, 1500);
    site.leaves_nothing();
}

fn requeued(slurm: &Slurm) {
    let site = Site::new(slurm, "options = [\"--requeue\"]");
    let (again, once, job) = site.pair(1500, 170_000);
    slurm.ask(&["scontrol", "requeue", &job]);
    says(once, &format!("its job {job} is waiting again: "));
    site.wait_for("it waits", || site.jobs().iter().all(|job| job.state == "pending"));
    // Slurm lets two minutes pass.
    slurm.ask(&["scontrol", "update", &format!("JobId={job}"), "StartTime=now"]);
    rested(again, 1500);
    // Rarely, another one is asked for all the same: it costs a place in the queue, and no call.
    let asked = site.jobs().iter().map(|job| job.number).max();
    assert!(asked <= Some(2), "{asked:?}");
    site.leaves_nothing();
}

fn drain(slurm: &Slurm) {
    slurm.ask(&["scontrol", "update", NODES, "State=DRAIN", "Reason=test"]);
}

fn resume(slurm: &Slurm) {
    slurm.ask(&["scontrol", "update", NODES, "State=RESUME"]);
}

/// A call that waits for nodes, and the words for that.
fn waits(site: &Site<'_>) -> PendingCall {
    let call = site.call("rest_once", 10);
    let is_waiting = || {
        site.jobs().iter().any(|job| job.state == "pending" && job.text.starts_with("waiting: "))
    };
    site.wait_for("a job waits", is_waiting);
    call
}

/// Whoever waits is told for what; what runs goes on.
fn drained(slurm: &Slurm) {
    let site = Site::new(slurm, "");
    let runs = site.running_call("rest_once", 6000);
    drain(slurm);
    let options = CallOptions { progress: true, timeout: Some(PATIENCE), ..CallOptions::default() };
    let place = site.client.routine("place").unwrap();
    let mut waits = place.start([], &options).unwrap();
    let mut told = Vec::new();
    while !told.last().is_some_and(|words: &String| words.contains("DRAINED")) {
        match waits.next_news(Some(PATIENCE)).unwrap().expect("news come in time") {
            News::Progress(done, words) => told.extend((done == 0.0).then_some(words)),
            News::Started | News::Over => panic!("{told:?}"),
            _ => {}
        }
    }
    println!("    {told:?}");
    assert!(
        told.iter().all(|words| words.starts_with("waits for ") && words.contains(" of slurm: ")),
        "{told:?}"
    );
    std::thread::scope(|scope| {
        let called = scope.spawn(|| site.server().run(&["call", "far/place", "--json"]));
        site.wait_for("another waits", || site.client.status(PATIENCE).unwrap().calls.len() == 3);
        resume(slurm);
        let called = called.join().unwrap();
        let said = String::from_utf8_lossy(&called.stderr);
        assert!(called.status.success() && said.contains("{\"waits\":\"waits for job "), "{said}");
    });
    waits.wait().unwrap();
    rested(runs, 6000);
    site.leaves_nothing();
}

/// What runs needs no launcher; what waits is asked for again, and the dead one's jobs leave the
/// queue.
fn launcher_killed(slurm: &Slurm) {
    let site = Site::new(slurm, "");
    let runs = site.running_call("rest_once", 8_000);
    drain(slurm);
    let waits = waits(&site);
    let (launcher, guard) = site.launcher();
    let name = site.name();
    assert_eq!(site.queue(&name).len(), 2);
    signal(launcher, Signal::KILL);
    site.wait_for("the waiting job is cancelled", || site.queue(&name).len() == 1);
    resume(slurm);
    rested(waits, 10);
    rested(runs, 8_000);
    site.wait_for("its jobs end", || site.queue(&name).is_empty() && site.jobs().is_empty());
    end(guard);
}

/// With its launcher, and with what looks after that: programs that start afterwards find nobody,
/// and end.
fn server_killed(slurm: &Slurm) {
    for (who, is_left) in [("server", false), ("launcher", false), ("guard", true)] {
        println!("  {who}");
        let mut site = Site::new(slurm, "");
        let runs = site.running_call("rest_once", 170_000);
        drain(slurm);
        let _waits = waits(&site);
        let (launcher, guard) = site.launcher();
        let name = site.name();
        if who == "guard" {
            signal(guard, Signal::KILL);
        }
        if who != "server" {
            // So that it cannot see its input end.
            signal(launcher, Signal::STOP);
        }
        site.kill_server();
        if who != "server" {
            signal(launcher, Signal::KILL);
        }
        site.wait_for("what ran ends", || site.pilots().is_empty());
        if !is_left {
            site.wait_for("nothing is in the queue", || site.queue(&name).is_empty());
        }
        resume(slurm);
        site.wait_for("what waited ends", || {
            site.queue(&name).is_empty() && site.pilots().is_empty()
        });
        site.wait_for("the launcher ends", || !alive(launcher));
        drop(runs);
        end(guard);
    }
}

/// What looks after a dead launcher goes on for half a minute, and in this test nobody needs it any
/// more.
fn end(guard: u32) {
    if alive(guard) {
        signal(guard, Signal::KILL);
    }
}

fn preempted(slurm: &Slurm) {
    let site = Site::new(slurm, "queue = \"low\"");
    let (again, once, job) = site.pair(1500, 170_000);
    let others = [
        "sbatch",
        "--partition=high",
        "--nodes=3",
        "--exclusive",
        "--output=/dev/null",
        "--wrap",
        "sleep 1",
    ];
    slurm.ask(&others);
    says(once, &format!("its job {job} has ended: preempted"));
    // Its nodes come back, and with them calls.
    rested(again, 1500);
    site.leaves_nothing();
}

fn without_controller(slurm: &Slurm) {
    let site = Site::new(slurm, "");
    let call = site.running_call("rest_once", 4000);
    let controller = std::fs::read_to_string(slurm.folder().join("slurmctld.pid"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    signal(controller, Signal::STOP);
    // The job goes on, and takes others; one more cannot be had now, and waits.
    let hold = site.client.hold("place", 2, &HoldOptions::default()).unwrap();
    let outcome = call.wait();
    signal(controller, Signal::CONT);
    assert_eq!(outcome.unwrap().scalar::<i32>("rested").unwrap(), 4000);
    assert!(hold.ready(Some(PATIENCE)).unwrap());
    hold.release(Some(PATIENCE)).unwrap();
    site.leaves_nothing();
}

/// The node of the first job that runs, killed; and its name.
fn kill_a_node(site: &Site<'_>) -> String {
    let nodes = site.slurm.ask(&["squeue", "-h", "-t", "RUNNING", "-o", "%N"]);
    let node = site.slurm.ask(&["scontrol", "show", "hostnames", &nodes[0]]).pop().unwrap();
    site.slurm.node("kill", &node);
    node
}

fn node_dies_under_handles(slurm: &Slurm) {
    let site = Site::new(slurm, "");
    let hold = site.client.hold("rest", 200, &HoldOptions::default()).unwrap();
    assert!(hold.ready(Some(PATIENCE)).unwrap());
    let rest = site.client.routine("rest").unwrap();
    let start = |milliseconds: i32, on| {
        let options = CallOptions { on, timeout: Some(PATIENCE), ..CallOptions::default() };
        rest.start([("milliseconds", milliseconds.into())], &options).unwrap()
    };
    // Every other one runs when its node dies, or does not; some have just returned.
    let milliseconds =
        |index: usize| if index.is_multiple_of(2) { 6000 } else { 10 * index as i32 };
    let calls: Vec<_> =
        hold.ids().enumerate().map(|(index, id)| start(milliseconds(index), Some(id))).collect();
    site.wait_for("half of them run", || site.running() <= 100);
    let node = kill_a_node(&site);
    let outcomes: Vec<_> = calls.into_iter().map(PendingCall::wait).collect();
    let lost = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect::<Vec<_>>();
    println!(
        "    {} of 200 calls are lost: {:?}",
        lost.len(),
        lost.first().map(ToString::to_string)
    );
    // The half that lives serves on, each handle for itself.
    assert!(!lost.is_empty() && lost.len() <= 100);
    assert!(lost.iter().all(|error| error.kind() == ErrorKind::RoutineCrashed), "{lost:?}");
    hold.release(Some(PATIENCE)).unwrap();
    rested(start(10, None), 10);
    slurm.node("revive", &node);
    site.leaves_nothing();
}

/// Nothing of a call has begun then: it begins elsewhere, whether it may run again or not.
fn node_dies_at_start(slurm: &Slurm) {
    let site = Site::new(slurm, "");
    let call = site.call("born_late", 10);
    site.wait_for("its executable starts", || site.jobs().iter().any(|job| job.running == 1));
    let node = kill_a_node(&site);
    rested(call, 10);
    site.wait_for("the first job is given up", || {
        site.jobs().iter().all(|job| job.number > 1 || job.state == "ending")
    });
    slurm.node("revive", &node);
    site.leaves_nothing();
}
