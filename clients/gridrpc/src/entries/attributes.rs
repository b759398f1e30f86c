//! Attributes of handles and of sessions, as C makes, asks and sets them.

use std::ffi::{c_int, c_void};

use crate::attributes::members::RawHandleAttributes;
use crate::attributes::{HandleAttributes, SessionAttributes};
use crate::code::Outcome;
use crate::context::{Context, current};
use crate::entry::enter;
use crate::pointers::{RawHandle, place};

unsafe extern "C" {
    /// The C library's.
    fn free(memory: *mut c_void);
}

/// Hands attributes to the caller.
///
/// # Safety
/// NULL, or a place for them.
pub unsafe fn give(
    context: &Context,
    raw: *mut RawHandleAttributes,
    attributes: HandleAttributes,
) -> Outcome<()> {
    // SAFETY: the caller's promise.
    let place = unsafe { place(raw, "the pointer for the attributes") }?;
    context.handle_attributes.add(place, attributes);
    Ok(())
}

/// Frees what an attribute's value was copied to.
///
/// # Safety
/// NULL, or such a copy.
unsafe fn release(value: *mut c_void) -> Outcome<()> {
    current()?;
    // SAFETY: the caller's promise; `free` takes NULL.
    unsafe { free(value) };
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_handle_attr_initialize_np(
    raw: *mut RawHandleAttributes,
) -> c_int {
    // SAFETY: grpc.h: a place for attributes.
    enter("grpc_handle_attr_initialize_np", || unsafe {
        give(&*current()?, raw, HandleAttributes::default())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_handle_attr_restore(raw: *mut RawHandleAttributes) -> c_int {
    enter("grpc_handle_attr_restore", || {
        // SAFETY: grpc_fortran.h: a struct with a number.
        let raw = unsafe { place(raw, "the pointer for the attributes") }?;
        current()?.handle_attributes.restore(raw);
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_handle_attr_destruct_np(raw: *mut RawHandleAttributes) -> c_int {
    // SAFETY: grpc.h: attributes, here and below.
    enter("grpc_handle_attr_destruct_np", || unsafe { current()?.handle_attributes.remove(raw) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_handle_attr_get_np(
    raw: *const RawHandleAttributes,
    name: u32,
    value: *mut *mut c_void,
) -> c_int {
    enter("grpc_handle_attr_get_np", || {
        // SAFETY: grpc.h: attributes, and a place for an address, here and below.
        let mut found = unsafe { current()?.handle_attributes.find(raw) }?;
        // SAFETY: as above.
        *unsafe { place(value, "the pointer for the value") }? = found.value(name)?.copy()?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_handle_attr_set_np(
    raw: *mut RawHandleAttributes,
    name: u32,
    value: *const c_void,
) -> c_int {
    enter("grpc_handle_attr_set_np", || {
        let context = current()?;
        // SAFETY: grpc.h: attributes, and what the name asks for.
        unsafe {
            context.handle_attributes.change(raw, |attributes| attributes.value(name)?.set(value))
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_handle_attr_release_np(value: *mut c_void) -> c_int {
    // SAFETY: grpc.h: what an attribute's value was copied to.
    enter("grpc_handle_attr_release_np", || unsafe { release(value) })
}

/// Attributes for sessions of a handle.
///
/// # Safety
/// NULL, or a place for them.
unsafe fn give_session(
    context: &Context,
    raw: *mut RawHandle,
    handle: &HandleAttributes,
) -> Outcome<()> {
    // SAFETY: the caller's promise.
    let place = unsafe { place(raw, "the pointer for the attributes") }?;
    *place = context.session_attributes.add(SessionAttributes::of_handle(handle));
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_session_attr_initialize_np(
    handle: *const RawHandle,
    raw: *mut RawHandle,
) -> c_int {
    enter("grpc_session_attr_initialize_np", || {
        let context = current()?;
        // SAFETY: grpc.h: a handle, and a place for attributes, here and below.
        let handle = unsafe { context.handles.find(handle) }?;
        // SAFETY: as above.
        unsafe { give_session(&context, raw, &handle.attributes) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_session_attr_initialize_with_object_handle_np(
    handle: *const RawHandle,
    raw: *mut RawHandle,
) -> c_int {
    enter("grpc_session_attr_initialize_with_object_handle_np", || {
        let context = current()?;
        // SAFETY: grpc.h: a handle, and a place for attributes, here and below.
        let handle = unsafe { context.objects.find(handle) }?;
        // SAFETY: as above.
        unsafe { give_session(&context, raw, &handle.attributes) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_session_attr_destruct_np(raw: *mut RawHandle) -> c_int {
    // SAFETY: grpc.h: attributes.
    enter("grpc_session_attr_destruct_np", || unsafe { current()?.session_attributes.remove(raw) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_session_attr_get_np(
    raw: *const RawHandle,
    name: u32,
    value: *mut *mut c_void,
) -> c_int {
    enter("grpc_session_attr_get_np", || {
        // SAFETY: grpc.h: attributes, and a place for an address, here and below.
        let mut found = unsafe { current()?.session_attributes.find(raw) }?;
        // SAFETY: as above.
        *unsafe { place(value, "the pointer for the value") }? = found.value(name)?.copy()?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_session_attr_set_np(
    raw: *const RawHandle,
    name: u32,
    value: *const c_void,
) -> c_int {
    enter("grpc_session_attr_set_np", || {
        let context = current()?;
        // SAFETY: grpc.h: attributes, and what the name asks for.
        unsafe {
            context.session_attributes.change(raw, |attributes| attributes.value(name)?.set(value))
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_session_attr_release_np(value: *mut c_void) -> c_int {
    // SAFETY: grpc.h: what an attribute's value was copied to.
    enter("grpc_session_attr_release_np", || unsafe { release(value) })
}
