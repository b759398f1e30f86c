//! Objects and arrays of function handles.

use std::ffi::{CString, c_char, c_int};

use farcall_base::abi::status::{OK, PENDING};
use farcall_client::{Error, ErrorKind, Hold, HoldOptions, Result};

use crate::boundary::{
    Place, c_text, free, guard, limit, limit_of, object, options, patience, resources, text,
};
use crate::client::ClientObject;
use crate::error::ErrorObject;

/// `farcall_hold`.
pub struct HoldObject {
    hold: Hold,
    name: CString,
    server: CString,
}

/// `farcall_hold_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawHoldOptions {
    size: usize,
    lease_seconds: f64,
    start_seconds: f64,
    detached: u32,
    ranks: u32,
    resources: *const c_char,
}

/// # Safety
/// Options as farcall.h says.
unsafe fn read(given: Option<RawHoldOptions>) -> Result<HoldOptions> {
    let mut wanted = HoldOptions::default();
    let Some(given) = given else { return Ok(wanted) };
    if let Some(lease) = limit_of("lease", given.lease_seconds)? {
        wanted.lease = lease;
    }
    wanted.start = limit(given.start_seconds)?;
    wanted.detached = given.detached != 0;
    wanted.ranks = given.ranks;
    // SAFETY: farcall.h: NULL or text.
    wanted.resources = unsafe { resources(given.resources, "farcall_hold_options: resources") }?;
    Ok(wanted)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_hold_start(
    client: *const ClientObject,
    name: *const c_char,
    count: u32,
    given: *const RawHoldOptions,
    hold: *mut *mut HoldObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a place for the hold.
        let place = unsafe { Place::new(hold, "the pointer for the hold") }?;
        // SAFETY: farcall.h: a client.
        let client = unsafe { object(client, "the client") }?;
        // SAFETY: farcall.h: text.
        let name = unsafe { text(name, "the name") }?;
        // SAFETY: farcall.h: options with their size, or NULL.
        let wanted = unsafe { read(options(given, "farcall_hold_options")?) }?;
        let hold = client.client.hold(name, count, &wanted)?;
        let name = c_text(hold.name());
        let server = c_text(hold.server());
        place.fill(HoldObject { hold, name, server });
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_hold_ready(
    hold: *const HoldObject,
    timeout_seconds: f64,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a hold.
        let hold = unsafe { object(hold, "the hold") }?;
        let timeout = patience(timeout_seconds)?;
        Ok(if hold.hold.ready(timeout)? { OK } else { PENDING })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_hold_release(
    hold: *const HoldObject,
    timeout_seconds: f64,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a hold.
        let hold = unsafe { object(hold, "the hold") }?;
        hold.hold.release(patience(timeout_seconds)?)?;
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_hold_name(hold: *const HoldObject) -> *const c_char {
    // SAFETY: farcall.h: NULL or a hold.
    unsafe { hold.as_ref() }.map_or(std::ptr::null(), |hold| hold.name.as_ptr())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_hold_server(hold: *const HoldObject) -> *const c_char {
    // SAFETY: farcall.h: NULL or a hold.
    unsafe { hold.as_ref() }.map_or(std::ptr::null(), |hold| hold.server.as_ptr())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_hold_count(hold: *const HoldObject) -> u32 {
    // SAFETY: farcall.h: NULL or a hold.
    unsafe { hold.as_ref() }.map_or(0, |hold| hold.hold.count())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_hold_id(
    hold: *const HoldObject,
    index: u32,
    id: *mut u8,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a hold.
        let hold = unsafe { object(hold, "the hold") }?;
        let count = hold.hold.count();
        let found = hold.hold.first().after(index).filter(|_| index < count && !id.is_null());
        let found = found.ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidArgument,
                "name an object",
                "no object has this index, or the pointer for its id is NULL",
            )
            .with("index", index)
            .with("count", count)
        })?;
        // SAFETY: farcall.h: a place for 16 bytes.
        unsafe { id.cast::<[u8; 16]>().write(found.0) };
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_hold_free(hold: *mut HoldObject) {
    // SAFETY: farcall.h: NULL or a hold that the caller gives up.
    unsafe { free(hold) }
}
