//! Handles, as C makes, asks and destructs them: the same for functions and objects.

use std::ffi::{c_char, c_int};

use crate::attributes::HandleAttributes;
use crate::attributes::members::RawHandleAttributes;
use crate::code::{Code, Failure, Outcome};
use crate::context::{Context, current};
use crate::entry::{enter, print};
use crate::handles::{Handles, Kind, Processes};
use crate::held::Held;
use crate::pointers::{RawHandle, missing, optional_text, text};

use super::attributes::give;

/// More handles than this at once are a mistake.
const COUNT_MAX: usize = 1 << 20;

/// Handles as an entry wants them.
struct Wanted {
    kind: Kind,
    count: usize,
    is_array: bool,
}

impl Wanted {
    fn one(kind: Kind) -> Wanted {
        Wanted { kind, count: 1, is_array: false }
    }

    fn array(kind: Kind, count: usize) -> Wanted {
        Wanted { kind, count, is_array: true }
    }
}

fn table(context: &Context, kind: Kind) -> &Handles {
    context.handles(kind == Kind::Object)
}

fn check_count(count: usize) -> Outcome<()> {
    if count <= COUNT_MAX {
        return Ok(());
    }
    Err(Failure::other(format!("{count} handles: at most {COUNT_MAX} are possible")))
}

/// The caller's places for handles, with nothing in them.
///
/// # Safety
/// NULL, or places for so many.
unsafe fn places<'a>(handles: *mut RawHandle, count: usize) -> Outcome<&'a mut [RawHandle]> {
    if handles.is_null() {
        return Err(missing("the pointer for the handle"));
    }
    check_count(count)?;
    // SAFETY: the caller's promise; any bits are values of the words in it.
    let places = unsafe { std::slice::from_raw_parts_mut(handles, count) };
    places.fill_with(|| RawHandle::new(0));
    Ok(places)
}

/// Objects, and functions of arrays, have processes of their own; a single function has one where
/// it is bound to a server that was named, or that is this program's own.
fn bind(
    wanted: &Wanted,
    places: &mut [RawHandle],
    name: &str,
    attributes: &HandleAttributes,
) -> Outcome<()> {
    let context = current()?;
    let processes = match wanted {
        Wanted { kind: Kind::Function, is_array: false, .. } if attributes.host.is_none() => {
            Processes::Default
        }
        Wanted { kind: Kind::Function, is_array: false, .. } => Processes::Preferred,
        _ => Processes::Own(places.len()),
    };
    let bound = table(&context, wanted.kind).bind(&context.servers, name, attributes, processes)?;
    for (place, id) in places.iter_mut().zip(bound) {
        place.id = id;
    }
    Ok(())
}

/// Binds handles to a server's routine or class; to the first server that has it where `server` is
/// NULL.
///
/// # Safety
/// NULL, or places for so many handles; text.
unsafe fn init(
    wanted: &Wanted,
    handles: *mut RawHandle,
    server: *const c_char,
    name: *const c_char,
) -> Outcome<()> {
    current()?;
    // SAFETY: the caller's promise, here and below.
    let places = unsafe { places(handles, wanted.count) }?;
    // SAFETY: as above.
    let host = unsafe { optional_text(server, "the server's name") }?.map(str::to_owned);
    // SAFETY: as above.
    let name = unsafe { text(name, "the name") }?;
    bind(wanted, places, name, &HandleAttributes::of(host, name))
}

/// # Safety
/// NULL, or places for so many handles; attributes.
unsafe fn init_with(
    wanted: &Wanted,
    handles: *mut RawHandle,
    raw: *const RawHandleAttributes,
) -> Outcome<()> {
    let context = current()?;
    // SAFETY: the caller's promise, here and below.
    let places = unsafe { places(handles, wanted.count) }?;
    // SAFETY: as above.
    let attributes = unsafe { context.handle_attributes.find(raw) }?;
    let name = attributes
        .function
        .clone()
        .ok_or_else(|| Failure::other("set GRPC_HANDLE_ATTR_FUNCNAME first"))?;
    bind(wanted, places, &name, &attributes)
}

/// # Safety
/// NULL, or so many handles.
unsafe fn destruct(kind: Kind, handles: *mut RawHandle, count: usize) -> Outcome<()> {
    let context = current()?;
    let table = table(&context, kind);
    check_count(count)?;
    let mut outcome = Ok(());
    let mut held = Vec::new();
    let mut limit = None;
    for index in 0..count {
        let handle = if handles.is_null() { handles } else { handles.wrapping_add(index) };
        // SAFETY: the caller's promise.
        match unsafe { table.find(handle) } {
            Ok(found) => {
                table.remove(found.id);
                context.sessions.cancel_of(found.id);
                held.extend(found.held());
                limit = found.attributes.stop_limit();
            }
            // The others are destructed all the same.
            Err(failure) => outcome = Err(failure),
        }
        if handles.is_null() {
            break;
        }
    }
    outcome.and(Held::release(&held, limit))
}

/// # Safety
/// A handle; a place for attributes.
unsafe fn get_attributes(
    kind: Kind,
    handle: *const RawHandle,
    raw: *mut RawHandleAttributes,
) -> Outcome<()> {
    let context = current()?;
    // SAFETY: the caller's promise, here and below.
    let attributes = unsafe { table(&context, kind).find(handle) }?.attributes.clone();
    // SAFETY: as above.
    unsafe { give(&context, raw, attributes) }
}

/// # Safety
/// A handle; NULL or text.
unsafe fn perror(kind: Kind, handle: *const RawHandle, text: *const c_char) -> Outcome<()> {
    let context = current()?;
    // SAFETY: the caller's promise, here and below.
    let last = unsafe { table(&context, kind).find(handle) }?.last();
    // SAFETY: as above.
    unsafe { print(text, last.as_ref()) };
    Ok(())
}

/// # Safety
/// A handle.
unsafe fn get_error(name: &str, kind: Kind, handle: *const RawHandle) -> c_int {
    let mut code = Code::NoError;
    let status = enter(name, || {
        let context = current()?;
        // SAFETY: the caller's promise.
        let last = unsafe { table(&context, kind).find(handle) }?.last();
        code = last.map_or(Code::NoError, |failure| failure.code);
        Ok(())
    });
    if status == Code::NoError as c_int { code as c_int } else { status }
}

/// Whether a handle can take a call: its server is there, and has the name.
///
/// # Safety
/// A handle.
unsafe fn is_ready(kind: Kind, handle: *const RawHandle) -> Outcome<()> {
    let context = current()?;
    // SAFETY: the caller's promise.
    let ready = unsafe { table(&context, kind).find(handle) }?.is_ready()?;
    if ready { Ok(()) } else { Err(Failure::new(Code::NotCompleted, "its process starts")) }
}

/// The thirteen entries of one kind, as grpc.h says; that text is what makes each `unsafe` in them
/// right.
macro_rules! entries {
    ($kind:expr, $default:ident $default_array:ident $init:ident $init_array:ident
     $with:ident $with_array:ident $destruct:ident $destruct_array:ident $attributes:ident
     $perror:ident $error:ident $ready:ident) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $default(handle: *mut RawHandle, name: *const c_char) -> c_int {
            // SAFETY: grpc.h: a place for the handle, and text, here and below.
            enter(spoken(stringify!($default)), || unsafe {
                init(&Wanted::one($kind), handle, std::ptr::null(), name)
            })
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $default_array(
            handles: *mut RawHandle,
            count: usize,
            name: *const c_char,
        ) -> c_int {
            // SAFETY: as above, for so many handles.
            enter(spoken(stringify!($default_array)), || unsafe {
                init(&Wanted::array($kind, count), handles, std::ptr::null(), name)
            })
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $init(
            handle: *mut RawHandle,
            server: *const c_char,
            name: *const c_char,
        ) -> c_int {
            // SAFETY: as above.
            enter(spoken(stringify!($init)), || unsafe {
                init(&Wanted::one($kind), handle, server, name)
            })
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $init_array(
            handles: *mut RawHandle,
            count: usize,
            server: *const c_char,
            name: *const c_char,
        ) -> c_int {
            // SAFETY: as above.
            enter(spoken(stringify!($init_array)), || unsafe {
                init(&Wanted::array($kind, count), handles, server, name)
            })
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $with(
            handle: *mut RawHandle,
            attributes: *const RawHandleAttributes,
        ) -> c_int {
            // SAFETY: as above, and attributes.
            enter(spoken(stringify!($with)), || unsafe {
                init_with(&Wanted::one($kind), handle, attributes)
            })
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $with_array(
            handles: *mut RawHandle,
            count: usize,
            attributes: *const RawHandleAttributes,
        ) -> c_int {
            // SAFETY: as above.
            enter(spoken(stringify!($with_array)), || unsafe {
                init_with(&Wanted::array($kind, count), handles, attributes)
            })
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $destruct(handle: *mut RawHandle) -> c_int {
            // SAFETY: grpc.h: a handle, here and below.
            enter(spoken(stringify!($destruct)), || unsafe { destruct($kind, handle, 1) })
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $destruct_array(handles: *mut RawHandle, count: usize) -> c_int {
            // SAFETY: as above.
            enter(spoken(stringify!($destruct_array)), || unsafe {
                destruct($kind, handles, count)
            })
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $attributes(
            handle: *const RawHandle,
            attributes: *mut RawHandleAttributes,
        ) -> c_int {
            // SAFETY: as above, and a place for attributes.
            enter(spoken(stringify!($attributes)), || unsafe {
                get_attributes($kind, handle, attributes)
            })
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $perror(handle: *const RawHandle, text: *const c_char) -> c_int {
            // SAFETY: as above, and NULL or text.
            enter(spoken(stringify!($perror)), || unsafe { perror($kind, handle, text) })
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $error(handle: *const RawHandle) -> c_int {
            // SAFETY: as above.
            unsafe { get_error(spoken(stringify!($error)), $kind, handle) }
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $ready(handle: *const RawHandle) -> c_int {
            // SAFETY: as above.
            enter(spoken(stringify!($ready)), || unsafe { is_ready($kind, handle) })
        }
    };
}

/// An entry's name without what its symbol begins with.
fn spoken(symbol: &'static str) -> &'static str {
    symbol.strip_prefix("farcall_").unwrap_or(symbol)
}

entries! { Kind::Function,
    farcall_grpc_function_handle_default farcall_grpc_function_handle_array_default_np
    farcall_grpc_function_handle_init farcall_grpc_function_handle_array_init_np
    farcall_grpc_function_handle_init_with_attr_np
    farcall_grpc_function_handle_array_init_with_attr_np
    farcall_grpc_function_handle_destruct farcall_grpc_function_handle_array_destruct_np
    farcall_grpc_function_handle_get_attr_np farcall_grpc_function_handle_perror_np
    farcall_grpc_function_handle_get_error_np farcall_grpc_function_handle_is_ready_np
}

entries! { Kind::Object,
    farcall_grpc_object_handle_default_np farcall_grpc_object_handle_array_default_np
    farcall_grpc_object_handle_init_np farcall_grpc_object_handle_array_init_np
    farcall_grpc_object_handle_init_with_attr_np farcall_grpc_object_handle_array_init_with_attr_np
    farcall_grpc_object_handle_destruct_np farcall_grpc_object_handle_array_destruct_np
    farcall_grpc_object_handle_get_attr_np farcall_grpc_object_handle_perror_np
    farcall_grpc_object_handle_get_error_np farcall_grpc_object_handle_is_ready_np
}
