//! Connections, look-ups and event loops.

use std::ffi::{CString, c_char, c_int};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::Duration;

use farcall_base::abi::status::{OK, PENDING};
use farcall_client::idl::json::to_json;
use farcall_client::{Address, ByteStream, Client, Error, ErrorKind, Result};

use crate::boundary::{
    Place, c_text, free, guard, limit, object, optional_text, options, patience, text,
};
use crate::error::ErrorObject;
use crate::routine::RoutineObject;
use crate::server::ServerOptions;

/// Time to connect unless the caller says another.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A network that works may take longer for an answer than less than this.
const HEARTBEAT_MIN: Duration = Duration::from_secs(1);

/// `farcall_client`.
pub struct ClientObject {
    /// The client.
    pub client: Client,
    address: CString,
}

impl ClientObject {
    /// An object for a client.
    pub fn new(client: Client) -> ClientObject {
        let address = c_text(client.address());
        ClientObject { client, address }
    }
}

/// `farcall_connect_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ConnectOptions {
    size: usize,
    address: *const c_char,
    token_file: *const c_char,
    timeout_seconds: f64,
    heartbeat_seconds: f64,
    reconnect_seconds: f64,
    settings: *const c_char,
    here: *const ServerOptions,
}

#[unsafe(no_mangle)]
extern "C" fn farcall_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_connect(
    address: *const c_char,
    client: *mut *mut ClientObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a place for the client.
        let place = unsafe { Place::new(client, "the pointer for the client") }?;
        // SAFETY: farcall.h: text or NULL.
        let address = unsafe { optional_text(address, "the address") }?;
        place.fill(ClientObject::new(Client::connect(address)?));
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_connect_with(
    given: *const ConnectOptions,
    client: *mut *mut ClientObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a place for the client.
        let place = unsafe { Place::new(client, "the pointer for the client") }?;
        // SAFETY: farcall.h: options with their size, or NULL; the pointers in them are text or
        // NULL.
        let connected = match unsafe { options(given, "farcall_connect_options") }? {
            // SAFETY: as above.
            Some(given) => unsafe { connect_with(&given) }?,
            None => Client::connect(None)?,
        };
        place.fill(ClientObject::new(connected));
        Ok(OK)
    })
}

/// # Safety
/// The pointers are text or NULL.
unsafe fn connect_with(given: &ConnectOptions) -> Result<Client> {
    // SAFETY: the caller's promise, here and below.
    let address = unsafe { optional_text(given.address, "the address") }?;
    // SAFETY: as above.
    let token_file =
        unsafe { optional_text(given.token_file, "the token's file") }?.map(PathBuf::from);
    let timeout = limit(given.timeout_seconds)?.unwrap_or(CONNECT_TIMEOUT);
    // SAFETY: as above.
    let settings = unsafe { optional_text(given.settings, "the settings") }?.unwrap_or_default();
    let far = farcall_client::FarSettings::parse(settings)?;
    let found = Address::given_or_default(address)?;
    // SAFETY: as above: options with their size, or NULL.
    let here = unsafe { options(given.here, "farcall_server_options") }?;
    // SAFETY: farcall.h: the pointers in it are valid.
    let here = here.map(|here| unsafe { here.read() }).transpose()?.unwrap_or_default();
    let options = farcall_client::ConnectOptions {
        secret: token_file,
        timeout,
        heartbeat: heartbeat(given.heartbeat_seconds)?,
        reconnect: reconnect(given.reconnect_seconds)?,
        linger: None,
        far,
        here,
        ..farcall_client::ConnectOptions::default()
    };
    Client::connect_with(&found, &options).map_err(|error| found.explain(error, address))
}

/// What `reconnect_seconds` says; `None`: what the environment does.
fn reconnect(seconds: f64) -> Result<Option<Duration>> {
    if seconds < 0.0 { Ok(Some(Duration::ZERO)) } else { limit(seconds) }
}

/// What `heartbeat_seconds` says; `None`: what the environment does.
fn heartbeat(seconds: f64) -> Result<Option<Duration>> {
    if seconds < 0.0 {
        return Ok(Some(Duration::ZERO));
    }
    let found = limit(seconds)?;
    if found.is_some_and(|limit| limit < HEARTBEAT_MIN) {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            "set the heartbeat",
            "the heartbeat is less than 1 second",
        )
        .with("seconds", seconds)
        .fix("pass at least 1 second, or a negative number for no heartbeat"));
    }
    Ok(found)
}

/// `farcall_running_server`, which the library has and the clients have not: `ask` makes the
/// connection to the server.
///
/// # Safety
/// `client` is a place for a client, `error` one for an error or NULL.
pub unsafe fn connect_inside(
    client: *mut *mut ClientObject,
    error: *mut *mut ErrorObject,
    ask: impl FnOnce() -> Result<Box<dyn ByteStream>>,
) -> c_int {
    guard(error, || {
        // SAFETY: the caller's promise.
        let place = unsafe { Place::new(client, "the pointer for the client") }?;
        place.fill(ClientObject::new(Client::inside_call(ask()?)?));
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_close(client: *const ClientObject) {
    // SAFETY: farcall.h: NULL or a client.
    if let Some(client) = unsafe { client.as_ref() } {
        client.client.close();
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_disconnect(client: *mut ClientObject) {
    // SAFETY: farcall.h: NULL or a client that the caller gives up.
    unsafe { free(client) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_address(client: *const ClientObject) -> *const c_char {
    // SAFETY: farcall.h: NULL or a client.
    unsafe { client.as_ref() }.map_or(std::ptr::null(), |client| client.address.as_ptr())
}

/// Looks a routine up; waits for ever, which ends with the client's timeout, or for so long.
///
/// # Safety
/// As farcall.h says of `farcall_lookup`.
unsafe fn look_up(
    client: *const ClientObject,
    name: *const c_char,
    wait: Option<Duration>,
    routine: *mut *mut RoutineObject,
) -> Result<c_int> {
    // SAFETY: the caller's promise, here and below.
    let place = unsafe { Place::new(routine, "the pointer for the routine") }?;
    // SAFETY: as above.
    let client = &unsafe { object(client, "the client") }?.client;
    // SAFETY: as above.
    let name = unsafe { text(name, "the routine's name") }?;
    let found = match wait {
        Some(wait) => client.routine_within(name, wait)?,
        None => Some(client.routine(name)?),
    };
    let Some(found) = found else { return Ok(PENDING) };
    place.fill(RoutineObject::new(found));
    Ok(OK)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_lookup(
    client: *const ClientObject,
    name: *const c_char,
    routine: *mut *mut RoutineObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    // SAFETY: farcall.h: a place for the routine, a client, and text.
    guard(error, || unsafe { look_up(client, name, None, routine) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_lookup_within(
    client: *const ClientObject,
    name: *const c_char,
    timeout_seconds: f64,
    routine: *mut *mut RoutineObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    // SAFETY: farcall.h: a place for the routine, a client, and text.
    guard(error, || unsafe { look_up(client, name, patience(timeout_seconds)?, routine) })
}

/// Lists all routines; waits as [`look_up`].
///
/// # Safety
/// As farcall.h says of `farcall_list`.
unsafe fn list(
    client: *const ClientObject,
    wait: Option<Duration>,
    json: *mut *mut c_char,
) -> Result<c_int> {
    // SAFETY: the caller's promise.
    let client = &unsafe { object(client, "the client") }?.client;
    // SAFETY: as above: a place for text.
    let json = unsafe { Place::json(json) }?;
    let routines = match wait {
        Some(wait) => client.routines_within(wait)?,
        None => Some(client.routines()?),
    };
    let Some(routines) = routines else { return Ok(PENDING) };
    let all: Vec<String> =
        routines.iter().map(|routine| to_json(routine.interface()).to_string()).collect();
    json.fill_array(&all);
    Ok(OK)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_list(
    client: *const ClientObject,
    json: *mut *mut c_char,
    error: *mut *mut ErrorObject,
) -> c_int {
    // SAFETY: farcall.h: a client, and a place for text.
    guard(error, || unsafe { list(client, None, json) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_list_within(
    client: *const ClientObject,
    timeout_seconds: f64,
    json: *mut *mut c_char,
    error: *mut *mut ErrorObject,
) -> c_int {
    // SAFETY: farcall.h: a client, and a place for text.
    guard(error, || unsafe { list(client, patience(timeout_seconds)?, json) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_text_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: farcall.h: text that `farcall_list` made and the caller gives up.
        drop(unsafe { CString::from_raw(text) });
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_events(client: *const ClientObject) -> c_int {
    // SAFETY: farcall.h: NULL or a client.
    unsafe { client.as_ref() }.map_or(-1, |client| client.client.events().as_raw_fd())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_process(
    client: *const ClientObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    // SAFETY: farcall.h: a client.
    guard(error, || unsafe { object(client, "the client") }?.client.process().map(|()| OK))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_next_finished(
    client: *const ClientObject,
    timeout_seconds: f64,
    number: *mut u64,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a client.
        let client = &unsafe { object(client, "the client") }?.client;
        let timeout = patience(timeout_seconds)?;
        if timeout.is_some_and(|timeout| timeout.is_zero()) {
            client.process()?;
        }
        let found = client.next_finished(timeout)?;
        if !number.is_null() {
            // SAFETY: not NULL, so it is a place for the number.
            unsafe { number.write(found.unwrap_or(0)) };
        }
        Ok(if found.is_some() { OK } else { PENDING })
    })
}
