//! Strangers, and greetings that are wrong.

use farcall_base::ErrorKind;
use farcall_tests::{Raw, Transport, eventually};
use farcall_wire::{Attribute, FrameKind, Hello, HelloLimits, PREFACE, Request, Role};

use super::{says, serves, start};

pub(super) fn strangers_who_do_not_speak_farcall(transport: Transport) {
    let server = start(transport);
    // Another protocol; a version of ours that does not exist yet; the right name cut short and
    // then nothing.
    let mut raw = Raw::connect(&server);
    raw.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    says(&mut raw, ErrorKind::Protocol, &["Farcall"]);
    let mut raw = Raw::connect(&server);
    raw.send(b"FARCALL\x02");
    says(&mut raw, ErrorKind::Version, &["2"]);
    let mut raw = Raw::connect(&server);
    raw.send(&PREFACE[..5]);
    drop(raw);
    // A whole memory's worth of zeros.
    let mut raw = Raw::connect(&server);
    raw.send(&vec![0; 1 << 20]);
    raw.goodbye();
    serves(&server);
}

/// A socket that is closed while bytes lie in it takes back what it sent, if they come in time for
/// that.
pub(super) fn whoever_talks_on_still_learns_why(transport: Transport) {
    let server = start(transport);
    serves(&server);
    let before = server.descriptors();
    let mut open = Vec::new();
    for _ in 0..8 {
        let mut raw = Raw::connect(&server);
        raw.send(b"GET / HTTP/1.1\r\n");
        for _ in 0..64 {
            raw.send(&[b'x'; 64 << 10]);
        }
        says(&mut raw, ErrorKind::Protocol, &["Farcall"]);
        open.push(raw);
    }
    // Whoever does not close then is cut off; others are served meanwhile.
    serves(&server);
    assert!(
        eventually(|| server.descriptors() <= before),
        "{} after {before}",
        server.descriptors()
    );
}

pub(super) fn greetings_that_are_wrong(transport: Transport) {
    let server = start(transport);
    let greet = |change: &dyn Fn(Hello) -> Hello| {
        let mut raw = Raw::connect(&server);
        raw.send(&PREFACE);
        let hello = change(raw.hello());
        raw.message(FrameKind::Hello, 0, &hello);
        raw
    };
    let big = if cfg!(target_endian = "big") {
        farcall_wire::ByteOrder::Little
    } else {
        farcall_wire::ByteOrder::Big
    };
    says(
        &mut greet(&|hello| Hello { byte_order: big, ..hello }),
        ErrorKind::Version,
        &["byte order"],
    );
    let demand = Attribute { name: "teleport".into(), critical: true, value: vec![] };
    let mut raw = greet(&|hello| Hello { attributes: vec![demand.clone()], ..hello });
    says(&mut raw, ErrorKind::Version, &["teleport"]);
    // Limits that leave no room: every answer would have to be cut into nothing.
    for limits in [
        HelloLimits { control_bytes_max: 0, ..HelloLimits::default() },
        HelloLimits { data_bytes_max: 0, ..HelloLimits::default() },
        HelloLimits { channels_max: 0, ..HelloLimits::default() },
    ] {
        says(&mut greet(&|hello| Hello { limits, ..hello }), ErrorKind::Protocol, &["limits"]);
    }
    // A Hello that never ends, one that is no Hello, and a question before any.
    let long = "x".repeat(100_000);
    let mut raw = greet(&|hello| Hello { product: long.clone(), ..hello });
    let error = raw.goodbye().unwrap();
    assert!(matches!(error.kind(), ErrorKind::Protocol | ErrorKind::LimitExceeded), "{error}");
    let mut raw = Raw::connect(&server);
    raw.send(&PREFACE);
    raw.message(FrameKind::Hello, 0, &vec![1, 2, 3]);
    says(&mut raw, ErrorKind::Protocol, &["Hello"]);
    let mut raw = Raw::connect(&server);
    raw.send(&PREFACE);
    raw.message(FrameKind::Request, 1, &Request::List);
    says(&mut raw, ErrorKind::Protocol, &["before its Hello"]);
    // Two of them.
    let mut raw = Raw::greeted(&server);
    let hello = raw.hello();
    raw.message(FrameKind::Hello, 0, &hello);
    says(&mut raw, ErrorKind::Protocol, &["second Hello"]);
    // Whoever claims to be a server or an executable is no client of this one.
    for role in [Role::Server, Role::Executable] {
        let mut raw = greet(&|hello| Hello { role, ..hello });
        raw.message(FrameKind::Request, 1, &Request::Interface("f_int".into()));
        // It may be answered as any client, but never trusted as more.
        let (header, _) = raw.frame().expect("an answer");
        assert_ne!(header.kind, FrameKind::Open as u8, "nobody runs routines on a stranger");
    }
    serves(&server);
}
