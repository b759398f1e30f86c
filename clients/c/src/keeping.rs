//! Calls that go on without the program that made them: their ids, and how they are found by them.

use std::ffi::{c_char, c_int};

use farcall_base::abi::status::{OK, PENDING};
use farcall_client::{CallId, KeptCall, Result, Unanswered};

use crate::boundary::{Place, guard, object, patience, text};
use crate::call::{CallObject, RawOptions, fetch};
use crate::client::ClientObject;
use crate::error::ErrorObject;
use crate::routine::RoutineObject;

/// Bytes of an id as text, with the NUL.
const ID_BYTES: usize = 33;

/// # Safety
/// NULL or text.
unsafe fn read_id(id: *const c_char) -> Result<CallId> {
    // SAFETY: the caller's promise.
    unsafe { text(id, "the call's id") }?.parse()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_call_wait_kept(
    call: *const CallObject,
    timeout_seconds: f64,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a call.
        let call = unsafe { object(call, "the call") }?;
        Ok(if call.wait_kept(patience(timeout_seconds)?)? { OK } else { PENDING })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_call_id(call: *const CallObject, id: *mut c_char) -> c_int {
    // SAFETY: farcall.h: NULL or a call.
    let Some(found) = unsafe { call.as_ref() }.and_then(CallObject::id) else { return 0 };
    // SAFETY: farcall.h: NULL, or room for 33 bytes.
    unsafe { write_id(&found.to_string(), id) };
    1
}

/// # Safety
/// NULL, or room for 33 bytes.
pub unsafe fn write_id(digits: &str, id: *mut c_char) {
    if !id.is_null() {
        // SAFETY: the caller's promise.
        let place = unsafe { std::slice::from_raw_parts_mut(id.cast::<u8>(), ID_BYTES) };
        place[..ID_BYTES - 1].copy_from_slice(digits.as_bytes());
        place[ID_BYTES - 1] = 0;
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_fetch(
    client: *const ClientObject,
    id: *const c_char,
    given: *const RawOptions,
    routine: *mut *mut RoutineObject,
    call: *mut *mut CallObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h says what all of them are, here and below.
        let place = unsafe { Place::new(call, "the pointer for the call") }?;
        // SAFETY: as above.
        let routine = unsafe { Place::optional(routine) };
        // SAFETY: as above.
        let client = &unsafe { object(client, "the client") }?.client;
        // SAFETY: as above.
        let (found, of) = unsafe { fetch(client, read_id(id)?, given) }?;
        routine.fill(RoutineObject::new(of));
        place.fill(found);
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_forget(
    client: *const ClientObject,
    id: *const c_char,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a client, here and below.
        let client = &unsafe { object(client, "the client") }?.client;
        // SAFETY: as above: text.
        client.forget_call(unsafe { read_id(id) }?).map(|()| OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_kept(
    client: *const ClientObject,
    json: *mut *mut c_char,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a place for text.
        let json = unsafe { Place::json(json) }?;
        // SAFETY: farcall.h: a client.
        let calls = unsafe { object(client, "the client") }?.client.kept()?;
        json.fill_array(&calls.iter().map(told).collect::<Vec<_>>());
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_kept_by_server(
    client: *const ClientObject,
    json: *mut *mut c_char,
    unanswered: *mut *mut c_char,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: places for text.
        let (json, silent) = unsafe { (Place::json(json)?, Place::json(unanswered)?) };
        // SAFETY: farcall.h: a client.
        let kept = unsafe { object(client, "the client") }?.client.kept_by_server()?;
        let of_server = |(server, calls): &(String, Vec<KeptCall>)| {
            let server = quoted(server);
            let calls = calls.iter().map(told);
            calls.map(|call| call.replacen('{', &format!("{{\"server\":{server},"), 1)).collect()
        };
        let calls: Vec<Vec<String>> = kept.answers.iter().map(of_server).collect();
        let told = |one: &Unanswered| {
            let error = quoted(one.error.message());
            format!("{{\"server\":{},\"error\":{error}}}", quoted(&one.server))
        };
        json.fill_array(&calls.concat());
        silent.fill_array(&kept.unanswered.iter().map(told).collect::<Vec<_>>());
        Ok(OK)
    })
}

/// A string of JSON's.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

fn told(call: &KeptCall) -> String {
    // What the server says may have any letters.
    let note = call.note.clone().unwrap_or_default();
    let [principal, routine, arguments, label] =
        [&call.principal, &call.routine, &note.arguments, &note.label]
            .map(|text| text.chars().map(escaped).collect::<String>());
    format!(
        "{{\"id\":\"{}\",\"routine\":\"{routine}\",\"state\":\"{}\",\"bytes\":{},\"seconds_left\":{},\"durable\":{},\
         \"principal\":\"{principal}\",\"submitted\":{},\"arguments\":\"{arguments}\",\
         \"label\":\"{label}\"}}",
        call.id,
        call.state.word(),
        call.bytes,
        call.left_us as f64 / 1e6,
        call.durable,
        note.submitted_us as f64 / 1e6,
    )
}

/// A letter inside of a string of JSON's.
pub fn escaped(letter: char) -> String {
    match letter {
        '"' | '\\' => format!("\\{letter}"),
        letter if u32::from(letter) < 0x20 => format!("\\u{:04x}", u32::from(letter)),
        letter => letter.to_string(),
    }
}
