//! Calls with the arguments of a stack.

use std::ffi::{c_char, c_int};

use farcall_c::TaggedValue;

use crate::calling::{Wanted, call, start};
use crate::code::Outcome;
use crate::context::current;
use crate::entry::{enter, enter_or_minus_one};
use crate::pointers::{RawHandle, place, text};
use crate::stacks::{Stack, elements};
use crate::waiting::VOID;

/// A call as an entry is given it.
struct OnStack {
    handle: *mut RawHandle,
    /// Of an object; none of a function.
    method: Option<*const c_char>,
    attributes: Option<*const RawHandle>,
    stack: *const Stack,
}

impl OnStack {
    fn function(handle: *mut RawHandle, stack: *const Stack) -> OnStack {
        OnStack { handle, method: None, attributes: None, stack }
    }

    /// Has `act` make or start it.
    ///
    /// # Safety
    /// A handle, and a stack of what the interface says; attributes; text.
    unsafe fn with<T>(
        &self,
        act: impl FnOnce(&Wanted<'_>, &mut dyn FnMut(u32) -> TaggedValue) -> Outcome<T>,
    ) -> Outcome<T> {
        let context = current()?;
        // SAFETY: the caller's promise, here and below.
        let method =
            self.method.map(|method| unsafe { text(method, "the method's name") }).transpose()?;
        // SAFETY: as above.
        let given = self
            .attributes
            .map(|attributes| unsafe { context.session_attributes.find(attributes) });
        // SAFETY: as above.
        let arguments = unsafe { elements(self.stack) }?;
        // SAFETY: as above.
        let handle = unsafe { context.handles(method.is_some()).find(self.handle) }?;
        let attributes = given.transpose()?;
        let given = self.handle;
        let count = Some(arguments.len());
        let wanted = Wanted {
            context,
            handle,
            given,
            method,
            attributes,
            count,
            by_address: false,
            classic: false,
            fortran: false,
        };
        let mut left = arguments.into_iter();
        act(&wanted, &mut |tag| {
            let address = left.next().unwrap_or(std::ptr::null_mut());
            // SAFETY: as above; as many are asked for as there are.
            unsafe { TaggedValue::at(tag, address.cast()) }
        })
    }

    /// # Safety
    /// As for [`OnStack::with`].
    unsafe fn call(&self) -> Outcome<()> {
        // SAFETY: the caller's promise.
        unsafe { self.with(|wanted, next| call(wanted, next)) }
    }

    /// # Safety
    /// As for [`OnStack::with`], until the session has ended.
    unsafe fn start(&self) -> Outcome<c_int> {
        // SAFETY: the caller's promise.
        unsafe { self.with(|wanted, next| start(wanted, next)) }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_call_arg_stack(
    handle: *mut RawHandle,
    stack: *const Stack,
) -> c_int {
    // SAFETY: grpc.h: a handle, and a stack of what the interface says, here and below.
    enter_or_minus_one("grpc_call_arg_stack", || unsafe { OnStack::function(handle, stack).call() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_call_arg_stack_async(
    handle: *mut RawHandle,
    stack: *const Stack,
) -> c_int {
    let wanted = OnStack::function(handle, stack);
    // SAFETY: as above.
    enter_or_minus_one("grpc_call_arg_stack_async", || unsafe { wanted.start() }.map(drop))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_call_argstack(
    handle: *mut RawHandle,
    stack: *const Stack,
) -> c_int {
    // SAFETY: as above.
    enter("grpc_call_argstack", || unsafe { OnStack::function(handle, stack).call() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_call_argstack_async(
    handle: *mut RawHandle,
    session: *mut c_int,
    stack: *const Stack,
) -> c_int {
    enter("grpc_call_argstack_async", || {
        current()?;
        // SAFETY: grpc.h: a place for a number.
        let place = unsafe { place(session, "the pointer for the session") }?;
        *place = VOID;
        // SAFETY: as above.
        *place = unsafe { OnStack::function(handle, stack).start() }?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_call_arg_stack_with_attr_np(
    handle: *mut RawHandle,
    attributes: *const RawHandle,
    stack: *const Stack,
) -> c_int {
    let wanted = OnStack { handle, method: None, attributes: Some(attributes), stack };
    // SAFETY: as above, and attributes.
    enter_or_minus_one("grpc_call_arg_stack_with_attr_np", || unsafe { wanted.call() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_call_arg_stack_async_with_attr_np(
    handle: *mut RawHandle,
    attributes: *const RawHandle,
    stack: *const Stack,
) -> c_int {
    let wanted = OnStack { handle, method: None, attributes: Some(attributes), stack };
    enter_or_minus_one("grpc_call_arg_stack_async_with_attr_np", || {
        // SAFETY: as above, and attributes.
        unsafe { wanted.start() }.map(drop)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_invoke_arg_stack_np(
    handle: *mut RawHandle,
    method: *const c_char,
    stack: *const Stack,
) -> c_int {
    let wanted = OnStack { handle, method: Some(method), attributes: None, stack };
    // SAFETY: as above, and text.
    enter_or_minus_one("grpc_invoke_arg_stack_np", || unsafe { wanted.call() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_invoke_arg_stack_async_np(
    handle: *mut RawHandle,
    method: *const c_char,
    stack: *const Stack,
) -> c_int {
    let wanted = OnStack { handle, method: Some(method), attributes: None, stack };
    // SAFETY: as above, and text.
    enter_or_minus_one("grpc_invoke_arg_stack_async_np", || unsafe { wanted.start() }.map(drop))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_invoke_arg_stack_with_attr_np(
    handle: *mut RawHandle,
    method: *const c_char,
    attributes: *const RawHandle,
    stack: *const Stack,
) -> c_int {
    let wanted = OnStack { handle, method: Some(method), attributes: Some(attributes), stack };
    // SAFETY: as above, text and attributes.
    enter_or_minus_one("grpc_invoke_arg_stack_with_attr_np", || unsafe { wanted.call() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_invoke_arg_stack_async_with_attr_np(
    handle: *mut RawHandle,
    method: *const c_char,
    attributes: *const RawHandle,
    stack: *const Stack,
) -> c_int {
    let wanted = OnStack { handle, method: Some(method), attributes: Some(attributes), stack };
    enter_or_minus_one("grpc_invoke_arg_stack_async_with_attr_np", || {
        // SAFETY: as above, text and attributes.
        unsafe { wanted.start() }.map(drop)
    })
}
