//! A peer that asks and does not read must not make our memory grow (spec/call.md, section 8).

use farcall_base::{ChannelId, Error, ErrorKind, Result};
use farcall_call::{ANSWERS_BYTES_MAX, Connection, Event, Setup};
use farcall_wire::message::{ARGUMENTS_MAX, encode};
use farcall_wire::*;

fn frame(kind: FrameKind, channel: u32) -> FrameHeader {
    FrameHeader::new(kind, ChannelId(channel), 0)
}

/// An accepting end whose peer takes control frames of a mebibyte.
fn greeted() -> Connection {
    let mut hello = crate::owner::hello(1000);
    hello.limits = HelloLimits::default();
    let mut connection =
        Connection::new(Setup { hello: hello.clone(), initiator: false, token: None });
    connection.handle_control(&frame(FrameKind::Hello, 0), &encode(&hello)).unwrap();
    connection
}

fn long_answer() -> Reply {
    Reply::Failed((&Error::new(ErrorKind::NotFound, "", "x".repeat(1_000_000))).into())
}

fn ask(connection: &mut Connection) -> Result<()> {
    connection.handle_control(&frame(FrameKind::Request, 1), &encode(&Request::List))?;
    while let Some(event) = connection.poll_event() {
        if let Event::Requested(channel, _) = event {
            connection.reply(channel, &long_answer());
        }
    }
    Ok(())
}

#[test]
fn answers_that_nobody_reads() {
    let mut connection = greeted();
    assert!(!connection.is_clogged());
    let mut asked = 0;
    let error = loop {
        match ask(&mut connection) {
            Ok(()) => asked += 1,
            Err(error) => break error,
        }
        assert!(
            connection.waiting_bytes() < ANSWERS_BYTES_MAX + (2 << 20),
            "{} bytes",
            connection.waiting_bytes()
        );
        assert!(asked < 10 || connection.is_clogged(), "the owner is not told to stop reading");
    };
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(asked > 50, "a polite but slow peer is cut off after {asked} answers");
}

#[test]
fn an_owner_that_stops_reading_never_loses_the_connection() {
    let mut connection = greeted();
    for _ in 0..200 {
        while connection.is_clogged() {
            connection.poll_transmit().expect("a clogged connection has something to send");
        }
        ask(&mut connection).unwrap();
    }
}

#[test]
fn pings_have_one_answer_waiting() {
    let mut connection = greeted();
    let before = connection.waiting_bytes();
    for _ in 0..100_000 {
        connection.handle_control(&frame(FrameKind::Ping, 0), &[]).unwrap();
    }
    assert!(connection.waiting_bytes() <= before + HEADER_BYTES);
}

#[test]
fn notices_are_dropped_when_nobody_reads() {
    let mut connection = greeted();
    let open = open(vec![]);
    connection.handle_control(&frame(FrameKind::Open, 1), &encode(&open)).unwrap();
    for _ in 0..1_000 {
        connection.notice(ChannelId(1), &Notice::Output(1, vec![0; 100_000]));
    }
    assert!(connection.waiting_bytes() < 8 << 20, "{} bytes", connection.waiting_bytes());
}

fn open(arguments: Vec<Argument>) -> Open {
    Open::new(farcall_base::CallId([0; 16]), "r".into(), [0; 32], arguments)
}

/// Hostile: more arguments than 16-bit slots can number, blocks behind the last number.
#[test]
fn more_arguments_than_slots() {
    for count in [ARGUMENTS_MAX + 1, 70_000] {
        let mut arguments = vec![Argument::Absent; count - 1];
        arguments.push(Argument::Blocks(Some(1)));
        let body = encode(&open(arguments));
        let error = greeted().handle_control(&frame(FrameKind::Open, 1), &body).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    }
}

/// The same from a server to its client.
#[test]
fn more_results_than_slots() {
    let mut connection = greeted();
    let channel = connection.open(&open(vec![])).unwrap();
    let mut results = vec![Argument::Absent; 70_000];
    results.push(Argument::Blocks(Some(1)));
    let result =
        CallResult { failure: None, results, times: CallTimes::default(), attributes: None };
    let error = connection
        .handle_control(&frame(FrameKind::Result, channel.0), &encode(&result))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    let mut connection = greeted();
    assert!(connection.open(&open(vec![Argument::Blocks(Some(1)); 70_000])).is_err());
}

/// An owner that asks where a frame of no bytes goes must not make it count twice.
#[test]
fn a_data_frame_of_no_bytes_may_be_asked_about() {
    let mut connection = greeted();
    connection
        .handle_control(&frame(FrameKind::Open, 1), &encode(&open(vec![Argument::Blocks(None)])))
        .unwrap();
    let data = FrameHeader { sequence: 1, flags: Flags::END, ..frame(FrameKind::Data, 1) };
    assert_eq!(connection.place(&data, 0).unwrap(), None);
    connection.handle_control(&data, &[]).unwrap();
    assert!(
        std::iter::from_fn(|| connection.poll_event())
            .any(|event| event == Event::ArgumentsComplete(ChannelId(1)))
    );
}
