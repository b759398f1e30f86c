//! Memory of the program's that calls use where it lies: what a server writes after a call was
//! given up reaches nobody.

use std::time::Duration;

use farcall_base::{ChannelId, Error, ErrorKind};
use farcall_client::idl::interface::ElementType;
use farcall_client::{
    Argument as Given, Array, ArrayMemory, CallOptions, PendingCall, Routine, View,
};
use farcall_wire::{Argument, HelloLimits};

use super::fake::{Fake, Wire, pair_with};

const COPY: &str = "Module m;\nDefine copy(IN int n, IN double x[n], OUT double y[n]) Calls \"C\" \
    copy(n, x, y);\n";
const NUMBERS: usize = 1000;
const BYTES: u64 = 8 * NUMBERS as u64;

fn connected() -> (Routine, Fake) {
    let limits = HelloLimits { initial_credit: 1 << 40, ..HelloLimits::default() };
    let (client, mut server) = pair_with(Wire::Shared, COPY, Duration::from_secs(10), limits);
    let routine = std::thread::scope(|scope| {
        scope.spawn(|| server.tell_interface());
        client.routine("copy").unwrap()
    });
    (routine, server)
}

/// Starts a call whose result is to lie in `memory` from number `first` on.
fn start(
    copy: &Routine,
    x: &[f64],
    memory: &ArrayMemory,
    first: usize,
) -> farcall_client::Result<PendingCall> {
    let base = memory.base().wrapping_add(8 * first);
    // SAFETY: the tests leave the numbers alone until the call is over.
    let y = unsafe { View::new(base, ElementType::Float64, Some((vec![NUMBERS as u64], vec![8]))) };
    let arguments = vec![Given::Unset, Array::vector(x).into(), Given::Array(y)];
    let options =
        CallOptions { timeout: Some(Duration::from_millis(200)), ..CallOptions::default() };
    // SAFETY: the arrays outlive the calls of these tests.
    unsafe { copy.start_borrowed(arguments, Vec::new(), &options) }
}

fn number(memory: &ArrayMemory, index: usize) -> f64 {
    // SAFETY: the memory has as many numbers; nobody else writes.
    unsafe { memory.base().cast::<f64>().add(index).read_volatile() }
}

fn fill(memory: &ArrayMemory, count: usize, value: f64) {
    // SAFETY: as above.
    (0..count).for_each(|index| unsafe { memory.base().cast::<f64>().add(index).write(value) });
}

/// The next call, and where it wants its result.
fn wanted(server: &mut Fake) -> (ChannelId, Argument) {
    let (channel, open) = server.opened();
    (channel, open.wanted.unwrap()[2].clone())
}

fn bytes(number: f64) -> Vec<u8> {
    (0..NUMBERS).flat_map(|_| number.to_ne_bytes()).collect()
}

fn finish(server: &mut Fake, channel: ChannelId, place: &Argument) {
    server.finish(channel, vec![Argument::Absent, Argument::Absent, place.clone()], Vec::new());
}

#[test]
fn a_result_is_made_where_it_is_wanted() {
    let (copy, mut server) = connected();
    let x = vec![1.0; NUMBERS];
    let memory = ArrayMemory::allocate(4 * BYTES as usize).unwrap();
    let call = start(&copy, &x, &memory, 1000).unwrap();
    let (channel, place) = wanted(&mut server);
    let Argument::Shared(segment, offset, length) = place else { panic!("{place:?}") };
    assert_eq!((offset, length), (8000, BYTES));
    server.write(segment, offset, &bytes(3.0));
    finish(&mut server, channel, &place);
    call.wait().unwrap();
    assert_eq!((number(&memory, 1000), number(&memory, 1999)), (3.0, 3.0));
}

#[test]
fn a_call_that_was_given_up_writes_nowhere_and_its_neighbour_where_it_should() {
    let (copy, mut server) = connected();
    let x = vec![1.0; NUMBERS];
    let memory = ArrayMemory::allocate(4 * BYTES as usize).unwrap();
    fill(&memory, 4 * NUMBERS, 5.0);
    let lost = start(&copy, &x, &memory, 0).unwrap();
    let neighbour = start(&copy, &x, &memory, 1000).unwrap();
    let (first, place) = wanted(&mut server);
    let Argument::Shared(segment, ..) = place else { panic!("{place:?}") };
    let (second, other) = wanted(&mut server);
    drop(lost);
    server.write(segment, 0, &bytes(7.0));
    server.write(segment, BYTES, &bytes(9.0));
    assert_eq!((number(&memory, 0), number(&memory, 999)), (5.0, 5.0));
    finish(&mut server, second, &other);
    neighbour.wait().unwrap();
    assert_eq!((number(&memory, 0), number(&memory, 1000), number(&memory, 1999)), (5.0, 9.0, 9.0));
    finish(&mut server, first, &place);
    let again = start(&copy, &x, &memory, 0).unwrap();
    let (_, place) = wanted(&mut server);
    assert!(
        !matches!(place, Argument::Shared(number, ..) if number == segment),
        "the server may still write there"
    );
    drop(again);
}

#[test]
fn a_lost_server_writes_nowhere() {
    let (copy, mut server) = connected();
    let x = vec![1.0; NUMBERS];
    let memory = ArrayMemory::allocate(BYTES as usize).unwrap();
    fill(&memory, NUMBERS, 5.0);
    let call = start(&copy, &x, &memory, 0).unwrap();
    let (_, place) = wanted(&mut server);
    let Argument::Shared(segment, offset, _) = place else { panic!("{place:?}") };
    let memory_of_server = server.hang_up();
    assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::ConnectionLost);
    let written =
        rustix::io::pwrite(&memory_of_server[segment as usize - 1], &bytes(7.0), offset).unwrap();
    assert_eq!((written as u64, number(&memory, 0), number(&memory, 999)), (BYTES, 5.0, 5.0));
}

/// Nothing was written when nothing ran, and the memory stays what it is.
#[test]
fn refused_calls_cost_nothing() {
    let (copy, mut server) = connected();
    let x = vec![1.0; NUMBERS];
    let memory = ArrayMemory::allocate(BYTES as usize).unwrap();
    let mut known = None;
    for _ in 0..3 {
        let call = start(&copy, &x, &memory, 0).unwrap();
        let (channel, place) = wanted(&mut server);
        let Argument::Shared(segment, ..) = place else { panic!("{place:?}") };
        assert_eq!(*known.get_or_insert(segment), segment);
        server.refuse(channel, &Error::new(ErrorKind::RoutineCrashed, "run", "signal 6"));
        assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::RoutineCrashed);
        let short = start(&copy, &x[1..], &memory, 0);
        assert!(short.is_err(), "x and y have different lengths");
    }
}
