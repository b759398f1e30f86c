//! Options of routines and classes (spec/idl.md, section 3.5).

use farcall_base::{Error, Resources};

use crate::diagnostic::{Problems, shown};
use crate::dialect::Dialect;
use crate::interface::Language;
use crate::parse::tree::Name;

/// The only one of an option's values; reports a second one. The references take the last.
pub(super) fn only<'o>(
    values: &'o [Name],
    option: &str,
    dialect: Dialect,
    problems: &mut Problems,
) -> Option<&'o Name> {
    if dialect.is_old() {
        if let [first, .., _] = values {
            problems.warn(first.span, format!("a later {option} replaces this one"));
        }
        return values.last();
    }
    if let Some(again) = values.get(1) {
        problems.add(again.span, format!("a second {option}"));
    }
    values.first()
}

/// Ninf-G's `Shrink` says whether ranges save bandwidth; here they always do, so its value is only
/// checked.
pub(super) fn shrink(values: &[Name], dialect: Dialect, problems: &mut Problems) {
    let Some(value) = only(values, "Shrink", dialect, problems) else { return };
    if !["yes", "no"].iter().any(|word| value.text.eq_ignore_ascii_case(word)) {
        if dialect.is_old() {
            return problems.warn(value.span, "Shrink is \"yes\" or \"no\"; it has no effect here");
        }
        problems.add_with_help(
            value.span,
            format!("Shrink \"{}\"", shown(&value.text)),
            "write \"yes\" or \"no\"",
        );
    }
}

/// Objects and archives. The references link those of the last option alone.
pub(super) fn required(values: &[Name], dialect: Dialect, problems: &mut Problems) -> Vec<String> {
    if dialect.is_old() {
        let last = only(values, "Required", dialect, problems);
        return last.map_or_else(Vec::new, |last| words_of(&last.text));
    }
    split(values)
}

/// What a call is given; the words are those of every client.
pub(super) fn resources(values: &[Name], dialect: Dialect, problems: &mut Problems) -> Resources {
    let Some(value) = only(values, "Resources", dialect, problems) else {
        return Resources::default();
    };
    value.text.parse().unwrap_or_else(|error: Error| {
        let help = error.advice().unwrap_or_default().to_owned();
        problems.add_with_help(value.span, error.message(), help);
        Resources::default()
    })
}

/// `MPI`, `BLACS` or `normal`, in either case.
pub(super) fn backend(values: &[Name], dialect: Dialect, problems: &mut Problems) -> String {
    const BACKENDS: [&str; 3] = ["normal", "MPI", "BLACS"];
    let Some(value) = only(values, "Backend", dialect, problems) else {
        return BACKENDS[0].to_string();
    };
    if let Some(known) = BACKENDS.iter().find(|word| word.eq_ignore_ascii_case(&value.text)) {
        return (*known).to_string();
    }
    let help = problems
        .did_you_mean(&value.text, BACKENDS)
        .unwrap_or_else(|| "backends are \"normal\", \"MPI\" and \"BLACS\"".to_string());
    problems.add_with_help(value.span, format!("unknown backend \"{}\"", shown(&value.text)), help);
    BACKENDS[0].to_string()
}

/// The language that a string names, in either case.
pub(super) fn language(name: &Name, problems: &mut Problems) -> Option<Language> {
    match name.text.to_ascii_lowercase().as_str() {
        "c" => Some(Language::C),
        "c++" | "cpp" | "cxx" => Some(Language::Cpp),
        "fortran" | "fortran77" | "fortran90" | "f77" | "f90" => Some(Language::Fortran),
        other => {
            let help = problems
                .did_you_mean(other, ["C", "C++", "Fortran"])
                .unwrap_or_else(|| "languages are \"C\", \"C++\" and \"Fortran\"".to_string());
            problems.add_with_help(
                name.span,
                format!("unknown language \"{}\"", shown(&name.text)),
                help,
            );
            None
        }
    }
}

/// Words of a string of objects or libraries, as they are written: a blank in quotes or behind a
/// backslash is part of a word.
pub(super) fn split(names: &[Name]) -> Vec<String> {
    names.iter().flat_map(|name| words_of(&name.text)).collect()
}

fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut is_escaped = false;
    for letter in text.chars() {
        match (quote, letter) {
            _ if is_escaped => is_escaped = false,
            (Some('\''), '\'') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => is_escaped = true,
            (Some('"'), '"') => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, _) if letter.is_whitespace() => {
                words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
                continue;
            }
            _ => {}
        }
        word.push(letter);
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}
