//! From a file to a module that a server can run: an interface file is compiled, its code linked,
//! its libraries opened.

use std::io::Read;
use std::path::Path;

use farcall_base::{Error, ErrorKind, Result};
use farcall_executable::build::{BuildOptions, Preprocessor, build, needs_link};
use farcall_executable::image::is_python;
use farcall_executable::library::library_names;
use farcall_idl::encode::encode_module;
use farcall_idl::interface::{Code, Module};
use farcall_idl::{Compiled, Dialect};
use farcall_services::directory::{ImageKind, Publication};
use farcall_wire::Publication as HostPublication;

use crate::inspection::finish;
use crate::installation::{cache_directory, include_directories, library_directory};
use crate::parts::part;
use crate::python::{Described, Interpreters};
use crate::source::Source;
use crate::stubs;

/// Compiles an IDL file, preprocessing it if it has a directive.
///
/// # Errors
/// `InvalidSource` with every mistake of the file as its source.
pub fn compile(source: &Source) -> Result<Module> {
    let compiled = compile_as(source, Dialect::Farcall, Preprocessing::WhereNeeded, |text| {
        preprocessed(source, text, &Preprocessor::default())
    })?;
    Ok(compiled.module)
}

/// When an interface file goes through the C preprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preprocessing {
    /// If it has a directive.
    WhereNeeded,
    /// In any case.
    Always,
    /// Never.
    Never,
}

/// The same, and `preprocess` makes its text of what the file has.
///
/// # Errors
/// As [`compile`].
pub fn compile_as(
    source: &Source,
    dialect: Dialect,
    preprocessing: Preprocessing,
    preprocess: impl FnOnce(&str) -> Result<String>,
) -> Result<Compiled> {
    let text = if dialect.is_old() { source.old_text() } else { source.text() }?;
    check_is_interface(source.named(), &text)?;
    let wanted = match preprocessing {
        Preprocessing::WhereNeeded => farcall_idl::needs_preprocessor(&text),
        Preprocessing::Always => true,
        Preprocessing::Never => false,
    };
    let text = if wanted { preprocess(&text)? } else { text };
    farcall_idl::compile_as(dialect, &source.named().display().to_string(), &text)
        .map_err(Error::from)
}

/// A file's text as the preprocessor leaves it.
///
/// # Errors
/// As [`Preprocessor::preprocess`].
pub fn preprocessed(source: &Source, text: &str, preprocessor: &Preprocessor) -> Result<String> {
    preprocessor.preprocess(source.named(), source.folder(), text)
}

/// Refuses what others would list mistakes of by the hundred.
fn check_is_interface(file: &Path, text: &str) -> Result<()> {
    let extension =
        file.extension().and_then(|extension| extension.to_str()).unwrap_or("").to_lowercase();
    let is_fortran =
        ["f", "for", "ftn", "f77", "f90", "f95", "f03", "f08"].contains(&extension.as_str());
    let is = match extension.as_str() {
        _ if text.starts_with("\x7fELF") => "a library or a program",
        _ if text.contains('\0') => "no text",
        "c" | "cc" | "cpp" | "cxx" | "h" => "source code",
        _ if is_fortran => "Fortran source code",
        _ => return Ok(()),
    };
    let message = format!("it is {is}, not an interface file");
    let error = Error::new(ErrorKind::InvalidSource, "read an interface file", message)
        .with("file", file.display());
    Err(if is_fortran {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        error.fix(format!("draft an interface file from it: farcall scan {name} --build"))
    } else {
        error.fix(
            "write FILE.idl, which describes the routines and names their library: Library \
                \"./libmine.so\"",
        )
    })
}

/// All modules of a file. Lists of stub executables may have several, which stand for themselves:
/// of one that cannot be published beside others, the error becomes a warning.
///
/// # Errors
/// As [`publication`].
pub fn publications(
    source: &Source,
    interpreters: &Interpreters,
) -> Result<Vec<(Publication, String)>> {
    let modules = stubs::modules(source);
    let each = |module: &Option<String>| publication(source, module.as_deref(), interpreters);
    let (made, failed): (Vec<_>, Vec<_>) = modules.iter().map(each).partition(Result::is_ok);
    let mut made: Vec<(Publication, String)> = made.into_iter().flatten().collect();
    let mut failed = failed.into_iter().filter_map(Result::err);
    let Some((_, warnings)) = made.first_mut() else {
        return failed.next().map_or(Ok(Vec::new()), Err);
    };
    for error in failed {
        if error.kind() == ErrorKind::Cancelled {
            return Err(error);
        }
        let gap = if warnings.is_empty() || warnings.ends_with('\n') { "" } else { "\n" };
        warnings.push_str(&format!("{gap}warning: {error}"));
    }
    Ok(made)
}

/// Compiles an IDL file, links its code if it has any, and checks that its routines can be called.
/// With it come warnings: the compiler's, and that a file publishes nothing. Of a list of stub
/// executables it is the module that is `wanted`.
///
/// # Errors
/// As [`compile`]; `Unavailable` for a missing library, symbol or compiler; `PermissionDenied` for
/// a module's name that is not for whoever publishes it.
pub fn publication(
    source: &Source,
    wanted: Option<&str>,
    interpreters: &Interpreters,
) -> Result<(Publication, String)> {
    let (mut publication, warnings) = untrusted_publication(source, wanted, interpreters)?;
    let trust = interpreters.trust(source.real());
    publication.parts.iter_mut().for_each(|part| part.executable.trust = trust);
    interpreters.check_name(&publication.module)?;
    Ok((publication, warnings))
}

/// The same, and nothing is said yet of whose code it is.
fn untrusted_publication(
    source: &Source,
    wanted: Option<&str>,
    interpreters: &Interpreters,
) -> Result<(Publication, String)> {
    if stubs::is_stub(source) {
        return stubs::publication(source, wanted, interpreters);
    }
    if !is_python(source.named()) {
        let compiled = compile_as(source, Dialect::Farcall, Preprocessing::WhereNeeded, |text| {
            // Its module has no name yet.
            let compilers = interpreters.compilers(source.real(), "")?;
            let confinement = compilers.as_ref().map(|compilers| compilers.confinement.clone());
            let giver = interpreters.giver.clone();
            preprocessed(
                source,
                text,
                &Preprocessor { confinement, giver, ..Preprocessor::default() },
            )
        })?;
        return publication_of(compiled.module, source, interpreters);
    }
    let Described { module, kind, warnings } =
        interpreters.describe(source.path(), &source.text()?)?;
    let warnings = with_nothing_to_publish(warnings, &module, source.named());
    Ok((Publication { module: module.name.clone(), parts: vec![part(module, kind)] }, warnings))
}

/// The same of a file that was compiled.
///
/// # Errors
/// As [`publication`].
pub fn publication_of(
    module: Module,
    source: &Source,
    interpreters: &Interpreters,
) -> Result<(Publication, String)> {
    // Before anything is done with what the manifest grants to this name.
    interpreters.check_name(&module.name)?;
    let module = module.with_methods();
    let mut warnings = with_nothing_to_publish(String::new(), &module, source.named());
    let name = module.name.clone();
    let mut parts = Vec::new();
    for each in module.by_backend() {
        let (kind, said) = image_of(&each, source, interpreters)?;
        warnings.push_str(&said);
        parts.push(part(each, kind));
    }
    Ok((Publication { module: name, parts }, warnings))
}

/// What runs the routines of a module that have one backend; and what a compiler had to say.
fn image_of(
    module: &Module,
    source: &Source,
    interpreters: &Interpreters,
) -> Result<(ImageKind, String)> {
    let has_body =
        module.routines.iter().any(|r| matches!(r.implementation.code, Code::Body { .. }));
    if has_body || needs_link(module) || module.is_parallel() {
        let compilers = interpreters.compilers(source.real(), &module.name)?;
        let options = BuildOptions {
            include_directories: include_directories(),
            giver: interpreters.giver.clone(),
            confinement: compilers.as_ref().map(|compilers| compilers.confinement.clone()),
            ..BuildOptions::new(
                cache_directory()?,
                library_directory()?,
                source.folder().to_path_buf(),
            )
        };
        let built = build(module, &options)?;
        return Ok((ImageKind::Linked { path: built.path.display().to_string() }, built.warnings));
    }
    let libraries = library_names(module, source.folder());
    check_in_child(module, &libraries, source, interpreters)
        .map_err(|error| error.with("file", source.named().display()))?;
    Ok((ImageKind::GenericHost { libraries }, String::new()))
}

/// Warnings of a file, and one more if it has no routines.
pub fn with_nothing_to_publish(warnings: String, module: &Module, file: &Path) -> String {
    if !module.routines.is_empty() || !module.classes.is_empty() {
        return warnings;
    }
    let reason =
        if is_python(file) { "no function of it has type hints" } else { "it has no Define" };
    let gap = if warnings.is_empty() || warnings.ends_with('\n') { "" } else { "\n" };
    format!("{warnings}{gap}warning: {} publishes nothing: {reason}", file.display())
}

/// Opens the libraries and finds every symbol in a process of its own, held to the module's rules:
/// a library runs code when it is opened.
fn check_in_child(
    module: &Module,
    libraries: &[String],
    source: &Source,
    interpreters: &Interpreters,
) -> Result<()> {
    let kind = ImageKind::GenericHost { libraries: libraries.to_vec() };
    let mut inspection = interpreters.inspect(&module.name, kind, source.real())?;
    let message = HostPublication {
        module: encode_module(module),
        libraries: libraries.to_vec(),
        object: None,
    };
    let message = farcall_wire::message::encode(&message);
    let finished = finish(inspection.command.arg("--check"), &message, &interpreters.giver)
        .map_err(|error| match error.kind() {
            ErrorKind::TimedOut => error.with("libraries", libraries.join(", ")).fix(
                "reduce the work that the libraries do when they are loaded: each \
                        executable loads them",
            ),
            _ => error,
        })?;
    if finished.status.success() {
        return Ok(());
    }
    match farcall_wire::message::decode::<farcall_wire::Failure>("failure", &finished.output) {
        Ok(failure) => Err(Error::from(failure)),
        Err(_) => Err(Error::new(
            ErrorKind::Unavailable,
            "check a module",
            "loading its libraries ended the process",
        )
        .with("status", finished.status)
        .with("module", &module.name)
        .with("it said", finished.last_line())),
    }
}

/// Starts the executables that were built for a module, which end once they are loaded: a library
/// that one of them needs may be missing.
///
/// # Errors
/// `Unavailable`, with the loader's words.
pub fn check_linked(
    publication: &Publication,
    source: &Source,
    interpreters: &Interpreters,
) -> Result<()> {
    let linked = publication.parts.iter().filter_map(|part| match &part.executable.kind {
        ImageKind::Linked { path } => Some(path),
        _ => None,
    });
    for path in linked {
        let kind = ImageKind::Linked { path: path.clone() };
        let mut inspection = interpreters.inspect(&publication.module, kind, source.real())?;
        let finished = finish(inspection.command.arg("--check"), &[], &interpreters.giver)?;
        if !finished.status.success() {
            return Err(Error::new(
                ErrorKind::Unavailable,
                "check a module",
                "the executable that was built for it does not load",
            )
            .with("file", source.named().display())
            .with("it said", finished.last_line())
            .fix("install what is missing, or name its folder when you link: -Wl,-rpath,FOLDER"));
        }
    }
    Ok(())
}

/// The other end of [`check_in_child`]: reads a module from standard input, answers with a failure
/// if there is one.
pub fn check_from_stdin() -> Result<()> {
    farcall_executable::serve::confine_inspection()?;
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(256 << 20)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::system("check a module", error))?;
    let publication: HostPublication = farcall_wire::message::decode("module", &bytes)?;
    farcall_executable::serve::check_module(&publication)
}
