//! A word of memory that threads or processes share, as a trait.
//!
//! The ring and the turnstile stand on the order in which such words are seen. They take the word's
//! type as a parameter: what ships uses the standard library's atomics, and tests use words whose
//! orders a model checker explores (`link/model`). It is the same code in both.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The operations of [`AtomicU64`] and [`AtomicU32`] that are used, with the same meaning. A new one
/// is 0.
pub trait Word<N>: Default {
    /// Reads.
    fn load(&self, order: Ordering) -> N;

    /// Writes.
    fn store(&self, value: N, order: Ordering);

    /// Writes, and returns what was there.
    fn swap(&self, value: N, order: Ordering) -> N;

    /// Adds, wrapping, and returns what was there.
    fn fetch_add(&self, value: N, order: Ordering) -> N;

    /// Sets bits, and returns what was there.
    fn fetch_or(&self, value: N, order: Ordering) -> N;

    /// Clears the bits that `value` does not have, and returns what was there.
    fn fetch_and(&self, value: N, order: Ordering) -> N;

    /// Writes what `next` makes of the value, unless it makes nothing; returns what was there.
    ///
    /// # Errors
    /// What is there, when `next` makes nothing of it.
    fn fetch_update(
        &self,
        set: Ordering,
        fetch: Ordering,
        next: impl FnMut(N) -> Option<N>,
    ) -> Result<N, N>;
}

/// Hands each operation to the atomic's own.
macro_rules! word {
    ($atomic:ty, $number:ty) => {
        impl Word<$number> for $atomic {
            #[inline]
            fn load(&self, order: Ordering) -> $number {
                <$atomic>::load(self, order)
            }

            #[inline]
            fn store(&self, value: $number, order: Ordering) {
                <$atomic>::store(self, value, order);
            }

            #[inline]
            fn swap(&self, value: $number, order: Ordering) -> $number {
                <$atomic>::swap(self, value, order)
            }

            #[inline]
            fn fetch_add(&self, value: $number, order: Ordering) -> $number {
                <$atomic>::fetch_add(self, value, order)
            }

            #[inline]
            fn fetch_or(&self, value: $number, order: Ordering) -> $number {
                <$atomic>::fetch_or(self, value, order)
            }

            #[inline]
            fn fetch_and(&self, value: $number, order: Ordering) -> $number {
                <$atomic>::fetch_and(self, value, order)
            }

            #[inline]
            fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                next: impl FnMut($number) -> Option<$number>,
            ) -> Result<$number, $number> {
                <$atomic>::fetch_update(self, set, fetch, next)
            }
        }
    };
}

word!(AtomicU64, u64);
word!(AtomicU32, u32);
