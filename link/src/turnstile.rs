//! Where calls that were passed on ahead of time can still be taken back.
//!
//! A server that gives an executable its next calls while it works on one saves a wake-up per call.
//! What it gave and what has begun must stay two things: of an executable that dies, exactly the
//! calls that had not begun may run elsewhere; of one that takes long, those behind may be wanted
//! back. So both look at one word of shared memory: the executable passes through it before each
//! call, the server shuts it and learns at once how many went through.

use std::sync::atomic::{AtomicU64, Ordering};

/// Set while nobody may pass.
const SHUT: u64 = 1 << 63;

/// One word: whether it is shut, and how many calls have begun, modulo 2³².
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Turnstile(AtomicU64);

impl Turnstile {
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
mod tests {
    use super::*;

    #[test]
    fn counts_who_passes_and_holds_back_the_rest() {
        let turnstile = Turnstile::default();
        assert!(turnstile.pass() && turnstile.pass());
        assert_eq!(turnstile.shut(), 2);
        assert!(turnstile.is_shut() && !turnstile.pass());
        assert_eq!(turnstile.shut(), 2);
        turnstile.open();
        assert!(turnstile.pass());
        assert_eq!(turnstile.shut(), 3);
    }

    #[test]
    fn the_count_wraps_beside_the_flag() {
        let turnstile = Turnstile(AtomicU64::new(u64::from(u32::MAX)));
        assert!(turnstile.pass());
        assert_eq!(turnstile.shut(), 0);
    }

    #[test]
    fn nobody_passes_unseen() {
        let turnstile = Turnstile::default();
        std::thread::scope(|scope| {
            let passing = scope.spawn(|| (0..1_000_000).take_while(|_| turnstile.pass()).count());
            std::thread::yield_now();
            let seen = turnstile.shut();
            assert_eq!(passing.join().unwrap() as u32, seen);
        });
    }
}
