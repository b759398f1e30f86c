//! `farcall fmt`: interface files in their canonical layout.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::FILE_BYTES_MAX;
use farcall_idl::format::format;

use super::{exit_code, explain};
use crate::output::{notice, print_content};
use farcall_publishing::source::Source;

const OPERATION: &str = "format an interface file";

/// Formats interface files.
#[derive(Args)]
pub struct FmtArguments {
    /// Interface files; - reads standard input and writes standard output
    #[arg(required = true, value_name = "FILE.idl")]
    files: Vec<PathBuf>,
    /// Change nothing; list the files that need formatting, and fail if there are any
    #[arg(long)]
    check: bool,
}

/// Formats every file. A file with mistakes stays as it is, and does not stop the others.
pub fn fmt(arguments: &FmtArguments) -> Result<ExitCode> {
    let mut worst = ExitCode::SUCCESS;
    for file in &arguments.files {
        match format_one(file, arguments.check) {
            Ok(Layout::Canonical) => {}
            Ok(Layout::Other) => worst = ExitCode::FAILURE,
            Err(error) => {
                explain(&error);
                worst = exit_code(&error);
            }
        }
    }
    Ok(worst)
}

/// What a file is, once the command is through with it.
enum Layout {
    Canonical,
    Other,
}

fn format_one(file: &Path, check: bool) -> Result<Layout> {
    let from_stdin = file == Path::new("-");
    let name = if from_stdin { "standard input".to_owned() } else { file.display().to_string() };
    let text =
        text_of(if from_stdin { from_input()? } else { Source::open(file)?.bytes()? }, &name)?;
    let laid_out = format(&name, &text).map_err(Error::from)?;
    match (check, laid_out == text) {
        (true, false) => {
            notice(&format!("{name} needs formatting"));
            return Ok(Layout::Other);
        }
        (false, _) if from_stdin => print_content(laid_out.as_bytes())?,
        (false, false) => replace(file, &laid_out)?,
        _ => {}
    }
    Ok(Layout::Canonical)
}

/// Bytes that are no text would be lost: the file's author has to say what they are.
fn text_of(bytes: Vec<u8>, name: &str) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| {
        Error::new(ErrorKind::InvalidSource, OPERATION, "it is not UTF-8 text")
            .with("file", name)
            .fix("convert it, for instance: iconv -f latin1 -t utf-8")
    })
}

fn from_input() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = FILE_BYTES_MAX as u64 + 1;
    std::io::stdin()
        .lock()
        .take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::system(OPERATION, error))?;
    Ok(bytes)
}

/// Puts the new text into the old one's place, whole or not at all, with its mode.
fn replace(file: &Path, text: &str) -> Result<()> {
    // A link stays one: what it leads to is replaced.
    let done = file.canonicalize().and_then(|file| {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(format!(".partial-{}", std::process::id()));
        let partial = file.with_file_name(name);
        let written = std::fs::write(&partial, text)
            .and_then(|()| std::fs::set_permissions(&partial, file.metadata()?.permissions()))
            .and_then(|()| std::fs::rename(&partial, &file));
        written.inspect_err(|_| drop(std::fs::remove_file(&partial)))
    });
    done.map_err(|error| Error::system(OPERATION, error).with("file", file.display()))
}
