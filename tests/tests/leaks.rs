//! Many calls and many idle connections: what they cost is bounded, and given back. In a program of
//! its own, whose memory and descriptors are counted.

#![allow(clippy::unwrap_used)]

use farcall_client::{ArrayMut, CallOptions, Client};
use farcall_tests::{Directory, Raw, Server, Transport, battery, eventually, manifest};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors and kilobytes of memory of a process.
fn cost(pid: u32) -> (usize, u64) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    let resident = line.split_whitespace().next().unwrap().parse().unwrap();
    (std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count), resident)
}

/// What the client (this program), the server and all of its executables cost, and the segments
/// they share.
fn costs(server: &Server) -> (usize, u64, usize) {
    let pids = server.processes().into_iter().chain([server.pid(), std::process::id()]);
    let (descriptors, resident) =
        pids.map(cost).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (descriptors, resident, server.mappings())
}

/// Calls under way at a time.
const IN_FLIGHT: usize = 50;

/// Makes so many calls: in crowds, each crowd with one call of its own, whose array comes inline or
/// shared and changes its size.
fn call(client: &Client, count: usize) {
    let small = client.routine("f_int").unwrap();
    let large = client.routine("touch").unwrap();
    let mut x = vec![1.0; 40_000];
    for crowd in 0..count / IN_FLIGHT {
        let number = |index: usize| ((crowd * IN_FLIGHT + index) % 1000) as i32;
        let start = |index| {
            small.start([("x", i64::from(number(index)).into())], &CallOptions::default()).unwrap()
        };
        let calls: Vec<_> = (1..IN_FLIGHT).map(start).collect();
        for (index, call) in (1..IN_FLIGHT).zip(calls) {
            assert_eq!(call.wait().unwrap().scalar::<i32>("r").unwrap(), 2 * number(index));
        }
        let length = 1 + crowd * 350 % x.len();
        large.call([("x", ArrayMut::vector(&mut x[..length]).into())]).unwrap();
    }
}

fn calls_leave_nothing(transport: Transport) {
    let calls = std::env::var("FARCALL_TEST_CALLS")
        .ok()
        .and_then(|calls| calls.parse().ok())
        .unwrap_or(100_000);
    let folder = Directory::new();
    let manifest = folder.write("farcall.toml", &manifest("executables_max = 2"));
    let server =
        Server::start(transport, &[battery(false)], &["--manifest", manifest.to_str().unwrap()]);
    let client = server.client();
    call(&client, 4000);
    // A second executable comes sooner or later, and is no leak.
    assert!(eventually(|| {
        call(&client, 500);
        server.children().len() == 2
    }));
    let before = costs(&server);
    call(&client, calls);
    let after = costs(&server);
    println!(
        "{transport:?}: {calls} calls: descriptors, kilobytes and segments {before:?}, later \
            {after:?}"
    );
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
    // Records and their keys are what TLS costs beyond the others.
    idle_connections_cost_little(Transport::Unix, 10_000, 24.0);
    idle_connections_cost_little(Transport::Tcp, 10_000, 24.0);
    idle_connections_cost_little(Transport::Tls, 1000, 100.0);
}

/// A client that says hello and no more.
enum Idle {
    Raw {
        _raw: Raw,
    },
    /// Over TLS, one that speaks by hand has a thread.
    Client {
        _client: Client,
    },
}

impl Idle {
    fn new(server: &Server, transport: Transport) -> Idle {
        match transport {
            Transport::Tls => Idle::Client { _client: server.client() },
            _ => Idle::Raw { _raw: Raw::greeted(server) },
        }
    }
}

fn idle_connections_cost_little(transport: Transport, wanted: usize, kilobytes_max: f64) {
    let limit = getrlimit(Resource::Nofile);
    let hard = limit.maximum.unwrap_or(1 << 20);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(hard), maximum: limit.maximum });
    let count = usize::try_from(hard.saturating_sub(500)).unwrap().min(wanted);
    if count < wanted {
        eprintln!("only {count} connections: this user may have no more than {hard} files open");
    }
    let server = Server::start(transport, &[battery(false)], &[]);
    let client = server.client();
    call(&client, 100);
    let before = cost(server.pid());
    let crowd = || (0..count).map(|_| Idle::new(&server, transport)).collect::<Vec<Idle>>();
    let mut idle = crowd();
    let crowded = cost(server.pid());
    let each = crowded.1.saturating_sub(before.1) as f64 / count as f64;
    println!("{transport:?}: {each:.1} kB for each of {count} idle connections");
    assert!(each <= kilobytes_max, "{transport:?}: {each} kB for each of {count} idle connections");
    // What they took serves those who come after them.
    for _ in 0..2 {
        idle.clear();
        assert!(
            eventually(|| cost(server.pid()).0 <= before.0 + 4),
            "{:?} after {before:?}",
            cost(server.pid())
        );
        idle = crowd();
    }
    let again = cost(server.pid()).1;
    println!("{transport:?}: {} kB for the first crowd, {again} kB for the third", crowded.1);
    assert!(
        again <= crowded.1 + crowded.1 / 8 + 4096,
        "{transport:?}: {} kB, later {again}",
        crowded.1
    );
    // Nobody is slowed or turned away by them.
    call(&client, 1000);
    call(&server.client(), 100);
    drop(idle);
    assert!(
        eventually(|| cost(server.pid()).0 <= before.0 + 4),
        "{:?} after {before:?}",
        cost(server.pid())
    );
    call(&client, 100);
}
