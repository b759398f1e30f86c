//! What a routine asks and says while it runs: whether its call was cancelled, and how far it is.

use std::ffi::{CStr, c_char, c_int};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use farcall_wire::Notice;

use super::{ranks, running};

/// Words on the progress are cut here.
const WORDS_BYTES_MAX: usize = 256;
/// Progress is told no more often than this: a routine may say it in its innermost loop, and nobody
/// sees more.
const TELL_EVERY: Duration = Duration::from_millis(20);

/// When progress of the call that runs was last told.
static TOLD: Mutex<Option<Instant>> = Mutex::new(None);

/// The functions by which code asks whether its call was cancelled. What refers to none of them
/// need not be waited for.
pub(crate) const ASKING: [&CStr; 7] = [
    c"farcall_is_cancelled",
    c"farcall_grpc_is_canceled_np",
    c"farcall_ngexIsCanceled",
    c"farcall_ngstb_is_canceled",
    c"grpc_is_canceled_np",
    c"ngexIsCanceled",
    c"ngstb_is_canceled",
];

/// Whether the server wants the call that runs to end, or is gone; `None` where no call runs.
fn cancelled() -> Option<bool> {
    // The first rank knows, and tells the others if it wants to.
    if ranks::follows() {
        return Some(false);
    }
    running::with(|running| {
        let way = running.way();
        let wanted = |way: &running::Way<'_>| {
            way.session.running.as_ref().is_some_and(|running| running.cancelled)
        };
        if !wanted(way) {
            way.look();
        }
        wanted(way) || way.session.left || way.session.broken.is_some()
    })
}

/// A call begins: its first word is told, however short ago another call said something.
pub(super) fn begin() {
    *TOLD.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
}

fn tell(done: f64, words: &CStr) -> c_int {
    if ranks::follows() {
        return 0;
    }
    let mut told = TOLD.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let now = Instant::now();
    if done < 1.0 && told.is_some_and(|told| now.duration_since(told) < TELL_EVERY) {
        return 0;
    }
    let words = words.to_bytes();
    let words = String::from_utf8_lossy(&words[..words.len().min(WORDS_BYTES_MAX)]).into_owned();
    // A NaN is no fraction.
    let notice = Notice::Progress(if done > 0.0 { done.min(1.0) } else { 0.0 }, words);
    let asked = running::with(|running| {
        let way = running.way();
        if let Some(channel) = way.session.running.as_ref().map(|running| running.channel) {
            way.session.connection.notice(channel, &notice);
            way.look();
        }
    });
    *told = asked.map(|()| now);
    if asked.is_some() { 0 } else { -1 }
}

/// [`farcall_is_cancelled`] of the process that runs the call.
pub(super) unsafe extern "C" fn own_is_cancelled() -> c_int {
    cancelled().map_or(-1, c_int::from)
}

/// [`farcall_progress`] of the process that runs the call.
pub(super) unsafe extern "C" fn own_progress(done: f64, words: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let words = if words.is_null() { c"" } else { unsafe { CStr::from_ptr(words) } };
    tell(done, words)
}

/// 1 if the call that runs in this process is to end, 0 if not, -1 where none runs.
#[unsafe(no_mangle)]
pub extern "C" fn farcall_is_cancelled() -> c_int {
    // SAFETY: it takes nothing.
    running::is_cancelled_of_host()
        .map_or_else(|| cancelled().map_or(-1, c_int::from), |host| unsafe { host() })
}

/// Says how far the call is that runs in this process: the fraction that is done, and a word on it.
/// Returns 0, or -1 where none runs.
///
/// # Safety
/// `words` is NULL or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_progress(done: f64, words: *const c_char) -> c_int {
    // SAFETY: the caller's promise, passed on.
    unsafe {
        match running::progress_of_host() {
            Some(host) => host(done, words),
            None => own_progress(done, words),
        }
    }
}

/// `grpc_is_canceled_np`: 1 if a cancel came, else 0. `error` gets 0 (GRPC_NO_ERROR), or 1
/// (GRPC_NOT_INITIALIZED) where no call runs.
///
/// # Safety
/// `error` is NULL or has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_grpc_is_canceled_np(error: *mut c_int) -> c_int {
    let cancelled = farcall_is_cancelled();
    // SAFETY: the caller's promise.
    if let Some(error) = unsafe { error.as_mut() } {
        *error = c_int::from(cancelled < 0);
    }
    cancelled.max(0)
}

/// `ngexIsCanceled`, the name of Ninf-G 2.
///
/// # Safety
/// As [`farcall_grpc_is_canceled_np`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_ngexIsCanceled(error: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { farcall_grpc_is_canceled_np(error) }
}

/// `ngstb_is_canceled`, the name in the papers.
#[unsafe(no_mangle)]
pub extern "C" fn farcall_ngstb_is_canceled() -> c_int {
    farcall_is_cancelled().max(0)
}
