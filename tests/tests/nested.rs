//! Routines that call others through their own server.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use farcall_client::{Argument, Array, CallOptions, Client, Error, ErrorKind};
use farcall_tests::{
    Directory, Server, Transport, alive, authority, eventually, manifest_of, nested,
};

/// EPERM, by which the filter of system calls refuses.
const EPERM: i32 = 1;

farcall_tests::over_all! {
    depth_is_bounded
    the_deadline_is_the_outer_calls
}

struct Nested {
    server: Server,
    client: Client,
    _folder: Directory,
}

impl Nested {
    fn new(linked: bool, options: &str) -> Nested {
        Nested::over(Transport::Unix, linked, options)
    }

    fn over(transport: Transport, linked: bool, options: &str) -> Nested {
        let folder = Directory::new();
        let manifest = folder.write("farcall.toml", &manifest_of(options, ""));
        let server =
            Server::start(transport, &nested(linked), &["--manifest", manifest.to_str().unwrap()]);
        let client = server.client();
        Nested { server, client, _folder: folder }
    }

    /// What `outer/ask` says of a routine.
    fn ask(&self, name: &str, n: i64) -> Result<i32, (i32, String)> {
        ask(&self.client, name, n)
    }

    /// The result of a routine that makes m of n.
    fn number(&self, name: &str, n: i64) -> i32 {
        let outputs = self.client.routine(name).unwrap().call([("n", n.into())]);
        outputs.unwrap().scalar("m").unwrap()
    }
}

/// An executable that is reached over TCP could be on another host, where no connection can be
/// handed to it.
#[test]
fn a_routine_that_cannot_be_given_a_connection_is_told() {
    let folder = Directory::new();
    let manifest = folder.write("farcall.toml", &manifest_of("", "connection = \"tcp\""));
    let server =
        Server::start(Transport::Unix, &nested(false), &["--manifest", manifest.to_str().unwrap()]);
    let (kind, words) = ask(&server.client(), "inner/twice", 1).unwrap_err();
    assert!(
        kind == code(ErrorKind::Unavailable) && words.contains("passes no descriptors"),
        "{kind} {words}"
    );
}

fn code(kind: ErrorKind) -> i32 {
    kind.code().into()
}

fn ask(client: &Client, name: &str, n: i64) -> Result<i32, (i32, String)> {
    let outputs = client
        .routine("outer/ask")
        .unwrap()
        .call([("name", Argument::from(name)), ("n", n.into())])
        .unwrap();
    let kind = outputs.scalar::<i32>("kind").unwrap();
    let words = outputs.array::<u8>("words").unwrap();
    let words = String::from_utf8_lossy(&words.to_vec()).trim_end_matches('\0').to_owned();
    if kind == 0 { Ok(outputs.scalar("m").unwrap()) } else { Err((kind, words)) }
}

fn timed(
    client: &Client,
    name: &str,
    arguments: Vec<Argument<'_>>,
    timeout: Duration,
) -> Result<(), Error> {
    let options = CallOptions { timeout: Some(timeout), ..CallOptions::default() };
    client.routine(name).unwrap().call_positional(arguments, vec![], &options).map(|_| ())
}

fn calls_pass(linked: bool) {
    let it = Nested::new(linked, "");
    assert_eq!(it.ask("inner/twice", 21), Ok(42));
    assert_eq!(it.ask("inner/twice", 4), Ok(8), "each call asks for its own");
    for n in [3, 100_000] {
        let x: Vec<f64> = (0..n).map(f64::from).collect();
        let outputs =
            it.client.routine("array").unwrap().call([("x", Array::vector(&x).into())]).unwrap();
        let doubled: Vec<f64> = x.iter().map(|x| 2.0 * x).collect();
        assert_eq!(outputs.array::<f64>("y").unwrap().to_vec(), doubled);
    }
    assert_eq!(it.number("sockets", 0), EPERM, "the network stays shut");
}

#[test]
fn a_loaded_routine_calls_another() {
    calls_pass(false);
}

#[test]
fn a_linked_routine_calls_another() {
    calls_pass(true);
}

#[test]
fn what_goes_wrong_inside_is_told_to_the_routine() {
    let it = Nested::new(false, "");
    let (kind, words) = it.ask("inner/crash", 1).unwrap_err();
    assert!(kind == code(ErrorKind::RoutineCrashed) && words.contains("SIGSEGV"), "{kind} {words}");
    let (kind, words) = it.ask("inner/nothing", 1).unwrap_err();
    assert!(kind == code(ErrorKind::NotFound), "{kind} {words}");
    assert_eq!(it.ask("inner/twice", 1), Ok(2));
}

/// A module of one process whose routine calls another one of it would wait for itself for ever.
#[test]
fn a_module_that_waits_for_all_its_own_processes_is_told() {
    let files = nested(false);
    let folder = Directory::new();
    let text = std::fs::read_to_string(&files[0]).unwrap();
    let library = files[0].with_file_name("libnested.so");
    let text = text.replace("./libnested.so", library.to_str().unwrap());
    let one = folder.write("outer.idl", &(text + "executables_max = 1;\n"));
    let server = Server::start(Transport::Unix, &[one, files[1].clone()], &[]);
    let client = server.client();
    let (kind, words) = ask(&client, "outer/sockets", 0).unwrap_err();
    assert_eq!(kind, code(ErrorKind::LimitExceeded), "{words}");
    assert!(words.contains("all of whose processes wait for it"), "{words}");
    assert_eq!(ask(&client, "inner/twice", 21), Ok(42), "other modules have their own");
}

#[test]
fn a_client_ends_with_its_call() {
    let it = Nested::new(false, "executables_max = 1");
    assert_eq!(it.number("keep", 1), 0);
    assert_eq!(it.number("keep", 1), code(ErrorKind::ConnectionLost));
}

#[test]
fn a_fork_has_no_server() {
    let it = Nested::new(false, "");
    assert_eq!(it.number("by_child", 1), code(ErrorKind::Unavailable));
    assert_eq!(it.ask("inner/twice", 1), Ok(2));
}

fn depth_is_bounded(transport: Transport) {
    let it = Nested::over(transport, false, "nesting_max = 3");
    assert_eq!(it.number("deep", 2), 2);
    assert_eq!(it.number("deep", 100), 3);
    let none = Nested::over(transport, false, "nesting_max = 0");
    let (kind, words) = none.ask("inner/twice", 1).unwrap_err();
    assert!(
        kind == code(ErrorKind::Unavailable) && words.contains("nesting_max"),
        "{kind} {words}"
    );
}

#[test]
fn connections_of_a_call_are_bounded() {
    let it = Nested::new(false, "");
    assert_eq!(it.number("leak", 100), 8);
    let descriptors = it.server.descriptors();
    assert!(eventually(|| it.number("leak", 100) == 8 && it.server.descriptors() <= descriptors));
}

#[test]
fn rights_are_the_callers() {
    let folder = Directory::new();
    let table = "access = [{ who = [\"anna\"], call = [\"outer\", \"inner\"] }, { who = \
        [\"bert\"], call = [\"outer\"] }]\n";
    let log = folder.0.join("audit.log");
    let options = format!("{table}audit_file = \"{}\"\n", log.display());
    let manifest = folder.write("farcall.toml", &manifest_of(&options, ""));
    let server =
        Server::start(Transport::Tls, &nested(false), &["--manifest", manifest.to_str().unwrap()]);
    let bert = PathBuf::from(authority(&server.authority(), &["user", "bert"]));
    let bert =
        Client::connect_to(&server.address().parse().unwrap(), Some(bert), Duration::from_secs(10))
            .unwrap();
    assert_eq!(ask(&server.client(), "inner/twice", 5), Ok(10));
    let (kind, words) = ask(&bert, "inner/twice", 5).unwrap_err();
    assert_eq!(kind, code(ErrorKind::PermissionDenied), "{words}");
    assert!(words.contains("\"bert\" may not call routines of module \"inner\""), "{words}");
    // The log names the call that made the call.
    let inner = || {
        std::fs::read_to_string(&log).unwrap_or_default().lines().any(|line| {
            line.contains("inner/twice")
                && line.contains("\"parent\":")
                && line.contains("\"principal\":\"anna\"")
        })
    };
    assert!(eventually(inner), "{:?}", std::fs::read_to_string(&log));
}

fn the_deadline_is_the_outer_calls(transport: Transport) {
    let it = Nested::over(transport, false, "");
    let begin = Instant::now();
    let arguments =
        vec!["inner/nap".into(), 60_000.into(), Argument::Unset, Argument::Unset, Argument::Unset];
    let error = timed(&it.client, "outer/ask", arguments, Duration::from_millis(500)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert!(begin.elapsed() < Duration::from_secs(20));
    ended(&it);
}

#[test]
fn a_cancelled_call_ends_those_inside() {
    let it = Nested::new(false, "");
    let routine = it.client.routine("outer/ask").unwrap();
    let arguments = [("name", Argument::from("inner/nap")), ("n", 60_000.into())];
    let pending = routine.start(arguments, &CallOptions::default()).unwrap();
    assert!(eventually(|| it.client.status(Duration::from_secs(5)).unwrap().calls_open == 2));
    pending.cancel().unwrap();
    assert_eq!(pending.wait().err().unwrap().kind(), ErrorKind::Cancelled);
    ended(&it);
}

/// Neither a call nor the executables that ran one are left.
fn ended(it: &Nested) {
    assert!(eventually(|| it.client.status(Duration::from_secs(5)).unwrap().calls_open == 0));
    assert_eq!(it.ask("inner/twice", 1), Ok(2));
}

#[test]
fn places_do_not_run_out() {
    // One place: each call holds it while the one inside it waits.
    let it = Nested::new(false, "executables_max = 1");
    assert_eq!(it.number("deep", 8), 8);
    std::thread::scope(|scope| {
        let asks: Vec<_> = (0..8)
            .map(|n| {
                scope.spawn({
                    let it = &it;
                    move || ask(&it.server.client(), "inner/twice", n)
                })
            })
            .collect();
        for (n, ask) in asks.into_iter().enumerate() {
            assert_eq!(ask.join().unwrap(), Ok(2 * n as i32));
        }
    });
    // What was there for calls inside calls goes when nobody waits.
    let processes = || it.server.processes().into_iter().filter(|pid| alive(*pid)).count();
    let most = 1 + it.server.zygotes().len() + 1;
    assert!(eventually(|| processes() <= most), "{} processes", processes());
}
