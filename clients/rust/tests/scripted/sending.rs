//! Servers that take nothing for a while: nobody waits for them longer than he said.

use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::{ChannelId, ErrorKind};
use farcall_client::idl::interface::Order;
use farcall_client::{Argument as Given, Array, CallOptions, Client, PendingCall, Routine};
use farcall_wire::{Argument, HelloLimits};
use rustix::event::{PollFd, PollFlags, poll};

use super::fake::{Fake, Wire, pair_with};

const SUM: &str =
    "Module m;\nDefine sum(IN int n, IN double x[n], OUT double s) Calls \"C\" s = sum(n, x);\n";
/// Numbers of an array that no socket takes at once.
const MANY: usize = 4 << 20;

/// A client that may send whatever it likes, and the routine.
fn connected() -> (Client, Routine, Fake) {
    let limits = HelloLimits { initial_credit: 1 << 40, ..HelloLimits::default() };
    let (client, mut server) = pair_with(Wire::Blocks, SUM, Duration::from_secs(10), limits);
    let routine = std::thread::scope(|scope| {
        scope.spawn(|| server.tell_interface());
        client.routine("sum").unwrap()
    });
    (client, routine, server)
}

fn numbers(count: usize) -> Array<'static> {
    Array::shared(Arc::new(vec![1.0_f64; count]), &[count as u64], Order::Row)
}

fn start(routine: &Routine, count: usize) -> PendingCall {
    // Only a test that fails needs so long.
    let options = CallOptions { timeout: Some(Duration::from_secs(20)), ..CallOptions::default() };
    routine.start([("x", numbers(count).into())], &options).unwrap()
}

/// Reads the next call with all of its arguments; `None` when these do not come within the time.
fn take_within(server: &mut Fake, time: Duration) -> Option<ChannelId> {
    let (channel, open) = server.opened();
    let Argument::Blocks(Some(bytes)) = open.arguments[1] else { panic!("{open:?}") };
    let begun = Instant::now();
    while (server.data(channel, 1).len() as u64) < bytes {
        if begun.elapsed() > time {
            return None;
        }
        server.read();
    }
    Some(channel)
}

fn take(server: &mut Fake) -> ChannelId {
    take_within(server, Duration::from_secs(20)).expect("the client sends all of it")
}

fn answer(server: &mut Fake, channel: ChannelId) {
    let sum = server.data(channel, 1).len() as f64 / 8.0;
    let results = vec![
        Argument::Absent,
        Argument::Absent,
        Argument::Inline(sum.to_ne_bytes().as_slice().into()),
    ];
    server.finish(channel, results, Vec::new());
}

fn serve(server: &mut Fake) {
    let channel = take(server);
    answer(server, channel);
}

#[test]
fn a_started_call_does_not_wait_for_a_server_that_takes_nothing() {
    let (_client, routine, mut server) = connected();
    let begun = Instant::now();
    let call = start(&routine, MANY);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    let script = std::thread::spawn(move || serve(&mut server));
    assert_eq!(call.wait().unwrap().scalar::<f64>("s").unwrap(), MANY as f64);
    script.join().unwrap();
}

/// A server that takes bytes, if slowly, gets all of them from a started call. One that takes none
/// for a tenth of a second does not, and on a busy machine this one may: so it is tried several
/// times.
#[test]
fn a_started_call_is_on_its_way() {
    let tried = || {
        let (_client, routine, mut server) = connected();
        let script = std::thread::spawn(move || {
            let channel = take_within(&mut server, Duration::from_secs(3));
            channel.into_iter().for_each(|channel| answer(&mut server, channel));
            (channel.is_some(), server)
        });
        let mut call = start(&routine, MANY);
        let (is_there, _server) = script.join().unwrap();
        if is_there {
            let outputs = call.wait_for(Duration::from_secs(10)).unwrap().unwrap();
            assert_eq!(outputs.scalar::<f64>("s").unwrap(), MANY as f64);
        }
        is_there
    };
    assert!((0..10).any(|_| tried()), "a started call is never sent as a whole");
}

#[test]
fn a_call_has_its_deadline_while_it_is_sent() {
    let (_client, routine, _server) = connected();
    let x = vec![1.0_f64; MANY];
    let options =
        CallOptions { timeout: Some(Duration::from_millis(300)), ..CallOptions::default() };
    let error = routine.call_with([("x", Array::vector(&x).into())], &options).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::ConnectionLost), "{error}");
}

/// One thread waits for bytes alone, since nothing was queued when it began; then another has much
/// to send. It must wait for room, too.
#[test]
fn whoever_reads_sends_for_others() {
    let (_client, routine, mut server) = connected();
    std::thread::scope(|scope| {
        let first = start(&routine, 1000);
        scope.spawn(move || first.wait().unwrap());
        std::thread::sleep(Duration::from_millis(100));
        let second = start(&routine, MANY);
        let waiter = scope.spawn(move || second.wait().unwrap().scalar::<f64>("s").unwrap());
        std::thread::sleep(Duration::from_millis(100));
        let unanswered = take(&mut server);
        serve(&mut server);
        assert_eq!(waiter.join().unwrap(), MANY as f64);
        answer(&mut server, unanswered);
    });
}

/// A program that does nothing but wait for the descriptor and process.
#[test]
fn event_loops_hear_of_room() {
    let (client, routine, mut server) = connected();
    let mut call = start(&routine, MANY);
    let script = std::thread::spawn(move || {
        serve(&mut server);
        server
    });
    let timeout = rustix::event::Timespec { tv_sec: 5, tv_nsec: 0 };
    let outputs = loop {
        let ready =
            poll(&mut [PollFd::new(&client.events(), PollFlags::IN)], Some(&timeout)).unwrap();
        assert_eq!(ready, 1, "nothing to do, and the call is not over");
        client.process().unwrap();
        if let Some(outputs) = call.poll().unwrap() {
            break outputs;
        }
    };
    assert_eq!(outputs.scalar::<f64>("s").unwrap(), MANY as f64);
    let _server = script.join().unwrap();
    // Nothing is left to do: a loop would spin if room were still told of.
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    assert_eq!(poll(&mut [PollFd::new(&client.events(), PollFlags::IN)], Some(&now)).unwrap(), 0);
}

fn start_within(routine: &Routine, wait: Duration) -> Option<PendingCall> {
    let arguments = vec![Given::Unset, numbers(1000).into(), Given::Unset];
    // SAFETY: the call keeps its array.
    unsafe { routine.start_within(arguments, Vec::new(), &CallOptions::default(), wait) }.unwrap()
}

/// Who must not wait hears at once that there is no room, and a call that ends makes some.
#[test]
fn starting_without_room_waits_as_long_as_it_may() {
    let limits = HelloLimits { channels_max: 1, ..HelloLimits::default() };
    let (client, mut server) = pair_with(Wire::Blocks, SUM, Duration::from_secs(10), limits);
    let routine = std::thread::scope(|scope| {
        scope.spawn(|| server.tell_interface());
        client.routine("sum").unwrap()
    });
    let first = start_within(&routine, Duration::ZERO).expect("there is room for one");
    assert!(start_within(&routine, Duration::ZERO).is_none());
    let begun = Instant::now();
    assert!(start_within(&routine, Duration::from_millis(50)).is_none());
    assert!((50..2000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&mut server));
        first.wait().unwrap();
    });
    let second = start_within(&routine, Duration::from_secs(10)).expect("the first is over");
    let late = CallOptions { timeout: Some(Duration::from_millis(50)), ..CallOptions::default() };
    let arguments = vec![Given::Unset, numbers(1000).into(), Given::Unset];
    // SAFETY: the call keeps its array.
    let refused =
        unsafe { routine.start_within(arguments, Vec::new(), &late, Duration::from_secs(10)) };
    assert_eq!(refused.err().unwrap().kind(), ErrorKind::TimedOut);
    drop(second);
}
