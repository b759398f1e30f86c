//! `ng_gen`: from interface files to the code and the makefile of stub executables, in the current
//! folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_executable::build::{HeldHeaders, Preprocessor, StubFile, StubNames, stubs};

use farcall_idl::{Compiled, Diagnostic, Dialect, restore_bytes};

use crate::output::notice;
use farcall_publishing::module::{Preprocessing, compile_as, preprocessed};
use farcall_publishing::source::Source;

/// Options of `ng_gen`.
#[derive(Args)]
pub struct GenerateArguments {
    /// Interface files
    #[arg(required_unless_present = "version", value_name = "FILE.idl")]
    files: Vec<PathBuf>,
    /// Print the version, and exit
    #[arg(short = 'v', long, short_alias = 'V')]
    pub version: bool,
    /// Run the C preprocessor on each file, even on files without a directive
    #[arg(
        long,
        num_args = 0..=1,
        require_equals = true,
        value_name = "COMMAND",
        conflicts_with = "no_cpp",
    )]
    with_cpp: Option<Option<OsString>>,
    /// Never run the C preprocessor
    #[arg(long)]
    no_cpp: bool,
    /// Search this directory for headers
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<String>,
    /// Define a macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Undefine a macro
    #[arg(short = 'U', value_name = "NAME")]
    undefine: Vec<String>,
    #[command(flatten)]
    ignored: Ignored,
}

/// Options of the references' generators that change nothing here.
#[derive(Args)]
struct Ignored {
    #[arg(short = 'd', long, hide = true)]
    debug: bool,
    #[arg(short = 'g', long, hide = true)]
    globus: bool,
    #[arg(long = "maxStubs", hide = true, value_name = "N")]
    max_stubs: Option<String>,
    #[arg(long = "maxExp", hide = true, value_name = "N")]
    max_expressions: Option<String>,
    #[arg(long = "maxCallbacks", hide = true, value_name = "N")]
    max_callbacks: Option<String>,
    #[arg(long = "maxGlobals", hide = true, value_name = "N")]
    max_globals: Option<String>,
}

impl Ignored {
    fn given(&self) -> Vec<&'static str> {
        let all = [
            ("-d", self.debug),
            ("-g", self.globus),
            ("--maxStubs", self.max_stubs.is_some()),
            ("--maxExp", self.max_expressions.is_some()),
            ("--maxCallbacks", self.max_callbacks.is_some()),
            ("--maxGlobals", self.max_globals.is_some()),
        ];
        all.into_iter().filter(|(_, is_given)| *is_given).map(|(option, _)| option).collect()
    }
}

impl GenerateArguments {
    fn preprocessing(&self) -> Preprocessing {
        match (&self.with_cpp, self.no_cpp) {
            (_, true) => Preprocessing::Never,
            (Some(_), _) => Preprocessing::Always,
            (None, _) => Preprocessing::WhereNeeded,
        }
    }

    /// Options of the preprocessor.
    fn options(&self) -> Vec<String> {
        let with = |letter: &str, values: &[String]| {
            values.iter().map(|value| format!("-{letter}{value}")).collect::<Vec<_>>()
        };
        [with("I", &self.include), with("D", &self.define), with("U", &self.undefine)].concat()
    }

    /// All options, for the makefile to use again.
    fn repeated(&self) -> Vec<String> {
        let word = match self.preprocessing() {
            Preprocessing::Never => Some("--no-cpp".to_owned()),
            Preprocessing::Always => Some("--with-cpp".to_owned()),
            Preprocessing::WhereNeeded => None,
        };
        word.into_iter().chain(self.options()).collect()
    }
}

/// Writes the files of each interface file.
pub fn generate(arguments: &GenerateArguments, dialect: Dialect, prefix: &Path) -> Result<()> {
    let ignored = arguments.ignored.given();
    if !ignored.is_empty() {
        let options = ignored.join(", ");
        notice(&format!("without effect here: {options}"));
    }
    arguments.files.iter().try_for_each(|file| generate_one(arguments, file, dialect, prefix))
}

fn generate_one(
    arguments: &GenerateArguments,
    file: &Path,
    dialect: Dialect,
    prefix: &Path,
) -> Result<()> {
    let source = Source::open(file)?;
    let compiled = compiled(arguments, &source, dialect)?;
    for Diagnostic { file, line, column, message, .. } in &compiled.warnings {
        notice(&format!("{file}:{line}:{column}: warning: {message}"));
    }
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let names = StubNames {
        idl: file.display().to_string(),
        stem,
        dialect,
        options: arguments.repeated(),
        prefix: prefix.display().to_string(),
    };
    let files = stubs(&compiled.module, &names)?;
    files.iter().try_for_each(write)?;
    if let Some(makefile) = files.last() {
        notice(&format!("{} written; next: make -f {}", listed(&files), makefile.name));
    }
    Ok(())
}

/// The references preprocess each file whole, headers of bodies included: where something is wrong
/// otherwise, a macro of those headers or a condition in a body may be missing.
fn compiled(arguments: &GenerateArguments, source: &Source, dialect: Dialect) -> Result<Compiled> {
    let preprocessing = arguments.preprocessing();
    let try_with = |preprocessing, reads_held| {
        let options = arguments.options();
        let preprocessor = Preprocessor { options, reads_held, ..Preprocessor::default() };
        compile_as(source, dialect, preprocessing, |text| preprocessed(source, text, &preprocessor))
    };
    let first = try_with(preprocessing, HeldHeaders::Left);
    if first.is_ok() || preprocessing == Preprocessing::Never || !source.old_text()?.contains('#') {
        return first;
    }
    try_with(Preprocessing::Always, HeldHeaders::Read).or(first)
}

fn listed(files: &[StubFile]) -> String {
    files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Writes a file whole or not at all: two makes may come here at once.
fn write(file: &StubFile) -> Result<()> {
    let draft = format!(".{}.{}", file.name, std::process::id());
    let written = std::fs::write(&draft, restore_bytes(&file.text))
        .and_then(|()| std::fs::rename(&draft, &file.name));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&draft);
        let kind = if error.kind() == std::io::ErrorKind::PermissionDenied {
            ErrorKind::PermissionDenied
        } else {
            ErrorKind::System
        };
        Error::new(kind, "write generated code", error.to_string())
            .with("file", &file.name)
            .fix("run ng_gen in a directory that you can write to")
    })
}
