//! `farcall scan`: drafts an interface file from Fortran sources, and compiles the library that it
//! names; or drafts one from C headers.

mod compiler;
mod header;
mod sources;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_fortran::{Draft, Problem, Source, draft, is_directive};
use farcall_idl::format::format;
use farcall_system::plain_file;

use crate::output::{notice, print};
use compiler::{compiler, dialect, include_options, library_text, shown};

const OPERATION: &str = "scan a Fortran source";
/// Longest source, and longest file that it includes.
const SOURCE_BYTES_MAX: u64 = 4 << 20;

/// Drafts an interface file.
#[derive(Args)]
pub struct ScanArguments {
    /// Fortran source files of one module, or C headers (.h), and directories of such files; .f,
    /// .for, .ftn and .f77 are fixed form
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Source file of a module that the source uses, for constants such as kinds; may be repeated,
    /// in the order of use
    #[arg(long, value_name = "FILE.f90")]
    uses: Vec<PathBuf>,
    /// Search this directory for included files; may be repeated
    #[arg(short = 'I', long = "include", value_name = "FOLDER")]
    includes: Vec<PathBuf>,
    /// Interface file to write; the wrapper goes next to it [default: the name of the first source
    /// or directory with .idl, in the working directory]
    #[arg(short, long, value_name = "FILE.idl")]
    output: Option<PathBuf>,
    /// Shared library that the interface names [default: lib and the interface's name, next to it]
    #[arg(long, value_name = "FILE.so")]
    library: Option<String>,
    /// Also compile the library with $FC or gfortran
    #[arg(long)]
    build: bool,
    /// Overwrite existing files
    #[arg(long)]
    force: bool,
}

/// What goes where.
struct Places {
    interface: PathBuf,
    wrapper: PathBuf,
    /// As the interface names it.
    library: String,
}

impl Places {
    /// Names that follow from the source, unless they were given.
    fn of(arguments: &ScanArguments) -> Places {
        let stem = sources::stem(&arguments.files[0]);
        let interface =
            arguments.output.clone().unwrap_or_else(|| PathBuf::from(format!("{stem}.idl")));
        let wrapper = interface.with_file_name(format!("{stem}_farcall.f90"));
        let library = arguments.library.clone().unwrap_or_else(|| format!("./lib{stem}.so"));
        Places { interface, wrapper, library }
    }

    /// Where the interface lies: libraries are named from there, as the server reads them.
    fn folder(&self) -> &Path {
        self.interface
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."))
    }
}

/// Drafts, tells what was not decided, writes, and builds if asked to. Fails if something was not
/// decided.
pub fn scan(arguments: &ScanArguments) -> Result<ExitCode> {
    let places = Places::of(arguments);
    if header::is_meant(&arguments.files)? {
        return header::scan(arguments, &places);
    }
    let files = sources::files(&arguments.files, &sources::FORTRAN)?;
    let drafted = drafted(arguments, &files, &places)?;
    for problem in &drafted.problems {
        tell("error", problem);
    }
    for note in &drafted.notes {
        tell("note", note);
    }
    if drafted.routines == 0 && drafted.problems.is_empty() {
        let message = "it has no public procedure";
        return Err(Error::new(ErrorKind::InvalidSource, OPERATION, message)
            .with("file", arguments.files[0].display())
            .fix(
                "pass a source with a subroutine or function, outside a module or not PRIVATE in \
                it",
            ));
    }
    let interface =
        format(&places.interface.display().to_string(), &drafted.interface).map_err(Error::from)?;
    write(&places.interface, &interface, arguments.force)?;
    if let Some(wrapper) = &drafted.wrapper {
        write(&places.wrapper, wrapper, arguments.force)?;
    }
    let command = compile_command(arguments, &files, &places, &drafted)?;
    // A library of nothing is not compiled.
    let builds = arguments.build && drafted.routines > 0;
    summarise(&drafted, &places, &command, builds)?;
    if builds {
        build(&places, &command)?;
    }
    Ok(if drafted.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// Reads the source and those that it uses, and drafts.
///
/// # Errors
/// What keeps all of it from being read.
fn drafted(arguments: &ScanArguments, files: &[PathBuf], places: &Places) -> Result<Draft> {
    let texts: Vec<(String, String)> = arguments
        .uses
        .iter()
        .chain(files)
        .map(|file| Ok((file.display().to_string(), preprocessed(arguments, file, read(file)?)?)))
        .collect::<Result<_>>()?;
    let dialect = dialect()?;
    let all: Vec<Source<'_>> = texts
        .iter()
        .map(|(name, text)| Source { name, text, form: dialect.form_of(name) })
        .collect();
    let (uses, sources) = all.split_at(arguments.uses.len());
    let includes = |source: &str, name: &str| included(arguments, Path::new(source), name);
    let library = library_text(&places.library);
    draft(sources, uses, &includes, &library, &dialect).map_err(|problem| {
        Error::new(ErrorKind::InvalidSource, OPERATION, problem.message)
            .with("file", problem.file)
            .with("line", problem.line)
    })
}

/// The text of a source. Bytes that are no UTF-8, in comments of old ones, become the replacement
/// character.
///
/// # Errors
/// `NotFound`, `InvalidArgument` for what is no plain file, `LimitExceeded`.
fn read(file: &Path) -> Result<String> {
    let failed = |error: std::io::Error| {
        let (kind, message, fix) = match error.kind() {
            std::io::ErrorKind::NotFound => (
                ErrorKind::NotFound,
                "there is no such file",
                "check the path: it is relative to this directory",
            ),
            std::io::ErrorKind::InvalidInput => (
                ErrorKind::InvalidArgument,
                "it is not a regular file",
                "pass the Fortran source itself, such as heat.f90",
            ),
            std::io::ErrorKind::FileTooLarge => (
                ErrorKind::LimitExceeded,
                "it is longer than 4 MiB",
                "split it into several sources, and scan each",
            ),
            _ => return Error::system(OPERATION, error).with("file", file.display()),
        };
        Error::new(kind, OPERATION, message).with("file", file.display()).fix(fix)
    };
    let bytes = plain_file::read(file, SOURCE_BYTES_MAX).map_err(failed)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The text of a file that a source includes: beside the source, or in one of the folders that were
/// named.
fn included(
    arguments: &ScanArguments,
    source: &Path,
    name: &str,
) -> std::result::Result<String, String> {
    let beside = source.parent().unwrap_or(Path::new(""));
    let folders = std::iter::once(beside).chain(arguments.includes.iter().map(PathBuf::as_path));
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    let file = found
        .ok_or("there is no such file next to the source; pass its directory with --include")?;
    read(&file).map_err(|error| error.to_string())
}

/// What the compiler makes of a source with lines for the preprocessor; any other source as it is.
fn preprocessed(arguments: &ScanArguments, file: &Path, text: String) -> Result<String> {
    let Some(line) = text.lines().position(is_directive) else { return Ok(text) };
    let mut command = compiler();
    command.extend(["-E", "-cpp"].map(str::to_owned));
    command.extend(include_options(arguments)?);
    let failed = |why: String| {
        Error::new(ErrorKind::InvalidSource, OPERATION, why)
            .with("file", file.display())
            .with("line", line + 1)
            .with("command", shown(&command))
            .fix(
                "set FC to a compiler, with the macros that the source needs: FC='gfortran \
                -DDOUBLE'",
            )
    };
    let run = Command::new(&command[0]).args(&command[1..]).arg(file).output();
    let run = run.map_err(|error| {
        failed(format!("it has preprocessor lines, and the preprocessor does not start: {error}"))
    })?;
    if !run.status.success() {
        let words = String::from_utf8_lossy(&run.stderr);
        return Err(failed(format!("the preprocessor failed: {}", first_lines(&words))));
    }
    // Comments may be of any encoding, and are not lost for that.
    Ok(String::from_utf8_lossy(&run.stdout).into_owned())
}

/// What a compiler says, as long as a person reads it.
fn first_lines(words: &str) -> String {
    words.lines().filter(|line| !line.trim().is_empty()).take(20).collect::<Vec<_>>().join("\n")
}

/// One line for a person, and for editors that jump to lines.
fn tell(kind: &str, problem: &Problem) {
    notice(&format!("{}:{}: {kind}: {}", problem.file, problem.line, problem.message));
}

/// Writes a new file: what is there was perhaps bettered by hand, and is not written over unasked.
fn write(file: &Path, text: &str, force: bool) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true);
    let opened = if force {
        options.create(true).truncate(true).open(file)
    } else {
        options.create_new(true).open(file)
    };
    let written = opened.and_then(|mut opened| opened.write_all(text.as_bytes()));
    written.map_err(|error| {
        let exists = error.kind() == std::io::ErrorKind::AlreadyExists;
        let error = Error::system(OPERATION, error).with("file", file.display());
        if exists {
            error.fix("write to another file with --output, or overwrite it with --force")
        } else {
            error
        }
    })
}

/// What makes the library, in the interface's folder.
fn compile_command(
    arguments: &ScanArguments,
    files: &[PathBuf],
    places: &Places,
    drafted: &Draft,
) -> Result<Vec<String>> {
    let mut command = compiler();
    command.extend(["-O2", "-shared", "-fPIC", "-o", &places.library].map(str::to_owned));
    command.extend(include_options(arguments)?);
    let here =
        std::fs::canonicalize(places.folder()).map_err(|error| Error::system(OPERATION, error))?;
    let all: Vec<&PathBuf> = arguments.uses.iter().chain(files).collect();
    for file in drafted.order.iter().map(|number| all[*number]) {
        let full = std::fs::canonicalize(file).map_err(|error| Error::system(OPERATION, error))?;
        // Short where it can be: people read it.
        command.push(
            full.strip_prefix(&here)
                .map_or_else(|_| full.display().to_string(), |short| short.display().to_string()),
        );
    }
    if drafted.wrapper.is_some() {
        command.extend(places.wrapper.file_name().map(|name| name.to_string_lossy().into_owned()));
    }
    Ok(command)
}

/// How many routines were drafted.
fn count(
    out: &mut dyn Write,
    places: &Places,
    (module, routines): (&str, usize),
) -> std::io::Result<()> {
    let plural = if routines == 1 { "" } else { "s" };
    let interface = places.interface.display();
    writeln!(out, "{interface}: module {module}, {routines} routine{plural}")
}

/// How much was not decided.
fn count_problems(out: &mut dyn Write, problems: usize) -> std::io::Result<()> {
    match problems {
        0 => Ok(()),
        1 => writeln!(
            out,
            "1 thing is left to decide: see the error, and the comments in the interface file"
        ),
        many => writeln!(
            out,
            "{many} things are left to decide: see the errors, and the comments in the interface \
             file"
        ),
    }
}

/// What was drafted, what is left to do, and the command that makes the library.
fn summarise(drafted: &Draft, places: &Places, command: &[String], builds: bool) -> Result<()> {
    print(|out| {
        count(out, places, (&drafted.module, drafted.routines))?;
        if drafted.wrapper.is_some() {
            writeln!(
                out,
                "{}: what a server calls instead of module procedures",
                places.wrapper.display()
            )?;
        }
        count_problems(out, drafted.problems.len())?;
        let word = if builds { "compiling" } else { "compile the library" };
        writeln!(out, "{word}: {}", shown(command))
    })
}

/// Runs that command. Module files of the compiler go to a folder that is removed: nobody but it
/// reads them.
fn build(places: &Places, command: &[String]) -> Result<()> {
    let modules = std::env::temp_dir().join(format!("farcall-scan-{}", std::process::id()));
    std::fs::create_dir_all(&modules).map_err(|error| Error::system(OPERATION, error))?;
    let run = Command::new(&command[0])
        .args(&command[1..])
        .arg("-J")
        .arg(&modules)
        .current_dir(places.folder())
        .output();
    let _ = std::fs::remove_dir_all(&modules);
    let run = run.map_err(|error| {
        Error::system(OPERATION, error)
            .with("compiler", &command[0])
            .fix("install gfortran, or set FC to another compiler")
    })?;
    if run.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&run.stderr);
    let error = Error::new(ErrorKind::InvalidSource, "compile the library", first_lines(&words))
        .with("command", shown(command));
    // As gfortran and flang say it.
    let lacks_module = ["Cannot open module file", "Cannot parse module file"]
        .iter()
        .any(|said| words.contains(said));
    Err(if lacks_module { error.fix("pass the file of that module with --uses") } else { error })
}
