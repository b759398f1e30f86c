//! Calls in two phases: submitted by one process, fetched by another, whatever becomes of the first
//! and of the server.

mod restarts;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use farcall_base::CallId;
use farcall_client::idl::interface::Order;
use farcall_client::{Array, CallOptions, Client, ErrorKind, Keep, KeptState, PendingCall};
use farcall_tests::{Directory, Server, Transport, authority, eventually, manifest, trouble};

const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));
/// More than travels inside a message.
const LONG: usize = 3000;

farcall_tests::over_all! {
    a_call_goes_on_without_its_client
    what_is_gone_is_gone
    a_call_is_forgotten_or_ended_on_demand
    a_file_comes_back_as_its_content
}

fn keep(durable: bool) -> CallOptions {
    let keep = Keep { after_end: Duration::from_secs(600), durable };
    CallOptions { keep: Some(keep), ..CallOptions::default() }
}

/// Starts a call that gives back what it was given, after so long, and leaves it to the server.
fn submit(client: &Client, elements: usize, milliseconds: i64, options: &CallOptions) -> CallId {
    let mut call = start(client, elements, milliseconds, options);
    assert!(call.wait_kept(PATIENCE).unwrap(), "the server keeps it");
    call.id().unwrap()
}

fn start(
    client: &Client,
    elements: usize,
    milliseconds: i64,
    options: &CallOptions,
) -> PendingCall {
    let array = Array::shared(Arc::new(numbers(elements)), &[elements as u64], Order::Row);
    let arguments = [("x", array.into()), ("milliseconds", milliseconds.into())];
    client.routine("hold").unwrap().start(arguments, options).unwrap()
}

fn numbers(elements: usize) -> Vec<f64> {
    (0..elements).map(|number| number as f64).collect()
}

/// Whether a call of `submit` is found, and has done what it does: it adds 1 to the first number.
fn is_right(client: &Client, id: CallId, elements: usize) -> bool {
    let mut call = client.fetch(id, &CallOptions::default()).unwrap();
    let outputs = call.wait_for(PATIENCE.unwrap()).unwrap().expect("it ends in time");
    let mut expected = numbers(elements);
    expected[0] += 1.0;
    outputs.array::<f64>("x").unwrap() == expected
}

/// Of a user whose certificate was revoked nothing goes on: neither the call that runs nor those
/// that wait.
#[test]
fn what_a_revoked_user_submitted_ends_and_never_begins() {
    let folder = Directory::new();
    let manifest = folder.write("farcall.toml", &manifest("executables_max = 1"));
    let options = ["--manifest", manifest.to_str().unwrap()];
    let server = Server::start(Transport::Tls, &[trouble(false)], &options);
    let bert = std::path::PathBuf::from(authority(&server.authority(), &["user", "bert"]));
    let address = server.address().parse().unwrap();
    let client = Client::connect_to(&address, Some(bert), Duration::from_secs(10)).unwrap();
    let before = server.client();
    submit(&client, 4, 60_000, &keep(false));
    submit(&client, 4, 60_000, &keep(false));
    drop(client);
    authority(&server.authority(), &["revoke", "bert"]);
    // The one place is free long before the first of the two calls would be over.
    let since = std::time::Instant::now();
    assert!(is_right(&before, submit(&before, 4, 1, &keep(false)), 4));
    assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
}

fn options_in(folder: &Path, more: &str) -> String {
    manifest(&format!("results_dir = {folder:?}\n{more}"))
}

/// A manifest whose results lie in a folder of the test's own.
fn keeping(directory: &Directory, more: &str) -> String {
    let path = directory.write("farcall.toml", &options_in(&directory.0.join("results"), more));
    path.display().to_string()
}

fn a_call_goes_on_without_its_client(transport: Transport) {
    for durable in [false, true] {
        let directory = Directory::new();
        let server =
            Server::start(transport, &[trouble(false)], &["--manifest", &keeping(&directory, "")]);
        for elements in [1, LONG] {
            let id = submit(&server.client(), elements, 300, &keep(durable));
            let other = server.client();
            // While it runs, and once it is over; as often as one likes.
            assert!(is_right(&other, id, elements));
            assert!(is_right(&server.client(), id, elements));
            let [call] = &other.kept().unwrap()[..] else { panic!("one call is kept") };
            assert_eq!((call.id, call.state, call.durable), (id, KeptState::Returned, durable));
            assert!(call.routine.ends_with("/hold") && call.left_us > 590_000_000, "{call:?}");
            other.forget_call(id).unwrap();
            assert!(other.kept().unwrap().is_empty());
        }
    }
}

fn what_is_gone_is_gone(transport: Transport) {
    let directory = Directory::new();
    let server =
        Server::start(transport, &[trouble(false)], &["--manifest", &keeping(&directory, "")]);
    let client = server.client();
    let unknown = client.fetch(CallId([7; 16]), &CallOptions::default()).err().unwrap();
    assert_eq!(unknown.kind(), ErrorKind::NotFound, "{unknown}");
    assert_eq!(client.forget_call(CallId([7; 16])).err().unwrap().kind(), ErrorKind::NotFound);
    let brief = Keep { after_end: Duration::from_millis(200), durable: false };
    let id = submit(&client, 1, 0, &CallOptions { keep: Some(brief), ..CallOptions::default() });
    let gone = || {
        client
            .fetch(id, &CallOptions::default())
            .err()
            .is_some_and(|e| e.kind() == ErrorKind::NotFound)
    };
    assert!(eventually(gone), "it is kept for no longer than was asked for");
    // One that failed is kept, too; the reason is its outcome.
    let mut crash =
        client.routine("crash").unwrap().start([("n", 1.into())], &keep(false)).unwrap();
    assert!(crash.wait_kept(PATIENCE).unwrap());
    let id = crash.id().unwrap();
    drop(crash);
    let call = server.client().fetch(id, &CallOptions::default()).unwrap();
    assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::RoutineCrashed);
}

fn a_call_is_forgotten_or_ended_on_demand(transport: Transport) {
    let directory = Directory::new();
    let server =
        Server::start(transport, &[trouble(false)], &["--manifest", &keeping(&directory, "")]);
    let client = server.client();
    let forever = || {
        let mut call =
            client.routine("forever").unwrap().start([("deaf", 0.into())], &keep(true)).unwrap();
        assert!(call.wait_kept(PATIENCE).unwrap());
        call.id().unwrap()
    };
    let one = forever();
    let other = forever();
    assert!(eventually(|| client
        .kept()
        .unwrap()
        .iter()
        .all(|call| call.state == KeptState::Running)));
    client.forget_call(one).unwrap();
    let call = client.fetch(other, &CallOptions::default()).unwrap();
    call.cancel().unwrap();
    assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::Cancelled);
    let kept = client.kept().unwrap();
    assert!(kept.len() == 1 && kept[0].state == KeptState::Failed, "{kept:?}");
    assert!(eventually(|| server.processes().len() <= 2), "what was ended runs no more");
    // Who waited for a call that is taken up elsewhere hears of it.
    let mut waits = start(&client, 1, 1000, &keep(false));
    assert!(waits.wait_kept(PATIENCE).unwrap());
    assert!(is_right(&server.client(), waits.id().unwrap(), 1));
    assert_eq!(waits.wait().err().unwrap().kind(), ErrorKind::ConnectionLost);
}

fn a_file_comes_back_as_its_content(transport: Transport) {
    let directory = Directory::new();
    let idl = directory.write(
        "copy.idl",
        "Module copying;\nDefine copy(IN filename from, OUT filename to)\n{\n\
         FILE *in = fopen(from, \"r\"), *out = fopen(to, \"w\");\nint c;\n\
         while ((c = fgetc(in)) != EOF) fputc(c, out);\nfclose(in);\nfclose(out);\n}\n",
    );
    let server = Server::start(transport, &[idl], &["--manifest", &keeping(&directory, "")]);
    let content: Vec<u8> = (0..50_000_u32).map(|number| (number * 7) as u8).collect();
    let arguments = [("from", farcall_client::Argument::Raw(content.clone()))];
    let mut call = server.client().routine("copy").unwrap().start(arguments, &keep(true)).unwrap();
    assert!(call.wait_kept(PATIENCE).unwrap());
    let id = call.id().unwrap();
    drop(call);
    let outputs = server.client().fetch(id, &CallOptions::default()).unwrap().wait().unwrap();
    let farcall_client::Output::Text(Some(came)) = outputs.get("to").unwrap() else {
        panic!("a content comes")
    };
    assert_eq!(*came, content);
}

/// `kill -9` of the server: what was over is there, what ran is known to be lost.
#[test]
fn outcomes_survive_the_server() {
    let directory = Directory::new();
    let manifest = keeping(&directory, "");
    let arguments = ["--manifest", manifest.as_str()];
    let server = Server::start(Transport::Tcp, &[trouble(false)], &arguments);
    let client = server.client();
    let done = submit(&client, LONG, 0, &keep(true));
    assert!(eventually(|| client
        .kept()
        .unwrap()
        .iter()
        .any(|call| call.state == KeptState::Returned)));
    let running = submit(&client, 1, 60_000, &keep(true));
    let volatile = submit(&client, 1, 0, &keep(false));
    // It says that the outcome is kept when it is over; on the disk it is a moment later.
    let stored = || {
        std::fs::metadata(directory.0.join("results").join(done.to_string()))
            .map_or(0, |file| file.len())
    };
    assert!(eventually(|| stored() > 8 * LONG as u64));
    server.kill();
    let server = Server::start(Transport::Tcp, &[trouble(false)], &arguments);
    let client = server.client();
    assert!(is_right(&client, done, LONG));
    let lost = client.fetch(running, &CallOptions::default()).unwrap().wait().err().unwrap();
    assert!(lost.to_string().contains("the server stopped while the call ran"), "{lost}");
    assert_eq!(
        client.fetch(volatile, &CallOptions::default()).err().unwrap().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(client.kept().unwrap().len(), 2);
    // Another server must not use the folder meanwhile.
    let other = Server::start(Transport::Tcp, &[trouble(false)], &arguments);
    let refused = start(&other.client(), 1, 0, &keep(true)).wait().err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
}

/// A file that somebody changed is refused, and said to be damaged.
#[test]
fn a_damaged_outcome_is_refused() {
    let directory = Directory::new();
    let manifest = keeping(&directory, "");
    let server = Server::start(Transport::Unix, &[trouble(false)], &["--manifest", &manifest]);
    let client = server.client();
    let id = submit(&client, LONG, 0, &keep(true));
    let path = directory.0.join("results").join(id.to_string());
    assert!(eventually(|| std::fs::metadata(&path).is_ok_and(|file| file.len() > 8 * LONG as u64)));
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 20;
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    // Until its folder is on the disk as well, the outcome is told from memory.
    let mut error = None;
    assert!(eventually(|| {
        error = client.fetch(id, &CallOptions::default()).and_then(PendingCall::wait).err();
        error.is_some()
    }));
    assert_eq!(error.unwrap().kind(), ErrorKind::Damaged);
}

/// What there is no room for is refused before it runs, and what is asked for too long.
#[test]
fn quotas_are_kept() {
    let directory = Directory::new();
    let more = "results_max = 4\nresults_keep_ms_max = 600000\nresults_bytes_max = 100000\n";
    let server = Server::start(
        Transport::Unix,
        &[trouble(false)],
        &["--manifest", &keeping(&directory, more)],
    );
    let client = server.client();
    let refused = |elements, options: &CallOptions| {
        start(&client, elements, 0, options).wait().err().unwrap()
    };
    let long = Keep { after_end: Duration::from_secs(601), durable: false };
    let error = refused(1, &CallOptions { keep: Some(long), ..CallOptions::default() });
    assert!(
        error.kind() == ErrorKind::LimitExceeded
            && error.to_string().contains("results_keep_ms_max"),
        "{error}"
    );
    let error = refused(20_000, &keep(true));
    assert!(error.kind() == ErrorKind::LimitExceeded && error.is_retryable(), "{error}");
    submit(&client, 1, 0, &keep(false));
    submit(&client, 1, 0, &keep(true));
    let error = refused(1, &keep(false));
    assert!(error.to_string().contains("results_max"), "{error}");
}

/// A result that turns out to be more than may be kept is an outcome that says so, and not a call
/// that was never there.
#[test]
fn what_passes_the_quota_says_so() {
    let directory = Directory::new();
    let idl = directory.write(
        "grow.idl",
        "Module growing;\nDefine grow(IN int bytes, OUT filename made)\n{\n\
         FILE *out = fopen(made, \"w\");\nwhile (bytes-- > 0) fputc(0, out);\nfclose(out);\n}\n",
    );
    let more = "results_bytes_max = 100000\nresults_memory_bytes_max = \
        100000\nresults_share_percent = 100\n";
    let server =
        Server::start(Transport::Unix, &[idl], &["--manifest", &keeping(&directory, more)]);
    let client = server.client();
    let routine = client.routine("grow").unwrap();
    for durable in [false, true] {
        let ids = [10_000, 200_000, 20_000].map(|bytes: i64| {
            let keep = Keep { after_end: Duration::from_secs(600), durable };
            routine.submit([("bytes", bytes.into())], keep).unwrap()
        });
        let outcomes = ids.map(|id| client.fetch(id, &CallOptions::default()).unwrap().wait());
        assert!(outcomes[0].is_ok() && outcomes[2].is_ok());
        // Whoever waited for it when it ended has it; whoever comes later learns why it is not
        // there.
        let again = client.fetch(ids[1], &CallOptions::default()).unwrap().wait().err().unwrap();
        assert!(
            again.kind() == ErrorKind::LimitExceeded && again.to_string().contains("not kept"),
            "{again}"
        );
        let kept = client.kept().unwrap();
        assert!(ids.iter().all(|id| kept.iter().any(|call| call.id == *id)), "{kept:?}");
    }
}
