//! Peers that are gone without a word: a server that is killed or stopped in the middle of a call.
//! Its clients notice in time, and go on with another.

use std::time::{Duration, Instant};

use farcall_base::ErrorKind;
use farcall_client::{CallOptions, Client, Error};
use farcall_tests::{Server, Transport, eventually, trouble};

const HEARTBEAT: Duration = Duration::from_secs(1);

fn fine(client: &Client) {
    let outputs = client.routine("fine").unwrap().call([("n", 3.into())]).unwrap();
    assert_eq!(outputs.scalar::<i32>("m").unwrap(), 3);
}

/// Stops the server; a signal needs a moment to reach all of its threads.
fn stop(server: &Server) {
    server.signal("-STOP");
    let threads = || std::fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap().flatten();
    let stat = |thread: &std::fs::DirEntry| {
        std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default()
    };
    let stopped = |stat: &str| {
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
    };
    assert!(
        eventually(|| threads().all(|thread| stopped(&stat(&thread)))),
        "the server does not stop"
    );
}

/// What two threads with calls on one connection hear when their server gets `signal`, and how long
/// it takes.
fn lost(server: &Server, client: &Client, signal: &str) -> (Vec<Error>, Duration) {
    let forever = client.routine("forever").unwrap();
    let start = || forever.start([("deaf", 0.into())], &CallOptions::default()).unwrap();
    let calls = [start(), start()];
    assert!(eventually(|| !server.processes().is_empty()), "the routine runs");
    let begun = Instant::now();
    server.signal(signal);
    let errors = std::thread::scope(|scope| {
        let threads = calls.map(|call| scope.spawn(|| call.wait().err().unwrap()));
        threads.map(|thread| thread.join().unwrap()).into()
    });
    (errors, begun.elapsed())
}

fn a_server_that_is_lost_is_reported_and_another_serves(transport: Transport) {
    for (signal, words) in [("-KILL", "the connection"), ("-STOP", "was silent for 1 s")] {
        let server = Server::start(transport, &[trouble(false)], &[]);
        let other = Server::start(transport, &[trouble(false)], &[]);
        let client = server.client();
        let refuge = other.client();
        client.set_heartbeat(HEARTBEAT);
        fine(&client);
        let (errors, took) = lost(&server, &client, signal);
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{transport:?} {signal}: {error}");
            assert!(error.to_string().contains(words), "{transport:?} {signal}: {error}");
        }
        assert!(took < 8 * HEARTBEAT, "{transport:?} {signal}: {took:?}");
        assert_eq!(client.routine("leave").err().unwrap().kind(), ErrorKind::ConnectionLost);
        // Connections to others go on, old and new; and so does this server, if it comes back.
        fine(&refuge);
        fine(&other.client());
        if signal == "-STOP" {
            server.signal("-CONT");
            fine(&server.client());
        }
    }
}

/// Whoever is connecting while the server does not move hears so as well.
fn a_stopped_server_lets_nobody_hang(transport: Transport) {
    let server = Server::start(transport, &[trouble(false)], &[]);
    stop(&server);
    let begun = Instant::now();
    let timeout = Duration::from_secs(1);
    let refused = Client::connect_to(
        &server.address().parse().unwrap(),
        server.token().map(Into::into),
        timeout,
    );
    assert_eq!(refused.err().unwrap().kind(), ErrorKind::TimedOut);
    assert!(begun.elapsed() < 8 * timeout, "{:?}", begun.elapsed());
    server.signal("-CONT");
    fine(&server.client());
}

#[test]
fn over_unix() {
    a_server_that_is_lost_is_reported_and_another_serves(Transport::Unix);
    a_stopped_server_lets_nobody_hang(Transport::Unix);
}

#[test]
fn over_tcp() {
    a_server_that_is_lost_is_reported_and_another_serves(Transport::Tcp);
    a_stopped_server_lets_nobody_hang(Transport::Tcp);
}

#[test]
fn over_tls() {
    a_server_that_is_lost_is_reported_and_another_serves(Transport::Tls);
    a_stopped_server_lets_nobody_hang(Transport::Tls);
}
