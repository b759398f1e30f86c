//! Bodies of compressed data frames (spec/wire.md, section 5.8).
#![no_main]

use farcall_link::compression::expanded;
use libfuzzer_sys::fuzz_target;

#[path = "../../../link/src/compression/tests/judge.rs"]
mod judge;

fuzz_target!(|input: &[u8]| {
    judge::length(input);
});
