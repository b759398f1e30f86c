//! Where the handles of a configuration go, for clients of other languages: they make connections
//! and calls of their own, to the servers that `grpc_function_handle_init` would take.

use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use farcall_c::c_text;

use crate::code::{Code, Failure, Outcome};
use crate::context::configuration;
use crate::pointers::{missing, optional_text, place, text};
use crate::servers::Servers;

/// `farcall_grpc_places`.
pub struct Places(Servers);

/// Runs an entry: its answer, or what is wrong, goes to `words`. Nothing is logged: the caller's
/// language has its own way to tell of failures.
///
/// # Safety
/// `words` is NULL, or a place that may be written to.
unsafe fn answered(words: *mut *mut c_char, body: impl FnOnce() -> Outcome<String>) -> c_int {
    let panicked = || Err(Failure::other("Farcall panicked; please report this"));
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| panicked());
    let (code, said) = match outcome {
        Ok(answer) => (Code::NoError, answer),
        Err(failure) => (failure.code, failure.words),
    };
    // SAFETY: the caller's promise.
    if let Some(words) = unsafe { words.as_mut() } {
        *words = c_text(&said).into_raw();
    }
    code as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_places_read(
    file: *const c_char,
    places: *mut *mut Places,
    words: *mut *mut c_char,
) -> c_int {
    let read = || {
        // SAFETY: farcall.h: a place for the object, and NULL or text.
        let place = unsafe { place(places, "the pointer for the places") }?;
        *place = std::ptr::null_mut();
        // SAFETY: as above.
        let given = unsafe { optional_text(file, "the configuration file") }?;
        let file = given.and_then(|given| configuration(Some(given)));
        let servers = Servers::read(file.as_deref())?.with_private_default();
        *place = Box::into_raw(Box::new(Places(servers)));
        Ok(String::new())
    };
    // SAFETY: farcall.h: NULL or a place for the words.
    unsafe { answered(words, read) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_places_find(
    places: *const Places,
    host: *const c_char,
    port: c_int,
    name: *const c_char,
    of_class: c_int,
    words: *mut *mut c_char,
) -> c_int {
    let find = || {
        // SAFETY: farcall.h: places that were read, and text, here and below.
        let places = unsafe { places.as_ref() }.ok_or_else(|| missing("the places"))?;
        // SAFETY: as above.
        let host = unsafe { optional_text(host, "the server's name") }?;
        // SAFETY: as above.
        let name = unsafe { text(name, "the function's name") }?;
        places.0.address_for(host, port, name, of_class != 0)
    };
    // SAFETY: farcall.h: NULL or a place for the words.
    unsafe { answered(words, find) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_places_free(places: *mut Places) {
    if !places.is_null() {
        // SAFETY: farcall.h: places that the caller gives up.
        drop(unsafe { Box::from_raw(places) });
    }
}
