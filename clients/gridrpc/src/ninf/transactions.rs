//! Transactions: calls are written down, and run in the order that their use of memory asks for: by
//! their server as one graph, or from here.

mod graph;
mod local;
mod recording;

use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use farcall_client::Transaction;

use crate::code::{Code, Failure, Number, Outcome};

use super::failure::{OK, enter};
use super::{lock, ninf};
use graph::Graph;
use recording::Written;
pub use recording::{Recorded, is_under_way, miss, record};

/// A transaction whose end a thread waits for, as others see it.
#[derive(Default)]
pub struct Ending {
    is_cancelled: AtomicBool,
    /// Sessions of those of its calls that are under way.
    under_way: Mutex<BTreeSet<c_int>>,
    /// What a server runs.
    graph: Mutex<Option<Arc<Transaction>>>,
}

impl Ending {
    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::SeqCst)
    }

    fn cancel(&self) -> Outcome<()> {
        let context = ninf().context()?;
        self.is_cancelled.store(true, Ordering::SeqCst);
        let under_way = lock(&self.under_way).clone();
        under_way.into_iter().for_each(|session| context.sessions.cancel_one(session));
        let graph = lock(&self.graph).clone();
        // A connection that is gone has ended it already.
        let _ = graph.map(|graph| graph.end());
        Ok(())
    }

    /// Notes a call that has begun; one that began while somebody cancelled is cancelled here.
    fn add(&self, session: c_int) -> Outcome<()> {
        lock(&self.under_way).insert(session);
        if self.is_cancelled() { self.cancel() } else { Ok(()) }
    }
}

/// What became of the calls of a transaction.
struct Came {
    /// The first one first.
    failures: Vec<Failure>,
    /// How many calls did not run.
    kept_back: usize,
    /// How many calls ran whose results are not wanted, since one before them failed.
    dropped: usize,
    /// How many were refused when they were to be written down.
    missed: usize,
}

impl Came {
    /// As its end is to tell it.
    fn outcome(self, is_cancelled: bool) -> Outcome<()> {
        let Came { failures, kept_back, dropped, missed } = self;
        let mut behind = match missed {
            0 => format!("{kept_back} calls did not run"),
            _ => format!("{missed} calls were refused; of the others {kept_back} did not run"),
        };
        if dropped > 0 {
            behind += &format!(", and the results of {dropped} were dropped");
        }
        if is_cancelled {
            let words = format!("the transaction was cancelled; {behind}");
            return Err(Failure::new(Code::Canceled, words).numbered(Number::TransactionCanceled));
        }
        match failures.into_iter().next() {
            None => Ok(()),
            Some(first) => Err(Failure::new(first.code, format!("{}; {behind}", first.words))
                .numbered(Number::TransactionFailed)),
        }
    }
}

/// Runs a transaction's calls, and waits for all.
///
/// # Safety
/// The arguments of all steps are as their interfaces say until all have ended.
unsafe fn run(Written { steps, missed, temporary }: &Written) -> Outcome<()> {
    let ending = Arc::new(Ending::default());
    lock(&ninf().ending).push(ending.clone());
    // SAFETY: the caller's promise, here and below.
    let graph = unsafe { Graph::of(steps, temporary) };
    // SAFETY: as above.
    let came = match graph.and_then(|graph| unsafe { graph.run(&ending) }) {
        Some(came) => came,
        // SAFETY: as above.
        None => unsafe { local::run(steps, &ending) },
    };
    lock(&ninf().ending).retain(|one| !Arc::ptr_eq(one, &ending));
    let mut came = came?;
    if let Some((first, count)) = missed {
        came.failures.insert(0, first.clone());
        came.missed = *count;
    }
    came.outcome(ending.is_cancelled())
}

fn begin_transaction(name: &str) -> c_int {
    enter(name, || {
        if !recording::begin() {
            let failure = Failure::other("a transaction is open: end it first");
            return Err(failure.numbered(Number::TransactionNested));
        }
        Ok(OK)
    })
}

fn not_begun() -> Failure {
    Failure::other("no transaction was started").numbered(Number::TransactionNotBegun)
}

fn end_transaction(name: &str) -> c_int {
    enter(name, || {
        let written = recording::take().ok_or_else(not_begun)?;
        ninf().context()?;
        // SAFETY: ninf.h: arguments stay until the transaction has ended.
        unsafe { run(&written) }.map(|()| OK)
    })
}

/// Throws this thread's own transaction away; otherwise cancels those that other threads wait for.
#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_transaction_cancel() -> c_int {
    enter("Ninf_transaction_cancel", || {
        if recording::take().is_some() {
            return Ok(OK);
        }
        let ending = lock(&ninf().ending).clone();
        if ending.is_empty() {
            return Err(not_begun());
        }
        ending.iter().try_for_each(|one| one.cancel()).map(|()| OK)
    })
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_transaction_begin() -> c_int {
    begin_transaction("Ninf_transaction_begin")
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_transaction_end() -> c_int {
    end_transaction("Ninf_transaction_end")
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_transaction_temporary(array: *const c_void) -> c_int {
    enter("Ninf_transaction_temporary", || {
        if !is_under_way() {
            return Err(not_begun());
        }
        if array.is_null() {
            let failure = Failure::other("the array is NULL");
            return Err(failure.numbered(Number::InvalidArgument));
        }
        recording::forget(array.addr()).map(|()| OK)
    })
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_check_in() -> c_int {
    begin_transaction("Ninf_check_in")
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_check_out() -> c_int {
    end_transaction("Ninf_check_out")
}
