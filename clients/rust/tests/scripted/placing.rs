//! Calls that a metaserver places: where they go, what is asked and told, and what is kept.

use std::time::{Duration, Instant};

use farcall_base::ChannelId;
use farcall_client::idl::interface::Order;
use farcall_client::{Array, CallOptions, Client, Routine};
use farcall_wire::{
    Argument, CallOutcome, CallTimes, Open, PlaceAnswer, PlacedServer, Reply, Request, grant_of,
};

use super::fake::{Fake, Listening, Wire, metaserver, pair};

pub const SUM: &str =
    "Module m;\nDefine sum(IN int n, IN double x[n], OUT double s) Calls \"C\" s = sum(n, x);\n";
pub const HALF: &str =
    "Module m;\nDefine half(IN double x, OUT double y) Calls \"C\" y = half(x);\n";
const PATIENCE: Duration = Duration::from_secs(20);
/// What is predicted of a call: none is slower than that.
const LONG_S: f64 = 30.0;

/// A server of an answer: for so many of the calls that were asked for.
pub fn at(name: &str, address: &str, calls: u32) -> PlacedServer {
    let addresses = vec![address.to_owned()];
    let name = name.to_owned();
    PlacedServer { name, addresses, calls, run_s: LONG_S, ..PlacedServer::default() }
}

/// The server that answers.
pub fn itself(name: &str, calls: u32) -> PlacedServer {
    let name = name.to_owned();
    PlacedServer { name, calls, is_self: true, run_s: LONG_S, ..PlacedServer::default() }
}

pub fn grant(grant: u64, servers: Vec<PlacedServer>) -> PlaceAnswer {
    PlaceAnswer { grant, servers, ..PlaceAnswer::default() }
}

pub fn placed(answer: PlaceAnswer) -> Reply {
    Reply::Placed(Box::new(answer))
}

pub fn number(value: f64) -> Argument {
    Argument::Inline(value.to_ne_bytes().as_slice().into())
}

/// Answers a call of `half` or `sum`.
pub fn finish(server: &mut Fake, (channel, open): (ChannelId, Box<Open>), value: f64) {
    let mut results = vec![Argument::Absent; open.arguments.len()];
    *results.last_mut().unwrap() = number(value);
    server.finish(channel, results, Vec::new());
}

pub fn granted(open: &Open) -> Option<u64> {
    grant_of(open.attributes.as_deref()).unwrap()
}

pub fn half(routine: &Routine, x: f64) -> farcall_client::Result<(f64, String)> {
    let outputs = routine.call([("x", x.into())])?;
    Ok((outputs.scalar("y")?, outputs.server().to_owned()))
}

/// Outcomes that come by themselves.
pub fn told(server: &mut Fake) -> Vec<CallOutcome> {
    match server.requested() {
        (channel, Request::Outcomes(outcomes)) => {
            server.answer(channel, &Reply::Done);
            outcomes
        }
        other => panic!("{other:?}"),
    }
}

/// Looks the routine up while the server tells its interface.
pub fn looked_up(client: &Client, server: &mut Fake, name: &str) -> Routine {
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| client.routine(name).unwrap());
        server.tell_interface();
        asking.join().unwrap()
    })
}

#[test]
fn a_placed_call_goes_to_the_server_of_its_grant() {
    let (client, mut home) = metaserver(SUM, PATIENCE);
    let sum = looked_up(&client, &mut home, "sum");
    let there = Listening::new(SUM);
    let address = there.address();
    let script = std::thread::spawn(move || {
        let (channel, question) = home.asked_to_place();
        assert_eq!((question.name.as_str(), question.calls), ("m/sum", 1));
        assert_eq!((question.bytes_in, question.bytes_out), (16_000.0, 8.0));
        assert_eq!(question.amount, 16_008.0);
        assert!(question.without.is_empty() && question.outcomes.is_empty());
        assert!(!question.host.is_empty() && !question.explains);
        home.answer(channel, &placed(grant(7, vec![at("b", &address, 1), itself("home", 0)])));
        let mut server = there.accept();
        server.times = CallTimes { queued_ns: 2_000_000, ..CallTimes::default() };
        let opened = server.opened();
        assert_eq!(granted(&opened.1), Some(7));
        assert_eq!(opened.1.routine, "m/sum");
        std::thread::sleep(Duration::from_millis(30));
        finish(&mut server, opened, 2000.0);
        // The next question takes along what became of it.
        let (channel, question) = home.asked_to_place();
        let [outcome] = question.outcomes.as_slice() else { panic!("{question:?}") };
        assert_eq!((outcome.grant, outcome.server.as_str()), (7, "b"));
        assert!(outcome.failure.is_none() && !outcome.continues && !outcome.host.is_empty());
        let sent = outcome.sent.unwrap();
        assert_eq!(sent.bytes, 16_000.0);
        assert!(sent.seconds >= 0.002 && sent.seconds < 0.03, "{sent:?}");
        let returned = outcome.returned.unwrap();
        assert_eq!(returned.bytes, 8.0);
        assert!(returned.seconds >= 0.03 && returned.seconds < 5.0, "{returned:?}");
        home.answer(channel, &placed(grant(8, vec![itself("home", 1)])));
        let opened = home.opened();
        assert_eq!(granted(&opened.1), Some(8));
        finish(&mut home, opened, 1.0);
        (home, server)
    });
    let x = vec![1.0_f64; 2000];
    let outputs = sum.call([("x", Array::vector(&x).into())]).unwrap();
    assert_eq!(outputs.scalar::<f64>("s").unwrap(), 2000.0);
    assert_eq!(outputs.server(), "b");
    let outputs = sum.call([("x", Array::vector(&x).into())]).unwrap();
    assert_eq!((outputs.scalar::<f64>("s").unwrap(), outputs.server()), (1.0, "home"));
    let (mut home, _server) = script.join().unwrap();
    // Nothing follows within a second.
    let outcomes = told(&mut home);
    assert_eq!(outcomes.len(), 1);
    assert_eq!((outcomes[0].grant, outcomes[0].server.as_str()), (8, "home"));
}

/// What is still to be told when the client ends is told then.
#[test]
fn the_last_outcome_is_told_at_the_end() {
    let (client, mut home) = metaserver(HALF, PATIENCE);
    let routine = looked_up(&client, &mut home, "half");
    let script = std::thread::spawn(move || {
        let (channel, _) = home.asked_to_place();
        home.answer(channel, &placed(grant(9, vec![itself("home", 1)])));
        let opened = home.opened();
        finish(&mut home, opened, 1.5);
        told(&mut home)
    });
    assert_eq!(half(&routine, 3.0).unwrap(), (1.5, "home".to_owned()));
    let begun = Instant::now();
    drop((routine, client));
    assert_eq!(script.join().unwrap()[0].grant, 9);
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
}

/// A call whose arguments are there and that runs on is told of, once.
#[test]
fn a_long_call_is_told_to_go_on() {
    let (client, mut home) = metaserver(HALF, PATIENCE);
    let routine = looked_up(&client, &mut home, "half");
    let script = std::thread::spawn(move || {
        let (channel, _) = home.asked_to_place();
        home.answer(channel, &placed(grant(9, vec![itself("home", 1)])));
        let opened = home.opened();
        let outcomes = told(&mut home);
        assert!(outcomes[0].continues && outcomes[0].grant == 9, "{outcomes:?}");
        finish(&mut home, opened, 1.5);
        let outcomes = told(&mut home);
        assert!(!outcomes[0].continues && outcomes[0].grant == 9, "{outcomes:?}");
        home
    });
    assert_eq!(half(&routine, 3.0).unwrap().0, 1.5);
    let _home = script.join().unwrap();
}

/// One grant serves many small calls, which are spread by the shares that it names; the question
/// for the next one is asked before it is used up, and nobody waits for its answer.
#[test]
fn one_grant_serves_many_calls() {
    let (client, mut home) = metaserver(HALF, PATIENCE);
    let routine = looked_up(&client, &mut home, "half");
    let servers = [Listening::new(HALF), Listening::new(HALF)];
    let addresses = servers.each_ref().map(Listening::address);
    let many = move |number, calls: [u32; 2]| PlaceAnswer {
        valid_us: 10_000_000,
        ..grant(number, vec![at("a", &addresses[0], calls[0]), at("b", &addresses[1], calls[1])])
    };
    let serving = servers.map(|listening| {
        std::thread::spawn(move || {
            let mut server = listening.accept();
            let mut grants = Vec::new();
            while let Some(opened) = server.opened_or_left() {
                grants.push(granted(&opened.1).unwrap());
                finish(&mut server, opened, 0.5);
            }
            grants
        })
    });
    let script = std::thread::spawn(move || {
        let (channel, question) = home.asked_to_place();
        assert_eq!(question.calls, 1);
        home.answer(channel, &placed(many(1, [30, 10])));
        let (channel, question) = home.asked_to_place();
        // A quarter was left of forty.
        assert!(question.calls >= 60, "{}", question.calls);
        std::thread::sleep(Duration::from_millis(50));
        home.answer(channel, &placed(many(2, [50, 50])));
        home
    });
    for _ in 0..38 {
        assert_eq!(half(&routine, 1.0).unwrap().0, 0.5);
    }
    let mut home = script.join().unwrap();
    for x in 0..40 {
        assert_eq!(half(&routine, f64::from(x)).unwrap().0, 0.5);
    }
    home.expect_quiet();
    drop((routine, client));
    let [a, b] = serving.map(|serving| serving.join().unwrap());
    let of = |grants: &[u64], number| grants.iter().filter(|grant| **grant == number).count();
    assert!(of(&a, 1) > 2 * of(&b, 1), "{a:?} {b:?}");
    assert!(of(&b, 1) >= 6 && of(&a, 2) > 0 && of(&b, 2) > 0, "{a:?} {b:?}");
    assert_eq!(a.len() + b.len(), 78);
}

/// The first call of a grant for many is measured: one that takes much longer than was predicted ends
/// the grant, and the next question takes along what is known now.
#[test]
fn a_grant_is_given_up_whose_first_call_is_much_slower_than_predicted() {
    let (client, mut home) = metaserver(HALF, PATIENCE);
    let routine = looked_up(&client, &mut home, "half");
    let script = std::thread::spawn(move || {
        for number in 1..=3 {
            let (channel, question) = home.asked_to_place();
            assert_eq!(question.outcomes.len(), usize::from(number > 1), "{question:?}");
            let took = |outcome: &CallOutcome| outcome.returned.unwrap().seconds;
            assert!(question.outcomes.iter().all(|outcome| took(outcome) > 0.05));
            let hopeful = PlacedServer { run_s: 0.02, ..itself("home", 100) };
            let answer = PlaceAnswer { valid_us: 60_000_000, ..grant(number, vec![hopeful]) };
            home.answer(channel, &placed(answer));
            let opened = home.opened();
            std::thread::sleep(Duration::from_millis(60));
            finish(&mut home, opened, 0.5);
        }
        home
    });
    for _ in 0..3 {
        assert_eq!(half(&routine, 1.0).unwrap().0, 0.5);
    }
    script.join().unwrap();
}

/// Other sizes are another kind of call.
#[test]
fn a_grant_is_for_calls_of_one_size() {
    let (client, mut home) = metaserver(SUM, PATIENCE);
    let sum = looked_up(&client, &mut home, "sum");
    let script = std::thread::spawn(move || {
        for number in 1..=2 {
            let (channel, question) = home.asked_to_place();
            assert_eq!(question.bytes_in, 80.0 * number as f64);
            let answer = grant(number, vec![itself("home", 100)]);
            home.answer(channel, &placed(PlaceAnswer { valid_us: 10_000_000, ..answer }));
            let opened = home.opened();
            finish(&mut home, opened, 1.0);
        }
        for number in 1..=2 {
            let opened = home.opened();
            assert_eq!(granted(&opened.1), Some(number));
            finish(&mut home, opened, 1.0);
        }
        home
    });
    for length in [10, 20, 10, 20] {
        let x = vec![1.0_f64; length];
        sum.call([("x", Array::vector(&x).into())]).unwrap();
    }
    let _home = script.join().unwrap();
}

/// A server of today, and a routine that is not placed, are called as ever: no question, no
/// attribute.
#[test]
fn a_server_without_others_is_called_as_ever() {
    let (client, mut server) = pair(Wire::Blocks, HALF, PATIENCE);
    let routine = looked_up(&client, &mut server, "half");
    let script = std::thread::spawn(move || {
        let opened = server.opened();
        assert_eq!(granted(&opened.1), None);
        finish(&mut server, opened, 0.5);
        server
    });
    assert_eq!(half(&routine, 1.0).unwrap(), (0.5, "fake".to_owned()));
    script.join().unwrap().expect_quiet();
}

/// Calls that run on several servers are told of by one client, whichever ends first.
#[test]
fn calls_of_several_servers_are_announced_by_one_client() {
    let (client, mut home) = metaserver(SUM, PATIENCE);
    let sum = looked_up(&client, &mut home, "sum");
    let servers = [Listening::new(SUM), Listening::new(SUM)];
    let addresses = servers.each_ref().map(Listening::address);
    let script = std::thread::spawn(move || {
        let mut accepted = Vec::new();
        for (index, listening) in servers.iter().enumerate() {
            let (channel, _) = home.asked_to_place();
            let name = ["a", "b"][index];
            let server = at(name, &addresses[index], 1);
            home.answer(channel, &placed(grant(index as u64 + 1, vec![server])));
            let mut server = listening.accept();
            let opened = server.opened();
            accepted.push((server, opened));
        }
        // The second ends first.
        let mut kept = Vec::new();
        for (index, (mut server, opened)) in accepted.into_iter().enumerate().rev() {
            std::thread::sleep(Duration::from_millis(100));
            finish(&mut server, opened, index as f64);
            kept.push(server);
        }
        (home, kept)
    });
    let options = CallOptions { announced: true, ..CallOptions::default() };
    let start = || {
        let x = Array::shared(std::sync::Arc::new(vec![1.0_f64; 20]), &[20], Order::Row);
        sum.start([("x", x.into())], &options).unwrap()
    };
    let mut calls = [start(), start()];
    assert_ne!(calls[0].number(), calls[1].number());
    let next = || client.next_finished(Some(PATIENCE)).unwrap().unwrap();
    assert_eq!(next(), calls[1].number());
    let outputs = calls[1].poll().unwrap().unwrap();
    assert_eq!((outputs.scalar::<f64>("s").unwrap(), outputs.server()), (1.0, "b"));
    assert!(calls[0].poll().unwrap().is_none());
    assert_eq!(next(), calls[0].number());
    let outputs = calls[0].poll().unwrap().unwrap();
    assert_eq!((outputs.scalar::<f64>("s").unwrap(), outputs.server()), (0.0, "a"));
    assert_eq!(client.next_finished(Some(Duration::ZERO)).unwrap(), None);
    let _kept = script.join().unwrap();
}

/// A thread that waits for one call sees to those of other servers, too: arguments that do not fit their
/// connection leave.
#[test]
fn waiting_for_one_server_sends_on_to_the_others() {
    const LENGTH: usize = 4 << 20;
    let (client, mut home) = metaserver(SUM, PATIENCE);
    let sum = looked_up(&client, &mut home, "sum");
    let servers = [Listening::new(SUM), Listening::new(SUM)];
    let addresses = servers.each_ref().map(Listening::address);
    let script = std::thread::spawn(move || {
        let mut accepted = Vec::new();
        for (index, listening) in servers.iter().enumerate() {
            let (channel, _) = home.asked_to_place();
            let server = at(["a", "b"][index], &addresses[index], 1);
            home.answer(channel, &placed(grant(index as u64 + 1, vec![server])));
            let mut server = listening.accept();
            let opened = server.opened();
            accepted.push((server, opened));
        }
        let (mut b, opened) = accepted.pop().unwrap();
        b.grant(opened.0, 1 << 40);
        // All of the second call's array comes while the program waits for the first.
        let begun = Instant::now();
        while b.data(opened.0, 1).len() < LENGTH * 8 {
            b.read();
            assert!(begun.elapsed() < PATIENCE);
        }
        let (mut a, first) = accepted.pop().unwrap();
        finish(&mut a, first, 1.0);
        finish(&mut b, opened, 2.0);
        (home, a, b)
    });
    let start = |length: usize| {
        let x =
            Array::shared(std::sync::Arc::new(vec![1.0_f64; length]), &[length as u64], Order::Row);
        sum.start([("x", x.into())], &CallOptions::default()).unwrap()
    };
    let first = start(20);
    let second = start(LENGTH);
    assert_eq!(first.wait().unwrap().scalar::<f64>("s").unwrap(), 1.0);
    assert_eq!(second.wait().unwrap().scalar::<f64>("s").unwrap(), 2.0);
    let _kept = script.join().unwrap();
}
