//! `farcall_data`: values that stay at a server.

use std::ffi::{c_char, c_int};

use farcall_base::abi::argument_kind;
use farcall_base::abi::element::VOID;
use farcall_base::abi::status::OK;
use farcall_client::idl::data::{DATA_RANK_MAX, DataKind};
use farcall_client::idl::interface::{ElementType, Order};
use farcall_client::{Argument, Data, DataId, DataStatus, Error, ErrorKind, Output, Result};

use crate::argument::{RawArgument, read_all};
use crate::boundary::{Place, c_text, elements, free, guard, object, text};
use crate::call::{CallObject, RawOptions, read_options, taken_up};
use crate::client::ClientObject;
use crate::element::of_number;
use crate::error::ErrorObject;
use crate::keeping::{quoted, write_id};
use crate::results::ResultsObject;
use crate::routine::RoutineObject;

/// `farcall_data`.
pub struct DataObject(pub Data);

/// # Safety
/// NULL or text.
unsafe fn read_id(id: *const c_char) -> Result<DataId> {
    // SAFETY: the caller's promise.
    unsafe { text(id, "the id of the data") }?.parse()
}

/// The kind of data that an array is.
fn kind_of(array: &RawArgument) -> Result<DataKind> {
    let wrong = |message: &'static str| {
        Error::new(ErrorKind::InvalidArgument, "put data", message)
            .fix("pass FARCALL_ARRAY with data, element, rank and shape")
    };
    if array.kind() != argument_kind::ARRAY {
        return Err(wrong("it is not an array").with("kind", array.kind()));
    }
    let element = Some(array.element())
        .filter(|number| *number != VOID)
        .and_then(|number| of_number(number, ElementType::Float64))
        .ok_or_else(|| wrong("unknown type of elements"))?;
    let rank = usize::try_from(array.rank()).ok().filter(|rank| *rank <= DATA_RANK_MAX);
    rank.and_then(|rank| DataKind::new(element, rank, Order::Row)).ok_or_else(|| {
        wrong("data cannot be such an array")
            .with("elements", element.name())
            .with("dimensions", array.rank())
            .fix("pass an array of numbers or characters with 1 to 15 dimensions")
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_put(
    client: *const ClientObject,
    array: *const RawArgument,
    given: *const RawOptions,
    data: *mut *mut DataObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h says what all of them are, here and below.
        let place = unsafe { Place::new(data, "the pointer for the data") }?;
        // SAFETY: as above.
        let client = &unsafe { object(client, "the client") }?.client;
        // SAFETY: as above.
        let array = unsafe { object(array, "the array") }?;
        // SAFETY: as above.
        let options = unsafe { read_options(given) }?;
        let interface = kind_of(array)?.interface();
        let unset = interface.parameters.iter().skip(1).map(|_| RawArgument::UNSET);
        let all: Vec<RawArgument> = unset.chain([*array]).collect();
        // SAFETY: farcall.h: the array is as it says until this returns.
        let (mut arguments, _) = unsafe { read_all(&interface, &all) }?;
        let value = arguments.pop().unwrap_or_default();
        if matches!(value, Argument::Null) {
            let message = "the array's data is NULL, and it has elements";
            return Err(Error::new(ErrorKind::InvalidArgument, "put data", message)
                .fix("pass the address of its first element"));
        }
        place.fill(DataObject(client.put(value, &options)?));
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_find_data(
    client: *const ClientObject,
    id: *const c_char,
    data: *mut *mut DataObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h says what all of them are, here and below.
        let place = unsafe { Place::new(data, "the pointer for the data") }?;
        // SAFETY: as above.
        let client = &unsafe { object(client, "the client") }?.client;
        // SAFETY: as above.
        place.fill(DataObject(client.data_of(unsafe { read_id(id) }?)?));
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_find_several_data(
    client: *const ClientObject,
    ids: *const *const c_char,
    count: usize,
    data: *mut *mut DataObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        let all = data;
        for index in 0..count {
            // SAFETY: farcall.h: as many places as ids, here and below.
            unsafe { Place::new(all.wrapping_add(index), "the pointer for the data") }?;
        }
        // SAFETY: farcall.h: a client.
        let client = &unsafe { object(client, "the client") }?.client;
        // SAFETY: farcall.h: as many texts.
        let ids = unsafe { elements(ids, count, "the ids") }?;
        // SAFETY: as above.
        let ids: Result<Vec<DataId>> = ids.iter().map(|id| unsafe { read_id(*id) }).collect();
        for (index, found) in client.data_of_all(&ids?)?.into_iter().enumerate() {
            // SAFETY: as above.
            let place = unsafe { Place::optional(all.wrapping_add(index)) };
            if let Some(found) = found {
                place.fill(DataObject(found));
            }
        }
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_data_list(
    client: *const ClientObject,
    json: *mut *mut c_char,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a place for text.
        let json = unsafe { Place::json(json) }?;
        // SAFETY: farcall.h: a client.
        let all = unsafe { object(client, "the client") }?.client.data()?;
        json.fill_array(&all.iter().map(told).collect::<Vec<_>>());
        Ok(OK)
    })
}

fn told(data: &DataStatus) -> String {
    let extents: Vec<String> = data.extents.iter().map(u64::to_string).collect();
    let left = data.left_us.map_or("null".to_owned(), |us| (us as f64 / 1e6).to_string());
    let state = data.state.word();
    let reason = data.failure.clone().map(|failure| quoted(&Error::from(failure).to_string()));
    let reason = reason.unwrap_or_else(|| "null".to_owned());
    let element = DataKind::of_routine(&data.kind).map_or("", |kind| kind.element.name());
    format!(
        "{{\"id\":\"{}\",\"state\":\"{state}\",\"type\":{},\"extents\":[{}],\"bytes\":{},\
         \"seconds_left\":{left},\"principal\":{},\"reason\":{reason}}}",
        data.id,
        quoted(element),
        extents.join(","),
        data.bytes,
        quoted(&data.principal),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_call_data(
    call: *const CallObject,
    parameter: usize,
    data: *mut *mut DataObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h says what all of them are, here and below.
        let place = unsafe { Place::new(data, "the pointer for the data") }?;
        // SAFETY: as above.
        let call = unsafe { object(call, "the call") }?;
        place.fill(DataObject(call.data(parameter).ok_or_else(|| not_data(parameter))?));
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_results_data(
    results: *const ResultsObject,
    parameter: usize,
    data: *mut *mut DataObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h says what all of them are, here and below.
        let place = unsafe { Place::new(data, "the pointer for the data") }?;
        // SAFETY: as above.
        let results = unsafe { object(results, "the results") }?;
        let Some(Output::Data(found)) = results.outputs.all().get(parameter) else {
            return Err(not_data(parameter));
        };
        place.fill(DataObject(found.clone()));
        Ok(OK)
    })
}

fn not_data(parameter: usize) -> Error {
    let message = "the parameter has no result that stays at the server";
    Error::new(ErrorKind::NotFound, "read a result", message)
        .with("parameter", parameter)
        .fix("name the result in farcall_call_options.stay")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_data_fetch(
    data: *const DataObject,
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
        let data = &unsafe { object(data, "the data") }?.0;
        // SAFETY: as above.
        let options = unsafe { read_options(given) }?;
        let (found, of) = taken_up(data.start_fetch(&options)?, &options);
        routine.fill(RoutineObject::new(of));
        place.fill(found);
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_data_id(data: *const DataObject, id: *mut c_char) -> c_int {
    // SAFETY: farcall.h: NULL or data.
    let Some(data) = (unsafe { data.as_ref() }) else { return 0 };
    // SAFETY: farcall.h: NULL, or room for 33 bytes.
    unsafe { write_id(&data.0.id().to_string(), id) };
    1
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_data_element(data: *const DataObject) -> u32 {
    // SAFETY: farcall.h: data.
    unsafe { data.as_ref() }.map_or(0, |data| data.0.kind().element.abi_number())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_data_rank(data: *const DataObject) -> usize {
    // SAFETY: farcall.h: data.
    unsafe { data.as_ref() }.map_or(0, |data| data.0.kind().rank)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_data_extents(data: *const DataObject) -> *const u64 {
    // SAFETY: farcall.h: data.
    let extents = unsafe { data.as_ref() }.and_then(|data| data.0.extents());
    extents.map_or(std::ptr::null(), <[u64]>::as_ptr)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_data_server(data: *const DataObject) -> *mut c_char {
    // SAFETY: farcall.h: data.
    let data = unsafe { data.as_ref() };
    data.map_or(std::ptr::null_mut(), |data| c_text(&data.0.server()).into_raw())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_data_delete(
    data: *const DataObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    // SAFETY: farcall.h: data.
    guard(error, || unsafe { object(data, "the data") }?.0.delete().map(|()| OK))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_data_leave(data: *const DataObject) {
    // SAFETY: farcall.h: NULL or data.
    if let Some(data) = unsafe { data.as_ref() } {
        data.0.leave();
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_data_free(data: *mut DataObject) {
    // SAFETY: farcall.h: NULL, or data that nobody else uses.
    unsafe { free(data) };
}
