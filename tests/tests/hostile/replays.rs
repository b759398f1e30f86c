//! A good conversation, of which one frame is sent again, left out or sent too early.

use farcall_base::ErrorKind;
use farcall_tests::{Raw, Transport};
use farcall_wire::{Argument, FrameHeader, FrameKind};

use crate::hostile::{header, interface, long, open, serves, start};

const PARTS: u32 = 4;
const PART: usize = 4096;

/// The frames of one call: it is opened, and its array follows in parts. A frame's number says
/// where in line it is.
fn frames(raw: &mut Raw) -> Vec<Vec<u8>> {
    let reply = interface(raw, "touch");
    let bytes = u64::from(PARTS) * PART as u64;
    let call = open(&reply, vec![long((bytes / 8) as i64), Argument::Blocks(Some(bytes))]);
    let data = |number: u32| {
        let flags =
            if number == PARTS { farcall_wire::Flags::END } else { farcall_wire::Flags::default() };
        let header = FrameHeader {
            slot: 1,
            sequence: number,
            flags,
            ..header(FrameKind::Data, 1, PART as u32)
        };
        Raw::framed(header, &[0; PART])
    };
    std::iter::once(Raw::encoded(FrameKind::Open, 1, &call)).chain((1..=PARTS).map(data)).collect()
}

/// Whether the server ends the connection with a reason, a breach of the protocol.
fn is_refused(mut raw: Raw, case: &str) {
    let error = raw.goodbye().unwrap_or_else(|| panic!("{case}: closed without a reason"));
    assert_eq!(error.kind(), ErrorKind::Protocol, "{case}: {error}");
    assert!(error.message().len() > 10, "{case}: it says what was wrong: {error}");
}

pub fn of_every_frame_are_refused(transport: Transport) {
    let server = start(transport);
    // As it should be, so that the rest fails for the right reason.
    let mut raw = Raw::greeted(&server);
    frames(&mut raw).iter().for_each(|frame| raw.send(frame));
    raw.expect(FrameKind::Result);
    let bystander = server.client();
    for place in 0..=PARTS as usize {
        // Twice, at once; the last of them ends the array, and what comes after it belongs to
        // nothing.
        let mut raw = Raw::greeted(&server);
        let mut again = frames(&mut raw);
        again.insert(place, again[place].clone());
        again.iter().for_each(|frame| raw.send(frame));
        is_refused(raw, &format!("frame {place} sent twice"));
        if place < PARTS as usize {
            let mut raw = Raw::greeted(&server);
            let mut swapped = frames(&mut raw);
            swapped.swap(place, place + 1);
            swapped.iter().for_each(|frame| raw.send(frame));
            is_refused(raw, &format!("frames {place} and {} swapped", place + 1));
            let mut raw = Raw::greeted(&server);
            let mut torn = frames(&mut raw);
            torn.remove(place);
            torn.iter().for_each(|frame| raw.send(frame));
            is_refused(raw, &format!("frame {place} left out"));
        }
        // Others notice nothing.
        bystander.routine("touch").unwrap();
    }
    let mut raw = Raw::greeted(&server);
    let recorded = frames(&mut raw);
    recorded.iter().for_each(|frame| raw.send(frame));
    recorded[1..].iter().for_each(|frame| raw.send(frame));
    is_refused(raw, "the array of a call sent again");
    serves(&server);
}

#[test]
fn unix() {
    of_every_frame_are_refused(Transport::Unix);
}

#[test]
fn tcp() {
    of_every_frame_are_refused(Transport::Tcp);
}

#[test]
fn tls() {
    of_every_frame_are_refused(Transport::Tls);
}
