//! Fixed-seed fuzz: bytes that were not sealed do not open, and nothing panics.
#![allow(clippy::unwrap_used)]

mod judge;

use farcall_base::{Random, SeededRandom};
use farcall_golden::fuzz_rounds;

#[test]
fn fuzz_of_sealed_values() {
    let rounds = fuzz_rounds(4_000);
    let mut opened = 0;
    for seed in 0..rounds {
        let mut random = SeededRandom::new(seed);
        let mut bytes = |count: u64| -> Vec<u8> {
            let length = random.next() % count;
            (0..length).map(|_| random.next() as u8).collect()
        };
        let [value, by, noise] = [bytes(200), bytes(17), bytes(120)];
        opened += u64::from(judge::damaged(&value, &by));
        judge::made_up(&noise);
    }
    // Those that no damage was done to.
    assert!((rounds / 20..rounds / 2).contains(&opened), "{opened} opened");
}
