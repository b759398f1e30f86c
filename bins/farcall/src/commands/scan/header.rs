//! C headers: preprocessed where they need it, and drafted.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use farcall_base::{Error, ErrorKind, Result};
use farcall_header::{Draft, FILE_BYTES_MAX, Problem, Source, draft, plain};
use farcall_idl::format::format;
use farcall_publishing::shared_data::kept_data;

use super::compiler::{include_options, library_text, shown};
use super::sources::{self, FORTRAN, HEADERS};
use super::{Places, ScanArguments, count, count_problems, first_lines, read, write};
use crate::output::{notice, print};

const OPERATION: &str = "scan a C header";
/// Endings of sources of C and C++, whose functions headers declare.
const SOURCES: [&str; 4] = ["c", "cc", "cpp", "cxx"];
/// Beginnings of options in CC that lay out types in another way than headers say.
const LAYOUT_OPTIONS: [&str; 5] = ["-fpack-struct", "-fshort-enums", "-m32", "-mx32", "-m16"];
/// Endings of headers of C++.
const CPP_HEADERS: [&str; 4] = ["hh", "hpp", "hxx", "h++"];

/// Whether the files are headers.
///
/// # Errors
/// `InvalidSource` for what is of C or C++ and no header of C, and for headers among others.
pub fn is_meant(files: &[PathBuf]) -> Result<bool> {
    let wrong = |file: &Path, message: &str, fix: &str| {
        let error = Error::new(ErrorKind::InvalidSource, OPERATION, message.to_owned());
        Err(error.with("file", file.display()).fix(fix.to_owned()))
    };
    for file in files {
        if sources::is_ending(file, &SOURCES) {
            return wrong(file, "it is a source of C or C++", "pass the header of its functions");
        }
        if sources::is_ending(file, &CPP_HEADERS) {
            let fix = "declare what is to be called in a header of C: extern \"C\"";
            return wrong(file, "it is a header of C++", fix);
        }
    }
    if !sources::has(files, &HEADERS) {
        return Ok(false);
    }
    let is_named = |file: &&PathBuf| sources::is_ending(file, &HEADERS);
    if !files.iter().any(|file| is_named(&file)) {
        // Folders of Fortran may hold headers, too.
        return Ok(!sources::has(files, &FORTRAN));
    }
    match files.iter().find(|file| !is_named(file) && !file.is_dir()) {
        None => Ok(true),
        Some(other) => {
            wrong(other, "it is no C header, and others are", "scan them in two commands")
        }
    }
}

/// Drafts, tells what was not decided, and writes. Fails if something was not decided.
///
/// # Errors
/// What keeps any of the headers from being read, or the file from being written.
pub fn scan(arguments: &ScanArguments, places: &Places) -> Result<ExitCode> {
    if arguments.build || !arguments.uses.is_empty() {
        let message = "--build and --uses are for Fortran sources";
        return Err(Error::new(ErrorKind::InvalidArgument, OPERATION, message)
            .fix("compile the library yourself, and name it with --library"));
    }
    compiler()?;
    let files = sources::files(&arguments.files, &HEADERS)?;
    let drafted = drafted(arguments, &files, places)?;
    drafted.problems.iter().for_each(|problem| tell("error", problem));
    drafted.notes.iter().for_each(|note| tell("note", note));
    if drafted.routines == 0 && drafted.problems.is_empty() {
        let message = "it declares no function";
        return Err(Error::new(ErrorKind::InvalidSource, OPERATION, message)
            .with("file", files[0].display())
            .fix("pass the header that declares the functions of the library"));
    }
    let name = places.interface.display().to_string();
    let interface = format(&name, &drafted.interface).map_err(Error::from)?;
    write(&places.interface, &interface, arguments.force)?;
    print(|out| {
        count(out, places, (&drafted.module, drafted.routines))?;
        count_problems(out, drafted.problems.len())?;
        let command = shown(&["farcall", "check", &name].map(str::to_owned));
        writeln!(out, "the library is {}; try it: {command}", places.library)
    })?;
    Ok(if drafted.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

fn drafted(arguments: &ScanArguments, files: &[PathBuf], places: &Places) -> Result<Draft> {
    let texts: Vec<(String, String)> = files
        .iter()
        .map(|file| Ok((file.display().to_string(), text(arguments, file)?)))
        .collect::<Result<_>>()?;
    let all: Vec<Source<'_>> = texts.iter().map(|(name, text)| Source { name, text }).collect();
    let kept = kept_data(&places.folder().join(&places.library));
    Ok(draft(&all, &library_text(&places.library), kept.as_deref()))
}

/// A header as it is, or what the preprocessor makes of one with macros and headers of its own.
fn text(arguments: &ScanArguments, file: &Path) -> Result<String> {
    let text = read(file)?;
    match plain(&text) {
        Some(plain) => Ok(plain),
        None => preprocessed(arguments, file),
    }
}

/// `$CC` and its options, or cc.
///
/// # Errors
/// `InvalidArgument` for an option that changes the layout of types.
fn compiler() -> Result<Vec<String>> {
    let compiler = std::env::var("CC").ok().filter(|compiler| !compiler.trim().is_empty());
    let compiler = compiler.unwrap_or_else(|| "cc".to_owned());
    let command: Vec<String> = compiler.split_whitespace().map(str::to_owned).collect();
    let changes = |word: &&String| LAYOUT_OPTIONS.iter().any(|option| word.starts_with(option));
    let Some(option) = command.iter().skip(1).find(changes) else { return Ok(command) };
    let message =
        format!("CC has the option {option}, which changes the layout of types; no interface does");
    Err(Error::new(ErrorKind::InvalidArgument, OPERATION, message)
        .with("CC", compiler)
        .fix("leave it out, and compile the library without it"))
}

fn preprocessed(arguments: &ScanArguments, file: &Path) -> Result<String> {
    let mut command = compiler()?;
    // Comments stay: they become descriptions.
    command.extend(["-E", "-C"].map(str::to_owned));
    command.extend(include_options(arguments)?);
    let failed = |why: String| {
        Error::new(ErrorKind::InvalidSource, OPERATION, why)
            .with("file", file.display())
            .with("command", shown(&command))
            .fix(
                "pass folders of included headers with --include, or set CC to a compiler with the \
                 macros that the header needs: CC='gcc -DDOUBLE'",
            )
    };
    let run = Command::new(&command[0]).args(&command[1..]).arg(file).output();
    let run = run.map_err(|error| {
        failed(format!("it needs a preprocessor, and that does not start: {error}"))
    })?;
    if !run.status.success() {
        let words = String::from_utf8_lossy(&run.stderr);
        return Err(failed(format!("the preprocessor failed: {}", first_lines(&words))));
    }
    if run.stdout.len() > FILE_BYTES_MAX {
        let message = "with all that it includes, it is longer than 16 MiB";
        return Err(Error::new(ErrorKind::LimitExceeded, OPERATION, message)
            .with("file", file.display())
            .fix("declare the functions in a header that includes less"));
    }
    Ok(String::from_utf8_lossy(&run.stdout).into_owned())
}

/// One line for a person, and for editors that jump to places.
fn tell(kind: &str, problem: &Problem) {
    let Problem { file, place, message } = problem;
    notice(&format!("{file}:{}:{}: {kind}: {message}", place.line, place.column));
}
