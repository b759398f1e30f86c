//! Errors by Ninf's numbers.
#![allow(non_upper_case_globals, reason = "names that programs declare")]

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::code::{Code, Number, Outcome};
use crate::entry::{self, last, print};

pub use crate::numbers::ninf_result::{ERROR, OK};

/// The last error of any thread, and whether the program wants to be debugged: programs declare
/// both themselves.
#[unsafe(no_mangle)]
static ninf_error_code: AtomicI32 = AtomicI32::new(0);
#[unsafe(no_mangle)]
static ninf_debug_flag: AtomicI32 = AtomicI32::new(0);

thread_local! {
    /// The number of this thread's last error.
    static NUMBER: Cell<c_int> = const { Cell::new(0) };
}

/// Runs an entry: what it gives, or `NINF_ERROR`.
pub fn enter(name: &str, body: impl FnOnce() -> Outcome<c_int>) -> c_int {
    enter_or(name, ERROR, body)
}

/// [`enter`] with another value for failure.
pub fn enter_or<T: Copy>(name: &str, otherwise: T, body: impl FnOnce() -> Outcome<T>) -> T {
    let mut given = otherwise;
    // That of a panic.
    let mut number = Number::InternalError;
    let status = entry::enter(name, || {
        given = body().inspect_err(|failure| number = failure.number)?;
        Ok(())
    });
    if status != Code::NoError as c_int {
        let _ = NUMBER.try_with(|place| place.set(number as c_int));
        ninf_error_code.store(number as c_int, Ordering::Relaxed);
        return otherwise;
    }
    given
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_error_code() -> c_int {
    NUMBER.try_with(Cell::get).unwrap_or(0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_perror(text: *const c_char) {
    // SAFETY: ninf.h: NULL or text.
    unsafe { print(text, last().as_ref()) }
}
