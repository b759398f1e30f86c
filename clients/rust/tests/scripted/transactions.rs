//! Transactions: what is written down, what is sent in which order, and what becomes of it.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use farcall_base::{ChannelId, DataId, Error, ErrorKind, TransactionId};
use farcall_call::Event;
use farcall_client::idl::compile;
use farcall_client::idl::interface::{Interface, Order};
use farcall_client::{
    Argument, Array, Begin, CallOptions, Client, Data, Result, Routine, Transaction,
};
use farcall_graph::{Argument as Written, Limits, Message, Plan, RoutineName};
use farcall_wire::{
    Argument as Wired, CallFailure, DATA, Failure, Open, Reply, Request, TRANSACTIONS,
    TransactionBegin, TransactionEnd, TransactionReply, TransactionRequest, TransactionStatus,
};

use super::fake::{Fake, metaserver_with};

const FACTOR: &str = "Module small;
Define factor(IN int n, INOUT double a[n][n] column, OUT int pivots[n], OUT int info)
    Calls \"C\" factor(n, a, pivots, info);\n";
const SOLVE: &str = "Module small;
Define solve(IN int n, IN int nrhs, IN double a[n][n] column, IN int pivots[n],
    INOUT double b[n][nrhs] column, IN int steps = 3)
    Calls \"C\" solve(n, nrhs, a, pivots, b, steps);\n";
const SOME: &str = "Module small;
Define some(IN int n, IN double x[n], IN double scale = 1, OUT int m, OUT double y[n:m],
    IN string text)
    Calls \"C\" some(n, x, scale, m, y, text);\n";
const FILE: &str = "Module small;
Define file(IN filename f, OUT int bytes) Calls \"C\" file(f, bytes);\n";

fn interface(idl: &str) -> Interface {
    compile("small.idl", idl).unwrap().routines.remove(0).interface
}

fn plan(message: Message) -> Result<Plan> {
    let find = |name: &RoutineName| {
        let all = [FACTOR, SOLVE, SOME].map(interface);
        let found = all.into_iter().find(|one| one.full_name() == name.name);
        found.map(Arc::new).ok_or_else(|| Error::internal("find", "it is unknown"))
    };
    Plan::new(message, &Limits::default(), &find)
}

fn connected() -> (Client, Fake) {
    metaserver_with(FACTOR, Duration::from_secs(10), &[TRANSACTIONS, DATA])
}

/// These routines, of a server that runs transactions.
fn routines<const N: usize>(all: [&str; N]) -> (Client, [Routine; N], Fake) {
    let (client, mut server) = connected();
    let found = all.map(|idl| {
        server.publish(idl);
        std::thread::scope(|scope| {
            scope.spawn(|| server.tell_interface());
            client.routine(&interface(idl).full_name()).unwrap()
        })
    });
    (client, found, server)
}

fn matrix(n: u64) -> Vec<f64> {
    (0..n * n).map(|one| one as f64).collect()
}

/// A factorization and three systems of order `n`, of which the last two have equal right sides;
/// the solutions.
fn write(transaction: &Transaction, [factor, solve]: &[Routine; 2], n: u64) -> Vec<Data> {
    let a = matrix(n);
    let a = Array::columns(&a, &[n, n]);
    let factors = transaction.call_named(factor, [("a", a.into())]).unwrap();
    let [a, pivots] = [1, 2].map(|slot| transaction.result(factors, slot).unwrap());
    assert_eq!((a.extents(), pivots.extents()), (Some(&[n, n][..]), Some(&[n][..])));
    let mut b = vec![0.0; n as usize];
    let solved = [1.0, 2.0, 2.0].map(|value| {
        b.fill(value);
        let right = Array::vector(&b).into();
        let given = [("a", (&a).into()), ("pivots", (&pivots).into()), ("b", right)];
        let call = transaction.call_named(solve, given).unwrap();
        transaction.result(call, 4).unwrap()
    });
    solved.into()
}

/// The message of a transaction that begins now.
fn begun(server: &mut Fake) -> (ChannelId, Box<TransactionBegin>) {
    match server.requested() {
        (channel, Request::Transaction(TransactionRequest::Begin(begin))) => (channel, begin),
        other => panic!("{other:?}"),
    }
}

/// Takes an array that is put, with all of its bytes.
fn taken(server: &mut Fake, (channel, open): (ChannelId, Box<Open>)) -> Vec<u8> {
    let value = open.arguments.len() - 1;
    if let Wired::Inline(bytes) = &open.arguments[value] {
        finish(server, channel, &open);
        return bytes.to_vec();
    }
    let Wired::Blocks(Some(bytes)) = open.arguments[value] else { panic!("{open:?}") };
    server.grant(channel, bytes);
    while (server.data(channel, value as u16).len() as u64) < bytes {
        server.read();
    }
    let came = server.data(channel, value as u16).to_vec();
    finish(server, channel, &open);
    came
}

fn finish(server: &mut Fake, channel: ChannelId, open: &Open) {
    let results = open.wanted.clone().unwrap();
    server.finish(channel, results, Vec::new());
}

fn put_id(open: &Open) -> DataId {
    match open.wanted.as_ref().unwrap().last() {
        Some(Wired::Data(id)) => *id,
        other => panic!("{other:?}"),
    }
}

fn ask<T: Send + 'static>(ask: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    std::thread::spawn(ask)
}

#[test]
fn arrays_and_calls_leave_in_one_flight() {
    let (client, routines, mut server) = routines([FACTOR, SOLVE]);
    let transaction = Arc::new(Transaction::new(&client).unwrap());
    let n = 600;
    let solutions = write(&transaction, &routines, n);
    let begin = transaction.clone();
    let begin = ask(move || begin.begin(&Begin::default()));
    // All of it is there before anything is answered. Equal arrays are sent once.
    let puts: Vec<_> = (0..3).map(|_| server.opened()).collect();
    let (channel, begin_request) = begun(&mut server);
    assert_eq!((begin_request.id, begin_request.keep_us), (transaction.id(), None));
    let message = Message::decode(&begin_request.graph).unwrap();
    let kinds: Vec<_> = puts.iter().map(|(_, open)| open.routine.clone()).collect();
    assert_eq!(kinds, ["data:double:2:column", "data:double:2:row", "data:double:2:row"]);
    let names: Vec<_> = message.inputs.iter().map(|input| input.name).collect();
    assert_eq!(puts.iter().map(|(_, open)| put_id(open)).collect::<Vec<_>>(), names);
    assert_eq!(message.inputs[1].extents, [n, 1]);
    let solve = |call: usize| &message.calls[call].arguments;
    assert_eq!(solve(2)[4], Written::Input(2));
    assert_eq!(solve(3)[4], Written::Input(2));
    assert_eq!(solve(2)[2..4], [Written::Result(0, 1), Written::Result(0, 2)]);
    assert_eq!(solve(1)[0], Written::Inline((n as i32).to_ne_bytes().to_vec()));
    assert_eq!(message.routines[0].contract, routines[0].contract());

    server.answer(channel, &Reply::Done);
    let came: Vec<_> = puts.into_iter().map(|put| taken(&mut server, put)).collect();
    begin.join().unwrap().unwrap();
    let first: Vec<u8> = matrix(n).iter().flat_map(|one| one.to_ne_bytes()).collect();
    assert!(came[0] == first && came[1][..8] == 1.0_f64.to_ne_bytes());
    // The factors were dropped: the solutions alone are wanted.
    let wanted: Vec<_> = message.results.iter().map(|one| (one.call, one.slot, one.name)).collect();
    let expected: Vec<_> = (1..).zip(&solutions).map(|(call, one)| (call, 4, one.id())).collect();
    assert_eq!(wanted, expected);
    let plan = plan(message).unwrap();
    assert_eq!(plan.graph().calls(), 4);
}

#[test]
fn short_arrays_and_numbers_are_in_the_message() {
    let (client, routines, mut server) = routines([FACTOR, SOLVE]);
    let transaction = Arc::new(Transaction::new(&client).unwrap());
    let solutions = write(&transaction, &routines, 20);
    let begin = transaction.clone();
    let begin = ask(move || begin.begin(&Begin::default()));
    let (channel, request) = begun(&mut server);
    server.answer(channel, &Reply::Done);
    begin.join().unwrap().unwrap();
    let message = Message::decode(&request.graph).unwrap();
    assert!(message.inputs.is_empty());
    let Written::Inline(a) = &message.calls[0].arguments[1] else { panic!("{message:?}") };
    assert_eq!(a.len(), 3200);
    plan(message).unwrap();
    // A result that was wanted can be named again by its call.
    assert_eq!(transaction.result(1, 4).unwrap().id(), solutions[0].id());
    assert_eq!(transaction.result(0, 1).unwrap_err().kind(), ErrorKind::NotFound);
    let error = transaction.call_named(&routines[0], []).unwrap_err().to_string();
    assert!(error.contains("has begun"), "{error}");
}

#[test]
fn many_short_arrays_are_put_beside_the_message() {
    let (client, routines, mut server) = routines([FACTOR]);
    let transaction = Arc::new(Transaction::new(&client).unwrap());
    for number in 0..100 {
        let mut a = matrix(20);
        a[0] = f64::from(number);
        let a = Array::columns(&a, &[20, 20]);
        transaction.call_named(&routines[0], [("a", a.into())]).unwrap();
    }
    let begin = transaction.clone();
    let begin = ask(move || begin.begin(&Begin::default()));
    let puts: Vec<_> = (0..19).map(|_| server.opened()).collect();
    let (channel, request) = begun(&mut server);
    assert!(request.graph.len() < 300 << 10);
    puts.into_iter().for_each(|put| drop(taken(&mut server, put)));
    server.answer(channel, &Reply::Done);
    begin.join().unwrap().unwrap();
    let message = Message::decode(&request.graph).unwrap();
    assert_eq!((message.inputs.len(), message.results.len()), (19, 0));
    plan(message).unwrap();
}

/// Begins a transaction that the server takes; its arrays are inside the message.
fn begin(transaction: &Arc<Transaction>, server: &mut Fake, how: Begin) -> Message {
    let begin = transaction.clone();
    let begin = ask(move || begin.begin(&how));
    let (channel, request) = begun(server);
    let keep = how.keep.map(|keep| keep.as_micros() as u64);
    assert_eq!(request.keep_us, keep);
    server.answer(channel, &Reply::Done);
    begin.join().unwrap().unwrap();
    Message::decode(&request.graph).unwrap()
}

fn ended(server: &mut Fake) -> Option<usize> {
    match server.requested() {
        (_, Request::Transaction(TransactionRequest::End(ids))) => Some(ids.len()),
        _ => None,
    }
}

#[test]
fn a_transaction_ends_with_its_last_result() {
    let (client, routines, mut server) = routines([FACTOR, SOLVE]);
    let transaction = Arc::new(Transaction::new(&client).unwrap());
    let mut solutions = write(&transaction, &routines, 4);
    begin(&transaction, &mut server, Begin::default());
    drop(transaction);
    let last = solutions.pop();
    drop(solutions);
    server.expect_nothing();
    drop(last);
    assert_eq!(ended(&mut server), Some(1));
    server.expect_nothing();

    // One that is kept, or left, does not.
    for is_kept in [true, false] {
        let transaction = Arc::new(Transaction::new(&client).unwrap());
        let solutions = write(&transaction, &routines, 4);
        let keep = is_kept.then_some(Duration::from_secs(60));
        begin(&transaction, &mut server, Begin { keep, timeout: None });
        if !is_kept {
            solutions[0].leave();
        }
        drop((transaction, solutions));
        server.expect_nothing();
    }
    // One that never began is nothing to the server.
    let transaction = Transaction::new(&client).unwrap();
    let solutions = write(&transaction, &routines, 4);
    drop((transaction, solutions));
    let empty = Transaction::new(&client).unwrap();
    empty.begin(&Begin::default()).unwrap();
    assert_eq!(empty.wait(None).unwrap(), Some(TransactionEnd::default()));
    assert!(empty.is_over().unwrap() && empty.timeline().unwrap().is_empty());
    drop(empty);
    server.expect_nothing();
}

#[test]
fn what_is_wrong_with_it_is_told_and_nothing_stays() {
    let (client, routines, mut server) = routines([FACTOR, SOLVE]);
    let transaction = Arc::new(Transaction::new(&client).unwrap());
    let solutions = write(&transaction, &routines, 600);
    let begin = transaction.clone();
    let begin = ask(move || begin.begin(&Begin::default()));
    let (channel, _) = server.opened();
    drop((server.opened(), server.opened()));
    let (question, _) = begun(&mut server);
    // The array that has no room is the reason, whatever else is said.
    let full = Error::new(ErrorKind::LimitExceeded, "put data", "no room").fix("less");
    server.refuse(channel, &full);
    let lacks = Error::new(ErrorKind::NotFound, "take a transaction", "an input is missing");
    server.answer(question, &Reply::Failed((&lacks).into()));
    let error = begin.join().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    for (use_of, words) in [
        (solutions[0].fetch(&CallOptions::default()).err(), "whose begin failed"),
        (solutions[0].delete().err(), "whose begin failed"),
        (transaction.wait(None).err(), "was not begun"),
        (transaction.timeline().err(), "was not begun"),
        (transaction.begin(&Begin::default()).err(), "was not begun"),
    ] {
        let error = use_of.map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(words), "{error}");
    }
}

/// Answers a begin with a refusal, and the question whether the transaction is there; how that ends.
fn refused_and_asked(found: Vec<TransactionStatus>) -> Result<()> {
    let (client, routines, mut server) = routines([FACTOR, SOLVE]);
    let transaction = Arc::new(Transaction::new(&client).unwrap());
    let _solutions = write(&transaction, &routines, 4);
    let begin = transaction.clone();
    let begin = ask(move || begin.begin(&Begin::default()));
    let (channel, _) = begun(&mut server);
    let twice = Error::new(ErrorKind::InvalidArgument, "take a transaction", "the id is known");
    server.answer(channel, &Reply::Failed((&twice).into()));
    let (channel, request) = server.requested();
    let list = TransactionRequest::List(vec![transaction.id()]);
    assert_eq!(request, Request::Transaction(list));
    server.answer(channel, &Reply::Transaction(TransactionReply::List(found)));
    begin.join().unwrap()
}

#[test]
fn one_that_was_asked_for_twice_runs_once() {
    let known = TransactionStatus {
        id: TransactionId([1; 16]),
        is_over: false,
        calls: 4,
        returned: 0,
        failed: 0,
        age_us: 1,
        left_us: None,
        principal: String::new(),
        failure: None,
    };
    refused_and_asked(vec![known]).unwrap();
    let error = refused_and_asked(Vec::new()).unwrap_err();
    assert!(error.to_string().contains("the id is known"), "{error}");
}

#[test]
fn the_end_is_told_once_and_known_from_then_on() {
    let (client, routines, mut server) = routines([FACTOR]);
    let transaction = Arc::new(Transaction::new(&client).unwrap());
    let a = matrix(2);
    transaction.call_named(&routines[0], [("a", Array::columns(&a, &[2, 2]).into())]).unwrap();
    let kept = transaction.want(0, 1).unwrap();
    let message = begin(&transaction, &mut server, Begin::default());
    assert_eq!(message.results[0].name, kept);
    assert_eq!(transaction.result(0, 1).unwrap().id(), kept);
    assert_eq!(transaction.wait(Some(Duration::ZERO)).unwrap(), None);
    let (channel, request) = server.requested();
    let awaited = TransactionRequest::Await(transaction.id());
    assert_eq!(request, Request::Transaction(awaited));
    let crash = Failure::from(&Error::new(ErrorKind::RoutineCrashed, "call", "signal 11"));
    let end = TransactionEnd { failed: 1, failures: vec![CallFailure { call: 0, failure: crash }] };
    server.answer(channel, &Reply::Transaction(TransactionReply::Over(end.clone())));
    for _ in 0..2 {
        assert_eq!(transaction.wait(Some(Duration::from_secs(10))).unwrap(), Some(end.clone()));
    }
    assert!(transaction.is_over().unwrap());
    let waiting = transaction.clone();
    let over = ask(move || waiting.end());
    let (channel, _) = server.requested();
    server.answer(channel, &Reply::Done);
    over.join().unwrap().unwrap();
    assert!(transaction.wait(None).unwrap_err().to_string().contains("was ended"));
}

#[test]
fn numbers_and_sizes_may_come_later() {
    let (client, [some], mut server) = routines([SOME]);
    let transaction = Arc::new(Transaction::new(&client).unwrap());
    let x = [1.0, 2.0, 3.0];
    let given = |x| [("x", x), ("text", "note".into())];
    let first = transaction.call_named(&some, given(Array::vector(&x).into())).unwrap();
    let m = transaction.result(first, 3).unwrap();
    let y = transaction.result(first, 4).unwrap();
    assert_eq!((m.extents(), y.extents()), (Some(&[1][..]), None));
    let error = transaction.call_named(&some, given((&y).into())).unwrap_err().to_string();
    assert!(error.contains("needs n") && error.contains("call: 1"), "{error}");
    let error = transaction
        .call_named(&some, [("n", 3.into()), ("x", (&y).into()), ("scale", (&m).into())])
        .unwrap_err()
        .to_string();
    assert!(error.contains("another type") && error.contains("one double"), "{error}");
    let second = [("n", (&m).into()), ("x", (&y).into()), ("text", Argument::Null)];
    let second = transaction.call_named(&some, second).unwrap();
    transaction.want(second, 4).unwrap();
    let message = begin(&transaction, &mut server, Begin::default());
    let arguments = &message.calls[1].arguments;
    assert_eq!(arguments[..2], [Written::Result(0, 3), Written::Result(0, 4)]);
    assert_eq!(arguments[2], Written::Inline(1.0_f64.to_ne_bytes().to_vec()));
    assert_eq!(arguments[5], Written::Null);
    assert_eq!(message.calls[0].arguments[5], Written::Inline(b"note".to_vec()));
    plan(message).unwrap();
}

#[test]
fn what_no_transaction_can_have_is_refused_with_a_way_out() {
    let (client, [factor, some, file], _server) = routines([FACTOR, SOME, FILE]);
    let transaction = Transaction::new(&client).unwrap();
    let other = Transaction::new(&client).unwrap();
    let call = |routine: &Routine, name: &str, argument: Argument<'_>| {
        let error = transaction.call_named(routine, [(name, argument)]).unwrap_err().to_string();
        assert!(error.contains(&format!("parameter: {name}")) && error.contains("; "), "{error}");
        error
    };
    assert!(call(&file, "f", "name".into()).contains("cannot take files"));
    let url = Argument::Url("https://example.org/a".to_owned());
    assert!(call(&factor, "a", url).contains("cannot fetch from a URL"));
    let a = matrix(2);
    other.call_named(&factor, [("a", Array::columns(&a, &[2, 2]).into())]).unwrap();
    let foreign = other.result(0, 1).unwrap();
    assert!(call(&factor, "a", (&foreign).into()).contains("another transaction"));
    let y = Array::vector(&a).into();
    assert!(call(&some, "y", y).contains("no array of the program"));
    let long = "x".repeat(5000);
    let x = Array::vector(&a);
    let given = [("x", x.into()), ("text", long.as_str().into())];
    let error = transaction.call_named(&some, given).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    // Outside of a transaction there is nothing of it yet.
    let error = factor.call([("a", (&foreign).into())]).err().unwrap().to_string();
    assert!(error.contains("has not begun"), "{error}");
    let error = foreign.fetch(&CallOptions::default()).err().unwrap().to_string();
    assert!(error.contains("has not begun"), "{error}");
    let error = transaction.call(&factor, Vec::new(), &[3]).unwrap_err().to_string();
    assert!(error.contains("does not come before"), "{error}");
    // Nothing of all that was written down.
    assert_eq!(transaction.result(0, 1).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_message_that_no_server_takes_is_not_sent() {
    let (client, [factor], mut server) = routines([FACTOR]);
    let transaction = Transaction::new(&client).unwrap();
    let a = matrix(2);
    for _ in 0..60_000 {
        let a = Array::columns(&a, &[2, 2]).into();
        transaction.call_named(&factor, [("a", a)]).unwrap();
    }
    let error = transaction.begin(&Begin::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert!(error.to_string().contains("several transactions"), "{error}");
    server.expect_nothing();
}

#[test]
fn old_servers_are_told_from_others() {
    let (client, _server) = metaserver_with(FACTOR, Duration::from_secs(10), &[DATA]);
    let error = Transaction::new(&client).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Version);
    assert!(error.to_string().contains("too old") && error.advice().is_some(), "{error}");
    assert_eq!(client.transactions().unwrap_err().kind(), ErrorKind::Version);
}

#[test]
fn a_result_whose_size_is_known_is_an_input_while_its_call_runs() {
    let (client, routines, mut server) = routines([FACTOR]);
    let a = matrix(2);
    let first = Arc::new(Transaction::new(&client).unwrap());
    first.call_named(&routines[0], [("a", Array::columns(&a, &[2, 2]).into())]).unwrap();
    let made = first.result(0, 1).unwrap();
    begin(&first, &mut server, Begin::default());
    let second = Arc::new(Transaction::new(&client).unwrap());
    // The server is not asked for it.
    second.call_named(&routines[0], [("a", (&made).into())]).unwrap();
    let message = begin(&second, &mut server, Begin::default());
    assert_eq!((message.inputs[0].name, &message.inputs[0].extents[..]), (made.id(), &[2, 2][..]));
    plan(message).unwrap();
}

#[test]
fn results_say_what_became_of_their_transaction() {
    let (client, [factor], mut server) = routines([FACTOR]);
    let a = matrix(2);
    let written = || {
        let transaction = Arc::new(Transaction::new(&client).unwrap());
        transaction.call_named(&factor, [("a", Array::columns(&a, &[2, 2]).into())]).unwrap();
        let result = transaction.result(0, 1).unwrap();
        (transaction, result)
    };
    let why = |result: &Data| result.fetch(&CallOptions::default()).err().unwrap().to_string();
    let (transaction, result) = written();
    drop(transaction);
    assert!(why(&result).contains("did not begin"), "{}", why(&result));
    let (transaction, result) = written();
    transaction.end().unwrap();
    assert!(why(&result).contains("did not begin"), "{}", why(&result));
    let error = transaction.begin(&Begin::default()).unwrap_err().to_string();
    assert!(error.contains("did not begin") && error.contains("down again"), "{error}");
    let (transaction, result) = written();
    begin(&transaction, &mut server, Begin::default());
    let ending = transaction.clone();
    let end = ask(move || ending.end().unwrap());
    let (channel, _) = server.requested();
    server.answer(channel, &Reply::Done);
    end.join().unwrap();
    assert!(why(&result).contains("was ended"), "{}", why(&result));
    let error = transaction.wait(None).unwrap_err().to_string();
    assert!(error.contains("the transaction was ended"), "{error}");
}

#[test]
fn data_is_an_input_once_it_is_there() {
    let (client, routines, mut server) = routines([FACTOR]);
    let a = Array::shared(Arc::new(matrix(2)), &[2, 2], Order::Column);
    let putting = client.clone();
    let put = ask(move || putting.put(a, &CallOptions::default()).unwrap());
    let opened = server.opened();
    let id = put_id(&opened.1);
    taken(&mut server, opened);
    let data = put.join().unwrap();
    let transaction = Arc::new(Transaction::new(&client).unwrap());
    for _ in 0..2 {
        transaction.call_named(&routines[0], [("a", (&data).into())]).unwrap();
    }
    let message = begin(&transaction, &mut server, Begin::default());
    assert_eq!(message.inputs.len(), 1);
    assert_eq!(message.inputs[0].name, id);
    assert_eq!(message.calls[1].arguments[1], Written::Input(0));
    plan(message).unwrap();
    // It is the program's, and stays as long as the transaction.
    drop(data);
    server.expect_nothing();
    drop(transaction);
    assert_eq!(ended(&mut server), Some(1));
    let deleted = server.event();
    let is_it = |request: &Request| *request == Request::DeleteData(vec![id]);
    assert!(matches!(&deleted, Event::Requested(_, request) if is_it(request)), "{deleted:?}");
}
