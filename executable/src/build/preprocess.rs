//! Runs the C preprocessor over an IDL file that has directives; its line marks keep error
//! positions true.
//!
//! `#include` *inside* raw C (`Globals { … }`, bodies) is held back: the compiler of that C will
//! include the header, and a second, expanded copy of `<math.h>` would define everything twice. A
//! `#define` in raw C acts on the text of the IDL file, sizes among it, but not on the headers that
//! are held back; `CompileOptions "-D…"` does.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_system::plain_file;

use super::absolute;
use super::command::{Confined, Giver, Run};
use super::confined::{Confinement, Reads};

/// Source and result at most this long.
const TEXT_BYTES_MAX: usize = 32 << 20;
/// A preprocessor is quick, or stuck.
const TIME_MAX: Duration = Duration::from_secs(20);
/// What it reads and writes is bounded, so it needs little.
const ADDRESS_SPACE_MAX: Bytes = Bytes(1 << 30);
/// Stands for a held line while the preprocessor runs; the number of the line follows.
const HELD: &str = "__farcall_held_include_";
/// Ends what was read of a header behind such a line.
const READ: &str = "__farcall_read_include_";
/// Names that a compiler predefines in lower case: an IDL parameter may well be called `unix`.
const OPTIONS: [&str; 9] =
    ["-E", "-x", "c", "-DNINFG2", "-DFARCALL", "-Uunix", "-Ulinux", "-Ui386", "-I."];

/// The text of `file` after `cc -E`, with NINFG2 and FARCALL defined and `#include` searched in the
/// file's directory.
///
/// Call it only where `farcall_idl::needs_preprocessor` says so. Fails with `NotFound` for the
/// file, `Unavailable` where there is no compiler, `InvalidSource` with the preprocessor's own
/// words, `LimitExceeded` and `TimedOut`.
pub fn preprocess(file: &Path) -> Result<String> {
    let directory = absolute(file)?.parent().map(Path::to_path_buf).unwrap_or_default();
    Preprocessor::default().preprocess(file, &directory, &read(file)?)
}

/// What becomes of `#include "…"` in raw C.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeldHeaders {
    /// The preprocessor does not see it.
    #[default]
    Left,
    /// Its macros count behind it.
    Read,
}

/// How a text is preprocessed.
#[derive(Clone, Debug, Default)]
pub struct Preprocessor {
    /// Options (`-I`, `-D`, `-U`), which come before ours. `-I` begins where we are.
    pub options: Vec<String>,
    /// What holds it to headers, where the text is not its reader's own.
    pub confinement: Option<Confinement>,
    /// Who waits for it.
    pub giver: Giver,
    /// What becomes of headers in raw C; the line stays where it is in any case.
    pub reads_held: HeldHeaders,
}

impl Preprocessor {
    /// The text after `cc -E`, which was read from `file` in `directory`: the file is not opened
    /// again.
    ///
    /// # Errors
    /// As [`preprocess`].
    pub fn preprocess(&self, file: &Path, directory: &Path, source: &str) -> Result<String> {
        // The mark makes messages name the file, as it comes through standard input.
        let name = file.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
        let (masked, held) = hold_includes(source, self.reads_held, &name);
        let input = format!("# 1 \"{name}\"\n{masked}");
        let options = self
            .options
            .iter()
            .map(|option| in_any_directory(option))
            .collect::<Result<Vec<_>>>()?;
        let program = std::iter::once("cc").chain(options.iter().map(String::as_str));
        let words: Vec<String> = program.chain(OPTIONS).chain(["-"]).map(str::to_owned).collect();
        let run = Run {
            words: &words,
            directory,
            input: Some(&input),
            output_bytes_max: TEXT_BYTES_MAX,
            time_max: TIME_MAX,
            address_space_max: ADDRESS_SPACE_MAX,
            giver: &self.giver,
            confined: self.confinement.as_ref().map(|by| confined(by, &options, directory)),
        };
        let finished = run.finish().map_err(|error| error.with("file", file.display()))?;
        if !finished.status.success() {
            return Err(Error::new(
                ErrorKind::InvalidSource,
                "preprocess the IDL file",
                finished.messages,
            )
            .with("file", file.display())
            .with("command", run.shown())
            .fix("correct the directive; headers are searched in the file's own directory"));
        }
        Ok(release_includes(&String::from_utf8_lossy(&finished.output), &held))
    }
}

/// It reads headers, and writes nothing: a folder that is not there can be written by nobody.
fn confined<'a>(by: &'a Confinement, options: &[String], directory: &Path) -> Confined<'a> {
    let scratch = Path::new("/nonexistent");
    let mut reads = Reads::beside(directory);
    reads.headers(directory);
    reads.options(options, directory);
    reads.compiler("cc");
    Confined { by, rules: reads.rules(&by.limits, directory, scratch), scratch }
}

/// The preprocessor runs in the file's own directory.
fn in_any_directory(option: &str) -> Result<String> {
    match option.strip_prefix("-I") {
        Some(directory) => Ok(format!("-I{}", absolute(Path::new(directory))?.display())),
        None => Ok(option.to_owned()),
    }
}

fn read(file: &Path) -> Result<String> {
    let bytes = plain_file::read(file, TEXT_BYTES_MAX as u64).map_err(|error| {
        let (kind, message) = match error.kind() {
            std::io::ErrorKind::NotFound => (ErrorKind::NotFound, error.to_string()),
            std::io::ErrorKind::InvalidInput => {
                (ErrorKind::InvalidArgument, "it is not a regular file".to_owned())
            }
            std::io::ErrorKind::FileTooLarge => (
                ErrorKind::LimitExceeded,
                format!("it is longer than {} MiB", TEXT_BYTES_MAX >> 20),
            ),
            _ => (ErrorKind::System, error.to_string()),
        };
        Error::new(kind, "preprocess the IDL file", message).with("file", file.display())
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Replaces each `#include` line inside braces by a word that the preprocessor leaves alone. Where
/// the header is read, it follows, another word ends it, and a mark says which line comes next.
fn hold_includes<'s>(source: &'s str, headers: HeldHeaders, name: &str) -> (String, Vec<&'s str>) {
    let mut masked = String::with_capacity(source.len());
    let mut held = Vec::new();
    let mut scan = Scan::default();
    for (index, line) in source.split_inclusive('\n').enumerate() {
        let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
        if scan.in_raw_code() && directive.is_some_and(|rest| rest.starts_with("include")) {
            let number = held.len();
            masked += &format!("{HELD}{number}\n");
            if headers == HeldHeaders::Read && line.contains('"') {
                let next = index + 2;
                masked += &format!("{}\n{READ}{number}\n# {next} \"{name}\"\n", line.trim_end());
            }
            held.push(line.trim_end());
        } else {
            scan.line(line);
            masked += line;
        }
    }
    (masked, held)
}

/// Puts the held lines back, and leaves out what was read of their headers.
fn release_includes(text: &str, held: &[&str]) -> String {
    let numbered = |line: &str, word| line.trim().strip_prefix(word)?.parse::<usize>().ok();
    // A header that is read ends with a word of its own.
    let read: HashSet<usize> = text.lines().filter_map(|line| numbered(line, READ)).collect();
    let mut released = String::with_capacity(text.len());
    let mut inside = None;
    for line in text.split_inclusive('\n') {
        if inside.is_some() {
            inside = inside.filter(|number| numbered(line, READ) != Some(*number));
            continue;
        }
        match numbered(line, HELD).and_then(|number| Some((number, held.get(number)?))) {
            Some((number, original)) => {
                released.push_str(original);
                released.push('\n');
                inside = read.contains(&number).then_some(number);
            }
            None => released.push_str(line),
        }
    }
    released
}

/// How deep in braces the text is, comments and literals left out.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_comment: bool,
}

impl Scan {
    fn in_raw_code(&self) -> bool {
        self.depth > 0 && !self.in_comment
    }

    fn line(&mut self, line: &str) {
        let mut quote: Option<char> = None;
        let mut letters = line.chars().peekable();
        while let Some(letter) = letters.next() {
            match (self.in_comment, quote, letter) {
                (true, _, '*') if letters.next_if_eq(&'/').is_some() => self.in_comment = false,
                (true, _, _) => {}
                (_, Some(_), '\\') => drop(letters.next()),
                (_, Some(open), _) if letter == open => quote = None,
                (_, Some(_), _) => {}
                (_, None, '"' | '\'') => quote = Some(letter),
                (_, None, '/') if letters.next_if_eq(&'*').is_some() => self.in_comment = true,
                (_, None, '/') if letters.peek() == Some(&'/') => return,
                (_, None, '{') => self.depth += 1,
                (_, None, '}') => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
#[path = "preprocess_tests.rs"]
mod tests;
