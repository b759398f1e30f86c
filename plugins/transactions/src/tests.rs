//! Transactions that are written down, without sockets: nothing is done before it is in the store, an
//! owner that lost its lease does nothing more, and another one goes on.

mod damaged;
mod sim;
mod world;

use std::time::Duration;

use farcall_base::ErrorKind;
use farcall_graph::{CallNumber, ServerNumber};
use farcall_services::store::{Change, Changed, Condition};
use farcall_wire::{Reply, TransactionReply, TransactionRequest};

use crate::state::kept::{HEADS, Keys};
use world::{ID, World, node};

#[test]
fn nothing_is_done_before_it_is_written() {
    let mut world = World::new();
    let mut one = node(&mut world, "one");
    one.begin(&mut world, 3);
    one.work(&mut world);
    assert_eq!(one.answers(), [Ok(Reply::Done)]);
    let open = one.take_opened();
    assert_eq!(open.iter().map(|(call, _)| call.0).collect::<Vec<_>>(), [0, 1, 2]);
    // At the moment of each Open, the store had it: the world checks that. Now the store is away.
    world.is_away = true;
    one.returns(&mut world, CallNumber(0));
    one.work(&mut world);
    one.ask(TransactionRequest::Timeline(ID, 0));
    assert!(one.state.is_closed(one.number()), "no news are taken while a record is written");
    assert_eq!(world.records_with(CallNumber(0)), 1);
    world.is_away = false;
    world.now = world.now + Duration::from_secs(2);
    one.state.tick(world.now);
    one.work(&mut world);
    assert!(!one.state.is_closed(one.number()));
    assert_eq!(world.records_with(CallNumber(0)), 2);
    one.returns(&mut world, CallNumber(1));
    one.returns(&mut world, CallNumber(2));
    one.work(&mut world);
    one.ask(TransactionRequest::Await(ID));
    one.work(&mut world);
    let answers = one.answers();
    let over = Ok(Reply::Transaction(TransactionReply::Over(Default::default())));
    assert!(answers.contains(&over), "{answers:?}");
    // Who ends it is told so when it cannot come back.
    world.is_away = true;
    one.ask(TransactionRequest::End(vec![ID]));
    one.work(&mut world);
    assert!(one.answers().is_empty());
    world.is_away = false;
    world.now = world.now + Duration::from_secs(2);
    one.state.tick(world.now);
    one.work(&mut world);
    assert_eq!(one.answers(), [Ok(Reply::Done)]);
    assert!(world.keys().is_empty(), "{:?}", world.keys());
}

#[test]
fn a_begin_that_cannot_be_written_is_refused() {
    let mut world = World::new();
    let mut one = node(&mut world, "one");
    one.work(&mut world);
    world.is_away = true;
    one.begin(&mut world, 1);
    one.work(&mut world);
    let answers = one.answers();
    let [Err((kind, message))] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!(*kind, ErrorKind::Unavailable);
    assert!(message.contains("could not be written to the store"), "{message}");
    assert!(one.take_opened().is_empty());
}

#[test]
fn an_owner_that_lost_its_lease_does_nothing_more() {
    let mut world = World::new();
    let mut one = node(&mut world, "one");
    one.begin(&mut world, 2);
    one.work(&mut world);
    one.take_opened();
    one.answers();
    let lease = one.lease.unwrap();
    world.store.end(lease);
    // Another one has it now.
    let mut two = node(&mut world, "two");
    two.work(&mut world);
    assert_eq!(two.connected_for, ["uid 7"]);
    one.returns(&mut world, CallNumber(0));
    one.ask(TransactionRequest::Await(ID));
    one.work(&mut world);
    assert!(one.dropped && !one.left && one.take_opened().is_empty());
    let answers = one.answers();
    assert!(matches!(answers.as_slice(), [Err((ErrorKind::Unavailable, _))]), "{answers:?}");
    // It says who has it, to its user.
    one.ask(TransactionRequest::Await(ID));
    one.work(&mut world);
    let answers = one.answers();
    let [Err((ErrorKind::NotFound, message))] = answers.as_slice() else { panic!("{answers:?}") };
    assert!(message.contains("node \"two\" has it"), "{message}");
}

/// The lease has ended while the store was away: what was ended is nobody's, or another's by now.
#[test]
fn who_ends_one_whose_lease_has_ended_is_told_what_is_true() {
    for is_taken in [false, true] {
        let mut world = World::new();
        let mut one = node(&mut world, "one");
        one.begin(&mut world, 1);
        one.work(&mut world);
        one.answers();
        world.is_away = true;
        one.ask(TransactionRequest::End(vec![ID]));
        one.work(&mut world);
        world.store.end(one.lease.unwrap());
        world.is_away = false;
        let mut two = is_taken.then(|| node(&mut world, "two"));
        world.now = world.now + Duration::from_secs(2);
        one.state.tick(world.now);
        one.work(&mut world);
        let answers = one.answers();
        match &mut two {
            None => assert_eq!((answers, world.keys()), (vec![Ok(Reply::Done)], vec![])),
            Some(two) => {
                let [Err((ErrorKind::NotFound, message))] = answers.as_slice() else {
                    panic!("{answers:?}")
                };
                assert!(message.contains("node \"two\" has it"), "{message}");
                two.ask(TransactionRequest::End(vec![ID]));
                two.work(&mut world);
                assert!(world.keys().is_empty(), "{:?}", world.keys());
            }
        }
    }
}

/// What is asked of a server that comes while nothing else happens is asked all the same.
#[test]
fn a_server_that_comes_late_is_asked_at_once() {
    let mut world = World::new();
    let mut one = node(&mut world, "one");
    one.begin(&mut world, 1);
    one.work(&mut world);
    let line = one.another_server();
    let features = [farcall_wire::DATA.to_owned()];
    one.state.handle_connected(world.now, line, &features, Some([3; 16]));
    one.work(&mut world);
    assert_eq!(one.asked_of(line.1), ["small/nothing"]);
}

/// The store did what it was asked, and its answer was lost.
#[test]
fn a_write_without_answer_is_looked_at() {
    // A Begin that was refused leaves nothing.
    let mut world = World::new();
    let mut one = node(&mut world, "one");
    world.answers_lost = 1;
    one.begin(&mut world, 1);
    one.work(&mut world);
    let answers = one.answers();
    assert!(matches!(answers.as_slice(), [Err((ErrorKind::Unavailable, _))]), "{answers:?}");
    assert!(world.keys().is_empty(), "{:?}", world.keys());
    // What was taken is taken.
    one.begin(&mut world, 1);
    one.work(&mut world);
    world.store.end(one.lease.unwrap());
    world.answers_lost = 1;
    let mut two = node(&mut world, "two");
    two.work(&mut world);
    assert!(!two.state.has(&ID));
    world.now = world.now + Duration::from_secs(2);
    two.state.tick(world.now);
    two.work(&mut world);
    assert!(two.state.has(&ID));
}

/// One that has nothing to write hears that its word is gone.
#[test]
fn an_owner_notices_that_its_lease_has_ended_while_nothing_happens() {
    let mut world = World::new();
    let mut one = node(&mut world, "one");
    one.begin(&mut world, 1);
    one.work(&mut world);
    let owner = Keys(ID).owner();
    one.state.handle_changed(Changed::Gone(owner.clone()));
    one.work(&mut world);
    assert!(one.state.has(&ID), "it is told late of what it has written again since");
    world.store.end(one.lease.unwrap());
    let mut two = node(&mut world, "two");
    two.work(&mut world);
    one.state.handle_changed(Changed::Gone(owner));
    one.work(&mut world);
    assert!(one.dropped && !one.left && !one.state.has(&ID) && two.state.has(&ID));
}

/// The server of the node is a new one: what may run twice is opened again, what ended has ended.
#[test]
fn another_process_goes_on() {
    let mut world = World::new();
    let mut one = node(&mut world, "one");
    one.begin(&mut world, 3);
    one.work(&mut world);
    one.take_opened();
    one.returns(&mut world, CallNumber(1));
    one.work(&mut world);
    world.store.end(one.lease.unwrap());
    drop(one);
    let mut two = node(&mut world, "two");
    two.work(&mut world);
    let open = two.take_opened();
    assert_eq!(open, [(CallNumber(0), ServerNumber(0)), (CallNumber(2), ServerNumber(0))]);
    two.returns(&mut world, CallNumber(0));
    two.returns(&mut world, CallNumber(2));
    two.ask(TransactionRequest::Await(ID));
    two.work(&mut world);
    let over = Ok(Reply::Transaction(TransactionReply::Over(Default::default())));
    assert_eq!(two.answers(), [over]);
    // It is kept for its time, on the clock of the wall, on any node.
    world.store.end(two.lease.unwrap());
    drop(two);
    world.now = world.now + Duration::from_secs(59);
    let mut three = node(&mut world, "three");
    three.work(&mut world);
    assert!(three.state.has(&ID));
    world.now = world.now + Duration::from_secs(2);
    three.state.tick(world.now);
    three.work(&mut world);
    assert!(!three.state.has(&ID) && three.left && world.keys().is_empty());
}

/// The lease of a process that was killed on this host need not end first.
#[test]
fn a_process_that_has_ended_here_is_not_waited_for() {
    let mut world = World::new();
    let mut one = node(&mut world, "one");
    one.begin(&mut world, 1);
    one.work(&mut world);
    drop(one);
    let mut two = node(&mut world, "two");
    two.work(&mut world);
    assert!(!two.state.has(&ID), "it may live on another host");
    world.ended.push("one".to_owned());
    let mut three = node(&mut world, "three");
    three.work(&mut world);
    assert!(three.state.has(&ID) && !two.state.has(&ID));
}

/// Until another process has taken it up, who asks is told that one will.
#[test]
fn who_asks_between_two_owners_is_told_to_wait() {
    let mut world = World::new();
    let mut one = node(&mut world, "one");
    one.begin(&mut world, 1);
    one.work(&mut world);
    drop(one);
    // The same node, started again: its lease before has not ended yet.
    let mut again = node(&mut world, "one");
    let mut says = |world: &mut World, what: &str| {
        again.ask(TransactionRequest::Timeline(ID, 0));
        again.work(world);
        let answers = again.answers();
        let [Err((ErrorKind::NotFound, message))] = answers.as_slice() else {
            panic!("{answers:?}")
        };
        assert!(message.contains(what), "{message}");
    };
    says(&mut world, "another one takes it up");
    // The lease has ended, and nobody is told so.
    let owner = Change::Delete { key: Keys(ID).owner() };
    let none: [Condition; 0] = [];
    world.store.write(world.now, &none, vec![owner]).unwrap();
    says(&mut world, "another one takes it up");
    let head = Change::Delete { key: Keys(ID).head() };
    world.store.write(world.now, &none, vec![head]).unwrap();
    says(&mut world, "the server has no such transaction");
}

/// What was not written whole never began: nobody was told that it had.
#[test]
fn what_did_not_begin_goes() {
    let mut world = World::new();
    let mut one = node(&mut world, "one");
    world.writes_left = Some(2);
    one.begin(&mut world, 1);
    one.work(&mut world);
    let lease = one.lease.unwrap();
    drop(one);
    world.writes_left = None;
    world.store.end(lease);
    assert_eq!(world.keys().iter().filter(|key| key.starts_with(HEADS)).count(), 1);
    let mut two = node(&mut world, "two");
    two.work(&mut world);
    assert!(!two.state.has(&ID) && world.keys().is_empty(), "{:?}", world.keys());
}

#[test]
fn a_damaged_transaction_is_reported_and_stays() {
    let mut world = World::new();
    let mut one = node(&mut world, "one");
    one.begin(&mut world, 1);
    one.work(&mut world);
    world.store.end(one.lease.unwrap());
    drop(one);
    let key = Keys(ID).message(0);
    let broken = Change::Put { key, value: vec![1, 2, 3], lease: None };
    let none: [Condition; 0] = [];
    world.store.write(world.now, &none, vec![broken]).unwrap();
    let mut two = node(&mut world, "two");
    two.work(&mut world);
    assert!(!two.state.has(&ID));
    assert!(two.warned.iter().any(|text| text.contains("cannot be taken up")), "{:?}", two.warned);
    assert!(!world.keys().is_empty());
    // Its user is told why, finds it in the list, and can end it.
    two.ask(TransactionRequest::Await(ID));
    two.ask(TransactionRequest::List(Vec::new()));
    two.work(&mut world);
    let answers = two.answers();
    let [Err(_), Ok(Reply::Transaction(TransactionReply::List(list)))] = answers.as_slice() else {
        panic!("{answers:?}")
    };
    assert!(list.len() == 1 && list[0].id == ID && list[0].failure.is_some(), "{list:?}");
    two.ask(TransactionRequest::End(vec![ID]));
    two.work(&mut world);
    assert_eq!((two.answers(), world.keys()), (vec![Ok(Reply::Done)], vec![]));
}
