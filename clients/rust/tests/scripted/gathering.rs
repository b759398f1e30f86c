//! Short calls that are started while answers lie about leave together, and never later than
//! anybody waits.

use std::time::Duration;

use farcall_base::ChannelId;
use farcall_call::Event;
use farcall_client::{CallOptions, Client, PendingCall, Routine};
use farcall_wire::{Argument, CallTimes};

use super::fake::{Fake, Wire, pair};

const HALF: &str = "Module m;\nDefine half(IN double a, OUT double b) Calls \"C\" b = half(a);\n";

fn start(routine: &Routine) -> PendingCall {
    routine.start([("a", 3.0.into())], &CallOptions::default()).unwrap()
}

/// The next call, which has no arrays.
fn taken(server: &mut Fake) -> ChannelId {
    let (channel, _) = server.opened();
    assert!(matches!(server.event(), Event::ArgumentsComplete(_)));
    channel
}

fn finish(server: &mut Fake, channel: ChannelId) {
    server.finish(
        channel,
        vec![Argument::Absent, Argument::Inline(1.5_f64.to_ne_bytes().as_slice().into())],
        Vec::new(),
    );
}

/// Of two calls, which took the routine `time`, both answers have come, and one was taken.
fn between_answers(time: Duration) -> (Client, Routine, Fake, PendingCall) {
    let (client, mut server) = pair(Wire::Shared, HALF, Duration::from_secs(10));
    let routine = std::thread::scope(|scope| {
        scope.spawn(|| server.tell_interface());
        client.routine("half").unwrap()
    });
    server.times = CallTimes { finished_ns: time.as_nanos() as u64, ..CallTimes::default() };
    let first = start(&routine);
    let second = start(&routine);
    for _ in 0..2 {
        let channel = taken(&mut server);
        finish(&mut server, channel);
    }
    assert_eq!(first.wait().unwrap().scalar::<f64>("b").unwrap(), 1.5);
    (client, routine, server, second)
}

#[test]
fn a_short_call_waits_for_its_like_while_an_answer_lies_here() {
    let (client, routine, mut server, second) = between_answers(Duration::from_micros(5));
    let calls = [start(&routine), start(&routine)];
    server.expect_nothing();
    second.wait().unwrap();
    server.expect_nothing();
    client.process().unwrap();
    for _ in &calls {
        let channel = taken(&mut server);
        finish(&mut server, channel);
    }
    for call in calls {
        call.wait().unwrap();
    }
    // Now none lies here any more.
    let _call = start(&routine);
    taken(&mut server);
}

#[test]
fn whoever_waits_sends_what_waits() {
    let (_client, routine, mut server, _second) = between_answers(Duration::ZERO);
    let call = start(&routine);
    let script = std::thread::spawn(move || {
        let channel = taken(&mut server);
        finish(&mut server, channel);
        server
    });
    call.wait().unwrap();
    script.join().unwrap();
}

#[test]
fn looking_whether_a_call_is_over_sends_it() {
    let (_client, routine, mut server, _second) = between_answers(Duration::ZERO);
    let mut call = start(&routine);
    assert!(call.wait_for(Duration::ZERO).unwrap().is_none());
    taken(&mut server);
}

#[test]
fn so_many_wait_and_no_more() {
    let (_client, routine, mut server, _second) = between_answers(Duration::ZERO);
    let calls: Vec<PendingCall> = (0..100).map(|_| start(&routine)).collect();
    // Whatever the most may be: nearly all are on their way.
    for _ in 0..80 {
        taken(&mut server);
    }
    drop(calls);
}

#[test]
fn a_long_call_leaves_at_once() {
    let (_client, routine, mut server, _second) = between_answers(Duration::from_millis(1));
    let _call = start(&routine);
    taken(&mut server);
}

#[test]
fn event_loops_wait_for_calls_that_are_on_their_way() {
    let (client, routine, mut server, _second) = between_answers(Duration::ZERO);
    let waiting = start(&routine);
    server.expect_nothing();
    let _events = client.events();
    taken(&mut server);
    let _call = start(&routine);
    taken(&mut server);
    drop(waiting);
}
