//! What models of shared memory are made of: words, bytes, locks and bells whose orders are
//! explored.
//!
//! A model is a test that runs the shipped code with these types in place of the standard library's
//! and the kernel's. [`explore`] runs it once for each order in which its threads can take turns,
//! and for each value that a load may return by the memory model. A lost wake-up shows as a
//! deadlock, and a byte that is read while it is written as a failed check.

mod bell;
mod word;

use loom::model::Builder;

pub use bell::Bell;
pub use loom::cell::Cell;
pub use loom::sync::{Mutex, MutexGuard};
pub use loom::thread::{JoinHandle, spawn};
pub use word::{Acquiring, AsAsked, Relaxed, Strength, Word32, Word64};

/// How often a thread may be interrupted where it could go on: one more than all known faults need.
const PREEMPTIONS: usize = 3;

/// Runs `model` in each order. `LOOM_MAX_PREEMPTIONS` asks for more orders, as `make soak` does.
///
/// # Panics
/// When an order exists in which `model` panics, deadlocks, or reads a [`Cell`] while another
/// thread writes it.
pub fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound.get_or_insert(PREEMPTIONS);
    builder.check(model);
}

#[cfg(test)]
mod tests;
