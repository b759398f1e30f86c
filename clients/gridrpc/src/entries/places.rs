//! Where the handles of a configuration go, for clients of other languages: they make calls of their
//! own, over the connections that `grpc_function_handle_init` would use.

use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use farcall_c::{ClientObject, c_text};

use crate::attributes::HandleAttributes;
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
unsafe extern "C" fn farcall_grpc_places_connect(
    places: *const Places,
    wanted: *const c_char,
    name: *const c_char,
    of_class: c_int,
    client: *mut *mut ClientObject,
    words: *mut *mut c_char,
) -> c_int {
    let connect = || {
        // SAFETY: farcall.h: a place for the client.
        let place = unsafe { place(client, "the pointer for the client") }?;
        *place = std::ptr::null_mut();
        // SAFETY: farcall.h: places that were read, and text, here and below.
        let places = unsafe { places.as_ref() }.ok_or_else(|| missing("the places"))?;
        // SAFETY: as above.
        let wanted = unsafe { optional_text(wanted, "the handle's attributes") }?;
        // SAFETY: as above.
        let name = unsafe { text(name, "the function's name") }?;
        let wanted = HandleAttributes::of_lines(wanted.unwrap_or_default(), name)?;
        let found = places.0.find(&wanted, name, of_class != 0)?;
        let client = ClientObject::new(found.connection.client.clone());
        *place = Box::into_raw(Box::new(client));
        Ok(found.json())
    };
    // SAFETY: farcall.h: NULL or a place for the words.
    unsafe { answered(words, connect) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_places_note(
    places: *const Places,
    server: c_int,
    words: *const c_char,
) {
    let note = || {
        // SAFETY: farcall.h: NULL or places that were read, and text.
        let places = unsafe { places.as_ref() }.ok_or_else(|| missing("the places"))?;
        // SAFETY: as above.
        let words = unsafe { text(words, "the line") }?;
        places.0.note(usize::try_from(server).unwrap_or(usize::MAX), words);
        Ok(String::new())
    };
    // SAFETY: nobody wants words.
    unsafe { answered(std::ptr::null_mut(), note) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_places_free(places: *mut Places) {
    if !places.is_null() {
        // SAFETY: farcall.h: places that the caller gives up.
        drop(unsafe { Box::from_raw(places) });
    }
}
