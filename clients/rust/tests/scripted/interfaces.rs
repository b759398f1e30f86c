//! Servers that want an interface to be fetched again before they take a call.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use farcall_base::ErrorKind;
use farcall_client::idl::interface::Order;
use farcall_client::{Array, CallOptions, Client, PendingCall, Result};
use farcall_wire::Argument;

use super::fake::{Fake, Wire, pair};

const SUM: &str =
    "Module m;\nDefine sum(IN int n, IN double x[n], OUT double s) Calls \"C\" s = sum(n, x);\n";
const OTHER_SUM: &str =
    "Module m;\nDefine sum(IN int n, IN float x[n], OUT double s) Calls \"C\" s = sum(n, x);\n";

fn connected(wire: Wire) -> (Client, Fake) {
    pair(wire, SUM, Duration::from_secs(10))
}

fn start(client: &Client, options: &CallOptions) -> Result<PendingCall> {
    let x = Array::shared(Arc::new(vec![1.0_f64; 2000]), &[2000], Order::Row);
    client.routine("sum")?.start([("x", x.into())], options)
}

/// A script that serves one call, but asks for the interface to be fetched first, as often as it is
/// told to.
fn serve(mut server: Fake, refusals: usize) -> JoinHandle<Fake> {
    std::thread::spawn(move || {
        server.tell_interface();
        for _ in 0..refusals {
            let (channel, _) = server.opened();
            server.refuse_as_changed(channel);
            server.tell_interface();
        }
        let (channel, open) = server.opened();
        assert_eq!(open.arguments.len(), 3);
        let sum = Argument::Inline(2000_f64.to_ne_bytes().as_slice().into());
        server.finish(channel, vec![Argument::Absent, Argument::Absent, sum], Vec::new());
        server
    })
}

fn collected(wire: Wire, collect: impl Fn(PendingCall) -> Result<f64>, options: &CallOptions) {
    let (client, server) = connected(wire);
    let script = serve(server, 1);
    let call = start(&client, options).unwrap();
    assert_eq!(collect(call).unwrap(), 2000.0);
    script.join().unwrap();
}

#[test]
fn started_calls_fetch_it_and_go_on() {
    let wait = |call: PendingCall| call.wait()?.scalar("s");
    let poll = |mut call: PendingCall| loop {
        if let Some(outputs) = call.poll()? {
            return outputs.scalar("s");
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    for wire in [Wire::Blocks, Wire::Shared] {
        collected(wire, wait, &CallOptions::default());
        collected(wire, poll, &CallOptions::default());
        collected(
            wire,
            wait,
            &CallOptions { timeout: Some(Duration::from_secs(10)), ..CallOptions::default() },
        );
    }
}

#[test]
fn blocking_calls_fetch_it_and_go_on() {
    let (client, server) = connected(Wire::Blocks);
    let script = serve(server, 1);
    let x = vec![1.0_f64; 2000];
    let outputs = client.routine("sum").unwrap().call([("x", Array::vector(&x).into())]).unwrap();
    assert_eq!(outputs.scalar::<f64>("s").unwrap(), 2000.0);
    script.join().unwrap();
}

/// Whoever waits for the end of announced calls hears of it once, and then it is the end.
#[test]
fn an_announced_call_is_told_of_once() {
    let (client, server) = connected(Wire::Blocks);
    let script = serve(server, 1);
    let mut call =
        start(&client, &CallOptions { announced: true, ..CallOptions::default() }).unwrap();
    assert_eq!(client.next_finished(Some(Duration::from_secs(10))).unwrap(), Some(call.number()));
    assert_eq!(call.poll().unwrap().unwrap().scalar::<f64>("s").unwrap(), 2000.0);
    assert_eq!(client.next_finished(Some(Duration::ZERO)).unwrap(), None);
    script.join().unwrap();
}

/// What is published may change several times at once: once for each module that is reloaded.
#[test]
fn changes_in_a_row_are_borne() {
    let (client, server) = connected(Wire::Blocks);
    let script = serve(server, 8);
    assert_eq!(
        start(&client, &CallOptions::default())
            .unwrap()
            .wait()
            .unwrap()
            .scalar::<f64>("s")
            .unwrap(),
        2000.0
    );
    script.join().unwrap();
}

/// A server that is never content is not asked for ever.
#[test]
fn the_ninth_refusal_is_final() {
    let (client, mut server) = connected(Wire::Blocks);
    let script = std::thread::spawn(move || {
        for _ in 0..9 {
            server.tell_interface();
            let (channel, _) = server.opened();
            server.refuse_as_changed(channel);
        }
        server
    });
    let error = start(&client, &CallOptions::default()).unwrap().wait().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InterfaceChanged, "{error}");
    script.join().unwrap();
}

/// Arguments that were made for another interface are not sent; looking the routine up again gives
/// the new one.
#[test]
fn another_interface_is_an_error_that_can_be_acted_on() {
    let (client, mut server) = connected(Wire::Blocks);
    let script = std::thread::spawn(move || {
        server.tell_interface();
        let (channel, _) = server.opened();
        server.refuse_as_changed(channel);
        server.publish(OTHER_SUM);
        server.tell_interface();
        server.tell_interface();
        server
    });
    let error = start(&client, &CallOptions::default()).unwrap().wait().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InterfaceChanged, "{error}");
    assert!(
        !error.is_retryable() && error.to_string().contains("fetch the routine again"),
        "{error}"
    );
    let fresh = client.routine("sum").unwrap();
    let error = fresh.call([("x", Array::vector(&[1.0_f64]).into())]).err().unwrap();
    assert!(error.to_string().contains("wants float"), "{error}");
    script.join().unwrap();
}

/// A call that waits for its interface is with nobody: it ends at once.
#[test]
fn a_call_can_be_cancelled_in_between() {
    let (client, mut server) = connected(Wire::Blocks);
    let script = std::thread::spawn(move || {
        server.tell_interface();
        let (channel, _) = server.opened();
        server.refuse_as_changed(channel);
        let _asked = server.asked();
        server
    });
    let mut call = start(&client, &CallOptions::default()).unwrap();
    assert!(call.wait_for(Duration::from_millis(200)).unwrap().is_none());
    let _server = script.join().unwrap();
    call.cancel().unwrap();
    assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::Cancelled);
}

/// A call that is cancelled before the server asks for its interface to be fetched is not made again.
#[test]
fn a_call_can_be_cancelled_just_before() {
    let (client, mut server) = connected(Wire::Blocks);
    let (tells, told) = std::sync::mpsc::channel();
    let script = std::thread::spawn(move || {
        server.tell_interface();
        let (channel, _) = server.opened();
        told.recv().unwrap();
        server.refuse_as_changed(channel);
        server
    });
    let call = start(&client, &CallOptions::default()).unwrap();
    call.cancel().unwrap();
    tells.send(()).unwrap();
    assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::Cancelled);
    let mut server = script.join().unwrap();
    assert!(server.opened_within(Duration::from_millis(100)).is_none());
}
