//! Transactions: calls are written down, and run in the order that their use of memory asks for.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;
use std::sync::Arc;

use farcall_c::{Span, TaggedValue, spans};

use crate::calling::{Wanted, start};
use crate::code::{Failure, Outcome};
use crate::handles::Handle;

use super::failure::{ERROR, OK, TRANSACTION_FAILED, TRANSACTION_NESTED, TRANSACTION_NOT_BEGUN, enter_or, numbered};
use super::ninf;
use super::waiting::wait_for_one;

/// More calls than this in one transaction are a mistake: each is compared with all before it.
const CALLS_MAX: usize = 10_000;

/// A call that was written down.
pub struct Recorded {
    pub handle: Arc<Handle>,
    pub values: Vec<TaggedValue>,
}

/// A call, and what it has to wait for.
struct Step {
    call: Recorded,
    /// The memory that it uses; `None` where that is not known before it runs.
    spans: Option<Vec<Span>>,
    after: BTreeSet<usize>,
}

thread_local! {
    /// This thread's transaction, where one is under way.
    static STEPS: RefCell<Option<Vec<Step>>> = const { RefCell::new(None) };
}

/// Whether this thread is within a transaction.
pub fn is_under_way() -> bool {
    STEPS.try_with(|steps| steps.borrow().is_some()).unwrap_or(false)
}

/// Whether the two must run in their order. A call of which nothing is known keeps its place.
fn depend(one: &Option<Vec<Span>>, other: &Option<Vec<Span>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.iter().any(|span| other.iter().any(|its| span.conflicts(its))),
        _ => true,
    }
}

/// Writes a call down.
///
/// # Safety
/// Its arguments are as the interface says until the transaction has ended.
pub unsafe fn record(call: Recorded) -> Outcome<()> {
    let (routine, _) = call.handle.routine(None)?;
    // SAFETY: the caller's promise.
    let used = unsafe { spans(&routine, &call.values) }?;
    STEPS.with(|steps| {
        let mut steps = steps.borrow_mut();
        let steps = steps.as_mut().ok_or_else(|| Failure::other("no transaction is under way"))?;
        if steps.len() >= CALLS_MAX {
            return Err(Failure::other(format!("a transaction of more than {CALLS_MAX} calls")));
        }
        let after = (0..steps.len()).filter(|index| depend(&steps[*index].spans, &used)).collect();
        steps.push(Step { call, spans: used, after });
        Ok(())
    })
}

/// Starts a call that was written down: its session.
///
/// # Safety
/// Its arguments are as the interface says until it has ended.
unsafe fn begin(call: &Recorded) -> Outcome<c_int> {
    let mut values = call.values.iter();
    let (context, handle, given) = (ninf().context()?, call.handle.clone(), std::ptr::null_mut());
    let wanted = Wanted { context, handle, given, method: None, attributes: None, count: None, by_address: false };
    let next = |_| values.next().copied().unwrap_or_else(|| TaggedValue::of_pointer(std::ptr::null_mut()));
    // SAFETY: the caller's promise.
    unsafe { start(&wanted, next) }
}

/// A transaction that runs.
#[derive(Default)]
struct Run {
    /// Steps by their sessions.
    under_way: BTreeMap<c_int, usize>,
    begun: BTreeSet<usize>,
    fine: BTreeSet<usize>,
    failures: Vec<Failure>,
}

impl Run {
    /// Starts all that wait for nothing any more.
    ///
    /// # Safety
    /// The arguments of all steps are as their interfaces say until all have ended.
    unsafe fn begin_ready(&mut self, steps: &[Step]) {
        for (index, step) in steps.iter().enumerate() {
            if self.begun.contains(&index) || !step.after.is_subset(&self.fine) {
                continue;
            }
            self.begun.insert(index);
            // SAFETY: the caller's promise.
            match unsafe { begin(&step.call) } {
                Ok(session) => {
                    self.under_way.insert(session, index);
                }
                Err(failure) => self.failures.push(failure),
            }
        }
    }

    /// Waits for one of those under way.
    fn wait(&mut self) -> Outcome<()> {
        let sessions: Vec<c_int> = self.under_way.keys().copied().collect();
        let (session, failure) = wait_for_one(&sessions)?;
        let index = self.under_way.remove(&session);
        match failure {
            None => self.fine.extend(index),
            Some(failure) => self.failures.push(failure),
        }
        Ok(())
    }
}

/// Runs a transaction's calls, and waits for all.
///
/// # Safety
/// As for [`Run::begin_ready`].
unsafe fn run(steps: &[Step]) -> Outcome<()> {
    let mut run = Run::default();
    loop {
        // SAFETY: the caller's promise.
        unsafe { run.begin_ready(steps) };
        if run.under_way.is_empty() {
            break;
        }
        run.wait()?;
    }
    let kept_back = steps.len() - run.begun.len();
    match run.failures.into_iter().next() {
        None => Ok(()),
        Some(first) => Err(Failure::new(first.code, format!("{}; {kept_back} calls did not run", first.words))),
    }
}

fn begin_transaction(name: &str) -> c_int {
    enter_or(name, ERROR, || {
        if is_under_way() {
            return Err((TRANSACTION_NESTED, Failure::other("a transaction is under way: end it first")));
        }
        STEPS.with(|steps| *steps.borrow_mut() = Some(Vec::new()));
        Ok(OK)
    })
}

fn end_transaction(name: &str) -> c_int {
    enter_or(name, ERROR, || {
        let steps = STEPS.with(|steps| steps.borrow_mut().take());
        let steps = steps.ok_or_else(|| (TRANSACTION_NOT_BEGUN, Failure::other("no transaction was begun")))?;
        ninf().context().map_err(numbered)?;
        // SAFETY: ninf.h: arguments stay until the transaction has ended.
        unsafe { run(&steps) }.map_err(|failure| (TRANSACTION_FAILED, failure))?;
        Ok(OK)
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
extern "C" fn farcall_Ninf_check_in() -> c_int {
    begin_transaction("Ninf_check_in")
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_check_out() -> c_int {
    end_transaction("Ninf_check_out")
}
