//! Sets of sessions that somebody waits for.

use std::ffi::c_int;

use crate::code::Outcome;
use crate::pointers::missing;
use crate::sessions::Table;

pub use crate::numbers::grpc_sessionid::VOID;

/// The numbers of a set.
///
/// # Safety
/// NULL, or that many numbers.
pub unsafe fn set(sessions: *const c_int, count: usize) -> Outcome<Vec<i32>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if sessions.is_null() {
        return Err(missing("the set of sessions"));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(sessions, count) }.to_vec())
}

/// A set that somebody waits for the end of. Each of it is looked at until it has ended, and then
/// no more.
pub struct Remaining<'a> {
    set: &'a [i32],
    /// So many of the first have ended.
    ended: usize,
    checked: bool,
}

impl<'a> Remaining<'a> {
    pub fn of(set: &'a [i32]) -> Remaining<'a> {
        Remaining { set, ended: 0, checked: false }
    }

    /// Whether all have ended; an error when one of them is no session.
    pub fn have_ended(&mut self, table: &Table) -> Outcome<bool> {
        if !self.checked {
            table.check_all(self.set)?;
            self.checked = true;
        }
        while let Some(session) = self.set.get(self.ended) {
            if !table.has_ended(*session)? {
                return Ok(false);
            }
            self.ended += 1;
        }
        Ok(true)
    }
}

/// One of a set that has ended, first of those that nobody waited for. `None` while those are all
/// under way.
pub fn any_ended(table: &Table, set: &[i32]) -> Outcome<Option<i32>> {
    table.check_all(set)?;
    if let Some(fresh) = table.fresh_of(set) {
        return Ok(Some(fresh));
    }
    // Whoever waits for a set again that he has seen the end of gets an answer, too.
    Ok(set.first().copied().filter(|_| !table.is_any_running(set)))
}
