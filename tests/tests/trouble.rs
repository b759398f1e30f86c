//! Routines that crash, exit, loop or shout: each is reported as what it was, and harms nobody
//! else.

use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_client::idl::interface::Order;
use farcall_client::{Argument, Array, CallOptions, Client, Error, ErrorKind};
use farcall_tests::{
    Server, Transport, alive, eventually, manifest, trouble, until_begun, watched,
};

farcall_tests::over_all! {
    a_crash_is_named_with_the_last_words
    a_linked_routine_crashes_alike
    exit_and_abort_are_told_apart
    floods_on_standard_error_pass
    standard_output_is_not_the_protocol
    a_timeout_ends_a_loop
    a_cancelled_loop_ends_and_others_go_on
    a_dropped_call_ends
    what_a_routine_leaves_behind_ends_too
    a_call_that_waits_can_be_cancelled
    crashes_by_the_dozen_leak_nothing
}

fn start(transport: Transport) -> (Server, Client) {
    let server = Server::start(transport, &[trouble(false)], &[]);
    let client = server.client();
    (server, client)
}

fn fine(client: &Client) {
    let outputs = client.routine("fine").unwrap().call([("n", 7.into())]).unwrap();
    assert_eq!(outputs.scalar::<i32>("m").unwrap(), 7);
}

fn fails(client: &Client, name: &str, arguments: &[(&'static str, i64)]) -> Error {
    let arguments = arguments.iter().map(|(name, value)| (*name, Argument::Integer(*value)));
    client
        .routine(name)
        .unwrap()
        .call(arguments)
        .err()
        .unwrap_or_else(|| panic!("{name} does not return"))
}

fn crash_is_reported(client: &Client) {
    let error = fails(client, "crash", &[("n", 42)]);
    assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    let text = error.to_string();
    assert!(text.contains("SIGSEGV") && text.contains("about to crash, n = 42"), "{text}");
    assert!(text.contains("trouble/crash"), "{text}");
    assert!(!error.is_retryable(), "the routine may have had an effect: {text}");
    fine(client);
}

fn a_crash_is_named_with_the_last_words(transport: Transport) {
    let (server, client) = start(transport);
    crash_is_reported(&client);
    // The call in between started an executable; the crashed one is gone.
    assert!(server.children().iter().all(|pid| alive(*pid)), "no zombies");
}

fn a_linked_routine_crashes_alike(transport: Transport) {
    let server = Server::start(transport, &[trouble(true)], &[]);
    crash_is_reported(&server.client());
}

fn exit_and_abort_are_told_apart(transport: Transport) {
    let (_server, client) = start(transport);
    for status in [3, 0, 255] {
        let error = fails(&client, "leave", &[("status", status)]);
        assert_eq!(error.kind(), ErrorKind::RoutineExited, "{error}");
        assert!(error.to_string().contains(&format!("status {status}")), "{error}");
        assert!(error.to_string().contains("no licence found"), "{error}");
        fine(&client);
    }
    let error = fails(&client, "give_up", &[]);
    assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    assert!(error.to_string().contains("SIGABRT"), "{error}");
    fine(&client);
}

fn floods_on_standard_error_pass(transport: Transport) {
    let (_server, client) = start(transport);
    // Some megabytes: far more than a pipe holds.
    let flood = client.routine("flood").unwrap();
    let outputs = flood.call_with([("lines", 50_000.into())], &within(20)).unwrap();
    assert_eq!(outputs.scalar::<i32>("done").unwrap(), 50_000);
    fine(&client);
}

fn standard_output_is_not_the_protocol(transport: Transport) {
    let (_server, client) = start(transport);
    let print = client.routine("print").unwrap();
    let outputs = print.call_with([("lines", 50_000.into())], &within(20)).unwrap();
    assert_eq!(outputs.scalar::<i32>("done").unwrap(), 50_000, "standard input is at its end");
    fine(&client);
}

fn within(seconds: u64) -> CallOptions {
    CallOptions { timeout: Some(Duration::from_secs(seconds)), ..CallOptions::default() }
}

fn a_timeout_ends_a_loop(transport: Transport) {
    let (server, client) = start(transport);
    let forever = client.routine("forever").unwrap();
    for deaf in [0, 1] {
        let begun = Instant::now();
        let options =
            CallOptions { timeout: Some(Duration::from_millis(300)), ..CallOptions::default() };
        let error = forever.call_with([("deaf", deaf.into())], &options).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());
        fine(&client);
    }
    // Whoever ignored SIGTERM is gone as well: one executable remains, the one that `fine` ran in.
    assert!(eventually(|| server.children().len() == 1), "{:?}", server.children());
}

fn a_cancelled_loop_ends_and_others_go_on(transport: Transport) {
    let (_server, client) = start(transport);
    let forever = client.routine("forever").unwrap();
    let hold = client.routine("hold").unwrap();
    for deaf in [0, 1] {
        let x = Array::shared(Arc::new(vec![1.0; 100_000]), &[100_000], Order::Row);
        let held = [("x", x.into()), ("milliseconds", 700.into())];
        let other = hold.start(held, &CallOptions::default()).unwrap();
        let mut call = forever.start([("deaf", deaf.into())], &watched()).unwrap();
        until_begun(&mut call);
        call.cancel().unwrap();
        let error = call.wait().err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
        assert_eq!(other.wait().unwrap().array::<f64>("x").unwrap()[0], 2.0);
    }
}

fn a_dropped_call_ends(transport: Transport) {
    let (server, client) = start(transport);
    let forever = client.routine("forever").unwrap();
    let mut call = forever.start([("deaf", 1.into())], &watched()).unwrap();
    until_begun(&mut call);
    drop(call);
    assert!(eventually(|| server.children().is_empty()), "{:?}", server.children());
    fine(&client);
}

fn what_a_routine_leaves_behind_ends_too(transport: Transport) {
    let (server, client) = start(transport);
    let error = fails(&client, "breed", &[]);
    assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    // Nothing lives on but, perhaps, an executable that was started for the next call.
    assert!(
        eventually(|| server.processes().len() <= server.children().len()),
        "{:?}",
        server.processes()
    );
    fine(&client);
}

fn a_call_that_waits_can_be_cancelled(transport: Transport) {
    let directory = farcall_tests::Directory::new();
    let manifest = directory.write("farcall.toml", &manifest("executables_max = 1"));
    let server =
        Server::start(transport, &[trouble(false)], &["--manifest", manifest.to_str().unwrap()]);
    let client = server.client();
    let forever = client.routine("forever").unwrap();
    let routine = client.routine("fine").unwrap();
    let mut running = forever.start([("deaf", 0.into())], &watched()).unwrap();
    until_begun(&mut running);
    let waiting = routine.start([("n", 7.into())], &CallOptions::default()).unwrap();
    let last = routine.start([("n", 7.into())], &CallOptions::default()).unwrap();
    waiting.cancel().unwrap();
    assert_eq!(waiting.wait().err().unwrap().kind(), ErrorKind::Cancelled);
    running.cancel().unwrap();
    assert_eq!(running.wait().err().unwrap().kind(), ErrorKind::Cancelled);
    // The one behind it has its turn.
    assert_eq!(last.wait().unwrap().scalar::<i32>("m").unwrap(), 7);
}

fn crashes_by_the_dozen_leak_nothing(transport: Transport) {
    let (server, client) = start(transport);
    let x = vec![1.0; 50_000];
    let hold = client.routine("hold").unwrap();
    let round = || {
        fails(&client, "give_up", &[]);
        let arguments = [("x", Array::vector(&x).into()), ("milliseconds", 0.into())];
        hold.call(arguments).unwrap();
    };
    round();
    let descriptors = server.descriptors();
    let mappings = server.mappings();
    (0..12).for_each(|_| round());
    // The executable that ran the last call is as alive as the one before the dozen.
    assert!(
        eventually(|| server.descriptors() <= descriptors),
        "{} after {descriptors}",
        server.descriptors()
    );
    assert!(server.mappings() <= mappings, "{} after {mappings}", server.mappings());
}
