//! What a hostile or broken peer may send, and how the link refuses it. Each case says what is
//! hostile about it.

use std::io::IoSlice;
use std::os::fd::AsFd;

use farcall_base::{Error, ErrorKind, Random, SeededRandom};
use farcall_link::compression::Compression;
use farcall_link::stream::ByteStream;
use farcall_link::{Link, Received};
use farcall_wire::{CompressedHead, Flags, FrameHeader, FrameKind, PREFACE};

use crate::recorder::{CONTROL_BYTES_MAX, DATA_BYTES_MAX, Recorder, header, link};
use crate::rig::{Progress, Rig, pattern};

/// Preface and Hello: what everything below comes behind.
fn greeting() -> Vec<u8> {
    let mut bytes = PREFACE.to_vec();
    bytes.extend(header(FrameKind::Hello, 0, 0, 0).encode());
    bytes
}

/// Receives until the link refuses something.
fn refusal(rig: &mut Rig, link: &mut Link, recorder: &mut Recorder) -> Error {
    let mut refused = None;
    rig.until("refuse", || match link.receive(recorder, 1 << 20) {
        Ok(Received::Closed) => panic!("the stream ended in order"),
        Ok(Received::More) => Progress::Moved,
        Ok(Received::Blocked) => Progress::Nothing,
        Err(error) => {
            refused = Some(error);
            Progress::Done
        }
    });
    refused.expect("until returns when it is refused")
}

/// What a link says to these bytes; the sender stays.
fn refusal_of(rig: &mut Rig, bytes: &[u8]) -> Error {
    let (mut one, other) = rig.pair();
    rig.send_all(&mut *one, bytes);
    refusal(rig, &mut link(other), &mut Recorder::default())
}

/// Another protocol: answered at once, and with words that lead to the mistake.
pub fn a_stranger_is_refused(rig: &mut Rig) {
    for stranger in ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "F\0RCALL\x01"]
    {
        let error = refusal_of(rig, stranger.as_bytes());
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.to_string().contains("does not speak Farcall"), "{error}");
    }
    // Refused after the first wrong byte: a peer that sends no more must not hold the connection
    // open.
    assert!(refusal_of(rig, b"G").to_string().contains("\"G\""));
}

/// Another version of the wire: both versions are named.
pub fn another_version_is_refused(rig: &mut Rig) {
    let error = refusal_of(rig, b"FARCALL\x02");
    assert_eq!(error.kind(), ErrorKind::Version);
    assert!(
        error.message().contains("version 2") && error.message().contains("version 1"),
        "{error}"
    );
}

/// Lengths beyond the limits: refused by the header alone, before a byte of the body is waited or
/// made room for.
pub fn oversized_frames_are_refused(rig: &mut Rig) {
    let cases = [
        ("a control frame one byte too long", FrameKind::Request, CONTROL_BYTES_MAX + 1),
        ("a control frame of 4 GiB", FrameKind::Open, u32::MAX),
        ("a data frame one byte too long", FrameKind::Data, DATA_BYTES_MAX + 1),
        ("a data frame whose padded length overflows 32 bits", FrameKind::Data, u32::MAX),
    ];
    for (what, kind, length) in cases {
        let mut bytes = greeting();
        bytes.extend(FrameHeader { length, ..header(kind, 1, 0, 0) }.encode());
        let error = refusal_of(rig, &bytes);
        assert_eq!(error.kind(), ErrorKind::Protocol, "{what}: {error}");
        assert!(error.to_string().contains("limit"), "{what}: {error}");
    }
}

/// Compressed frames whose head or body lies: refused by the head alone, with the argument's slot.
pub fn compressed_frames_that_lie_are_refused(rig: &mut Rig) {
    let head = |bytes: u32| CompressedHead { bytes, width: 8 }.encode().to_vec();
    let cases = [
        ("no room for a head", 8, head(100), "ends inside its header"),
        ("no body at all", 0, Vec::new(), "ends inside its header"),
        ("a bomb: 4 GiB in 20 bytes", 20, head(u32::MAX), "more bytes than a frame may have"),
        (
            "a byte beyond the limit",
            20,
            head(DATA_BYTES_MAX + 1),
            "more bytes than a frame may have",
        ),
        ("longer than what it stands for", 200, head(100), "not shorter"),
        ("a block of rubbish", 20, [head(4000), vec![0xf0; 12]].concat(), "damaged"),
    ];
    for (what, length, body, words) in cases {
        let mut bytes = greeting();
        let head =
            FrameHeader { length, flags: Flags::COMPRESSED, ..header(FrameKind::Data, 1, 3, 0) };
        bytes.extend(head.encode());
        bytes.extend(body);
        for agreed in [true, false] {
            let (mut one, other) = rig.pair();
            rig.send_all(&mut *one, &bytes);
            let mut other = link(other);
            if agreed {
                other.compress(Compression::Auto);
            }
            let error = refusal(rig, &mut other, &mut Recorder::default());
            let words = if agreed { words } else { "without the feature" };
            assert_eq!(error.kind(), ErrorKind::Protocol, "{what}: {error}");
            assert!(
                error.to_string().contains(words) && error.to_string().contains("slot: 3"),
                "{what}: {error}"
            );
        }
    }
}

/// A frame of a later version that must not be skipped.
pub fn unknown_critical_frames_are_refused(rig: &mut Rig) {
    let mut bytes = greeting();
    bytes.extend(
        FrameHeader { kind: 200, flags: Flags::CRITICAL, ..header(FrameKind::Ping, 0, 0, 0) }
            .encode(),
    );
    let error = refusal_of(rig, &bytes);
    assert_eq!(error.kind(), ErrorKind::Version);
    assert!(error.message().contains("200"), "{error}");
}

/// A stream that ends anywhere but between two frames has lost something.
pub fn a_truncated_frame_is_a_lost_connection(rig: &mut Rig) {
    let frame = |kind: u8, length: u32, bytes: usize| {
        let mut frame = greeting();
        frame.extend(FrameHeader { kind, length, ..header(FrameKind::Ping, 1, 0, 0) }.encode());
        frame.resize(frame.len() + bytes, 0);
        frame
    };
    let cases = [
        ("within the preface", PREFACE[..5].to_vec()),
        ("within a header", greeting()[..8 + 10].to_vec()),
        ("within a control body", frame(FrameKind::Request as u8, 100, 50)),
        ("before a control body's padding", frame(FrameKind::Request as u8, 100, 100)),
        ("within data", frame(FrameKind::Data as u8, 5000, 4999)),
        ("before data's padding", frame(FrameKind::Data as u8, 5001, 5001)),
        ("within a frame that is being skipped", frame(200, 5000, 4000)),
    ];
    for (what, bytes) in cases {
        let (mut one, other) = rig.pair();
        rig.send_all(&mut *one, &bytes);
        drop(one);
        let mut other = link(other);
        let error = refusal(rig, &mut other, &mut Recorder::default());
        assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{what}: {error}");
    }
    // The same bytes with nothing missing end in order, so it is the truncation that is refused.
    let (mut one, other) = rig.pair();
    rig.send_all(&mut *one, &frame(200, 5000, 5000));
    drop(one);
    let mut other = link(other);
    rig.until("an orderly end", || {
        match other.receive(&mut Recorder::default(), 1 << 20).unwrap() {
            Received::Closed => Progress::Done,
            Received::More => Progress::Moved,
            Received::Blocked => Progress::Nothing,
        }
    });
}

/// Descriptors that no frame asks for would fill this process's table.
pub fn stray_descriptors_are_refused(rig: &mut Rig) {
    let (mut one, other) = rig.pair();
    if !one.passes_descriptors() {
        return;
    }
    rig.send_all(&mut *one, &greeting());
    let open_before = open_descriptors();
    let (reader, writer) = std::io::pipe().unwrap();
    let ping = header(FrameKind::Ping, 0, 0, 0).encode();
    for _ in 0..5 {
        one.send(&[IoSlice::new(&ping)], &[reader.as_fd(); 16]).unwrap();
    }
    let mut receiving = link(other);
    let error = refusal(rig, &mut receiving, &mut Recorder::default());
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert!(error.message().contains("descriptors"), "{error}");
    drop((receiving, reader, writer));
    // Other tests run beside this one, so the count is only near; 80 would have leaked.
    assert!(open_descriptors() < open_before + 40, "refused descriptors are closed");
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Random bytes, and good streams with a few bytes changed: any refusal will do, a panic or a hang
/// will not.
pub fn hostile_bytes_never_panic(rig: &mut Rig) {
    let mut random = SeededRandom::new(0xfa7c);
    for round in 0..300 {
        let mut bytes = if round % 3 == 0 { Vec::new() } else { good_stream(&mut random) };
        if bytes.is_empty() {
            bytes = greeting();
            bytes.extend(pattern((random.next() % 3000) as usize, round));
        }
        for _ in 0..random.next() % 4 {
            let at = (random.next() % bytes.len() as u64) as usize;
            bytes[at] ^= 1 << (random.next() % 8);
        }
        let (one, other) = rig.pair();
        survive(rig, one, &mut link(other), &bytes);
    }
}

fn good_stream(random: &mut SeededRandom) -> Vec<u8> {
    let mut bytes = greeting();
    for _ in 0..random.next() % 8 {
        let kind = FrameKind::from_code(1 + (random.next() % 15) as u8).unwrap();
        let length = (random.next() % 3000) as u32;
        let head = FrameHeader { length, ..header(kind, (random.next() % 4) as u32, 0, 0) };
        bytes.extend(head.encode());
        bytes.resize(bytes.len() + head.padded_length(), 0x5a);
    }
    bytes
}

fn survive(rig: &mut Rig, mut from: Box<dyn ByteStream>, to: &mut Link, bytes: &[u8]) {
    rig.send_all(&mut *from, bytes);
    drop(from);
    let mut recorder = Recorder::default();
    rig.until("end or refusal", || match to.receive(&mut recorder, 1 << 20) {
        Ok(Received::Closed) | Err(_) => Progress::Done,
        Ok(Received::More) => Progress::Moved,
        Ok(Received::Blocked) => Progress::Nothing,
    });
}
