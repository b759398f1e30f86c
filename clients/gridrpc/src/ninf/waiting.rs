//! Waiting for sessions, and what is known of those that have ended.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::time::Duration;

use crate::code::{Code, Failure, Number, Outcome};
use crate::information::Measured;
use crate::sessions::{Stage, Table};
use crate::waiting::{Remaining, VOID, any_ended, set};

use super::failure::{OK, enter, enter_or};
use super::{lock, ninf};

/// Waits for all of these; the first failure.
pub fn wait_for_all(sessions: &[c_int]) -> Outcome<()> {
    let context = ninf().context()?;
    let mut remaining = Remaining::of(sessions);
    let failures = context.sessions.wait_until(|table| match remaining.have_ended(table) {
        Ok(all) => all.then(|| Ok(ended_all(table, sessions))),
        Err(failure) => Some(Err(failure)),
    })?;
    failures.into_iter().next().map_or(Ok(()), Err)
}

fn ended_all(table: &mut Table, sessions: &[c_int]) -> Vec<Failure> {
    sessions.iter().filter_map(|session| ended(table, *session)).collect()
}

/// Notes that somebody waited for a session: its failure.
fn ended(table: &mut Table, session: c_int) -> Option<Failure> {
    lock(&ninf().started).remove(&session);
    table.waited_for(session)
}

/// Waits for one of these: which, and its failure.
pub fn wait_for_one(sessions: &[c_int]) -> Outcome<(c_int, Option<Failure>)> {
    if sessions.is_empty() {
        return Err(Failure::new(Code::InvalidSessionId, "the set is empty"));
    }
    ninf().context()?.sessions.wait_until(|table| match any_ended(table, sessions) {
        Ok(found) => found.map(|session| Ok((session, ended(table, session)))),
        Err(failure) => Some(Err(failure)),
    })
}

/// Whether this is the number of a session that is known.
pub fn is_session(session: c_int) -> bool {
    ninf().context().is_ok_and(|context| context.sessions.lock().has_ended(session).is_ok())
}

/// How many a set has, as the program says.
fn counted(count: c_int) -> Outcome<usize> {
    usize::try_from(count)
        .map_err(|_| Failure::other(format!("the set does not have {count} sessions")))
}

/// # Safety
/// A place for a number, or NULL.
pub unsafe fn give(place: *mut c_int, session: c_int) {
    // SAFETY: the caller's promise.
    if let Some(place) = unsafe { place.as_mut() } {
        *place = session;
    }
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_wait(session: c_int) -> c_int {
    enter("Ninf_wait", || wait_for_all(&[session]).map(|()| OK))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_wait_and(sessions: *const c_int, count: c_int) -> c_int {
    enter("Ninf_wait_and", || {
        // SAFETY: ninf.h: so many numbers.
        let sessions = unsafe { set(sessions, counted(count)?) }?;
        wait_for_all(&sessions).map(|()| OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_wait_or(
    sessions: *const c_int,
    count: c_int,
    session: *mut c_int,
) -> c_int {
    enter("Ninf_wait_or", || {
        // SAFETY: ninf.h: a place for a number, and so many numbers, here and below.
        unsafe { give(session, VOID) };
        // SAFETY: as above.
        let (ended, failure) = wait_for_one(&unsafe { set(sessions, counted(count)?) }?)?;
        // SAFETY: as above.
        unsafe { give(session, ended) };
        failure.map_or(Ok(OK), Err)
    })
}

fn wait_all() -> Outcome<()> {
    let ended = |table: &mut Table| (table.running() == 0).then(|| Ok(table.waited_for_all()));
    let failures = ninf().context()?.sessions.wait_until(ended)?;
    lock(&ninf().started).clear();
    failures.into_iter().next().map_or(Ok(()), Err)
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_wait_all() -> c_int {
    enter("Ninf_wait_all", || wait_all().map(|()| OK))
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_sync() -> c_int {
    enter("Ninf_sync", || {
        let _ = wait_all();
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_wait_any(session: *mut c_int) -> c_int {
    enter("Ninf_wait_any", || {
        // SAFETY: ninf.h: a place for a number, here and below.
        unsafe { give(session, VOID) };
        let found = ninf().context()?.sessions.wait_until(|table| match table.first_fresh() {
            Some(first) => Some(Ok(Some((first, ended(table, first))))),
            None => (table.running() == 0).then_some(Ok(None)),
        })?;
        // Loops end with NINF_OK, and no session has its number.
        let Some((first, failure)) = found else { return Ok(OK) };
        // SAFETY: as above.
        unsafe { give(session, first) };
        failure.map_or(Ok(first), Err)
    })
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_session_probe(session: c_int) -> c_int {
    // What is no session does not run: programs loop while this is true.
    enter_or("Ninf_session_probe", 0, || {
        ninf().context()?.sessions.lock().has_ended(session).map(|ended| c_int::from(!ended))
    })
}

fn cancel(session: c_int) -> Outcome<()> {
    let context = ninf().context()?;
    if context.sessions.lock().has_ended(session)? {
        let words = format!("session {session} has already ended");
        return Err(Failure::new(Code::InvalidSessionId, words).numbered(Number::SessionFinished));
    }
    context.sessions.cancel_one(session);
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_session_cancel(session: c_int) -> c_int {
    enter("Ninf_session_cancel", || cancel(session).map(|()| OK))
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_session_remove(session: c_int) -> c_int {
    enter("Ninf_session_remove", || {
        match cancel(session) {
            Err(failure) if failure.number != Number::SessionFinished => return Err(failure),
            _ => {}
        }
        // That it was cancelled is what was asked for.
        let _ = wait_for_all(&[session]);
        ninf().context()?.sessions.lock().forget(session);
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_get_executable_from_session(session: c_int) -> *mut c_void {
    lock(&ninf().started)
        .get(&session)
        .map_or(std::ptr::null_mut(), |address| *address as *mut c_void)
}

/// `struct _exec_info_struct`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Information {
    session: c_int,
    send: f64,
    wait: f64,
    execute: f64,
    receive: f64,
    total: f64,
}

/// The session of a call that was none.
const OF_NONE: c_int = 0;

thread_local! {
    /// What this thread asked for last.
    static TOLD: RefCell<Box<Information>> = RefCell::default();
}

/// Tells of a session; of the call or session that ended last where none is named.
fn tell(session: Option<c_int>) -> Outcome<*mut Information> {
    let context = ninf().context()?;
    let table = context.sessions.lock();
    if let (None, Some(measured)) = (session, table.last_call()) {
        return Ok(told(OF_NONE, &measured));
    }
    let none = || Failure::new(Code::InvalidSessionId, "nothing has finished");
    let session = session.or_else(|| table.last_ended()).ok_or_else(none)?;
    let (measured, stage) = table.information(session)?;
    if !matches!(stage, Stage::Ended | Stage::Lost) {
        let words = format!("session {session} is running: wait for it first");
        return Err(Failure::new(Code::NotCompleted, words));
    }
    Ok(told(session, &measured))
}

/// What was measured, where this thread's next question overwrites it.
fn told(session: c_int, measured: &Measured) -> *mut Information {
    let seconds = |duration: Duration| duration.as_secs_f64();
    let told = Information {
        session,
        send: seconds(measured.sending),
        wait: seconds(measured.started),
        execute: seconds(measured.finished.saturating_sub(measured.started)),
        receive: seconds(
            measured.whole.saturating_sub(measured.sending).saturating_sub(measured.finished),
        ),
        total: seconds(measured.whole),
    };
    TOLD.with(|place| {
        **place.borrow_mut() = told;
        &raw mut **place.borrow_mut()
    })
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_get_info(session: c_int) -> *mut Information {
    enter_or("Ninf_get_info", std::ptr::null_mut(), || tell(Some(session)))
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_get_last_info() -> *mut Information {
    enter_or("Ninf_get_last_info", std::ptr::null_mut(), || tell(None))
}
