//! A transaction goes on from its records.

use farcall_base::{Error, ErrorKind, Instant};
use farcall_golden::fuzz_rounds;
use farcall_graph::{
    Action, CallNumber, DataNumber, Ended, Failure, Graph, Limits, Place, ServerNumber, Transaction,
};

use crate::plain::{Plain, actions, call, data, once, opened, started};
use crate::world::{Fault, World, random_graph};

const A: DataNumber = DataNumber(0);
const SERVER: ServerNumber = ServerNumber(1);

fn restored(graph: &Graph, records: &[Vec<u8>]) -> Result<Transaction, Error> {
    let records = records.iter().map(Vec::as_slice);
    let limits = Limits::default();
    Transaction::restore(
        Instant(50),
        graph.clone(),
        limits,
        |_| 1.0,
        |_| 0.1,
        records,
        |server| server,
    )
}

#[test]
fn what_was_open_is_asked_for_and_what_ended_stays_ended() {
    // A is given; call 1 waits for what call 0 makes; call 2 has failed.
    let calls = vec![once(&[0], &[1]), once(&[1], &[2]), once(&[], &[3])];
    let mut transaction = started(data(4, &[2]), calls, 1);
    let mut records: Vec<Vec<u8>> = transaction.record().into_iter().collect();
    assert_eq!(transaction.record(), None);
    let message = "no".to_owned();
    let failure = Failure { kind: ErrorKind::RoutineFailed, message, has_run: true };
    let failed = Ended::Failed(failure.clone());
    transaction.handle_failed(Instant(2), CallNumber(2), SERVER, 0, failure);
    records.extend(transaction.record());
    transaction.handle_moved(Instant(2), A, SERVER);
    transaction.handle_returned(Instant(3), CallNumber(0), SERVER, 0);
    records.extend(transaction.record());
    assert_eq!(records.len(), 3);

    for records in [records, vec![transaction.record_all()]] {
        let mut again = restored(transaction.graph(), &records).unwrap();
        assert_eq!(again.outcome(CallNumber(2)), Some(&failed));
        assert_eq!(again.outcome(CallNumber(0)), Some(&Ended::Returned(SERVER)));
        assert_eq!(again.outcome(CallNumber(1)), None);
        let places = |data: u32| again.places(DataNumber(data)).collect::<Vec<_>>();
        assert_eq!((places(0), places(1)), (vec![Place::Client], vec![Place::Server(SERVER)]));
        // Nothing is done before a server is there.
        again.place(Instant(60), &Plain);
        assert!(actions(&mut again).is_empty() && !again.is_over());
        again.handle_server(Instant(60), SERVER, 1);
        let said = actions(&mut again);
        let calls = vec![(CallNumber(1), 0)];
        let on_it = vec![DataNumber(1)];
        assert_eq!(said, [Action::TakeUp { server: SERVER, calls, data: on_it }]);
        again.handle_returned(Instant(70), CallNumber(1), SERVER, 0);
        assert!(again.is_over());
    }
}

/// The node that takes a transaction up may give its servers other numbers.
#[test]
fn servers_get_other_numbers() {
    let mut transaction = started(data(2, &[1]), vec![once(&[0], &[1])], 1);
    transaction.handle_moved(Instant(2), A, SERVER);
    transaction.record();
    let all = transaction.record_all();
    let other = ServerNumber(7);
    let mut again = Transaction::restore(
        Instant(50),
        transaction.graph().clone(),
        Limits::default(),
        |_| 1.0,
        |_| 0.1,
        [all.as_slice()],
        |server| if server == SERVER { other } else { server },
    )
    .unwrap();
    assert_eq!(again.open_runs(), [(CallNumber(0), other, 0)]);
    again.handle_server(Instant(60), other, 1);
    let calls = vec![(CallNumber(0), 0)];
    let on_it = vec![A];
    assert_eq!(actions(&mut again), [Action::TakeUp { server: other, calls, data: on_it }]);
}

#[test]
fn a_call_that_never_came_to_its_server_is_opened_again_and_one_that_was_lost_is_not() {
    for is_lost in [false, true] {
        let mut transaction = started(data(1, &[0]), vec![once(&[], &[0])], 1);
        let record = transaction.record_all();
        let mut again = restored(transaction.graph(), &[record]).unwrap();
        if is_lost {
            again.handle_lost(Instant(60), SERVER);
            assert!(matches!(again.outcome(CallNumber(0)), Some(Ended::Failed(_))));
            assert!(again.is_over());
            continue;
        }
        again.handle_server(Instant(60), SERVER, 1);
        again.handle_unknown(Instant(61), CallNumber(0), SERVER, 0);
        again.place(Instant(62), &Plain);
        let said = actions(&mut again);
        assert_eq!(opened(&said), [(0, 1)]);
        assert!(said.iter().any(|one| matches!(one, Action::Open { attempt: 1, .. })), "{said:?}");
    }
}

#[test]
fn a_server_that_is_not_known_is_asked_what_it_has_after_a_restart() {
    let mut transaction = started(data(1, &[0]), vec![call(&[], &[0])], 1);
    let record = transaction.record_all();
    let mut again = restored(transaction.graph(), &[record]).unwrap();
    let other = ServerNumber(7);
    again.handle_server(Instant(60), other, 1);
    let nothing = Action::TakeUp { server: other, calls: Vec::new(), data: Vec::new() };
    assert_eq!(actions(&mut again), [nothing]);
    again.handle_server(Instant(61), other, 1);
    assert!(actions(&mut again).is_empty());
}

#[test]
fn broken_records_are_refused() {
    let mut transaction = started(data(2, &[1]), vec![call(&[0], &[1])], 1);
    let record = transaction.record_all();
    let graph = transaction.graph().clone();
    let refused = |graph: &Graph, record: Vec<u8>| restored(graph, &[record]).unwrap_err();

    let mut newer = record.clone();
    newer[1] = 2;
    let error = refused(&graph, newer);
    assert_eq!(error.kind(), ErrorKind::Version);
    assert!(error.to_string().contains("version 2"), "{error}");

    let other = random_graph::new(1, 5, true);
    let error = refused(&other, record.clone());
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(error.to_string().contains("another transaction"), "{error}");

    for length in 0..record.len() {
        assert_eq!(refused(&graph, record[..length].to_vec()).kind(), ErrorKind::Damaged);
    }
    let longer = [record.as_slice(), &[0]].concat();
    let error = refused(&graph, longer);
    assert!(error.to_string().contains("1 bytes follow"), "{error}");
    assert!(error.to_string().contains("; check the disk"), "{error}");
}

#[test]
fn promises_hold_when_the_owner_is_ended_again_and_again() {
    let mut restarts = 0;
    for seed in 0..fuzz_rounds(200) {
        for may_run_again in [true, false] {
            let graph = random_graph::new(seed, 80, may_run_again);
            let report = World::new(graph, 4, seed).with_restarts(2 + seed % 40).run(Vec::new());
            // Nothing but the owner was ended: so nothing is lost.
            assert_eq!(report.failed, 0, "seed {seed}: {:?}", report.failures);
            restarts += report.restarts;
        }
    }
    assert!(restarts > 1000, "{restarts}");
}

#[test]
fn promises_hold_when_servers_and_values_are_lost_too() {
    let mut lost = 0;
    for seed in 0..fuzz_rounds(200) {
        for may_run_again in [true, false] {
            let graph = random_graph::new(seed, 80, may_run_again);
            let deaths = (0..4).map(|at| Fault::new(seed, at));
            let gone = (0..20).map(|at| Fault::gone(seed, at));
            let world = World::new(graph, 4, seed).with_restarts(5 + seed % 40);
            let report = world.run(deaths.chain(gone).collect());
            if may_run_again {
                assert_eq!(report.failed, 0, "seed {seed}: {:?}", report.failures);
            }
            lost += report.failed;
        }
    }
    assert!(lost > 100, "{lost}");
}

/// Each call ends, and what returned is right.
#[test]
fn promises_hold_when_the_program_leaves() {
    let mut lost = 0;
    for seed in 0..fuzz_rounds(300) {
        let graph = random_graph::new(seed, 80, seed % 3 > 0);
        let mut faults: Vec<Fault> = (0..4).map(|at| Fault::new(seed, at)).collect();
        faults.push(Fault::leaving(seed * 7 % 600));
        faults.extend((0..4).map(|at| Fault::gone(seed, at)));
        let every = if seed % 2 == 0 { 0 } else { 20 };
        lost += World::new(graph, 4, seed).with_restarts(every).run(faults).failed;
    }
    assert!(lost > 100, "{lost}");
}
