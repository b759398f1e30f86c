//! Hostile and broken streams, each explained (spec/wire.md, section 11). They are also vectors.

use farcall_base::{ChannelId, ErrorKind};
use farcall_wire::message::{
    ARGUMENTS_MAX, CONTROL_BYTES_MAX, HELLO_BYTES_MAX, check_attributes, encode,
};
use farcall_wire::*;

use crate::body::{Body, frame, read_all};
use crate::samples::{hello, open};

/// A stream that must be refused.
pub struct Malformed {
    pub name: &'static str,
    /// What is hostile about it.
    pub why: &'static str,
    pub stream: Vec<u8>,
    pub error: ErrorKind,
    /// Words of the message, so that the refusal is for the right reason.
    pub says: &'static str,
}

fn header(kind: FrameKind, length: u32) -> FrameHeader {
    FrameHeader::new(kind, ChannelId(1), length)
}

fn greeted(rest: &[u8]) -> Vec<u8> {
    [&PREFACE[..], &Body::Hello(hello()).frame(0), rest].concat()
}

/// A greeted stream with one frame of this body.
fn body(
    name: &'static str,
    why: &'static str,
    kind: FrameKind,
    body: &[u8],
    says: &'static str,
) -> Malformed {
    Malformed {
        name,
        why,
        stream: greeted(&frame(header(kind, 0), body)),
        error: ErrorKind::Protocol,
        says,
    }
}

/// `message` with the first occurrence of `from` replaced.
fn patched(message: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = message
        .windows(from.len())
        .position(|window| window == from)
        .expect("the bytes to patch are there");
    [&message[..at], to, &message[at + from.len()..]].concat()
}

/// All of them, in the order of the file.
pub fn malformed() -> Vec<Malformed> {
    [streams(), shapes(), cbor(), values(), argument_forms(), unknown_forms()]
        .into_iter()
        .flatten()
        .collect()
}

fn streams() -> Vec<Malformed> {
    let stream = |name, why, stream, error, says| Malformed { name, why, stream, error, says };
    let huge = |kind, length| greeted(&header(kind, length).encode());
    let critical = FrameHeader { kind: 99, flags: Flags::CRITICAL, ..header(FrameKind::Ping, 0) };
    vec![
        stream(
            "stranger",
            "a browser, not Farcall",
            b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            ErrorKind::Protocol,
            "GET / HT",
        ),
        stream(
            "version",
            "another version of the wire",
            b"FARCALL\x02".to_vec(),
            ErrorKind::Version,
            "version 2",
        ),
        stream(
            "unknown-critical-frame",
            "a frame that must not be skipped",
            greeted(&critical.encode()),
            ErrorKind::Version,
            "kind 99",
        ),
        stream(
            "oversized-control",
            "names 4 GiB, so that the reader allocates them",
            huge(FrameKind::Open, u32::MAX),
            ErrorKind::Protocol,
            "control frame",
        ),
        stream(
            "oversized-unknown",
            "an unknown frame is no way around the limit",
            [
                greeted(&[]),
                FrameHeader { kind: 99, ..header(FrameKind::Ping, CONTROL_BYTES_MAX + 1) }
                    .encode()
                    .to_vec(),
            ]
            .concat(),
            ErrorKind::Protocol,
            "control frame",
        ),
        stream(
            "oversized-data",
            "one byte beyond the announced data frame",
            huge(FrameKind::Data, (4 << 20) + 1),
            ErrorKind::Protocol,
            "data frame",
        ),
        stream(
            "oversized-hello",
            "a stranger gets no mebibyte of buffer",
            [&PREFACE[..], &header(FrameKind::Hello, HELLO_BYTES_MAX + 1).encode()].concat(),
            ErrorKind::Protocol,
            "first frame",
        ),
        stream(
            "early-open",
            "nor does one that leaves the Hello out",
            [&PREFACE[..], &header(FrameKind::Open, HELLO_BYTES_MAX + 1).encode()].concat(),
            ErrorKind::Protocol,
            "first frame",
        ),
    ]
}

fn shapes() -> Vec<Malformed> {
    let full = encode(&Window { credit: 1 << 40, next_sequence: 3 });
    vec![
        body("empty-body", "a message of no bytes at all", FrameKind::Open, &[], "end of input"),
        body(
            "truncated",
            "the last byte is missing",
            FrameKind::Window,
            &full[..full.len() - 1],
            "end of input",
        ),
        body(
            "trailing",
            "a second message hides behind the first",
            FrameKind::Window,
            &[&full[..], &full].concat(),
            "follow its end",
        ),
        body(
            "no-map",
            "an array where a map must be",
            FrameKind::Window,
            &[0x82, 1, 2],
            "unexpected type",
        ),
        body(
            "missing-key",
            "a Window without its number",
            FrameKind::Window,
            &[0xa1, 1, 5],
            "missing value",
        ),
        body(
            "text-for-number",
            "credit is \"5\"",
            FrameKind::Window,
            &[0xa2, 1, 0x61, b'5', 2, 0],
            "unexpected type",
        ),
        body(
            "text-key",
            "keys are numbers",
            FrameKind::Window,
            &[0xa1, 0x61, b'1', 5],
            "unexpected type",
        ),
        body(
            "negative",
            "credit is -1",
            FrameKind::Window,
            &[0xa2, 1, 0x20, 2, 0],
            "unexpected type",
        ),
        body(
            "number-too-wide",
            "next_sequence is 2^32",
            FrameKind::Window,
            &[0xa2, 1, 0, 2, 0x1b, 0, 0, 0, 1, 0, 0, 0, 0],
            "overflow",
        ),
        body("unshare-a-map", "a number expected", FrameKind::Unshare, &[0xa0], "unexpected type"),
        body(
            "reserved-byte",
            "CBOR has no item 0x1c",
            FrameKind::Unshare,
            &[0x1c],
            "unexpected type",
        ),
    ]
}

fn cbor() -> Vec<Malformed> {
    let nested =
        |open: u8, depth: usize| [&[0xa1, 0x18, 99][..], &vec![open; depth], &[0]].concat();
    let with_arguments = |head: &[u8]| patched(encode(&open()), &[4, 0x80], &[&[4], head].concat());
    let promise = |head: u8| [&[head][..], &(1u64 << 62).to_be_bytes()].concat();
    vec![
        body(
            "huge-array",
            "promises 2^62 arguments: room is made for what comes, not for what is promised",
            FrameKind::Open,
            &with_arguments(&promise(0x9b)),
            "end of input",
        ),
        body(
            "huge-bytes",
            "promises 2^62 bytes of an inline argument",
            FrameKind::Open,
            &with_arguments(&[&[0x81, 0x82, 2][..], &promise(0x5b)].concat()),
            "end of input",
        ),
        body(
            "huge-text",
            "promises 2^62 letters of name",
            FrameKind::Request,
            &[&[0x82, 0][..], &promise(0x7b)].concat(),
            "end of input",
        ),
        body("huge-map", "promises 2^62 keys", FrameKind::Window, &promise(0xbb), "end of input"),
        body(
            "nested-arrays",
            "100,000 arrays in each other under an unknown key: skipping must not recurse",
            FrameKind::Window,
            &nested(0x81, 100_000),
            "missing value",
        ),
        body(
            "nested-endless",
            "the same with arrays of unknown length, and no end",
            FrameKind::Window,
            &nested(0x9f, 100_000),
            "end of input",
        ),
        body(
            "nested-tags",
            "the same with tags",
            FrameKind::Window,
            &nested(0xc1, 100_000),
            "missing value",
        ),
        body(
            "endless-map",
            "a map of unknown length without its end",
            FrameKind::Window,
            &[0xbf, 1, 5, 2, 6],
            "end of input",
        ),
    ]
}

fn values() -> Vec<Malformed> {
    let id = b"\x50" as &[u8];
    let short = patched(
        encode(&open()),
        &[id, b"0123456789abcdef"].concat(),
        &[b"\x4f", &b"0123456789abcde"[..]].concat(),
    );
    let contract = patched(
        encode(&open()),
        &[&[0x58, 32][..], &[0xc0; 32]].concat(),
        &[&[0x58, 31][..], &[0xc0; 31]].concat(),
    );
    let text = patched(encode(&open()), b"lapack", b"lap\xff\xfek");
    vec![
        body("short-call-id", "fifteen bytes", FrameKind::Open, &short, "16 bytes"),
        body(
            "short-contract",
            "thirty-one bytes of hash",
            FrameKind::Open,
            &contract,
            "length does not match",
        ),
        body("not-utf-8", "a name that is no text", FrameKind::Open, &text, "utf-8"),
    ]
}

fn argument_forms() -> Vec<Malformed> {
    let argument = |form: &[u8]| patched(encode(&open()), &[4, 0x80], &[&[4, 0x81], form].concat());
    vec![
        body(
            "unknown-argument-form",
            "form 77: a receiver that guessed would read another's memory",
            FrameKind::Open,
            &argument(&[0x81, 0x18, 77]),
            "unknown enum variant",
        ),
        body(
            "short-shared",
            "shared memory without its length",
            FrameKind::Open,
            &argument(&[0x83, 4, 1, 2]),
            "missing value",
        ),
        body(
            "empty-argument",
            "a form without its number",
            FrameKind::Open,
            &argument(&[0x80]),
            "non-empty",
        ),
    ]
}

fn unknown_forms() -> Vec<Malformed> {
    let role = patched(encode(&hello()), &[0xa7, 1, 0], &[0xa7, 1, 9]);
    let role =
        [PREFACE.to_vec(), frame(FrameHeader::new(FrameKind::Hello, ChannelId(0), 0), &role)]
            .concat();
    vec![
        body(
            "unknown-request",
            "question 24",
            FrameKind::Request,
            &[0x81, 0x18, 24],
            "unknown enum variant",
        ),
        body(
            "unknown-notice",
            "news of a form we do not know",
            FrameKind::Notice,
            &[0x81, 9],
            "unknown enum variant",
        ),
        Malformed {
            name: "unknown-role",
            why: "role 9",
            stream: role,
            error: ErrorKind::Protocol,
            says: "unknown enum variant",
        },
    ]
}

#[test]
fn every_one_is_refused_for_its_reason() {
    for malformed in malformed() {
        let error = read_all(&malformed.stream).map(|_| ()).expect_err(malformed.name);
        assert_eq!(error.kind(), malformed.error, "{}: {error}", malformed.name);
        let told = error.to_string().to_lowercase();
        assert!(told.contains(&malformed.says.to_lowercase()), "{}: {error}", malformed.name);
        assert!(error.advice().is_some(), "{}: {error} says not what to do", malformed.name);
    }
}

/// Hostile: the stranger's own bytes come back in the error, which ends up on a terminal.
#[test]
fn errors_carry_no_control_characters_of_the_peer() {
    let error = read_all(b"\x1b[31m\x07\n\n").unwrap_err().to_string();
    assert!(error.chars().all(|c| !c.is_control()), "{error:?}");
    let name = "\x1b]0;owned\x07".to_owned() + &"x".repeat(100_000);
    let attribute = Attribute { name, critical: true, value: vec![] };
    let error = check_attributes(&[attribute], &[]).unwrap_err().to_string();
    assert!(error.chars().all(|c| !c.is_control()) && error.len() < 500, "{error:?}");
}

/// Section 4: a later version may add keys, and any CBOR writer is welcome, short form or not.
#[test]
fn unusual_but_right() {
    let window = Window { credit: 5, next_sequence: 6 };
    let forms: [(&str, &[u8]); 5] = [
        (
            "an unknown key with nested values",
            &[0xa3, 1, 5, 2, 6, 0x18, 99, 0x82, 0xa1, 1, 0x9f, 1, 0xff, 0x41, 7],
        ),
        ("a map of unknown length", &[0xbf, 1, 5, 2, 6, 0xff]),
        ("numbers in eight bytes", &[0xa2, 1, 0x1b, 0, 0, 0, 0, 0, 0, 0, 5, 2, 0x1a, 0, 0, 0, 6]),
        ("keys in another order", &[0xa2, 2, 6, 1, 5]),
        ("a key in two bytes", &[0xa2, 0x18, 1, 5, 2, 6]),
    ];
    for (what, bytes) in forms {
        assert_eq!(
            Body::decode(FrameKind::Window, bytes).expect(what),
            Body::Window(window),
            "{what}"
        );
    }
}

#[test]
fn critical_attributes_are_refused_and_others_skipped() {
    let attribute = |critical| Attribute { name: "x-new".into(), critical, value: vec![] };
    check_attributes(&[attribute(false)], &[]).unwrap();
    check_attributes(&[attribute(true)], &["x-new"]).unwrap();
    let error = check_attributes(&[attribute(false), attribute(true)], &["x-old"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Version);
    assert!(error.message().contains("x-new"));
}

/// Slots are 16 bits wide: the limit must leave them room.
#[test]
fn slots_can_number_all_arguments() {
    assert!(ARGUMENTS_MAX <= usize::from(u16::MAX));
}
