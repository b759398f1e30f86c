//! Routines that call functions of their callers: whatever they pass, from any thread, as deep as
//! calls stand in one another; and what becomes of the call when one of the three ends fails
//! meanwhile.

use std::io::BufRead;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use farcall_client::{
    Argument, Array, CallOptions, Callback, CallbackCall, Client, Error, ErrorKind, NativeFunction,
    Output, Outputs, Result, callback,
};
use farcall_tests::{Directory, PATIENCE, Server, Transport, alive, back, eventually};

farcall_tests::over_all! {
    arrays_come_and_go
    functions_of_many_parameters
    texts
    threads_call_at_once
    executables_that_are_killed_inside_callbacks
    servers_that_are_killed_inside_callbacks
    clients_that_are_killed_inside_callbacks
}

fn call<'a>(
    client: &Client,
    name: &str,
    arguments: impl IntoIterator<Item = (&'a str, Argument<'a>)>,
) -> Result<Outputs> {
    client.routine(&format!("back/{name}"))?.call(arguments)
}

fn function(
    run: impl Fn(&mut CallbackCall<'_, '_>) -> Result<()> + Send + Sync + 'static,
) -> Argument<'static> {
    Argument::Callback(callback(run))
}

/// What a routine of `f(IN int n, OUT int m[1])` is given.
fn plus(added: i32) -> Argument<'static> {
    function(move |call| {
        let n: i32 = call.scalar("n")?;
        call.set("m", &[n + added])
    })
}

fn failing(words: &'static str) -> Argument<'static> {
    function(move |_| Err(Error::new(ErrorKind::RoutineFailed, "integrate", words)))
}

fn nothing() -> Argument<'static> {
    function(|_| Ok(()))
}

fn arrays_come_and_go(transport: Transport) {
    for linked in [false, true] {
        let server = Server::start(transport, &[back(linked)], &[]);
        let client = server.client();
        // From nothing over what fits a message to what needs many frames and windows.
        for n in [0, 1, 500, 3000, 4 << 20] {
            let x: Vec<f64> = (0..n).map(|i| f64::from(i) + 0.5).collect();
            let double = function(|call| {
                let x: Vec<f64> = call.array("x")?;
                assert_eq!(call.scalar::<i64>("n")?, x.len() as i64);
                call.set("y", &x.iter().map(|x| 2.0 * x).collect::<Vec<_>>())
            });
            let outputs =
                call(&client, "apply", [("x", Array::vector(&x).into()), ("f", double)]).unwrap();
            let y = outputs.array::<f64>("y").unwrap();
            assert!(y.len() == x.len() && y.iter().zip(&x).all(|(y, x)| *y == 2.0 * x), "{n}");
        }
    }
}

#[repr(C)]
struct Single(f32, f32);
#[repr(C)]
struct Double(f64, f64);

extern "C" fn wide(
    c: i8,
    s: i16,
    i: i32,
    l: i64,
    r: f32,
    d: f64,
    z: Single,
    w: Double,
    a1: i32,
    a2: i32,
    a3: i32,
    a4: i32,
    a5: i32,
    a6: i32,
    a7: i32,
    a8: i32,
    b1: f64,
    b2: f64,
    b3: f64,
    b4: f64,
    b5: f64,
    b6: f64,
    b7: f64,
    b8: f64,
    c1: i64,
    c2: i64,
    c3: i64,
    c4: i64,
    c5: i64,
    c6: i64,
    c7: i64,
    c8: i64,
    count: &mut i32,
    total: &mut f64,
) {
    assert_eq!((c, s, i, l, r, d), (65, -2, 3, 1 << 40, 0.5, -0.125));
    assert_eq!((z.0, z.1, w.0, w.1), (1.5, -2.5, 0.25, 4.0));
    let integers = [a1, a2, a3, a4, a5, a6, a7, a8].iter().sum::<i32>();
    *total = f64::from(integers) + b1 + b2 + b3 + b4 + b5 + b6 + b7 + b8;
    *total += [c1, c2, c3, c4, c5, c6, c7, c8].iter().sum::<i64>() as f64;
    *count += 1;
}

fn functions_of_many_parameters(transport: Transport) {
    let server = Server::start(transport, &[back(true)], &[]);
    let client = server.client();
    let native = || {
        // SAFETY: the prototype of back.idl.
        let function = unsafe { NativeFunction::new(wide as *const std::ffi::c_void) }.unwrap();
        let function: Arc<dyn Callback> = Arc::new(function);
        Argument::Callback(function)
    };
    for _ in 0..3 {
        let outputs = call(&client, "wide", [("f", native())]).unwrap();
        assert_eq!(outputs.scalar::<f64>("sum").unwrap(), 36.0 * 3.0 + 8.0);
    }
}

fn texts(transport: Transport) {
    let server = Server::start(transport, &[back(false)], &[]);
    let client = server.client();
    let answer = function(|call| {
        assert_eq!(call.scalar::<i32>("n")?, 4);
        assert_eq!(call.text("one")?.as_deref(), Some("hello"));
        call.answer("answer", "würde")
    });
    let outputs = call(&client, "words", [("n", 4.into()), ("f", answer)]).unwrap();
    let Output::Texts(texts) = outputs.get("all").unwrap() else { panic!("a text") };
    assert_eq!(String::from_utf8_lossy(texts[0].as_ref().unwrap()), "würde|(null)|(null)");
}

fn threads_call_at_once(transport: Transport) {
    let server = Server::start(transport, &[back(false)], &[]);
    let client = server.client();
    let seen = Arc::new(Mutex::new([0_u32; 8]));
    let counts = seen.clone();
    let square = function(move |call| {
        counts.lock().unwrap()[call.scalar::<i32>("thread")? as usize] += 1;
        let value: i64 = call.scalar("value")?;
        call.set("result", &[value * value])
    });
    let arguments = [("count", 8.into()), ("each", 50.into()), ("f", square)];
    let sum = call(&client, "threads", arguments).unwrap().scalar::<i64>("sum").unwrap();
    assert_eq!(sum, 8 * (1..=50).map(|n| n * n).sum::<i64>());
    assert_eq!(*seen.lock().unwrap(), [50; 8]);
}

fn start(linked: bool) -> (Server, Client) {
    let server = Server::start(Transport::Unix, &[back(linked)], &[]);
    let client = server.client();
    (server, client)
}

#[test]
fn a_call_takes_several_functions_and_null() {
    for linked in [false, true] {
        let (_server, client) = start(linked);
        let two = |f, g| {
            call(&client, "two", [("n", 1.into()), ("f", f), ("g", g)])
                .unwrap()
                .scalar::<i32>("m")
                .unwrap()
        };
        assert_eq!(two(plus(10), plus(100)), 111);
        assert_eq!(two(Argument::Null, plus(100)), 101);
        assert_eq!(two(plus(10), Argument::Null), 11);
        assert_eq!(two(Argument::Null, Argument::Null), 1);
        let error = call(&client, "two", [("n", 1.into()), ("f", plus(1))]).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        let error =
            call(&client, "two", [("n", 1.into()), ("f", plus(1)), ("g", 3.into())]).err().unwrap();
        assert!(
            error.kind() == ErrorKind::InvalidArgument && error.to_string().contains('g'),
            "{error}"
        );
    }
}

#[test]
fn a_crash_names_what_was_passed_as_null() {
    for linked in [false, true] {
        let (_server, client) = start(linked);
        let error = call(&client, "careless", [("times", 1.into()), ("f", Argument::Null)]);
        let error = error.err().unwrap();
        let said = error.to_string();
        assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{said}");
        assert!(said.contains("pass a value for f: NULL was passed"), "{said}");
    }
    let directory = Directory::new();
    let text = "Module texts;\nGlobals { #include <string.h> }\nDefine all(IN int n, IN string \
                words[n], IN string one, OUT int bytes)\n{ *bytes = strlen(one); for (int i = 0; i \
                < n; i++) *bytes += strlen(words[i]); }\n";
    let server = Server::start(Transport::Unix, &[directory.write("texts.idl", text)], &[]);
    let client = server.client();
    let all = |arguments: [(&str, Argument<'static>); 3]| {
        client.routine("texts/all").unwrap().call(arguments)
    };
    let words = |last| Argument::Texts(vec![Some(b"ab".to_vec()), last]);
    let one = || Argument::Text(b"one".to_vec());
    for (words, one, named) in [
        (words(None), one(), "words[1]"),
        (words(Some(Vec::new())), Argument::Null, "one"),
        (words(None), Argument::Null, "words[1], one"),
    ] {
        let error = all([("n", 2.into()), ("words", words), ("one", one)]);
        let said = error.err().unwrap().to_string();
        assert!(said.contains(&format!("pass a value for {named}: NULL")), "{said}");
    }
    let words = words(Some(b"c".to_vec()));
    let outputs = all([("n", 2.into()), ("words", words), ("one", one())]);
    assert_eq!(outputs.unwrap().scalar::<i32>("bytes").unwrap(), 6);
}

/// A callback makes a call that calls back, and so on; each runs in the thread that waits.
#[test]
fn callbacks_call_and_are_called_back() {
    fn deeper(client: &Client, left: i32) -> Argument<'static> {
        let client = client.clone();
        function(move |outer| {
            let n: i32 = outer.scalar("n")?;
            let inner = if left == 0 { plus(1) } else { deeper(&client, left - 1) };
            let outputs = call(&client, "inner", [("n", i64::from(n + 1).into()), ("f", inner)])?;
            outer.set("m", &[outputs.scalar::<i32>("m")? + 1])
        })
    }
    let folder = farcall_tests::Directory::new();
    let manifest = folder.write("farcall.toml", &farcall_tests::manifest("executables_max = 8"));
    let server =
        Server::start(Transport::Unix, &[back(false)], &["--manifest", manifest.to_str().unwrap()]);
    let client = server.client();
    let outputs = call(&client, "inner", [("n", 0.into()), ("f", deeper(&client, 4))]).unwrap();
    assert_eq!(outputs.scalar::<i32>("m").unwrap(), 5 + 1 + 5);
}

#[test]
fn a_callback_says_how_much_it_gives() {
    let (_server, client) = start(false);
    for m in [0, 1, 9, 10] {
        let some = function(move |call| {
            call.set("m", &[m])?;
            call.set("found", &[7])?;
            call.set("x", &(0..10).map(f64::from).collect::<Vec<_>>())
        });
        let found = call(&client, "some", [("n", 10.into()), ("f", some)])
            .unwrap()
            .scalar::<i32>("found")
            .unwrap();
        assert_eq!(found, m * 1000 + 7);
    }
    // Beyond the bound that its own size is.
    let liar = function(|call| call.set("m", &[11]));
    let error = call(&client, "some", [("n", 10.into()), ("f", liar)]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::RoutineFailed, "{error}");
}

#[test]
fn a_callback_that_fails_fails_the_call_unless_the_routine_looks() {
    for linked in [false, true] {
        let (_server, client) = start(linked);
        let outputs =
            call(&client, "careful", [("times", 5.into()), ("f", failing("no convergence"))])
                .unwrap();
        assert_eq!(outputs.scalar::<i32>("failed").unwrap(), 5);
        let error =
            call(&client, "careless", [("times", 2.into()), ("f", failing("no convergence"))])
                .err()
                .unwrap();
        assert_eq!(error.kind(), ErrorKind::RoutineFailed);
        let words = error.to_string();
        assert!(words.contains("no convergence") && words.contains("back/careless.f"), "{words}");
        // The executable is as good as before.
        call(&client, "careless", [("times", 2.into()), ("f", nothing())]).unwrap();
        let panics = function(|_| panic!("a mistake of the caller's"));
        let error = call(&client, "careless", [("times", 1.into()), ("f", panics)]).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::RoutineFailed, "{error}");
    }
}

#[test]
fn a_callback_after_its_call_is_refused() {
    let (_server, client) = start(false);
    let called = Arc::new(AtomicUsize::new(0));
    let counted = called.clone();
    let count = function(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    call(&client, "late", [("milliseconds", 50.into()), ("f", count)]).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    call(&client, "careless", [("times", 1.into()), ("f", nothing())]).unwrap();
    assert_eq!(called.load(Ordering::Relaxed), 0);
}

#[test]
fn a_routine_that_dies_while_it_waits_ends_the_call() {
    let (_server, client) = start(false);
    let slow = function(|_| {
        std::thread::sleep(Duration::from_millis(300));
        Ok(())
    });
    let error = call(&client, "dies", [("milliseconds", 50.into()), ("f", slow)]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    call(&client, "careless", [("times", 1.into()), ("f", nothing())]).unwrap();
}

/// A callback that takes long holds up nobody else, and neither a deadline nor a cancel.
#[test]
fn a_callback_that_blocks_holds_up_its_own_call_alone() {
    let (server, client) = start(true);
    serves(&server);
    let (blocks, hear, go) = blocking();
    let careless = client.routine("back/careless").unwrap();
    let options = CallOptions { timeout: Some(Duration::from_secs(2)), ..CallOptions::default() };
    let blocked = careless.start([("times", 1.into()), ("f", blocks)], &options).unwrap();
    let waiter = std::thread::spawn(move || blocked.wait().err().unwrap());
    hear.recv().unwrap();
    // Both while the function blocks: another call of the same client runs, and the time of its own
    // passes.
    let two = client.routine("back/two").unwrap();
    let arguments = [("n", 1.into()), ("f", plus(1)), ("g", plus(1))];
    let options = CallOptions { timeout: Some(PATIENCE), ..CallOptions::default() };
    assert_eq!(two.call_with(arguments, &options).unwrap().scalar::<i32>("m").unwrap(), 3);
    assert!(
        eventually(|| client.status(PATIENCE).unwrap().calls_open == 0),
        "the deadline waits for the function"
    );
    drop(go);
    assert_eq!(waiter.join().unwrap().kind(), ErrorKind::TimedOut);
}

#[test]
fn a_call_is_cancelled_while_its_callback_runs() {
    let (_server, client) = start(false);
    let careless = client.routine("back/careless").unwrap();
    let running = Arc::new(AtomicI32::new(0));
    let told = running.clone();
    let slow = function(move |_| {
        told.store(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(300));
        Ok(())
    });
    // Many times: it does not return before it is cancelled.
    let mut call =
        careless.start([("times", 10_000.into()), ("f", slow)], &CallOptions::default()).unwrap();
    assert!(eventually(|| {
        assert!(call.wait_for(Duration::from_millis(100)).unwrap().is_none());
        running.load(Ordering::Relaxed) == 1
    }));
    call.cancel().unwrap();
    assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::Cancelled);
}

/// The client's process is gone while its function runs: the server ends the routine, and serves
/// on.
#[test]
fn a_client_that_goes_away_inside_its_callback() {
    let (server, client) = start(false);
    let leaving = server.client();
    let careless = leaving.routine("back/careless").unwrap();
    // Nobody waits for the call, so that its callback never runs.
    let pending =
        careless.start([("times", 1.into()), ("f", nothing())], &CallOptions::default()).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    drop((pending, careless, leaving));
    call(&client, "careless", [("times", 1.into()), ("f", nothing())]).unwrap();
}

/// A function that says when it runs, and returns when the other end of the second is dropped.
fn blocking() -> (Argument<'static>, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (running, hear) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let function = function(move |_| {
        running.send(()).unwrap();
        let _ = wait.lock().unwrap().recv();
        Ok(())
    });
    (function, hear, go)
}

/// Has something killed while a function of a call runs: what became of the call.
fn killed(client: &Client, kill: impl FnOnce()) -> Error {
    let (function, hear, go) = blocking();
    let client = client.clone();
    let caller = std::thread::spawn(move || {
        call(&client, "careless", [("times", 1.into()), ("f", function)]).err().unwrap()
    });
    hear.recv().unwrap();
    kill();
    drop(go);
    caller.join().unwrap()
}

fn kill_process(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

fn serves(server: &Server) {
    let client = server.client();
    call(&client, "careless", [("times", 1.into()), ("f", nothing())]).unwrap();
}

/// Each call ends with the reason, and the next one runs; nothing is left of those that were
/// killed.
fn executables_that_are_killed_inside_callbacks(transport: Transport) {
    let server = Server::start(transport, &[back(false)], &[]);
    let client = server.client();
    serves(&server);
    let before = (server.descriptors(), server.mappings());
    for _ in 0..8 {
        let error = killed(&client, || server.children().into_iter().for_each(kill_process));
        assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    }
    serves(&server);
    let settled = || server.descriptors() <= before.0 + 4 && server.mappings() <= before.1 + 2;
    assert!(
        eventually(settled),
        "{} and {} after {before:?}",
        server.descriptors(),
        server.mappings()
    );
}

fn servers_that_are_killed_inside_callbacks(transport: Transport) {
    let server = Server::start(transport, &[back(false)], &[]);
    let client = server.client();
    serves(&server);
    let processes = [server.children(), server.zygotes()].concat();
    let error = killed(&client, || server.kill());
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    assert!(
        eventually(|| !processes.iter().any(|pid| alive(*pid))),
        "some of {processes:?} are left"
    );
}

/// The client of the test below, a process of its own.
#[test]
fn as_a_client_inside_its_callback() {
    let Ok(address) = std::env::var("FARCALL_TEST_ADDRESS") else { return };
    let token = std::env::var_os("FARCALL_TEST_TOKEN").map(Into::into);
    let client =
        Client::connect_to(&address.parse().unwrap(), token, Duration::from_secs(10)).unwrap();
    let stays = function(|_| {
        println!("inside");
        std::thread::sleep(Duration::from_secs(60));
        Ok(())
    });
    let _ = call(&client, "careless", [("times", 1.into()), ("f", stays)]);
}

fn clients_that_are_killed_inside_callbacks(transport: Transport) {
    let server = Server::start(transport, &[back(false)], &[]);
    serves(&server);
    let before = (server.descriptors(), server.mappings());
    for _ in 0..4 {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["callbacks::as_a_client_inside_its_callback", "--exact", "--nocapture"]);
        command.env("FARCALL_TEST_ADDRESS", server.address());
        if let Some(token) = server.token() {
            command.env("FARCALL_TEST_TOKEN", token);
        }
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let lines = std::io::BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(std::io::Result::ok);
        assert!(
            lines.take(10).any(|line| line.contains("inside")),
            "the client was not called back"
        );
        let busy = server.children();
        child.kill().unwrap();
        child.wait().unwrap();
        // Nobody else can answer its routine: that is ended, or told so and then over, where its
        // call could be resumed.
        let is_over = || server.client().status(Duration::from_secs(10)).unwrap().calls_open == 0;
        assert!(
            eventually(|| is_over() || busy.iter().any(|pid| !alive(*pid))),
            "all of {busy:?} go on"
        );
        serves(&server);
    }
    let settled = || server.descriptors() <= before.0 + 4 && server.mappings() <= before.1 + 2;
    assert!(
        eventually(settled),
        "{} and {} after {before:?}",
        server.descriptors(),
        server.mappings()
    );
}
