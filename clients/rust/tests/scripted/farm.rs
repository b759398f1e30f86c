//! A farm: its short calls leave together, it alone is told of them, and what becomes of each is told
//! once.

use std::time::{Duration, Instant};

use farcall_base::{ChannelId, Error, ErrorKind};
use farcall_call::Event;
use farcall_client::{CallOptions, Client, Farm, Routine};
use farcall_wire::Argument;

use super::fake::{Fake, Wire, pair};

const HALF: &str = "Module m;\nDefine half(IN double a, OUT double b) Calls \"C\" b = half(a);\n";
const PATIENCE: Duration = Duration::from_secs(10);

fn begun() -> (Client, Routine, Fake) {
    let (client, mut server) = pair(Wire::Shared, HALF, PATIENCE);
    let routine = std::thread::scope(|scope| {
        scope.spawn(|| server.tell_interface());
        client.routine("half").unwrap()
    });
    (client, routine, server)
}

fn start(farm: &mut Farm, element: u64) -> bool {
    let arguments = vec![(element as f64).into(), farcall_client::Argument::Unset];
    // SAFETY: there are no arrays.
    unsafe { farm.start(element, arguments, Vec::new(), PATIENCE) }
}

fn taken(server: &mut Fake) -> ChannelId {
    let (channel, _) = server.opened();
    assert!(matches!(server.event(), Event::ArgumentsComplete(_)));
    channel
}

fn finish(server: &mut Fake, channel: ChannelId, value: f64) {
    let value = Argument::Inline(value.to_ne_bytes().as_slice().into());
    server.finish(channel, vec![Argument::Absent, value], Vec::new());
}

/// The element and the number of the next outcome.
fn next(farm: &mut Farm) -> (u64, f64) {
    let outcome = farm.next(Some(PATIENCE)).unwrap();
    (outcome.element, outcome.results.unwrap().scalar("b").unwrap())
}

#[test]
fn its_calls_leave_together_and_it_alone_is_told_of_them() {
    let (client, routine, mut server) = begun();
    let mut farm = Farm::new(&routine, CallOptions::default());
    let mut other = Farm::new(&routine, CallOptions::default());
    // What calls have in common is known once one was made.
    assert!(start(&mut farm, 0));
    let channel = taken(&mut server);
    finish(&mut server, channel, 0.5);
    assert_eq!(next(&mut farm), (0, 0.5));
    for element in 1..4 {
        assert!(start(&mut farm, element));
    }
    assert!(start(&mut other, 7));
    server.expect_nothing();
    farm.send();
    let channels: Vec<ChannelId> = (0..4).map(|_| taken(&mut server)).collect();
    for (number, channel) in channels.into_iter().enumerate().rev() {
        finish(&mut server, channel, number as f64);
    }
    assert_eq!(next(&mut other), (7, 3.0));
    assert_eq!(farm.under_way(), 3);
    assert_eq!([next(&mut farm), next(&mut farm), next(&mut farm)], [(3, 2.0), (2, 1.0), (1, 0.0)]);
    assert!(farm.next(Some(PATIENCE)).is_none() && farm.next_received().is_none());
    assert_eq!(client.next_finished(Some(Duration::ZERO)).unwrap(), None);
}

#[test]
fn a_call_that_nobody_answers_has_its_time() {
    let (_client, routine, mut server) = begun();
    let options =
        CallOptions { timeout: Some(Duration::from_millis(100)), ..CallOptions::default() };
    let mut farm = Farm::new(&routine, options);
    assert!(start(&mut farm, 3));
    let begin = Instant::now();
    let outcome = farm.next(None).unwrap();
    let error = outcome.results.err().unwrap();
    assert_eq!((outcome.element, error.kind()), (3, ErrorKind::TimedOut));
    assert!(begin.elapsed() < Duration::from_secs(5));
    taken(&mut server);
}

#[test]
fn a_connection_that_ends_is_the_outcome_of_each() {
    let (_client, routine, mut server) = begun();
    let mut farm = Farm::new(&routine, CallOptions::default());
    for element in 0..3 {
        assert!(start(&mut farm, element));
    }
    farm.send();
    taken(&mut server);
    drop(server);
    let mut elements: Vec<u64> = (0..3)
        .map(|_| {
            let outcome = farm.next(Some(PATIENCE)).unwrap();
            assert!(outcome.results.is_err());
            outcome.element
        })
        .collect();
    elements.sort_unstable();
    assert_eq!(elements, [0, 1, 2]);
    assert!(farm.next(None).is_none());
    // One that cannot be made has an outcome, too.
    farm.fail(8, Error::new(ErrorKind::InvalidArgument, "call", "no argument"));
    assert_eq!(farm.next(None).map(|outcome| outcome.element), Some(8));
}

#[test]
fn dropping_it_has_its_calls_end() {
    let (_client, routine, mut server) = begun();
    let mut farm = Farm::new(&routine, CallOptions::default());
    assert!(start(&mut farm, 0) && start(&mut farm, 1));
    farm.send();
    let channels = [taken(&mut server), taken(&mut server)];
    drop(farm);
    for _ in channels {
        assert!(
            matches!(server.event(), Event::CancelRequested(channel) if channels.contains(&channel))
        );
    }
}
