//! What C asks about errors.

use std::ffi::{c_char, c_int};

use crate::code::{Code, words};
use crate::entry::{last, print};

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_error_string(code: c_int) -> *const c_char {
    words(code).as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_perror_np(text: *const c_char) -> c_int {
    // SAFETY: grpc.h: NULL or text.
    unsafe { print(text, last().as_ref()) };
    Code::NoError as c_int
}

#[unsafe(no_mangle)]
extern "C" fn farcall_grpc_last_error_get_np() -> c_int {
    last().map_or(Code::NoError, |failure| failure.code) as c_int
}
