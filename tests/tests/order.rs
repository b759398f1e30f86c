//! Which waiting call is next, and the processors that calls take.

use std::path::PathBuf;
use std::time::Duration;

use farcall_client::{Argument, CallOptions, Client, HoldOptions, PendingCall, Routine};
use farcall_tests::{
    Directory, Server, Transport, authority, compile, eventually, manifest, manifest_of, nested,
    until_begun, watched,
};
use farcall_wire::Stage;

const IDL: &str = "Module order; Library \"./liborder.so\";
Define late(IN int milliseconds, OUT int number) Calls \"C\" number = late(milliseconds);
Define wide(IN int milliseconds, OUT int number) Processors 2 Calls \"C\" number = late(milliseconds);
Define huge(IN int milliseconds, OUT int number) Processors 99 Calls \"C\" number = late(milliseconds);
Define work(IN int milliseconds, OUT int number) Complexity milliseconds * 1000000
    Calls \"C\" number = late(milliseconds);";

struct Ordered {
    server: Server,
    _folder: Directory,
}

impl Ordered {
    fn new(transport: Transport, options: &str) -> Ordered {
        let folder = Directory::new();
        let arguments = ["-shared", "-fPIC", "-DVERSION=7"];
        compile("version.c", &folder.0.join("liborder.so"), &arguments);
        let module = folder.write("order.idl", IDL);
        let manifest = folder.write("farcall.toml", &manifest(options));
        let manifest = ["--manifest", manifest.to_str().unwrap(), "--log-level", "warn"];
        Ordered { server: Server::start(transport, &[module], &manifest), _folder: folder }
    }

    fn enter_as(&self, user: &str) -> Client {
        let file = PathBuf::from(authority(&self.server.authority(), &["user", user]));
        let address = self.server.address().parse().unwrap();
        Client::connect_to(&address, Some(file), Duration::from_secs(10)).unwrap()
    }
}

fn start(routine: &Routine, milliseconds: i64) -> PendingCall {
    routine.start([("milliseconds", milliseconds.into())], &CallOptions::default()).unwrap()
}

fn call(routine: &Routine, milliseconds: i64) {
    let outputs = routine.call([("milliseconds", milliseconds.into())]).unwrap();
    assert_eq!(outputs.scalar::<i32>("number").unwrap(), 7);
}

/// Open calls at this stage.
fn at(client: &Client, stage: Stage) -> Vec<String> {
    let status = client.status(Duration::from_secs(10)).unwrap();
    status.calls.into_iter().filter(|call| call.stage == stage).map(|call| call.routine).collect()
}

#[test]
fn ten_thousand_calls_of_one_user_do_not_delay_another() {
    const CALLS: usize = 10_000;
    let ordered = Ordered::new(Transport::Tls, "executables_max = 1");
    let anna = ordered.server.client();
    let late = anna.routine("late").unwrap();
    let mut calls: Vec<PendingCall> = (0..CALLS).map(|_| start(&late, 5)).collect();
    let bert = ordered.enter_as("bert");
    let his = bert.routine("late").unwrap();
    assert!(eventually(
        || anna.status(Duration::from_secs(10)).unwrap().calls_open as usize > CALLS / 2
    ));
    for _ in 0..5 {
        call(&his, 1);
    }
    // With one line for all he would have waited for each of hers.
    assert!(
        calls[CALLS - 1].poll().unwrap().is_none() && calls[CALLS / 2].poll().unwrap().is_none()
    );
    drop(calls);
}

#[test]
fn a_call_waits_for_its_processors_and_those_behind_it_wait_too() {
    let ordered = Ordered::new(Transport::Unix, "executables_max = 3\nprocessors_max = 2");
    let client = ordered.server.client();
    let late = client.routine("late").unwrap();
    let wide = client.routine("wide").unwrap();
    // Three executables that are warm: what is waited for is processors.
    call(&wide, 1);
    let warm: Vec<PendingCall> = (0..3).map(|_| start(&late, 200)).collect();
    warm.into_iter().for_each(|call| drop(call.wait().unwrap()));
    let mut first = late.start([("milliseconds", 600.into())], &watched()).unwrap();
    until_begun(&mut first);
    let second = start(&wide, 1);
    assert!(eventually(|| at(&client, Stage::Waiting) == ["order/wide"]));
    let third = start(&late, 1);
    assert!(eventually(|| at(&client, Stage::Waiting) == ["order/wide", "order/late"]));
    assert_eq!(at(&client, Stage::Running), ["order/late"]);
    for call in [first, second, third] {
        assert_eq!(call.wait().unwrap().scalar::<i32>("number").unwrap(), 7);
    }
}

#[test]
fn a_call_that_wants_more_than_all_takes_all_and_the_log_says_so_once() {
    let ordered = Ordered::new(Transport::Unix, "executables_max = 2\nprocessors_max = 2");
    let client = ordered.server.client();
    let huge = client.routine("huge").unwrap();
    (0..3).for_each(|_| call(&huge, 1));
    let words = "order/huge";
    assert!(eventually(|| ordered.server.log().contains(words)));
    let log = ordered.server.log();
    assert!(log.contains("it wants 99 processors, and calls may have 2 together"), "{log}");
    assert_eq!(log.matches("wants 99").count(), 1, "{log}");
}

#[test]
fn the_shortest_is_next_where_the_queue_says_so() {
    let ordered = Ordered::new(Transport::Unix, "executables_max = 1\nqueue = \"shortest-first\"");
    let client = ordered.server.client();
    let work = client.routine("work").unwrap();
    call(&work, 20);
    call(&work, 200);
    let mut first = work.start([("milliseconds", 400.into())], &watched()).unwrap();
    until_begun(&mut first);
    let mut long = start(&work, 2000);
    let short = start(&work, 10);
    assert!(eventually(|| at(&client, Stage::Waiting).len() == 2));
    first.wait().unwrap();
    short.wait().unwrap();
    assert!(long.poll().unwrap().is_none(), "the longer one came first, and was passed");
    drop(long);
}

/// Where they kept their processors, they would wait for one another for ever.
#[test]
fn routines_that_wait_for_calls_of_their_own_give_processors_back() {
    let folder = Directory::new();
    let options = "executables_max = 2\nprocessors_max = 1";
    let manifest = folder.write("farcall.toml", &manifest(options));
    let manifest = ["--manifest", manifest.to_str().unwrap()];
    let server = Server::start(Transport::Unix, &nested(false), &manifest);
    let client = server.client();
    let ask = client.routine("outer/ask").unwrap();
    let start = || {
        let arguments = [("name", Argument::from("inner/twice")), ("n", 21.into())];
        ask.start(arguments, &CallOptions::default()).unwrap()
    };
    let calls: Vec<PendingCall> = (0..20).map(|_| start()).collect();
    for call in calls {
        assert_eq!(call.wait().unwrap().scalar::<i32>("m").unwrap(), 42);
    }
}

#[test]
fn a_queue_that_does_not_exist_is_named_with_those_that_do() {
    let folder = Directory::new();
    let manifest = folder.write("farcall.toml", &manifest("queue = \"shortest\""));
    let output = std::process::Command::new(farcall_tests::program())
        .args(["serve", "--listen", "unix:nowhere.sock", "--manifest"])
        .arg(&manifest)
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("there is no queue \"shortest\""), "{said}");
    assert!(said.contains("shortest-first"), "{said}");
}

const THREADS_IDL: &str = "Module threads; Library \"./libthreads.so\";
Define count(OUT int number) Calls \"C\" number = threads();
Define both(OUT int number) Processors 2 Calls \"C\" number = threads();";
/// Objects of the same.
const CREW_IDL: &str = "Module crew; Library \"./libthreads.so\";
Globals { int threads(void); }
DefClass Crew {
    DefMethod count(OUT int number) { *number = threads(); }
    DefMethod both(OUT int number) Processors 2 { *number = threads(); }
}";

/// A server of routines that say how many threads OpenMP runs, with these options of the spawner.
fn threads(spawner: &str) -> (Server, Directory) {
    let folder = Directory::new();
    let library = folder.0.join("libthreads.so");
    compile("threads.c", &library, &["-shared", "-fPIC", "-fopenmp"]);
    let modules = [folder.write("threads.idl", THREADS_IDL), folder.write("crew.idl", CREW_IDL)];
    let options = "executables_max = 1\nprocessors_max = 2";
    let manifest = folder.write("farcall.toml", &manifest_of(options, spawner));
    let manifest = ["--manifest", manifest.to_str().unwrap()];
    (Server::start(Transport::Unix, &modules, &manifest), folder)
}

#[test]
fn threads_travel_with_each_call() {
    let (server, _folder) = threads("");
    let client = server.client();
    let number = |name: &str| -> i32 {
        client.routine(name).unwrap().call([]).unwrap().scalar("number").unwrap()
    };
    assert_eq!(number("both"), 2, "as its interface says");
    for _ in 0..3 {
        assert_eq!((number("count"), number("both")), (1, 2), "in one process");
    }
}

/// Objects are processes of their own, whose libraries are told as others are.
#[test]
fn threads_travel_with_calls_of_objects() {
    let (server, _folder) = threads("");
    let client = server.client();
    let hold = client.hold("crew/Crew", 1, &HoldOptions::default()).unwrap();
    assert!(hold.ready(Some(Duration::from_secs(20))).unwrap());
    let options = CallOptions { on: Some(hold.first()), ..CallOptions::default() };
    let number = |name: &str| -> i32 {
        let method = client.routine(&format!("crew/Crew.{name}")).unwrap();
        method.call_with([], &options).unwrap().scalar("number").unwrap()
    };
    assert_eq!(number("both"), 2, "as its interface says");
    assert_eq!((number("count"), number("both")), (1, 2), "in one process");
}

#[test]
fn threads_that_the_configuration_sets_stay() {
    let (server, _folder) = threads("limits.threads = 3");
    let client = server.client();
    for name in ["count", "both", "count"] {
        let outputs = client.routine(name).unwrap().call([]).unwrap();
        assert_eq!(outputs.scalar::<i32>("number").unwrap(), 3, "{name}");
    }
}
