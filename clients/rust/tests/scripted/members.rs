//! Servers that a metaserver knows: bound by name, asked side by side, and what is held there.

use std::time::Duration;

use farcall_base::{CallId, Error, ErrorKind};
use farcall_client::{CallOptions, HoldOptions};
use farcall_wire::{
    KeptCall, KeptState, PLACEMENT, RESUME, Reply, Request, ServerPresence, ServerState,
};

use super::fake::{Fake, Listening, Wire, metaserver, metaserver_with, pair};
use super::placing::{HALF, at, finish, grant, granted, itself, looked_up, placed, told};

const PATIENCE: Duration = Duration::from_secs(20);

fn state(name: &str, address: &str) -> ServerState {
    let addresses = vec![address.to_owned()];
    ServerState { name: name.to_owned(), addresses, ..ServerState::default() }
}

fn home_state() -> ServerState {
    ServerState { is_self: true, ..state("home", "farcall://home:1") }
}

/// Answers the next question, which must be who there is.
fn tell_servers(home: &mut Fake, servers: &[ServerState]) {
    match home.requested() {
        (channel, Request::Servers(host, site)) => {
            assert!(!host.is_empty() && site.is_empty());
            home.answer(channel, &Reply::Servers(servers.to_vec()));
        }
        other => panic!("{other:?}"),
    }
}

fn at_option(at: &str) -> CallOptions {
    CallOptions { at: Some(at.into()), ..CallOptions::default() }
}

#[test]
fn a_call_can_be_bound_to_a_server_by_its_name_or_address() {
    let (client, mut home) = metaserver(HALF, PATIENCE);
    let routine = looked_up(&client, &mut home, "half");
    let there = Listening::new(HALF);
    let address = there.address();
    let known = [home_state(), state("b", &address)];
    let script = std::thread::spawn(move || {
        tell_servers(&mut home, &known);
        let mut server = there.accept();
        for _ in 0..2 {
            let opened = server.opened();
            assert_eq!(granted(&opened.1), None);
            finish(&mut server, opened, 0.5);
        }
        let (channel, _) = server.opened();
        let error = Error::new(ErrorKind::LimitExceeded, "accept a call", "full").retryable();
        server.refuse(channel, &error);
        tell_servers(&mut home, &known);
        let opened = home.opened();
        finish(&mut home, opened, 0.25);
        (home, server)
    });
    let call = |at: &str| routine.call_with([("x", 1.0.into())], &at_option(at));
    for at in ["b", address.as_str()] {
        let outputs = call(at).unwrap();
        assert_eq!((outputs.scalar::<f64>("y").unwrap(), outputs.server()), (0.5, "b"));
    }
    // It goes nowhere else.
    assert_eq!(call("b").err().unwrap().kind(), ErrorKind::LimitExceeded);
    assert_eq!(call("home").unwrap().scalar::<f64>("y").unwrap(), 0.25);
    let (mut home, _server) = script.join().unwrap();
    home.expect_quiet();
}

#[test]
fn a_name_that_no_server_has_is_answered_with_the_nearest() {
    let (client, mut home) = metaserver(HALF, PATIENCE);
    let routine = looked_up(&client, &mut home, "half");
    let script = std::thread::spawn(move || {
        tell_servers(&mut home, &[home_state(), state("cluster-one", "tls://one:7070")]);
        home
    });
    let error = routine.call_with([("x", 1.0.into())], &at_option("cluster-on")).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    // The others follow.
    assert!(error.to_string().contains("servers: cluster-one, home"), "{error}");
    let _home = script.join().unwrap();
    // One that knows no others has one name.
    let (client, mut server) = pair(Wire::Blocks, HALF, PATIENCE);
    let routine = looked_up(&client, &mut server, "half");
    let error = routine.call_with([("x", 1.0.into())], &at_option("b")).err().unwrap();
    assert!(error.to_string().contains("servers: fake"), "{error}");
    let script = std::thread::spawn(move || {
        let opened = server.opened();
        finish(&mut server, opened, 0.5);
        server
    });
    let outputs = routine.call_with([("x", 1.0.into())], &at_option("fake")).unwrap();
    assert_eq!(outputs.server(), "fake");
    let _server = script.join().unwrap();
}

/// Executables are held where a question said, and the calls on them go there.
#[test]
fn what_is_held_is_placed_once() {
    let (client, mut home) = metaserver(HALF, PATIENCE);
    let routine = looked_up(&client, &mut home, "half");
    let there = Listening::new(HALF);
    let address = there.address();
    let script = std::thread::spawn(move || {
        let (channel, question) = home.asked_to_place();
        assert_eq!((question.name.as_str(), question.calls), ("m/half", 3));
        home.answer(channel, &placed(grant(4, vec![at("b", &address, 3)])));
        let mut server = there.accept();
        let (channel, request) = server.requested();
        let Request::Hold(hold) = request else { panic!("{request:?}") };
        assert_eq!((hold.name.as_str(), hold.count), ("m/half", 3));
        server.answer(channel, &Reply::Done);
        for _ in 0..2 {
            let opened = server.opened();
            finish(&mut server, opened, 0.5);
        }
        let (channel, request) = server.requested();
        assert!(matches!(request, Request::Release(first, 3) if first == hold.first));
        server.answer(channel, &Reply::Done);
        let outcomes = told(&mut home);
        assert_eq!((outcomes[0].grant, outcomes[0].server.as_str()), (4, "b"));
        (home, server)
    });
    let hold = client.hold("m/half", 3, &HoldOptions::default()).unwrap();
    assert!(hold.ready(None).unwrap());
    assert_eq!(hold.server(), "b");
    for on in hold.ids().take(2) {
        let options = CallOptions { on: Some(on), ..CallOptions::default() };
        let outputs = routine.call_with([("x", 1.0.into())], &options).unwrap();
        assert_eq!((outputs.scalar::<f64>("y").unwrap(), outputs.server()), (0.5, "b"));
    }
    hold.release(None).unwrap();
    let _kept = script.join().unwrap();
}

/// One that knows no others is asked that once, and holds what it is told to.
#[test]
fn what_is_not_placed_is_held_at_home() {
    let (client, mut home) = metaserver(HALF, PATIENCE);
    let script = std::thread::spawn(move || {
        tell_servers(&mut home, &[home_state()]);
        for _ in 0..2 {
            let (channel, request) = home.requested();
            assert!(matches!(request, Request::Hold(_)), "{request:?}");
            home.answer(channel, &Reply::Done);
        }
        home
    });
    let holds = [(); 2].map(|()| client.hold("m/half", 1, &HoldOptions::default()).unwrap());
    assert!(holds.iter().all(|hold| hold.ready(None).unwrap()));
    let _home = script.join().unwrap();
}

/// What an id has at its end whose call is at the server "b" (spec/placement.md, section 10).
const HINT_OF_B: [u8; 2] = [0x07, 0x8b];

/// The id of a kept call, whose last bytes hint at its server.
fn kept_id(first: u8, hint: [u8; 2]) -> CallId {
    let mut id = [first; 16];
    id[14..].copy_from_slice(&hint);
    CallId(id)
}

fn kept_call() -> KeptCall {
    KeptCall {
        id: kept_id(1, [0; 2]),
        routine: "m/half".to_owned(),
        state: KeptState::Running,
        bytes: 0,
        left_us: 0,
        durable: false,
        principal: "me".to_owned(),
        note: None,
    }
}

fn unknown() -> Reply {
    let error = Error::new(ErrorKind::NotFound, "find a call", "no such call is kept");
    Reply::Failed((&error).into())
}

/// The list of kept calls is that of all servers, and says which did not answer.
#[test]
fn kept_calls_of_all_servers_are_listed_and_forgotten() {
    let features = [PLACEMENT, RESUME];
    let (client, mut home) = metaserver_with(HALF, Duration::from_secs(2), &features);
    let there = Listening::new(HALF);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = format!("farcall://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let known = [home_state(), state("b", &there.address()), state("c", &gone)];
    let left = ServerState { presence: ServerPresence::Gone, ..state("d", &gone) };
    let forgotten = ServerState { silent_us: 7_200_000_000, ..left.clone() };
    let forgotten = ServerState { name: "e".to_owned(), ..forgotten };
    let known = [known.as_slice(), &[left, forgotten]].concat();
    let script = std::thread::spawn(move || {
        let (channel, request) = home.requested();
        assert_eq!(request, Request::Kept);
        home.answer(channel, &Reply::Kept(Vec::new()));
        tell_servers(&mut home, &known);
        tell_servers(&mut home, &known);
        let mut server = there.accept();
        let (channel, request) = server.requested();
        assert_eq!(request, Request::Kept);
        server.answer(channel, &Reply::Kept(vec![kept_call()]));
        let (channel, request) = home.requested();
        assert!(matches!(request, Request::Forget(_)));
        home.answer(channel, &unknown());
        tell_servers(&mut home, &known);
        let (channel, request) = server.requested();
        assert!(matches!(request, Request::Forget(_)));
        server.answer(channel, &Reply::Done);
        let (channel, request) = home.requested();
        assert!(matches!(request, Request::Forget(_)));
        home.answer(channel, &unknown());
        tell_servers(&mut home, &known);
        let (channel, request) = server.requested();
        assert!(matches!(request, Request::Forget(_)));
        server.answer(channel, &unknown());
        (home, server)
    });
    let (calls, unanswered) = client.kept_by_all().unwrap();
    assert_eq!(calls.len(), 1);
    let silent: Vec<&str> = unanswered.iter().map(|one| one.server.as_str()).collect();
    assert_eq!(silent, ["c", "d"]);
    client.forget_call(kept_id(1, [0; 2])).unwrap();
    let error = client.forget_call(kept_id(2, [0; 2])).unwrap_err();
    // It may be at one of the others.
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    assert!(error.to_string().contains("no answer from: c, d"), "{error}");
    let _kept = script.join().unwrap();
}

/// A kept call whose id hints at a server is asked for there, and nowhere else if that knows it.
#[test]
fn the_hint_of_a_kept_calls_id_is_followed() {
    let features = [PLACEMENT, RESUME];
    let (client, mut home) = metaserver_with(HALF, Duration::from_secs(2), &features);
    let there = Listening::new(HALF);
    let known = [home_state(), state("b", &there.address())];
    let script = std::thread::spawn(move || {
        tell_servers(&mut home, &known);
        let mut server = there.accept();
        let (channel, request) = server.requested();
        assert!(matches!(request, Request::Forget(_)));
        server.answer(channel, &Reply::Done);
        // It does not know the next one; the server that was connected to does.
        tell_servers(&mut home, &known);
        let (channel, request) = server.requested();
        assert!(matches!(request, Request::Forget(_)));
        server.answer(channel, &unknown());
        let (channel, request) = home.requested();
        assert!(matches!(request, Request::Forget(_)));
        home.answer(channel, &Reply::Done);
        (home, server)
    });
    client.forget_call(kept_id(1, HINT_OF_B)).unwrap();
    client.forget_call(kept_id(2, HINT_OF_B)).unwrap();
    let _kept = script.join().unwrap();
}

/// Placement of one call; `itself` is what others of these tests use.
#[test]
fn a_bound_call_of_a_placed_routine_asks_nobody() {
    let (client, mut home) = metaserver(HALF, PATIENCE);
    let routine = looked_up(&client, &mut home, "half");
    let script = std::thread::spawn(move || {
        let (channel, _) = home.asked_to_place();
        home.answer(channel, &placed(grant(1, vec![itself("home", 1)])));
        let opened = home.opened();
        finish(&mut home, opened, 0.5);
        // The name is known from the answer.
        let opened = home.opened();
        assert_eq!(granted(&opened.1), None);
        finish(&mut home, opened, 0.25);
        home
    });
    routine.call([("x", 1.0.into())]).unwrap();
    let outputs = routine.call_with([("x", 1.0.into())], &at_option("home")).unwrap();
    assert_eq!((outputs.scalar::<f64>("y").unwrap(), outputs.server()), (0.25, "home"));
    let _home = script.join().unwrap();
}
