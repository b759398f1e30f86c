//! Looking routines up at servers that take their time.

use std::time::{Duration, Instant};

use farcall_base::{ChannelId, ErrorKind};
use farcall_client::Client;
use farcall_wire::Argument;

use super::fake::{Fake, Wire, pair};

const HALF: &str = "Module m;\nDefine half(IN double x, OUT double y) Calls \"C\" y = half(x);\n";
const PATIENCE: Duration = Duration::from_millis(800);
const PIECE: Duration = Duration::from_millis(50);

fn connected() -> (Client, Fake) {
    pair(Wire::Blocks, HALF, PATIENCE)
}

fn took(begun: Instant, least: Duration) {
    let took = begun.elapsed();
    assert!(took >= least && took < least + Duration::from_millis(1500), "{took:?}, not {least:?}");
}

#[test]
fn the_clients_timeout_is_that_of_its_questions() {
    let (client, _server) = connected();
    for ask in [
        |client: &Client| client.routine("half").map(|_| ()),
        |client: &Client| client.routines().map(|_| ()),
    ] {
        let begun = Instant::now();
        let error = ask(&client).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        assert!(error.to_string().contains("0.8 s"), "{error}");
        took(begun, PATIENCE);
    }
}

/// A question that is waited for in pieces is asked once, and is no younger with the last piece
/// than with the first.
#[test]
fn waiting_in_pieces_is_waiting_for_one_answer() {
    let (client, mut server) = connected();
    let begun = Instant::now();
    for _ in 0..3 {
        assert!(client.routine_within("half", PIECE).unwrap().is_none());
    }
    took(begun, 3 * PIECE);
    assert!(client.routine_within("half", Duration::ZERO).unwrap().is_none());
    server.tell_interface();
    assert_eq!(
        client.routine_within("half", Duration::from_secs(1)).unwrap().unwrap().name(),
        "m/half"
    );
    assert_eq!(
        client.routine_within("half", Duration::ZERO).unwrap().unwrap().name(),
        "m/half",
        "it is kept"
    );
    let begun = Instant::now();
    let error = loop {
        match client.routines_within(PIECE) {
            Ok(None) => {}
            Ok(Some(_)) => panic!("nobody answered"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    took(begun, PATIENCE);
    // Two questions came: one for the interface, one for the list.
    let _ = list_asked(&mut server);
    server.expect_nothing();
}

fn list_asked(server: &mut Fake) -> ChannelId {
    match server.event() {
        farcall_call::Event::Requested(channel, farcall_wire::Request::List) => channel,
        other => panic!("{other:?}"),
    }
}

/// What comes when nobody waits any more is no answer to the next question, though it has the same
/// channel.
#[test]
fn late_answers_are_dropped() {
    let (client, mut server) = connected();
    assert_eq!(client.routine("half").err().unwrap().kind(), ErrorKind::TimedOut);
    assert_eq!(client.routines().err().unwrap().kind(), ErrorKind::TimedOut);
    server.tell_interface();
    let list = list_asked(&mut server);
    server.tell_list(list);
    let script = std::thread::spawn(move || {
        let list = list_asked(&mut server);
        server.tell_list(list);
        server.tell_interface();
        let (channel, _) = server.opened();
        server.finish(
            channel,
            vec![Argument::Absent, Argument::Inline(1.5_f64.to_ne_bytes().as_slice().into())],
            Vec::new(),
        );
        server
    });
    assert_eq!(client.routines().unwrap().len(), 1);
    let half = client.routine("half").unwrap();
    assert_eq!(half.call([("x", 3.0.into())]).unwrap().scalar::<f64>("y").unwrap(), 1.5);
    let _server = script.join().unwrap();
}

/// An answer that came in time, but that nobody asked for again, is not kept for whoever asks next.
#[test]
fn an_answer_that_nobody_took_grows_old() {
    let (client, mut server) = pair(Wire::Blocks, HALF, Duration::from_secs(20));
    assert!(client.routines_within(PIECE).unwrap().is_none());
    let list = list_asked(&mut server);
    server.tell_list(list);
    std::thread::sleep(PIECE);
    client.process().unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    let script = std::thread::spawn(move || {
        let list = list_asked(&mut server);
        server.tell_list(list);
        server
    });
    assert_eq!(client.routines().unwrap().len(), 1);
    let _server = script.join().unwrap();
}

#[test]
fn threads_that_ask_the_same_are_all_answered() {
    let (client, mut server) = pair(Wire::Blocks, HALF, Duration::from_secs(20));
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| client.routine("half").unwrap().name().to_owned()))
            .collect();
        std::thread::sleep(PIECE);
        // Whoever comes too late for the answer, and too early for what the client keeps, asks once
        // more.
        while !asking.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            server.tell_what_is_asked();
        }
        assert!(asking.into_iter().all(|name| name.join().unwrap() == "m/half"));
    });
}
