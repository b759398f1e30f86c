//! Platform files (spec/platform.md).
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../../protocol/platform/tests/platform/judge.rs"]
mod judge;

fuzz_target!(|input: &[u8]| {
    judge::text(&String::from_utf8_lossy(input), &String::new);
});
