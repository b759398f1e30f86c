//! Sizes that no machine has.

use farcall_base::ErrorKind;
use farcall_tests::{Raw, Server, failure_of};
use farcall_wire::{Argument, FrameKind, InterfaceReply};

use crate::{abandon, interface, long, open};

/// Sends calls of such sizes; returns a connection that still lives.
pub fn are_refused(server: &Server, mut raw: Raw, reply: &InterfaceReply) -> Raw {
    // Sizes whose bytes exceed 64 bits, or any machine: refused before anything is allocated.
    for n in [i64::MAX, i64::MAX / 8, 1 << 50] {
        raw.message(
            FrameKind::Open,
            1,
            &open(reply, vec![long(n), Argument::Blocks(Some((n as u64).wrapping_mul(8)))]),
        );
        match raw.frame() {
            Some((header, body)) if header.kind == FrameKind::Result as u8 => {
                let error = failure_of(&body);
                let fits = matches!(error.kind(), ErrorKind::LimitExceeded | ErrorKind::InvalidArgument);
                assert!(fits, "n = {n}: {error}");
                abandon(&mut raw, &open(reply, vec![Argument::Blocks(Some(0))]));
            }
            // A sum of arrays over the limit that the server announced is against the rules of the wire.
            Some((header, _)) => {
                assert_eq!(header.kind, FrameKind::Goodbye as u8);
                raw = Raw::greeted(server);
                interface(&mut raw, "touch");
            }
            None => panic!("closed without a word"),
        }
    }
    raw
}
