//! The edge between C and Rust: what an entry comes to, panics among it, and the last error of each
//! thread.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use farcall_client::printable;

use crate::code::{Code, Failure, Outcome, words};
use crate::ending;
use crate::log::{self, Group, Level};

thread_local! {
    static LAST: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

/// Runs the entry `name`: its failure is logged, kept as this thread's last one, and its code
/// returned.
pub fn enter(name: &str, body: impl FnOnce() -> Outcome<()>) -> c_int {
    enter_named(|| name, body)
}

/// The same where the name is read only when there is a failure.
pub fn enter_named<'n>(
    name: impl FnOnce() -> &'n str,
    body: impl FnOnce() -> Outcome<()>,
) -> c_int {
    let outcome = catch_unwind(AssertUnwindSafe(body));
    ending::hold_back();
    match outcome {
        Ok(Ok(())) => Code::NoError as c_int,
        Ok(Err(failure)) => report(name(), failure),
        Err(_) => report(name(), Failure::other("Farcall panicked; please report this")),
    }
}

/// The same for entries that return 0 or -1.
pub fn enter_or_minus_one(name: &str, body: impl FnOnce() -> Outcome<()>) -> c_int {
    if enter(name, body) == Code::NoError as c_int { 0 } else { -1 }
}

fn report(name: &str, failure: Failure) -> c_int {
    let code = failure.code;
    // That a session goes on is an answer, and no error.
    if matches!(code, Code::NotCompleted | Code::NoneCompleted) {
        return code as c_int;
    }
    log::write(Group::Grpc, Level::Error, &format!("{name}: {}", failure.words));
    // While a thread ends it may have no place any more.
    let _ = LAST.try_with(|last| last.replace(Some(failure)));
    code as c_int
}

/// This thread's last failure.
pub fn last() -> Option<Failure> {
    LAST.try_with(|last| last.borrow().clone()).ok().flatten()
}

/// Prints a failure as `perror` does: "text: what the code means: words".
///
/// # Safety
/// NULL or text.
pub unsafe fn print(text: *const c_char, failure: Option<&Failure>) {
    let number = failure.map_or(0, |failure| failure.code as i32);
    let mut line = String::new();
    if !text.is_null() {
        // SAFETY: not NULL, so it is text.
        line = format!("{}: ", unsafe { CStr::from_ptr(text) }.to_string_lossy());
    }
    line += &words(number).to_string_lossy();
    if let Some(failure) = failure {
        line = format!("{line}: {}", failure.words);
    }
    line.push('\n');
    // That nobody takes it is no reason to fail.
    let _ = std::io::stderr().write_all(printable(&line).as_bytes());
}
