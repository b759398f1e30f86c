//! What is written is read back, whole and unchanged (spec/wire.md, sections 3 and 4).

use farcall_base::{ChannelId, Error, ErrorKind};
use farcall_wire::*;

use crate::body::Body;
use crate::random::Draw;

#[test]
fn random_messages_of_every_kind() {
    for seed in 0..4000 {
        let body = Draw::new(seed).body();
        let bytes = body.encode();
        assert_eq!(Body::decode(body.kind(), &bytes).unwrap(), body, "seed {seed}");
    }
}

/// One message has one encoding: vectors and hashes rely on it.
#[test]
fn encoding_what_was_decoded_gives_the_same_bytes() {
    for seed in 0..1000 {
        let body = Draw::new(seed).body();
        let bytes = body.encode();
        assert_eq!(Body::decode(body.kind(), &bytes).unwrap().encode(), bytes, "seed {seed}");
    }
}

#[test]
fn random_headers() {
    let mut draw = Draw::new(3);
    for _ in 0..2000 {
        let bytes: [u8; HEADER_BYTES] = std::array::from_fn(|_| draw.below(256) as u8);
        let header = FrameHeader::decode(&bytes);
        assert_eq!(header.encode(), bytes, "any 16 bytes are a header, and no bit of it is lost");
    }
}

/// Section 3: fields are little-endian whatever the machine.
#[test]
fn header_bytes_as_in_the_specification() {
    let header = FrameHeader {
        kind: 8,
        flags: Flags::END,
        slot: 0x0102,
        channel: ChannelId(0x0304_0506),
        sequence: 0x0708_090a,
        length: 0x0b0c_0d0e,
    };
    let expected = [8, 1, 2, 1, 6, 5, 4, 3, 0x0a, 9, 8, 7, 0x0e, 0x0d, 0x0c, 0x0b];
    assert_eq!(header.encode(), expected);
}

#[test]
fn padding_fills_to_eight() {
    assert_eq!([0, 1, 7, 8, 9].map(padding), [0, 7, 1, 0, 7]);
    assert_eq!(padding(u32::MAX), 1);
}

#[test]
fn kinds_are_numbered_from_one_without_holes() {
    for code in 0..=255 {
        match FrameKind::from_code(code) {
            Some(kind) => assert_eq!(kind as u8, code),
            None => assert!(code == 0 || code > FrameKind::Resume as u8, "kind {code} is missing"),
        }
    }
}

/// An error keeps everything but its source on its way through the wire.
#[test]
fn errors_travel_whole() {
    for kind in ErrorKind::ALL {
        let sent = Error::new(kind, "call", "it did not work")
            .with("routine", "lapack/dgesv")
            .fix("try again")
            .retryable();
        let failure = Failure::from(&sent);
        let Body::Goodbye(Goodbye { failure: Some(failure) }) = Body::decode(
            FrameKind::Goodbye,
            &Body::Goodbye(Goodbye { failure: Some(failure) }).encode(),
        )
        .unwrap() else {
            panic!("no failure came back")
        };
        let came = Error::from(failure);
        assert_eq!(came.to_string(), sent.to_string());
        assert_eq!((came.kind(), came.is_retryable()), (kind, true));
    }
}

/// Section 10: a kind of a later version must not be mistaken for one of ours.
#[test]
fn an_unknown_error_kind_is_internal() {
    let mut failure = Failure::from(&Error::new(ErrorKind::System, "x", "y"));
    failure.kind = 999;
    assert_eq!(Error::from(failure).kind(), ErrorKind::Internal);
}
