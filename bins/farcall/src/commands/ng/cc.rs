//! `ng_cc`: the compiler with the options that a client needs.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_executable::build::run_times;

use crate::output::print;

/// What `ng_cc` takes: what the compiler takes.
#[derive(Args)]
pub struct CompilerArguments {
    /// Arguments for the compiler
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

/// What `ng_config` prints.
#[derive(Args)]
#[group(required = true)]
pub struct ConfigArguments {
    /// Print the options for compiling
    #[arg(long)]
    cflags: bool,
    /// Print the options for linking
    #[arg(long)]
    libs: bool,
    /// Print the directory that Makefiles use as $NG_DIR
    #[arg(long = "dir")]
    folder: bool,
    /// Print the libraries that these objects and archives of Fortran or C++ need
    #[arg(long, value_name = "OBJECT", num_args = 0..)]
    run_times: Vec<PathBuf>,
}

/// Options with which a compiler stops before it links.
const NO_LINK: [&str; 7] = ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--version"];
/// Endings of what a linker takes as it is.
const LINKED: [&str; 3] = ["o", "a", "so"];

/// What newer compilers refuse in C and older ones took with a warning; a program's own options come
/// behind them.
const OLD_C: [&str; 4] = [
    "-Wno-error=implicit-function-declaration",
    "-Wno-error=implicit-int",
    "-Wno-error=int-conversion",
    "-Wno-error=incompatible-pointer-types",
];

fn compiling(prefix: &Path) -> Vec<String> {
    vec![format!("-I{}", prefix.join("include").display())]
}

/// The program finds the library where it is now; nothing else is needed when it runs. `libnggrpc`
/// brings the names of FORTRAN 77, and the first Ninf's for programs without a header.
fn linking(prefix: &Path) -> Vec<String> {
    let folder = prefix.join("lib");
    let found = std::fs::canonicalize(folder.join("libfarcall.so")).ok();
    let run_time = found.as_deref().and_then(Path::parent).unwrap_or(&folder).display().to_string();
    let mut words = vec![format!("-L{}", folder.display()), format!("-Wl,-rpath,{run_time}")];
    if folder.join("libnggrpc.so").exists() {
        words.push("-lnggrpc".to_owned());
    }
    words.extend(["-lfarcall", "-lpthread", "-lm"].map(str::to_owned));
    words
}

/// Becomes the compiler; returns only if that fails.
pub fn compile(arguments: &CompilerArguments, prefix: &Path) -> Result<ExitCode> {
    let given = &arguments.arguments;
    let links = !given.iter().any(|argument| NO_LINK.iter().any(|option| argument == *option));
    let words = command(links && given.iter().all(is_linked))?;
    let (program, first) =
        words.split_first().ok_or_else(|| Error::internal("compile", "the command is empty"))?;
    let mut command = Command::new(program);
    command.args(first).args(compiling(prefix));
    if given.iter().any(|argument| argument.to_string_lossy().ends_with(".c")) {
        command.args(OLD_C);
    }
    command.args(given);
    if links {
        // Behind the program's own objects and libraries, which refer to it.
        command.args(linking(prefix));
    }
    let error = command.exec();
    Err(Error::new(ErrorKind::Unavailable, "compile", error.to_string())
        .with("compiler", program)
        .fix("install a C compiler, or name one in NG_COMPILER"))
}

/// An option, or a file that needs no compiler.
fn is_linked(argument: &OsString) -> bool {
    let text = argument.to_string_lossy();
    let ending = text.rsplit('.').next().unwrap_or_default();
    text.starts_with('-') || !text.contains('.') || LINKED.contains(&ending)
}

/// The words of `$NG_COMPILER` or, where nothing is to be compiled, `$NG_LINKER`; `cc` without
/// them.
fn command(link_alone: bool) -> Result<Vec<String>> {
    let variables =
        if link_alone { ["NG_LINKER", "NG_COMPILER"] } else { ["NG_COMPILER", "NG_COMPILER"] };
    let named = variables
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|words| !words.trim().is_empty()));
    let words = named.unwrap_or_else(|| "cc".to_owned());
    Ok(words.split_whitespace().map(str::to_owned).collect())
}

/// Prints options.
pub fn config(arguments: &ConfigArguments, prefix: &Path) -> Result<()> {
    let mut words = Vec::new();
    if arguments.folder {
        words.push(prefix.display().to_string());
    }
    if arguments.cflags {
        words.extend(compiling(prefix));
    }
    if arguments.libs {
        words.extend(linking(prefix));
    }
    // The linker says of what is missing.
    let objects = arguments.run_times.iter().filter_map(|object| std::fs::read(object).ok());
    for library in objects.flat_map(|object| run_times(&object)) {
        if !words.iter().any(|word| word == library) {
            words.push(library.to_owned());
        }
    }
    print(|out| writeln!(out, "{}", words.join(" ")))
}
