//! A server that runs is told what to serve, and when to end; no call is lost by either.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use farcall_client::{Client, ErrorKind, Order, Result, Routine};
use farcall_tests::{
    Directory, Server, Transport, battery, compile, eventually, first_news, manifest, until_begun,
    watched,
};

const IDL: &str = "Module live; Library \"./liblive.so\";
Define version(OUT int number) Calls \"C\" number = version();
Define late(IN int milliseconds, OUT int number) Calls \"C\" number = late(milliseconds);";

/// The library of this version, in the place of the one before.
fn build(folder: &Directory, version: u32) {
    compile(
        "version.c",
        &folder.0.join("liblive.so"),
        &["-shared", "-fPIC", &format!("-DVERSION={version}")],
    );
}

fn live(folder: &Directory) -> PathBuf {
    build(folder, 1);
    folder.write("live.idl", IDL)
}

fn good(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn said(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn words(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn number(routine: &Routine) -> Result<i32> {
    routine.call([])?.scalar("number")
}

#[test]
fn modules_come_and_go_while_calls_run() {
    let folder = Directory::new();
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    let client = server.client();
    assert_eq!(client.routine("live/version").err().unwrap().kind(), ErrorKind::NotFound);
    assert!(good(&server.run(&["publish", words(&live(&folder))])).contains("live  2 routines"));
    let version = client.routine("live/version").unwrap();
    let late = client.routine("live/late").unwrap();
    assert_eq!(number(&version).unwrap(), 1);
    let mut running = late.start([("milliseconds", 500.into())], &watched()).unwrap();
    until_begun(&mut running);
    good(&server.run(&["withdraw", "live"]));
    assert_eq!(running.wait().unwrap().scalar::<i32>("number").unwrap(), 1, "what runs goes on");
    assert_eq!(number(&version).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(said(&server.run(&["withdraw", "live"])).contains("no module \"live\" is published"));
    assert!(said(&server.run(&["reload", "live"])).contains("no module \"live\" is published"));
    // Mistakes are shown as if the file were compiled here; what is published stays.
    let bad = folder.write("bad.idl", "Define x(");
    assert!(said(&server.run(&["publish", words(&bad)])).contains("bad.idl:1:10"));
    assert!(client.routine("touch").is_ok());
}

#[test]
fn a_library_that_is_replaced_under_calls_gives_the_old_answer_or_the_new() {
    const THREADS: usize = 4;
    const VERSIONS: u32 = 6;
    let folder = Directory::new();
    let manifest = folder.write("farcall.toml", &manifest("executables_max = 3"));
    let server =
        Server::start(Transport::Unix, &[live(&folder)], &["--manifest", words(&manifest)]);
    let done = AtomicBool::new(false);
    let calls = AtomicUsize::new(0);
    let caller = || {
        let routine = server.client().routine("live/late").unwrap();
        loop {
            // One call begins after the last version came.
            let is_last = done.load(Ordering::Relaxed);
            let outputs = routine
                .call([("milliseconds", 2.into())])
                .unwrap_or_else(|error| panic!("{error}"));
            let version: i32 = outputs.scalar("number").unwrap();
            assert!((1..=VERSIONS as i32).contains(&version), "{version}");
            calls.fetch_add(1, Ordering::Relaxed);
            if is_last {
                return version;
            }
        }
    };
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..THREADS).map(|_| scope.spawn(caller)).collect();
        for version in 2..=VERSIONS {
            let seen = calls.load(Ordering::Relaxed);
            assert!(eventually(|| calls.load(Ordering::Relaxed) > seen + 20));
            build(&folder, version);
            good(&server.run(&["reload", "live"]));
            // Whoever calls after the command ended gets what is new.
            assert_eq!(
                number(&server.client().routine("live/version").unwrap()).unwrap(),
                version as i32
            );
        }
        let seen = calls.load(Ordering::Relaxed);
        assert!(eventually(|| calls.load(Ordering::Relaxed) > seen + 20));
        done.store(true, Ordering::Relaxed);
        assert!(callers.into_iter().all(|caller| caller.join().unwrap() == VERSIONS as i32));
    });
    assert!(eventually(|| server.zygotes().len() == 1), "those of older versions have ended");
}

#[test]
fn nothing_is_left_of_an_older_version_when_its_last_call_is_over() {
    let folder = Directory::new();
    let manifest = folder.write("farcall.toml", &manifest("executables_max = 3"));
    let server =
        Server::start(Transport::Unix, &[live(&folder)], &["--manifest", words(&manifest)]);
    let late = server.client().routine("live/late").unwrap();
    let mut running = late.start([("milliseconds", 600_000.into())], &watched()).unwrap();
    until_begun(&mut running);
    build(&folder, 2);
    good(&server.run(&["reload", "live"]));
    assert_eq!(number(&server.client().routine("live/version").unwrap()).unwrap(), 2);
    assert_eq!(server.zygotes().len(), 2, "each version has its own");
    running.cancel().unwrap();
    assert_eq!(running.wait().err().unwrap().kind(), ErrorKind::Cancelled);
    assert!(eventually(|| server.zygotes().len() == 1), "that of the older version has ended");
}

#[test]
fn what_cannot_be_reloaded_is_served_as_before() {
    let folder = Directory::new();
    let server = Server::start(Transport::Unix, &[live(&folder), battery(false)], &[]);
    let version = server.client().routine("live/version").unwrap();
    folder.write("live.idl", "Module live; Define x(");
    let output = server.run(&["reload"]);
    assert!(said(&output).contains("limits and addresses are read when a server starts"));
    assert!(said(&output).contains("live is served as before"), "{}", said(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("battery"), "the others are new");
    folder.write(
        "live.idl",
        "Module other; Define x(OUT int n) Calls \"C\" n = version();Library \"./liblive.so\";",
    );
    assert!(
        said(&server.run(&["reload", "live"])).contains("the file has the module \"other\" now")
    );
    assert_eq!(number(&version).unwrap(), 1);
}

#[test]
fn who_may_only_call_gives_no_orders() {
    let folder = Directory::new();
    let file = live(&folder);
    let server = Server::start(Transport::Tls, &[battery(false)], &[]);
    let orders: [&[&str]; 4] =
        [&["publish", words(&file)], &["withdraw", "battery"], &["reload"], &["drain"]];
    for order in orders {
        let output = server.run(order);
        assert!(said(&output).contains("may"), "{order:?}: {}", said(&output));
    }
    let error =
        server.client().administer(Order::Reload(None), Duration::from_secs(10)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(server.client().routine("touch").is_ok(), "nothing has changed");
}

/// One executable, so that calls stand in line.
fn one_by_one(folder: &Directory, options: &str, transport: Transport) -> Server {
    let manifest =
        folder.write("farcall.toml", &manifest(&format!("executables_max = 1\n{options}")));
    Server::start(transport, &[live(folder)], &["--manifest", words(&manifest)])
}

/// Calls until the server is gone, and counts what was right. What is not must say that the server
/// ends.
fn call_until_the_end(client: &Client, right: &AtomicUsize) {
    let routine = client.routine("live/late").unwrap();
    loop {
        match routine.call([("milliseconds", 1.into())]) {
            Ok(outputs) => {
                assert_eq!(outputs.scalar::<i32>("number").unwrap(), 1);
                right.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ShuttingDown, "{error}");
                assert!(error.is_retryable(), "{error}");
                return;
            }
        }
    }
}

#[test]
fn every_call_under_way_at_sigterm_ends_with_its_result() {
    for transport in [Transport::Unix, Transport::Tcp, Transport::Tls] {
        let folder = Directory::new();
        let mut server = one_by_one(&folder, "", transport);
        let client = server.client();
        let late = client.routine("live/late").unwrap();
        let start = |_| late.start([("milliseconds", 100.into())], &watched()).unwrap();
        let right: [AtomicUsize; 3] = Default::default();
        std::thread::scope(|scope| {
            let server = &server;
            let callers = right
                .each_ref()
                .map(|right| scope.spawn(|| call_until_the_end(&server.client(), right)));
            assert!(
                eventually(|| right.iter().all(|right| right.load(Ordering::Relaxed) > 0)),
                "all callers call"
            );
            let mut running: Vec<_> = (0..6).map(start).collect();
            // They are with the server, one of them with the executable.
            running.iter_mut().for_each(|call| drop(first_news(call)));
            server.signal("-TERM");
            for call in running {
                let outputs = call.wait().unwrap_or_else(|error| panic!("{transport:?}: {error}"));
                assert_eq!(outputs.scalar::<i32>("number").unwrap(), 1);
            }
            callers.into_iter().for_each(|caller| caller.join().unwrap());
        });
        assert_eq!(server.exit_code(), Some(0), "{transport:?}: {}", server.log());
        assert!(server.processes().is_empty(), "nothing is left");
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let folder = Directory::new();
    let mut server = one_by_one(&folder, "", Transport::Unix);
    let client = server.client();
    let late = client.routine("live/late").unwrap();
    let mut running = late.start([("milliseconds", 300_000.into())], &watched()).unwrap();
    until_begun(&mut running);
    server.signal("-TERM");
    assert!(eventually(|| server.log().contains("a second signal stops it at once")));
    assert_eq!(
        late.call([("milliseconds", 1.into())]).err().unwrap().kind(),
        ErrorKind::ShuttingDown
    );
    server.signal("-TERM");
    let error = running.wait().err().unwrap();
    assert_eq!(
        (error.kind(), error.is_retryable()),
        (ErrorKind::ShuttingDown, false),
        "it had begun: {error}"
    );
    assert_eq!(server.exit_code(), Some(1));
    assert!(eventually(|| server.log().contains("a second signal arrived")), "{}", server.log());
}

#[test]
fn draining_takes_no_longer_than_it_may() {
    let folder = Directory::new();
    let mut server = one_by_one(&folder, "drain_ms = 300", Transport::Unix);
    let client = server.client();
    let late = client.routine("live/late").unwrap();
    let mut running = late.start([("milliseconds", 300_000.into())], &watched()).unwrap();
    until_begun(&mut running);
    let output = server.run(&["drain"]);
    assert!(said(&output).contains("the time limit passed"), "{}", said(&output));
    assert_eq!(running.wait().err().unwrap().kind(), ErrorKind::ShuttingDown);
    assert_eq!(server.exit_code(), Some(1));
}

#[test]
fn a_server_without_calls_needs_no_time_to_drain() {
    let folder = Directory::new();
    let mut server = one_by_one(&folder, "", Transport::Unix);
    good(&server.run(&["drain", "--timeout", "0"]));
    assert_eq!(server.exit_code(), Some(0), "{}", server.log());
}

#[test]
fn drain_answers_when_the_last_call_is_over() {
    let folder = Directory::new();
    let mut server = one_by_one(&folder, "", Transport::Unix);
    let client = server.client();
    let late = client.routine("live/late").unwrap();
    let begun = Instant::now();
    let mut running = late.start([("milliseconds", 700.into())], &watched()).unwrap();
    until_begun(&mut running);
    good(&server.run(&["drain", "--timeout", "30"]));
    assert!(
        begun.elapsed() >= Duration::from_millis(700),
        "the call cannot be over: {:?}",
        begun.elapsed()
    );
    assert_eq!(running.wait().unwrap().scalar::<i32>("number").unwrap(), 1);
    assert_eq!(server.exit_code(), Some(0), "{}", server.log());
}
