//! The edge itself: panics, pointers and text between C and Rust.

use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use farcall_client::{Error, ErrorKind, Resources, Result};

use crate::error::ErrorObject;

/// Runs an entry that can fail: its error, or its panic, goes to `*error`.
pub fn guard(error: *mut *mut ErrorObject, body: impl FnOnce() -> Result<c_int>) -> c_int {
    let outcome = catch_unwind(AssertUnwindSafe(body));
    let outcome = outcome.unwrap_or_else(|_| {
        Err(Error::internal("call Farcall", "it panicked; please report this"))
    });
    let (status, object) = match outcome {
        Ok(status) => (status, std::ptr::null_mut()),
        Err(error) => {
            (c_int::from(error.kind().code()), Box::into_raw(Box::new(ErrorObject::from(error))))
        }
    };
    if !error.is_null() {
        // SAFETY: not NULL, so it is the caller's place for the error.
        unsafe { error.write(object) };
    } else if !object.is_null() {
        // SAFETY: made above, and nobody else has it.
        drop(unsafe { Box::from_raw(object) });
    }
    status
}

/// Runs an entry that has no way to report: a panic gives `otherwise`.
pub fn quietly<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

fn missing(what: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "call Farcall", format!("{what} is NULL"))
}

/// An object that the caller holds.
///
/// # Safety
/// NULL, or an object that lives through `'a`.
pub unsafe fn object<'a, T>(pointer: *const T, what: &str) -> Result<&'a T> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or_else(|| missing(what))
}

/// A place for a result. It holds NULL until [`Place::fill`].
pub struct Place<T>(*mut *mut T);

impl<T> Place<T> {
    /// # Safety
    /// NULL, or a place that may be written to.
    pub unsafe fn new(place: *mut *mut T, what: &str) -> Result<Place<T>> {
        // SAFETY: the caller's promise.
        let optional = unsafe { Place::optional(place) };
        if place.is_null() { Err(missing(what)) } else { Ok(optional) }
    }

    /// A place that the caller may leave out.
    ///
    /// # Safety
    /// As for [`Place::new`].
    pub unsafe fn optional(place: *mut *mut T) -> Place<T> {
        if !place.is_null() {
            // SAFETY: not NULL, so it may be written to.
            unsafe { place.write(std::ptr::null_mut()) };
        }
        Place(place)
    }

    /// Hands an object to the caller.
    pub fn fill(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not NULL, and `new` was promised that it may be written to.
            unsafe { self.0.write(Box::into_raw(Box::new(value))) };
        }
    }
}

/// A place for JSON text, which the caller frees with `farcall_text_free`.
impl Place<c_char> {
    /// # Safety
    /// As for [`Place::new`].
    pub unsafe fn json(place: *mut *mut c_char) -> Result<Place<c_char>> {
        // SAFETY: the caller's promise.
        unsafe { Place::new(place, "the pointer for the JSON text") }
    }

    /// Hands an array of JSON objects to the caller.
    pub fn fill_array(self, objects: &[String]) {
        if !self.0.is_null() {
            let text = c_text(&format!("[{}]", objects.join(",")));
            // SAFETY: as in `fill`.
            unsafe { self.0.write(text.into_raw()) };
        }
    }
}

/// Frees an object that the caller gives back.
///
/// # Safety
/// NULL, or what [`Place::fill`] handed out, used by nobody any more.
pub unsafe fn free<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: the caller's promise.
        quietly((), || drop(unsafe { Box::from_raw(pointer) }));
    }
}

/// NUL-terminated UTF-8 text.
///
/// # Safety
/// NULL, or NUL-terminated text that stays through `'a`.
pub unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(missing(what));
    }
    // SAFETY: not NULL, so it is text.
    let bytes = unsafe { CStr::from_ptr(pointer) };
    // Each call names its routine, mostly in ASCII: that is seen in half the time.
    if bytes.to_bytes().is_ascii() {
        // SAFETY: ASCII is UTF-8.
        return Ok(unsafe { std::str::from_utf8_unchecked(bytes.to_bytes()) });
    }
    bytes.to_str().map_err(|_| {
        Error::new(ErrorKind::InvalidArgument, "call Farcall", format!("{what} is not UTF-8"))
            .with("text", bytes.to_string_lossy())
            .fix("pass UTF-8 text")
    })
}

/// What a call asks to be given; NULL is nothing.
///
/// # Safety
/// As for [`text`].
pub unsafe fn resources(pointer: *const c_char, what: &str) -> Result<Resources> {
    // SAFETY: the caller's promise.
    unsafe { optional_text(pointer, what) }?.map_or(Ok(Resources::default()), str::parse)
}

/// Text that may be NULL.
///
/// # Safety
/// As for [`text`].
pub unsafe fn optional_text<'a>(pointer: *const c_char, what: &str) -> Result<Option<&'a str>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { text(pointer, what) }.map(Some)
}

/// `count` elements; none for NULL and 0.
///
/// # Safety
/// NULL, or that many elements that stay through `'a`.
pub unsafe fn elements<'a, T>(pointer: *const T, count: usize, what: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(missing(what).with("count", count));
    }
    if count > isize::MAX as usize / size_of::<T>().max(1) {
        let message = format!("{what} cannot have that many elements");
        return Err(
            Error::new(ErrorKind::InvalidArgument, "call Farcall", message).with("count", count)
        );
    }
    // SAFETY: not NULL, of a length that memory can have; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Bytes of the shortest structure of options that there ever was.
const OPTIONS_BYTES_MIN: usize = 16;

/// A structure of options that begins with its size, so that later versions may add members: a
/// caller's structure may be longer than ours if nothing is set that we do not know. What a shorter
/// one lacks is zero.
///
/// # Safety
/// NULL, or a structure as long as its first member says; all bit patterns are values of `T`.
pub unsafe fn options<T: Copy>(pointer: *const T, what: &str) -> Result<Option<T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    let wrong = |message: &str| {
        Error::new(ErrorKind::InvalidArgument, "call Farcall", format!("{what}: {message}"))
            .fix("set every member to zero, then set size to sizeof of the structure")
    };
    // SAFETY: every such structure begins with its size.
    let size = unsafe { pointer.cast::<usize>().read() };
    if !(OPTIONS_BYTES_MIN..=4096).contains(&size) {
        return Err(wrong("its size is not set").with("size", size));
    }
    let known = size.min(size_of::<T>());
    // SAFETY: the structure is as long as its first member says.
    let rest = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>().add(known), size - known) };
    if rest.iter().any(|byte| *byte != 0) {
        return Err(wrong("a member is set that this version of Farcall does not support")
            .with("size", size));
    }
    let mut options = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: both have so many bytes, and all bit patterns are values, zeros among them.
    Ok(Some(unsafe {
        std::ptr::copy_nonoverlapping(pointer.cast::<u8>(), options.as_mut_ptr().cast(), known);
        options.assume_init()
    }))
}

/// Seconds that limit something: none for 0.
pub fn limit(seconds: f64) -> Result<Option<Duration>> {
    limit_of("timeout", seconds)
}

/// The same of a time that has another name for callers.
pub fn limit_of(name: &str, seconds: f64) -> Result<Option<Duration>> {
    if seconds.is_nan() || seconds < 0.0 {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            "call Farcall",
            format!("the {name} is negative"),
        )
        .with("seconds", seconds)
        .fix("0 means no time limit"));
    }
    // More than a `Duration` holds is no limit either, but what rounds to nothing is one.
    let limit = Duration::try_from_secs_f64(seconds).ok().filter(|_| seconds > 0.0);
    Ok(limit.map(|limit| limit.max(Duration::from_nanos(1))))
}

/// Seconds to wait: `None` is for ever.
pub fn patience(seconds: f64) -> Result<Option<Duration>> {
    if seconds.is_nan() {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            "call Farcall",
            "the timeout is not a number",
        ));
    }
    Ok(Duration::try_from_secs_f64(seconds).ok())
}

/// Text for C: a NUL inside, which C would take for the end, becomes U+FFFD.
pub fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).expect("no NUL is left")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn options_of_earlier_and_later_versions_are_taken() {
        #[repr(C)]
        #[derive(Clone, Copy)]
        struct Known {
            size: usize,
            old: u64,
            new: u64,
        }
        let read = |words: &[u64; 4]| {
            // SAFETY: as long as its first member says, or refused.
            unsafe { options(words.as_ptr().cast::<Known>(), "known") }
                .map(|known| known.map(|one| (one.old, one.new)))
        };
        assert_eq!(read(&[16, 5, 6, 7]).unwrap(), Some((5, 0)), "what a shorter one lacks is zero");
        assert_eq!(read(&[24, 5, 6, 7]).unwrap(), Some((5, 6)));
        assert_eq!(read(&[32, 5, 6, 0]).unwrap(), Some((5, 6)));
        assert!(
            read(&[32, 5, 6, 7]).is_err()
                && read(&[8, 0, 0, 0]).is_err()
                && read(&[5000, 0, 0, 0]).is_err()
        );
    }

    #[test]
    fn only_zero_and_what_no_clock_holds_are_no_limit() {
        let nanosecond = Some(Duration::from_nanos(1));
        for (seconds, wanted) in [(0.0, None), (-0.0, None), (1e300, None), (f64::INFINITY, None)] {
            assert_eq!(limit(seconds).unwrap(), wanted, "{seconds}");
        }
        for seconds in [f64::MIN_POSITIVE, 5e-324, 1e-12, 4e-10, 1e-9] {
            assert_eq!(limit(seconds).unwrap(), nanosecond, "{seconds}");
        }
        assert_eq!(limit(0.25).unwrap(), Some(Duration::from_millis(250)));
        assert!(limit(-1e-300).is_err() && limit(f64::NAN).is_err());
        let error = limit_of("run_timeout", -1.0).unwrap_err().to_string();
        assert!(error.contains("the run_timeout is negative (seconds: -1)"), "{error}");
    }
}
