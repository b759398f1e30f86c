//! Many calls and many idle connections: what they cost is bounded, and given back. In a program of its own, whose memory
//! and descriptors are counted.

#![allow(clippy::unwrap_used)]

use farcall_client::{ArrayMut, Client};
use farcall_tests::{Raw, Server, Transport, battery, eventually};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors and kilobytes of memory of a process.
fn cost(pid: u32) -> (usize, u64) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    let resident = line.split_whitespace().next().unwrap().parse().unwrap();
    (std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count), resident)
}

/// What the client (this program), the server and all of its executables cost, and the segments they share.
fn costs(server: &Server) -> (usize, u64, usize) {
    let pids = server.processes().into_iter().chain([server.pid(), std::process::id()]);
    let (descriptors, resident) = pids.map(cost).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (descriptors, resident, server.mappings())
}

fn call(client: &Client, count: usize) {
    let (small, large) = (client.routine("f_int").unwrap(), client.routine("touch").unwrap());
    let mut x = vec![1.0; 40_000];
    for number in 0..count {
        let outputs = small.call([("x", (number as i64 % 1000).into())]).unwrap();
        assert_eq!(outputs.scalar::<i32>("r").unwrap(), 2 * (number as i32 % 1000));
        // Arrays inline and shared, of a size that changes.
        if number % 50 == 0 {
            let length = 1 + number * 7 % x.len();
            large.call([("x", ArrayMut::vector(&mut x[..length]).into())]).unwrap();
        }
    }
}

fn calls_leave_nothing(transport: Transport) {
    // 100,000 take a quarter of a minute for each transport.
    let calls = std::env::var("FARCALL_TEST_CALLS").ok().and_then(|calls| calls.parse().ok()).unwrap_or(20_000);
    let server = Server::start(transport, &[battery(false)], &[]);
    let client = server.client();
    call(&client, 4000);
    let before = costs(&server);
    call(&client, calls);
    let after = costs(&server);
    assert!(after.0 <= before.0 + 2, "{transport:?}: descriptors {before:?}, later {after:?}");
    assert!(after.1 <= before.1 + 4096, "{transport:?}: kilobytes {before:?}, later {after:?}");
    assert!(after.2 <= before.2 + 2, "{transport:?}: segments {before:?}, later {after:?}");
}

/// One after the other: this program's own memory and descriptors are counted.
#[test]
fn a_hundred_thousand_calls_and_ten_thousand_idle_connections() {
    calls_leave_nothing(Transport::Unix);
    calls_leave_nothing(Transport::Tcp);
    calls_leave_nothing(Transport::Tls);
    idle_connections_cost_little();
}

fn idle_connections_cost_little() {
    let limit = getrlimit(Resource::Nofile);
    let hard = limit.maximum.unwrap_or(1 << 20);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(hard), maximum: limit.maximum });
    let count = usize::try_from(hard.saturating_sub(500)).unwrap().min(10_000);
    if count < 10_000 {
        eprintln!("only {count} connections: this user may have no more than {hard} files open");
    }
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    let client = server.client();
    call(&client, 100);
    let before = cost(server.pid());
    let idle: Vec<Raw> = (0..count).map(|_| Raw::greeted(&server)).collect();
    let crowded = cost(server.pid());
    let each = crowded.1.saturating_sub(before.1) as f64 / count as f64;
    assert!(each <= 24.0, "{each} kB for each of {count} idle connections");
    // Nobody is slowed or turned away by them.
    call(&client, 1000);
    call(&server.client(), 100);
    drop(idle);
    assert!(eventually(|| cost(server.pid()).0 <= before.0 + 4), "{:?} after {before:?}", cost(server.pid()));
    call(&client, 100);
}
