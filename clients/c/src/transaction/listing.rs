//! Transactions by their ids: lists of them, when and where their calls ran, and their results.

use std::ffi::{c_char, c_int};
use std::time::Duration;

use farcall_base::abi::status::OK;
use farcall_client::{
    Client, Error, Result, TimedCall, TransactionId, TransactionResult, TransactionStatus,
};

use crate::boundary::{Place, guard, object, text};
use crate::client::ClientObject;
use crate::error::ErrorObject;
use crate::keeping::quoted;

/// # Safety
/// NULL or text.
unsafe fn read_id(id: *const c_char) -> Result<TransactionId> {
    // SAFETY: the caller's promise.
    unsafe { text(id, "the id of the transaction") }?.parse()
}

/// Fills a place with what is known of a client's transactions, as JSON.
///
/// # Safety
/// A place for text, and a client.
unsafe fn tell(
    client: *const ClientObject,
    json: *mut *mut c_char,
    error: *mut *mut ErrorObject,
    find: impl FnOnce(&Client) -> Result<Vec<String>>,
) -> c_int {
    guard(error, || {
        // SAFETY: the caller's promise, here and below.
        let json = unsafe { Place::json(json) }?;
        // SAFETY: as above.
        let client = &unsafe { object(client, "the client") }?.client;
        json.fill_array(&find(client)?);
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_transactions_list(
    client: *const ClientObject,
    id: *const c_char,
    json: *mut *mut c_char,
    error: *mut *mut ErrorObject,
) -> c_int {
    let find = |client: &Client| {
        let found = if id.is_null() {
            client.transactions()?
        } else {
            // SAFETY: farcall.h: text.
            client.transactions_of(&[unsafe { read_id(id) }?])?
        };
        Ok(found.iter().map(status).collect())
    };
    // SAFETY: farcall.h says what all of them are.
    unsafe { tell(client, json, error, find) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_transactions_timeline(
    client: *const ClientObject,
    id: *const c_char,
    json: *mut *mut c_char,
    error: *mut *mut ErrorObject,
) -> c_int {
    // SAFETY: farcall.h says what all of them are, here and below.
    let find = |client: &Client| Ok(timeline(&client.timeline(unsafe { read_id(id) }?)?));
    // SAFETY: as above.
    unsafe { tell(client, json, error, find) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_transactions_results(
    client: *const ClientObject,
    id: *const c_char,
    json: *mut *mut c_char,
    error: *mut *mut ErrorObject,
) -> c_int {
    let find = |client: &Client| {
        // SAFETY: farcall.h: text.
        let found = client.transaction_results(unsafe { read_id(id) }?)?;
        Ok(found.iter().map(result).collect())
    };
    // SAFETY: farcall.h says what all of them are.
    unsafe { tell(client, json, error, find) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_transactions_end(
    client: *const ClientObject,
    id: *const c_char,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h says what both of them are, here and below.
        let client = &unsafe { object(client, "the client") }?.client;
        // SAFETY: as above.
        client.end_transactions(vec![unsafe { read_id(id) }?]).map(|()| OK)
    })
}

fn or_null<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

fn status(one: &TransactionStatus) -> String {
    let reason = one.failure.clone().map(|failure| quoted(&Error::from(failure).to_string()));
    format!(
        "{{\"id\":\"{}\",\"state\":\"{}\",\"calls\":{},\"returned\":{},\"failed\":{},\"age\":{},\
         \"seconds_left\":{},\"principal\":{},\"reason\":{}}}",
        one.id,
        if one.is_over { "ended" } else { "running" },
        one.calls,
        one.returned,
        one.failed,
        one.age_us as f64 / 1e6,
        or_null(one.left_us.map(|us| us as f64 / 1e6)),
        quoted(&one.principal),
        or_null(reason),
    )
}

fn timeline(calls: &[TimedCall]) -> Vec<String> {
    let seconds = |time: Option<Duration>| or_null(time.map(|time| time.as_secs_f64()));
    let told = |(number, call): (usize, &TimedCall)| {
        format!(
            "{{\"call\":{number},\"routine\":{},\"server\":{},\"state\":\"{}\",\"attempts\":{},\
             \"ready\":{},\"opened\":{},\"begun\":{},\"ended\":{}}}",
            quoted(&call.routine),
            or_null(call.server.as_deref().map(quoted)),
            call.state.words(),
            call.attempts,
            seconds(call.ready),
            seconds(call.opened),
            seconds(call.begun),
            seconds(call.ended),
        )
    };
    calls.iter().enumerate().map(told).collect()
}

fn result(one: &TransactionResult) -> String {
    format!(
        "{{\"call\":{},\"routine\":{},\"parameter\":{},\"data\":\"{}\"}}",
        one.call,
        quoted(&one.routine),
        quoted(&one.parameter),
        one.data,
    )
}
