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

/// Rounds of calls, of which most must look right: a machine with other work adds ticks to some.
const ROUNDS: usize = 7;

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

/// Whether the server's ticks in user space and in the kernel are as `expected` in most rounds of
/// calls, of which the client may copy `copied_max` bytes.
fn are_mostly(server: &Server, copied_max: u64, expected: impl Fn(u64, u64) -> bool) -> bool {
    let is_right = |_: &usize| {
        let before = ticks(server);
        let copied = call_in_place(server);
        assert!(copied <= copied_max, "the client copied {copied} bytes of {}", CALLS * BYTES);
        let after = ticks(server);
        let user = after.0 - before.0;
        let system = after.1 - before.1;
        println!("{user} ticks in user space, {system} in the kernel");
        expected(user, system)
    };
    (0..ROUNDS).filter(is_right).count() > ROUNDS / 2
}

#[test]
fn arrays_over_tcp_go_straight_to_their_place() {
    let server = Server::start(Transport::Tcp, &[battery(false)], &[]);
    // What arrives in one read with the head of a frame, at most: 4 KiB of 4 MiB.
    let copied_max = CALLS * BYTES / 1000;
    // Moving what came and went takes the kernel about 30 ticks. Of these a copy of what came adds
    // 3 to 7 in user space, since it is still in the cache; without one there are 0 to 2.
    assert!(are_mostly(&server, copied_max, |user, system| user <= system / 12));
}

#[test]
fn arrays_in_shared_memory_are_not_touched_by_the_server() {
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    // 1.5 GB went by, and the server saw a dozen messages.
    assert!(are_mostly(&server, 0, |user, system| user + system <= 4));
}
