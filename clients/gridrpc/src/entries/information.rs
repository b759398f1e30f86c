//! What C is told of sessions: how long their parts took, in the structs of grpc.h.

use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::time::Duration;

use crate::code::{Failure, Outcome};
use crate::context::current;
use crate::entry::enter;
use crate::information::Measured;
use crate::numbers::grpc_session_status;
use crate::pointers::place;
use crate::sessions::{Stage, Table};

/// `struct timeval`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Time {
    seconds: i64,
    microseconds: i64,
}

impl From<Duration> for Time {
    fn from(duration: Duration) -> Time {
        let seconds = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
        Time { seconds, microseconds: duration.subsec_micros().into() }
    }
}

/// Real and processor time of one part.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Pair {
    real: Time,
    processor: Time,
}

impl Pair {
    fn new(real: Duration, processor: Duration) -> Pair {
        Pair { real: real.into(), processor: processor.into() }
    }
}

/// `grpc_exec_info_executable_t_np`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct OfExecutable {
    callbacks: c_int,
    arguments: Pair,
    files_to_remote: Pair,
    calculation: Pair,
    results: Pair,
    files_to_client: Pair,
    callback_arguments: Pair,
    callback_calculation: Pair,
    callback_results: Pair,
}

/// `grpc_exec_info_client_t_np`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct OfClient {
    callbacks: c_int,
    machine_request: Pair,
    class_request: Pair,
    job_start: Pair,
    arguments: Pair,
    calculation: Pair,
    results: Pair,
    callback_arguments: Pair,
    callback_calculation: Pair,
    callback_results: Pair,
}

/// `grpc_compression_info_t_np`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct OfCompression {
    valid: c_int,
    original: usize,
    travelled: usize,
    compression: Pair,
    decompression: Pair,
}

/// `grpc_session_info_t_np`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawInformation {
    executable: OfExecutable,
    client: OfClient,
    elements: c_int,
    to_remote: *mut OfCompression,
    to_client: *mut OfCompression,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<RawInformation>() == 584, "variadic.c says 584 bytes");

impl Measured {
    fn raw(&self) -> RawInformation {
        let calculation = self.finished.saturating_sub(self.started);
        let results = self.whole.saturating_sub(self.sending).saturating_sub(self.finished);
        let real = |duration| Pair::new(duration, Duration::ZERO);
        let of_files = |any: bool, duration| if any { real(duration) } else { Pair::default() };
        let callbacks = c_int::try_from(self.callbacks.count).unwrap_or(c_int::MAX);
        let callback_arguments = real(self.callbacks.arguments);
        let callback_results = real(self.callbacks.results);
        let callback_calculation = real(self.callbacks.calculation);
        let executable = OfExecutable {
            callbacks,
            callback_arguments,
            callback_calculation,
            callback_results,
            arguments: real(self.started),
            calculation: Pair::new(calculation, self.processor),
            results: real(results),
            files_to_remote: of_files(self.files.sent, self.started),
            files_to_client: of_files(self.files.received, results),
        };
        let client = OfClient {
            callbacks,
            callback_arguments,
            callback_calculation,
            callback_results,
            machine_request: real(self.binding.connecting),
            class_request: real(self.binding.looking_up),
            arguments: Pair::new(self.sending, self.sending_processor),
            calculation: real(self.whole.saturating_sub(self.sending).saturating_sub(results)),
            results: real(results),
            ..OfClient::default()
        };
        let none = std::ptr::null_mut();
        RawInformation { executable, client, elements: 0, to_remote: none, to_client: none }
    }

    /// What compression saved, by argument, one way: an array that [`RawInformation::free`] frees.
    fn compression(&self, is_result: bool) -> *mut OfCompression {
        let mut all = vec![OfCompression::default(); self.arguments];
        for array in self.compressed.iter().filter(|array| array.is_result == is_result) {
            let Some(place) = all.get_mut(array.parameter) else { continue };
            let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
            let time = Pair::new(array.saved.time, Duration::ZERO);
            let (compression, decompression) =
                if is_result { (Pair::default(), time) } else { (time, Pair::default()) };
            let original = size(array.bytes);
            let travelled = size(array.bytes.saturating_sub(array.saved.bytes));
            *place = OfCompression { valid: 1, original, travelled, compression, decompression };
        }
        Box::into_raw(all.into_boxed_slice()).cast()
    }

    /// The same as [`Measured::raw`], with what was compressed.
    fn whole(&self) -> RawInformation {
        let elements = c_int::try_from(self.arguments).unwrap_or(c_int::MAX);
        RawInformation {
            elements,
            to_remote: self.compression(false),
            to_client: self.compression(true),
            ..self.raw()
        }
    }
}

/// `GRPC_SESSION_DONE` and so on.
fn status(stage: &Stage) -> c_int {
    match stage {
        Stage::Ended => grpc_session_status::DONE,
        Stage::Sending => grpc_session_status::ARG_IS_NOT_TRANSMITED,
        Stage::Executing => grpc_session_status::EXECUTING,
        Stage::Lost => grpc_session_status::DOWN,
    }
}

impl RawInformation {
    /// Frees what it points to.
    ///
    /// # Safety
    /// It is what [`Measured::whole`] made, and nobody uses it any more.
    unsafe fn free(&self) {
        let count = usize::try_from(self.elements).unwrap_or(0);
        for array in [self.to_remote, self.to_client] {
            // SAFETY: the caller's promise: an array of so many.
            drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(array, count)) });
        }
    }
}

fn look(table: &Table, session: c_int) -> Outcome<(RawInformation, c_int)> {
    let (measured, stage) = table.information(session)?;
    Ok((measured.raw(), status(&stage)))
}

/// The same of the call that ended last.
fn look_at_last(table: &Table) -> Outcome<(RawInformation, c_int)> {
    match (table.last_call(), table.last_ended()) {
        (Some(measured), _) => Ok((measured.raw(), status(&Stage::Ended))),
        (None, Some(last)) => look(table, last),
        (None, None) => Err(Failure::other("no call has finished yet")),
    }
}

/// # Safety
/// NULL, or places, here and below.
unsafe fn tell(
    found: (RawInformation, c_int),
    information: *mut RawInformation,
    status: *mut c_int,
) {
    // SAFETY: the caller's promise.
    if let Some(place) = unsafe { information.as_mut() } {
        *place = found.0;
    }
    // SAFETY: as above.
    if let Some(place) = unsafe { status.as_mut() } {
        *place = found.1;
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_session_info_get_np(
    session: c_int,
    information: *mut *mut RawInformation,
    status: *mut c_int,
) -> c_int {
    enter("grpc_session_info_get_np", || {
        let (measured, stage) = current()?.sessions.lock().information(session)?;
        // SAFETY: grpc.h: NULL or places, here and below.
        if let Some(place) = unsafe { information.as_mut() } {
            *place = Box::into_raw(Box::new(measured.whole()));
        }
        // SAFETY: as above.
        if let Some(place) = unsafe { status.as_mut() } {
            *place = self::status(&stage);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_session_info_release_np(
    information: *mut RawInformation,
) -> c_int {
    enter("grpc_session_info_release_np", || {
        current()?;
        // SAFETY: grpc.h: what `grpc_session_info_get_np` gave, which the caller gives up.
        let given = unsafe { place(information, "the information") }?;
        // SAFETY: as above.
        let given = unsafe { Box::from_raw(given) };
        // SAFETY: as above.
        unsafe { given.free() };
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_get_info_np(
    session: c_int,
    information: *mut RawInformation,
    status: *mut c_int,
) -> c_int {
    enter("grpc_get_info_np", || {
        let found = look(&current()?.sessions.lock(), session)?;
        // SAFETY: grpc.h: NULL or places.
        unsafe { tell(found, information, status) };
        Ok(())
    })
}

/// The name of the server that a session ran on; 0: that the last call ran on.
fn server_of(table: &Table, session: c_int) -> Outcome<Arc<str>> {
    let measured = match (session, table.last_call(), table.last_ended()) {
        (0, Some(last), _) => last,
        (0, None, Some(last)) => table.information(last)?.0,
        (0, None, None) => return Err(Failure::other("no call has finished yet")),
        (session, ..) => table.information(session)?.0,
    };
    measured.server.ok_or_else(|| Failure::other("it has not returned"))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_session_server_get_np(
    session: c_int,
    server: *mut c_char,
    bytes: usize,
) -> c_int {
    enter("grpc_session_server_get_np", || {
        let name = server_of(&current()?.sessions.lock(), session)?;
        if server.is_null() || bytes == 0 {
            return Err(Failure::other("the place for the name is NULL, or has no bytes"));
        }
        let shown = name.len().min(bytes - 1);
        // SAFETY: grpc.h: a place of so many bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(name.as_ptr(), server.cast(), shown);
            *server.add(shown) = 0;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_get_last_info_np(
    information: *mut RawInformation,
    status: *mut c_int,
) -> c_int {
    enter("grpc_get_last_info_np", || {
        let context = current()?;
        let table = context.sessions.lock();
        let found = look_at_last(&table)?;
        // SAFETY: grpc.h: NULL or places.
        unsafe { tell(found, information, status) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn farcall_grpc_session_info_remove_np(session: c_int) -> c_int {
    enter("grpc_session_info_remove_np", || current()?.sessions.lock().remove_information(session))
}

#[unsafe(no_mangle)]
extern "C" fn farcall_grpc_session_info_set_threshold_np(count: c_int) -> c_int {
    enter("grpc_session_info_set_threshold_np", || {
        current()?.sessions.lock().set_information_max(usize::try_from(count).ok());
        Ok(())
    })
}
