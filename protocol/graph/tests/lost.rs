//! What is lost with the program or a server, and news of one that is gone.

use farcall_base::{ErrorKind, Instant};
use farcall_graph::{
    Action, CallNumber, CallPlan, Costs, DataNumber, Ended, Failure, Graph, Limits, Place,
    ServerNumber, Transaction,
};

use crate::plain::{Plain, actions, call, data, once, opened, started};

const A: DataNumber = DataNumber(0);
const B: DataNumber = DataNumber(1);

fn failed(said: &[Action]) -> Vec<(u32, ErrorKind)> {
    let one = |action: &Action| match action {
        Action::Ended { call, outcome: Ended::Failed(failure) } => Some((call.0, failure.kind)),
        _ => None,
    };
    said.iter().filter_map(one).collect()
}

#[test]
fn an_input_that_was_not_sent_is_lost_with_its_program() {
    let graph = Graph::new(data(2, &[]), vec![call(&[0], &[1])], &Limits::default()).unwrap();
    let mut transaction = Transaction::new(Instant(1), graph, Limits::default(), |_| 1.0, |_| 0.1);
    transaction.handle_client_left(Instant(2));
    assert_eq!(failed(&actions(&mut transaction)), [(0, ErrorKind::NotFound)]);
    assert!(transaction.is_over());
}

#[test]
fn an_input_on_its_way_may_still_arrive_when_its_program_has_left() {
    for arrives in [true, false] {
        let mut transaction = started(data(2, &[]), vec![call(&[0], &[1])], 1);
        transaction.handle_client_left(Instant(2));
        let said = actions(&mut transaction);
        assert_eq!((opened(&said).len(), failed(&said).len()), (1, 0));
        if arrives {
            transaction.handle_moved(Instant(3), A, ServerNumber(1));
            assert!(actions(&mut transaction).is_empty() && !transaction.is_over());
        } else {
            transaction.handle_not_moved(Instant(3), A, ServerNumber(1));
            assert_eq!(failed(&actions(&mut transaction)), [(0, ErrorKind::NotFound)]);
        }
    }
}

#[test]
fn an_input_on_its_way_to_a_server_that_dies_is_lost_when_its_program_has_left() {
    let mut transaction = started(data(2, &[]), vec![call(&[0], &[1])], 1);
    transaction.handle_client_left(Instant(2));
    transaction.handle_lost(Instant(3), ServerNumber(1));
    assert_eq!(failed(&actions(&mut transaction)), [(0, ErrorKind::NotFound)]);
    assert!(transaction.is_over());
}

/// A result that the program has taken and that no server has any more.
fn with_a_result_at_its_program(may_run_again: bool) -> Transaction {
    let first = if may_run_again { call(&[], &[0]) } else { once(&[], &[0]) };
    let mut transaction = started(data(2, &[0]), vec![first, call(&[0], &[1])], 1);
    transaction.handle_returned(Instant(2), CallNumber(0), ServerNumber(1), 0);
    transaction.handle_there(Instant(3), A, Place::Client);
    transaction.handle_taken(Instant(3), A);
    transaction.handle_lost(Instant(4), ServerNumber(1));
    actions(&mut transaction);
    assert_eq!(transaction.places(A).collect::<Vec<_>>(), [Place::Client]);
    transaction
}

#[test]
fn a_result_that_only_its_program_has_is_sent_from_there() {
    let mut transaction = with_a_result_at_its_program(false);
    transaction.handle_server(Instant(5), ServerNumber(2), 1);
    transaction.place(Instant(5), &Plain);
    let said = actions(&mut transaction);
    assert_eq!(opened(&said), [(1, 2)]);
    assert!(said.contains(&Action::Send { data: A, to: ServerNumber(2) }), "{said:?}");
}

#[test]
fn a_result_that_only_its_program_had_is_made_again_or_reported() {
    let mut transaction = with_a_result_at_its_program(true);
    transaction.handle_client_left(Instant(5));
    transaction.handle_server(Instant(5), ServerNumber(2), 1);
    transaction.place(Instant(5), &Plain);
    assert_eq!(opened(&actions(&mut transaction)), [(0, 2), (1, 2)]);

    let mut transaction = with_a_result_at_its_program(false);
    transaction.handle_client_left(Instant(5));
    let said = actions(&mut transaction);
    let not_run = Action::Ended { call: CallNumber(1), outcome: Ended::NotRun(CallNumber(0)) };
    assert_eq!(said, [not_run]);
    assert!(transaction.is_over());
}

#[test]
fn news_of_a_lost_server_is_ignored() {
    let mut transaction = started(data(2, &[]), vec![call(&[0], &[1])], 2);
    let server = ServerNumber(opened(&actions(&mut transaction))[0].1);
    transaction.handle_lost(Instant(2), server);
    transaction.handle_moved(Instant(3), A, server);
    transaction.handle_there(Instant(3), A, Place::Server(server));
    transaction.handle_there(Instant(3), A, Place::Server(ServerNumber(77)));
    assert_eq!(transaction.places(A).collect::<Vec<_>>(), [Place::Client]);
    // So the call on the other server has it from the program.
    transaction.place(Instant(4), &Plain);
    let said = actions(&mut transaction);
    assert!(said.contains(&Action::Send { data: A, to: ServerNumber(3 - server.0) }), "{said:?}");
}

#[test]
fn what_is_gone_from_a_server_that_stays_is_brought_or_made_again() {
    let calls = vec![call(&[], &[0]), call(&[0], &[1]), call(&[1], &[2])];
    let mut transaction = started(data(3, &[]), calls, 1);
    actions(&mut transaction);
    let server = ServerNumber(1);
    transaction.handle_returned(Instant(2), CallNumber(0), server, 0);
    transaction.handle_returned(Instant(2), CallNumber(1), server, 0);
    actions(&mut transaction);
    transaction.handle_gone(Instant(3), B, Place::Server(server));
    transaction.place(Instant(3), &Plain);
    // What B is made of was deleted by then.
    assert_eq!(opened(&actions(&mut transaction)), [(0, 1), (1, 1)]);
    assert!(!transaction.is_over());
}

/// Data that the program has put at a server, and does not have itself.
#[test]
fn what_the_program_put_at_a_server_stays_its_own() {
    let graph = Graph::new(data(2, &[]), vec![call(&[0], &[1])], &Limits::default()).unwrap();
    let mut transaction = Transaction::new(Instant(1), graph, Limits::default(), |_| 1.0, |_| 0.1);
    let server = ServerNumber(1);
    transaction.handle_server(Instant(1), server, 1);
    transaction.handle_there(Instant(1), A, Place::Server(server));
    transaction.handle_gone(Instant(1), A, Place::Client);
    transaction.place(Instant(1), &Plain);
    let said = actions(&mut transaction);
    // It is not worked on in its place.
    let call = CallNumber(0);
    assert_eq!(said, [Action::Open { call, server, attempt: 0, last_uses: Vec::new() }]);
    transaction.handle_returned(Instant(2), call, server, 0);
    let deleted = actions(&mut transaction);
    assert!(deleted.contains(&Action::Delete { data: B, server }), "{deleted:?}");
    assert!(!deleted.contains(&Action::Delete { data: A, server }), "{deleted:?}");
    assert_eq!(transaction.places(A).collect::<Vec<_>>(), [Place::Server(server)]);
}

#[test]
fn an_input_that_was_deleted_is_the_reason() {
    let calls = vec![call(&[0], &[1])];
    let graph = Graph::new(data(2, &[1]), calls, &Limits::default()).unwrap();
    let mut transaction = Transaction::new(Instant(1), graph, Limits::default(), |_| 1.0, |_| 0.1);
    let server = ServerNumber(1);
    transaction.handle_there(Instant(1), A, Place::Server(server));
    transaction.handle_gone(Instant(1), A, Place::Client);
    transaction.handle_gone(Instant(2), A, Place::Server(server));
    let said = actions(&mut transaction);
    assert_eq!(failed(&said), [(0, ErrorKind::NotFound)]);
    assert!(format!("{said:?}").contains("it was deleted, or its server was lost"), "{said:?}");
}

#[test]
fn a_transaction_that_is_ended_cancels_its_calls_and_deletes_its_values() {
    let calls = vec![call(&[], &[0]), call(&[0], &[1]), once(&[1], &[2])];
    let mut transaction = started(data(3, &[0, 2]), calls, 1);
    let server = ServerNumber(1);
    transaction.handle_returned(Instant(2), CallNumber(0), server, 0);
    actions(&mut transaction);
    assert_eq!(transaction.left(), 2);
    transaction.handle_end(Instant(3));
    let said = actions(&mut transaction);
    let cancel = |call: u32| Action::Cancel { call: CallNumber(call), server, attempt: 0 };
    assert!(said.contains(&cancel(1)) && said.contains(&cancel(2)), "{said:?}");
    assert!(said.contains(&Action::Delete { data: A, server }), "{said:?}");
    assert_eq!(failed(&said), [(1, ErrorKind::Cancelled)]);
    assert!(transaction.is_over());
    // What returned all the same is deleted.
    transaction.handle_returned(Instant(4), CallNumber(1), server, 0);
    assert_eq!(actions(&mut transaction), [Action::Delete { data: B, server }]);
}

/// Each server has room for one call, and that waits for what is lost.
#[test]
fn calls_that_wait_leave_room_for_what_makes_their_values_again() {
    for second in [call(&[0], &[1]), once(&[0], &[1])] {
        let limits = Limits { open_max: 1, ..Limits::default() };
        let calls = vec![call(&[], &[0]), second];
        let graph = Graph::new(data(2, &[1]), calls, &limits).unwrap();
        let mut transaction = Transaction::new(Instant(1), graph, limits, |_| 1.0, |_| 0.1);
        transaction.handle_server(Instant(1), ServerNumber(1), 1);
        transaction.place(Instant(1), &Plain);
        transaction.handle_returned(Instant(2), CallNumber(0), ServerNumber(1), 0);
        transaction.place(Instant(2), &Plain);
        assert_eq!(opened(&actions(&mut transaction)), [(0, 1), (1, 1)]);
        transaction.handle_gone(Instant(3), A, Place::Server(ServerNumber(1)));
        transaction.place(Instant(3), &Plain);
        let cancelled = actions(&mut transaction);
        assert!(
            matches!(cancelled[0], Action::Cancel { call: CallNumber(1), .. }),
            "{cancelled:?}"
        );
        let failure =
            Failure { kind: ErrorKind::Cancelled, message: String::new(), has_run: false };
        transaction.handle_failed(Instant(4), CallNumber(1), ServerNumber(1), 0, failure);
        transaction.place(Instant(4), &Plain);
        assert_eq!(opened(&actions(&mut transaction)), [(0, 1)]);
        transaction.handle_returned(Instant(5), CallNumber(0), ServerNumber(1), 1);
        transaction.place(Instant(5), &Plain);
        assert_eq!(opened(&actions(&mut transaction)), [(1, 1)]);
    }
}

/// Only the second server takes calls; the first one is there, too.
struct Second {
    may_come: bool,
}

impl Costs for Second {
    fn run_s(&self, _: CallNumber, server: ServerNumber) -> Option<f64> {
        (server != ServerNumber(1)).then_some(1.0)
    }

    fn move_s(&self, _: Place, _: ServerNumber, _: u64) -> f64 {
        0.0
    }

    fn may_come(&self, _: CallNumber) -> bool {
        self.may_come
    }
}

#[test]
fn calls_wait_for_a_server_that_may_come_back() {
    let calls = (0..100).map(|at| call(&[], &[at])).collect();
    let graph = Graph::new(data(100, &[]), calls, &Limits::default()).unwrap();
    let mut transaction = Transaction::new(Instant(1), graph, Limits::default(), |_| 1.0, |_| 0.1);
    transaction.handle_server(Instant(1), ServerNumber(1), 1);
    transaction.place(Instant(1), &Second { may_come: true });
    assert!(actions(&mut transaction).is_empty() && !transaction.is_over());
    transaction.handle_server(Instant(2), ServerNumber(2), 1);
    transaction.place(Instant(2), &Second { may_come: true });
    assert_eq!(opened(&actions(&mut transaction)).len(), 64);
    transaction.handle_lost(Instant(3), ServerNumber(2));
    transaction.place(Instant(3), &Second { may_come: true });
    assert!(failed(&actions(&mut transaction)).is_empty());
    transaction.place(Instant(4), &Second { may_come: false });
    assert_eq!(failed(&actions(&mut transaction)).len(), 100);
    assert!(transaction.is_over());
}

/// A value that was on its way to a server is made there, under another id, since its source is lost.
#[test]
fn a_call_that_waits_for_a_name_that_never_comes_is_opened_again_where_it_was() {
    let calls = vec![call(&[], &[0]), call(&[0], &[1])];
    let mut transaction = started(data(2, &[1]), calls, 1);
    let second = CallNumber(1);
    let server = ServerNumber(1);
    assert_eq!(opened(&actions(&mut transaction)), [(0, 1), (1, 1)]);
    transaction.handle_renamed(Instant(2), second, server, 7);
    assert!(actions(&mut transaction).is_empty(), "it has no such run");
    transaction.handle_renamed(Instant(2), second, server, 0);
    transaction.place(Instant(2), &Plain);
    let said = actions(&mut transaction);
    assert!(said.contains(&Action::Cancel { call: second, server, attempt: 0 }));
    assert_eq!(opened(&said), [(1, 1)]);
    // One that was cancelled before it ran is no reason to do without the server.
    transaction.handle_returned(Instant(3), CallNumber(0), server, 0);
    let failure = Failure { kind: ErrorKind::Cancelled, message: String::new(), has_run: false };
    transaction.handle_failed(Instant(4), second, server, 1, failure);
    transaction.place(Instant(4), &Plain);
    assert_eq!(opened(&actions(&mut transaction)), [(1, 1)]);
}

/// A call that only had to come later than another one needs no result of it when it is made again.
#[test]
fn a_call_is_made_again_though_the_one_before_it_cannot_be() {
    let later = CallPlan { after: vec![CallNumber(0)], ..call(&[], &[1]) };
    let calls = vec![once(&[], &[0]), later];
    let mut transaction = started(data(2, &[0, 1]), calls, 1);
    for number in [0, 1] {
        transaction.handle_returned(Instant(2), CallNumber(number), ServerNumber(1), 0);
        transaction.place(Instant(2), &Plain);
    }
    transaction.handle_lost(Instant(3), ServerNumber(1));
    assert_eq!(failed(&actions(&mut transaction)), [(0, ErrorKind::ConnectionLost)]);
    transaction.handle_server(Instant(4), ServerNumber(2), 1);
    transaction.place(Instant(4), &Plain);
    assert_eq!(opened(&actions(&mut transaction)), [(1, 2)]);
    transaction.handle_returned(Instant(5), CallNumber(1), ServerNumber(2), 1);
    assert!(transaction.is_over());
}

/// One that was told to end and says that it has not begun may run elsewhere, though it may not run
/// twice; its owner has to know that it was told.
#[test]
fn a_run_that_was_told_to_end_is_known() {
    let mut transaction = started(data(2, &[1]), vec![once(&[], &[1])], 2);
    let [(call, server)] = opened(&actions(&mut transaction))[..] else { panic!() };
    let run = (CallNumber(call), ServerNumber(server), 0);
    assert!(!transaction.may_be_ending(run.0, run.1, run.2));
    transaction.handle_renamed(Instant(2), run.0, run.1, run.2);
    assert!(transaction.may_be_ending(run.0, run.1, run.2));
    let message = "it was cancelled".to_owned();
    let failure = Failure { kind: ErrorKind::Cancelled, message, has_run: false };
    transaction.handle_failed(Instant(3), run.0, run.1, run.2, failure);
    transaction.place(Instant(3), &Plain);
    assert_eq!(opened(&actions(&mut transaction)).len(), 1);
    assert!(!transaction.may_be_ending(run.0, run.1, run.2));
}

/// The same, where the one before it is made again first, and fails then.
#[test]
fn a_call_is_made_again_though_the_one_before_it_fails_then() {
    let later = CallPlan { after: vec![CallNumber(0)], ..call(&[], &[1]) };
    let mut transaction = started(data(2, &[0, 1]), vec![call(&[], &[0]), later], 1);
    for number in [0, 1] {
        transaction.handle_returned(Instant(2), CallNumber(number), ServerNumber(1), 0);
        transaction.place(Instant(2), &Plain);
    }
    actions(&mut transaction);
    transaction.handle_lost(Instant(3), ServerNumber(1));
    transaction.handle_server(Instant(4), ServerNumber(2), 1);
    transaction.place(Instant(4), &Plain);
    assert_eq!(opened(&actions(&mut transaction)), [(0, 2)]);
    let kind = ErrorKind::InvalidArgument;
    let failure = Failure { kind, message: "it is wrong".to_owned(), has_run: true };
    transaction.handle_failed(Instant(5), CallNumber(0), ServerNumber(2), 1, failure);
    transaction.place(Instant(5), &Plain);
    assert_eq!(opened(&actions(&mut transaction)), [(1, 2)]);
    transaction.handle_returned(Instant(6), CallNumber(1), ServerNumber(2), 1);
    assert!(transaction.is_over());
}
