//! What makes code thick, as numbers that only fall: long lines, and tuples that bind two things in
//! one line. tools/tidy/density.txt lists them.

use crate::scanner::{Syntax, line_of, word_positions};
use crate::tree::{SourceFile, Violation};

/// Characters that a line of code may have.
pub const LINE_CHARACTERS_MAX: usize = 100;

/// Kinds of files that are measured for long lines: a name in the list, and the ends of paths.
const KINDS: &[(&str, &[&str])] = &[
    ("rust", &[".rs"]),
    ("c", &[".c", ".h"]),
    ("java", &[".java"]),
    ("python", &[".py", ".pyi"]),
    ("shell", &[".sh"]),
    ("fortran", &[".f90", ".F90", ".f"]),
];
/// The name in the list of tuples that bind several things.
const TUPLES: &str = "tuple-let";

/// A number of the list: how often the tree has it, at most.
#[derive(Debug, PartialEq, Eq)]
pub struct Limit {
    /// `lines KIND`, or `tuple-let`.
    pub name: String,
    /// How often.
    pub count: usize,
}

/// Reads the list: `COUNT NAME` per line, `#` comments. Anything else is a violation.
pub fn read(list: &str) -> Result<Vec<Limit>, Vec<Violation>> {
    let mut limits = Vec::new();
    let mut refused = Vec::new();
    for (index, line) in list.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        match read_line(line) {
            Some(limit) => limits.push(limit),
            None => refused.push(Violation::new(
                format!("tools/tidy/density.txt:{}", index + 1),
                "a line is `count name`",
            )),
        }
    }
    if refused.is_empty() { Ok(limits) } else { Err(refused) }
}

fn read_line(line: &str) -> Option<Limit> {
    let (count, name) = line.split_once(' ')?;
    Some(Limit { name: name.trim().to_string(), count: count.parse().ok()? })
}

/// Numbers that have grown, or that the list has too high by now.
pub fn violations(files: &[SourceFile], limits: &[Limit]) -> Vec<Violation> {
    let mut found = Vec::new();
    for (name, places) in places(files) {
        let listed = limits.iter().find(|limit| limit.name == name).map_or(0, |limit| limit.count);
        let count = places.len();
        if count < listed {
            let problem = format!(
                "`{name}` occurs {count} times now; lower its {listed}, or run with \
                 FARCALL_REWRITE=1"
            );
            found.push(Violation::new("tools/tidy/density.txt", problem));
        } else if count > listed {
            let advice = if name == TUPLES { "bind each by its own `let`" } else { "break it" };
            let problem = format!("`{name}` ({count} times, {listed} at most); {advice}");
            found.extend(places.iter().map(|place| Violation::new(place, problem.clone())));
        }
    }
    found
}

/// The list with the numbers that have fallen.
pub fn lowered(list: &str, files: &[SourceFile]) -> String {
    let counts: Vec<(String, usize)> =
        places(files).into_iter().map(|(name, places)| (name, places.len())).collect();
    let lower = |line: &str| match read_line(line).filter(|_| !line.starts_with('#')) {
        Some(limit) => {
            let now = counts.iter().find(|(name, _)| *name == limit.name);
            let count = now.map_or(limit.count, |(_, count)| limit.count.min(*count));
            format!("{count} {}\n", limit.name)
        }
        None => format!("{line}\n"),
    };
    list.lines().map(lower).collect()
}

/// Where each of them stands.
fn places(files: &[SourceFile]) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> =
        KINDS.iter().map(|(kind, _)| (format!("lines {kind}"), Vec::new())).collect();
    let mut tuples = Vec::new();
    for file in files {
        let kind = KINDS.iter().position(|(_, ends)| ends.iter().any(|e| file.path.ends_with(e)));
        if let Some(kind) = kind {
            found[kind].1.extend(long_lines(file));
        }
        tuples.extend(tuple_lets(file));
    }
    found.push((TUPLES.to_string(), tuples));
    found
}

fn long_lines(file: &SourceFile) -> Vec<String> {
    let lines = file.text.lines().zip(file.scanned.code.lines()).enumerate();
    lines
        .filter(|(_, (text, code))| is_too_long(text, code, file.syntax))
        .map(|(index, _)| format!("{}:{}", file.path, index + 1))
        .collect()
}

/// In Rust a line does not count if one literal alone makes it too long: rustfmt leaves such lines.
fn is_too_long(text: &str, code: &str, syntax: Syntax) -> bool {
    let length = text.chars().count();
    let literal = if syntax == Syntax::Rust { longest_blank(code) } else { 0 };
    !code.trim().is_empty() && length.saturating_sub(literal) > LINE_CHARACTERS_MAX
}

/// The longest run of blanks behind the indentation: what a scanner has blanked.
fn longest_blank(code: &str) -> usize {
    code.trim().split(|c: char| c != ' ').map(str::len).max().unwrap_or(0)
}

/// `let (a, b) = (x, y);` but for a swap, whose two sides have the same names.
fn tuple_lets(file: &SourceFile) -> Vec<String> {
    if file.syntax != Syntax::Rust {
        return Vec::new();
    }
    let code = &file.scanned.code;
    word_positions(code, "let")
        .filter(|at| is_tuple_let(&code[at + 3..]))
        .map(|at| format!("{}:{}", file.path, line_of(code, at)))
        .collect()
}

fn is_tuple_let(behind: &str) -> bool {
    let Some((pattern, rest)) = parenthesized(behind) else { return false };
    let Some(rest) = rest.trim_start().strip_prefix('=') else { return false };
    let Some((values, rest)) = parenthesized(rest) else { return false };
    let is_tuple = values.contains(',') && rest.trim_start().starts_with(';');
    is_tuple && !has_same_names(pattern, values)
}

/// What stands in the parentheses that a text begins with, and what is behind them.
fn parenthesized(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start().strip_prefix('(')?;
    let mut depth = 1;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&text[..at], &text[at + 1..]));
        }
    }
    None
}

fn has_same_names(pattern: &str, values: &str) -> bool {
    let sorted = |text: &str| {
        let mut names: Vec<String> = text.split(',').map(|name| name.trim().to_string()).collect();
        names.sort();
        names
    };
    sorted(pattern) == sorted(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile::new(path, text.to_string()).expect("a known kind of file");
        let places = places(&[file]).into_iter().filter(|(_, places)| !places.is_empty());
        places.map(|(name, places)| format!("{name} {}", places.join(" "))).collect()
    }

    #[test]
    fn long_lines_are_counted_by_kind() {
        let long = "x".repeat(101);
        assert_eq!(found("a.c", &format!("int a;\nint {long};\n")), ["lines c a.c:2"]);
        assert_eq!(found("a.py", &format!("a = '{long}'\n# {long}\n")), ["lines python a.py:1"]);
        assert!(found("a.rs", &format!("let a = \"{long}\";\n")).is_empty());
        assert_eq!(found("a.rs", &format!("let {long} = 1;\n")), ["lines rust a.rs:1"]);
    }

    #[test]
    fn tuples_are_counted_but_for_swaps_and_results() {
        assert_eq!(found("a.rs", "let (a, b) = (f(1, 2), 3);\n"), ["tuple-let a.rs:1"]);
        assert!(found("a.rs", "let (a, b) = (b, a);\nlet (c, d) = f(1, 2);\n").is_empty());
        assert!(found("a.rs", "if let (Some(a), b) = (c, d) {}\n").is_empty());
    }

    #[test]
    fn the_numbers_only_fall() {
        let text = "let (a, b) = (1, 2);\n".to_string();
        let files = [SourceFile::new("a.rs", text).expect("a Rust file")];
        let judged = |count: usize| {
            let limits = read(&format!("# list\n{count} tuple-let\n")).expect("a good list");
            violations(&files, &limits).len()
        };
        assert_eq!([judged(0), judged(1), judged(2)], [1, 0, 1]);
        assert_eq!(lowered("# list\n7 tuple-let\n", &files), "# list\n1 tuple-let\n");
        assert!(read("many tuple-let").is_err());
    }
}
