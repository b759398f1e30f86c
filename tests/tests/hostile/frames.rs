//! Frames and messages that break the rules.

use farcall_base::{Error, ErrorKind, Random, SeededRandom};
use farcall_tests::{Raw, Transport, failure_of};
use farcall_wire::message::{decode, encode};
use farcall_wire::{
    Argument, Flags, FrameHeader, FrameKind, Goodbye, PREFACE, Reply, Request, Window,
};

use super::{header, interface, long, open, says, serves, share, start, with_call};

/// What it is, its bytes, and how the server says so.
type Case = (&'static str, Vec<u8>, ErrorKind, &'static [&'static str]);

fn broken_frames() -> Vec<Case> {
    let unknown = FrameHeader { kind: 99, flags: Flags::CRITICAL, ..header(FrameKind::Ping, 0, 0) };
    let huge = header(FrameKind::Request, 1, u32::MAX);
    vec![
        (
            "a body of 4 GiB is announced",
            huge.encode().to_vec(),
            ErrorKind::Protocol,
            &["limit: 4 MiB"],
        ),
        (
            "a kind that must be known and is not",
            Raw::framed(unknown, &[]),
            ErrorKind::Version,
            &["99"],
        ),
        (
            "a call without a channel",
            Raw::encoded(FrameKind::Open, 0, &0),
            ErrorKind::Protocol,
            &["channel"],
        ),
        (
            "a ping on a call's channel",
            Raw::framed(header(FrameKind::Ping, 1, 0), &[]),
            ErrorKind::Protocol,
            &[],
        ),
        (
            "an answer to no question",
            Raw::encoded(FrameKind::Reply, 2, &Reply::Done),
            ErrorKind::Protocol,
            &[],
        ),
        ("a result of no call", Raw::encoded(FrameKind::Result, 2, &0), ErrorKind::Protocol, &[]),
        (
            "a channel number of ours",
            Raw::encoded(FrameKind::Request, 2, &Request::List),
            ErrorKind::Protocol,
            &[],
        ),
        (
            "a message that is no CBOR",
            Raw::framed(header(FrameKind::Request, 1, 3), &[0xff; 3]),
            ErrorKind::Protocol,
            &[],
        ),
        (
            "a text of 2^60 bytes",
            Raw::framed(header(FrameKind::Request, 1, 9), TEXT),
            ErrorKind::Protocol,
            &[],
        ),
        (
            "a list of 2^60 entries",
            Raw::framed(header(FrameKind::Open, 1, 11), LIST),
            ErrorKind::Protocol,
            &[],
        ),
        (
            "memory taken back that was never given",
            Raw::encoded(FrameKind::Unshare, 0, &7),
            ErrorKind::Protocol,
            &[],
        ),
        ("memory without a descriptor", share(1, 4096), ErrorKind::Protocol, &["descriptor"]),
    ]
}

pub(super) fn frames_that_break_the_rules(transport: Transport) {
    let server = start(transport);
    for (case, bytes, kind, words) in broken_frames() {
        eprintln!("{case}");
        let mut raw = Raw::greeted(&server);
        raw.send(&bytes);
        says(&mut raw, kind, words);
    }
    // A frame of an unknown kind that may be skipped is skipped, body and all.
    let mut raw = Raw::greeted(&server);
    raw.send(&Raw::framed(FrameHeader { kind: 99, ..header(FrameKind::Ping, 0, 5) }, b"later"));
    raw.send(&Raw::framed(header(FrameKind::Ping, 0, 0), &[]));
    raw.expect(FrameKind::Pong);
    // Credit for a call that just ended may have been under way.
    raw.send(&Raw::encoded(FrameKind::Window, 1, &Window { credit: 1 << 20, next_sequence: 0 }));
    raw.send(&Raw::framed(header(FrameKind::Ping, 0, 0), &[]));
    raw.expect(FrameKind::Pong);
    // Nothing follows a Goodbye.
    let mut raw = Raw::greeted(&server);
    raw.message(FrameKind::Goodbye, 0, &Goodbye { failure: None });
    assert!(raw.goodbye().is_none_or(|error| error.kind() == ErrorKind::Protocol));
    serves(&server);
}

pub(super) fn messages_that_lie(transport: Transport) {
    let server = start(transport);
    // More arguments than any interface has.
    let mut raw = Raw::greeted(&server);
    let reply = interface(&mut raw, "touch");
    raw.message(FrameKind::Open, 1, &open(&reply, vec![Argument::Absent; 5000]));
    let (header, body) = raw.frame().unwrap();
    let error = match FrameKind::from_code(header.kind) {
        Some(FrameKind::Result) => failure_of(&body),
        Some(FrameKind::Goodbye) => {
            Error::from(decode::<Goodbye>("Goodbye", &body).unwrap().failure.unwrap())
        }
        other => panic!("{other:?}"),
    };
    assert!(!error.to_string().is_empty());
    // Two calls on one channel.
    let mut raw = Raw::greeted(&server);
    let reply = interface(&mut raw, "touch");
    let call = open(&reply, vec![long(1 << 20), Argument::Blocks(Some(8 << 20))]);
    raw.message(FrameKind::Open, 1, &call);
    raw.message(FrameKind::Open, 1, &call);
    says(&mut raw, ErrorKind::Protocol, &[]);
    // An argument in memory that was never shared.
    let mut raw = Raw::greeted(&server);
    let reply = interface(&mut raw, "touch");
    raw.message(FrameKind::Open, 1, &open(&reply, vec![long(1000), Argument::Shared(5, 0, 8000)]));
    says(&mut raw, ErrorKind::Protocol, &["memory"]);
    serves(&server);
}

pub(super) fn data_that_nobody_asked_for(transport: Transport) {
    let server = start(transport);
    let mib = 1_u64 << 20;
    // No such call; unknown slot; a slot that is not an array; a number from the future; a number
    // of the past.
    let mut raw = Raw::greeted(&server);
    raw.data(1, 0, 0, true, &[0; 64]);
    says(&mut raw, ErrorKind::Protocol, &[]);
    for slot in [0, 2, 65_535] {
        let mut raw = with_call(&server, mib);
        raw.data(1, slot, 1, false, &[0; 64]);
        says(&mut raw, ErrorKind::Protocol, &[]);
    }
    for sequence in [0, 2, u32::MAX] {
        let mut raw = with_call(&server, mib);
        raw.data(1, 1, sequence, false, &[0; 64]);
        says(&mut raw, ErrorKind::Protocol, &[]);
    }
    // More than was announced; an end before the end; no end at the end.
    let mut raw = with_call(&server, 8192);
    raw.data(1, 1, 1, true, &[0; 8200]);
    says(&mut raw, ErrorKind::Protocol, &[]);
    let mut raw = with_call(&server, 8192);
    raw.data(1, 1, 1, true, &[0; 4096]);
    says(&mut raw, ErrorKind::Protocol, &[]);
    // A frame longer than the server takes: not a byte of it is read.
    let mut raw = with_call(&server, 64 * mib);
    raw.send(
        &FrameHeader { slot: 1, sequence: 1, ..header(FrameKind::Data, 1, 64 << 20) }.encode(),
    );
    says(&mut raw, ErrorKind::Protocol, &["limit: 4 MiB"]);
    serves(&server);
}

pub(super) fn random_bytes_of_every_kind(transport: Transport) {
    let server = start(transport);
    let mut random = SeededRandom::new(4711);
    for _ in 0..60 {
        let bytes: Vec<u8> = (0..40).flat_map(|_| random.bytes16()).collect();
        // After the preface; after the greeting; as a frame's body whose header is right.
        let mut raw = Raw::connect(&server);
        raw.send(&PREFACE);
        raw.send(&bytes);
        drop(raw);
        let mut raw = Raw::greeted(&server);
        raw.send(&bytes);
        drop(raw);
        let mut raw = Raw::greeted(&server);
        let kind = FrameKind::from_code(1 + bytes[0] % 15).unwrap();
        let channel = u32::from(bytes[1] % 4);
        raw.send(&Raw::framed(header(kind, channel, bytes.len() as u32), &bytes));
        drop(raw);
    }
    // A good message with single bits turned: closer to the truth, and worse.
    let good = encode(&Raw::connect(&server).hello());
    for bit in (0..good.len() * 8).step_by(3) {
        let mut body = good.clone();
        body[bit / 8] ^= 1 << (bit % 8);
        let mut raw = Raw::connect(&server);
        raw.send(&PREFACE);
        raw.send(&Raw::framed(header(FrameKind::Hello, 0, body.len() as u32), &body));
        drop(raw);
    }
    serves(&server);
}

/// A CBOR text that says to be 2^60 bytes long, and has none.
const TEXT: &[u8] = &[0x7b, 0x10, 0, 0, 0, 0, 0, 0, 0];

/// A map whose key 4 is a list of 2^60.
const LIST: &[u8] = &[0xa1, 0x04, 0x9b, 0x10, 0, 0, 0, 0, 0, 0, 0];
