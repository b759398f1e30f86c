//! Bodies of messages: the first byte is the frame's kind (spec/wire.md).
#![no_main]

use farcall_wire::FrameKind;
use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../../protocol/wire/tests/wire/body.rs"]
mod body;

fuzz_target!(|input: &[u8]| {
    let Some((code, bytes)) = input.split_first() else { return };
    if let Some(kind) = FrameKind::from_code(1 + code % 15) {
        body::judge(kind, bytes, &String::new);
    }
});
