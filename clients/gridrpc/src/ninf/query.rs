//! `Ninf_query`: numbers of a server's tables, by a query in SQL.

use std::ffi::{c_char, c_int};

use farcall_c::allocated;
use farcall_client::idl::interface::Order;
use farcall_client::{Output, Outputs};

use crate::code::Outcome;
use crate::pointers::text;

use super::entries::Entry;
use super::failure::{OK, enter};
use super::lookup::server_of;
use super::{lock, ninf};

/// The routine of the module `tables` that gives numbers.
const ROUTINE: &str = "tables/numbers";

/// What a query found.
struct Numbers {
    rows: c_int,
    columns: c_int,
    /// The bytes of doubles, row by row.
    values: Vec<u8>,
    /// One on each line.
    names: Vec<u8>,
}

fn ask(question: &str) -> Outcome<Numbers> {
    let entry = Entry::of_query(question)?.at_home(&lock(&ninf().settings));
    let server = server_of(&entry)?;
    let connection = server.connect(None)?;
    let routine = connection.client.routine(ROUTINE);
    let routine = routine.inspect_err(|error| server.note(&connection, error))?;
    let outputs = routine.call([("sql", entry.name.as_str().into())]);
    Ok(numbers(&outputs.inspect_err(|error| server.note(&connection, error))?)?)
}

fn numbers(outputs: &Outputs) -> farcall_client::Result<Numbers> {
    let count = |name: &str| outputs.scalar::<i64>(name);
    let values = match outputs.get("values")? {
        Output::Array(array) => array.packed(Order::Row)?,
        _ => Vec::new(),
    };
    let names = match outputs.get("names")? {
        Output::Text(names) => names.clone(),
        Output::Texts(names) => names.first().cloned().flatten(),
        _ => None,
    };
    let names = names.unwrap_or_default();
    // Both are bounded by the interface, far below the largest int.
    let as_int = |count: i64| c_int::try_from(count).unwrap_or(c_int::MAX);
    let rows = as_int(count("rows")?);
    Ok(Numbers { rows, columns: as_int(count("columns")?), values, names })
}

/// Its symbol is not its name: programs that were compiled when `Ninf_query` searched functions call
/// `farcall_Ninf_query`, which still does (lookup.rs).
#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_query_numbers(
    query: *const c_char,
    rows: *mut c_int,
    columns: *mut c_int,
    values: *mut *mut f64,
    names: *mut *mut c_char,
) -> c_int {
    enter("Ninf_query", || {
        // SAFETY: ninf.h: each is NULL or a place of its type, here and below.
        let mut places = unsafe { (values.as_mut(), names.as_mut()) };
        if let Some(values) = &mut places.0 {
            **values = std::ptr::null_mut();
        }
        if let Some(names) = &mut places.1 {
            **names = std::ptr::null_mut();
        }
        // SAFETY: ninf.h: text.
        let found = ask(unsafe { text(query, "the query") }?)?;
        // What was allocated first is not lost when there is no room for the second.
        let text = places.1.is_some().then(|| allocated(&found.names)).transpose()?;
        if let Some(values) = places.0 {
            *values = allocated(&found.values)?.cast();
        }
        if let (Some(names), Some(text)) = (places.1, text) {
            *names = text;
        }
        // SAFETY: as above.
        if let Some(rows) = unsafe { rows.as_mut() } {
            *rows = found.rows;
        }
        // SAFETY: as above.
        if let Some(columns) = unsafe { columns.as_mut() } {
            *columns = found.columns;
        }
        Ok(OK)
    })
}
