//! No false alarm: what is slow, long or large is not taken for lost by a heartbeat of a second.
//! Connections are not made again here, so that a single alarm ends the call.

use std::path::Path;
use std::time::{Duration, Instant};

use farcall_client::{Array, Client, ConnectOptions};
use farcall_tests::{Proxy, Server, Transport};

const HEARTBEAT: Duration = Duration::from_secs(1);

fn server(transport: Transport) -> Server {
    Server::start(
        transport,
        &[Path::new(env!("CARGO_MANIFEST_DIR")).join("routines/alarms.idl")],
        &[],
    )
}

fn client(server: &Server, address: &str) -> Client {
    let secret = server.token().map(Path::to_path_buf);
    let heartbeat = Some(HEARTBEAT);
    let reconnect = Some(Duration::ZERO);
    let options = ConnectOptions { secret, heartbeat, reconnect, ..ConnectOptions::default() };
    Client::connect_with(&address.parse().unwrap(), &options).unwrap()
}

/// Sends an array, and has it back changed.
fn flip(client: &Client, count: usize) {
    let x: Vec<f64> = (0..count).map(|index| index as f64).collect();
    let outputs = client.routine("flip").unwrap().call([("x", Array::vector(&x).into())]).unwrap();
    let flipped = outputs.array::<f64>("x").unwrap();
    assert!(flipped.iter().zip(&x).all(|(flipped, x)| *flipped == -x), "of {count}");
}

#[test]
fn a_long_call_of_a_quiet_routine_is_no_loss() {
    let servers = [Transport::Unix, Transport::Tcp, Transport::Tls].map(server);
    std::thread::scope(|scope| {
        for server in &servers {
            scope.spawn(|| {
                let rest = client(server, server.address()).routine("rest").unwrap();
                let outputs = rest.call([("seconds", 15.into())]).unwrap();
                assert_eq!(outputs.scalar::<i32>("rested").unwrap(), 15);
            });
        }
    });
}

/// 20 KB a second: an array of 80 KB takes several heartbeats, each way, and waits at its sender
/// meanwhile.
#[test]
fn a_slow_network_is_no_loss() {
    let servers = [Transport::Tcp, Transport::Tls].map(server);
    std::thread::scope(|scope| {
        for server in &servers {
            scope.spawn(|| {
                let proxy = Proxy::narrow(server.address());
                let client = client(server, &proxy.address());
                flip(&client, 10);
                proxy.slow_down(20_000);
                let begun = Instant::now();
                flip(&client, 10_000);
                assert!(begun.elapsed() > 3 * HEARTBEAT, "it took {:?} only", begun.elapsed());
            });
        }
    });
}

#[test]
fn a_gigabyte_under_way_is_no_loss() {
    let server = server(Transport::Tcp);
    let proxy = Proxy::to(server.address());
    let client = client(&server, &proxy.address());
    flip(&client, 10);
    // Several heartbeats each way.
    proxy.slow_down(400 << 20);
    flip(&client, 1 << 27);
}
