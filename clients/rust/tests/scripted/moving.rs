//! Calls that did not run where they were placed: at the next server if nothing has run, or if they
//! may run twice; otherwise their failure is reported.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind};
use farcall_client::idl::interface::Order;
use farcall_client::{Array, CallOptions, News, PendingCall, Routine};
use farcall_wire::{PlaceAnswer, Reply, Request};

use super::fake::{Fake, Listening, metaserver};
use super::placing::{
    HALF, SUM, at, finish, grant, granted, half, itself, looked_up, placed, told,
};

const TWICE: &str = "Module m;\nDefine half(IN double x, OUT double y) Idempotent Calls \"C\" y = \
    half(x);\n";
const PATIENCE: Duration = Duration::from_secs(20);

/// How a server refuses a call.
fn refusals() -> Vec<Error> {
    let no = |kind| Error::new(kind, "accept a call", "not here");
    vec![
        no(ErrorKind::LimitExceeded).retryable(),
        no(ErrorKind::ShuttingDown).retryable(),
        no(ErrorKind::Unreachable),
        no(ErrorKind::PermissionDenied),
        no(ErrorKind::NotFound),
        no(ErrorKind::InterfaceChanged),
    ]
}

/// A server that refuses what comes next.
fn refuses(listening: &Listening, error: &Error) -> Fake {
    let mut server = listening.accept();
    let (channel, _) = server.opened();
    server.refuse(channel, error);
    server
}

/// The next of the grant is taken, and then it is asked again without those that refused.
#[test]
fn a_refused_call_goes_to_the_next_server() {
    for error in refusals() {
        let (client, mut home) = metaserver(HALF, PATIENCE);
        let routine = looked_up(&client, &mut home, "half");
        let servers = [Listening::new(HALF), Listening::new(HALF)];
        let addresses = servers.each_ref().map(Listening::address);
        let refusal = error.to_string();
        let script = std::thread::spawn(move || {
            let (channel, _) = home.asked_to_place();
            let both = vec![at("a", &addresses[0], 1), at("b", &addresses[1], 0)];
            home.answer(channel, &placed(grant(1, both)));
            let a = refuses(&servers[0], &error);
            let b = refuses(&servers[1], &error);
            let (channel, question) = home.asked_to_place();
            assert_eq!(question.without, ["a", "b"]);
            assert!(question.outcomes.iter().all(|outcome| {
                outcome.grant == 1
                    && outcome.server.is_empty()
                    && outcome.failure == Some(error.kind().code())
            }));
            assert_eq!(question.outcomes.len(), 2);
            home.answer(channel, &placed(grant(2, vec![itself("home", 1)])));
            let opened = home.opened();
            assert_eq!(granted(&opened.1), Some(2));
            finish(&mut home, opened, 0.5);
            (home, a, b)
        });
        let outcome = half(&routine, 1.0);
        assert_eq!(outcome.unwrap(), (0.5, "home".to_owned()), "{refusal}");
        let _kept = script.join().unwrap();
    }
}

/// An address at which nobody listens is a refusal like others; so is a connection that ends while
/// it is greeted.
#[test]
fn a_server_that_cannot_be_reached_is_left_out() {
    let (client, mut home) = metaserver(HALF, PATIENCE);
    let routine = looked_up(&client, &mut home, "half");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("farcall://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let rude = TcpListener::bind("127.0.0.1:0").unwrap();
    let rude_address = format!("farcall://{}", rude.local_addr().unwrap());
    let hangs_up = std::thread::spawn(move || drop(rude.accept().unwrap()));
    let script = std::thread::spawn(move || {
        let (channel, _) = home.asked_to_place();
        let foreign = at("socket", "unix:/nowhere", 0);
        let both = vec![at("a", &address, 1), at("b", &rude_address, 0), foreign];
        home.answer(channel, &placed(grant(1, both)));
        let (channel, question) = home.asked_to_place();
        assert_eq!(question.without, ["a", "b", "socket"]);
        home.answer(channel, &placed(grant(2, vec![itself("home", 1)])));
        let opened = home.opened();
        finish(&mut home, opened, 0.5);
        home
    });
    assert_eq!(half(&routine, 1.0).unwrap().1, "home");
    hangs_up.join().unwrap();
    let _home = script.join().unwrap();
}

/// Where nobody takes it, the call says what befell it.
#[test]
fn a_call_that_nobody_takes_says_why() {
    let (client, mut home) = metaserver(HALF, PATIENCE);
    let routine = looked_up(&client, &mut home, "half");
    let there = Listening::new(HALF);
    let address = there.address();
    let script = std::thread::spawn(move || {
        let (channel, _) = home.asked_to_place();
        home.answer(channel, &placed(grant(1, vec![at("a", &address, 1)])));
        let error = Error::new(ErrorKind::PermissionDenied, "accept a call", "you may not");
        let server = refuses(&there, &error);
        let (channel, _) = home.asked_to_place();
        let nobody = Error::new(ErrorKind::NotFound, "place a call", "no server is left");
        home.answer(channel, &Reply::Failed((&nobody).into()));
        (home, server)
    });
    let error = half(&routine, 1.0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains("you may not"), "{error}");
    assert!(error.to_string().contains("no server is left"), "{error}");
    let _kept = script.join().unwrap();
}

/// What a routine did itself is nobody else's business.
#[test]
fn a_failure_of_the_routine_is_reported() {
    for kind in [
        ErrorKind::RoutineFailed,
        ErrorKind::RoutineCrashed,
        ErrorKind::InvalidArgument,
        ErrorKind::Cancelled,
    ] {
        let (client, mut home) = metaserver(TWICE, PATIENCE);
        let routine = looked_up(&client, &mut home, "half");
        let script = std::thread::spawn(move || {
            let (channel, _) = home.asked_to_place();
            home.answer(channel, &placed(grant(1, vec![itself("home", 1)])));
            let (channel, _) = home.opened();
            home.refuse(channel, &Error::new(kind, "call", "as it is"));
            home
        });
        assert_eq!(half(&routine, 1.0).unwrap_err().kind(), kind);
        let mut home = script.join().unwrap();
        let outcomes = told(&mut home);
        assert_eq!((outcomes[0].grant, outcomes[0].failure), (1, Some(kind.code())));
    }
}

/// A server that is gone while it runs a call.
fn dies(idl: &str) -> (farcall_client::Result<(f64, String)>, bool) {
    let (client, mut home) = metaserver(idl, PATIENCE);
    let routine = looked_up(&client, &mut home, "half");
    let there = Listening::new(idl);
    let address = there.address();
    let script = std::thread::spawn(move || {
        let (channel, _) = home.asked_to_place();
        home.answer(channel, &placed(grant(1, vec![at("a", &address, 1), itself("home", 0)])));
        let mut server = there.accept();
        server.opened();
        drop(server);
        // Whether it comes here.
        let opened = home.opened_within(Duration::from_millis(500));
        let comes = opened.is_some();
        if let Some(opened) = opened {
            finish(&mut home, opened, 0.5);
        }
        (home, comes)
    });
    let outcome = half(&routine, 1.0);
    let (_home, comes) = script.join().unwrap();
    (outcome, comes)
}

#[test]
fn an_idempotent_call_whose_server_dies_runs_again_elsewhere() {
    let (outcome, comes) = dies(TWICE);
    assert_eq!(outcome.unwrap(), (0.5, "home".to_owned()));
    assert!(comes);
    let (outcome, comes) = dies(HALF);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::ConnectionLost);
    assert!(!comes);
}

/// A server that does not publish what it is named for has the client ask for the interface, and has
/// none: the next of the grant is taken.
#[test]
fn a_server_that_lacks_the_routine_is_left_for_the_next() {
    let (client, mut home) = metaserver(HALF, PATIENCE);
    let routine = looked_up(&client, &mut home, "half");
    let lacks = Listening::new(HALF);
    let has = Listening::new(HALF);
    let addresses = [lacks.address(), has.address()];
    let script = std::thread::spawn(move || {
        let (channel, _) = home.asked_to_place();
        let servers = vec![at("lacks", &addresses[0], 1), at("has", &addresses[1], 0)];
        home.answer(channel, &placed(grant(1, servers)));
        let mut lacks = lacks.accept();
        let (channel, _) = lacks.opened();
        lacks.refuse_as_changed(channel);
        let channel = lacks.asked();
        let unknown = Error::new(ErrorKind::NotFound, "find a routine", "none is published");
        lacks.answer(channel, &Reply::Failed((&unknown).into()));
        let mut has = has.accept();
        let opened = has.opened();
        finish(&mut has, opened, 1.0);
        (home, lacks, has)
    });
    assert_eq!(half(&routine, 2.0).unwrap(), (1.0, "has".to_owned()));
    let _ends = script.join().unwrap();
}

/// The metaserver is gone: calls go to the servers that were named last.
#[test]
fn without_the_metaserver_calls_go_on() {
    let (client, mut home) = metaserver(SUM, PATIENCE);
    let sum = looked_up(&client, &mut home, "sum");
    let there = Listening::new(SUM);
    let address = there.address();
    let script = std::thread::spawn(move || {
        let (channel, _) = home.asked_to_place();
        home.answer(channel, &placed(grant(1, vec![at("a", &address, 1)])));
        let mut server = there.accept();
        let opened = server.opened();
        drop(home);
        finish(&mut server, opened, 1.0);
        for _ in 0..2 {
            let opened = server.opened();
            assert_eq!(granted(&opened.1), None);
            finish(&mut server, opened, 2.0);
        }
        server
    });
    let call = || sum.call([("x", Array::vector(&[1.0_f64]).into())]);
    assert_eq!(call().unwrap().scalar::<f64>("s").unwrap(), 1.0);
    for _ in 0..2 {
        let outputs = call().unwrap();
        assert_eq!((outputs.scalar::<f64>("s").unwrap(), outputs.server()), (2.0, "a"));
    }
    assert!(!client.is_lost(), "another server takes its calls");
    let _server = script.join().unwrap();
}

/// One that was started again knows no server yet: calls go to those that were named last, too.
#[test]
fn a_metaserver_that_knows_nobody_yet_costs_no_call() {
    let (client, mut home) = metaserver(SUM, PATIENCE);
    let sum = looked_up(&client, &mut home, "sum");
    let there = Listening::new(SUM);
    let address = there.address();
    let script = std::thread::spawn(move || {
        let (channel, _) = home.asked_to_place();
        home.answer(channel, &placed(grant(1, vec![at("a", &address, 1)])));
        let mut server = there.accept();
        let opened = server.opened();
        finish(&mut server, opened, 1.0);
        let unknown = Error::new(ErrorKind::NotFound, "place a call", "no server publishes it");
        let (channel, _) = home.asked_to_place();
        home.answer(channel, &Reply::Failed((&unknown).into()));
        let (channel, _) = server.opened();
        server.refuse(channel, &Error::new(ErrorKind::NotFound, "call", "it is gone"));
        let (channel, question) = home.asked_to_place();
        assert_eq!(question.without, ["a"]);
        home.answer(channel, &Reply::Failed((&unknown).into()));
        (home, server)
    });
    let call = || sum.call([("x", Array::vector(&[1.0_f64]).into())]);
    assert_eq!(call().unwrap().scalar::<f64>("s").unwrap(), 1.0);
    // Where that has it no more either, its own word is reported.
    let error = call().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("it is gone"), "{error}");
    let _ends = script.join().unwrap();
}

/// And other metaservers are asked that an answer named.
#[test]
fn another_metaserver_is_asked_where_one_is_gone() {
    let (client, mut home) = metaserver(SUM, PATIENCE);
    let sum = looked_up(&client, &mut home, "sum");
    let other = Listening::new(SUM);
    let address = other.address();
    let script = std::thread::spawn(move || {
        let (channel, _) = home.asked_to_place();
        let answer = grant(1, vec![itself("home", 1)]);
        home.answer(channel, &placed(PlaceAnswer { metaservers: vec![address], ..answer }));
        let opened = home.opened();
        finish(&mut home, opened, 1.0);
        std::thread::sleep(Duration::from_millis(50));
        drop(home);
        let mut other = other.accept();
        let (channel, question) = other.asked_to_place();
        assert_eq!(question.name, "m/sum");
        other.answer(channel, &placed(grant(5, vec![itself("other", 1)])));
        let opened = other.opened();
        assert_eq!(granted(&opened.1), Some(5));
        finish(&mut other, opened, 2.0);
        other
    });
    let call = || sum.call([("x", Array::vector(&[1.0_f64]).into())]);
    assert_eq!(call().unwrap().scalar::<f64>("s").unwrap(), 1.0);
    std::thread::sleep(Duration::from_millis(200));
    let outputs = call().unwrap();
    assert_eq!((outputs.scalar::<f64>("s").unwrap(), outputs.server()), (2.0, "other"));
    let _other = script.join().unwrap();
}

fn start(sum: &Routine, options: &CallOptions) -> farcall_client::Result<PendingCall> {
    let x = Array::shared(Arc::new(vec![1.0_f64; 2000]), &[2000], Order::Row);
    sum.start([("x", x.into())], options)
}

/// A call that was started and is refused moves while its program polls, waits for news, or for the
/// end of any call.
#[test]
fn started_calls_move_however_they_are_waited_for() {
    let collects: [fn(&farcall_client::Client, PendingCall) -> f64; 4] = [
        |_, call| call.wait().unwrap().scalar("s").unwrap(),
        |_, mut call| loop {
            if let Some(outputs) = call.poll().unwrap() {
                return outputs.scalar("s").unwrap();
            }
            std::thread::sleep(Duration::from_millis(1));
        },
        |_, mut call| {
            while call.next_news(Some(Duration::from_millis(20))).unwrap() != Some(News::Over) {}
            call.poll().unwrap().unwrap().scalar("s").unwrap()
        },
        |client, mut call| loop {
            let number = client.next_finished(Some(PATIENCE)).unwrap().unwrap();
            assert_eq!(number, call.number());
            if let Some(outputs) = call.poll().unwrap() {
                return outputs.scalar("s").unwrap();
            }
        },
    ];
    for collect in collects {
        let (client, mut home) = metaserver(SUM, PATIENCE);
        let sum = looked_up(&client, &mut home, "sum");
        let there = Listening::new(SUM);
        let address = there.address();
        let script = std::thread::spawn(move || {
            let (channel, _) = home.asked_to_place();
            let both = vec![at("a", &address, 1), itself("home", 0)];
            home.answer(channel, &placed(grant(1, both)));
            let mut server = there.accept();
            let (channel, _) = server.opened();
            std::thread::sleep(Duration::from_millis(50));
            let error = Error::new(ErrorKind::LimitExceeded, "accept a call", "full").retryable();
            server.refuse(channel, &error);
            let opened = home.opened();
            finish(&mut home, opened, 3.0);
            (home, server)
        });
        let options = CallOptions { announced: true, ..CallOptions::default() };
        let call = start(&sum, &options).unwrap();
        assert_eq!(collect(&client, call), 3.0);
        let _kept = script.join().unwrap();
    }
}

/// A call that looks for a server ends when it is cancelled, or its time ends.
#[test]
fn a_call_between_two_servers_can_be_ended() {
    for cancels in [true, false] {
        let (client, mut home) = metaserver(SUM, PATIENCE);
        let sum = looked_up(&client, &mut home, "sum");
        let script = std::thread::spawn(move || {
            let (channel, _) = home.asked_to_place();
            home.answer(channel, &placed(grant(1, vec![itself("home", 1)])));
            let (channel, _) = home.opened();
            let error = Error::new(ErrorKind::LimitExceeded, "accept a call", "full").retryable();
            home.refuse(channel, &error);
            // Nobody answers this one.
            let _asked = home.asked_to_place();
            home
        });
        let time = Duration::from_millis(if cancels { 20_000 } else { 1500 });
        let options = CallOptions { timeout: Some(time), ..CallOptions::default() };
        let mut call = start(&sum, &options).unwrap();
        assert!(call.wait_for(Duration::from_millis(300)).unwrap().is_none());
        let begun = Instant::now();
        if cancels {
            call.cancel().unwrap();
        }
        let kind = call.wait().err().unwrap().kind();
        assert_eq!(kind, if cancels { ErrorKind::Cancelled } else { ErrorKind::TimedOut });
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
        let _home = script.join().unwrap();
    }
}

/// A server refuses a call that its program has cancelled meanwhile, or a moment later: no other server
/// has it then.
#[test]
fn a_call_that_was_cancelled_goes_to_no_other_server() {
    for is_refused_first in [true, false] {
        let (client, mut home) = metaserver(SUM, PATIENCE);
        let sum = looked_up(&client, &mut home, "sum");
        let other = Listening::new(SUM);
        let address = other.address();
        let (says, said) = std::sync::mpsc::channel();
        let (tells, told) = std::sync::mpsc::channel();
        let script = std::thread::spawn(move || {
            let (channel, _) = home.asked_to_place();
            home.answer(channel, &placed(grant(1, vec![itself("home", 1), at("b", &address, 0)])));
            let (channel, _) = home.opened();
            let full = Error::new(ErrorKind::LimitExceeded, "accept a call", "full").retryable();
            if is_refused_first {
                home.refuse(channel, &full);
                says.send(()).unwrap();
            } else {
                says.send(()).unwrap();
                told.recv().unwrap();
                home.refuse(channel, &full);
            }
            home
        });
        let call = start(&sum, &CallOptions::default()).unwrap();
        said.recv().unwrap();
        if is_refused_first {
            // Whatever else goes on there, the refusal is read by it.
            std::thread::sleep(Duration::from_millis(50));
            assert_eq!(client.next_finished(Some(Duration::from_millis(1))).ok().flatten(), None);
        }
        call.cancel().unwrap();
        let _ = tells.send(());
        assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::Cancelled, "{is_refused_first}");
        let _home = script.join().unwrap();
    }
}

/// A wait in pieces for a call to be taken asks once, and goes on with what was found.
#[test]
fn a_server_is_looked_for_in_pieces() {
    let (client, mut home) = metaserver(HALF, PATIENCE);
    let routine = looked_up(&client, &mut home, "half");
    let start = || {
        let arguments = vec![1.0.into(), farcall_client::Argument::Unset];
        let wait = Duration::from_millis(10);
        // SAFETY: numbers alone are passed.
        unsafe { routine.start_within(arguments, Vec::new(), &CallOptions::default(), wait) }
            .unwrap()
    };
    assert!(start().is_none() && start().is_none());
    let script = std::thread::spawn(move || {
        let (channel, _) = home.asked_to_place();
        home.answer(channel, &placed(grant(1, vec![itself("home", 1)])));
        let opened = home.opened();
        finish(&mut home, opened, 0.5);
        home
    });
    let call = loop {
        if let Some(call) = start() {
            break call;
        }
    };
    assert_eq!(call.wait().unwrap().scalar::<f64>("y").unwrap(), 0.5);
    let mut home = script.join().unwrap();
    loop {
        match home.requested() {
            (_, Request::Outcomes(_)) => break,
            (_, Request::Place(question)) => panic!("{question:?}"),
            _ => {}
        }
    }
}
