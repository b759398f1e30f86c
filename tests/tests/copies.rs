//! The data path copies nothing in user space: held from both ends of it.
//!
//! The client counts what passes through its link's buffer. The server is watched from outside:
//! moving bytes by system calls costs time in the kernel, copying them in user space costs time
//! there, and the two are told apart by /proc.

use farcall_client::{Argument, ArrayMut, CallOptions, Destination};
use farcall_tests::{Server, Transport, battery};

/// Bytes of the array, there and back again.
const BYTES: u64 = 64 << 20;
const CALLS: u64 = 12;

/// Time of the server's process in user space and in the kernel, in ticks of 10 ms.
fn ticks(server: &Server) -> (u64, u64) {
    let status = std::fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
    let fields: Vec<&str> = status.rsplit_once(')').unwrap().1.split_whitespace().collect();
    (fields[11].parse().unwrap(), fields[12].parse().unwrap())
}

fn call_in_place(server: &Server) -> u64 {
    let client = server.client();
    let touch = client.routine("touch").unwrap();
    let mut x = vec![0.5_f64; BYTES as usize / 8];
    for _ in 0..CALLS {
        let arguments = vec![Argument::Unset, ArrayMut::vector(&mut x).into()];
        let places = vec![Destination::New, Destination::InPlace];
        touch.call_positional(arguments, places, &CallOptions::default()).unwrap();
    }
    assert_eq!(x[x.len() - 1], 0.5 + CALLS as f64);
    client.bytes_copied()
}

#[test]
fn arrays_over_tcp_go_straight_to_their_place() {
    let server = Server::start(Transport::Tcp, &[battery(false)], &[]);
    let before = ticks(&server);
    let copied = call_in_place(&server);
    // What arrives in one read with the head of a frame, at most: 4 KiB of 4 MiB.
    assert!(
        copied <= CALLS * BYTES / 1000,
        "the client copied {copied} bytes of {}",
        CALLS * BYTES
    );
    let (user, system) = ticks(&server);
    let user = user - before.0;
    let system = system - before.1;
    // One copy of what came and went, 1.5 GB, takes at least 150 ms of user time; moving it takes
    // the kernel longer.
    assert!(user <= system / 3 + 2, "{user} ticks in user space, {system} in the kernel");
}

#[test]
fn arrays_in_shared_memory_are_not_touched_by_the_server() {
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    let before = ticks(&server);
    assert_eq!(call_in_place(&server), 0);
    let (user, system) = ticks(&server);
    // 1.5 GB went by, and the server saw a dozen messages.
    let spent = user + system - before.0 - before.1;
    assert!(spent <= 4, "{spent} ticks");
}
