//! Models find what they are there to find, and raise no false alarm.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use farcall_base::Word;

use super::*;

/// Each of two threads sets its word and looks at the other's: one of them sees the other.
fn two_that_look_at_each_other<S: Strength>() {
    explore(|| {
        let words = Arc::new((Word64::<S>::default(), Word64::<S>::default()));
        let same = words.clone();
        let other = spawn(move || {
            same.0.store(1, SeqCst);
            same.1.load(SeqCst)
        });
        words.1.store(1, SeqCst);
        let seen = words.0.load(SeqCst);
        assert_eq!(seen.max(other.join().unwrap_or_default()), 1, "neither saw the other");
    });
}

/// A thread that sees the word sees the byte that was written before.
fn a_byte_behind_a_word<S: Strength>() {
    explore(|| {
        let shared = Arc::new((Cell::new(0_u8), Word32::<S>::default()));
        let same = shared.clone();
        spawn(move || {
            same.0.set(7);
            same.1.store(1, SeqCst);
        });
        if shared.1.load(SeqCst) == 1 {
            assert_eq!(shared.0.get(), 7);
        }
    });
}

#[test]
fn sequential_consistency_is_kept() {
    two_that_look_at_each_other::<AsAsked>();
    a_byte_behind_a_word::<AsAsked>();
}

#[test]
fn release_and_acquire_order_bytes() {
    a_byte_behind_a_word::<Acquiring>();
}

#[test]
#[should_panic(expected = "neither saw the other")]
fn release_and_acquire_do_not_order_a_store_before_a_load() {
    two_that_look_at_each_other::<Acquiring>();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn relaxed_words_order_nothing() {
    a_byte_behind_a_word::<Relaxed>();
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_bell_that_nobody_strikes_is_noticed() {
    explore(|| Bell::default().wait());
}
