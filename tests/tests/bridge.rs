//! Routines in jobs whose hosts reach no server: their bytes pass the launcher's standard streams.

pub mod site;
mod slurm;

use std::sync::Arc;
use std::time::Duration;

use farcall_client::idl::interface::Order;
use farcall_client::{Array, CallOptions, ErrorKind, HoldOptions, News};
use farcall_tests::{alive, eventually, program, rest_of_output, told_and_missed};

use rustix::process::Signal;

use crate::ssh::far::{self, Far};
use site::{PATIENCE, Site, kill, signal};

const LOCAL: &str = "launchers.local = { dial = \"stdio\", idle_seconds = 2 }";

#[test]
fn calls_pass_the_launchers_streams() {
    let site = Site::new(LOCAL);
    site.flip(300_000);
    let first = site.place(None);
    assert_eq!(site.place(None), first, "the executable stays");
    assert_eq!(site.bridges().len(), 1);
    assert!(eventually(|| site.jobs().is_empty()) && !alive(first.pid));
    site.leaves_nothing();
    // And again.
    site.place(None);
}

#[test]
fn arrays_of_64_megabytes_pass_both_ways() {
    Site::new(LOCAL).flip(8 << 20);
}

/// Twenty executables at a time, one of which is slow: the others do not wait for it.
#[test]
fn many_executables_share_one_stream() {
    let x: Arc<Vec<f64>> = Arc::new((0..100_000).map(f64::from).collect());
    // What is wanted within a second is one job.
    let site = Site::new(&format!("gather_ms = 1000\n{LOCAL}"));
    let slow = site.start("rest", 4000);
    let hold = site.client.hold("flip", 20, &HoldOptions::default()).unwrap();
    assert!(hold.ready(Some(PATIENCE)).unwrap());
    let routine = site.client.routine("flip").unwrap();
    for _ in 0..3 {
        let begin = |id| {
            let options =
                CallOptions { on: Some(id), timeout: Some(PATIENCE), ..CallOptions::default() };
            let array = Array::shared(x.clone(), &[x.len() as u64], Order::Row);
            routine.start([("x", array.into())], &options).unwrap()
        };
        let calls: Vec<_> = hold.ids().map(begin).collect();
        for call in calls {
            let flipped = call.wait().unwrap();
            assert!(
                flipped
                    .array::<f64>("x")
                    .unwrap()
                    .iter()
                    .zip(x.iter())
                    .all(|(flipped, x)| *flipped == -x)
            );
        }
    }
    slow.wait().unwrap();
    assert_eq!(site.bridges().len(), 1);
    hold.release(Some(PATIENCE)).unwrap();
}

/// Whatever ends of what lies between takes the calls with it: those that may run again do, the
/// others are reported.
#[test]
fn a_stream_that_ends_loses_no_idempotent_call() {
    for victims in [Site::bridges, Site::pilots] {
        let site = Site::new(LOCAL);
        let again = site.start("rest", 2000);
        let once = site.start("rest_once", 2000);
        assert!(eventually(|| site.running() == 2));
        let before = site.pilots();
        victims(&site).into_iter().for_each(kill);
        let error = once.wait().err().unwrap();
        assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
        assert!(error.to_string().contains("lost with its host"), "{error}");
        assert_eq!(again.wait().unwrap().scalar::<i32>("rested").unwrap(), 2000);
        assert!(
            eventually(|| before.iter().all(|pid| !alive(*pid))),
            "the pilot is gone with its stream"
        );
    }
}

/// Words that come faster than they are carried are left out, and counted; the node goes on.
#[test]
fn a_flood_ends_no_node() {
    let site = Site::new(LOCAL);
    let place = site.place(None);
    let lines = 6_000_000;
    let options = CallOptions { output: true, timeout: Some(PATIENCE), ..CallOptions::default() };
    let mut call =
        site.client.routine("speak").unwrap().start([("lines", lines.into())], &options).unwrap();
    let News::Stdout(bytes) = call.next_news(Some(PATIENCE)).unwrap().unwrap() else {
        panic!("it writes first")
    };
    let mut said = String::from_utf8(bytes).unwrap();
    let bridge = site.bridges()[0];
    signal(bridge, Signal::STOP);
    let expected: usize = (0..lines).map(|line| format!("line {line}\n").len()).sum();
    let has_written = || written(place.pid) >= expected;
    let is_held_up = eventually(has_written) || eventually(has_written);
    signal(bridge, Signal::CONT);
    assert!(is_held_up, "{} of {expected} bytes written", written(place.pid));
    said += &rest_of_output(&mut call);
    call.wait().unwrap();
    let (told, missed) = told_and_missed(&said);
    assert_eq!(told + missed, expected, "{told} bytes told, {missed} missed");
    assert_eq!(site.place(None), place, "the executable stays");
}

/// Bytes that a process has written so far.
fn written(pid: u32) -> usize {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    io.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok()).unwrap_or(0)
}

/// What neither answers nor ends its connection: a host that lost its power, and here a program
/// that was stopped.
#[test]
fn a_pilot_that_answers_nothing_is_given_up() {
    for dial in ["\"stdio\"", "\"tls\", reached_at = [\"localhost\"]"] {
        let site = Site::new(&format!("silence_ms = 2000\nlaunchers.local = {{ dial = {dial} }}"));
        let once = site.start("rest_once", 60_000);
        assert!(eventually(|| site.running() == 1));
        let pilots = site.pilots();
        pilots.iter().for_each(|pid| signal(*pid, Signal::STOP));
        let error = once.wait().err().unwrap();
        assert!(error.to_string().contains("it did not answer for 2 s"), "{error}");
        // Its launcher ends it: it is asked to, and killed some seconds later.
        assert!(eventually(|| !alive(pilots[0])) || eventually(|| !alive(pilots[0])));
        assert!(eventually(|| site.jobs().is_empty()), "{:?}", site.jobs());
        site.place(None);
    }
}

#[test]
fn a_server_that_is_killed_leaves_no_pilot() {
    let mut site = Site::new(LOCAL);
    let place = site.place(None);
    let pilots = site.pilots();
    let bridges = site.bridges();
    assert_eq!((pilots.len(), bridges.len()), (1, 1));
    site.kill_server();
    assert!(eventually(|| ![place.pid, pilots[0], bridges[0]].into_iter().any(alive)));
}

#[test]
fn what_a_site_prints_before_the_program_goes_by() {
    let folder = farcall_tests::Directory::new();
    let words = format!(
        "#!/bin/sh\necho 'Welcome to node 7'; printf 'no end of line'\nexec {:?} \"$@\"\n",
        program()
    );
    let noisy = site::script(&folder, "noisy", &words);
    Site::new(&format!("launchers.local = {{ dial = \"stdio\", program = {noisy:?} }}")).flip(1000);
    let wrong = site::script(&folder, "wrong", "#!/bin/sh\necho 'this node is closed today'\n");
    let site = Site::new(&format!("launchers.local = {{ dial = \"stdio\", program = {wrong:?} }}"));
    // On a busy machine the launcher may say that a job has ended before what that printed was
    // passed on: then the next one tells.
    let tells = || {
        let error = site.client.routine("place").unwrap().call([]).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        error.to_string().contains("closed today")
    };
    assert!((0..5).any(|_| tells()), "nobody learns what the site printed");
}

/// A host that reaches no address of the server says so, and what to do.
#[test]
fn a_host_that_cannot_reach_its_server_says_so() {
    let site =
        Site::new("launchers.local = { dial = \"tls\", reached_at = [\"nowhere.invalid\"] }");
    let error = site.client.routine("place").unwrap().call([]).err().unwrap().to_string();
    for words in ["this host cannot reach the server", "nowhere.invalid", "dial = \"stdio\""] {
        assert!(error.contains(words), "{error}");
    }
}

/// What is made for one job holds by any clock: a node's may be years off.
#[test]
fn a_node_whose_clock_is_years_off_runs_routines() {
    let folder = farcall_tests::Directory::new();
    let clock = folder.0.join("clock.so");
    farcall_tests::compile("clock.c", &clock, &["-shared", "-fPIC"]);
    for ahead in ["400000000", "-1700000000", "9000000000"] {
        let words = format!(
            "#!/bin/sh\nexec env LD_PRELOAD={clock:?} CLOCK_AHEAD={ahead} {:?} \"$@\"\n",
            program()
        );
        let node = site::script(&folder, "node", &words);
        for dial in ["\"stdio\"", "\"tls\", reached_at = [\"localhost\"]"] {
            Site::new(&format!("launchers.local = {{ dial = {dial}, program = {node:?} }}"))
                .flip(10);
        }
    }
}

/// As a batch system ends a job that is cancelled, or whose time is over.
#[test]
fn a_pilot_that_is_asked_to_end_leaves_no_folder() {
    let folder = farcall_tests::Directory::new();
    let temporary = folder.0.join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let words = format!("#!/bin/sh\nTMPDIR={temporary:?} exec {:?} \"$@\"\n", program());
    let node = site::script(&folder, "node", &words);
    let site = Site::new(&format!("launchers.local = {{ dial = \"stdio\", program = {node:?} }}"));
    let once = site.start("rest_once", 60_000);
    assert!(eventually(|| site.running() == 1));
    let has_folder = || std::fs::read_dir(&temporary).unwrap().next().is_some();
    assert!(has_folder(), "its executables have a working folder there");
    let pilots = site.pilots();
    pilots.iter().for_each(|pid| signal(*pid, Signal::TERM));
    assert_eq!(once.wait().err().unwrap().kind(), ErrorKind::RoutineCrashed);
    assert!(eventually(|| !pilots.iter().any(|pid| alive(*pid)) && !has_folder()));
}

/// One that does not pass streams on starts programs that hear nothing.
#[test]
fn a_launcher_that_knows_no_bridge_is_named() {
    let folder = farcall_tests::Directory::new();
    let filter =
        format!("#!/bin/sh\ngrep --line-buffered -v ^bridge | {:?} launch local\n", program());
    let old = site::script(&folder, "old", &filter);
    let site = Site::new(&format!(
        "launchers.old = {{ command = [{old:?}], dial = \"stdio\" }}\nmodules.far = \"old\""
    ));
    let error = site.client.routine("place").unwrap().call([]).err().unwrap().to_string();
    assert!(error.contains("the launcher relays nothing") && error.contains("bridge"), "{error}");
}

fn through_ssh(far: &Far, more: &str) -> Site {
    let ssh = format!("FARCALL_SSH={}/ssh", far.folder.0.display());
    let command = format!("[\"env\", {ssh:?}, {:?}, \"launch\", \"ssh\"]", program());
    let settings = format!("command = {command}, host = \"far\", dial = \"stdio\", {more}");
    Site::new(&format!("modules.far = \"ssh\"\nlaunchers.ssh = {{ {settings} }}"))
}

#[test]
fn jobs_behind_a_real_sshd_need_no_way_back() {
    let Some(far) = Far::real() else { return };
    let site = through_ssh(
        &far,
        &format!("program = {:?}, idle_seconds = 2, staging = true", far::lean()),
    );
    site.flip(1 << 20);
    let place = site.place(None);
    assert!(eventually(|| site.jobs().is_empty() && !alive(place.pid)));
    site.leaves_nothing();
    // The connection breaks.
    let call = site.start("rest_once", 20_000);
    assert!(eventually(|| site.running() == 1));
    let sessions = far::children_of(far.sshds[0].id());
    assert!(!sessions.is_empty());
    far::kill(&sessions);
    assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::RoutineCrashed);
    assert!(eventually(|| site.jobs().is_empty()));
    site.leaves_nothing();
}

/// A host whose network leads nowhere at all.
#[test]
fn jobs_on_a_host_without_a_network_are_served() {
    if !far::has_namespaces() {
        return;
    }
    // But for what a host says to itself.
    let far =
        Far::run_by("exec unshare -n /bin/sh -c 'ip link set lo up && eval \"$0\"' \"$command\"");
    through_ssh(&far, "idle_seconds = 1").flip(100_000);
    let direct = Site::new(&format!(
        "modules.far = \"ssh\"\nlaunchers.ssh = {{ command = [\"env\", \"FARCALL_SSH={}/ssh\", \
         {:?}, \"launch\", \"ssh\"], host = \"far\", staging = true, reached_at = [\"127.0.0.1\"] \
         }}",
        far.folder.0.display(),
        far::lean()
    ));
    let options = CallOptions { timeout: Some(Duration::from_secs(90)), ..CallOptions::default() };
    let error =
        direct.client.routine("place").unwrap().call_with([], &options).err().unwrap().to_string();
    assert!(error.contains("this host cannot reach the server"), "{error}");
}
