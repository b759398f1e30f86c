//! Configuration files.
#![no_main]

use farcall_kernel::Manifest;
use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../../kernel/src/manifest/tests/judge.rs"]
mod judge;

fuzz_target!(|input: &[u8]| {
    judge::text(&String::from_utf8_lossy(input), &String::new);
});
