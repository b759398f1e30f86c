//! Places that free what lies in them, for bindings whose collector calls C alone.

use std::ffi::c_void;

use crate::boundary::quietly;

/// `farcall_place`.
#[repr(C)]
struct Place {
    object: *mut c_void,
    free: Option<unsafe extern "C" fn(*mut c_void)>,
    process: i64,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_place_clear(place: *mut c_void) {
    // SAFETY: farcall.h: NULL or a `farcall_place`, used by nobody else at this moment.
    let Some(place) = (unsafe { place.cast::<Place>().as_mut() }) else { return };
    let object = std::mem::replace(&mut place.object, std::ptr::null_mut());
    // A forked process has copies of objects, but not the threads and locks that they rely on.
    if object.is_null() || i64::from(std::process::id()) != place.process {
        return;
    }
    if let Some(free) = place.free {
        // SAFETY: farcall.h: the function that frees the object.
        quietly((), || unsafe { free(object) });
    }
}
