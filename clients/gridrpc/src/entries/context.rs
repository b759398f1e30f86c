//! Where a program begins and ends with GridRPC, and reads its configuration.

use std::ffi::{c_char, c_int};

use crate::code::{Code, Failure};
use crate::context::{configuration, current, finalize, initialize};
use crate::entry::enter;
use crate::pointers::optional_text;

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_initialize(file: *const c_char) -> c_int {
    enter("grpc_initialize", || {
        // SAFETY: grpc.h: NULL or text.
        initialize(unsafe { optional_text(file, "the configuration file") }?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn farcall_grpc_finalize() -> c_int {
    enter("grpc_finalize", finalize)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_config_file_read_np(file: *const c_char) -> c_int {
    enter("grpc_config_file_read_np", || {
        let context = current()?;
        // SAFETY: grpc.h: NULL or text.
        let given = unsafe { optional_text(file, "the configuration file") }?;
        match configuration(given) {
            Some(file) => context.servers.read_also(&file),
            None => Err(Failure::new(
                Code::ConfigfileNotFound,
                "no file is named, and there is no $HOME/.ngconf",
            )),
        }
    })
}
