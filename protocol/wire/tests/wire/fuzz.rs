//! Fixed-seed fuzz: hostile bytes give frames or errors, never a panic or a request for more than
//! the limits.

use farcall_golden::fuzz_rounds;
use farcall_wire::message::{CONTROL_BYTES_MAX, HELLO_BYTES_MAX};
use farcall_wire::*;

use crate::body::{judge, read_all};
use crate::random::Draw;
use crate::tickets;

/// A mutation of valid bytes: flipped, removed, repeated, overwritten by what length fields like.
fn mutate(draw: &mut Draw, bytes: &mut Vec<u8>) {
    for _ in 0..=draw.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = draw.below(bytes.len() as u64) as usize;
        match draw.below(5) {
            0 => bytes[at] ^= 1 << draw.below(8),
            1 => {
                bytes[at] =
                    [0x00, 0x1b, 0x5f, 0x9f, 0xbf, 0xff, 0x9b, 0x5b, 0xf6][draw.below(9) as usize]
            }
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..(at + 8).min(bytes.len()))),
            _ => bytes.extend_from_within(at..),
        }
    }
}

#[test]
fn mutated_messages() {
    let mut accepted = 0;
    for seed in 0..fuzz_rounds(40_000) {
        let mut draw = Draw::new(seed);
        let body = draw.body();
        let mut bytes = body.encode();
        mutate(&mut draw, &mut bytes);
        accepted += u64::from(judge(body.kind(), &bytes, &|| format!("seed {seed}")));
    }
    // Were nearly all refused, or none, the mutations would prove little.
    let rounds = fuzz_rounds(40_000);
    assert!((rounds / 10..rounds / 10 * 9).contains(&accepted), "{accepted} accepted");
}

#[test]
fn random_bytes_as_messages() {
    for seed in 0..fuzz_rounds(40_000) {
        let mut draw = Draw::new(seed);
        let bytes = draw.bytes(60);
        for code in 1..=15 {
            judge(FrameKind::from_code(code).unwrap(), &bytes, &|| format!("seed {seed}"));
        }
    }
}

#[test]
fn mutated_streams() {
    for seed in 0..fuzz_rounds(4_000) {
        let mut draw = Draw::new(seed);
        let mut bytes = PREFACE.to_vec();
        bytes.extend(draw.body_of(FrameKind::Hello).frame(0));
        for _ in 0..10 {
            bytes.extend(draw.body().frame(1));
        }
        mutate(&mut draw, &mut bytes);
        let _ = read_all(&bytes);
    }
}

/// The reader names how much its owner must buffer; a stranger must not be able to name a large
/// number.
#[test]
fn wants_are_bounded() {
    for seed in 0..fuzz_rounds(40_000) {
        let mut draw = Draw::new(seed);
        let greeted = seed % 2 == 0;
        let mut reader = FrameReader::new(CONTROL_BYTES_MAX, 4 << 20);
        let mut bytes = PREFACE.to_vec();
        if greeted {
            bytes.extend(draw.body_of(FrameKind::Hello).frame(0));
        }
        let mut header = draw.bytes(HEADER_BYTES as u64 + 1);
        header.resize(HEADER_BYTES, 0);
        header[0] %= 20;
        // Lengths of every magnitude.
        header[12..16].copy_from_slice(&draw.number32().to_le_bytes());
        bytes.extend(header);
        let limit =
            if greeted { CONTROL_BYTES_MAX } else { HELLO_BYTES_MAX } as usize + HEADER_BYTES + 7;
        let mut at = 0;
        while let Ok(step) = reader.step(&bytes[at..]) {
            match step {
                Step::Need { wanted, .. } => {
                    assert!(wanted <= limit, "seed {seed}: wants {wanted} bytes");
                    break;
                }
                Step::Control { consumed, .. } => at += consumed,
                Step::Data { left, .. } => {
                    assert!(left <= 4 << 20, "seed {seed}");
                    break;
                }
            }
        }
    }
}

/// No ticket but the one that was made is good, whatever is done to it on its way.
#[test]
fn tickets_and_their_keys() {
    let rounds = fuzz_rounds(10_000);
    let mut read = [0; 3];
    for seed in 0..rounds {
        let mut draw = Draw::new(seed);
        let by = draw.bytes(12);
        read[0] += u64::from(tickets::damaged(&by));
        read[1] += u64::from(tickets::damaged_key(&by));
        read[2] += u64::from(tickets::damaged_pull(&by));
        tickets::ticket_of(draw.bytes(80));
    }
    let some = rounds / 20..rounds / 10 * 9;
    assert!(read.iter().all(|read| some.contains(read)), "{read:?} were read");
}
