//! A server that calls functions of the client as no good one would.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use farcall_base::{CallId, ErrorKind};
use farcall_client::{Argument as Given, CallOptions, Callback, callback};
use farcall_wire::{Argument, CallResult, Open, callback_attribute};

use super::fake::{Fake, Wire, pair};

const APPLY: &str = "Module m;
Define apply(IN int n, f(IN int n, IN double x[n], OUT double y[n]), g(IN int n)) Calls \"C\" apply(n, f, g);
";
/// Calls that a client lets its server open at a time: more end the connection.
const CHANNELS_MAX: usize = 4096;

fn int(value: i32) -> Argument {
    Argument::Inline(value.to_ne_bytes().as_slice().into())
}

fn doubles(count: usize) -> Argument {
    Argument::Inline(vec![0; 8 * count].into())
}

/// A callback inside the call that `around` opened.
fn inside(around: &Open, number: u16, slot: u16, arguments: Vec<Argument>) -> Open {
    let mut id = [7; 16];
    id[..2].copy_from_slice(&number.to_le_bytes());
    Open {
        parent: Some(around.call.0.to_vec().into()),
        attributes: Some(vec![callback_attribute(slot)]),
        ..Open::new(CallId(id), around.routine.clone(), around.contract, arguments)
    }
}

fn counting() -> (Arc<dyn Callback>, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let function = callback(move |call| {
        counted.fetch_add(1, Ordering::Relaxed);
        let x: Vec<f64> = call.array("x")?;
        call.set("y", &x)
    });
    (function, runs)
}

fn kind(result: &CallResult) -> ErrorKind {
    let failure = result.failure.clone().unwrap_or_else(|| panic!("it ran: {result:?}"));
    farcall_base::Error::from(failure).kind()
}

#[test]
fn what_no_call_of_ours_passes_is_refused() {
    let (client, mut server) = pair(Wire::Blocks, APPLY, Duration::from_secs(10));
    let (function, runs) = counting();
    let script = std::thread::spawn(move || {
        server.tell_interface();
        let (channel, around) = server.opened();
        let mut refused = |what: &str, wanted: ErrorKind, open: Open| {
            assert_eq!(kind(&server.call_back(&open)), wanted, "{what}");
        };
        let good = || vec![int(2), doubles(2), Argument::Absent];
        let mut foreign = inside(&around, 1, 1, good());
        foreign.parent = Some(vec![9; 16].into());
        refused("a call of nobody", ErrorKind::NotFound, foreign);
        let orphan = Open { parent: None, ..inside(&around, 2, 1, good()) };
        refused("no call at all", ErrorKind::NotFound, orphan);
        let plain = Open { attributes: None, ..inside(&around, 3, 1, good()) };
        refused("no callback", ErrorKind::NotFound, plain);
        refused("a number", ErrorKind::InvalidArgument, inside(&around, 4, 0, good()));
        refused(
            "a function that is NULL",
            ErrorKind::InvalidArgument,
            inside(&around, 5, 2, vec![int(1)]),
        );
        refused(
            "a parameter that there is not",
            ErrorKind::InvalidArgument,
            inside(&around, 6, 99, good()),
        );
        let wrong = [
            ("an array too short", vec![int(1000), doubles(1), Argument::Absent]),
            ("an array too long", vec![int(1), doubles(2), Argument::Absent]),
            ("a negative size", vec![int(-1), doubles(0), Argument::Absent]),
            ("a number of the wrong size", vec![doubles(1), doubles(1), Argument::Absent]),
            ("no array", vec![int(1), Argument::Absent, Argument::Absent]),
            (
                "an array to be fetched",
                vec![int(1), Argument::Url("http://host/x".into()), Argument::Absent],
            ),
            ("too few", vec![int(1), doubles(1)]),
            ("too many", vec![int(1), doubles(1), Argument::Absent, Argument::Absent]),
            (
                "more than a client takes",
                vec![int(i32::MAX), Argument::Blocks(Some(17_179_869_176)), Argument::Absent],
            ),
        ];
        for (number, (what, arguments)) in (10..).zip(wrong) {
            let result = server.call_back(&inside(&around, number, 1, arguments));
            assert!(result.failure.is_some(), "{what}: {result:?}");
        }
        // What is right runs all the same.
        let right = server.call_back(&inside(&around, 30, 1, good()));
        assert_eq!((right.failure, right.results[2].clone()), (None, doubles(2)));
        server.finish(channel, vec![Argument::Absent; 3], Vec::new());
        server.read();
        let late = server.call_back(&inside(&around, 31, 1, good()));
        assert_eq!(kind(&late), ErrorKind::NotFound);
    });
    let apply = client.routine("apply").unwrap();
    apply.call([("n", 1.into()), ("f", Given::Callback(function)), ("g", Given::Null)]).unwrap();
    while !script.is_finished() {
        client.process().unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    script.join().unwrap();
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

/// As many callbacks as a server may open, of a call that nobody waits for: they end with it, and
/// none runs.
#[test]
fn callbacks_that_nobody_runs_end_with_their_call() {
    let (client, mut server) = pair(Wire::Blocks, APPLY, Duration::from_secs(10));
    let (function, runs) = counting();
    let script = std::thread::spawn(move || {
        server.tell_interface();
        let (channel, around) = server.opened();
        for number in 0..CHANNELS_MAX {
            let open =
                inside(&around, number as u16, 1, vec![int(1), doubles(1), Argument::Absent]);
            server.begin_callback(&open);
            if number % 64 == 0 {
                server.read();
            }
        }
        server.finish(channel, vec![Argument::Absent; 3], Vec::new());
        (0..CHANNELS_MAX)
            .for_each(|_| assert_eq!(kind(&server.called_back()), ErrorKind::Cancelled));
        // Their channels are free again.
        let late =
            server.call_back(&inside(&around, 1, 1, vec![int(1), doubles(1), Argument::Absent]));
        assert_eq!(kind(&late), ErrorKind::NotFound);
    });
    let apply = client.routine("apply").unwrap();
    let arguments = [
        ("n", 1.into()),
        ("f", Given::Callback(function.clone())),
        ("g", Given::Callback(function)),
    ];
    let pending = apply.start(arguments, &CallOptions::default()).unwrap();
    while !script.is_finished() {
        client.process().unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    script.join().unwrap();
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    pending.wait().unwrap();
}

impl Fake {
    /// Calls a function of the client's, and waits for what becomes of it.
    fn call_back(&mut self, open: &Open) -> CallResult {
        self.begin_callback(open);
        self.called_back()
    }
}
