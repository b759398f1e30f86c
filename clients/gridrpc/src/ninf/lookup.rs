//! What a server has: a search of its functions, and the types of a function's arguments.

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use farcall_base::abi::tag::ELEMENT;
use farcall_c::{allocated, passing};
use farcall_client::Routine;
use farcall_client::idl::interface::{ElementType, Interface, Parameter, Shape};

use crate::code::{Code, Failure, Outcome};
use crate::numbers::ninf_type::{FILENAME, FUNCTION, STRING, STRUCT};
use crate::pointers::optional_text;
use crate::servers::Server;

use super::entries::Entry;
use super::failure::enter;
use super::{lock, ninf};

/// An argument's type as ninf.h numbers them. Those of numbers are `enum farcall_element`, too.
pub fn type_of(parameter: &Parameter) -> c_int {
    match (&parameter.shape, parameter.element) {
        (Shape::Callback { .. }, _) => FUNCTION,
        (_, ElementType::String) => STRING,
        (_, ElementType::Filename) => FILENAME,
        (_, ElementType::Struct(_)) => STRUCT,
        _ => (passing(parameter) & ELEMENT) as c_int,
    }
}

/// Writes the types of a function's arguments down.
///
/// # Safety
/// NULL, or room for as many as it has.
pub unsafe fn write_types(interface: &Interface, place: *mut c_int) {
    if place.is_null() {
        return;
    }
    for (at, (_, parameter)) in interface.caller_parameters().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { place.add(at).write(type_of(parameter)) };
    }
}

/// A line for people.
fn line(interface: &Interface) -> String {
    let names: Vec<&str> =
        interface.caller_parameters().map(|(_, parameter)| parameter.name.as_str()).collect();
    format!("{}({}) {}", interface.full_name(), names.join(", "), interface.doc.replace('\n', " "))
}

/// The server that an entry names.
pub fn server_of(entry: &Entry) -> Outcome<Arc<Server>> {
    let context = ninf().context()?;
    let servers = context.servers.named(entry.host.as_deref(), entry.port.into(), "")?;
    let first = servers.into_iter().next();
    first.ok_or_else(|| Failure::new(Code::ServerNotFound, "no server was named"))
}

/// The functions of a server whose lines have all of the words.
fn search(question: &str) -> Outcome<Vec<String>> {
    let entry = Entry::of_question(question)?.at_home(&lock(&ninf().settings));
    let server = server_of(&entry)?;
    let connection = server.connect(None)?;
    let routines: Vec<Routine> =
        connection.client.routines().inspect_err(|error| server.note(&connection, error))?;
    let words: Vec<String> = entry.name.split_whitespace().map(str::to_lowercase).collect();
    let has_all = |line: &String| words.iter().all(|word| line.to_lowercase().contains(word));
    Ok(routines.iter().map(|routine| line(routine.interface())).filter(has_all).collect())
}

/// # Safety
/// As ninf.h says of `Ninf_find`: NULL or a text, and NULL or a place for a text.
unsafe fn find(name: &str, question: *const c_char, found: *mut *mut c_char) -> c_int {
    enter(name, || {
        // SAFETY: the caller's promise, here and below.
        let mut place = unsafe { found.as_mut() };
        if let Some(place) = &mut place {
            **place = std::ptr::null_mut();
        }
        // SAFETY: as above.
        let lines =
            search(unsafe { optional_text(question, "the question") }?.unwrap_or_default())?;
        if let Some(place) = place {
            let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
            *place = allocated(text.as_bytes())?;
        }
        Ok(c_int::try_from(lines.len()).unwrap_or(c_int::MAX))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_find(question: *const c_char, found: *mut *mut c_char) -> c_int {
    // SAFETY: the same promise.
    unsafe { find("Ninf_find", question, found) }
}

/// What programs call that were compiled when `Ninf_query` searched the functions of a server.
#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_query(question: *const c_char, found: *mut *mut c_char) -> c_int {
    // SAFETY: the same promise.
    unsafe { find("Ninf_query", question, found) }
}
