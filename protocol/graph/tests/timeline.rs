//! When each call was ready, was opened, began and ended.

use farcall_base::{ErrorKind, Instant};
use farcall_graph::{CallNumber, Failure, Limits, ServerNumber, Timed, Transaction};

use crate::plain::{Plain, actions, call, data, once, opened, started};

fn at(millisecond: u64) -> Instant {
    Instant(1 + millisecond * 1_000_000)
}

fn of(transaction: &Transaction, call: u32) -> Timed {
    transaction.timeline().nth(call as usize).unwrap()
}

#[test]
fn the_timeline_says_when_and_where_calls_ran() {
    let calls = vec![call(&[], &[0]), call(&[0], &[1])];
    let mut transaction = started(data(2, &[1]), calls, 1);
    let server = ServerNumber(1);
    transaction.handle_begun(at(5), CallNumber(0), server, 0);
    assert_eq!(of(&transaction, 0).begun_us, Some(5_000));
    transaction.handle_returned(at(9), CallNumber(0), server, 0);
    // Told with its result, after it began.
    transaction.handle_begun(at(10), CallNumber(1), server, 0);
    transaction.handle_returned(at(20), CallNumber(1), server, 0);
    let timed = |number: u32, begun: u64, ended: u64| Timed {
        call: CallNumber(number),
        server: Some(server),
        attempts: 1,
        ready_us: Some(0),
        opened_us: Some(0),
        begun_us: Some(begun),
        ended_us: Some(ended),
    };
    let all: Vec<Timed> = transaction.timeline().collect();
    assert_eq!(all, [timed(0, 5_000, 9_000), timed(1, 10_000, 20_000)]);
}

#[test]
fn of_a_call_that_runs_again_the_last_time_counts() {
    let mut transaction = started(data(1, &[0]), vec![call(&[], &[0])], 2);
    let first = ServerNumber(opened(&actions(&mut transaction))[0].1);
    transaction.handle_begun(at(1), CallNumber(0), first, 0);
    transaction.handle_lost(at(30), first);
    transaction.place(at(40), &Plain);
    let timed = of(&transaction, 0);
    assert_eq!((timed.attempts, timed.ready_us), (2, Some(30_000)));
    assert_eq!((timed.opened_us, timed.begun_us), (Some(40_000), None));
    assert_ne!(timed.server, Some(first));
}

#[test]
fn calls_that_failed_have_their_time_and_others_none() {
    let calls = vec![once(&[], &[0]), once(&[0], &[1])];
    let mut transaction = started(data(2, &[]), calls, 1);
    let message = "no".to_owned();
    let failure = Failure { kind: ErrorKind::RoutineFailed, message, has_run: true };
    transaction.handle_begun(at(1), CallNumber(0), ServerNumber(1), 0);
    transaction.handle_failed(at(7), CallNumber(0), ServerNumber(1), 0, failure);
    let failed = of(&transaction, 0);
    assert_eq!((failed.begun_us, failed.ended_us), (Some(1_000), Some(7_000)));
    let not_run = of(&transaction, 1);
    assert_eq!((not_run.begun_us, not_run.ended_us), (None, Some(7_000)));
}

#[test]
fn the_timeline_goes_on_after_a_restart() {
    let calls = vec![call(&[], &[0]), call(&[0], &[1])];
    let mut transaction = started(data(2, &[1]), calls, 1);
    transaction.handle_begun(at(5), CallNumber(0), ServerNumber(1), 0);
    transaction.handle_returned(at(9), CallNumber(0), ServerNumber(1), 0);
    let record = transaction.record_all();
    // Another clock, which shows less.
    let graph = transaction.graph().clone();
    let limits = Limits::default();
    let now = Instant(1_000_000);
    let records = [record.as_slice()];
    let mut restored =
        Transaction::restore(now, graph, limits, |_| 1.0, |_| 0.1, records, |server| server)
            .unwrap();
    assert_eq!(of(&restored, 0), of(&transaction, 0));
    restored.handle_returned(Instant(3_000_000), CallNumber(1), ServerNumber(1), 0);
    let ended = of(&restored, 1);
    assert_eq!((ended.opened_us, ended.ended_us), (Some(0), Some(11_000)));
}
