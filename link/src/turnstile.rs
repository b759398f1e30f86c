//! Where calls that were passed on ahead of time can still be taken back.
//!
//! A server that gives an executable its next calls while it works on one saves a wake-up per call.
//! What it gave and what has begun must stay two things: of an executable that dies, exactly the
//! calls that had not begun may run elsewhere; of one that takes long, those behind may be wanted
//! back. So both look at one word of shared memory: the executable passes through it before each
//! call, the server shuts it and learns at once how many went through.

use std::sync::atomic::{AtomicU64, Ordering};

use farcall_base::Word;

/// Set while nobody may pass.
const SHUT: u64 = 1 << 63;

/// One word: whether it is shut, and how many calls have begun, modulo 2³².
///
/// What an end did before it passed, shut or opened is seen by the other that finds it so: a call
/// that began is behind the ones before it, and one that passes an open turnstile is behind what
/// the server did while it was shut.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Turnstile<W = AtomicU64>(W);

impl<W: Word<u64>> Turnstile<W> {
    /// A call begins; false when it must not.
    pub fn pass(&self) -> bool {
        let next = |word: u64| (word & SHUT == 0).then_some((word + 1) & u64::from(u32::MAX));
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next).is_ok()
    }

    /// No further call begins; returns how many have.
    pub fn shut(&self) -> u32 {
        self.0.fetch_or(SHUT, Ordering::SeqCst) as u32
    }

    /// Calls may begin again.
    pub fn open(&self) {
        self.0.fetch_and(!SHUT, Ordering::SeqCst);
    }

    /// Whether no call may begin.
    pub fn is_shut(&self) -> bool {
        self.0.load(Ordering::SeqCst) & SHUT != 0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
