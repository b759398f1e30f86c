//! What a connection brings: a preface, and frames (spec/wire.md).
#![no_main]

use farcall_wire::PREFACE;
use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../../protocol/wire/tests/wire/body.rs"]
mod body;

fuzz_target!(|input: &[u8]| {
    let mut stream = PREFACE.to_vec();
    stream.extend(input);
    let _ = body::read_all(&stream);
});
