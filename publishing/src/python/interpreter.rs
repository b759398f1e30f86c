//! Finds out what an interpreter is and reads, in a process that is held to the rules of the module
//! that it is to run.
//!
//! Whoever publishes a file names the program that lies beside it. So it may do no more than the
//! file's own code, and what it says that it reads is granted only where it lies anyway: by paths
//! without links, so that it stays what it was.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};
use farcall_executable::image::loaded_files;
use farcall_services::directory::ImageKind;
use serde_json::Value;

use super::{Interpreters, PROGRAM, answer};
use farcall_spawner_local::Inspected;

use crate::inspection::finish;

/// The environment of a file, in its folder.
const ENVIRONMENT: &str = ".venv";
/// Others may write.
const WRITABLE_BY_OTHERS: u32 = 0o002;

/// Who named an interpreter.
pub enum Namer<'a> {
    /// Whoever runs the server, so.
    Admin(&'static str),
    /// Whoever publishes a file, by an environment in its folder.
    Publisher(&'a Path),
}

/// An interpreter that has Farcall.
pub struct Interpreter {
    program: String,
    readable: Vec<String>,
    /// What it reads and is not granted.
    elsewhere: Vec<String>,
}

impl Interpreter {
    /// Asks it where it is. It runs none of the file's code.
    pub fn ask(
        interpreters: &Interpreters,
        python: &Path,
        namer: &Namer<'_>,
        module: &str,
        file: &Path,
    ) -> Result<Interpreter> {
        let named = |error: Error| {
            error.with("python", python.display()).with("chosen because", namer.reason())
        };
        let program = find(python).ok_or_else(|| named(no_program()))?;
        namer.check(file).map_err(named)?;
        let own: Vec<PathBuf> = namer.folders(&program).collect();
        let kind = ImageKind::Interpreted {
            program: program.display().to_string(),
            arguments: PROGRAM.into_iter().chain(["--places"]).map(str::to_owned).collect(),
            readable: own.iter().filter_map(|folder| without_links(folder.to_str()?)).collect(),
        };
        // What the manifest grants is granted to this, too.
        let readable = loaded_files(&kind);
        let trust = interpreters.trust(file);
        let listed = Vec::new();
        let asked = Inspected { module, kind: kind.clone(), readable, listed, trust };
        let granted = interpreters.inspector.grants(asked).readable;
        let mut inspection = interpreters.inspect(module, kind, file)?;
        let finished = finish(&mut inspection.command, b"", &interpreters.giver).map_err(named)?;
        if !finished.status.success() {
            let has_none = finished.words.contains("No module named");
            let message = if has_none {
                "it has no farcall package, or a package that farcall needs is missing"
            } else {
                "it cannot load farcall"
            };
            return Err(named(missing(message)).with("it said", finished.last_line()));
        }
        let said = answer(&finished, python)?;
        let readable = said["readable"].as_array().into_iter().flatten();
        let readable = readable.filter_map(Value::as_str).filter_map(without_links);
        let (readable, elsewhere) = readable.partition(|path| namer.may_grant(path, &granted));
        match said["program"].as_str() {
            Some(program) if program.starts_with('/') => {
                Ok(Interpreter { program: program.to_owned(), readable, elsewhere })
            }
            _ => Err(named(missing("its location is unknown"))),
        }
    }

    /// How it runs a file.
    pub fn image(&self, arguments: Vec<String>) -> ImageKind {
        ImageKind::Interpreted {
            program: self.program.clone(),
            arguments,
            readable: self.readable.clone(),
        }
    }

    /// What the publisher should know of what it reads.
    pub fn left_out(&self, module: &str) -> String {
        let line = |path: &String| {
            format!(
                "{path} is not readable for the module, although .venv uses it \
                    (modules.{module}.readable)\n"
            )
        };
        self.elsewhere.iter().map(line).collect()
    }
}

impl Namer<'_> {
    fn reason(&self) -> &'static str {
        match self {
            Namer::Admin(reason) => reason,
            Namer::Publisher(_) => "it is next to the file",
        }
    }

    /// Refuses an environment that lies beside the file and is not its owner's: in a folder where
    /// all may write, anybody could have put it there.
    fn check(&self, file: &Path) -> Result<()> {
        let Namer::Publisher(folder) = self else { return Ok(()) };
        let owner = |path: &Path| std::fs::symlink_metadata(path).map(|data| data.uid()).ok();
        let own = std::fs::metadata(file).map(|data| data.uid()).ok();
        match owner(&folder.join(ENVIRONMENT)) {
            Some(other) if Some(other) == own || other == 0 => Ok(()),
            _ => Err(missing("the environment next to the file belongs to another user")),
        }
    }

    /// What a program reads while it is asked: its environment, and the installation that this
    /// leads to.
    fn folders(&self, program: &Path) -> impl Iterator<Item = PathBuf> {
        let beside = match self {
            Namer::Admin(_) => installation(program),
            // One that lies elsewhere is granted by the manifest, or not at all.
            Namer::Publisher(folder) => {
                Some(folder.join(ENVIRONMENT)).filter(|folder| !folder.is_symlink())
            }
        };
        let real = std::fs::canonicalize(program).ok().and_then(|program| installation(&program));
        let real = real.filter(|folder| matches!(self, Namer::Admin(_)) || is_python(folder));
        // A folder that is everything is no folder of its own.
        [beside, real].into_iter().flatten().filter(|folder| folder.parent().is_some())
    }

    /// Whether a module may read what its interpreter says that it reads.
    fn may_grant(&self, path: &str, granted: &[String]) -> bool {
        let Namer::Publisher(_) = self else { return true };
        let below = |folder: &str| {
            std::fs::canonicalize(folder).is_ok_and(|folder| Path::new(path).starts_with(folder))
        };
        granted.iter().map(String::as_str).chain(["/usr"]).any(below)
    }
}

/// A path as it is without links.
fn without_links(path: &str) -> Option<String> {
    std::fs::canonicalize(path).ok()?.to_str().map(str::to_owned)
}

/// The folder whose `bin` a program lies in.
fn installation(program: &Path) -> Option<PathBuf> {
    program.parent().and_then(Path::parent).map(Path::to_path_buf)
}

/// Whether a folder is an installation of Python, and not one where anybody can make it look so.
fn is_python(folder: &Path) -> bool {
    let is_shared =
        std::fs::metadata(folder).is_ok_and(|status| status.mode() & WRITABLE_BY_OTHERS != 0);
    let mut names = std::fs::read_dir(folder.join("lib"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name());
    !is_shared && names.any(|name| name.to_string_lossy().starts_with("python"))
}

/// A program by its path, or by a name to look for where the shell would.
fn find(python: &Path) -> Option<PathBuf> {
    if python.components().count() > 1 {
        return std::path::absolute(python).ok().filter(|program| program.is_file());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders)
        .map(|folder| folder.join(python))
        .find(|program| program.is_file())
}

/// Says no where the interpreter that a server is started with is not there, and not only when a
/// file is published.
///
/// # Errors
/// `Unavailable`, with how to get one.
pub fn need(python: &Path) -> Result<()> {
    match find(python) {
        Some(_) => Ok(()),
        None => Err(no_program().with("python", python.display())),
    }
}

fn no_program() -> Error {
    missing("there is no such program")
}

fn missing(message: &str) -> Error {
    Error::new(ErrorKind::Unavailable, "find a Python interpreter", message.to_owned()).fix(
        "run python3 -m venv .venv next to the file, and .venv/bin/pip install the farcall wheel \
        there (list other directories in modules.NAME.readable in farcall.toml); or set an \
        interpreter: farcall serve --python PATH, farcall connect HOST --python PATH for a server \
        by ssh, or modules.NAME.python",
    )
}
