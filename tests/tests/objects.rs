//! Objects and arrays of function handles, from a client to processes of their own, and all the
//! ways in which they end.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use farcall_client::{
    Argument, Array, CallOptions, Client, Error, ErrorKind, Hold, HoldOptions, ObjectId,
    ObjectState, Order, Outputs,
};
use farcall_link::stream::Proof;
use farcall_tests::{
    Directory, Server, Transport, alive, authority, eventually, manifest_of, objects,
};

const PATIENCE: Duration = Duration::from_secs(20);

farcall_tests::over_all! {
    state_stays_and_calls_run_in_order
    an_end_is_told_as_it_went
}

/// A server with the classes.
struct World {
    server: Server,
    client: Client,
    _folder: Directory,
}

impl World {
    fn new(options: &str) -> World {
        World::over(Transport::Unix, options)
    }

    fn over(transport: Transport, options: &str) -> World {
        let folder = Directory::new();
        let manifest = folder.write("farcall.toml", &manifest_of(options, ""));
        let server =
            Server::start(transport, &[objects()], &["--manifest", manifest.to_str().unwrap()]);
        let client = server.client();
        World { server, client, _folder: folder }
    }

    fn hold(&self, class: &str) -> Hold {
        hold(&self.client, class)
    }

    fn objects(&self) -> Vec<ObjectState> {
        self.client.status(PATIENCE).unwrap().objects.iter().map(|one| one.state).collect()
    }
}

fn hold(client: &Client, class: &str) -> Hold {
    let hold = client.hold(&format!("objects/{class}"), 1, &HoldOptions::default()).unwrap();
    assert!(hold.ready(Some(PATIENCE)).unwrap(), "{class} is never ready");
    hold
}

fn on(id: ObjectId) -> CallOptions {
    CallOptions { on: Some(id), timeout: Some(PATIENCE), ..CallOptions::default() }
}

fn call<'a>(
    client: &Client,
    id: ObjectId,
    method: &str,
    arguments: impl IntoIterator<Item = (&'static str, Argument<'a>)>,
) -> Result<Outputs, Error> {
    client.routine(&format!("objects/{method}")).unwrap().call_with(arguments, &on(id))
}

fn fill(client: &Client, id: ObjectId, amount: f64) -> f64 {
    call(client, id, "Tank.fill", [("amount", amount.into())]).unwrap().scalar("total").unwrap()
}

fn process(client: &Client, id: ObjectId) -> u32 {
    let number: i32 = call(client, id, "Tank.process", []).unwrap().scalar("number").unwrap();
    u32::try_from(number).unwrap()
}

fn kind(outcome: Result<Outputs, Error>) -> (ErrorKind, String) {
    let error = outcome.map(|_| "it returned").unwrap_err();
    (error.kind(), error.to_string())
}

fn state_stays_and_calls_run_in_order(transport: Transport) {
    let world = World::over(transport, "");
    let one = world.hold("Tank");
    let two = world.hold("Tank");
    // `_initialize` has run, and one object is not the other.
    assert_eq!(
        (fill(&world.client, one.first(), 1.5), fill(&world.client, two.first(), 1.0)),
        (3.5, 3.0)
    );
    let method = world.client.routine("objects/Tank.fill").unwrap();
    let calls: Vec<_> = (0..50)
        .map(|_| method.start([("amount", 1.0.into())], &on(one.first())).unwrap())
        .collect();
    let totals: Vec<f64> =
        calls.into_iter().map(|call| call.wait().unwrap().scalar("total").unwrap()).collect();
    assert_eq!(totals, (0..50).map(|index| 4.5 + f64::from(index)).collect::<Vec<_>>());
    // Arrays, also those that are longer than a message.
    let values: Vec<f64> = (0..100_000).map(f64::from).collect();
    let outputs =
        call(&world.client, two.first(), "Tank.hold", [("values", Array::vector(&values).into())])
            .unwrap();
    assert_eq!(outputs.array::<f64>("values").unwrap()[..2], [3.0, 1.0]);
    assert_eq!(fill(&world.client, two.first(), 0.0), 99_999.0);
    let called: i32 =
        call(&world.client, one.first(), "Tank.called", []).unwrap().scalar("number").unwrap();
    assert_eq!(called, 51);
    let first = process(&world.client, one.first());
    let second = process(&world.client, two.first());
    assert_ne!(first, second);
    let status = world.client.status(PATIENCE).unwrap();
    assert_eq!(
        (status.objects_held, status.objects[0].calls, status.objects[0].pid),
        (2, 53, Some(first))
    );
    one.release(Some(PATIENCE)).unwrap();
    assert!(!alive(first) && alive(second), "a release is answered when the process is gone");
    drop(two);
    assert!(eventually(|| !alive(second) && world.objects().is_empty()));
}

/// Names of one class are not those of another, nor of C++, and whoever ends up in one process sees
/// his own.
#[test]
fn classes_share_no_names() {
    let world = World::new("");
    let number = |hold: &Hold, method: &str| -> i32 {
        call(&world.client, hold.first(), method, []).unwrap().scalar("value").unwrap()
    };
    let other = world.hold("Other");
    let plus = world.hold("Plus");
    let tank = world.hold("Tank");
    assert_eq!(
        (number(&other, "Other.get"), number(&plus, "Plus.get"), number(&plus, "Plus.get")),
        (12, 3, 4)
    );
    call(&world.client, other.first(), "Other.set", [("value", 1.into())]).unwrap();
    assert_eq!((number(&other, "Other.get"), fill(&world.client, tank.first(), 0.0)), (6, 2.0));
}

/// As in Ninf-G, each member of an array of function handles is a process, whose static variables
/// live on.
#[test]
fn members_of_an_array_are_processes() {
    let world = World::new("");
    let hold = world.client.hold("count", 20, &HoldOptions::default()).unwrap();
    let routine = world.client.routine("objects/count").unwrap();
    let count = |id| -> i32 { routine.call_with([], &on(id)).unwrap().scalar("number").unwrap() };
    // Without waiting for them to be ready.
    let ids: Vec<ObjectId> = hold.ids().collect();
    assert_eq!(ids.iter().map(|id| count(*id)).sum::<i32>(), 20);
    assert!(hold.is_ready().unwrap());
    assert_eq!((count(ids[19]), count(ids[19]), count(ids[0])), (2, 3, 2));
    assert_eq!(
        routine.call([]).unwrap().scalar::<i32>("number").unwrap(),
        1,
        "those of the pool are others"
    );
    assert_eq!(world.objects().len(), 20);
    let lost = world.client.routine("objects/Tank.called").unwrap();
    let (kind, words) = kind(lost.call_with([], &on(ids[0])));
    assert!(kind == ErrorKind::InvalidArgument && words.contains("objects/count"), "{words}");
}

#[test]
fn a_class_that_takes_a_size_is_initialized_first_and_once() {
    let world = World::new("");
    let row = world.hold("Row");
    let initialize =
        |n: i32| call(&world.client, row.first(), "Row._initialize", [("n", n.into())]);
    let get = || call(&world.client, row.first(), "Row.get", [("n", 3.into())]);
    let (early, words) = kind(get());
    assert!(
        early == ErrorKind::InvalidArgument
            && words.contains("call first: objects/Row._initialize"),
        "{words}"
    );
    initialize(3).unwrap();
    call(&world.client, row.first(), "Row.add", [("x", 0.5.into())]).unwrap();
    assert_eq!(get().unwrap().array::<f64>("values").unwrap(), [1.5; 3]);
    assert_eq!(kind(initialize(4)).0, ErrorKind::InvalidArgument);
    row.release(Some(PATIENCE)).unwrap();
    let hooks = ["Tank._initialize", "Tank._finalize", "Row._finalize"];
    let called = hooks.map(|name| world.client.routine(&format!("objects/{name}")).map(drop));
    assert!(
        called
            .iter()
            .all(|found| found.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound))
    );
}

#[test]
fn an_object_that_cannot_begin_is_none() {
    let world = World::new("");
    let started = |class: &str, start: Option<Duration>| {
        let options = HoldOptions { start, ..HoldOptions::default() };
        let hold = world.client.hold(&format!("objects/{class}"), 3, &options).unwrap();
        let waiting = world.client.routine(&format!("objects/{class}.get")).unwrap();
        let call = waiting.start([], &on(hold.first())).unwrap();
        let error = hold.ready(Some(PATIENCE)).unwrap_err();
        assert_eq!(call.wait().map(drop).unwrap_err().kind(), error.kind());
        assert_eq!(hold.is_ready().unwrap_err().kind(), error.kind(), "and it stays so");
        assert_eq!(kind(waiting.call_with([], &on(hold.first()))).0, ErrorKind::NotFound);
        hold.release(Some(PATIENCE)).unwrap();
        (error.kind(), error.to_string())
    };
    let (crash, words) = started("Stillborn", None);
    assert!(
        crash == ErrorKind::Unavailable
            && words.contains("SIGABRT")
            && words.contains("no such tank"),
        "{words}"
    );
    let begun = Instant::now();
    assert_eq!(started("Late", Some(Duration::from_millis(300))).0, ErrorKind::TimedOut);
    assert!(begun.elapsed() < PATIENCE);
    assert!(eventually(|| world.objects().is_empty()), "{:?}", world.objects());
    // Killed by somebody else while it begins.
    let hold = world.client.hold("objects/Late", 1, &HoldOptions::default()).unwrap();
    let pid = || world.client.status(PATIENCE).unwrap().objects.first().and_then(|one| one.pid);
    assert!(eventually(|| pid().is_some()));
    std::thread::sleep(Duration::from_millis(200));
    kill(pid().unwrap());
    let error = hold.ready(Some(PATIENCE)).unwrap_err();
    assert!(
        error.kind() == ErrorKind::Unavailable && error.to_string().contains("SIGKILL"),
        "{error}"
    );
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

fn an_end_is_told_as_it_went(transport: Transport) {
    let end = |world: &World, how: i32| {
        let tank = world.hold("Tank");
        call(&world.client, tank.first(), "Tank.ends", [("how", how.into())]).unwrap();
        tank.release(Some(PATIENCE)).map_err(|error| (error.kind(), error.to_string()))
    };
    let world = World::over(transport, "");
    end(&world, 0).unwrap();
    let (crashed, words) = end(&world, 1).unwrap_err();
    assert!(crashed == ErrorKind::RoutineCrashed && words.contains("SIGSEGV"), "{words}");
    assert!(world.objects().is_empty(), "it is gone however it went");
    let world = World::over(transport, "stop_grace_ms = 700");
    let (late, words) = end(&world, 2).unwrap_err();
    assert!(late == ErrorKind::TimedOut && words.contains("stop_grace_ms: 700"), "{words}");
    assert!(world.objects().is_empty(), "it is gone however it went");
}

#[test]
fn a_crash_ends_an_object_and_says_so_until_it_is_released() {
    let world = World::new("");
    for (method, expected) in
        [("Tank.crash", ErrorKind::RoutineCrashed), ("Tank.leave", ErrorKind::RoutineExited)]
    {
        let one = world.hold("Tank");
        let two = world.hold("Tank");
        let crash = world.client.routine(&format!("objects/{method}")).unwrap();
        let crash = crash.start([], &on(one.first())).unwrap();
        // Idempotent or not: its state is gone.
        let fill = world.client.routine("objects/Tank.fill").unwrap();
        let behind = fill.start([("amount", 1.0.into())], &on(one.first())).unwrap();
        assert_eq!(kind(crash.wait()).0, expected);
        assert_eq!(kind(behind.wait()).0, ErrorKind::NotFound);
        let (after, words) = kind(fill.call_with([("amount", 1.0.into())], &on(one.first())));
        assert!(after == ErrorKind::NotFound && words.contains("the object has ended"), "{words}");
        assert_eq!(self::fill(&world.client, two.first(), 1.0), 3.0, "others go on");
        assert_eq!(world.objects(), [ObjectState::Ended, ObjectState::Idle]);
        one.release(Some(PATIENCE)).unwrap();
        two.release(Some(PATIENCE)).unwrap();
    }
    // Killed between two calls.
    let tank = world.hold("Tank");
    kill(process(&world.client, tank.first()));
    assert!(eventually(|| world.objects() == [ObjectState::Ended]));
    let (after, words) = kind(call(&world.client, tank.first(), "Tank.called", []));
    assert!(after == ErrorKind::NotFound && words.contains("SIGKILL"), "{words}");
}

#[test]
fn a_call_that_is_cancelled_or_overdue_ends_its_object() {
    let world = World::new("");
    let rest = world.client.routine("objects/Tank.rest").unwrap();
    let tank = world.hold("Tank");
    let running = rest.start([("milliseconds", 60_000.into())], &on(tank.first())).unwrap();
    assert!(eventually(|| world.objects() == [ObjectState::Busy]));
    let waiting = rest.start([("milliseconds", 60_000.into())], &on(tank.first())).unwrap();
    waiting.cancel().unwrap();
    assert_eq!(kind(waiting.wait()).0, ErrorKind::Cancelled);
    assert_eq!(world.objects(), [ObjectState::Busy], "one that waits costs the object nothing");
    running.cancel().unwrap();
    assert_eq!(kind(running.wait()).0, ErrorKind::Cancelled);
    let late = world.hold("Tank");
    let options = CallOptions { timeout: Some(Duration::from_millis(100)), ..on(late.first()) };
    assert_eq!(
        kind(rest.call_with([("milliseconds", 60_000.into())], &options)).0,
        ErrorKind::TimedOut
    );
    assert!(eventually(|| world.objects() == [ObjectState::Ended, ObjectState::Ended]));
}

#[test]
fn a_lost_owner_leaves_a_lease_and_a_goodbye_none() {
    let world = World::new("");
    let (other, socket) = cuttable(&world.server);
    let lease = HoldOptions { lease: Duration::from_secs(3), ..HoldOptions::default() };
    let kept = other.hold("objects/Tank", 2, &lease).unwrap();
    assert!(kept.ready(Some(PATIENCE)).unwrap());
    let [first, second] = [kept.first(), kept.ids().nth(1).unwrap()];
    assert_eq!(fill(&other, first, 1.0), 3.0);
    let pids = [process(&other, first), process(&other, second)];
    socket.shutdown(Shutdown::Both).unwrap();
    assert!(eventually(|| world
        .client
        .status(PATIENCE)
        .unwrap()
        .objects
        .iter()
        .all(|one| one.lease_left_ns.is_some())));
    assert_eq!(fill(&world.client, first, 1.0), 4.0, "the same user goes on with it");
    assert!(eventually(|| !alive(pids[1])), "the lease of the other is over");
    assert_eq!(kind(call(&world.client, second, "Tank.called", [])).0, ErrorKind::NotFound);
    std::thread::sleep(Duration::from_millis(3200));
    assert!(alive(pids[0]), "no lease runs while its owner is there");
    world.client.release(first, 1, Some(PATIENCE)).unwrap();
    let brief = world.server.connect().unwrap();
    let tank = hold(&brief, "Tank");
    let left = hold(&brief, "Tank");
    let options = HoldOptions { detached: true, ..HoldOptions::default() };
    let detached = brief.hold("objects/Tank", 1, &options).unwrap();
    assert!(detached.ready(Some(PATIENCE)).unwrap());
    let gone = [tank.first(), left.first()].map(|id| process(&brief, id));
    let stays = detached.first();
    left.detach();
    drop((tank, detached, brief));
    assert!(
        eventually(|| gone.iter().all(|pid| !alive(*pid))),
        "a goodbye ends what is not detached"
    );
    assert_eq!(fill(&world.client, stays, 0.0), 2.0);
}

/// A client whose connection can be ended from outside, without a goodbye: as that of a program
/// that is killed.
fn cuttable(server: &Server) -> (Client, UnixStream) {
    let socket = UnixStream::connect(server.address().trim_start_matches("unix:")).unwrap();
    let stream =
        farcall_transport_unix::from_descriptor(socket.try_clone().unwrap().into(), Proof::Address)
            .unwrap();
    (Client::over(stream, None, server.address().to_owned(), PATIENCE).unwrap(), socket)
}

#[test]
fn an_administrator_deletes_an_object_while_a_call_runs() {
    let world = World::new("");
    let tank = world.hold("Tank");
    let rest = world.client.routine("objects/Tank.rest").unwrap();
    let running = rest.start([("milliseconds", 60_000.into())], &on(tank.first())).unwrap();
    assert!(eventually(|| world.objects() == [ObjectState::Busy]));
    world.client.administer(Order::Delete(vec![tank.first()]), PATIENCE).unwrap();
    let (ended, words) = kind(running.wait());
    assert!(ended == ErrorKind::Cancelled && words.contains("administrator"), "{words}");
    assert!(world.objects().is_empty());
    let error = world.client.administer(Order::Delete(vec![tank.first()]), PATIENCE).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn limits_bound_what_is_held() {
    let world = World::new("objects_max = 5\nobjects_of_one_max = 3\nobject_lease_ms_max = 1000");
    let held = |count: u32, lease: u64| {
        let options = HoldOptions { lease: Duration::from_millis(lease), ..HoldOptions::default() };
        let hold = world.client.hold("objects/count", count, &options).unwrap();
        hold.ready(Some(PATIENCE)).map(|_| hold)
    };
    let three = held(3, 1000).unwrap();
    let error = held(1, 1000).map(drop).unwrap_err();
    assert!(error.kind() == ErrorKind::LimitExceeded && error.is_retryable(), "{error}");
    assert!(error.to_string().contains("objects_of_one_max: 3"), "{error}");
    assert!(held(0, 1).is_err());
    three.release(Some(PATIENCE)).unwrap();
    let error = held(1, 1001).map(drop).unwrap_err().to_string();
    assert!(error.contains("object_lease_ms_max: 1000"), "{error}");
    held(3, 1000).unwrap();
    let none = World::new("objects_max = 0");
    let error =
        none.client.hold("objects/count", 1, &HoldOptions::default()).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

/// An id of somebody else reads as one of nobody.
#[test]
fn nobody_calls_or_ends_the_objects_of_others() {
    let world = World::over(Transport::Tls, "");
    let file = PathBuf::from(authority(&world.server.authority(), &["user", "bert"]));
    let bert =
        Client::connect_to(&world.server.address().parse().unwrap(), Some(file), PATIENCE).unwrap();
    let tank = world.hold("Tank");
    let strange = kind(call(&bert, tank.first(), "Tank.called", [])).1;
    let missing = kind(call(&bert, ObjectId([9; 16]), "Tank.called", [])).1;
    let without_id = |words: &str, id: ObjectId| {
        let start = words.find("call:").map_or(words.len(), |at| at);
        words[..start].replace(&id.to_string(), "ID")
    };
    assert_eq!(without_id(&strange, tank.first()), without_id(&missing, ObjectId([9; 16])));
    assert_eq!(
        bert.release(tank.first(), 1, Some(PATIENCE)).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert!(bert.status(PATIENCE).unwrap().objects.is_empty());
    assert_eq!(
        bert.administer(Order::Delete(vec![tank.first()]), PATIENCE).unwrap_err().kind(),
        ErrorKind::PermissionDenied
    );
    assert_eq!(fill(&world.client, tank.first(), 0.0), 2.0);
}

/// Objects go on with the publication that they came from, and new ones come from the new one.
#[test]
fn a_module_is_published_anew_while_objects_live() {
    let folder = Directory::new();
    let text = |value: i32| {
        format!(
            "Module moving; DefClass C {{ DefMethod get(OUT int value) {{ *value = {value}; }} }}"
        )
    };
    let file: PathBuf = folder.write("moving.idl", &text(1));
    let server = Server::start(Transport::Unix, std::slice::from_ref(&file), &[]);
    let client = server.client();
    let hold = |client: &Client| client.hold("moving/C", 1, &HoldOptions::default()).unwrap();
    let get = |client: &Client, hold: &Hold| -> i32 {
        client
            .routine("moving/C.get")
            .unwrap()
            .call_with([], &on(hold.first()))
            .unwrap()
            .scalar("value")
            .unwrap()
    };
    let old = hold(&client);
    assert_eq!(get(&client, &old), 1);
    folder.write("moving.idl", &text(2));
    client.administer(Order::Reload(None), PATIENCE * 3).unwrap();
    let new = hold(&client);
    assert_eq!((get(&client, &old), get(&client, &new)), (1, 2));
    client.administer(Order::Withdraw("moving".into()), PATIENCE).unwrap();
    assert_eq!((get(&client, &old), get(&client, &new)), (1, 2));
    assert!(hold(&client).ready(Some(PATIENCE)).is_err());
}

/// A server that is told to end lets calls end, and then ends objects in order; one that is killed
/// leaves nothing.
#[test]
fn objects_end_with_their_server() {
    let mut world = World::new("");
    let tank = world.hold("Tank");
    let pid = process(&world.client, tank.first());
    let rest = world.client.routine("objects/Tank.rest").unwrap();
    let running = rest.start([("milliseconds", 700.into())], &on(tank.first())).unwrap();
    let fill = world.client.routine("objects/Tank.fill").unwrap();
    let behind = fill.start([("amount", 1.0.into())], &on(tank.first())).unwrap();
    assert!(eventually(|| world.objects() == [ObjectState::Busy]));
    world.server.signal("-TERM");
    running.wait().unwrap();
    assert_eq!(behind.wait().unwrap().scalar::<f64>("total").unwrap(), 3.0);
    assert_eq!(world.server.exit_code(), Some(0));
    assert!(!alive(pid));
    drop(tank);

    let world = World::new("");
    let tank = world.hold("Tank");
    let pid = process(&world.client, tank.first());
    world.server.kill();
    assert!(eventually(|| !alive(pid)));
    assert_eq!(
        kind(call(&world.client, tank.first(), "Tank.process", [])).0,
        ErrorKind::ConnectionLost
    );
}

/// What a client that is killed held stays for its lease, and no longer.
#[test]
fn a_client_that_is_killed_leaves_its_objects_for_their_lease() {
    let world = World::new("");
    let (other, socket) = cuttable(&world.server);
    let lease = HoldOptions { lease: Duration::from_secs(3), ..HoldOptions::default() };
    let tank = other.hold("objects/Tank", 1, &lease).unwrap();
    assert!(tank.ready(Some(PATIENCE)).unwrap());
    let id = tank.first();
    let pid = process(&other, tank.first());
    let rest = other.routine("objects/Tank.rest").unwrap();
    let _running = rest.start([("milliseconds", 1000.into())], &on(id)).unwrap();
    assert!(eventually(|| world.objects() == [ObjectState::Busy]));
    socket.shutdown(Shutdown::Both).unwrap();
    // The call goes on alone, and the object is free after it.
    assert!(eventually(|| world.objects() == [ObjectState::Idle]) && alive(pid));
    assert!(eventually(|| world.objects().is_empty()) && !alive(pid));
}

/// `farcall objects` says what is held, and ends what it is told to.
#[test]
fn the_command_lists_and_ends_objects() {
    let world = World::new("");
    let run = |words: &[&str]| {
        let output = world.server.run(words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run(&["objects"]), "no objects\n");
    let tank = world.hold("Tank");
    let lost = world.hold("Tank");
    fill(&world.client, tank.first(), 1.0);
    let crash = kind(call(&world.client, lost.first(), "Tank.crash", []));
    assert_eq!(crash.0, ErrorKind::RoutineCrashed);
    let id = tank.first().to_string();
    let table = run(&["objects"]);
    assert!(table.contains(&id) && table.contains("idle") && table.contains("SIGSEGV"), "{table}");
    let lines = run(&["objects", "--json"]);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((first["id"].as_str(), first["calls"].as_u64()), (Some(id.as_str()), Some(1)));
    assert_eq!(
        (first["name"].as_str(), first["state"].as_str()),
        (Some("objects/Tank"), Some("idle"))
    );
    run(&["objects", "--delete", &id, &lost.first().to_string()]);
    assert!(world.objects().is_empty());
    let again = world.server.run(&["objects", "--delete", &id]);
    assert_eq!(again.status.code(), Some(3), "{}", String::from_utf8_lossy(&again.stderr));
    assert_eq!(world.server.run(&["objects", "--delete", "abc"]).status.code(), Some(2));
}
