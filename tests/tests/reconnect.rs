//! Connections that are cut while calls are under way: they are made again, and no call is lost or
//! runs twice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use farcall_base::{Random, SeededRandom};
use farcall_client::{
    Argument, Array, CallOptions, Client, ConnectOptions, Error, ErrorKind, HoldOptions,
    PendingCall, Result, Routine, callback,
};
use farcall_tests::{Proxy, Server, Transport, Way, back, eventually, manifest_of};

const PATIENCE: Duration = Duration::from_secs(20);
/// Elements of an array that needs many frames.
const LONG: usize = 200_000;

/// A server of the routines in cuts.idl behind a network that breaks.
struct World {
    server: Server,
    proxy: Proxy,
    folder: PathBuf,
}

impl World {
    fn start(name: &str, transport: Transport) -> World {
        World::with(name, transport, "executables_max = 4")
    }

    fn with(name: &str, transport: Transport, options: &str) -> World {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("cuts-{name}-{transport:?}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        // What routines may write is apart from what is the server's.
        let open = folder.join("open");
        std::fs::create_dir_all(&open).unwrap();
        let file = folder.join("farcall.toml");
        std::fs::write(&file, manifest_of(options, &format!("modules.cuts.writable = [{open:?}]")))
            .unwrap();
        let idl = Path::new(env!("CARGO_MANIFEST_DIR")).join("routines/cuts.idl");
        let server =
            Server::start(transport, &[idl, back(false)], &["--manifest", file.to_str().unwrap()]);
        let proxy = Proxy::to(server.address());
        World { server, proxy, folder }
    }

    fn client(&self) -> Client {
        self.client_with(ConnectOptions::default())
    }

    fn client_with(&self, options: ConnectOptions) -> Client {
        let secret = self.server.token().map(Path::to_path_buf);
        let options = ConnectOptions { secret, timeout: PATIENCE, ..options };
        Client::connect_with(&self.proxy.address().parse().unwrap(), &options).unwrap()
    }

    fn start_call(
        &self,
        routine: &Routine,
        number: usize,
        pause_ms: i64,
        x: Vec<f64>,
    ) -> PendingCall {
        start(
            routine,
            &self.folder.join("open/marks"),
            number,
            pause_ms,
            x,
            &CallOptions::default(),
        )
    }

    /// How often each number was marked.
    fn marks(&self) -> BTreeMap<usize, usize> {
        let text = std::fs::read_to_string(self.folder.join("open/marks")).unwrap_or_default();
        let mut marks = BTreeMap::new();
        text.lines().for_each(|line| *marks.entry(line.parse().unwrap()).or_insert(0) += 1);
        marks
    }

    /// Looks after a call until it runs: its arguments leave while somebody waits.
    fn runs(&self, call: &mut PendingCall, number: usize) {
        assert!(eventually(|| {
            assert!(
                call.wait_for(Duration::from_millis(10)).unwrap().is_none(),
                "it is over already"
            );
            self.marks().contains_key(&number)
        }));
    }

    fn open_calls(&self) -> u64 {
        self.server.client().status(PATIENCE).unwrap().calls_open
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn start(
    routine: &Routine,
    file: &Path,
    number: usize,
    pause_ms: i64,
    x: Vec<f64>,
    options: &CallOptions,
) -> PendingCall {
    let file = Argument::Text(file.to_str().unwrap().into());
    // It stays for as long as the program: a call that is under way uses it.
    let x: &'static [f64] = Vec::leak(x);
    let arguments = [
        ("number", Argument::Integer(number as i64)),
        ("pause_us", (pause_ms * 1000).into()),
        ("file", file),
        ("x", Array::vector(x).into()),
    ];
    routine.start(arguments, options).unwrap()
}

fn numbers(count: usize, first: usize) -> Vec<f64> {
    (0..count).map(|index| (first + index) as f64).collect()
}

fn check(outcome: Result<farcall_client::Outputs>, x: &[f64], what: &str) {
    let outputs = outcome.unwrap_or_else(|error| panic!("{what}: {error}"));
    let y = outputs.array::<f64>("x").unwrap();
    assert!(
        y.len() == x.len() && y.iter().zip(x).all(|(y, x)| *y == 2.0 * x),
        "{what}: wrong numbers"
    );
}

/// Everything is cut after each of many numbers of bytes: in the call's head, within its arguments,
/// after them, in the answer's head, within the result and after it.
fn a_call_survives_a_cut_anywhere(transport: Transport) {
    let world = World::start("anywhere", transport);
    let client = world.client();
    let twice = client.routine("cuts/twice").unwrap();
    let bytes = 8 * LONG as u64;
    let mut random = SeededRandom::new(3);
    let mut points: Vec<(Way, u64)> = Vec::new();
    for way in [Way::Up, Way::Down] {
        points.extend(
            [0, 1, 8, 60, 200, bytes / 2, bytes - 1, bytes, bytes + 100].map(|point| (way, point)),
        );
        points.extend((0..8).map(|_| (way, random.next() % (bytes + 300))));
    }
    for (number, (way, point)) in points.into_iter().enumerate() {
        let x = numbers(LONG, number);
        world.proxy.cut_after(way, point);
        let call = world.start_call(&twice, number, 0, x.clone());
        check(call.wait(), &x, &format!("{transport:?}, {way:?} after {point}"));
        assert_eq!(
            world.marks().get(&number),
            Some(&1),
            "{transport:?}, {way:?} after {point}: it ran once"
        );
    }
    assert!(world.proxy.cuts() > 20, "{}", world.proxy.cuts());
}

/// The same while the routine runs, and when nothing is under way.
fn a_call_survives_a_cut_while_it_runs(transport: Transport) {
    let world = World::start("running", transport);
    let client = world.client();
    let twice = client.routine("cuts/twice").unwrap();
    for (number, count) in [0, 10, LONG].into_iter().enumerate() {
        let x = numbers(count, 1);
        let mut call = world.start_call(&twice, number, 600, x.clone());
        world.runs(&mut call, number);
        world.proxy.cut();
        check(call.wait(), &x, "cut while it runs");
        world.proxy.cut();
        std::thread::sleep(Duration::from_millis(50));
        let call = world.start_call(&twice, 100 + number, 0, x.clone());
        check(call.wait(), &x, "cut before it");
    }
    assert!(world.marks().values().all(|times| *times == 1), "{:?}", world.marks());
}

/// A thousand calls of several threads on one connection, which is cut every 50 ms, but not before
/// a call has ended since the last cut: where 50 ms are too few to come back in, none ever would.
fn no_call_is_lost_or_runs_twice(transport: Transport) {
    const THREADS: usize = 4;
    const CALLS: usize = 250;
    let world = World::start("storm", transport);
    let client = world.client();
    let twice = client.routine("cuts/twice").unwrap();
    let over = AtomicBool::new(false);
    let left = AtomicUsize::new(THREADS);
    let ended = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let world = &world;
        let twice = &twice;
        let over = &over;
        let left = &left;
        let ended = &ended;
        scope.spawn(move || {
            let mut seen = 0;
            while !over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(50));
                let now = ended.load(Ordering::Relaxed);
                if now > seen {
                    (seen, _) = (now, world.proxy.cut());
                }
            }
        });
        for thread in 0..THREADS {
            scope.spawn(move || {
                let end = Ending(over, left);
                for number in thread * CALLS..(thread + 1) * CALLS {
                    // Some are long, some take their time.
                    let x = numbers(if number % 25 == 0 { 20_000 } else { number % 700 }, number);
                    let pause = if number % 10 == 3 { 30 } else { 0 };
                    let call = world.start_call(twice, number, pause, x.clone());
                    check(call.wait(), &x, &format!("{transport:?}: call {number}"));
                    ended.fetch_add(1, Ordering::Relaxed);
                }
                drop(end);
            });
        }
    });
    let marks = world.marks();
    assert_eq!(marks.len(), THREADS * CALLS, "{transport:?}: every call ran");
    assert!(marks.values().all(|times| *times == 1), "{transport:?}: calls ran twice: {marks:?}");
    assert!(world.proxy.cuts() > 5, "{}", world.proxy.cuts());
    assert!(eventually(|| world.open_calls() == 0), "nothing is left");
}

/// A thread that ends, well or badly.
struct Ending<'a>(&'a AtomicBool, &'a AtomicUsize);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.fetch_or(
            self.1.fetch_sub(1, Ordering::Relaxed) == 1 || std::thread::panicking(),
            Ordering::Relaxed,
        );
    }
}

/// Methods of one object, one after the other, and an object that nobody calls meanwhile.
fn objects_stay_with_their_client(transport: Transport) {
    let world = World::start("objects", transport);
    let client = world.client();
    let lease = Duration::from_secs(3);
    let options = HoldOptions { lease, ..HoldOptions::default() };
    let hold = client.hold("cuts/Sum", 2, &options).unwrap();
    assert!(hold.ready(Some(PATIENCE)).unwrap());
    let ids: Vec<_> = hold.ids().collect();
    let add = client.routine("cuts/Sum.add").unwrap();
    let mut expected = 0;
    for number in 1..=20 {
        let arguments = [("number", number.into()), ("pause_us", 10_000.into())];
        let call = add
            .start(arguments, &CallOptions { on: Some(ids[0]), ..CallOptions::default() })
            .unwrap();
        std::thread::sleep(Duration::from_millis(number as u64 % 4 * 5));
        world.proxy.cut();
        expected += i64::from(number);
        assert_eq!(call.wait().unwrap().scalar::<i64>("total").unwrap(), expected, "{transport:?}");
    }
    // The lease of the other began to run with each cut, and ended when its owner was there again.
    std::thread::sleep(lease + Duration::from_secs(1));
    let arguments = [("number", 7.into()), ("pause_us", 0.into())];
    let outputs = add
        .call_with(arguments, &CallOptions { on: Some(ids[1]), ..CallOptions::default() })
        .unwrap();
    assert_eq!(outputs.scalar::<i64>("total").unwrap(), 7);
    world.proxy.cut();
    hold.release(Some(PATIENCE)).unwrap();
}

farcall_tests::over_networks! {
    a_call_survives_a_cut_anywhere
    a_call_survives_a_cut_while_it_runs
    no_call_is_lost_or_runs_twice
    objects_stay_with_their_client
}

fn failed(outcome: Result<farcall_client::Outputs>) -> Error {
    outcome.err().expect("the call fails")
}

/// While the connection is lost, a deadline passes in time, a call is cancelled at once, and new
/// calls wait.
#[test]
fn cancel_and_deadlines_work_while_it_is_lost() {
    let world = World::start("meanwhile", Transport::Tcp);
    let client = world.client();
    let twice = client.routine("cuts/twice").unwrap();
    let options = |timeout| CallOptions { timeout: Some(timeout), ..CallOptions::default() };
    let mut cancelled = world.start_call(&twice, 2, 60_000, numbers(LONG, 0));
    world.runs(&mut cancelled, 2);
    let mut waits = world.start_call(&twice, 3, 5000, numbers(3, 0));
    world.runs(&mut waits, 3);
    let mut late = start(
        &twice,
        &world.folder.join("open/marks"),
        1,
        60_000,
        numbers(3, 0),
        &options(Duration::from_secs(3)),
    );
    world.runs(&mut late, 1);
    world.proxy.close(true);
    world.proxy.cut();
    // Else each would end with the loss, when the client has tried for long enough to come back.
    let error = failed(late.wait());
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    cancelled.cancel().unwrap();
    let error = failed(cancelled.wait());
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    let error = failed(twice.call_with(
        [
            ("number", 4.into()),
            ("pause_us", 0.into()),
            ("file", "".into()),
            ("x", Array::vector(&[0.0]).into()),
        ],
        &options(Duration::from_millis(800)),
    ));
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    std::thread::scope(|scope| {
        let new = scope.spawn(|| world.start_call(&twice, 5, 0, numbers(LONG, 5)).wait());
        std::thread::sleep(Duration::from_millis(200));
        world.proxy.close(false);
        check(new.join().unwrap(), &numbers(LONG, 5), "it waited");
    });
    check(waits.wait(), &numbers(3, 0), "it went on");
    // Those that nobody wants end at the server, too, as soon as it hears so.
    assert!(eventually(|| world.open_calls() == 0), "{}", world.open_calls());
    assert_eq!(world.marks(), BTreeMap::from([(1, 1), (2, 1), (3, 1), (5, 1)]));
}

/// The server is killed, and is there again when its client comes back: it knows nothing of the
/// call, which may have run.
#[test]
fn a_server_that_was_started_anew_runs_no_call_twice() {
    let mut world = World::start("again", Transport::Tcp);
    let manifest = world.folder.join("farcall.toml");
    let idl = [Path::new(env!("CARGO_MANIFEST_DIR")).join("routines/cuts.idl")];
    // In the same folder it has the same token.
    let start_server = || {
        Server::start_for_all(
            "reconnect",
            Transport::Tcp,
            &idl,
            &["--manifest", manifest.to_str().unwrap()],
        )
    };
    world.server = start_server();
    world.proxy.lead_to(world.server.address());
    let client = world.client();
    let twice = client.routine("cuts/twice").unwrap();
    let call = world.start_call(&twice, 1, 60_000, numbers(3, 0));
    assert!(eventually(|| world.marks().len() == 1), "it runs");
    world.proxy.close(true);
    std::mem::replace(&mut world.server, start_server()).kill();
    world.proxy.lead_to(world.server.address());
    // What is made meanwhile has certainly not run.
    let new = std::thread::scope(|scope| {
        let new = scope.spawn(|| world.start_call(&twice, 2, 0, numbers(LONG, 2)).wait());
        std::thread::sleep(Duration::from_millis(300));
        world.proxy.close(false);
        new.join().unwrap()
    });
    let error = failed(call.wait());
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    assert!(
        error.to_string().contains("was restarted") && error.to_string().contains("may have run"),
        "{error}"
    );
    check(new, &numbers(LONG, 2), "it waited for the server");
    assert_eq!(world.marks(), BTreeMap::from([(1, 1), (2, 1)]));
}

/// `kill -9` of the server, and nobody in its place: the loss is told soon, and not when calls
/// would have been kept no more.
#[test]
fn a_server_that_is_gone_is_given_up_soon() {
    let world = World::start("gone", Transport::Tcp);
    let secret = world.server.token().map(Path::to_path_buf);
    let options = ConnectOptions { secret, ..ConnectOptions::default() };
    let client = Client::connect_with(&world.server.address().parse().unwrap(), &options).unwrap();
    let twice = client.routine("cuts/twice").unwrap();
    let call = world.start_call(&twice, 1, 60_000, numbers(3, 0));
    assert!(eventually(|| world.marks().len() == 1), "it runs");
    world.server.signal("-KILL");
    let begun = Instant::now();
    let error = failed(call.wait());
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    assert!(
        error.to_string().contains("nothing listens there")
            && error.to_string().contains("may have run"),
        "{error}"
    );
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    let later = client.routine("other").err().unwrap();
    assert_eq!(later.kind(), ErrorKind::ConnectionLost);
    assert!(!later.to_string().contains("may have run"), "{later}");
}

/// Who wants none of it hears of the loss at once, and the server ends the call.
#[test]
fn it_can_be_switched_off() {
    let world = World::start("off", Transport::Tcp);
    let client = world.client_with(ConnectOptions {
        reconnect: Some(Duration::ZERO),
        ..ConnectOptions::default()
    });
    let call = world.start_call(&client.routine("cuts/twice").unwrap(), 1, 60_000, numbers(3, 0));
    assert!(eventually(|| world.marks().len() == 1), "it runs");
    let begun = Instant::now();
    world.proxy.cut();
    let error = failed(call.wait());
    assert!(error.kind() == ErrorKind::ConnectionLost && begun.elapsed() < PATIENCE, "{error}");
    assert!(eventually(|| world.open_calls() == 0));
}

/// A client that does not come back leaves nothing behind for longer than it wanted.
#[test]
fn nothing_is_left_of_who_stays_away() {
    let world = World::start("away", Transport::Tcp);
    let client = world.client_with(ConnectOptions {
        reconnect: Some(Duration::from_secs(3)),
        ..ConnectOptions::default()
    });
    let twice = client.routine("cuts/twice").unwrap();
    let mut call = world.start_call(&twice, 1, 60_000, numbers(3, 0));
    world.runs(&mut call, 1);
    let mut done = world.start_call(&twice, 2, 2000, numbers(LONG, 0));
    world.runs(&mut done, 2);
    world.proxy.close(true);
    world.proxy.cut();
    let begun = Instant::now();
    for call in [call, done] {
        assert_eq!(failed(call.wait()).kind(), ErrorKind::ConnectionLost);
    }
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    assert!(
        eventually(|| world.open_calls() == 0 && world.server.processes().len() <= 4),
        "nothing goes on"
    );
}

/// A network that falls silent is noticed by the heartbeat; the call goes on over another
/// connection.
#[test]
fn a_silent_network_is_left() {
    let world = World::start("silent", Transport::Tcp);
    let client = world.client_with(ConnectOptions {
        heartbeat: Some(Duration::from_secs(1)),
        ..ConnectOptions::default()
    });
    let mut call =
        world.start_call(&client.routine("cuts/twice").unwrap(), 1, 2500, numbers(LONG, 0));
    world.runs(&mut call, 1);
    world.proxy.fall_silent(true);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(1500));
            // Those connections are gone for good.
            world.proxy.cut();
            world.proxy.fall_silent(false);
        });
        check(call.wait(), &numbers(LONG, 0), "after the silence");
    });
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    assert_eq!(world.marks(), BTreeMap::from([(1, 1)]));
}

/// The connection is lost within a function that the routine calls back: that fails for the
/// routine, and those that come before the client is back; then all is as before.
#[test]
fn a_callback_that_loses_its_connection_fails() {
    const TIMES: i32 = 20_000;
    let world = World::start("callback", Transport::Tcp);
    let client = world.client();
    let careful = client.routine("back/careful").unwrap();
    let (cut, wanted) = std::sync::mpsc::channel::<()>();
    let first = AtomicBool::new(true);
    let function = callback(move |_| {
        if first.swap(false, Ordering::Relaxed) {
            cut.send(()).unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    });
    let outputs = std::thread::scope(|scope| {
        let proxy = &world.proxy;
        scope.spawn(move || {
            wanted.recv().unwrap();
            proxy.cut();
        });
        // The routine counts how many of its callbacks failed, and goes on.
        careful.call([("times", TIMES.into()), ("f", Argument::Callback(function))]).unwrap()
    });
    let failed: i32 = outputs.scalar("failed").unwrap();
    assert!((1..TIMES).contains(&failed), "{failed}");
}

/// Questions are asked again, and what was given to be kept is found.
#[test]
fn questions_and_kept_calls_go_on() {
    let world = World::start("questions", Transport::Tcp);
    let client = world.client();
    for round in 0..10 {
        world.proxy.cut_after(if round % 2 == 0 { Way::Up } else { Way::Down }, round * 7);
        assert!(client.routines().unwrap().len() > 3, "{round}");
        assert!(client.status(PATIENCE).is_ok(), "{round}");
    }
    let keep = farcall_client::Keep { after_end: Duration::from_secs(60), durable: false };
    let options = CallOptions { keep: Some(keep), ..CallOptions::default() };
    let twice = client.routine("cuts/twice").unwrap();
    let mut call =
        start(&twice, &world.folder.join("open/marks"), 1, 500, numbers(LONG, 0), &options);
    assert!(call.wait_kept(Some(PATIENCE)).unwrap());
    let id = call.id().unwrap();
    world.proxy.cut();
    let fetched = client.fetch(id, &CallOptions::default()).unwrap();
    world.proxy.cut();
    check(fetched.wait(), &numbers(LONG, 0), "fetched");
    drop(call);
    assert_eq!(client.kept().unwrap().len(), 1);
    world.proxy.cut();
    client.forget_call(id).unwrap();
    assert_eq!(world.marks(), BTreeMap::from([(1, 1)]));
}

/// The proxy alone changes nothing.
#[test]
fn without_cuts_nothing_changes() {
    let world = World::start("nothing", Transport::Tcp);
    let x = numbers(LONG, 0);
    check(
        world.start_call(&world.client().routine("cuts/twice").unwrap(), 1, 0, x.clone()).wait(),
        &x,
        "plain",
    );
    assert!(world.proxy.passed(Way::Up) > 8 * LONG as u64 && world.proxy.cuts() == 0);
}
