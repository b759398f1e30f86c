//! Graphs that are refused, where calls run, and what faults cost.

use farcall_base::{ErrorKind, Instant};
use farcall_golden::fuzz_rounds;
use farcall_graph::{
    Action, CallNumber, CallPlan, DataNumber, DataPlan, Ended, Failure, Graph, Limits, Place,
    ServerNumber, Transaction,
};

use crate::plain::{Plain, actions, call, data, once, opened, started};
use crate::world::{Fault, World, random_graph};

#[test]
fn a_graph_with_a_mistake_is_refused_before_anything_runs() {
    let refused = |data: usize, calls: Vec<CallPlan>| {
        let data = vec![DataPlan::default(); data];
        Graph::new(data, calls, &Limits { calls_max: 3, ..Limits::default() }).err().unwrap()
    };
    let circle = refused(3, vec![call(&[2], &[1]), call(&[1], &[2])]);
    assert!(
        circle.to_string().contains("its own result") && circle.to_string().contains("call: 0")
    );
    assert_eq!(circle.kind(), ErrorKind::InvalidArgument);
    let itself = refused(1, vec![call(&[0], &[0])]);
    assert!(itself.to_string().contains("its own result"), "{itself}");
    let twice = refused(2, vec![call(&[0], &[1]), call(&[0], &[1])]);
    assert!(
        twice.to_string().contains("another call makes") && twice.to_string().contains("call: 1")
    );
    assert!(refused(1, vec![call(&[7], &[])]).to_string().contains("value 7"));
    let waits = CallPlan { after: vec![CallNumber(9)], ..CallPlan::default() };
    assert!(refused(0, vec![waits]).to_string().contains("not there"));
    let many = refused(0, vec![CallPlan::default(); 4]);
    assert!(many.kind() == ErrorKind::LimitExceeded && many.to_string().contains("limit: 3"));
}

#[test]
fn a_chain_is_opened_at_once_on_one_server() {
    let calls = vec![call(&[0], &[1]), call(&[1], &[2]), call(&[2], &[3])];
    let mut transaction = started(data(4, &[3]), calls, 2);
    let said = actions(&mut transaction);
    let first = opened(&said)[0].1;
    assert_eq!(opened(&said), [(0, first), (1, first), (2, first)]);
    assert!(said.contains(&Action::Send { data: DataNumber(0), to: ServerNumber(first) }));
    let moves = said.iter().filter(|one| matches!(one, Action::Move { .. })).count();
    assert_eq!(moves, 0, "{said:?}");
    // What nobody else needs is worked on in place, but for what the program has.
    let last = |call: u32| {
        let is_it =
            |action: &&Action| matches!(action, Action::Open { call: one, .. } if one.0 == call);
        match said.iter().find(is_it) {
            Some(Action::Open { last_uses, .. }) => last_uses.clone(),
            _ => panic!("call {call}"),
        }
    };
    assert_eq!((last(0), last(1)), (vec![], vec![DataNumber(1)]));
}

#[test]
fn calls_without_dependence_run_on_all_servers_and_a_call_where_its_data_is() {
    let calls: Vec<CallPlan> = (0..4).map(|at| call(&[], &[at])).collect();
    let mut transaction = started(data(4, &[]), calls, 2);
    let servers: Vec<u32> = opened(&actions(&mut transaction)).iter().map(|(_, at)| *at).collect();
    assert_eq!(servers.iter().filter(|server| **server == 1).count(), 2, "{servers:?}");
    // To send the value takes longer than to wait.
    let graph = Graph::new(data(2, &[]), vec![call(&[0], &[1])], &Limits::default()).unwrap();
    let mut transaction = Transaction::new(Instant(1), graph, Limits::default(), |_| 1.0, |_| 0.1);
    transaction.handle_server(Instant(1), ServerNumber(1), 1);
    transaction.handle_server(Instant(1), ServerNumber(2), 1);
    transaction.handle_there(Instant(1), DataNumber(0), Place::Server(ServerNumber(2)));
    transaction.place(Instant(1), &Plain);
    assert_eq!(opened(&actions(&mut transaction)), [(0, 2)]);
}

#[test]
fn a_call_that_a_server_refuses_goes_to_another_and_then_fails() {
    let mut transaction = started(data(1, &[]), vec![call(&[], &[0])], 2);
    let refused = || Failure {
        kind: ErrorKind::PermissionDenied,
        message: "not here".to_owned(),
        has_run: false,
    };
    let first = opened(&actions(&mut transaction))[0].1;
    transaction.handle_failed(Instant(2), CallNumber(0), ServerNumber(first), 0, refused());
    transaction.place(Instant(2), &Plain);
    assert_eq!(opened(&actions(&mut transaction)), [(0, 3 - first)]);
    transaction.handle_failed(Instant(2), CallNumber(0), ServerNumber(3 - first), 1, refused());
    transaction.place(Instant(3), &Plain);
    let said = actions(&mut transaction);
    assert!(
        matches!(said.as_slice(), [Action::Ended { outcome: Ended::Failed(_), .. }]),
        "{said:?}"
    );
    assert!(transaction.is_over());
}

#[test]
fn a_failure_ends_what_hangs_on_it_and_the_rest_goes_on() {
    let calls = vec![once(&[], &[0]), once(&[0], &[1]), once(&[1], &[2]), once(&[], &[3])];
    let mut transaction = started(data(4, &[2, 3]), calls, 1);
    actions(&mut transaction);
    let failure =
        Failure { kind: ErrorKind::RoutineFailed, message: "no".to_owned(), has_run: true };
    transaction.handle_failed(Instant(2), CallNumber(0), ServerNumber(1), 0, failure);
    let said = actions(&mut transaction);
    let ended: Vec<(u32, bool)> = said
        .iter()
        .filter_map(|one| match one {
            Action::Ended { call, outcome } => {
                Some((call.0, *outcome == Ended::NotRun(CallNumber(0))))
            }
            _ => None,
        })
        .collect();
    assert_eq!(ended, [(0, false), (1, true), (2, true)]);
    assert!(!transaction.is_over());
    transaction.handle_returned(Instant(5), CallNumber(3), ServerNumber(1), 0);
    assert!(transaction.is_over());
}

#[test]
fn what_is_lost_with_a_server_is_made_again_from_what_was_given() {
    let calls = vec![call(&[0], &[1]), call(&[1], &[2]), call(&[2], &[3])];
    let mut transaction = started(data(4, &[3]), calls, 2);
    let server = ServerNumber(opened(&actions(&mut transaction))[0].1);
    transaction.handle_moved(Instant(2), DataNumber(0), server);
    transaction.handle_returned(Instant(5), CallNumber(0), server, 0);
    transaction.handle_returned(Instant(5), CallNumber(1), server, 0);
    actions(&mut transaction);
    transaction.handle_lost(Instant(6), server);
    transaction.place(Instant(9), &Plain);
    let said = actions(&mut transaction);
    let other = 3 - server.0;
    assert_eq!(opened(&said), [(0, other), (1, other), (2, other)]);
    // A call is told of once.
    for at in 0..3 {
        let attempt = u32::from(at < 3);
        transaction.handle_returned(Instant(5), CallNumber(at), ServerNumber(other), attempt);
    }
    let ended = actions(&mut transaction);
    let ended = ended.iter().filter(|one| matches!(one, Action::Ended { .. })).count();
    assert!(ended == 1 && transaction.is_over(), "{ended}");
}

#[test]
fn of_calls_that_may_not_run_twice_the_loss_is_reported() {
    let mut transaction = started(data(3, &[2]), vec![once(&[0], &[1]), once(&[1], &[2])], 2);
    let server = ServerNumber(opened(&actions(&mut transaction))[0].1);
    transaction.handle_lost(Instant(6), server);
    let said = actions(&mut transaction);
    assert!(
        said.iter().any(|one| matches!(
            one,
            Action::Ended { outcome: Ended::Failed(failure), .. } if failure.has_run
        )),
        "{said:?}"
    );
    assert!(transaction.is_over());
}

#[test]
fn ten_thousand_calls_in_a_chain_and_in_a_fan_end() {
    for is_chain in [true, false] {
        let count = 10_000_u32;
        let calls = (0..count).map(|at| match is_chain {
            true => call(&[at], &[at + 1]),
            false => call(&[0], &[at + 1]),
        });
        let graph = random_graph::of(data(count as usize + 1, &[]), calls.collect());
        let report = World::new(graph, 4, 1).run(Vec::new());
        assert_eq!((report.returned, report.failed), (count as usize, 0));
    }
}

/// In random graphs with servers that die and come back, every call gives its right result or its
/// failure, none runs twice that may not, and nothing is left.
#[test]
fn promises_hold_whatever_dies() {
    let mut again = 0;
    let mut lost = 0;
    for seed in 0..fuzz_rounds(200) {
        for may_run_again in [true, false] {
            let graph = random_graph::new(seed, 120, may_run_again);
            let faults: Vec<Fault> = (0..6).map(|at| Fault::new(seed, at)).collect();
            let report = World::new(graph, 4, seed).run(faults);
            if may_run_again {
                assert_eq!(report.failed, 0, "seed {seed}");
                again += report.again;
            } else {
                assert_eq!(report.again, 0, "seed {seed}");
                lost += report.failed;
            }
        }
    }
    assert!(again > 100 && lost > 100, "{again} {lost}");
}
