//! The shared libraries that a module names: opened in order, searched in order, never closed.
//!
//! Each library is opened for itself alone (RTLD_LOCAL), so that two BLAS builds, or an LP64 and an
//! ILP64 LAPACK, never answer for one another: a library finds its own symbols and those of what it
//! was linked with. Only a library that was linked *without* what it needs (`libmine.so` with
//! `dgemm_` undefined) makes the others of its module visible to it.

mod elf;
mod loaded;
mod loader;
pub(crate) mod names;
mod nearest;
pub(crate) mod references;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::{Code, Module};

use crate::entry::EntryPoint;
use crate::serve::HOST_ENTRIES;
use crate::words;
pub use loaded::{files_of_libraries, files_of_program, needed_by_libraries, needed_by_program};
use loader::Scope;
pub(crate) use loader::{Handle, Symbol};
use names::LibraryName;
pub(crate) use references::loaded_files;

/// More libraries than this in one module are a mistake.
const LIBRARIES_MAX: usize = 256;
/// What C programs have without asking for it. Searched last.
const ALWAYS: [&str; 2] = ["libm.so.6", "libc.so.6"];

/// Names of the variables that a library's code may write, as far as its file tells: what one call
/// leaves there, the next one finds, if it runs in the same process.
pub fn written_data(file: &Path) -> Vec<String> {
    let Ok(file) = File::open(file) else { return Vec::new() };
    let read = |offset: u64, count: usize| {
        let mut bytes = vec![0; count];
        file.read_exact_at(&mut bytes, offset).ok().map(|()| bytes)
    };
    elf::written_data(&read).unwrap_or_default()
}

/// The open libraries of one module.
#[derive(Debug, Default)]
pub struct Libraries {
    named: Vec<Library>,
    always: Vec<Library>,
}

#[derive(Debug)]
struct Library {
    /// As the IDL says it.
    name: String,
    handle: Handle,
}

/// A library that the loader found but could not complete.
struct Unresolved {
    /// Its place in the order of search.
    position: usize,
    name: String,
    path: PathBuf,
    reason: String,
}

enum Opening {
    Done(Library),
    Unresolved(Unresolved),
}

impl Libraries {
    /// Opens what `module` names in `Library` and `Required`; relative paths start at `base`, the
    /// IDL file's directory.
    pub fn of_module(module: &Module, base: &Path) -> Result<Libraries> {
        Self::open_names(&names::of_module(module), base)
            .map_err(|error| error.with("module", &module.name))
    }

    /// Opens the libraries named in `texts`, in the spelling of the IDL's `Library`:
    /// `libopenblas.so.0`, a path, `-lfoo` (`libfoo.so` or `libfoo.so.N`), `-Ldir`, several in one
    /// string.
    ///
    /// Fails with `Unavailable` for a library that is missing, damaged or incomplete, and with
    /// `InvalidSource` for an object or archive, which only a linker can use (see
    /// [`crate::build`]).
    pub fn open(texts: &[String], base: &Path) -> Result<Libraries> {
        Self::open_names(&names::parse(texts), base)
    }

    fn open_names(names: &[LibraryName], base: &Path) -> Result<Libraries> {
        if names.len() > LIBRARIES_MAX {
            let message = format!("it has {} libraries; the limit is {LIBRARIES_MAX}", names.len());
            return Err(Error::new(ErrorKind::LimitExceeded, "open the libraries", message));
        }
        let mut opened = Vec::new();
        let mut unresolved = Vec::new();
        for (position, name) in names.iter().enumerate() {
            match open_name(name, names, base)? {
                Some(Opening::Done(library)) => opened.push((position, library)),
                Some(Opening::Unresolved(library)) => {
                    unresolved.push(Unresolved { position, ..library })
                }
                None => {}
            }
        }
        resolve(&mut opened, unresolved)?;
        opened.sort_by_key(|(position, _)| *position);
        let named = opened.into_iter().map(|(_, library)| library).collect();
        let mut libraries = Libraries { named, always: Vec::new() };
        for name in ALWAYS {
            libraries.always.extend(
                Handle::open(Path::new(name), Scope::Local).ok().map(|h| Library::new(name, h)),
            );
        }
        libraries.show_host();
        Ok(libraries)
    }

    /// A library that calls Farcall has its own copy of it, which knows nothing of the call that
    /// runs.
    fn show_host(&self) {
        for library in &self.named {
            let found = HOST_ENTRIES.iter().find_map(|name| {
                match library.handle.find(name.to_str().ok()?)? {
                    Symbol::Function(entry) => Some((*name, entry)),
                    Symbol::Variable => None,
                }
            });
            if let Some((name, entry)) = found {
                crate::serve::show_host(name, entry);
            }
        }
    }

    /// The function `symbol`: in the module's libraries in their order, then in libm and libc.
    ///
    /// Fails with `Unavailable`; the error names the files searched and the nearest symbol they
    /// have, or says that it is a variable.
    pub fn find(&self, symbol: &str) -> Result<EntryPoint> {
        let mut variable = None;
        for library in self.named.iter().chain(&self.always) {
            match library.handle.find(symbol) {
                Some(Symbol::Function(entry)) => return Ok(entry),
                Some(Symbol::Variable) => variable = variable.or(Some(library)),
                None => {}
            }
        }
        Err(variable.map_or_else(|| self.missing(symbol), |library| is_a_variable(symbol, library)))
    }

    fn missing(&self, symbol: &str) -> Error {
        let searched: Vec<String> = self.named.iter().map(Library::describe).collect();
        let searched =
            if searched.is_empty() { "libm and libc only".into() } else { searched.join(", ") };
        let exported: Vec<String> =
            self.named.iter().flat_map(Library::exported_functions).collect();
        Error::new(
            ErrorKind::Unavailable,
            "find the routine's code",
            format!("no function \"{symbol}\""),
        )
        .with("searched", searched)
        .fix(nearest::advice(symbol, &exported, self.named.is_empty()))
    }
}

impl Library {
    fn new(name: &str, handle: Handle) -> Library {
        Library { name: name.to_string(), handle }
    }

    fn make_global(&self) {
        if let Some(path) = self.handle.path() {
            self.handle.make_global(&path);
        }
    }

    /// `libopenblas.so.0 = /usr/lib/…`: the name as written, and the file that it led to.
    fn describe(&self) -> String {
        match self.handle.path() {
            Some(path) if path != Path::new(&self.name) => {
                format!("{} = {}", self.name, path.display())
            }
            _ => self.name.clone(),
        }
    }

    /// Only for errors: empty where the file cannot be read.
    fn exported_functions(&self) -> Vec<String> {
        let file = self.handle.path().and_then(|path| File::open(path).ok());
        let names = file.and_then(|file| {
            let length = file.metadata().ok()?.len();
            elf::exported_functions(&|offset, count| {
                // The file's own length bounds what a damaged header can make us allocate.
                (offset.checked_add(count as u64)? <= length).then_some(())?;
                let mut bytes = vec![0; count];
                file.read_exact_at(&mut bytes, offset).ok().map(|()| bytes)
            })
        });
        names.unwrap_or_default()
    }
}

fn is_a_variable(symbol: &str, library: &Library) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        "find the routine's code",
        format!("\"{symbol}\" is a variable"),
    )
    .with("library", library.describe())
    .fix("name a function in `Calls`: `nm -D` marks functions with T or W")
}

/// Opens libraries that need symbols of the others. Each that opens may be what the next one needs.
fn resolve(opened: &mut Vec<(usize, Library)>, mut unresolved: Vec<Unresolved>) -> Result<()> {
    if unresolved.is_empty() {
        return Ok(());
    }
    opened.iter().for_each(|(_, library)| library.make_global());
    loop {
        let before = unresolved.len();
        unresolved.retain_mut(|library| match Handle::open(&library.path, Scope::Global) {
            Ok(handle) => {
                opened.push((library.position, Library::new(&library.name, handle)));
                false
            }
            Err(reason) => {
                library.reason = reason;
                true
            }
        });
        match unresolved.first() {
            None => return Ok(()),
            Some(library) if unresolved.len() == before => return Err(incomplete(library)),
            Some(_) => {}
        }
    }
}

/// Opens one name; `None` for what is no library.
fn open_name(name: &LibraryName, all: &[LibraryName], base: &Path) -> Result<Option<Opening>> {
    match name {
        LibraryName::Directory(_) | LibraryName::LinkerOption(_) => Ok(None),
        LibraryName::Object(file) => Err(Error::new(
            ErrorKind::InvalidSource,
            "open the libraries",
            format!(
                "\"{file}\" is not a shared library: a linker must build an executable with it"
            ),
        )
        .fix("use a shared library (`libfoo.so`), or let `farcall serve` link the module")),
        LibraryName::Shared(file) => open_first(file, shared_candidates(file, all, base)).map(Some),
        LibraryName::Short(short) => {
            let directories = [names::directories(all, base), names::system_directories()].concat();
            let mut candidates = names::shared_files(short, &directories);
            // The loader's own cache knows directories that we do not.
            candidates.push(format!("lib{short}.so").into());
            let opened = open_first(&format!("-l{short}"), candidates);
            opened.map(Some).map_err(|error| match names::archive_file(short, &directories) {
                Some(archive) => error.with("archive", archive.display()),
                None => error,
            })
        }
    }
}

/// Where a file's name may lead: a path is taken from `base`; a bare name goes to `-L`, to `base`,
/// then to the loader.
fn shared_candidates(file: &str, all: &[LibraryName], base: &Path) -> Vec<PathBuf> {
    if file.contains('/') {
        return vec![base.join(file)];
    }
    let given = names::directories(all, base).into_iter().map(|directory| directory.join(file));
    // With a directory in front the loader takes it as a path; without one it searches.
    let beside = given.chain([absolute(base).join(file)]).filter(|path| path.exists());
    beside.chain([PathBuf::from(file)]).collect()
}

fn absolute(base: &Path) -> PathBuf {
    std::path::absolute(base).unwrap_or_else(|_| base.to_path_buf())
}

/// The libraries that `module` names, one per text, with every relative path made absolute from
/// `base`: what another process, in another directory, gives to [`Libraries::open`].
pub fn library_names(module: &Module, base: &Path) -> Vec<String> {
    let base = absolute(base);
    let all = names::of_module(module);
    let directories = names::directories(&all, &base);
    let named = |name: &LibraryName| {
        let found = match name {
            LibraryName::Short(short) => found_in(short, &directories),
            _ => None,
        };
        found.map_or_else(|| names::absolute(name, &base), |file| file.display().to_string())
    };
    all.iter().map(|name| words::quoted(&named(name))).collect()
}

/// The file of `-lname` in the directories that the module names. The process that loads it may be
/// confined, and can open that file, but not look into its directory.
fn found_in(name: &str, directories: &[PathBuf]) -> Option<PathBuf> {
    let is_library = |file: &PathBuf| {
        let mut begin = [0; 4];
        // A linker's script is text.
        File::open(file).and_then(|file| file.read_exact_at(&mut begin, 0)).is_ok()
            && begin == *b"\x7fELF"
    };
    names::shared_files(name, directories).into_iter().find(is_library)
}

/// The first candidate that the loader takes, or that it would take but for symbols it lacks.
fn open_first(name: &str, candidates: Vec<PathBuf>) -> Result<Opening> {
    let mut reasons = Vec::new();
    for path in candidates {
        match Handle::open(&path, Scope::Local) {
            Ok(handle) => return Ok(Opening::Done(Library::new(name, handle))),
            Err(reason) if reason.contains("undefined symbol") => {
                return Ok(Opening::Unresolved(Unresolved {
                    position: 0,
                    name: name.to_string(),
                    path,
                    reason,
                }));
            }
            Err(reason) => reasons.push(reason),
        }
    }
    Err(not_opened(name, &reasons))
}

fn not_opened(name: &str, reasons: &[String]) -> Error {
    let absent = reasons.iter().all(|reason| reason.contains("No such file"));
    // A file that exists and is refused tells more than all those that do not exist.
    let telling =
        reasons.iter().find(|reason| !reason.contains("No such file")).or(reasons.first());
    let error =
        Error::new(ErrorKind::Unavailable, "open the libraries", format!("cannot open \"{name}\""))
            .with("loader", telling.map_or("no candidate", String::as_str));
    if absent {
        let package = names::debian_package(name)
            .map_or(String::new(), |package| format!(" (Debian: {package})"));
        let elsewhere =
            "write its full path in `Library`, or add its directory with `-L` or LD_LIBRARY_PATH";
        error.fix(format!("install it{package}, {elsewhere}"))
    } else {
        error.fix(
            "it must be a shared library for this machine, and everything that it depends \
            on must be installed",
        )
    }
}

fn incomplete(library: &Unresolved) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        "open the libraries",
        format!(
            "\"{}\" has undefined \
        symbols",
            library.name
        ),
    )
    .with("loader", &library.reason)
    .fix(
        "add the library that has this symbol to `Library`, or link with it when you build \
            this one",
    )
}

/// Whether the module needs a linker: inline bodies, raw C, or an object or archive among its
/// libraries.
///
/// Looks into the usual directories for `-lfoo` that exists as an archive only.
pub fn needs_link(module: &Module) -> bool {
    let routines =
        module.routines.iter().any(|r| matches!(r.implementation.code, Code::Body { .. }));
    let raw = module.globals.iter().any(|(text, _, _)| !text.trim().is_empty());
    let state = module.classes.iter().any(|class| class.state.is_some());
    routines || raw || state || names::of_module(module).iter().any(is_for_linker)
}

fn is_for_linker(name: &LibraryName) -> bool {
    match name {
        LibraryName::Object(_) => true,
        LibraryName::Short(short) => {
            let directories = names::system_directories();
            names::shared_files(short, &directories).is_empty()
                && names::archive_file(short, &directories).is_some()
        }
        _ => false,
    }
}
