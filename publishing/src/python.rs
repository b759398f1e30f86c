//! From a Python file to a module: finds an interpreter, has it say what the file's interfaces are,
//! and keeps the source.
//!
//! The source travels with the module to each executable, so that an edit shows with the next
//! `farcall reload` and not in half of the processes. What it says of itself, it says in a process
//! that is held to the module's rules.

mod interpreter;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_executable::build::Confinement;
use farcall_executable::image::{listed_folders, loaded_files};
use farcall_idl::interface::{Module, Routine};
use farcall_services::directory::{ExecutableImage, ImageKind, Trust};
use farcall_spawner_local::{Grants, Hold, Inspected, Inspection, Inspector};
use serde_json::Value;

use crate::claims::Names;
use crate::inspection::{Finished, Giver, finish};
use crate::shipped;
pub use interpreter::need;
use interpreter::{Interpreter, Namer};

/// The variable that names the interpreter of files beside which there is no environment.
const PYTHON_VARIABLE: &str = "FARCALL_PYTHON";
/// The program in our Python package.
const PROGRAM: [&str; 3] = ["-I", "-m", "farcall._executable"];

/// Which interpreters there are, and what their processes may do.
#[derive(Clone, Debug, Default)]
pub struct Interpreters {
    /// The manifest's word.
    pub inspector: Inspector,
    /// The command line's.
    pub python: Option<PathBuf>,
    /// For whom they look into files.
    pub giver: Giver,
    /// Whose code they look into.
    pub publisher: Publisher,
    /// Which names its module may have; none where all are its user's own.
    pub names: Option<Arc<Names>>,
}

/// What holds compilers of a module's code, as long as this lives.
pub struct Compilers {
    /// By what, and to what.
    pub confinement: Confinement,
    _hold: Hold,
}

/// Whose code a server, or a command, is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Publisher {
    /// That of whoever has the program do it: `farcall check`.
    #[default]
    User,
    /// The owner's, on a server of the owner's own. What comes with Farcall is confined there, too.
    Owner,
    /// Anybody's.
    Anybody,
}

/// A file that an interpreter has read.
pub struct Described {
    /// Its interfaces, and the source.
    pub module: Module,
    /// How it is run.
    pub kind: ImageKind,
    /// What the publisher should know.
    pub warnings: String,
}

impl Interpreters {
    /// Refuses a module's name that is not for whoever publishes it.
    ///
    /// # Errors
    /// `PermissionDenied`.
    pub fn check_name(&self, module: &str) -> Result<()> {
        self.names.as_ref().map_or(Ok(()), |names| names.check(module))
    }

    /// Whose code a file is, by a path without links.
    pub fn trust(&self, file: &Path) -> Trust {
        match self.publisher {
            Publisher::Owner if !shipped::is_shipped(file) => Trust::Owner,
            Publisher::Owner | Publisher::Anybody | Publisher::User => Trust::Confined,
        }
    }

    /// By what the compilers of a module's code, which comes from the file at this path without
    /// links, are confined, if by anything.
    ///
    /// # Errors
    /// When the module's limits cannot be held.
    pub fn compilers(&self, file: &Path, module: &str) -> Result<Option<Compilers>> {
        if self.publisher != Publisher::Anybody || shipped::is_shipped(file) {
            return Ok(None);
        }
        let program =
            std::env::current_exe().map_err(|error| Error::system("confine a compiler", error))?;
        let command = vec![program.display().to_string(), "host".to_owned(), "--run".to_owned()];
        let hold = self.inspector.hold(module)?;
        let confinement =
            Confinement { command, limits: hold.rules.clone(), folder: Some(hold.folder.clone()) };
        Ok(Some(Compilers { confinement, _hold: hold }))
    }

    /// A process that looks into a module which comes from `file`.
    ///
    /// # Errors
    /// As [`Inspector::inspect`].
    pub fn inspect(&self, module: &str, kind: ImageKind, file: &Path) -> Result<Inspection> {
        // Its code may do what the manifest lets that name do.
        self.check_name(module)?;
        let readable = loaded_files(&kind);
        let listed = listed_folders(&kind);
        self.inspector.inspect(Inspected {
            module,
            kind,
            readable,
            listed,
            trust: self.trust(file),
        })
    }

    /// What a module may open, with this image.
    pub fn grants(&self, module: &str, image: &ExecutableImage) -> Grants {
        let kind = image.kind.clone();
        let readable = image.readable.clone();
        let listed = image.listed.clone();
        self.inspector.grants(Inspected { module, kind, readable, listed, trust: image.trust })
    }

    /// Runs `source`, which was read from `file`, and asks what it publishes.
    ///
    /// # Errors
    /// `Unavailable` without an interpreter that has Farcall, `InvalidSource` for what is wrong
    /// with the file.
    pub fn describe(&self, file: &Path, source: &str) -> Result<Described> {
        let file = std::path::absolute(file)
            .map_err(|error| Error::system("publish a Python file", error))?;
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        check_name(&stem, &file)?;
        let interpreter = self.find(&file, &stem)?;
        let image = |first: &[&str]| {
            let words = PROGRAM.iter().chain(first).map(|word| (*word).to_owned());
            interpreter.image(words.chain([file.display().to_string()]).collect())
        };
        let mut inspection = self.inspect(&stem, image(&["--describe"]), &file)?;
        let finished =
            finish(&mut inspection.command, source.as_bytes(), &self.giver).map_err(|error| {
                let error = error.with("file", file.display());
                match error.kind() {
                    ErrorKind::TimedOut => {
                        error.fix("move slow work into functions: the file runs in each process")
                    }
                    _ => error,
                }
            })?;
        let said = answer(&finished, &file)?;
        if let Some(mistake) = said["mistake"].as_str() {
            return Err(mistaken(&said, mistake, &file));
        }
        let mut module = compile(&file, said["idl"].as_str().unwrap_or_default())?;
        check_arguments(&module, &said["takes"], &file)?;
        farcall_executable::serve::check_hosted(&module)
            .map_err(|error| error.with("file", file.display()))?;
        module.globals.push((source.to_owned(), file.display().to_string(), 1));
        let warnings = interpreter.left_out(&stem) + said["warnings"].as_str().unwrap_or_default();
        Ok(Described { module, kind: image(&[]), warnings })
    }

    /// The interpreter that the manifest names, that of the environment beside the file, or the
    /// server's own.
    fn find(&self, file: &Path, module: &str) -> Result<Interpreter> {
        let ask =
            |python: &Path, namer: Namer| Interpreter::ask(self, python, &namer, module, file);
        if let Some(named) = self.inspector.python(module) {
            return ask(
                Path::new(&named),
                Namer::Admin("limits.python of the configuration file names it"),
            );
        }
        let folder = file.parent().unwrap_or(Path::new("/"));
        let beside = folder.join(".venv/bin/python");
        if beside.exists() {
            return ask(&beside, Namer::Publisher(folder));
        }
        let told =
            self.python.clone().or_else(|| std::env::var_os(PYTHON_VARIABLE).map(PathBuf::from));
        match told {
            Some(python) => ask(&python, Namer::Admin("the server was started with it")),
            None => ask(Path::new("python3"), Namer::Admin("no other interpreter is set")),
        }
    }
}

/// What an interpreter says of a file.
fn answer(finished: &Finished, file: &Path) -> Result<Value> {
    let lost = |message: String| {
        Error::new(ErrorKind::InvalidSource, "read a Python file", message)
            .with("file", file.display())
            .with("it said", finished.last_line())
            .fix("run it to see the error: python3 FILE")
    };
    if !finished.status.success() {
        return Err(lost(format!(
            "the interpreter ended before it had read the file: {}",
            finished.status
        )));
    }
    serde_json::from_slice(&finished.output)
        .map_err(|_| lost("the interpreter printed an invalid answer".to_owned()))
}

fn check_name(stem: &str, file: &Path) -> Result<()> {
    let begins = stem.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if begins && stem.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::InvalidSource,
        "publish a Python file",
        format!("\"{stem}\" is not a module name"),
    )
    .with("file", file.display())
    .fix("use letters, digits and _ in its name"))
}

fn mistaken(said: &Value, mistake: &str, file: &Path) -> Error {
    let error = Error::new(ErrorKind::InvalidSource, "publish a Python file", mistake.to_owned());
    let place = match said["line"].as_u64() {
        Some(line) => format!("{}:{line}", file.display()),
        None => file.display().to_string(),
    };
    match said["fix"].as_str() {
        Some(fix) => error.with("at", place).fix(fix.to_owned()),
        None => error.with("at", place),
    }
}

fn compile(file: &Path, text: &str) -> Result<Module> {
    farcall_idl::compile(&file.display().to_string(), text).map_err(Error::from)
}

/// A function may be given what its interface takes in, and nothing else.
fn check_arguments(module: &Module, takes: &Value, file: &Path) -> Result<()> {
    let takes: BTreeMap<String, Vec<String>> =
        serde_json::from_value(takes.clone()).unwrap_or_default();
    module.routines.iter().try_for_each(|routine| {
        let name = &routine.interface.name;
        let wrong = |message: String, fix: String| {
            let error = Error::new(ErrorKind::InvalidSource, "publish a Python file", message);
            Err(error.with("routine", name).with("file", file.display()).fix(fix))
        };
        let Some(arguments) = takes.get(name) else {
            return wrong(
                format!("there is no function {name}"),
                "give the function the interface's name".to_owned(),
            );
        };
        match arguments.iter().find(|argument| !is_input(routine, argument)) {
            None => Ok(()),
            Some(argument) => wrong(
                format!("its argument {argument} is not an IN or INOUT parameter of its interface"),
                "the function must return the OUT parameters, in their order".to_owned(),
            ),
        }
    })
}

fn is_input(routine: &Routine, name: &str) -> bool {
    routine
        .interface
        .parameters
        .iter()
        .any(|parameter| parameter.name == name && parameter.mode.is_input())
}
