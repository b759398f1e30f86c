//! Kept calls over the end of their server: every one that was accepted has its outcome, or says
//! why not; none runs twice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use farcall_base::{CallId, Random, SeededRandom};
use farcall_client::{
    Argument, CallOptions, Client, Error, ErrorKind, Keep, KeptState, Result, Routine,
};
use farcall_tests::{Server, Transport, eventually, manifest_of};

/// How many calls the scenario makes, unless `FARCALL_SOAK_CALLS` says another number.
const CALLS: usize = 200;
/// What a call may say that ran, or had begun, when its server ended.
const RAN: &str = "the server stopped while the call ran";
const KEEP: Keep = Keep { after_end: Duration::from_secs(3600), durable: true };

/// A place for a server that is started again and again, whose routines mark each run in a file.
struct Place {
    folder: PathBuf,
    manifest: String,
}

impl Place {
    fn new(name: &str, options: &str) -> Place {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("kept-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        // What routines may write is apart from what is the server's.
        let open = folder.join("open");
        std::fs::create_dir_all(&open).unwrap();
        let results = folder.join("results");
        let server = format!("results_dir = {results:?}\nresults_share_percent = 100\n{options}");
        let file = folder.join("farcall.toml");
        std::fs::write(
            &file,
            manifest_of(&server, &format!("modules.tally.writable = [{open:?}]")),
        )
        .unwrap();
        Place { manifest: file.display().to_string(), folder }
    }

    fn start(&self) -> Server {
        self.start_with(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("routines/tally.idl")])
    }

    fn start_with(&self, files: &[PathBuf]) -> Server {
        Server::start(
            Transport::Unix,
            files,
            &["--manifest", &self.manifest, "--log-level", "warn"],
        )
    }

    /// Has the one executable run for as long as its server lives: whatever comes now waits.
    fn occupy(&self, routine: &Routine) -> CallId {
        let before = self.marks().len();
        let id = self.submit(routine, 0, Duration::from_secs(600)).unwrap();
        assert!(eventually(|| self.marks().len() > before), "it runs");
        id
    }

    fn marks_file(&self) -> PathBuf {
        self.folder.join("open/marks")
    }

    /// The numbers that were marked, in order.
    fn marks(&self) -> Vec<usize> {
        let text = std::fs::read_to_string(self.marks_file()).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    fn submit(&self, routine: &Routine, number: usize, pause: Duration) -> Result<CallId> {
        let file = Argument::Text(self.marks_file().to_str().unwrap().into());
        let pause = Argument::Integer(pause.as_micros() as i64);
        routine.submit(
            [("number", Argument::Integer(number as i64)), ("pause_us", pause), ("file", file)],
            KEEP,
        )
    }

    fn results(&self, id: CallId, ending: &str) -> PathBuf {
        self.folder.join("results").join(format!("{id}{ending}"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn once(client: &Client) -> Routine {
    client.routine("tally/once").unwrap()
}

fn outcome(client: &Client, id: CallId) -> Result<usize> {
    let options = CallOptions { timeout: Some(Duration::from_secs(60)), ..CallOptions::default() };
    let outputs = client.fetch(id, &options)?.wait()?;
    Ok(outputs.scalar::<i32>("twice")? as usize)
}

fn failure(client: &Client, id: CallId) -> Error {
    outcome(client, id).expect_err("it has failed")
}

/// Ends a server by a signal; a private one ends as well when its standard input does.
fn end(mut server: Server, signal: &str) {
    server.signal(signal);
    server.exit_code();
}

#[test]
fn what_waits_runs_on_the_next_server_in_its_order() {
    for signal in ["-KILL", "-TERM"] {
        let place = Place::new("order", "executables_max = 1\ndrain_ms = 100");
        let server = place.start();
        let client = server.client();
        let routine = once(&client);
        let runs = place.occupy(&routine);
        let ids: Vec<CallId> = (1..6)
            .map(|number| place.submit(&routine, number, Duration::from_millis(1)).unwrap())
            .collect();
        assert!(client.kept().unwrap().iter().all(|call| call.durable));
        end(server, signal);
        let server = place.start();
        let client = server.client();
        for (index, id) in ids.iter().enumerate() {
            assert_eq!(outcome(&client, *id).unwrap(), 2 * (index + 1), "{signal}");
        }
        assert_eq!(place.marks(), [0, 1, 2, 3, 4, 5], "{signal}");
        let error = failure(&client, runs);
        assert!(
            error.kind() == ErrorKind::ShuttingDown && error.to_string().contains(RAN),
            "{signal}: {error}"
        );
    }
}

#[test]
fn a_call_that_cannot_run_any_more_says_which_rule_ended_it() {
    let place = Place::new("withdrawn", "executables_max = 1");
    let other = place.folder.join("other.idl");
    std::fs::write(&other, "Module other;\nDefine f(IN int n, OUT int m) { *m = n; }\n").unwrap();
    let changed = place.folder.join("tally.idl");
    std::fs::write(&changed, "Module tally;\nDefine once(IN int n, OUT int m) { *m = n; }\n")
        .unwrap();
    for (files, kind, words) in [
        (&other, ErrorKind::NotFound, "is no longer published"),
        (&changed, ErrorKind::InterfaceChanged, "changed while the call was waiting"),
    ] {
        let server = place.start();
        let client = server.client();
        let routine = once(&client);
        place.occupy(&routine);
        let waits = place.submit(&routine, 1, Duration::ZERO).unwrap();
        server.kill();
        let server = place.start_with(std::slice::from_ref(files));
        let error = failure(&server.client(), waits);
        assert!(error.kind() == kind && error.to_string().contains(words), "{error}");
        // And it says so for good.
        server.kill();
        let server = place.start();
        assert_eq!(failure(&server.client(), waits).kind(), kind);
    }
    assert!(!place.marks().contains(&1));
}

#[test]
fn what_is_forgotten_or_cancelled_while_it_waits_never_runs() {
    let place = Place::new("forgotten", "executables_max = 1");
    let server = place.start();
    let client = server.client();
    let routine = once(&client);
    place.occupy(&routine);
    let ids = [1, 2].map(|number| place.submit(&routine, number, Duration::ZERO).unwrap());
    client.forget_call(ids[0]).unwrap();
    let cancelled = client.fetch(ids[1], &CallOptions::default()).unwrap();
    cancelled.cancel().unwrap();
    assert_eq!(cancelled.wait().err().unwrap().kind(), ErrorKind::Cancelled);
    server.kill();
    let server = place.start();
    let client = server.client();
    assert_eq!(failure(&client, ids[0]).kind(), ErrorKind::NotFound);
    assert_eq!(failure(&client, ids[1]).kind(), ErrorKind::Cancelled);
    assert_eq!(
        outcome(&client, place.submit(&once(&client), 3, Duration::ZERO).unwrap()).unwrap(),
        6
    );
    assert!(place.marks().iter().all(|number| ![1, 2].contains(number)));
}

/// What is called durable is on the disk, and what could not be written is tried again.
#[test]
fn an_outcome_that_cannot_be_stored_is_not_called_durable_and_is_tried_again() {
    let place = Place::new("unstored", "");
    let server = place.start();
    let client = server.client();
    let state = |client: &Client, id: CallId| {
        client.kept().unwrap().into_iter().find(|call| call.id == id).unwrap()
    };
    let unstored = |server: &Server, number: usize| {
        let client = server.client();
        let id = place.submit(&once(&client), number, Duration::from_millis(300)).unwrap();
        // A folder where the new file is to be fails as a full disk does.
        std::fs::create_dir(place.results(id, ".new")).unwrap();
        assert_eq!(outcome(&client, id).unwrap(), 2 * number, "whoever waits has it");
        let kept = state(&client, id);
        assert!(kept.state == KeptState::Returned && !kept.durable, "{kept:?}");
        id
    };
    let id = unstored(&server, 1);
    std::fs::remove_dir(place.results(id, ".new")).unwrap();
    assert!(eventually(|| state(&client, id).durable), "it is stored when that can be");
    assert_eq!(
        server.log().matches(&id.to_string()).count(),
        1,
        "the log says so once: {}",
        server.log()
    );
    // At the end of the server it is tried a last time.
    let other = unstored(&server, 2);
    std::fs::remove_dir(place.results(other, ".new")).unwrap();
    end(server, "-TERM");
    let server = place.start();
    assert_eq!(
        (outcome(&server.client(), id).unwrap(), outcome(&server.client(), other).unwrap()),
        (2, 4)
    );
    // One that is lost says what became of it.
    let lost = unstored(&server, 3);
    server.kill();
    std::fs::remove_dir(place.results(lost, ".new")).unwrap();
    let server = place.start();
    let error = failure(&server.client(), lost);
    let is_said = error.kind() == ErrorKind::LimitExceeded
        && error.to_string().contains("could not be written");
    assert!(is_said, "{error}");
    assert_eq!(place.marks(), [1, 2, 3]);
}

/// A server that ends when nobody is there stays for what it was asked to do.
#[test]
fn a_lingering_server_stays_for_its_kept_calls() {
    let place = Place::new("linger", "executables_max = 1");
    let socket = place.folder.join("socket");
    let idl = Path::new(env!("CARGO_MANIFEST_DIR")).join("routines/tally.idl");
    let address = format!("unix:{}", socket.display());
    let mut command = Server::command();
    command.args(["--linger", "1", "--listen", &address, "--manifest", &place.manifest]).arg(idl);
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    let connect = || Client::connect_to(&address.parse().unwrap(), None, Duration::from_secs(20));
    let mut client = None;
    assert!(eventually(|| {
        client = connect().ok();
        client.is_some()
    }));
    let client = client.unwrap();
    let routine = once(&client);
    let ids = [1, 2].map(|number| place.submit(&routine, number, Duration::from_secs(2)).unwrap());
    drop((routine, client));
    // Nobody is there; when both are over, nothing keeps it.
    let mut ended = None;
    assert!(eventually(|| {
        ended = child.try_wait().unwrap();
        ended.is_some()
    }));
    assert!(ended.unwrap().success());
    let server = place.start();
    assert_eq!(ids.map(|id| outcome(&server.client(), id).unwrap()), [2, 4]);
    assert_eq!(place.marks(), [1, 2]);
}

#[test]
fn an_id_is_given_when_the_server_took_the_call() {
    let place = Place::new("untaken", "");
    let server = place.start();
    let client = server.client();
    let options = CallOptions {
        keep: Some(KEEP),
        timeout: Some(Duration::from_secs(2)),
        ..CallOptions::default()
    };
    let file = Argument::Text(place.marks_file().to_str().unwrap().into());
    let routine = once(&client);
    server.signal("-STOP");
    let arguments =
        [("number", Argument::Integer(1)), ("pause_us", Argument::Integer(0)), ("file", file)];
    let mut call = routine.start(arguments, &options).unwrap();
    let error = call.wait_kept(None).expect_err("the server said nothing");
    server.signal("-CONT");
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    // A call that is refused says why, and not that it is kept.
    let long = Keep { after_end: Duration::from_secs(1_000_000_000), durable: true };
    let error = routine
        .submit(
            [("number", 1.into()), ("pause_us", 0.into()), ("file", Argument::Text(b"x".to_vec()))],
            long,
        )
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
}

/// The scenario: calls are submitted, and their server is killed or told to end, at random, again
/// and again.
#[test]
fn no_kept_call_is_lost_or_runs_twice_over_restarts() {
    let calls = std::env::var("FARCALL_SOAK_CALLS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(CALLS);
    let options = format!("executables_max = 2\ndrain_ms = 20\nresults_max = {}", 4 * calls);
    let place = Place::new("scenario", &options);
    let seed = 11;
    let mut random = SeededRandom::new(seed);
    let mut accepted: BTreeMap<usize, CallId> = BTreeMap::new();
    let mut next: usize = 0;
    while accepted.len() < calls {
        let server = place.start();
        let client = server.client();
        let until = Instant::now() + Duration::from_millis(100 + random.next() % 900);
        let pid = rustix::process::Pid::from_raw(server.pid() as i32).unwrap();
        let signal = match random.next() % 3 {
            0 => rustix::process::Signal::TERM,
            _ => rustix::process::Signal::KILL,
        };
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(until.saturating_duration_since(Instant::now()));
                let _ = rustix::process::kill_process(pid, signal);
            });
            let Ok(routine) = client.routine("tally/once") else { return };
            // Until the server is gone: what it did not say that it took is nobody's.
            while accepted.len() < calls {
                let pause = Duration::from_micros(random.next() % 20_000);
                next += 1;
                match place.submit(&routine, next, pause) {
                    Ok(id) => accepted.insert(next, id),
                    Err(_) => break,
                };
            }
        });
        end_quietly(server);
    }
    judge(&place, &accepted, seed);
}

/// Waits for the end of a server that was told to, or was killed.
fn end_quietly(mut server: Server) {
    server.exit_code();
}

fn judge(place: &Place, accepted: &BTreeMap<usize, CallId>, seed: u64) {
    let server = place.start();
    let client = server.client();
    let mut returned = 0;
    let mut lost = Vec::new();
    for (number, id) in accepted {
        match outcome(&client, *id) {
            Ok(twice) => {
                assert_eq!(twice, 2 * number, "seed {seed}");
                returned += 1;
            }
            Err(error)
                if error.kind() == ErrorKind::ShuttingDown && error.to_string().contains(RAN) => {}
            Err(error) => lost.push(format!("{number}: {error}")),
        }
    }
    assert!(
        lost.is_empty(),
        "seed {seed}: {} of {} are lost: {lost:?}",
        lost.len(),
        accepted.len()
    );
    let marks = place.marks();
    let mut counted: BTreeMap<usize, usize> = BTreeMap::new();
    marks.iter().for_each(|number| *counted.entry(*number).or_default() += 1);
    let twice: Vec<_> = counted.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "seed {seed}: {twice:?} ran twice");
    assert!(
        returned > accepted.len() / 2,
        "seed {seed}: only {returned} of {} returned",
        accepted.len()
    );
    assert!(counted.len() >= returned);
}
