//! `farcall check`: whether interface files compile, and what is wrong with them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_executable::build::Preprocessor;
use farcall_executable::image::is_python;
use farcall_idl::interface::{Module, Routine};
use farcall_idl::signature::signature;
use farcall_idl::{Diagnostic, Diagnostics, Dialect};
use serde_json::{Value, json};

use super::{exit_code, explain};
use crate::output::{print, print_json, table, tell};
use farcall_publishing::module::{
    Preprocessing, check_linked, compile_as, preprocessed, publication_of, with_nothing_to_publish,
};
use farcall_publishing::python::Interpreters;
use farcall_publishing::shipped;
use farcall_publishing::source::Source;

/// Checks interface files.
#[derive(Args)]
pub struct CheckArguments {
    /// Interface files
    #[arg(required = true, value_name = "FILE.idl")]
    files: Vec<PathBuf>,
    /// Also find the libraries and symbols, and compile and link inline code, as a server does
    #[arg(long)]
    link: bool,
    /// Search this directory for headers
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<String>,
    /// Define a macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Print the mistakes as a JSON array; empty if there are none
    #[arg(long)]
    json: bool,
}

impl CheckArguments {
    fn preprocessor_options(&self) -> Vec<String> {
        let include = self.include.iter().map(|folder| format!("-I{folder}"));
        include.chain(self.define.iter().map(|define| format!("-D{define}"))).collect()
    }
}

/// Compiles every file, and finds its code if asked to; prints all mistakes, or the routines.
pub fn check(arguments: &CheckArguments) -> Result<ExitCode> {
    let mut worst: Option<Error> = None;
    let mut mistakes = Vec::new();
    for file in &arguments.files {
        let file = &shipped::named(file);
        match checked(file, arguments) {
            Ok(checked) => {
                warn(&checked.warnings);
                if !arguments.json {
                    summarise(file, &checked)?;
                }
            }
            Err(error) => {
                if arguments.json {
                    mistakes.extend(values(file, &error));
                } else {
                    explain(&error);
                }
                // A file with mistakes counts for more than one that is not there.
                worst = Some(
                    worst.filter(|worst| worst.kind() == ErrorKind::InvalidSource).unwrap_or(error),
                );
            }
        }
    }
    if arguments.json {
        print_json(&Value::from(mistakes))?;
    }
    Ok(worst.as_ref().map_or(ExitCode::SUCCESS, exit_code))
}

/// A file that can be published, and what its author should know all the same.
struct Checked {
    module: Module,
    warnings: String,
}

/// Compiles a file; where `link` says so, also finds its code.
fn checked(file: &Path, arguments: &CheckArguments) -> Result<Checked> {
    let source = Source::open(file)?;
    if is_python(file) {
        let described = Interpreters::default().describe(file, &source.text()?)?;
        let warnings = with_nothing_to_publish(described.warnings, &described.module, file);
        return Ok(Checked { module: described.module, warnings });
    }
    let preprocessor =
        Preprocessor { options: arguments.preprocessor_options(), ..Preprocessor::default() };
    let compiled = compile_as(&source, Dialect::Farcall, Preprocessing::WhereNeeded, |text| {
        preprocessed(&source, text, &preprocessor)
    })?;
    let module = compiled.module;
    let warnings = match arguments.link {
        true => linked(&module, &source)?,
        false => with_nothing_to_publish(String::new(), &module, file),
    };
    Ok(Checked { module, warnings })
}

/// Finds or builds the code, and loads what was built; what a compiler had to say.
fn linked(module: &Module, source: &Source) -> Result<String> {
    let interpreters = Interpreters::default();
    let (publication, warnings) = publication_of(module.clone(), source, &interpreters)?;
    check_linked(&publication, source, &interpreters)?;
    Ok(warnings)
}

fn warn(warnings: &str) {
    if !warnings.trim().is_empty() {
        tell(warnings.trim_end());
    }
}

/// What the file publishes: one line for each routine.
fn summarise(file: &Path, Checked { module, warnings }: &Checked) -> Result<()> {
    let row = |routine: &Routine| {
        (format!("  {}", routine.interface.full_name()), signature(&routine.interface))
    };
    let mut rows: Vec<_> = module.routines.iter().map(row).collect();
    for class in &module.classes {
        let methods =
            class.methods.iter().map(|method| method.interface.name.as_str()).collect::<Vec<_>>();
        rows.push((
            format!("  {}/{}", module.name, class.name),
            format!("class with {}", methods.join(", ")),
        ));
    }
    let verdict =
        if warnings.trim().is_empty() { "no mistakes" } else { "with the warnings above" };
    print(|out| {
        writeln!(out, "{}: module {}, {verdict}", file.display(), module.name)?;
        table(out, &rows)
    })
}

/// A file that cannot be read counts as one mistake at line 0.
fn values(file: &Path, error: &Error) -> Vec<Value> {
    let source =
        std::error::Error::source(error).and_then(|source| source.downcast_ref::<Diagnostics>());
    match source {
        Some(diagnostics) => diagnostics.list().iter().map(value).collect(),
        None => vec![json!({
            "file": file.display().to_string(),
            "line": 0,
            "column": 0,
            "length": 0,
            "message": error.message(),
            "help": error.advice(),
        })],
    }
}

/// One mistake; the keys are stable.
fn value(diagnostic: &Diagnostic) -> Value {
    json!({
        "file": diagnostic.file,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "length": diagnostic.length,
        "message": diagnostic.message,
        "help": diagnostic.help,
    })
}
