//! Servers that fall silent in the middle of a call, and such that only take long.

use std::time::{Duration, Instant};

use farcall_base::ErrorKind;
use farcall_client::{CallOptions, Client, PendingCall};
use farcall_wire::Argument;

use super::fake::{Fake, Wire, pair};

const IDL: &str = "Module m;\nDefine f(IN int n, OUT double y) Calls \"C\" f(n, y);\n";
const HEARTBEAT: Duration = Duration::from_millis(300);

fn calling(wire: Wire) -> (Client, PendingCall, Fake) {
    let (client, mut server) = pair(wire, IDL, Duration::from_secs(10));
    client.set_heartbeat(HEARTBEAT);
    let routine = std::thread::scope(|scope| {
        scope.spawn(|| server.tell_interface());
        client.routine("f").unwrap()
    });
    let call = routine.start([("n", 1.into())], &CallOptions::default()).unwrap();
    (client, call, server)
}

#[test]
fn a_server_that_hangs_is_given_up() {
    for wire in [Wire::Shared, Wire::Blocks] {
        let (client, call, server) = calling(wire);
        let begun = Instant::now();
        let error = call.wait().err().unwrap();
        let took = begun.elapsed();
        assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
        assert!(
            error.to_string().contains("the server was silent for 0.3 s")
                && error.to_string().contains("FARCALL_HEARTBEAT")
        );
        assert!(took >= HEARTBEAT && took < 5 * HEARTBEAT, "{took:?}");
        assert_eq!(
            client.routines().err().unwrap().kind(),
            ErrorKind::ConnectionLost,
            "and nothing else is asked of it"
        );
        drop(server);
    }
}

/// The server answers the question for a sign of life and runs the routine for much longer than a
/// heartbeat. Whoever waits in pieces, as Python does, hears the same.
#[test]
fn a_server_that_takes_long_is_not() {
    for (wire, piece) in [(Wire::Shared, 10_000), (Wire::Blocks, 10_000), (Wire::Blocks, 20)] {
        let (_client, mut call, mut server) = calling(wire);
        let script = std::thread::spawn(move || {
            let (channel, _) = server.opened();
            let until = Instant::now() + 4 * HEARTBEAT;
            while Instant::now() < until {
                server.read();
            }
            let y = Argument::Inline(2.5_f64.to_ne_bytes().as_slice().into());
            server.finish(channel, vec![Argument::Absent, y], Vec::new());
            server
        });
        let outputs = loop {
            if let Some(outputs) = call.wait_for(Duration::from_millis(piece)).unwrap() {
                break outputs;
            }
        };
        assert_eq!(outputs.scalar::<f64>("y").unwrap(), 2.5);
        script.join().unwrap();
    }
}
