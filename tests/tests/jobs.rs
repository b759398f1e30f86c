//! Routines that run in jobs: the launcher for this host starts their programs, which dial back
//! over TLS as from another one.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use farcall_client::{Array, CallOptions, ErrorKind, HoldOptions, Order};
use farcall_tests::{
    Directory, Server, Transport, alive, eventually, rest_of_output, told_and_missed,
};

use crate::bridge::site::{PATIENCE, Site, kill};

const LOCAL: &str =
    "launchers.local = { dial = \"tls\", reached_at = [\"localhost\"], idle_seconds = 2 }";

#[test]
fn calls_run_in_a_job_that_others_share_until_it_is_idle() {
    let site = Site::new(LOCAL);
    let x: Vec<f64> = (0..300_000).map(f64::from).collect();
    let flipped =
        site.client.routine("flip").unwrap().call([("x", Array::vector(&x).into())]).unwrap();
    assert!(flipped.array::<f64>("x").unwrap().iter().zip(&x).all(|(flipped, x)| *flipped == -x));
    let first = site.place(None).pid;
    assert_eq!(site.place(None).pid, first, "the executable stays");
    let jobs = site.jobs();
    assert_eq!(
        (jobs.len(), &*jobs[0].state, jobs[0].slots, jobs[0].running),
        (1, "active", 1, 1),
        "{jobs:?}"
    );
    assert_eq!(jobs[0].hosts.len(), 1);
    // Nobody calls any more.
    assert!(eventually(|| site.jobs().is_empty()) && !alive(first));
    assert!(
        eventually(|| site.pilots().is_empty() && !site.jobs_folder().exists()),
        "nothing is left"
    );
    // And somebody does again.
    site.place(None);
}

#[test]
fn an_array_of_handles_is_one_job() {
    let site = Site::new(LOCAL);
    let hold = site.client.hold("place", 12, &HoldOptions::default()).unwrap();
    assert!(hold.ready(Some(PATIENCE)).unwrap());
    let jobs = site.jobs();
    assert_eq!(
        jobs.iter().map(|job| (job.slots, job.running)).collect::<Vec<_>>(),
        [(12, 12)],
        "{jobs:?}"
    );
    let mut places: Vec<u32> = hold.ids().map(|id| site.place(Some(id)).pid).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), 12);
    hold.release(Some(PATIENCE)).unwrap();
    assert!(
        places.iter().all(|pid| !alive(*pid)),
        "a release is answered when the processes are gone"
    );
    assert!(eventually(|| site.jobs().is_empty()));
}

#[test]
fn a_routine_that_crashes_costs_its_call_and_not_the_place_in_the_queue() {
    let site = Site::new(LOCAL);
    let crash = |status: i32| {
        site.client.routine("crash").unwrap().call([("status", status.into())]).err().unwrap()
    };
    let error = crash(3);
    assert_eq!(error.kind(), ErrorKind::RoutineExited, "{error}");
    assert!(
        error.to_string().contains("status 3") && error.to_string().contains("it ends with 3"),
        "{error}"
    );
    let error = crash(0);
    assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    assert!(error.to_string().contains("SIGABRT"), "{error}");
    site.place(None);
    assert_eq!(site.jobs().iter().map(|job| job.number).collect::<Vec<_>>(), [1]);
}

/// A node that is lost takes its calls with it: those that may run again do, the others are
/// reported.
#[test]
fn a_lost_pilot_loses_no_idempotent_call() {
    let site = Site::new(LOCAL);
    let again = site.start("rest", 3000);
    let once = site.start("rest_once", 3000);
    assert!(eventually(|| site.running() == 2));
    site.pilots().into_iter().for_each(kill);
    let error = once.wait().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    assert!(error.to_string().contains("lost with its host"), "{error}");
    assert_eq!(again.wait().unwrap().scalar::<i32>("rested").unwrap(), 3000);
}

/// What runs needs no launcher; whoever comes next has another.
#[test]
fn a_launcher_that_is_killed_loses_no_call() {
    let site = Site::new(LOCAL);
    let call = site.start("rest_once", 1500);
    assert!(eventually(|| site.running() == 1));
    let is_launcher = |pid: &u32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains("\0launch\0local")
    };
    let launchers: Vec<u32> = site.server().processes().into_iter().filter(is_launcher).collect();
    assert_eq!(launchers.len(), 1);
    kill(launchers[0]);
    let hold = site.client.hold("place", 3, &HoldOptions::default()).unwrap();
    assert!(hold.ready(Some(PATIENCE)).unwrap());
    call.wait().unwrap();
    hold.release(Some(PATIENCE)).unwrap();
    assert!(eventually(|| site.jobs().is_empty()), "{:?}", site.jobs());
    assert!(
        eventually(|| site.pilots().is_empty() && !site.jobs_folder().exists()),
        "nothing is left"
    );
}

#[test]
fn a_server_that_is_killed_leaves_nothing_behind() {
    let mut site = Site::new(LOCAL);
    let executable = site.place(None).pid;
    let pilots = site.pilots();
    assert_eq!(pilots.len(), 1);
    site.kill_server();
    assert!(eventually(|| !alive(executable) && !alive(pilots[0])));
}

#[test]
fn what_proves_a_job_is_in_its_folder_alone() {
    let site = Site::new(LOCAL);
    site.place(None);
    let job = std::fs::read_dir(site.jobs_folder()).unwrap().flatten();
    let job = job.map(|entry| entry.path()).find(|path| path.join("ticket").exists()).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&job), mode(&job.join("ticket"))), (0o700, 0o600));
    let ticket = std::fs::read_to_string(job.join("ticket")).unwrap();
    let key = ticket.lines().skip_while(|line| !line.contains("PRIVATE KEY")).nth(1).unwrap();
    for pid in site.pilots() {
        for file in ["cmdline", "environ"] {
            let said = std::fs::read(format!("/proc/{pid}/{file}")).unwrap();
            assert!(!String::from_utf8_lossy(&said).contains(key), "{file}");
        }
    }
}

#[test]
fn what_a_routine_prints_comes_to_its_caller() {
    let site = Site::new(LOCAL);
    assert_eq!(said_by(&site, 3), "line 0\nline 1\nline 2\n");
    // Much more than is told in time: what is left out on the way is counted wherever that was.
    let lines = 500_000;
    let (told, missed) = told_and_missed(&said_by(&site, lines));
    let written: usize = (0..lines).map(|line| format!("line {line}\n").len()).sum();
    assert_eq!(told + missed, written, "{told} bytes told, {missed} missed");
}

fn said_by(site: &Site, lines: i64) -> String {
    let options = CallOptions { output: true, timeout: Some(PATIENCE), ..CallOptions::default() };
    let mut call =
        site.client.routine("speak").unwrap().start([("lines", lines.into())], &options).unwrap();
    let said = rest_of_output(&mut call);
    call.wait().unwrap();
    said
}

#[test]
fn an_administrator_ends_a_job() {
    let site = Site::new(LOCAL);
    let call = site.start("rest_once", 30_000);
    assert!(eventually(|| site.running() == 1));
    let number = site.jobs()[0].number;
    site.client.administer(Order::EndJob(number), PATIENCE).unwrap();
    assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::RoutineCrashed);
    assert!(eventually(|| site.jobs().is_empty()));
    let error = site.client.administer(Order::EndJob(99), PATIENCE).unwrap_err();
    assert!(
        error.kind() == ErrorKind::NotFound && error.to_string().contains("no job 99"),
        "{error}"
    );
    let shown = site.server().run(&["jobs"]);
    assert_eq!(String::from_utf8_lossy(&shown.stdout), "no jobs\n");
}

/// What modules may do is what the server's manifest says, wherever they run.
#[test]
fn jobs_keep_to_the_servers_limits() {
    let folder = Directory::new();
    let jobs = folder.0.join("jobs");
    let limits = farcall_tests::manifest_of("", "modules.far.processor_seconds_max = 1");
    let jobs = format!(
        "[[plugin]]\nname = \"spawner-jobs\"\nslot = \"jobs\"\n[plugin.options]\nfolder = \
            {jobs:?}\n"
    );
    let file = folder.write("farcall.toml", &(limits + &jobs));
    let idl = folder.write(
        "spin.idl",
        "Module far;\nDefine spin(OUT int n) { volatile int i = 0; for (;;) ++i; *n = i; }\n",
    );
    let words = [
        "--manifest",
        file.to_str().unwrap(),
        "--launcher",
        "far=local",
        "--launcher",
        "fra=local",
    ];
    let server = Server::start(Transport::Unix, &[idl], &words);
    let error = server.client().routine("spin").unwrap().call([]).err().unwrap();
    assert!(error.to_string().contains("SIGXCPU"), "{error}");
    let said = "a launcher is chosen for the module \"fra\", which is not published";
    assert!(server.log().contains(said), "{}", server.log());
}

#[test]
fn launchers_that_fail_are_named_with_what_they_say() {
    let site = |command: &str| {
        Site::new(&format!(
            "modules.far = \"mine\"\nlaunchers.mine = {{ command = [\"sh\", \"-c\", {command:?}] }}"
        ))
    };
    for (command, words) in [
        ("echo 'no licence today' >&2; exit 3", "no licence today"),
        ("while read line; do echo rubbish; done", "rubbish"),
        ("exec sleep 0", "the launcher failed"),
        ("yes | tr -d '\\n'", "a line that is too long"),
    ] {
        let site = site(command);
        let error = site.client.routine("place").unwrap().call([]).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(
            error.to_string().contains(words) && error.to_string().contains("launcher: mine"),
            "{error}"
        );
        assert!(eventually(|| !site.jobs_folder().exists()));
    }
}

/// A queue in which nothing moves: what is asked of its launcher is noted.
const QUEUE: &str = r#"
end=$(printf '\r')
while read -r line; do
  line=${line%"$end"} word=${line%% *} rest=${line#* }
  echo "$line" >> "$NOTES"
  case $word in
  QUERY_FEATURES) printf 'SM\nprotocol_version 2.0\nREPLY_END\n';;
  JOB_CREATE) id=$rest;;
  JOB_CREATE_END) echo S; printf 'CREATE_NOTIFY %s S q%s\nSTATUS_NOTIFY q%s PENDING waiting: Resources\n' $id $id $id >&2;;
  JOB_STATUS) echo S PENDING;;
  JOB_DESTROY) echo S; echo "STATUS_NOTIFY $rest FAILED cancelled" >&2;;
  EXIT) echo S; exit;;
  esac
done"#;

/// Jobs wait in line for those who want them, and no longer.
#[test]
fn a_job_that_nobody_waits_for_any_more_leaves_the_queue() {
    let folder = Directory::new();
    let notes = folder.0.join("notes");
    let script = QUEUE.replace("$NOTES", notes.to_str().unwrap());
    let site = Site::new(&format!(
        "modules.far = \"mine\"\nlaunchers.mine = {{ command = [\"sh\", \"-c\", {script:?}] }}"
    ));
    let noted =
        |what: &str| std::fs::read_to_string(&notes).unwrap_or_default().matches(what).count();
    let waits = |count: usize| {
        let jobs = site.jobs();
        jobs.len() == count && jobs.iter().all(|job| job.state == "pending")
    };
    // It is cancelled; its client leaves; it runs out of time.
    let cancelled = site.start("rest", 10);
    assert!(eventually(|| waits(1)), "{:?}", site.jobs());
    cancelled.cancel().unwrap();
    assert_eq!(cancelled.wait().err().unwrap().kind(), ErrorKind::Cancelled);
    assert!(
        eventually(|| site.jobs().is_empty() && noted("JOB_DESTROY") == 1),
        "{:?}",
        site.jobs()
    );
    let other = site.server().client();
    let options = CallOptions { timeout: Some(PATIENCE), ..CallOptions::default() };
    let left =
        other.routine("rest").unwrap().start([("milliseconds", 10.into())], &options).unwrap();
    assert!(eventually(|| waits(1)));
    drop((left, other));
    assert!(
        eventually(|| site.jobs().is_empty() && noted("JOB_DESTROY") == 2),
        "{:?}",
        site.jobs()
    );
    let options = CallOptions {
        timeout: Some(std::time::Duration::from_millis(300)),
        ..CallOptions::default()
    };
    let error = site.client.routine("place").unwrap().call_with([], &options).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert!(eventually(|| site.jobs().is_empty()), "{:?}", site.jobs());
    // One that others wait for, or a handle, stays.
    let destroyed = noted("JOB_DESTROY");
    let hold = site.client.hold("place", 1, &HoldOptions::default()).unwrap();
    assert!(eventually(|| waits(1)));
    let call = site.start("rest", 10);
    let other = site.start("rest", 10);
    let slots = || site.jobs().iter().map(|job| job.slots).sum::<u32>();
    assert!(eventually(|| slots() == 3), "{:?}", site.jobs());
    call.cancel().unwrap();
    call.wait().err().unwrap();
    assert!(slots() >= 2, "{:?}", site.jobs());
    other.cancel().unwrap();
    other.wait().err().unwrap();
    assert!(eventually(|| waits(1)), "whichever has room for the handle: {:?}", site.jobs());
    hold.release(Some(PATIENCE)).unwrap();
    assert!(
        eventually(|| site.jobs().is_empty() && noted("JOB_DESTROY") > destroyed),
        "{:?}",
        site.jobs()
    );
    assert_eq!(
        noted("JOB_DESTROY"),
        noted("JOB_CREATE_END"),
        "{}",
        std::fs::read_to_string(&notes).unwrap()
    );
}

#[test]
fn a_launcher_that_nobody_knows_is_refused_at_the_start() {
    let idl = Path::new(env!("CARGO_MANIFEST_DIR")).join("routines/far.idl");
    let refused = Server::refused(&["--launcher", "slurn", idl.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        said.contains("no launcher \"slurn\"") && said.contains("did you mean \"slurm\"?"),
        "{said}"
    );
}

#[test]
fn where_slurm_is_not_a_server_for_it_does_not_start() {
    let idl = Path::new(env!("CARGO_MANIFEST_DIR")).join("routines/far.idl");
    let mut command = Server::command();
    command.env("PATH", "/nowhere").args(["--private", "--launcher", "slurm"]).arg(&idl);
    let said = String::from_utf8_lossy(&Server::ended(&mut command).stderr).into_owned();
    assert!(
        said.contains("this host has no sbatch (PATH: /nowhere)")
            && said.contains("login node")
            && said.contains("launchers.slurm.command"),
        "{said}"
    );
}
