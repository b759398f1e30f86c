//! Mistakes in a manifest: where they are, and what was probably meant.

use farcall_base::{Error, ErrorKind, nearest};

use super::Source;

/// The house's error for a TOML or schema error in `source`.
pub(super) fn explain(source: &Source, error: &toml::de::Error) -> Error {
    let message = error.message().lines().collect::<Vec<_>>().join("; ");
    let mut explained = Error::new(ErrorKind::InvalidSource, "read the manifest", message.as_str());
    explained = explained.with("file", &source.file);
    if let Some(span) = error.span() {
        let (line, column) = line_and_column(&source.text, span.start);
        explained = explained.with("line", line).with("column", column);
    }
    match advice(&message) {
        Some(advice) => explained.fix(advice),
        None => explained,
    }
}

/// Both from 1; the column in characters.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// serde says "unknown field `x`, expected one of `a`, `b`": the first quoted word is wrong, the others are right.
fn advice(message: &str) -> Option<String> {
    if message.ends_with("expected a sequence") {
        // The one list of the manifest that TOML lets a person write as a table by mistake.
        return Some("write [[plugin]] in double brackets, and lists as [\"a\", \"b\"]".to_string());
    }
    if !message.starts_with("unknown ") {
        return None;
    }
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let (wrong, right) = quoted.split_first()?;
    let near = nearest(wrong, right.iter().copied(), 1);
    near.first().map(|near| format!("did you mean \"{near}\"?"))
}
