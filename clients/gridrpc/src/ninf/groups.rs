//! Groups: calls of one function at several servers, in turn. One whose routine crashes is made
//! again, as with the reference.

use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use farcall_c::TaggedValue;

use crate::code::{Code, Failure, Number, Outcome};
use crate::handles::Handle;
use crate::pointers::text;

use super::calls::Made;
use super::entries::Entry;
use super::failure::{OK, enter, enter_or};
use super::waiting::wait_for_all;
use super::{lock, ninf};

/// A call is made so often at most.
const TRIES: u32 = 3;

/// `Ninf_group_t`.
pub struct Group {
    handles: Vec<Arc<Handle>>,
    turn: AtomicUsize,
    calls: std::sync::Mutex<Vec<Started>>,
}

/// A call of a group.
struct Started {
    session: c_int,
    values: Vec<TaggedValue>,
    tries: u32,
}

// SAFETY: values and addresses, which ninf.h has stay until the group was waited for.
unsafe impl Send for Started {}

impl Group {
    fn new(handles: Vec<Arc<Handle>>) -> Group {
        Group { handles, turn: AtomicUsize::new(0), calls: Default::default() }
    }

    /// A function at all servers of the map that have it; without a map, at the usual one.
    fn of(entry: &str) -> Outcome<Group> {
        let map = lock(&ninf().settings).map.clone();
        let entry = Entry::read(entry)?;
        if entry.host.is_some() || map.is_empty() {
            let home = entry.at_home(&lock(&ninf().settings));
            return Ok(Group::new(vec![ninf().handle_of(home)?]));
        }
        let at = |(host, port): (String, u16)| {
            ninf().handle_of(Entry { host: Some(host), port, ..entry.clone() })
        };
        let mut failure = None;
        let found: Vec<Arc<Handle>> = map
            .into_iter()
            .filter_map(|one| at(one).map_err(|its| failure = Some(its)).ok())
            .collect();
        match failure {
            Some(failure) if found.is_empty() => Err(failure.numbered(Number::CannotSchedule)),
            _ => Ok(Group::new(found)),
        }
    }

    /// The function at the server whose turn it is.
    pub(super) fn next(&self) -> Arc<Handle> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.handles.len();
        self.handles[turn].clone()
    }

    /// Starts a call, and keeps what it is made with.
    ///
    /// # Safety
    /// Arguments as the interface says, until the group was waited for.
    pub(super) unsafe fn start(
        &self,
        made: &Made,
        mut next: impl FnMut(u32) -> TaggedValue,
    ) -> Outcome<c_int> {
        let mut values = Vec::new();
        let keeping = |tag| {
            let value = next(tag);
            values.push(value);
            value
        };
        // SAFETY: the caller's promise.
        let session = unsafe { made.act(keeping) }?;
        lock(&self.calls).push(Started { session, values, tries: 1 });
        Ok(session)
    }

    /// Waits for a round of calls: those that are to be made again, and the first failure of others.
    fn wait(calls: Vec<Started>) -> (Vec<Started>, Option<Failure>) {
        let mut again = Vec::new();
        let mut first = None;
        for call in calls {
            let Err(failure) = wait_for_all(&[call.session]) else { continue };
            let is_lost = matches!(failure.code, Code::SessionFailed | Code::CommunicationFailed);
            if is_lost && call.tries < TRIES {
                again.push(call);
            } else {
                first.get_or_insert(failure);
            }
        }
        (again, first)
    }

    fn start_again(&self, call: Started) -> Outcome<Started> {
        let made = Made { handle: self.next(), count: None, starts: true, fortran: false };
        let mut values = call.values.iter();
        let next = |_| {
            let none = || TaggedValue::of_pointer(std::ptr::null_mut());
            values.next().copied().unwrap_or_else(none)
        };
        // SAFETY: what `start` was promised: nobody has waited for the group yet.
        let session = unsafe { made.act(next) }?;
        Ok(Started { session, tries: call.tries + 1, ..call })
    }

    fn wait_all(&self) -> Outcome<()> {
        let mut calls = std::mem::take(&mut *lock(&self.calls));
        let mut worst = None;
        while !calls.is_empty() {
            let (again, failure) = Group::wait(calls);
            worst = worst.or(failure);
            calls = Vec::with_capacity(again.len());
            for call in again {
                match self.start_again(call) {
                    Ok(call) => calls.push(call),
                    Err(failure) => worst = worst.or(Some(failure)),
                }
            }
        }
        worst.map_or(Ok(()), Err)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_group_init(entry: *const c_char) -> *mut Group {
    enter_or("Ninf_group_init", std::ptr::null_mut(), || {
        // SAFETY: ninf.h: text.
        let made = unsafe { text(entry, "the entry") }.and_then(Group::of)?;
        Ok(ninf().groups.give(made))
    })
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_group_wait_all(group: *mut Group) -> c_int {
    enter("Ninf_group_wait_all", || ninf().groups.find(group, "the group")?.wait_all().map(|()| OK))
}
