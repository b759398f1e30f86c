//! The module that this process serves: its routines, each with its code found and its signature
//! prepared.

use std::collections::HashMap;
use std::path::Path;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::decode::decode_module;
use farcall_idl::encode::contract_hash;
use farcall_idl::interface::{Code, Module, Routine};
use farcall_idl::sizer::Sizer;
use farcall_transport_unix::Birthplace;
use farcall_wire::Publication;

use super::callback::{Closures, closures};
use super::cancel::ASKING;
use super::hosted::Hosted;
use super::threads::ThreadSetters;
use crate::build::entry_name;
use crate::entry::{EntryPoint, LinkedEntries};
use crate::library::Libraries;
use crate::library::references::any_refers_to;
use farcall_native::Closure;
use farcall_native::invoke::Prepared;

/// Routines that cannot run are looked for until there are so many: each is advised from a
/// library's whole table.
const FAILURES_MAX: usize = 8;

/// One routine, ready to run.
pub struct LoadedRoutine {
    pub routine: Routine,
    pub contract: [u8; 32],
    pub body: Body,
    pub sizer: Sizer,
    closures: Closures,
    /// Whether sizes of its callbacks name its parameters.
    pub captures: bool,
}

/// What runs a routine.
pub enum Body {
    /// Machine code, called through its own C signature.
    Native(Prepared),
    /// One function for all routines, which asks for the arguments.
    Hosted(Hosted),
}

/// Where a process has its routines from.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// The libraries that the module names.
    Libraries,
    /// The table of a linked executable.
    Linked(&'a LinkedEntries),
    /// A function for all of them.
    Hosted(super::hosted::Function),
}

impl LoadedRoutine {
    fn new(routine: &Routine, body: Body) -> Result<LoadedRoutine> {
        let sizer = Sizer::new(&routine.interface);
        let closures = closures(routine)?;
        let captures = routine.interface.has_captured();
        let contract = contract_hash(&routine.interface);
        Ok(LoadedRoutine { routine: routine.clone(), contract, body, sizer, closures, captures })
    }

    /// The function that it is given for callback number `index`.
    pub fn closure(&self, index: usize) -> *mut u8 {
        self.closures.get(index).copied().flatten().map_or(std::ptr::null_mut(), Closure::address)
    }
}

/// A module whose every routine can run.
pub struct LoadedModule {
    /// The process that serves it, which a routine's fork is not.
    pub process: Birthplace,
    /// Whether its code asks whether its call was cancelled.
    pub asks: bool,
    /// What tells its libraries how many threads to run.
    pub threads: ThreadSetters,
    /// Its name.
    pub name: String,
    routines: HashMap<String, LoadedRoutine>,
    /// Keeps the code loaded.
    _libraries: Option<Libraries>,
}

impl LoadedModule {
    /// Opens the libraries and finds every routine, so that a missing one is known before the first
    /// call.
    pub fn load(publication: &Publication, source: Source<'_>) -> Result<LoadedModule> {
        let module = decode_module(&publication.module)?;
        let libraries = match source {
            Source::Linked(_) => None,
            Source::Hosted(function) => function.load(&module).map(|()| None)?,
            Source::Libraries => Some(Libraries::open(&publication.libraries, Path::new("/"))?),
        };
        let mut routines = HashMap::with_capacity(module.routines.len());
        let mut failures = Vec::new();
        for (index, routine) in module.routines.iter().enumerate() {
            let name = routine.interface.full_name();
            let loaded = body(&module, index, libraries.as_ref(), source);
            match loaded.and_then(|body| LoadedRoutine::new(routine, body)) {
                Ok(loaded) => drop(routines.insert(name, loaded)),
                Err(error) => failures.push((name, error)),
            }
            if failures.len() == FAILURES_MAX {
                break;
            }
        }
        if let Some(error) = first_with_the_others(failures) {
            return Err(error);
        }
        let asks = match source {
            Source::Hosted(_) => {
                module.globals.iter().any(|(text, ..)| text.contains("is_cancelled"))
            }
            _ => any_refers_to(&ASKING),
        };
        Ok(LoadedModule {
            process: Birthplace::here(),
            asks,
            threads: ThreadSetters::find(),
            name: module.name,
            routines,
            _libraries: libraries,
        })
    }

    /// The same for this process, a fork of the one that loaded it.
    pub fn adopted(self) -> LoadedModule {
        LoadedModule { process: Birthplace::here(), ..self }
    }

    /// Whether it has a routine of this full name.
    pub fn has(&self, name: &str) -> bool {
        self.routines.contains_key(name)
    }

    pub fn find(&self, name: &str) -> Result<&LoadedRoutine> {
        self.routines.get(name).ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                "run a routine",
                format!("this executable has no routine \"{name}\""),
            )
        })
    }
}

/// What runs routine number `index`.
fn body(
    module: &Module,
    index: usize,
    libraries: Option<&Libraries>,
    source: Source<'_>,
) -> Result<Body> {
    let routine = &module.routines[index];
    let entry: EntryPoint = match (source, libraries, &routine.implementation.code) {
        (Source::Hosted(function), ..) => {
            return Hosted::new(function, &routine.interface).map(Body::Hosted);
        }
        (Source::Linked(entries), ..) => entries.find(&linked_name(module, index)?)?,
        (Source::Libraries, Some(libraries), Code::Symbol { symbol, .. }) => {
            libraries.find(symbol)?
        }
        _ => return Err(needs_compiler(routine)),
    };
    Prepared::new(routine, entry).map(Body::Native)
}

/// The first failure, with the routine that it concerns, and in short what else is wrong: whoever
/// mends one library should not have to come back for each of its symbols.
fn first_with_the_others(failures: Vec<(String, Error)>) -> Option<Error> {
    let mut failures = failures.into_iter();
    let (name, error) = failures.next()?;
    let error = error.with("needed by", name);
    let others: Vec<String> =
        failures.map(|(name, error)| format!("{name}: {}", error.message())).collect();
    Some(if others.is_empty() { error } else { error.with("also wrong", others.join("; ")) })
}

fn linked_name(module: &Module, index: usize) -> Result<String> {
    entry_name(module, index)
        .ok_or_else(|| Error::internal("load a module", "a routine has no code"))
}

fn needs_compiler(routine: &Routine) -> Error {
    Error::internal("load a module", "the module has inline code and was not linked")
        .with("routine", routine.interface.full_name())
}

/// Checks that a module can be loaded: libraries open, symbols found, signatures possible. For a
/// process of its own, because libraries run code when they are opened.
///
/// # Errors
/// What a call would meet: `Unavailable` for a missing library or symbol, `InvalidArgument` for an
/// impossible signature.
pub fn check_module(publication: &Publication) -> Result<()> {
    LoadedModule::load(publication, Source::Libraries).map(|_| ())
}
