//! Stacks of arguments, as C makes, fills and destructs them.

use std::ffi::{c_int, c_void};

use crate::code::Failure;
use crate::entry::{enter, enter_or_minus_one};
use crate::pointers::place;
use crate::stacks::{Stack, create, destruct, pop, push};

#[unsafe(no_mangle)]
extern "C" fn farcall_grpc_arg_stack_new(max: c_int) -> *mut Stack {
    let mut made = std::ptr::null_mut();
    enter("grpc_arg_stack_new", || {
        let max = usize::try_from(max)
            .map_err(|_| Failure::other(format!("a stack of {max} arguments")))?;
        made = create(max)?;
        Ok(())
    });
    made
}

#[unsafe(no_mangle)]
extern "C" fn farcall_grpc_stack_create(max: usize) -> *mut Stack {
    let mut made = std::ptr::null_mut();
    enter("grpc_stack_create", || {
        made = create(max)?;
        Ok(())
    });
    made
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_arg_stack_push_arg(
    stack: *const Stack,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: grpc.h: a stack.
    enter_or_minus_one("grpc_arg_stack_push_arg", || unsafe { push(stack, argument) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_stack_push(stack: *const Stack, argument: *mut c_void) -> c_int {
    // SAFETY: grpc.h: a stack.
    enter("grpc_stack_push", || unsafe { push(stack, argument) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_arg_stack_pop_arg(stack: *const Stack) -> *mut c_void {
    let mut last = std::ptr::null_mut();
    enter("grpc_arg_stack_pop_arg", || {
        // SAFETY: grpc.h: a stack.
        last = unsafe { pop(stack) }?;
        Ok(())
    });
    last
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_stack_pop(
    stack: *const Stack,
    argument: *mut *mut c_void,
) -> c_int {
    enter("grpc_stack_pop", || {
        // SAFETY: grpc.h: a place for an address, and a stack, here and below.
        let place = unsafe { place(argument, "the pointer for the argument") }?;
        // SAFETY: as above.
        *place = unsafe { pop(stack) }?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_arg_stack_destruct(stack: *mut Stack) -> c_int {
    // SAFETY: grpc.h: a stack that the caller gives up.
    enter_or_minus_one("grpc_arg_stack_destruct", || unsafe { destruct(stack) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_stack_destruct(stack: *mut Stack) -> c_int {
    // SAFETY: grpc.h: a stack that the caller gives up.
    enter("grpc_stack_destruct", || unsafe { destruct(stack) })
}
