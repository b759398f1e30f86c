//! Calls of FORTRAN 77 programs.

use std::ffi::c_int;

use crate::calling::{Wanted, call, start};
use crate::code::Outcome;
use crate::context::current;
use crate::entry::enter;
use crate::fortran::RawFortran;
use crate::ninf;
use crate::pointers::{place, text};
use crate::waiting::VOID;

/// Makes or starts a call of GridRPC.
///
/// # Safety
/// As grpc_fortran.h says.
unsafe fn call_gridrpc(request: &RawFortran) -> Outcome<()> {
    let context = current()?;
    // SAFETY: the caller's promise, here and below.
    let method = match request.object.is_null() {
        true => None,
        // SAFETY: as above.
        false => Some(unsafe { text(request.called, "the method's name") }?),
    };
    let given = if method.is_some() { request.object } else { request.function };
    // SAFETY: as above.
    let handle = unsafe { context.handles(method.is_some()).find(given) }?;
    let interface = handle.routine(method)?.0.interface().clone();
    // SAFETY: as above.
    let passed = unsafe { request.passed(&interface) }?;
    let attributes = match request.attributes.is_null() {
        true => None,
        // SAFETY: as above.
        false => Some(unsafe { context.session_attributes.find(request.attributes) }?),
    };
    let given = request.variable;
    let count = None;
    let wanted = Wanted {
        context,
        handle,
        given,
        method,
        attributes,
        count,
        by_address: false,
        classic: false,
        fortran: true,
    };
    // SAFETY: as above.
    let next = unsafe { passed.in_turn() };
    if request.session.is_null() {
        // SAFETY: as above.
        return unsafe { call(&wanted, next) };
    }
    // SAFETY: as above.
    let session = unsafe { place(request.session, "the pointer for the session") }?;
    *session = VOID;
    // SAFETY: as above.
    *session = unsafe { start(&wanted, next) }?;
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_fortran(request: *const RawFortran) -> c_int {
    // SAFETY: grpc_fortran.h: a request with the entry's name, here and below.
    let Some(request) = (unsafe { request.as_ref() }) else { return VOID };
    // SAFETY: as above.
    let name = unsafe { text(request.name, "the entry's name") }.unwrap_or("GRPC_CALL");
    // SAFETY: as above.
    enter(name, || unsafe { call_gridrpc(request) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_fortran(request: *const RawFortran) -> c_int {
    // SAFETY: grpc_fortran.h: a request with the entry's name, here and below.
    let Some(request) = (unsafe { request.as_ref() }) else { return VOID };
    // SAFETY: as above.
    let name = unsafe { text(request.name, "the entry's name") }.unwrap_or("NINF_CALL");
    // SAFETY: as above.
    ninf::enter_fortran(name, || unsafe {
        ninf::call_fortran(text(request.called, "what is to be called")?, request)
    })
}
