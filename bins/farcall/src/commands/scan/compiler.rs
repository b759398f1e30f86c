//! The Fortran compiler: which one, what its options mean for declarations, and commands and names
//! as people and interfaces write them.

use std::path::PathBuf;

use farcall_base::{Error, ErrorKind, Result};
use farcall_fortran::Dialect;
use farcall_launcher::shell::quoted;

use super::{OPERATION, ScanArguments};

/// `$FC` and its options, or gfortran.
pub fn compiler() -> Vec<String> {
    let compiler = std::env::var("FC").ok().filter(|compiler| !compiler.trim().is_empty());
    compiler
        .unwrap_or_else(|| "gfortran".to_owned())
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// What the compiler's options change of declarations.
///
/// # Errors
/// `InvalidArgument` for an option that changes kinds which the source declares.
pub fn dialect() -> Result<Dialect> {
    let command = compiler();
    Dialect::of(&command).map_err(|option| {
        let message = format!(
            "FC has the option {option}, which changes types in a way that this command does not \
             follow"
        );
        Error::new(ErrorKind::InvalidArgument, OPERATION, message)
            .with("FC", command.join(" "))
            .fix(
                "leave the option out, and declare the kinds in the source; of such options, \
             -fdefault-real-8, -fdefault-double-8, -fdefault-integer-8, -r8 and -i8 are followed",
            )
    })
}

/// Folders of included files, for a compiler that runs elsewhere.
pub fn include_options(arguments: &ScanArguments) -> Result<Vec<String>> {
    let option = |folder: &PathBuf| {
        let full = std::fs::canonicalize(folder)
            .map_err(|error| Error::system(OPERATION, error).with("folder", folder.display()))?;
        Ok(format!("-I{}", full.display()))
    };
    arguments.includes.iter().map(option).collect()
}

/// A word of a shell's command, in quotes where it needs them.
fn word(text: &str) -> String {
    let is_plain = |one: char| one.is_alphanumeric() || "-_./+=:,@%".contains(one);
    if !text.is_empty() && text.chars().all(is_plain) { text.to_owned() } else { quoted(text) }
}

/// A command as a person may run it.
pub fn shown(command: &[String]) -> String {
    command.iter().map(|one| word(one)).collect::<Vec<_>>().join(" ")
}

/// The name of a file as `Library` takes it, within its string: words stand between blanks there,
/// and quotes keep them together.
pub fn library_text(name: &str) -> String {
    word(name).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_blanks_and_quotes_stay_one_word() {
        assert_eq!(library_text("./libheat-2.so"), "./libheat-2.so");
        assert_eq!(library_text("./libw w.so"), "'./libw w.so'");
        assert_eq!(library_text("./libit's.so"), "'./libit'\\\\''s.so'");
        assert_eq!(library_text("./lib\"a\".so"), "'./lib\\\"a\\\".so'");
        assert_eq!(shown(&["cc".to_owned(), "a b.f".to_owned()]), "cc 'a b.f'");
    }
}
