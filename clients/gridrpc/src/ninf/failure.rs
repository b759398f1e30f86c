//! Errors by Ninf's numbers.

use std::cell::Cell;
use std::ffi::{c_char, c_int};

use crate::code::{Code, Failure, Outcome};
use crate::entry::{self, last, print};

/// `NINF_ERROR`.
pub const ERROR: c_int = -1;
/// `NINF_OK`.
pub const OK: c_int = 0;
/// Numbers that no code of GridRPC stands for.
pub const TRANSACTION_NESTED: c_int = 20;
pub const TRANSACTION_NOT_BEGUN: c_int = 21;
pub const TRANSACTION_FAILED: c_int = 22;

thread_local! {
    /// The number of this thread's last error.
    static NUMBER: Cell<c_int> = const { Cell::new(0) };
}

/// Runs an entry: what it gives, or `NINF_ERROR`.
pub fn enter(name: &str, body: impl FnOnce() -> Outcome<c_int>) -> c_int {
    enter_or(name, ERROR, || body().map_err(numbered))
}

/// A failure with its number.
pub fn numbered(failure: Failure) -> (c_int, Failure) {
    (number_of(&failure), failure)
}

/// [`enter`] with errors that have numbers of their own, and another value for failure.
pub fn enter_or<T: Copy>(name: &str, otherwise: T, body: impl FnOnce() -> Result<T, (c_int, Failure)>) -> T {
    let mut given = otherwise;
    let mut number = number_of(&Failure::other(""));
    let status = entry::enter(name, || {
        given = body().map_err(|(its, failure)| {
            number = its;
            failure
        })?;
        Ok(())
    });
    if status != Code::NoError as c_int {
        let _ = NUMBER.try_with(|place| place.set(number));
        return otherwise;
    }
    given
}

/// The number of an error.
fn number_of(failure: &Failure) -> c_int {
    match failure.code {
        Code::FunctionNotFound if failure.words.starts_with("malformed entry") => 10,
        Code::FunctionNotFound | Code::ClassNotFound => 1,
        Code::ServerNotFound => 6,
        Code::InvalidSessionId => 7,
        Code::CommunicationFailed => 5,
        Code::Canceled => 9,
        Code::SessionFailed => signal(&failure.words),
        Code::RpcRefused => 17,
        Code::Timeout => 18,
        _ => 19,
    }
}

/// The number for a function that ended by a signal; for one that failed otherwise, `STUB_ERROR`.
fn signal(words: &str) -> c_int {
    let known = [("SIGFPE", 12), ("SIGSEGV", 13), ("SIGBUS", 14), ("SIGILL", 15), ("SIG", 16)];
    known.into_iter().find(|(word, _)| words.contains(word)).map_or(11, |(_, number)| number)
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
