//! Calls that are late run twice, and looking for them costs little.

use farcall_base::Instant;
use farcall_graph::{Action, CallNumber, CallPlan, Graph, Limits, ServerNumber, Transaction};

use crate::plain::{Plain, actions, call, data, once, opened, started};

#[test]
fn a_late_call_runs_once_more_elsewhere_and_the_first_to_return_counts() {
    let mut transaction = started(data(1, &[0]), vec![call(&[], &[0])], 2);
    let first = ServerNumber(opened(&actions(&mut transaction))[0].1);
    let second = |seconds: u64| Instant(seconds * 1_000_000_000);
    transaction.hurry(second(3), &Plain);
    assert!(actions(&mut transaction).is_empty());
    transaction.hurry(second(60), &Plain);
    let other = ServerNumber(opened(&actions(&mut transaction))[0].1);
    assert_ne!(other, first);
    transaction.handle_returned(Instant(5), CallNumber(0), other, 1);
    let said = actions(&mut transaction);
    assert!(said.contains(&Action::Cancel { call: CallNumber(0), server: first, attempt: 0 }));
    transaction.handle_returned(Instant(5), CallNumber(0), first, 0);
    assert!(actions(&mut transaction).is_empty() && transaction.is_over());
}

#[test]
fn a_late_call_that_may_not_run_twice_is_left_alone() {
    let mut transaction = started(data(1, &[0]), vec![once(&[], &[0])], 2);
    actions(&mut transaction);
    assert_eq!(transaction.next_late(), None);
    assert_eq!(transaction.hurry(Instant(u64::MAX / 2), &Plain), 0);
    assert!(actions(&mut transaction).is_empty());
}

/// Steps are counted: with ten thousand calls, ten thousand looks would be a hundred million.
#[test]
fn ten_thousand_looks_at_ten_thousand_late_calls_take_few_steps() {
    let count = 10_000;
    let calls: Vec<CallPlan> = (0..count).map(|at| call(&[], &[at])).collect();
    let limits = Limits { open_max: count as usize, ..Limits::default() };
    let graph = Graph::new(data(count as usize, &[]), calls, &limits).unwrap();
    let mut transaction = Transaction::new(Instant(1), graph, limits, |_| 1.0, |_| 0.1);
    // Alone, so that no call can be helped. All of them are late after some seconds.
    transaction.handle_server(Instant(1), ServerNumber(1), u32::MAX);
    transaction.place(Instant(1), &Plain);
    assert_eq!(opened(&actions(&mut transaction)).len(), count as usize);
    let millisecond = 1_000_000;
    let looked: usize =
        (0..10_000).map(|tick| transaction.hurry(Instant(tick * millisecond), &Plain)).sum();
    assert!((10_000..=100_000).contains(&looked), "{looked} calls were looked at");
    // The next look is due, and nothing was opened twice.
    assert!(transaction.next_late() > Some(Instant(9_999 * millisecond)));
    assert!(actions(&mut transaction).is_empty());
    for at in 0..count {
        transaction.handle_returned(Instant(1), CallNumber(at), ServerNumber(1), 0);
    }
    assert!(transaction.is_over() && transaction.next_late().is_none());
}
