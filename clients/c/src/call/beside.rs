//! What may be asked of a call while another thread waits for it.

use std::ffi::c_int;
use std::time::Instant;

use farcall_base::abi::status::OK;
use farcall_client::{Error, ErrorKind};

use super::CallObject;
use crate::boundary::{guard, object};
use crate::error::ErrorObject;

/// `farcall_transfer`.
#[repr(C)]
pub struct RawTransfer {
    sent: u64,
    to_send: u64,
    received: u64,
    to_receive: u64,
    callback_arguments_seconds: f64,
    callback_results_seconds: f64,
    reserved: [u64; 2],
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_call_cancel(
    call: *const CallObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a call.
        let call = unsafe { object(call, "the call") }?;
        match call.client.cancel(call.number) {
            // Then the call has ended, and its outcome says so.
            Err(error) if error.kind() == ErrorKind::ConnectionLost => Ok(OK),
            outcome => outcome.map(|()| OK),
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_call_number(call: *const CallObject) -> u64 {
    // SAFETY: farcall.h: NULL or a call.
    unsafe { call.as_ref() }.map_or(0, |call| call.number)
}

/// Seconds since then; -1 for never.
fn seconds_since(moment: Option<Instant>) -> f64 {
    moment.map_or(-1.0, |moment| moment.elapsed().as_secs_f64())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_call_transfer(
    call: *const CallObject,
    transfer: *mut RawTransfer,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a call.
        let call = unsafe { object(call, "the call") }?;
        if transfer.is_null() {
            let message = "the pointer for the transfer is NULL";
            return Err(Error::new(ErrorKind::InvalidArgument, "look at a call", message));
        }
        let moved = call.client.transfer(call.number);
        let callbacks = call.client.callback_times(call.number);
        let told = RawTransfer {
            sent: moved.sent,
            to_send: moved.to_send,
            received: moved.received,
            to_receive: moved.to_receive,
            callback_arguments_seconds: seconds_since(callbacks.arguments_since),
            callback_results_seconds: seconds_since(callbacks.results_since),
            reserved: [0; 2],
        };
        // SAFETY: not NULL, so it may be written to.
        unsafe { transfer.write(told) };
        Ok(OK)
    })
}
