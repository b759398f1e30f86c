//! Mistakes in a manifest: where they are, and what was probably meant.

use farcall_base::{Error, ErrorKind, SourceText, nearest};

/// The house's error for a TOML or schema error in `source`.
pub(super) fn explain(source: &SourceText, error: &toml::de::Error) -> Error {
    let message = in_words(error.message().lines().collect::<Vec<_>>().join("; "));
    let words = without_list(message.clone());
    let explained = Error::new(ErrorKind::InvalidSource, "read the configuration file", words);
    let explained = match error.span() {
        Some(span) => source.at(span.start, explained),
        None => explained.with("file", &source.file),
    };
    match advice(&message) {
        Some(advice) => explained.fix(advice),
        None => explained,
    }
}

/// Names that are listed where none is near, at most.
const LISTED_MAX: usize = 8;

/// The message without the list of what is right: where one of it is near, that is told, and the
/// whole list is in the documentation.
fn without_list(message: String) -> String {
    let Some((wrong, list)) = message.split_once(", expected one of ") else { return message };
    if advice(&message).is_some() {
        return wrong.to_owned();
    }
    let names: Vec<&str> = list.split(", ").collect();
    match names.len() {
        0..=LISTED_MAX => message,
        many => {
            let first = names[..LISTED_MAX].join(", ");
            format!("{wrong}, expected one of {first} and {} others", many - LISTED_MAX)
        }
    }
}

/// serde's message without the names of Rust's types.
fn in_words(message: String) -> String {
    // What serde says of a number that no 64-bit type holds.
    if message.contains(" as i128")
        || message.contains(" as u128")
        || message.contains("any valid TOML value")
    {
        return "the number is too large".to_string();
    }
    let types = [
        ("usize", "an integer of 0 or more"),
        ("u64", "an integer of 0 or more"),
        ("u32", "an integer from 0 to 4294967295"),
        ("a boolean", "true or false"),
    ];
    let known = types.iter().find_map(|(name, words)| {
        Some((message.strip_suffix(&format!("expected {name}"))?, words))
    });
    match known {
        Some((rest, words)) => format!("{rest}expected {words}"),
        None => message,
    }
}

/// serde says "unknown field `x`, expected one of `a`, `b`": the first quoted word is wrong, the
/// others are right.
fn advice(message: &str) -> Option<String> {
    if message.ends_with("expected a sequence") {
        // The one list of the manifest that TOML lets a person write as a table by mistake.
        return Some(
            "write [[plugin]] in double brackets, and lists as [\"a\", \"b\"]".to_string(),
        );
    }
    if !message.starts_with("unknown ") {
        return None;
    }
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let (wrong, right) = quoted.split_first()?;
    let near = nearest(wrong, right.iter().copied(), 1);
    near.first().map(|near| format!("did you mean \"{near}\"?"))
}
