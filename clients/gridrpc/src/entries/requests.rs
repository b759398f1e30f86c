//! What the variadic entries ask for (`variadic.c`): to make a call, or to start one.

use std::ffi::{c_char, c_int, c_void};

use farcall_c::TaggedValue;

use crate::calling::{Wanted, call, start};
use crate::code::Outcome;
use crate::context::current;
use crate::entry::enter_named;
use crate::pointers::{RawHandle, place, text};
use crate::waiting::VOID;

/// What a variadic entry wants: `struct gridrpc_request` of variadic.c.
#[repr(C)]
pub struct RawRequest {
    name: *const c_char,
    /// Below 0: not known.
    count: c_int,
    asynchronous: c_int,
    function: *mut RawHandle,
    object: *mut RawHandle,
    /// Whether it is for a method of an object.
    invokes: c_int,
    method: *const c_char,
    session: *mut c_int,
    has_attributes: c_int,
    attributes: *const RawHandle,
    /// Gives the next argument of this tag.
    fetch: unsafe extern "C" fn(tag: u32, arguments: *mut c_void, value: *mut TaggedValue),
    arguments: *mut c_void,
}

impl RawRequest {
    /// # Safety
    /// As variadic.c makes it.
    unsafe fn wanted(&self) -> Outcome<Wanted<'_>> {
        let context = current()?;
        // SAFETY: grpc.h: NULL or text; attributes, here and below.
        let method = || unsafe { text(self.method, "the method's name") };
        let method = (self.invokes != 0).then(method).transpose()?;
        // SAFETY: as above.
        let attributes = || unsafe { context.session_attributes.find(self.attributes) };
        let attributes = (self.has_attributes != 0).then(attributes).transpose()?;
        let given = if method.is_some() { self.object } else { self.function };
        // SAFETY: grpc.h: a handle.
        let handle = unsafe { context.handles(method.is_some()).find(given) }?;
        let count = usize::try_from(self.count).ok();
        Ok(Wanted {
            context,
            handle,
            given,
            method,
            attributes,
            count,
            by_address: true,
            classic: false,
            fortran: false,
        })
    }

    /// # Safety
    /// Arguments as the interface says.
    unsafe fn next(&self, tag: u32) -> TaggedValue {
        let mut value = TaggedValue::of_pointer(std::ptr::null_mut());
        // SAFETY: the caller's promise.
        unsafe { (self.fetch)(tag, self.arguments, &mut value) };
        value
    }

    /// # Safety
    /// As grpc.h says of the entry.
    unsafe fn act(&self) -> Outcome<()> {
        // SAFETY: the caller's promise, here and below.
        let next = |tag| unsafe { self.next(tag) };
        if self.asynchronous == 0 {
            // SAFETY: as above.
            return unsafe { call(&self.wanted()?, next) };
        }
        current()?;
        // SAFETY: as above.
        let session = unsafe { place(self.session, "the pointer for the session") }?;
        *session = VOID;
        // SAFETY: as above.
        *session = unsafe { start(&self.wanted()?, next) }?;
        Ok(())
    }
}

/// Makes or starts the call that a variadic entry wants.
#[unsafe(no_mangle)]
unsafe extern "C" fn gridrpc_request(request: *const RawRequest) -> c_int {
    // SAFETY: variadic.c: a request with the entry's name, here and below.
    let Some(request) = (unsafe { request.as_ref() }) else { return VOID };
    // SAFETY: as above.
    let name = || unsafe { text(request.name, "the entry's name") }.unwrap_or("gridrpc");
    // SAFETY: as above.
    enter_named(name, || unsafe { request.act() })
}
