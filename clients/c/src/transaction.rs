//! `farcall_transaction`: calls that run at a server as one graph.

mod listing;

use std::ffi::{c_char, c_int};

use farcall_base::abi::destination::NEW;
use farcall_base::abi::status::{OK, PENDING};
use farcall_client::idl::interface::Interface;
use farcall_client::{Begin, Error, ErrorKind, Result, Transaction, TransactionEnd};

use crate::argument::{RawArgument, read_all};
use crate::boundary::{Place, elements, free, guard, limit, limit_of, object, options, patience};
use crate::call::of_call;
use crate::client::ClientObject;
use crate::data::DataObject;
use crate::error::ErrorObject;
use crate::keeping::write_id;
use crate::routine::RoutineObject;

/// `farcall_transaction`.
pub struct TransactionObject(Transaction);

/// `farcall_transaction_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawBegin {
    size: usize,
    keep_seconds: f64,
    timeout_seconds: f64,
}

/// # Safety
/// NULL, or a transaction that lives through `'a`.
unsafe fn transaction<'a>(pointer: *const TransactionObject) -> Result<&'a Transaction> {
    // SAFETY: the caller's promise.
    Ok(&unsafe { object(pointer, "the transaction") }?.0)
}

fn slot_of(parameter: usize) -> Result<u16> {
    u16::try_from(parameter).map_err(|_| {
        Error::new(ErrorKind::NotFound, "read a result", "there is no such parameter")
            .with("parameter", parameter)
            .fix("pass the index of a parameter, as farcall_routine_find gives it")
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_transaction_new(
    client: *const ClientObject,
    made: *mut *mut TransactionObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h says what both of them are, here and below.
        let place = unsafe { Place::new(made, "the pointer for the transaction") }?;
        // SAFETY: as above.
        let client = &unsafe { object(client, "the client") }?.client;
        place.fill(TransactionObject(Transaction::new(client)?));
        Ok(OK)
    })
}

/// Refuses places for results.
fn check_destinations(interface: &Interface, arguments: &[RawArgument]) -> Result<()> {
    let mut all = interface.parameters.iter().zip(arguments);
    match all.find(|(_, argument)| argument.destination() != NEW) {
        None => Ok(()),
        Some((parameter, _)) => {
            let message = "results of a transaction go to no array of the program";
            Err(Error::new(ErrorKind::InvalidArgument, "write a transaction down", message)
                .with("parameter", &parameter.name)
                .fix("pass FARCALL_NEW, and fetch the result behind the transaction"))
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_transaction_call(
    of: *const TransactionObject,
    routine: *const RoutineObject,
    arguments: *const RawArgument,
    count: usize,
    after: *const u32,
    after_count: usize,
    number: *mut u32,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h says what all of them are, here and below.
        let of = unsafe { transaction(of) }?;
        // SAFETY: as above.
        let routine = &unsafe { object(routine, "the routine") }?.routine;
        // SAFETY: as above.
        let raw = unsafe { elements(arguments, count, "the arguments") }?;
        // SAFETY: as above.
        let after = unsafe { elements(after, after_count, "the calls before") }?;
        let told = of_call(routine, None);
        check_destinations(routine.interface(), raw).map_err(&told)?;
        // SAFETY: as above.
        let (arguments, _) = unsafe { read_all(routine.interface(), raw) }.map_err(&told)?;
        let written = of.call(routine, arguments, after)?;
        if !number.is_null() {
            // SAFETY: not NULL, so it may be written to.
            unsafe { number.write(written) };
        }
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_transaction_result(
    of: *const TransactionObject,
    call: u32,
    parameter: usize,
    data: *mut *mut DataObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h says what both of them are, here and below.
        let place = unsafe { Place::new(data, "the pointer for the data") }?;
        // SAFETY: as above.
        let of = unsafe { transaction(of) }?;
        place.fill(DataObject(of.result(call, slot_of(parameter)?)?));
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_transaction_want(
    of: *const TransactionObject,
    call: u32,
    parameter: usize,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a transaction.
        unsafe { transaction(of) }?.want(call, slot_of(parameter)?).map(|_| OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_transaction_begin(
    of: *const TransactionObject,
    given: *const RawBegin,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h says what both of them are, here and below.
        let of = unsafe { transaction(of) }?;
        // SAFETY: as above.
        let begin = match unsafe { options(given, "farcall_transaction_options") }? {
            None => Begin::default(),
            Some(given) => Begin {
                keep: limit_of("time to keep the transaction", given.keep_seconds)?,
                timeout: limit(given.timeout_seconds)?,
            },
        };
        of.begin(&begin).map(|()| OK)
    })
}

/// The error of the first call that failed.
fn first_failure(of: &Transaction, end: &TransactionEnd) -> Error {
    let told = |error: Error| {
        error.with("transaction", of.id()).with("calls that failed or did not run", end.failed)
    };
    match end.failures.first() {
        Some(first) => told(Error::from(first.failure.clone()).with("call", first.call)),
        None => {
            let message = "calls of the transaction failed";
            told(Error::new(ErrorKind::RoutineFailed, "wait for a transaction", message))
                .fix("its timeline shows which")
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_transaction_wait(
    of: *const TransactionObject,
    timeout_seconds: f64,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a transaction.
        let of = unsafe { transaction(of) }?;
        match of.wait(patience(timeout_seconds)?)? {
            None => Ok(PENDING),
            Some(end) if end.failed == 0 => Ok(OK),
            Some(end) => Err(first_failure(of, &end)),
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_transaction_done(
    of: *const TransactionObject,
    done: *mut c_int,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a transaction.
        let is_over = unsafe { transaction(of) }?.is_over()?;
        if !done.is_null() {
            // SAFETY: not NULL, so it may be written to.
            unsafe { done.write(is_over.into()) };
        }
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_transaction_id(
    of: *const TransactionObject,
    id: *mut c_char,
) -> c_int {
    // SAFETY: farcall.h: NULL or a transaction.
    let Some(of) = (unsafe { of.as_ref() }) else { return 0 };
    // SAFETY: farcall.h: NULL, or room for 33 bytes.
    unsafe { write_id(&of.0.id().to_string(), id) };
    1
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_transaction_leave(of: *const TransactionObject) {
    // SAFETY: farcall.h: NULL or a transaction.
    if let Some(of) = unsafe { of.as_ref() } {
        of.0.leave();
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_transaction_end(
    of: *const TransactionObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    // SAFETY: farcall.h: a transaction.
    guard(error, || unsafe { transaction(of) }?.end().map(|()| OK))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_transaction_free(of: *mut TransactionObject) {
    // SAFETY: farcall.h: NULL, or a transaction that nobody else uses.
    unsafe { free(of) };
}
