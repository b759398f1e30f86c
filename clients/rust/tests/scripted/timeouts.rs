//! Servers that do not answer: callers are told that their calls timed out, and get their memory
//! back.

use std::time::{Duration, Instant};

use farcall_base::{ChannelId, Error, ErrorKind};
use farcall_client::{Array, ArrayMut, CallOptions, Client, Outputs, Result, Routine};
use farcall_wire::{Argument, HelloLimits};

use super::fake::{Fake, Wire, pair_with};

const COPY: &str = "Module m;\nDefine copy(IN int n, IN double x[n], OUT double y[n]) Calls \"C\" \
    copy(n, x, y);\n";
const NUMBERS: usize = 4 << 20;
const TIMEOUT: Duration = Duration::from_millis(300);

fn connected(wire: Wire) -> (Client, Routine, Fake) {
    connected_with(wire, HelloLimits { initial_credit: 1 << 40, ..HelloLimits::default() })
}

fn connected_with(wire: Wire, limits: HelloLimits) -> (Client, Routine, Fake) {
    let (client, mut server) = pair_with(wire, COPY, Duration::from_secs(10), limits);
    let routine = std::thread::scope(|scope| {
        scope.spawn(|| server.tell_interface());
        client.routine("copy").unwrap()
    });
    (client, routine, server)
}

fn call(copy: &Routine, x: &[f64], y: &mut [f64], timeout: Duration) -> Result<Outputs> {
    let options = CallOptions { timeout: Some(timeout), ..CallOptions::default() };
    copy.call_with([("x", Array::vector(x).into()), ("y", ArrayMut::vector(y).into())], &options)
}

fn times_out(copy: &Routine, x: &[f64], y: &mut [f64]) {
    let begun = Instant::now();
    let error = call(copy, x, y, TIMEOUT).err().unwrap();
    let took = begun.elapsed();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert!(took >= TIMEOUT && took < TIMEOUT + Duration::from_millis(1500), "{took:?}");
}

fn bytes(count: usize, number: f64) -> Vec<u8> {
    (0..count).flat_map(|_| number.to_ne_bytes()).collect()
}

/// What a server says of a call of `count` numbers that it ran: y is this number throughout.
fn finish(server: &mut Fake, channel: ChannelId, count: usize, number: f64) {
    let y = Argument::Blocks(Some(8 * count as u64));
    server.finish(
        channel,
        vec![Argument::Absent, Argument::Absent, y],
        vec![(2, bytes(count, number))],
    );
}

/// The caller hears at its deadline, not when the server takes notice; the connection goes on.
#[test]
fn a_silent_server_delays_nobody() {
    for wire in [Wire::Blocks, Wire::Shared] {
        let (client, copy, mut server) = connected(wire);
        let x = vec![1.0; 1000];
        let mut y = vec![0.0; 1000];
        times_out(&copy, &x, &mut y);
        times_out(&copy, &x, &mut y);
        let script = std::thread::spawn(move || {
            let calls = [(); 3].map(|()| server.opened());
            // The late word on the first two is nobody's any more.
            for ((channel, open), number) in calls.iter().zip([7.0, 8.0, 9.0]) {
                let y = match open.wanted.as_ref().map(|wanted| &wanted[2]) {
                    Some(shared @ Argument::Shared(..)) => shared.clone(),
                    _ => Argument::Inline(bytes(1000, number).into()),
                };
                server.finish(*channel, vec![Argument::Absent, Argument::Absent, y], Vec::new());
            }
            server
        });
        call(&copy, &x, &mut y, Duration::from_secs(10)).unwrap();
        // Nobody wrote to what is shared.
        assert_eq!(y[0], if matches!(wire, Wire::Blocks) { 9.0 } else { 0.0 });
        let _server = script.join().unwrap();
        drop(client);
    }
}

/// Memory that the server may still write to is not given to another call before the server is done
/// with the first.
#[test]
fn shared_memory_stays_the_servers_until_it_is_done() {
    let (client, copy, mut server) = connected(Wire::Shared);
    let x = vec![1.0; 1000];
    let mut y = vec![0.0; 1000];
    let segments = |open: &farcall_wire::Open| -> Vec<u32> {
        let places = open.arguments.iter().chain(open.wanted.iter().flatten());
        places
            .filter_map(|place| {
                if let Argument::Shared(segment, ..) = place { Some(*segment) } else { None }
            })
            .collect()
    };
    times_out(&copy, &x, &mut y);
    let (first, open) = server.opened();
    let lost = segments(&open);
    assert_eq!(lost.len(), 2, "{open:?}");
    times_out(&copy, &x, &mut y);
    let (second, open) = server.opened();
    assert!(segments(&open).iter().all(|segment| !lost.contains(segment)), "{lost:?} {open:?}");
    for channel in [first, second] {
        server.refuse(channel, &Error::new(ErrorKind::Cancelled, "run", "late, but true"));
    }
    client.process().unwrap();
    times_out(&copy, &x, &mut y);
    let (_, open) = server.opened();
    assert!(segments(&open).iter().any(|segment| *segment <= 4), "it is pooled: {open:?}");
}

/// A server that takes no more segments than the lost call has: they are not taken back to make
/// room for the next.
#[test]
fn numbers_of_shared_memory_stay_the_servers_too() {
    let (_client, copy, mut server) =
        connected_with(Wire::Shared, HelloLimits { segments_max: 2, ..HelloLimits::default() });
    let x = vec![1.0; 1000];
    let mut y = vec![0.0; 1000];
    times_out(&copy, &x, &mut y);
    let (_, open) = server.opened();
    assert!(matches!(open.arguments[1], Argument::Shared(..)), "{open:?}");
    times_out(&copy, &x, &mut y);
    assert!(!server.lost_memory());
    let (_, open) = server.opened();
    assert!(matches!(open.arguments[1], Argument::Blocks(_)), "{open:?}");
}

/// A result that stops in the middle: the rest goes nowhere, and the connection goes on behind it.
#[test]
fn a_late_rest_of_a_result_is_thrown_away() {
    let (client, copy, mut server) = connected(Wire::Blocks);
    let x = vec![1.0; NUMBERS];
    let mut y = vec![0.0; NUMBERS];
    let script = std::thread::spawn(move || {
        let (channel, _) = server.opened();
        while server.data(channel, 1).len() < 8 * NUMBERS {
            server.read();
        }
        // As much as the sockets take at once; the rest when the server reads again.
        finish(&mut server, channel, NUMBERS, 7.0);
        server
    });
    let patience = Duration::from_secs(3);
    let error = call(&copy, &x, &mut y, patience).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    let mut server = script.join().unwrap();
    assert_eq!((y[0], y[NUMBERS - 1]), (7.0, 0.0), "the time was over in the middle");
    y.fill(-1.0);
    let script = std::thread::spawn(move || {
        let (channel, _) = server.opened();
        finish(&mut server, channel, 1000, 9.0);
        for _ in 0..100 {
            server.read();
        }
        server
    });
    let mut other = vec![0.0; 1000];
    call(&copy, &x[..1000], &mut other, Duration::from_secs(20)).unwrap();
    assert!(other.iter().all(|number| *number == 9.0));
    assert!(
        y.iter().all(|number| *number == -1.0),
        "the caller's memory was written to after its call"
    );
    let _server = script.join().unwrap();
    drop(client);
}

/// What was queued of the arguments is a copy from then on.
#[test]
fn a_late_rest_of_an_argument_is_a_copy() {
    let (client, copy, mut server) = connected(Wire::Blocks);
    let mut x = vec![1.0; NUMBERS];
    let mut y = vec![0.0; NUMBERS];
    times_out(&copy, &x, &mut y);
    x.fill(2.0);
    let (channel, _) = server.opened();
    for _ in 0..300 {
        let _ = client.process();
        server.read();
    }
    let came = server.data(channel, 1);
    assert!(
        !came.is_empty() && came.len() < 8 * NUMBERS,
        "what was not queued never comes: {}",
        came.len()
    );
    assert!(
        came.chunks_exact(8).all(|number| number == 1.0_f64.to_ne_bytes()),
        "bytes of after the call were sent"
    );
}

/// Whoever drops a call, or looks at it when its time is over, waits for nothing.
#[test]
fn dropping_and_polling_wait_for_nothing() {
    let (client, copy, _server) = connected(Wire::Blocks);
    let x = || Array::vector(&[1.0_f64; 3]).into();
    let call = copy
        .start([("x", x())], &CallOptions { announced: true, ..CallOptions::default() })
        .unwrap();
    let begun = Instant::now();
    drop(call);
    assert!(begun.elapsed() < Duration::from_millis(200), "{:?}", begun.elapsed());
    let mut call = copy
        .start(
            [("x", x())],
            &CallOptions { timeout: Some(TIMEOUT), announced: true, ..CallOptions::default() },
        )
        .unwrap();
    assert!(call.poll().unwrap().is_none());
    std::thread::sleep(TIMEOUT);
    let begun = Instant::now();
    let error = call.poll().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert!(begun.elapsed() < Duration::from_millis(200), "{:?}", begun.elapsed());
    assert_eq!(
        client.next_finished(Some(Duration::ZERO)).unwrap(),
        None,
        "nobody is told of what is collected"
    );
}

/// A server that ends a call a moment after its deadline, with its own word.
fn refused_late(mut server: Fake) -> Fake {
    let (channel, open) = server.opened();
    std::thread::sleep(
        Duration::from_micros(open.remaining_us.unwrap()) + Duration::from_millis(50),
    );
    server.refuse(channel, &Error::new(ErrorKind::TimedOut, "run", "it waited in the queue"));
    server
}

/// The server's own word comes a little after the deadline, and says more.
#[test]
fn the_servers_word_counts_for_a_while() {
    let (_client, copy, server) = connected(Wire::Blocks);
    let script = std::thread::spawn(move || refused_late(server));
    let x = vec![1.0; 10];
    let mut y = vec![0.0; 10];
    let error = call(&copy, &x, &mut y, TIMEOUT).err().unwrap();
    assert!(error.kind() == ErrorKind::TimedOut && error.to_string().contains("queue"), "{error}");
    let _server = script.join().unwrap();
}

/// The same for who waits in pieces, as the Python client does: one of them ends just after the
/// deadline.
#[test]
fn the_servers_word_counts_for_who_waits_in_pieces() {
    let (_client, copy, server) = connected(Wire::Blocks);
    let script = std::thread::spawn(move || refused_late(server));
    let options = CallOptions { timeout: Some(TIMEOUT), ..CallOptions::default() };
    let x = Array::vector(&[1.0_f64; 10]).into();
    let mut call = copy.start([("x", x)], &options).unwrap();
    let error = loop {
        match call.wait_for(Duration::from_millis(20)) {
            Ok(outputs) => assert!(outputs.is_none()),
            Err(error) => break error,
        }
    };
    assert!(error.kind() == ErrorKind::TimedOut && error.to_string().contains("queue"), "{error}");
    let _server = script.join().unwrap();
}
