//! Calls that do not fit their interface.

use farcall_base::{DataId, ErrorKind};
use farcall_tests::{Raw, Transport, failure_of};
use farcall_wire::message::decode;
use farcall_wire::{Argument, CallResult, FrameHeader, FrameKind, InterfaceReply, Open};

use super::{header, interface, long, open, serves, sizes, start};

/// What is wrong with each, and what is said of it.
fn misfits(reply: &InterfaceReply) -> Vec<(&'static str, Open, ErrorKind)> {
    let stale = InterfaceReply { contract: [0; 32], ..reply.clone() };
    let unknown = InterfaceReply { name: "battery/nowhere".into(), ..reply.clone() };
    let bytes = |count: usize| Argument::Inline(vec![0; count].into());
    let absent = || Argument::Absent;
    vec![
        ("too few arguments", open(reply, vec![long(1)]), ErrorKind::InvalidArgument),
        ("too many", open(reply, vec![long(1), bytes(8), absent()]), ErrorKind::InvalidArgument),
        (
            "a size of half a number",
            open(reply, vec![bytes(4), bytes(8)]),
            ErrorKind::InvalidArgument,
        ),
        ("no size", open(reply, vec![absent(), bytes(8)]), ErrorKind::InvalidArgument),
        ("a negative size", open(reply, vec![long(-1), bytes(8)]), ErrorKind::InvalidArgument),
        ("a short array", open(reply, vec![long(2), bytes(8)]), ErrorKind::InvalidArgument),
        ("a long array", open(reply, vec![long(1), bytes(16)]), ErrorKind::InvalidArgument),
        ("no array", open(reply, vec![long(1), absent()]), ErrorKind::InvalidArgument),
        (
            "a wrong length",
            open(reply, vec![long(2), Argument::Blocks(Some(8))]),
            ErrorKind::InvalidArgument,
        ),
        (
            "data",
            open(reply, vec![long(1), Argument::Data(DataId([1; 16]))]),
            ErrorKind::InvalidArgument,
        ),
        (
            "a URL",
            open(reply, vec![long(1), Argument::Url("file:/etc/passwd".into())]),
            ErrorKind::PermissionDenied,
        ),
        (
            "no URL",
            open(reply, vec![long(1), Argument::Url("/etc/passwd".into())]),
            ErrorKind::InvalidArgument,
        ),
        (
            "texts",
            open(reply, vec![long(1), Argument::Texts(vec![None])]),
            ErrorKind::InvalidArgument,
        ),
        ("another contract", open(&stale, vec![long(1), bytes(8)]), ErrorKind::InterfaceChanged),
        ("another routine", open(&unknown, vec![long(1), bytes(8)]), ErrorKind::InterfaceChanged),
        (
            "too few wishes",
            Open { wanted: Some(vec![absent()]), ..open(reply, vec![long(1), bytes(8)]) },
            ErrorKind::InvalidArgument,
        ),
        (
            "a result wanted as a URL",
            Open {
                wanted: Some(vec![absent(), Argument::Url("file:///tmp/x".into())]),
                ..open(reply, vec![long(1), bytes(8)])
            },
            ErrorKind::InvalidArgument,
        ),
    ]
}

pub(super) fn calls_that_do_not_fit_are_answered_and_the_connection_lives(transport: Transport) {
    let server = start(transport);
    let mut raw = Raw::greeted(&server);
    let reply = interface(&mut raw, "touch");
    for (case, open, kind) in misfits(&reply) {
        raw.message(FrameKind::Open, 1, &open);
        let error = failure_of(&raw.expect(FrameKind::Result));
        assert_eq!(error.kind(), kind, "{case}: {error}");
        abandon(&mut raw, &open);
    }
    let mut raw = sizes::are_refused(&server, raw, &reply);
    // And the right one, by the same connection.
    let call = open(
        &reply,
        vec![
            long(2),
            Argument::Inline([1.5_f64, 2.5].iter().flat_map(|x| x.to_ne_bytes()).collect()),
        ],
    );
    raw.message(FrameKind::Open, 1, &call);
    let result: CallResult = decode("Result", &raw.expect(FrameKind::Result)).unwrap();
    let wanted: Vec<u8> = [2.5_f64, 3.5].iter().flat_map(|x| x.to_ne_bytes()).collect();
    assert_eq!(result.results[1], Argument::Inline(wanted.into()), "{:?}", result.failure);
    serves(&server);
}

/// A call that was refused is over once its opener says that no more data comes.
pub(super) fn abandon(raw: &mut Raw, open: &Open) {
    if open.arguments.iter().any(|argument| matches!(argument, Argument::Blocks(_))) {
        raw.send(&Raw::framed(FrameHeader { sequence: 1, ..header(FrameKind::Cancel, 1, 0) }, &[]));
    }
}
