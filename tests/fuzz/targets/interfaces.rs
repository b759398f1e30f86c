//! Interfaces and modules as they travel, and what is done with them.
#![no_main]

use farcall_base::SeededRandom;
use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../../protocol/idl/tests/judge.rs"]
mod judge;

fuzz_target!(|input: &[u8]| {
    judge::interface(&mut SeededRandom::new(input.len() as u64), input);
    judge::module(input);
});
