//! Transactions: calls are written down, and run in the order that their use of memory asks for.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use farcall_c::{Span, TaggedValue, spans};

use crate::calling::{Wanted, start};
use crate::code::{Code, Failure, Number, Outcome};
use crate::handles::Handle;

use super::failure::{OK, enter};
use super::waiting::wait_for_one;
use super::{lock, ninf};

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

/// What was written down.
#[derive(Default)]
struct Written {
    steps: Vec<Step>,
    /// Why the first of those could not be that are missing here.
    missed: Option<Failure>,
}

thread_local! {
    /// This thread's transaction, where one is under way.
    static WRITTEN: RefCell<Option<Written>> = const { RefCell::new(None) };
}

/// Whether this thread is within a transaction.
pub fn is_under_way() -> bool {
    WRITTEN.try_with(|written| written.borrow().is_some()).unwrap_or(false)
}

/// Notes that a call could not be written down: programs look at the end of a transaction alone.
pub fn miss(failure: &Failure) {
    WRITTEN.with(|written| {
        if let Some(written) = written.borrow_mut().as_mut() {
            written.missed.get_or_insert_with(|| failure.clone());
        }
    });
}

/// Whether the two must run in their order. A call of which nothing is known keeps its place.
fn depend(one: &Option<Vec<Span>>, other: &Option<Vec<Span>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => {
            one.iter().any(|span| other.iter().any(|its| span.conflicts(its)))
        }
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
    WRITTEN.with(|written| {
        let mut written = written.borrow_mut();
        let steps =
            &mut written.as_mut().ok_or_else(|| Failure::other("no transaction is open"))?.steps;
        if steps.len() >= CALLS_MAX {
            let words = format!("a transaction of more than {CALLS_MAX} calls");
            return Err(Failure::other(words).numbered(Number::CantAllocateSession));
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
    let context = ninf().context()?;
    let handle = call.handle.clone();
    let given = std::ptr::null_mut();
    let wanted = Wanted {
        context,
        handle,
        given,
        method: None,
        attributes: None,
        count: None,
        by_address: false,
        fortran: false,
        classic: true,
    };
    let next =
        |_| values.next().copied().unwrap_or_else(|| TaggedValue::of_pointer(std::ptr::null_mut()));
    // SAFETY: the caller's promise.
    unsafe { start(&wanted, next) }
}

/// A transaction whose end a thread waits for, as others see it.
#[derive(Default)]
pub struct Ending {
    is_cancelled: AtomicBool,
    /// Sessions of those of its calls that are under way.
    under_way: Mutex<BTreeSet<c_int>>,
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
        Ok(())
    }

    /// Notes a call that has begun; one that began while somebody cancelled is cancelled here.
    fn add(&self, session: c_int) -> Outcome<()> {
        lock(&self.under_way).insert(session);
        if self.is_cancelled() { self.cancel() } else { Ok(()) }
    }
}

/// A transaction that runs.
#[derive(Default)]
struct Run {
    ending: Arc<Ending>,
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
    unsafe fn begin_ready(&mut self, steps: &[Step]) -> Outcome<()> {
        for (index, step) in steps.iter().enumerate() {
            if self.ending.is_cancelled() {
                break;
            }
            if self.begun.contains(&index) || !step.after.is_subset(&self.fine) {
                continue;
            }
            self.begun.insert(index);
            // SAFETY: the caller's promise.
            match unsafe { begin(&step.call) } {
                Ok(session) => {
                    self.under_way.insert(session, index);
                    self.ending.add(session)?;
                }
                Err(failure) => self.failures.push(failure),
            }
        }
        Ok(())
    }

    /// Waits for one of those under way.
    fn wait(&mut self) -> Outcome<()> {
        let sessions: Vec<c_int> = self.under_way.keys().copied().collect();
        let (session, failure) = wait_for_one(&sessions)?;
        lock(&self.ending.under_way).remove(&session);
        let index = self.under_way.remove(&session);
        match failure {
            None => self.fine.extend(index),
            Some(failure) => self.failures.push(failure),
        }
        Ok(())
    }

    /// What became of it.
    fn outcome(self, count: usize) -> Outcome<()> {
        let kept_back = count - self.begun.len();
        if self.ending.is_cancelled() {
            let words = format!("the transaction was cancelled; {kept_back} calls did not run");
            return Err(Failure::new(Code::Canceled, words).numbered(Number::TransactionCanceled));
        }
        match self.failures.into_iter().next() {
            None => Ok(()),
            Some(first) => Err(Failure::new(
                first.code,
                format!("{}; {kept_back} calls did not run", first.words),
            )
            .numbered(Number::TransactionFailed)),
        }
    }
}

/// Runs a transaction's calls, and waits for all.
///
/// # Safety
/// As for [`Run::begin_ready`].
unsafe fn run(Written { steps, missed }: &Written) -> Outcome<()> {
    let mut run = Run { failures: missed.iter().cloned().collect(), ..Run::default() };
    lock(&ninf().ending).push(run.ending.clone());
    let ending = run.ending.clone();
    let mut go = || loop {
        // SAFETY: the caller's promise.
        unsafe { run.begin_ready(steps) }?;
        if run.under_way.is_empty() {
            return Ok(());
        }
        run.wait()?;
    };
    let gone = go();
    lock(&ninf().ending).retain(|one| !Arc::ptr_eq(one, &ending));
    gone.and_then(|()| run.outcome(steps.len()))
}

fn begin_transaction(name: &str) -> c_int {
    enter(name, || {
        if is_under_way() {
            let failure = Failure::other("a transaction is open: end it first");
            return Err(failure.numbered(Number::TransactionNested));
        }
        WRITTEN.with(|written| *written.borrow_mut() = Some(Written::default()));
        Ok(OK)
    })
}

fn not_begun() -> Failure {
    Failure::other("no transaction was started").numbered(Number::TransactionNotBegun)
}

fn end_transaction(name: &str) -> c_int {
    enter(name, || {
        let written = WRITTEN.with(|written| written.borrow_mut().take()).ok_or_else(not_begun)?;
        ninf().context()?;
        // SAFETY: ninf.h: arguments stay until the transaction has ended.
        unsafe { run(&written) }.map(|()| OK)
    })
}

/// Throws this thread's own transaction away; otherwise cancels those that other threads wait for.
#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_transaction_cancel() -> c_int {
    enter("Ninf_transaction_cancel", || {
        if WRITTEN.with(|written| written.borrow_mut().take()).is_some() {
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
extern "C" fn farcall_Ninf_check_in() -> c_int {
    begin_transaction("Ninf_check_in")
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_check_out() -> c_int {
    end_transaction("Ninf_check_out")
}
