//! The quick encoder and decoder against the general ones.

#![allow(clippy::unwrap_used)]

use farcall_base::{Random, SeededRandom};

use super::*;
use crate::message::encode;
use crate::placement::{grant_attribute, grant_of};

fn number(random: &mut SeededRandom) -> u64 {
    random.next() >> (random.next() % 64)
}

fn argument(random: &mut SeededRandom) -> Argument {
    match random.next() % 10 {
        0 => Argument::Absent,
        1 => Argument::Null,
        2 => Argument::Blocks(None),
        3 => Argument::Blocks(Some(number(random))),
        4 if random.next().is_multiple_of(8) => Argument::Shared(7, number(random), number(random)),
        5 if random.next().is_multiple_of(8) => Argument::Url("file:/tmp/x".to_owned()),
        _ => {
            let length = number(random) % 300;
            Argument::Inline((0..length).map(|_| random.next() as u8).collect())
        }
    }
}

fn arguments(random: &mut SeededRandom) -> Vec<Argument> {
    let count = number(random) % 30;
    (0..count).map(|_| argument(random)).collect()
}

fn open(random: &mut SeededRandom) -> Open {
    let half = |random: &mut SeededRandom| random.next().is_multiple_of(2);
    Open {
        call: CallId(random.bytes16()),
        routine: "m/ü".repeat((number(random) % 60) as usize),
        contract: [random.next() as u8; 32],
        arguments: arguments(random),
        wanted: half(random).then(|| arguments(random)),
        remaining_us: half(random).then(|| number(random)),
        result_credit: random.next().is_multiple_of(9).then(|| number(random)),
        parent: None,
        principal: None,
        trace: random.next().is_multiple_of(9).then(|| "00-1".to_owned()),
        attributes: random.next().is_multiple_of(4).then(|| vec![attribute(random)]),
    }
}

/// Mostly the one that is read and written in one pass, and others that look like it.
fn attribute(random: &mut SeededRandom) -> Attribute {
    let mut attribute = grant_attribute(number(random));
    match random.next() % 8 {
        0 => attribute.critical = true,
        1 => attribute.name = "other".to_owned(),
        2 => attribute.value = vec![1; (number(random) % 40) as usize],
        _ => {}
    }
    attribute
}

fn result(random: &mut SeededRandom) -> CallResult {
    let processor_ns = random.next().is_multiple_of(2).then(|| number(random));
    let [queued_ns, started_ns, finished_ns] = [(); 3].map(|()| number(random));
    let times = CallTimes { queued_ns, started_ns, finished_ns, processor_ns };
    CallResult { failure: None, results: arguments(random), times, attributes: None }
}

#[test]
fn they_write_and_read_what_the_general_ones_do() {
    let mut random = SeededRandom::new(22);
    for _ in 0..3000 {
        let open = open(&mut random);
        let result = result(&mut random);
        let written = encode_open(vec![9; 7], &open);
        let answered = encode_result(vec![9; 7], &result);
        assert!(written == encode(&open), "{open:?}");
        assert!(answered == encode(&result), "{result:?}");
        assert_eq!(decode_open(&written).unwrap(), open);
        assert_eq!(decode_result(&answered).unwrap(), result);
    }
}

#[test]
fn an_open_that_is_written_piece_by_piece_is_the_same() {
    let mut random = SeededRandom::new(24);
    for _ in 0..1000 {
        let plain = |one: &Argument| matches!(one, Argument::Absent | Argument::Inline(_));
        let mut open = Open { wanted: None, trace: None, ..open(&mut random) };
        open.result_credit = None;
        open.arguments.retain(plain);
        open.attributes = open.attributes.map(|_| vec![grant_attribute(number(&mut random))]);
        let extras = OpenExtras {
            remaining_us: open.remaining_us,
            grant: grant_of(open.attributes.as_deref()).unwrap(),
        };
        let head = OpenHead::new(&open.routine, &open.contract, open.arguments.len());
        let mut out = head.begin(vec![9; 7], open.call, &extras);
        for argument in &open.arguments {
            match argument {
                Argument::Inline(value) => out.inline(value),
                _ => out.absent(),
            }
        }
        assert!(out.finish(&extras) == encode(&open), "{open:?}");
    }
}

/// Whatever the quick readers take, the general ones take as the same.
#[test]
fn what_is_damaged_is_read_alike() {
    let mut random = SeededRandom::new(23);
    for _ in 0..20_000 {
        let mut written = encode(&open(&mut random));
        let mut answered = encode(&result(&mut random));
        for bytes in [&mut written, &mut answered] {
            let at = random.next() as usize % bytes.len();
            bytes[at] ^= 1 << (random.next() % 8);
            if random.next().is_multiple_of(4) {
                bytes.truncate(at);
            }
        }
        if let Some(open) = (Reader { rest: &written }).open() {
            assert_eq!(decode::<Open>("Open", &written).unwrap(), open);
        }
        // One that was used before.
        let mut result = result(&mut random);
        if (Reader { rest: &answered }).result(&mut result).is_some() {
            assert_eq!(decode::<CallResult>("Result", &answered).unwrap(), result);
        }
    }
}
