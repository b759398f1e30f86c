//! A server that is full refuses clearly, and no user sees what others left behind.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::time::Duration;

use farcall_base::ErrorKind;
use farcall_client::{Array, ArrayMut, Client};
use farcall_tests::{Directory, Server, Transport, authority, battery, eventually, manifest, trouble};

fn call(client: &Client) {
    let outputs = client.routine("f_int").unwrap().call([("x", 4.into())]).unwrap();
    assert_eq!(outputs.scalar::<i32>("r").unwrap(), 8);
}

fn a_full_server_refuses_and_serves_on(transport: Transport) {
    let directory = Directory::new();
    let manifest = directory.write("farcall.toml", &manifest("connections_max = 12"));
    let server = Server::start(transport, &[battery(false)], &["--manifest", manifest.to_str().unwrap()]);
    let first = server.client();
    call(&first);
    let mut clients = Vec::new();
    let refused = loop {
        match server.connect() {
            Ok(client) => clients.push(client),
            Err(error) => break error,
        }
        assert!(clients.len() < 12, "{transport:?}: more than 12 connections");
    };
    assert_eq!(refused.kind(), ErrorKind::LimitExceeded, "{refused}");
    assert!(refused.is_retryable() && refused.to_string().contains("connections_max"), "{refused}");
    call(&first);
    clients.clear();
    assert!(eventually(|| server.connect().is_ok()), "there is room again");
}

#[test]
fn who_comes_when_the_server_is_full_is_told_so() {
    a_full_server_refuses_and_serves_on(Transport::Unix);
    a_full_server_refuses_and_serves_on(Transport::Tcp);
    a_full_server_refuses_and_serves_on(Transport::Tls);
}

/// A routine that writes nothing to its result shows its caller what was there before: zeros, or what the same user left,
/// but never another's numbers.
#[test]
fn memory_is_not_used_again_for_another_user() {
    const SECRET: f64 = 42.421_337;
    let server = Server::start(Transport::Tls, &[battery(false), trouble(false)], &[]);
    let anna = server.client();
    let file = PathBuf::from(authority(&server.authority(), &["user", "bert"]));
    let bert = Client::connect_to(&server.address().parse().unwrap(), Some(file), Duration::from_secs(10)).unwrap();
    let mut again = 0;
    for length in [200, 3000, 20_000, 130_000, 1 << 20] {
        // As an argument and as a result, more than once, so that several regions have held it.
        for _ in 0..4 {
            let mut secret = vec![SECRET; length];
            anna.routine("touch").unwrap().call([("x", Array::vector(&secret).into())]).unwrap();
            let hold = anna.routine("hold").unwrap();
            hold.call([("x", ArrayMut::vector(&mut secret).into()), ("milliseconds", 0.into())]).unwrap();
        }
        let found = |client: &Client| {
            let mut x = vec![0.0; length];
            let untouched = client.routine("untouched").unwrap();
            untouched.call([("x", ArrayMut::vector(&mut x).into())]).unwrap();
            x.iter().filter(|number| **number == SECRET || **number == SECRET + 1.0).count()
        };
        for _ in 0..8 {
            assert_eq!(found(&bert), 0, "bert reads what anna sent, of {length} numbers");
        }
        again += found(&anna);
    }
    // Otherwise nothing was shown: memory is used again for the same user.
    assert!(again > 0, "no memory was used again");
}
