//! What is written down: calls, and the memory that each of them uses.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use farcall_c::{Span, TaggedValue, spans};

use crate::calling::Wanted;
use crate::code::{Failure, Number, Outcome};
use crate::handles::Handle;

use super::super::ninf;
use super::not_begun;

/// More calls than this in one transaction are a mistake: each is compared with all before it.
const CALLS_MAX: usize = 10_000;

/// A call that was written down.
pub struct Recorded {
    pub handle: Arc<Handle>,
    pub values: Vec<TaggedValue>,
}

/// A call, and what it has to wait for.
pub struct Step {
    pub call: Recorded,
    /// The memory that it uses; `None` where that is not known before it runs.
    pub spans: Option<Vec<Span>>,
    pub after: BTreeSet<usize>,
}

/// What was written down.
#[derive(Default)]
pub struct Written {
    pub steps: Vec<Step>,
    /// Why the first of those could not be that are missing here, and how many they are.
    pub missed: Option<(Failure, usize)>,
    /// Where arrays lie that nobody wants when it has ended.
    pub temporary: BTreeSet<usize>,
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
            written.missed.get_or_insert_with(|| (failure.clone(), 0)).1 += 1;
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
        let steps = &mut written.as_mut().ok_or_else(not_begun)?.steps;
        if steps.len() >= CALLS_MAX {
            let words = format!("a transaction of more than {CALLS_MAX} calls");
            return Err(Failure::other(words).numbered(Number::CantAllocateSession));
        }
        let after = (0..steps.len()).filter(|index| depend(&steps[*index].spans, &used)).collect();
        steps.push(Step { call, spans: used, after });
        Ok(())
    })
}

/// Notes that nobody wants the array there when the transaction has ended.
pub fn forget(address: usize) -> Outcome<()> {
    WRITTEN.with(|written| {
        written.borrow_mut().as_mut().ok_or_else(not_begun)?.temporary.insert(address);
        Ok(())
    })
}

/// Begins one in this thread; false if there is one.
pub fn begin() -> bool {
    let begins = !is_under_way();
    if begins {
        WRITTEN.with(|written| *written.borrow_mut() = Some(Written::default()));
    }
    begins
}

/// What this thread wrote down, which ends it.
pub fn take() -> Option<Written> {
    WRITTEN.with(|written| written.borrow_mut().take())
}

impl Recorded {
    /// The call, in the making.
    pub fn wanted(&self) -> Outcome<Wanted<'static>> {
        Ok(Wanted {
            context: ninf().context()?,
            handle: self.handle.clone(),
            given: std::ptr::null_mut(),
            method: None,
            attributes: None,
            count: Some(self.values.len()),
            by_address: false,
            fortran: false,
            classic: true,
        })
    }

    /// Its values, in their order.
    pub fn in_turn(&self) -> impl FnMut(u32) -> TaggedValue {
        let mut values = self.values.iter();
        move |_| {
            let null = || TaggedValue::of_pointer(std::ptr::null_mut());
            values.next().copied().unwrap_or_else(null)
        }
    }
}
