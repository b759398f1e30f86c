//! Memory of messages that have left or were read, for the next ones.

use farcall_wire::CallResult;

/// Bodies whose memory is kept, and bytes of one.
const BODIES_MAX: usize = 8;
const BODY_BYTES_MAX: usize = 4096;
/// Results that the one has room for which is kept, at most.
const RESULTS_MAX: usize = 64;

/// What is kept.
#[derive(Default)]
pub(super) struct Spare {
    bodies: Vec<Vec<u8>>,
    result: Option<Box<CallResult>>,
}

impl Spare {
    pub(super) fn take_body(&mut self) -> Vec<u8> {
        self.bodies.pop().unwrap_or_default()
    }

    pub(super) fn keep_body(&mut self, body: Vec<u8>) {
        if self.bodies.len() < BODIES_MAX && (1..=BODY_BYTES_MAX).contains(&body.capacity()) {
            self.bodies.push(body);
        }
    }

    pub(super) fn take_result(&mut self) -> Box<CallResult> {
        self.result.take().unwrap_or_default()
    }

    #[inline]
    pub(super) fn keep_result(&mut self, mut result: Box<CallResult>) {
        result.results.clear();
        if result.results.capacity() <= RESULTS_MAX {
            self.result = Some(result);
        }
    }
}
