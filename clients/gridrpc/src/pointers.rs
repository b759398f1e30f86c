//! What C gives: pointers that may be NULL, texts, and the words of a handle.

use std::ffi::{CStr, c_char};

use crate::code::{Failure, Outcome};

/// `grpc_function_handle_t` and its kind: a number, and words that are zero.
#[repr(C)]
pub struct RawHandle {
    pub id: u64,
    reserved: [u64; 7],
}

const _: () = assert!(size_of::<RawHandle>() == 64, "grpc.h says 64 bytes");

impl RawHandle {
    pub fn new(id: u64) -> RawHandle {
        RawHandle { id, reserved: [0; 7] }
    }
}

/// A place for a result.
///
/// # Safety
/// NULL, or a place that may be written to.
pub unsafe fn place<'a, T>(pointer: *mut T, what: &str) -> Outcome<&'a mut T> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_mut() }.ok_or_else(|| missing(what))
}

/// That a pointer is NULL which must not be.
pub fn missing(what: &str) -> Failure {
    Failure::other(format!("{what} is NULL"))
}

/// Text that must not be NULL.
///
/// # Safety
/// NULL, or NUL-terminated text that stays through `'a`.
pub unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Outcome<&'a str> {
    // SAFETY: the caller's promise.
    unsafe { optional_text(pointer, what) }?.ok_or_else(|| missing(what))
}

/// Text that may be NULL.
///
/// # Safety
/// As for [`text`].
pub unsafe fn optional_text<'a>(pointer: *const c_char, what: &str) -> Outcome<Option<&'a str>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: not NULL, so it is text.
    let text = unsafe { CStr::from_ptr(pointer) }.to_str();
    text.map(Some).map_err(|_| Failure::other(format!("{what} is not UTF-8")))
}
