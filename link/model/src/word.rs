//! Words for models: they take the orders that the code asks for, or weaker ones.
//!
//! Loom takes an access that is sequentially consistent for one that releases and acquires, and
//! would report faults that no machine shows: that a thread writes one word, reads another, and does
//! not see what a second thread wrote there before it read the first. Fences loom knows. So one
//! stands here between a write and the next read of a thread, if both are sequentially consistent,
//! and nowhere else: it must not make up for an order that the code lacks. For two threads whose
//! words are all sequentially consistent, that is the same.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::Ordering;

use farcall_base::Word;
use loom::sync::atomic::{AtomicU32, AtomicU64, fence};

/// What becomes of the orders that code asks for.
pub trait Strength: 'static {
    /// The order that it gets.
    fn weakened(order: Ordering) -> Ordering;
}

/// The orders that the code asks for.
pub struct AsAsked;

impl Strength for AsAsked {
    fn weakened(order: Ordering) -> Ordering {
        order
    }
}

/// Orders that release and acquire at most: for tests that a model finds out.
pub struct Acquiring;

impl Strength for Acquiring {
    fn weakened(order: Ordering) -> Ordering {
        if order == Ordering::SeqCst { Ordering::AcqRel } else { order }
    }
}

/// No order at all: for tests that a model finds out.
pub struct Relaxed;

impl Strength for Relaxed {
    fn weakened(_: Ordering) -> Ordering {
        Ordering::Relaxed
    }
}

/// What an access does to its word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Reads,
    Writes,
    Both,
}

loom::thread_local! {
    /// Whether this thread wrote a word, sequentially consistent, and read none since.
    static OWES_FENCE: Cell<bool> = Cell::new(false);
}

/// Does `act` in the order that `S` leaves of `order`. What unwinds after a fault was found takes no
/// more turns: it gets 0.
fn ordered<S: Strength, T: Default>(
    access: Access,
    order: Ordering,
    act: impl FnOnce(Ordering) -> T,
) -> T {
    if std::thread::panicking() {
        return T::default();
    }
    let order = S::weakened(order);
    if order != Ordering::SeqCst {
        return act(order);
    }
    if access != Access::Writes && OWES_FENCE.with(|owes| owes.take()) {
        fence(Ordering::SeqCst);
    }
    let outcome = act(Ordering::AcqRel);
    if access != Access::Reads {
        OWES_FENCE.with(|owes| owes.set(true));
    }
    outcome
}

/// The part of an order that a load can have.
fn loading(order: Ordering) -> Ordering {
    if order == Ordering::Relaxed { order } else { Ordering::Acquire }
}

/// The part of an order that a store can have.
fn storing(order: Ordering) -> Ordering {
    if order == Ordering::Relaxed { order } else { Ordering::Release }
}

/// A word type over loom's atomic, with all operations of [`Word`].
macro_rules! word {
    ($name:ident, $atomic:ty, $number:ty) => {
        #[doc = concat!("In place of the standard library's `", stringify!($atomic), "`.")]
        pub struct $name<S>($atomic, PhantomData<S>);

        impl<S> Default for $name<S> {
            fn default() -> Self {
                $name(<$atomic>::new(0), PhantomData)
            }
        }

        impl<S: Strength> Word<$number> for $name<S> {
            fn load(&self, order: Ordering) -> $number {
                ordered::<S, _>(Access::Reads, order, |order| self.0.load(loading(order)))
            }

            fn store(&self, value: $number, order: Ordering) {
                ordered::<S, _>(Access::Writes, order, |order| self.0.store(value, storing(order)));
            }

            fn swap(&self, value: $number, order: Ordering) -> $number {
                ordered::<S, _>(Access::Both, order, |order| self.0.swap(value, order))
            }

            fn fetch_add(&self, value: $number, order: Ordering) -> $number {
                ordered::<S, _>(Access::Both, order, |order| self.0.fetch_add(value, order))
            }

            fn fetch_or(&self, value: $number, order: Ordering) -> $number {
                ordered::<S, _>(Access::Both, order, |order| self.0.fetch_or(value, order))
            }

            fn fetch_and(&self, value: $number, order: Ordering) -> $number {
                ordered::<S, _>(Access::Both, order, |order| self.0.fetch_and(value, order))
            }

            fn fetch_update(
                &self,
                set: Ordering,
                _: Ordering,
                next: impl FnMut($number) -> Option<$number>,
            ) -> Result<$number, $number> {
                let update = |order| Some(self.0.fetch_update(order, loading(order), next));
                ordered::<S, _>(Access::Both, set, update).unwrap_or(Err(0))
            }
        }
    };
}

word!(Word64, AtomicU64, u64);
word!(Word32, AtomicU32, u32);
