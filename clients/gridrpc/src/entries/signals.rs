//! Signal handlers of the program's own.

use std::ffi::c_int;

use crate::code::{Failure, Outcome};
use crate::context::current;
use crate::entry::enter;

fn set(signal: c_int, handler: Option<extern "C" fn(c_int)>) -> Outcome<()> {
    let context = current()?;
    let set = match handler {
        Some(handler) => context.signals.set(signal, handler as libc::sighandler_t),
        None => context.signals.unset(signal),
    };
    set.map_err(|error| Failure::other(format!("signal {signal}: {error}")))
}

#[unsafe(no_mangle)]
extern "C" fn farcall_grpc_signal_handler_set_np(
    signal: c_int,
    handler: Option<extern "C" fn(c_int)>,
) -> c_int {
    enter("grpc_signal_handler_set_np", || set(signal, handler))
}
