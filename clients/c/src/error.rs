//! Error objects.

use std::ffi::{CStr, CString, c_char, c_int};

use farcall_client::{Error, ErrorKind};

use crate::boundary::{c_text, free, quietly};

/// `farcall_error`: an error whose texts are ready for C.
pub struct ErrorObject {
    kind: ErrorKind,
    kind_name: CString,
    message: CString,
    operation: CString,
    advice: Option<CString>,
    retryable: bool,
    began: bool,
}

impl From<Error> for ErrorObject {
    fn from(error: Error) -> Self {
        ErrorObject::from(&error)
    }
}

impl From<&Error> for ErrorObject {
    fn from(error: &Error) -> Self {
        ErrorObject {
            kind: error.kind(),
            kind_name: c_text(error.kind().name()),
            message: c_text(&error.to_string()),
            operation: c_text(error.operation()),
            advice: error.advice().map(c_text),
            retryable: error.is_retryable(),
            began: error.has_begun(),
        }
    }
}

/// What `read` finds in the error; `otherwise` for NULL.
///
/// # Safety
/// NULL, or an error that lives through `'a`.
unsafe fn of<'a, T>(
    error: *const ErrorObject,
    otherwise: T,
    read: impl FnOnce(&'a ErrorObject) -> T,
) -> T {
    // SAFETY: the caller's promise.
    match unsafe { error.as_ref() } {
        Some(error) => quietly(otherwise, || read(error)),
        None => otherwise,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_error_kind(error: *const ErrorObject) -> c_int {
    // SAFETY: farcall.h: NULL or an error.
    unsafe { of(error, 0, |error| error.kind.code().into()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_error_kind_name(error: *const ErrorObject) -> *const c_char {
    // SAFETY: farcall.h: NULL or an error.
    unsafe { of(error, c"ok", |error| &error.kind_name) }.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_error_message(error: *const ErrorObject) -> *const c_char {
    let nothing: &CStr = c"no error";
    // SAFETY: farcall.h: NULL or an error.
    unsafe { of(error, nothing, |error| &error.message) }.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_error_operation(error: *const ErrorObject) -> *const c_char {
    // SAFETY: farcall.h: NULL or an error.
    unsafe { of(error, c"", |error| &error.operation) }.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_error_advice(error: *const ErrorObject) -> *const c_char {
    // SAFETY: farcall.h: NULL or an error.
    let advice = unsafe { of(error, None, |error| error.advice.as_deref()) };
    advice.map_or(std::ptr::null(), CStr::as_ptr)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_error_retryable(error: *const ErrorObject) -> c_int {
    // SAFETY: farcall.h: NULL or an error.
    unsafe { of(error, 0, |error| error.retryable.into()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_error_began(error: *const ErrorObject) -> c_int {
    // SAFETY: farcall.h: NULL or an error.
    unsafe { of(error, 0, |error| error.began.into()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_error_free(error: *mut ErrorObject) {
    // SAFETY: farcall.h: NULL or an error that the caller gives up.
    unsafe { free(error) }
}
