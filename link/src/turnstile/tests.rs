//! Tests of the turnstile: its counts, and a model of the two ends.

use std::sync::Arc;

use farcall_model::{AsAsked, Bell, Cell, Relaxed, Strength, Word64, explore, spawn};

use super::*;

#[test]
fn counts_who_passes_and_holds_back_the_rest() {
    let turnstile: Turnstile = Turnstile::default();
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
    let turnstile: Turnstile = Turnstile::default();
    std::thread::scope(|scope| {
        let passing = scope.spawn(|| (0..1_000_000).take_while(|_| turnstile.pass()).count());
        std::thread::yield_now();
        let seen = turnstile.shut();
        assert_eq!(passing.join().unwrap() as u32, seen);
    });
}

/// What a server and its executable share: calls that were passed on, and who did something about
/// each.
struct Shared<S> {
    turnstile: Turnstile<Word64<S>>,
    bell: Bell,
    /// Unlike a number behind a lock, a cell fails when two touch it at a time.
    calls: [Cell<u8>; CALLS],
}

const CALLS: usize = 2;
const RUN: u8 = 1;
const TAKEN_BACK: u8 = 2;

impl<S> Default for Shared<S> {
    fn default() -> Self {
        Shared { turnstile: Turnstile::default(), bell: Bell::default(), calls: Default::default() }
    }
}

impl<S: Strength> Shared<S> {
    /// The executable: runs all calls that it finds no news of, and sleeps while it must not.
    fn run_all(&self) {
        for call in &self.calls {
            while !self.turnstile.pass() {
                self.bell.wait();
                self.bell.hush();
            }
            call.set(call.get() | RUN);
        }
    }

    /// The server: takes back what has not begun, and lets the executable go on.
    fn take_back(&self) {
        let begun = self.turnstile.shut() as usize;
        for call in &self.calls[begun..] {
            call.set(call.get() | TAKEN_BACK);
        }
        // All but the last that began have ended.
        for call in &self.calls[..begun.saturating_sub(1)] {
            assert_eq!(call.get(), RUN);
        }
        self.turnstile.open();
        self.bell.strike();
    }
}

/// A call has one owner at a time, each sees what the other did with it, and an executable that
/// sleeps before a shut turnstile is woken.
fn model<S: Strength>() {
    explore(|| {
        let shared = Arc::new(Shared::<S>::default());
        let same = shared.clone();
        let executable = spawn(move || same.run_all());
        shared.take_back();
        executable.join().unwrap();
        for call in &shared.calls {
            assert_eq!(call.get() & RUN, RUN);
        }
    });
}

#[test]
fn in_every_order_a_call_has_one_owner() {
    model::<AsAsked>();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn the_model_finds_a_word_without_order() {
    model::<Relaxed>();
}
