//! The options that an interface file may give a compiler or a linker on a server for others: a
//! list of what is good.
//!
//! Compilers have some thousands of options, a few of which name a program to run, a library for
//! the compiler itself to load, or a file with more options; each release has new ones, and each
//! wrapper its own. So whatever is not known to do none of that is refused. What a *word* may be is
//! decided by itself and by whether it is for compiler, linker, assembler or preprocessor. It is
//! never decided by what stands around it, for whoever reads the command may divide it differently:
//! a word that does not begin as an option is a value, or a file that the compiler is confined for.

mod options;

use options::{
    ASSEMBLER_WORDS, COMPILER_WORDS, LINKER_LETTERS, LINKER_VALUES, LINKER_WORDS, LINKERS,
    NOT_OF_F, NOT_OF_M, WITH_PLAIN_VALUE, WITH_VALUE,
};

/// Who reads a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Compiler,
    Linker,
    Assembler,
    Preprocessor,
}

/// The first word that is not allowed, of one sequence of words as a command has it.
///
/// `program` reads it: wrappers of MPIs are scripts, of which some divide what they pass on at
/// blanks.
pub(super) fn first_refused<'a>(
    program: &str,
    words: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let is_script = program.starts_with("mpi");
    let mut scan = Scan { reader: Reader::Compiler, awaits_value: false };
    let mut last = None;
    for word in words {
        if !scan.takes(word) || (is_script && !stays_whole(word)) {
            return Some(word);
        }
        last = Some(word);
    }
    // An option at the end would take a word of ours.
    last.filter(|_| scan.awaits_value)
}

/// Whether a script that divides a word at its blanks, or reads it as its own text, makes no option
/// or command of it.
fn stays_whole(word: &str) -> bool {
    let is_special =
        |letter: char| matches!(letter, '`' | '$' | ';' | '|' | '&' | '<' | '>' | '\n');
    !word.contains(is_special)
        && !word.split_whitespace().skip(1).any(|part| part.starts_with(['-', '@']))
}

/// How far a sequence of words was read.
struct Scan {
    /// Whom the next word is for.
    reader: Reader,
    /// Whether it is the value of the one before.
    awaits_value: bool,
}

impl Scan {
    /// Whether the next word is allowed.
    fn takes(&mut self, word: &str) -> bool {
        let reader = std::mem::replace(&mut self.reader, Reader::Compiler);
        let awaited = std::mem::replace(&mut self.awaits_value, false);
        if word.contains('\0') || word.starts_with('@') {
            return false;
        }
        // Whatever passes on the next word may not be taken for a value itself.
        if awaited && reader == Reader::Compiler {
            return !word.starts_with('-');
        }
        if reader == Reader::Compiler {
            let passed = [
                ("-Xlinker", Reader::Linker),
                ("-Xassembler", Reader::Assembler),
                ("-Xpreprocessor", Reader::Preprocessor),
            ];
            if let Some((_, next)) = passed.into_iter().find(|(option, _)| *option == word) {
                self.reader = next;
                self.awaits_value = true;
                return true;
            }
            self.awaits_value = WITH_VALUE.contains(&word) || word == "--param";
        }
        let lists =
            [("-Wl,", Reader::Linker), ("-Wa,", Reader::Assembler), ("-Wp,", Reader::Preprocessor)];
        let list =
            lists.into_iter().find_map(|(begin, reader)| Some((word.strip_prefix(begin)?, reader)));
        match list.filter(|_| reader == Reader::Compiler) {
            Some((list, reader)) => list.split(',').all(|word| reader.allows(word)),
            None => reader.allows(word),
        }
    }
}

impl Reader {
    fn allows(self, word: &str) -> bool {
        if !word.starts_with('-') {
            return !word.starts_with('@');
        }
        match self {
            Reader::Compiler => is_compilers(word),
            Reader::Linker => is_linkers(word),
            Reader::Assembler => {
                ASSEMBLER_WORDS.contains(&word) || is_valued(word, "-I") || is_of_machine(word)
            }
            Reader::Preprocessor => {
                ["-D", "-U", "-I"].into_iter().any(|option| is_valued(word, option))
            }
        }
    }
}

fn is_compilers(word: &str) -> bool {
    COMPILER_WORDS.contains(&word)
        || LINKERS.contains(&word)
        || WITH_VALUE.into_iter().any(|option| is_valued(word, option))
        || WITH_PLAIN_VALUE
            .into_iter()
            .any(|option| word.strip_prefix(option).is_some_and(is_plain))
        || ["-O", "-g"].into_iter().any(|option| word.strip_prefix(option).is_some_and(is_level))
        || word.strip_prefix("-W").is_some_and(is_plain_setting)
        || is_of_machine(word)
        || is_of_features(word)
}

/// `-O3`, `-Ofast`, `-g1`: levels that are a number or a short word.
fn is_level(level: &str) -> bool {
    level.len() <= 1 && level.bytes().all(|byte| byte.is_ascii_alphanumeric()) || level == "fast"
}

/// An option and its value, which is no option; or the option alone, whose value is the next word.
/// A library's name has no equals sign: what has one may be a long option of the linker's with one
/// dash.
fn is_valued(word: &str, option: &str) -> bool {
    let is_value =
        |value: &str| !value.starts_with(['-', '@']) && (option != "-l" || !value.contains('='));
    word.strip_prefix(option).is_some_and(is_value)
}

/// `-mavx2`, `-mno-red-zone`; those with values are listed.
fn is_of_machine(word: &str) -> bool {
    let is_refused = NOT_OF_M.iter().any(|begin| word.starts_with(begin));
    !is_refused
        && word
            .strip_prefix("-m")
            .is_some_and(|name| !name.is_empty() && name.bytes().all(is_of_name))
}

/// `-fname`, `-fno-name`, `-fname=value`. A name has two letters at least: `-fc=` and `-f90=` are
/// how wrappers of MPIs are given another compiler.
fn is_of_features(word: &str) -> bool {
    let Some(setting) = word.strip_prefix("-f") else { return false };
    let name = setting.split_once('=').map_or(setting, |(name, _)| name);
    let is_named = name.len() > 1 && name.starts_with(|letter: char| letter.is_ascii_alphabetic());
    is_named && is_plain_setting(setting) && !NOT_OF_F.iter().any(|part| name.contains(part))
}

/// A name, or a name with a plain value.
fn is_plain_setting(setting: &str) -> bool {
    let (name, value) =
        setting.split_once('=').map_or((setting, None), |(name, value)| (name, Some(value)));
    !name.is_empty()
        && name.bytes().all(is_of_name)
        && value.is_none_or(|value| !value.starts_with('-') && is_plain(value))
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+' | b'.')
}

/// A value that is no path, and nothing that a driver would divide; `--param` has one with an
/// equals sign.
fn is_plain(value: &str) -> bool {
    value.bytes().all(|byte| is_of_name(byte) || matches!(byte, b',' | b':' | b'='))
}

fn is_linkers(word: &str) -> bool {
    if LINKER_LETTERS.into_iter().any(|option| is_valued(word, option)) {
        return true;
    }
    let name = word.strip_prefix("--").or(word.strip_prefix('-')).unwrap_or(word);
    match name.split_once('=') {
        Some((name, value)) => LINKER_VALUES.contains(&name) && !value.starts_with(['-', '@']),
        None => LINKER_WORDS.contains(&name) || LINKER_VALUES.contains(&name),
    }
}

#[cfg(test)]
mod tests;
