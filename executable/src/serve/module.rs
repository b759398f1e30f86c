//! The module that this process serves: its routines, each with its code found and its signature prepared.

use std::collections::HashMap;
use std::path::Path;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::decode::decode_module;
use farcall_idl::encode::contract_hash;
use farcall_idl::interface::{Code, Module, Routine};
use farcall_wire::Publication;

use crate::build::entry_name;
use crate::entry::LinkedEntries;
use crate::invoke::Prepared;
use crate::library::Libraries;

/// One routine, ready to run.
pub struct LoadedRoutine {
    pub routine: Routine,
    pub contract: [u8; 32],
    pub prepared: Prepared,
}

/// A module whose every routine can run.
pub struct LoadedModule {
    routines: HashMap<String, LoadedRoutine>,
    /// Keeps the code loaded.
    _libraries: Option<Libraries>,
}

impl LoadedModule {
    /// Opens the libraries and finds every routine, so that a missing one is known before the first call.
    pub fn load(publication: &Publication, entries: Option<&LinkedEntries>) -> Result<LoadedModule> {
        let module = decode_module(&publication.module)?;
        let libraries = match entries {
            Some(_) => None,
            None => Some(Libraries::open(&publication.libraries, Path::new("/"))?),
        };
        let mut routines = HashMap::with_capacity(module.routines.len());
        for (index, routine) in module.routines.iter().enumerate() {
            let entry = match (&libraries, entries, &routine.implementation.code) {
                (_, Some(entries), _) => entries.find(&linked_name(&module, index)?)?,
                (Some(libraries), None, Code::Symbol { symbol, .. }) => libraries.find(symbol)?,
                _ => return Err(needs_compiler(routine)),
            };
            let prepared = Prepared::new(routine, entry)?;
            let contract = contract_hash(&routine.interface);
            let name = routine.interface.full_name();
            routines.insert(name, LoadedRoutine { routine: routine.clone(), contract, prepared });
        }
        Ok(LoadedModule { routines, _libraries: libraries })
    }

    pub fn find(&self, name: &str) -> Result<&LoadedRoutine> {
        self.routines.get(name).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, "run a routine", format!("this executable has no routine \"{name}\""))
        })
    }
}

fn linked_name(module: &Module, index: usize) -> Result<String> {
    entry_name(module, index).ok_or_else(|| Error::internal("load a module", "a routine without code"))
}

fn needs_compiler(routine: &Routine) -> Error {
    Error::internal("load a module", "inline code in a module that was not linked")
        .with("routine", routine.interface.full_name())
}

/// Checks that a module can be loaded: libraries open, symbols found, signatures possible. For a process of its own,
/// because libraries run code when they are opened.
///
/// # Errors
/// What a call would meet: `Unavailable` for a missing library or symbol, `InvalidArgument` for an impossible signature.
pub fn check_module(publication: &Publication) -> Result<()> {
    LoadedModule::load(publication, None).map(|_| ())
}
