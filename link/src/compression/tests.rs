//! Frames there and back, and bodies that lie.

#![allow(clippy::unwrap_used)]

use farcall_base::{Random, SeededRandom};

use super::expansion::expanded;
use super::*;

mod judge;

use judge::back;

/// A slow curve: neighbours differ in their low digits.
fn curve(count: usize) -> Vec<u8> {
    (0..count).flat_map(|index| (index as f64 * 1e-3).sin().to_le_bytes()).collect()
}

fn random(count: usize, seed: u64) -> Vec<u8> {
    let mut random = SeededRandom::new(seed);
    (0..count).map(|_| random.next() as u8).collect()
}

#[test]
fn every_width_comes_back() {
    for width in [1, 2, 3, 4, 8, 12, 16, 24, 255] {
        for bytes in [vec![7; 4096], vec![7; 4099], curve(5000)] {
            // A width that does not fit leaves a curve as long as it was.
            let Some(body) = compressed(&bytes, width) else { continue };
            assert_eq!(back(&body).unwrap(), bytes, "width {width}");
        }
    }
}

#[test]
fn what_does_not_shrink_is_left_alone() {
    assert_eq!(compressed(&random(100_000, 1), 8), None);
    assert_eq!(compressed(&[], 1), None);
    assert_eq!(compressed(&[1, 2, 3], 8), None);
}

#[test]
fn the_width_follows_the_bytes() {
    assert_eq!(best_width(&curve(10_000), 8).0, 8);
    let mut sparse = vec![0; 40_000];
    sparse.iter_mut().step_by(400).for_each(|byte| *byte = 1);
    sparse.iter_mut().skip(401).step_by(800).for_each(|byte| *byte = 200);
    assert_eq!(best_width(&sparse, 4).0, 1);
    assert_eq!(best_width(&curve(10_000), 1).0, 1);
}

#[test]
fn damaged_bodies_are_refused_with_the_argument() {
    let bytes = curve(4000);
    let good = compressed(&bytes, 8).unwrap();
    let with = |change: fn(&mut Vec<u8>)| {
        let mut body = good.clone();
        change(&mut body);
        back(&body).unwrap_err().to_string()
    };
    let cases: [(&str, String); 8] = [
        ("its last byte is missing", with(|body| body.truncate(body.len() - 1))),
        ("a byte follows it", with(|body| body.push(0))),
        ("it gives more than its head says", with(|body| body[1] -= 1)),
        ("it gives less than its head says", with(|body| body[1] += 1)),
        ("a bomb of 4 GiB", with(|body| body[..4].fill(255))),
        ("a method of a later version", with(|body| body[4] = 2)),
        ("elements of no bytes", with(|body| body[5] = 0)),
        ("reserved bytes that mean something to somebody", with(|body| body[7] = 1)),
    ];
    for (what, error) in cases {
        assert!(error.contains("slot: 3") && error.contains("compressed"), "{what}: {error}");
    }
    // No gain: whoever receives it would set aside more than it took.
    let mut longer = vec![0; 4000];
    longer[..8].copy_from_slice(&CompressedHead { bytes: 4000, width: 1 }.encode());
    assert!(back(&longer).unwrap_err().to_string().contains("not shorter"));
}

#[test]
fn fuzz_of_bodies_never_panics_nor_gives_too_much() {
    let seed = 17;
    let mut random = SeededRandom::new(seed);
    let good = compressed(&curve(2000), 8).unwrap();
    for round in 0..farcall_golden::fuzz_rounds(20_000) {
        let mut body = good.clone();
        for _ in 0..1 + random.next() % 4 {
            let at = (random.next() % body.len() as u64) as usize;
            body[at] = random.next() as u8;
        }
        body.truncate(8 + (random.next() % body.len() as u64) as usize);
        // The size stays small, so that a round is short.
        body[2..4].fill(0);
        let promised = u16::from_le_bytes([body[0], body[1]]);
        let length = judge::length(&body);
        assert!(
            length.is_none_or(|length| length == usize::from(promised)),
            "seed {seed}, round {round}"
        );
    }
}

#[test]
fn choices_are_read_as_they_are_written() {
    for mode in [Compression::Auto, Compression::Off, Compression::Always] {
        assert_eq!(mode.name().parse::<Compression>().unwrap(), mode);
    }
    assert!("on".parse::<Compression>().unwrap_err().to_string().contains("auto, off or always"));
}
