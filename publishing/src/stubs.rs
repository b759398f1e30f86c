//! Stub executables of Ninf-G: programs that carry their interface, and the files that list them.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use farcall_base::{Error, ErrorKind, Result};
use farcall_configuration::interface_files::{self, Description};
use farcall_idl::decode::decode_module;
use farcall_idl::interface::Module;
use farcall_services::directory::{ImageKind, Part, Publication};

use crate::inspection::{Finished, Giver, finish};
use crate::parts::part;
use crate::python::Interpreters;
use crate::source::Source;

/// Endings of files that list stub executables.
const LISTS: [&str; 3] = ["nrf", "ngdef", "ldif"];
/// How an executable begins.
const MAGIC: &[u8] = b"\x7fELF";

/// Whether the file lists stub executables, or is one: a program by the name that `ng_gen` gives.
pub fn is_stub(source: &Source) -> bool {
    let name = source.named().file_name().and_then(|name| name.to_str()).unwrap_or("");
    is_list(source.named()) || (name.starts_with("_stub_") && source.begins_with(MAGIC))
}

fn is_list(file: &Path) -> bool {
    file.extension().is_some_and(|extension| LISTS.iter().any(|list| extension == *list))
}

/// The modules of a list of stub executables, each once, in its order. For other files, and for lists
/// with a mistake, one without a name: `publication` says what is wrong.
pub fn modules(source: &Source) -> Vec<Option<String>> {
    let listed =
        if is_list(source.named()) { listed(source).unwrap_or_default() } else { Vec::new() };
    let mut modules: Vec<Option<String>> = Vec::new();
    for found in &listed {
        let module = Some(module_of_name(&found.name).to_owned());
        if !modules.contains(&module) {
            modules.push(module);
        }
    }
    if modules.is_empty() { vec![None] } else { modules }
}

fn listed(source: &Source) -> Result<Vec<Description>> {
    interface_files::parse(&source.bytes()?)
        .map_err(|error| error.with("file", source.named().display()))
}

/// The module of `module/function`; a function's name alone has none.
fn module_of_name(name: &str) -> &str {
    name.split_once('/').map_or("", |(module, _)| module)
}

/// The stub executables of a list, or the one that the file is, as one module: the one that is
/// wanted, if the list has it.
///
/// # Errors
/// What is wrong with the file; `NotFound` for executables that are not on this host;
/// `InvalidSource` for one that is none of ours, and for functions of several modules.
pub fn publication(
    source: &Source,
    wanted: Option<&str>,
    interpreters: &Interpreters,
) -> Result<(Publication, String)> {
    let file = source.named();
    let stubs = if is_list(file) {
        let all = listed(source)?;
        let wanted =
            wanted.filter(|wanted| all.iter().any(|one| module_of_name(&one.name) == *wanted));
        let of_it =
            |found: &Description| wanted.is_none_or(|wanted| module_of_name(&found.name) == wanted);
        all.into_iter()
            .filter(of_it)
            .map(|found| (source.folder().join(&found.path), Some((found.name, found.hostname))))
            .collect()
    } else {
        vec![(source.real().to_path_buf(), None)]
    };
    let mut name: Option<String> = None;
    let mut parts: Vec<Part> = Vec::new();
    let mut lost: Vec<Error> = Vec::new();
    for (path, listed) in stubs {
        let inspected = inspected(&path, listed.as_ref(), interpreters)
            .map_err(|error| error.with("file", file.display()));
        let (module, kind) = match inspected {
            Ok(inspected) => inspected,
            // The others of a list stand for themselves.
            Err(error) if listed.is_some() => {
                lost.push(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        let first = name.get_or_insert_with(|| module.name.clone());
        if *first != module.name {
            return Err(Error::new(
                ErrorKind::InvalidSource,
                "publish stub executables",
                "they belong to two modules",
            )
            .with("modules", format!("{first}, {}", module.name))
            .with("file", file.display())
            .fix(
                "write each function into the file as module/function, or create a file for each \
                    module with ng_gen_nrf",
            ));
        }
        parts.push(part(module, kind));
    }
    let warnings: Vec<String> = lost.iter().map(|error| format!("warning: {error}")).collect();
    match lost.into_iter().next() {
        Some(error) if parts.is_empty() => Err(error),
        _ => Ok((Publication { module: name.unwrap_or_default(), parts }, warnings.join("\n"))),
    }
}

/// Asks a stub executable what it has, held to the rules of its module: it runs code of whoever
/// made it.
fn inspected(
    path: &Path,
    listed: Option<&(String, String)>,
    interpreters: &Interpreters,
) -> Result<(Module, ImageKind)> {
    if !path.is_file() {
        let error = Error::new(
            ErrorKind::NotFound,
            "publish stub executables",
            "there is no such program on this host",
        )
        .with("program", path.display());
        return Err(match listed {
            Some((name, host)) => error.with("function", name).fix(format!(
                "publish it on {host}, where it was built; or build it here with \
                    make and ng_gen_nrf"
            )),
            None => error.fix("build it with ng_gen and make"),
        });
    }
    let path = std::fs::canonicalize(path)
        .map_err(|error| Error::system("find a stub executable", error))?;
    let kind = ImageKind::Linked { path: path.display().to_string() };
    let module = listed.map_or("", |(name, _)| module_of_name(name));
    let mut inspection = interpreters.inspect(module, kind.clone(), &path)?;
    let finished = finish(inspection.command.arg("--module"), &[], &interpreters.giver)?;
    let carried = module_of(&finished, &path)?;
    let others = listed.filter(|_| !module.is_empty() && carried.name != module);
    match others {
        None => Ok((carried, kind)),
        Some((name, _)) => {
            let message = format!("the program has routines of module {}", carried.name);
            Err(Error::new(ErrorKind::InvalidSource, "publish stub executables", message)
                .with("function", name)
                .with("program", path.display())
                .fix(
                    "build each module in a directory of its own: equal names overwrite each other",
                ))
        }
    }
}

/// Asks a stub executable of the user's own what it has.
///
/// # Errors
/// As [`publication`].
pub fn carried(path: &Path) -> Result<Module> {
    let mut command = Command::new(path);
    finish(command.arg("--module").process_group(0), &[], &Giver::default())
        .and_then(|finished| module_of(&finished, path))
        .map_err(|error| error.with("program", path.display()))
}

fn module_of(finished: &Finished, path: &Path) -> Result<Module> {
    let refused = |message: &str| {
        Err(Error::new(ErrorKind::InvalidSource, "look into a stub executable", message)
            .with("program", path.display())
            .with("it said", finished.last_line())
            .fix("rebuild it with Farcall's ng_gen and make"))
    };
    if !finished.status.success() {
        return refused("it does not print its interface");
    }
    match decode_module(&finished.output) {
        Ok(module) if !module.routines.is_empty() => Ok(module),
        Ok(_) => refused("it has no routine"),
        Err(_) => refused("it does not print its interface"),
    }
}
