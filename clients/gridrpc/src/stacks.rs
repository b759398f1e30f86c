//! Stacks of arguments: every element is an address.

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};

use crate::code::{Failure, Outcome};
use crate::context::current;
use crate::entry::{enter, enter_or_minus_one, missing, place};

/// A stack of more than this is a mistake.
const MAX: usize = 1 << 20;

/// `grpc_arg_stack_t`.
pub struct Stack {
    max: usize,
    arguments: Mutex<Vec<*mut c_void>>,
}

fn create(max: usize) -> Outcome<*mut Stack> {
    current()?;
    if max > MAX {
        return Err(Failure::other(format!("a stack of {max} arguments: at most {MAX} are possible")));
    }
    Ok(Box::into_raw(Box::new(Stack { max, arguments: Mutex::default() })))
}

/// # Safety
/// NULL, or a stack that lives through `'a`.
unsafe fn of<'a>(stack: *const Stack) -> Outcome<&'a Stack> {
    current()?;
    // SAFETY: the caller's promise.
    unsafe { stack.as_ref() }.ok_or_else(|| missing("the stack of arguments"))
}

/// # Safety
/// NULL, or a stack.
unsafe fn push(stack: *const Stack, argument: *mut c_void) -> Outcome<()> {
    // SAFETY: the caller's promise.
    let stack = unsafe { of(stack) }?;
    let mut arguments = stack.arguments.lock().unwrap_or_else(PoisonError::into_inner);
    if arguments.len() >= stack.max {
        return Err(Failure::other(format!("the stack is full: it was made for {} arguments", stack.max)));
    }
    arguments.push(argument);
    Ok(())
}

/// # Safety
/// NULL, or a stack.
unsafe fn pop(stack: *const Stack) -> Outcome<*mut c_void> {
    // SAFETY: the caller's promise.
    let last = unsafe { of(stack) }?.arguments.lock().unwrap_or_else(PoisonError::into_inner).pop();
    last.ok_or_else(|| Failure::other("the stack is empty"))
}

/// # Safety
/// NULL, or a stack that the caller gives up.
unsafe fn destruct(stack: *mut Stack) -> Outcome<()> {
    // SAFETY: the caller's promise, here and below.
    unsafe { of(stack) }?;
    // SAFETY: as above; not NULL.
    drop(unsafe { Box::from_raw(stack) });
    Ok(())
}

/// The elements of a stack, in the order of their pushes.
///
/// # Safety
/// NULL, or a stack.
pub unsafe fn elements(stack: *const Stack) -> Outcome<Vec<*mut c_void>> {
    // SAFETY: the caller's promise.
    Ok(unsafe { of(stack) }?.arguments.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

#[unsafe(no_mangle)]
extern "C" fn farcall_grpc_arg_stack_new(max: c_int) -> *mut Stack {
    let mut made = std::ptr::null_mut();
    enter("grpc_arg_stack_new", || {
        let max = usize::try_from(max).map_err(|_| Failure::other(format!("a stack of {max} arguments")))?;
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
unsafe extern "C" fn farcall_grpc_arg_stack_push_arg(stack: *const Stack, argument: *mut c_void) -> c_int {
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
unsafe extern "C" fn farcall_grpc_stack_pop(stack: *const Stack, argument: *mut *mut c_void) -> c_int {
    enter("grpc_stack_pop", || {
        // SAFETY: grpc.h: a place for an address, and a stack, here and below.
        let place = unsafe { place(argument, "the place for the argument") }?;
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
