//! Stacks of arguments: every element is an address.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use crate::code::{Failure, Outcome};
use crate::context::current;
use crate::pointers::missing;

/// A stack of more than this is a mistake.
const MAX: usize = 1 << 20;

/// `grpc_arg_stack_t`.
pub struct Stack {
    max: usize,
    arguments: Mutex<Vec<*mut c_void>>,
}

/// An empty one.
pub fn create(max: usize) -> Outcome<*mut Stack> {
    current()?;
    if max > MAX {
        return Err(Failure::other(format!(
            "a stack of {max} arguments: at most {MAX} are possible"
        )));
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
pub unsafe fn push(stack: *const Stack, argument: *mut c_void) -> Outcome<()> {
    // SAFETY: the caller's promise.
    let stack = unsafe { of(stack) }?;
    let mut arguments = stack.arguments.lock().unwrap_or_else(PoisonError::into_inner);
    if arguments.len() >= stack.max {
        return Err(Failure::other(format!(
            "the stack is full: it was made for {} arguments",
            stack.max
        )));
    }
    arguments.push(argument);
    Ok(())
}

/// # Safety
/// NULL, or a stack.
pub unsafe fn pop(stack: *const Stack) -> Outcome<*mut c_void> {
    // SAFETY: the caller's promise.
    let last = unsafe { of(stack) }?.arguments.lock().unwrap_or_else(PoisonError::into_inner).pop();
    last.ok_or_else(|| Failure::other("the stack is empty"))
}

/// # Safety
/// NULL, or a stack that the caller gives up.
pub unsafe fn destruct(stack: *mut Stack) -> Outcome<()> {
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
