//! Builds the executable of a module that a linker must make: inline bodies, raw C, objects and
//! archives.
//!
//! The result is cached by content: the generated C, every option, the compiler, the bytes of
//! objects and archives and of the headers that the code includes. A second build of the same
//! module finds it in a few milliseconds. Two builds at once do the work twice and agree on the
//! result.

mod allowed;
mod cache;
mod command;
mod confined;
mod generate;
mod headers;
mod plan;
mod preprocess;
mod stub;
mod toolchain;
mod workspace;

use std::path::{Path, PathBuf};
use std::time::Duration;

use farcall_base::{Error, Result};
use farcall_idl::interface::{Code, Module};

pub use crate::library::needs_link;
use cache::Cache;
pub use command::Giver;
pub use confined::Confinement;
use farcall_native::signature::Signature;

use crate::serve::check_callbacks;
use plan::Plan;
pub use preprocess::{HeldHeaders, Preprocessor, preprocess};
pub use stub::{StubFile, StubNames, stubs};
pub use toolchain::run_times;

/// Where things are, and how long they may take.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Directory of the cache; made (0700) if absent. It must be the user's own and writable by
    /// nobody else.
    pub directory: PathBuf,
    /// Directory of `libfarcall.so`; the executable finds it there at run time too.
    pub library_directory: PathBuf,
    /// Directories of headers (`grpc_executable.h`, `farcall.h`), searched behind the module's own.
    pub include_directories: Vec<PathBuf>,
    /// The IDL file's directory: relative names of objects, libraries and headers start here.
    pub source_directory: PathBuf,
    /// Longest time for each run of compiler or linker.
    pub time_max: Duration,
    /// Who waits for the build.
    pub giver: Giver,
    /// By what compiler and linker are held to the module's files; none where whoever runs them
    /// wrote the module.
    pub confinement: Option<Confinement>,
}

impl BuildOptions {
    /// Options for a module whose IDL file lies in `source_directory`; a run of the compiler may
    /// take two minutes.
    pub fn new(
        directory: PathBuf,
        library_directory: PathBuf,
        source_directory: PathBuf,
    ) -> BuildOptions {
        let time_max = Duration::from_secs(120);
        BuildOptions {
            directory,
            library_directory,
            include_directories: Vec::new(),
            source_directory,
            time_max,
            giver: Giver::default(),
            confinement: None,
        }
    }
}

/// A linked executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The program. Its `main` calls `farcall_executable_main` with the table of its routines.
    pub path: PathBuf,
    /// Whether an earlier build was found.
    pub reused: bool,
    /// What the compiler had to say although it succeeded, at most some kilobytes. Empty for an
    /// earlier build.
    pub warnings: String,
}

/// Name under which a linked executable's table holds the code of routine number `index`.
pub fn entry_name(module: &Module, index: usize) -> Option<String> {
    let routine = module.routines.get(index)?;
    Some(match &routine.implementation.code {
        Code::Body { .. } => format!("farcall_body_{index}"),
        // What two classes call by one name may be a function of each one's own.
        Code::Symbol { .. } if routine.interface.method().is_some() => {
            format!("farcall_method_{index}")
        }
        Code::Symbol { symbol, .. } => symbol.clone(),
    })
}

/// Compiles and links `module`, or finds the earlier result. Of classes, it builds methods that are
/// routines ([`Module::with_methods`]).
///
/// Fails with `InvalidSource` where compiler or linker refuse the code (the error has their own
/// words and the command), with `Unavailable` where they or a named object are missing, and with
/// `TimedOut`.
pub fn build(module: &Module, options: &BuildOptions) -> Result<Built> {
    refuse_unserved(module).map_err(|error| error.with("module", &module.name))?;
    build_served(module, options).map_err(|error| error.with("module", &module.name))
}

fn build_served(module: &Module, options: &BuildOptions) -> Result<Built> {
    let plan = Plan::of(module, options)?;
    let cache = Cache::open(&options.directory)?;
    if let Some(path) = cache.find(&module.name, plan.key()) {
        return Ok(Built { path, reused: true, warnings: String::new() });
    }
    let workspace = plan.workspace(cache.directory())?;
    let made = plan.make(&workspace)?;
    let path = cache.store(&module.name, plan.key(), &made.executable, &made.headers)?;
    Ok(Built { path, reused: false, warnings: made.warnings })
}

/// What this version does not serve, said before a compiler runs.
fn refuse_unserved(module: &Module) -> Result<()> {
    module.routines.iter().try_for_each(|routine| {
        Signature::of(routine)?;
        check_callbacks(&routine.interface)
    })
}

/// An absolute form of `path`, for commands that run in another directory.
fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path)
        .map_err(|error| Error::system("build the module", error).with("path", path.display()))
}
