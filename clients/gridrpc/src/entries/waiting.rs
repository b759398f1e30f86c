//! Probing sessions, waiting for them, cancelling them, and what became of them.

use std::ffi::c_int;
use std::time::{Duration, Instant};

use crate::code::{Code, Failure, Outcome};
use crate::context::current;
use crate::entry::enter;
use crate::pointers::{RawHandle, place};
use crate::sessions::{Beginning, Running, Table};
use crate::waiting::{Remaining, VOID, any_ended, set};

/// For so long a probe of several waits before it says that none has ended: what would end then is
/// not missed, and who probes without a pause does not keep a processor busy.
const PROBE: Duration = Duration::from_millis(5);
/// And for so long after the last of them was begun, or its routine, where the server tells of that.
const BEGINNING: Duration = Duration::from_millis(200);
/// And for so long after the last of them was begun whose routine the server has not told of: its
/// process may have to start first.
const STARTING: Duration = Duration::from_secs(2);

/// Until when a session may end that takes no time.
fn could_end(session: &Running) -> Instant {
    match session.routine {
        Beginning::Untold => session.begun + BEGINNING,
        Beginning::Awaited => session.begun + STARTING,
        Beginning::At(begun) => begun + BEGINNING,
    }
}

/// One of a set that has ended. One that was waited for has ended as well; others may be of more
/// use.
fn one_that_ended(table: &Table, set: &[i32]) -> Outcome<Option<i32>> {
    let waited = || set.iter().copied().find(|one| table.has_ended(*one).unwrap_or(false));
    Ok(any_ended(table, set)?.or_else(waited))
}

/// What waiting for one session comes to.
fn of_one(failure: Option<Failure>) -> Outcome<()> {
    let Some(failure) = failure else { return Ok(()) };
    let code = match failure.code {
        Code::CommunicationFailed | Code::Timeout => failure.code,
        _ => Code::SessionFailed,
    };
    Err(Failure { code, ..failure })
}

/// What waiting for several comes to: the first failure that is no time-out, or a time-out.
fn of_many(failures: Vec<Failure>) -> Outcome<()> {
    let count = failures.len();
    let worst =
        failures.into_iter().reduce(|one, next| if one.code == Code::Timeout { next } else { one });
    let Some(worst) = worst else { return Ok(()) };
    let code = if worst.code == Code::Timeout { Code::Timeout } else { Code::SessionFailed };
    let more = if count > 1 { format!(" (and {} more)", count - 1) } else { String::new() };
    Err(Failure::new(code, format!("{}{more}", worst.words)))
}

#[unsafe(no_mangle)]
extern "C" fn farcall_grpc_probe(session: c_int) -> c_int {
    enter("grpc_probe", || {
        let ended = current()?.sessions.lock().has_ended(session)?;
        if ended { Ok(()) } else { Err(Failure::new(Code::NotCompleted, "it is running")) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_probe_or(
    sessions: *const c_int,
    count: usize,
    session: *mut c_int,
) -> c_int {
    enter("grpc_probe_or", || {
        let context = current()?;
        // SAFETY: grpc.h: a place for a number, and numbers, here and below.
        let found = unsafe { place(session, "the pointer for the session") }?;
        *found = VOID;
        // SAFETY: as above.
        let set = unsafe { set(sessions, count) }?;
        // Programs probe once and then compute, or probe without a pause.
        let least = Instant::now() + PROBE;
        let until = |table: &Table| table.last_of(&set, could_end).unwrap_or(least).max(least);
        let outcome =
            context.sessions.wait_for_a_while(|table| one_that_ended(table, &set), until)?;
        let none = || Failure::new(Code::NoneCompleted, "all of them are running");
        *found = outcome.ok_or_else(none)?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn farcall_grpc_wait(session: c_int) -> c_int {
    enter("grpc_wait", || {
        let failure = current()?.sessions.wait_until(|table| match table.has_ended(session) {
            Ok(ended) => ended.then(|| Ok(table.waited_for(session))),
            Err(failure) => Some(Err(failure)),
        })?;
        of_one(failure)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_wait_and(sessions: *const c_int, count: usize) -> c_int {
    enter("grpc_wait_and", || {
        let context = current()?;
        // SAFETY: grpc.h: numbers.
        let set = unsafe { set(sessions, count) }?;
        let mut remaining = Remaining::of(&set);
        let failures = context.sessions.wait_until(|table| match remaining.have_ended(table) {
            Ok(all) => all
                .then(|| Ok(set.iter().filter_map(|session| table.waited_for(*session)).collect())),
            Err(failure) => Some(Err(failure)),
        })?;
        of_many(failures)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_wait_or(
    sessions: *const c_int,
    count: usize,
    session: *mut c_int,
) -> c_int {
    enter("grpc_wait_or", || {
        let context = current()?;
        // SAFETY: grpc.h: a place for a number, and numbers, here and below.
        let found = unsafe { place(session, "the pointer for the session") }?;
        *found = VOID;
        // SAFETY: as above.
        let set = unsafe { set(sessions, count) }?;
        if set.is_empty() {
            return Ok(());
        }
        let (ended, failure) =
            context.sessions.wait_until(|table| match any_ended(table, &set) {
                Ok(ended) => ended.map(|ended| Ok((ended, table.waited_for(ended)))),
                Err(failure) => Some(Err(failure)),
            })?;
        *found = ended;
        of_many(failure.into_iter().collect())
    })
}

#[unsafe(no_mangle)]
extern "C" fn farcall_grpc_wait_all() -> c_int {
    enter("grpc_wait_all", || {
        let ended = |table: &mut Table| (table.running() == 0).then(|| Ok(table.waited_for_all()));
        of_many(current()?.sessions.wait_until(ended)?)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_wait_any(session: *mut c_int) -> c_int {
    enter("grpc_wait_any", || {
        let context = current()?;
        // SAFETY: grpc.h: a place for a number.
        let found = unsafe { place(session, "the pointer for the session") }?;
        *found = VOID;
        let (ended, failure) = context.sessions.wait_until(|table| match table.first_fresh() {
            Some(ended) => Some(Ok((ended, table.waited_for(ended)))),
            None => (table.running() == 0).then_some(Ok((VOID, None))),
        })?;
        *found = ended;
        of_many(failure.into_iter().collect())
    })
}

#[unsafe(no_mangle)]
extern "C" fn farcall_grpc_cancel(session: c_int) -> c_int {
    enter("grpc_cancel", || {
        let context = current()?;
        context.sessions.lock().has_ended(session)?;
        context.sessions.cancel_one(session);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn farcall_grpc_cancel_all() -> c_int {
    enter("grpc_cancel_all", || {
        current()?.sessions.cancel_all();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn farcall_grpc_get_error(session: c_int) -> c_int {
    let mut code = Code::NoError;
    let status = enter("grpc_get_error", || {
        let context = current()?;
        let table = context.sessions.lock();
        code = table.failure(session)?.map_or(Code::NoError, |failure| failure.code);
        Ok(())
    });
    if status == Code::NoError as c_int { code as c_int } else { status }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_get_failed_sessionid(session: *mut c_int) -> c_int {
    enter("grpc_get_failed_sessionid", || {
        let context = current()?;
        // SAFETY: grpc.h: a place for a number.
        let found = unsafe { place(session, "the pointer for the session") }?;
        *found = context.sessions.lock().take_failed().unwrap_or(VOID);
        Ok(())
    })
}

/// The handle that a session was started with.
///
/// # Safety
/// NULL, or a place for an address.
unsafe fn handle_of(handle: *mut *mut RawHandle, session: c_int) -> Outcome<()> {
    let context = current()?;
    // SAFETY: the caller's promise.
    let found = unsafe { place(handle, "the pointer for the handle") }?;
    *found = std::ptr::null_mut();
    *found = context.sessions.lock().given(session)?;
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_get_handle(handle: *mut *mut RawHandle, session: c_int) -> c_int {
    // SAFETY: grpc.h: a place for an address.
    enter("grpc_get_handle", || unsafe { handle_of(handle, session) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_object_handle_get_from_session_np(
    handle: *mut *mut RawHandle,
    session: c_int,
) -> c_int {
    // SAFETY: grpc.h: a place for an address.
    enter("grpc_object_handle_get_from_session_np", || unsafe { handle_of(handle, session) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_function_handle_get_from_session_np(
    handle: *mut *mut RawHandle,
    session: c_int,
) -> c_int {
    // SAFETY: grpc.h: a place for an address.
    enter("grpc_function_handle_get_from_session_np", || unsafe { handle_of(handle, session) })
}
