//! Sets of sessions.

use std::ffi::c_int;

use crate::pointers::missing;
use crate::waiting::VOID;

use super::failure::enter_or;
use super::waiting::{give, is_session, wait_for_all, wait_for_one};

/// `id_set`.
#[derive(Default)]
pub struct Set(Vec<c_int>);

/// # Safety
/// NULL, or a set that nobody else uses, through `'a`.
unsafe fn of<'a>(set: *mut Set) -> Option<&'a mut Set> {
    // SAFETY: the caller's promise.
    unsafe { set.as_mut() }
}

#[unsafe(no_mangle)]
extern "C" fn farcall_new_id_set() -> *mut Set {
    Box::into_raw(Box::default())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_free_id_set(set: *mut Set) {
    if !set.is_null() {
        // SAFETY: ninf.h: a set that the caller gives up.
        drop(unsafe { Box::from_raw(set) });
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_id_set_add(set: *mut Set, session: c_int) {
    // SAFETY: ninf.h: NULL or a set, here and below.
    if let Some(set) = unsafe { of(set) }
        && !set.0.contains(&session)
    {
        set.0.push(session);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_id_set_rm(set: *mut Set, session: c_int) {
    // SAFETY: as above.
    if let Some(set) = unsafe { of(set) } {
        set.0.retain(|one| *one != session);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_id_set_get_id(set: *mut Set, place: c_int) -> c_int {
    // SAFETY: as above.
    let found = unsafe { of(set) }.and_then(|set| set.0.get(usize::try_from(place).ok()?).copied());
    found.unwrap_or(-1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_id_set_length(set: *mut Set) -> c_int {
    // SAFETY: as above.
    unsafe { of(set) }.map_or(0, |set| c_int::try_from(set.0.len()).unwrap_or(c_int::MAX))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_wait_and_set(set: *mut Set) -> *mut Set {
    enter_or("Ninf_wait_and_set", std::ptr::null_mut(), || {
        // SAFETY: as above.
        let all = std::mem::take(&mut unsafe { of(set) }.ok_or_else(|| missing("the set"))?.0);
        wait_for_all(&all)?;
        Ok(Box::into_raw(Box::new(Set(all))))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_wait_or_set(set: *mut Set, session: *mut c_int) -> *mut Set {
    enter_or("Ninf_wait_or_set", std::ptr::null_mut(), || {
        // SAFETY: as above; NULL or a place for a number, here and below.
        unsafe { give(session, VOID) };
        // SAFETY: as above.
        let known = unsafe { of(set) }.ok_or_else(|| missing("the set"))?;
        // What is no session leaves the set as well: programs loop until it is empty.
        let waited = wait_for_one(&known.0).inspect_err(|_| known.0.retain(|one| is_session(*one)));
        let (ended, failure) = waited?;
        known.0.retain(|one| *one != ended);
        // SAFETY: as above.
        unsafe { give(session, ended) };
        failure.map_or_else(|| Ok(Box::into_raw(Box::new(Set(vec![ended])))), Err)
    })
}
