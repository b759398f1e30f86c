//! Where a routine's code begins: a symbol of a shared library, or an entry of a linked
//! executable's own table.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};

use farcall_base::{Error, ErrorKind, Result};
pub use farcall_native::EntryPoint;

/// One line of the table in a linked executable: `struct farcall_entry` of the generated C.
#[repr(C)]
pub struct LinkedEntry {
    /// NUL-terminated name: what [`crate::build::entry_name`] gives for the routine.
    pub name: *const c_char,
    /// The code.
    pub function: Option<unsafe extern "C" fn()>,
}

/// The table of a linked executable, by name.
#[derive(Debug, Default)]
pub struct LinkedEntries(HashMap<String, EntryPoint>);

/// More routines than this in one executable are a broken table.
const ENTRIES_MAX: usize = 65_536;

impl LinkedEntries {
    /// Reads the table that `main` of a linked executable passes to `farcall_executable_main`.
    ///
    /// # Safety
    /// `table` is an array of `count` entries whose names are NUL-terminated.
    pub unsafe fn new(table: *const LinkedEntry, count: usize) -> Result<LinkedEntries> {
        if table.is_null() || count > ENTRIES_MAX {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "start the executable",
                "its table of routines is damaged",
            )
            .with("routines", count)
            .fix("build it with `farcall serve`, which writes the table"));
        }
        // SAFETY: the caller's promise.
        let table = unsafe { std::slice::from_raw_parts(table, count) };
        let entries = table.iter().filter(|entry| !entry.name.is_null()).filter_map(|entry| {
            // SAFETY: the caller's promise; NULL was filtered out.
            let name = unsafe { CStr::from_ptr(entry.name) }.to_string_lossy().into_owned();
            Some((name, EntryPoint::of(entry.function?)))
        });
        Ok(LinkedEntries(entries.collect()))
    }

    /// The code called `name`.
    pub fn find(&self, name: &str) -> Result<EntryPoint> {
        self.0.get(name).copied().ok_or_else(|| {
            Error::new(
                ErrorKind::Unavailable,
                "prepare the routine",
                format!("the executable has no code \"{name}\""),
            )
            .fix("its interface and its code do not match: build it again from the interface file")
        })
    }
}
