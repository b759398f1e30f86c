//! Checks of single files: the first line, names, words that must not stay, `unwrap` and `unsafe`.

use crate::scanner::{Syntax, line_of, matching_brace, word_positions};
use crate::tree::{SourceFile, Violation};

/// Notes that belong into the issue list. Put together here so that this file does not trip over
/// itself.
const NOTES: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];

/// Names that say nothing. What has no name has no home.
const BAGS: &[&str] = &["util", "utils", "common", "misc", "helper", "helpers", "manager"];

/// Words that a first line needs at least in order to say something.
const FIRST_LINE_WORDS: usize = 2;

/// The first line of a file (the second where a `#!` stands first) must be a comment that says what
/// the file is.
pub fn first_line(file: &SourceFile) -> Option<Violation> {
    let skipped = usize::from(file.text.starts_with("#!/"));
    let line = file.text.lines().nth(skipped).unwrap_or_default().trim();
    let marks: &[&str] = match file.syntax {
        Syntax::Rust => &["//!"],
        Syntax::C => &["/*", "//"],
        Syntax::Python => &["#", "\"\"\""],
        Syntax::Hash => &["#"],
        Syntax::Fortran => &["!"],
    };
    let said = marks.iter().find_map(|mark| line.strip_prefix(mark));
    let words = said.map_or(0, |rest| rest.split_whitespace().filter(|word| *word != "*/").count());
    (words < FIRST_LINE_WORDS).then(|| {
        let place = format!("{}:{}", file.path, skipped + 1);
        Violation::new(
            place,
            format!("the first line does not say what the file is; begin it with `{} …`", marks[0]),
        )
    })
}

/// Notes to oneself: they are done, or written down as an issue, before they reach main.
pub fn notes(file: &SourceFile) -> Vec<Violation> {
    let found =
        NOTES.iter().flat_map(|note| word_positions(&file.text, note).map(move |at| (*note, at)));
    found
        .map(|(note, at)| {
            place(file, at, &format!("{note}: do it now, or open an issue and remove the note"))
        })
        .collect()
}

/// Files, folders and modules whose name is a bag.
pub fn bags(file: &SourceFile) -> Vec<Violation> {
    let pieces = file.path.split('/').map(|piece| piece.split('.').next().unwrap_or(piece));
    let in_path = pieces
        .filter(|piece| is_bag(piece))
        .map(|piece| Violation::new(&file.path, bag_problem(piece)));
    let modules = module_names(file).into_iter().filter(|(name, _)| is_bag(name));
    in_path.chain(modules.map(|(name, at)| place(file, at, &bag_problem(&name)))).collect()
}

fn is_bag(name: &str) -> bool {
    BAGS.iter().any(|bag| {
        name == *bag || name.ends_with(&format!("_{bag}")) || name.ends_with(&format!("-{bag}"))
    })
}

fn bag_problem(name: &str) -> String {
    format!("`{name}` says nothing; name the file or module after what it does")
}

fn module_names(file: &SourceFile) -> Vec<(String, usize)> {
    if file.syntax != Syntax::Rust {
        return Vec::new();
    }
    let code = &file.scanned.code;
    let name = |at: usize| {
        code[at + 3..].trim_start().split(|c: char| !c.is_alphanumeric() && c != '_').next()
    };
    word_positions(code, "mod").filter_map(|at| Some((name(at)?.to_string(), at))).collect()
}

/// `.unwrap()` outside tests. `test_files` are modules declared under `#[cfg(test)]` elsewhere.
pub fn unwraps(file: &SourceFile, test_files: &[String]) -> Vec<Violation> {
    if file.syntax != Syntax::Rust || file.is_test() || test_files.contains(&file.path) {
        return Vec::new();
    }
    let code = &file.scanned.code;
    let regions = test_regions(code);
    let found = code
        .match_indices(".unwrap()")
        .map(|(at, _)| at)
        .filter(|at| !regions.iter().any(|r| r.contains(at)));
    let problem = "`.unwrap()` outside tests; use `?`, or `.expect(\"why this cannot fail\")`";
    found.map(|at| place(file, at, problem)).collect()
}

/// Byte ranges of `#[cfg(test)]` and `#[test]` items with a body.
pub fn test_regions(code: &str) -> Vec<std::ops::Range<usize>> {
    let attributes = ["#[cfg(test)]", "#[cfg(all(test", "#[test]"];
    let begins =
        attributes.iter().flat_map(|attribute| code.match_indices(attribute).map(|(at, _)| at));
    begins.filter_map(|at| test_region(code, at)).collect()
}

fn test_region(code: &str, at: usize) -> Option<std::ops::Range<usize>> {
    let open = code[at..].find('{')? + at;
    let is_declaration = code[at..open].contains(';');
    (!is_declaration).then(|| at..matching_brace(code, open))
}

/// A place where something is allowed: a file, or a folder that ends in `/`, and why.
#[derive(Debug)]
pub struct Room {
    /// Path prefix.
    pub path: String,
    /// Why it has to be.
    pub reason: String,
}

/// Reads the list: `path  reason` per line, `#` comments.
pub fn read_rooms(list: &str) -> Vec<Room> {
    let lines =
        list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let split = |line: &str| {
        line.split_once(char::is_whitespace).map(|(a, b)| (a.to_string(), b.trim().to_string()))
    };
    lines.filter_map(split).map(|(path, reason)| Room { path, reason }).collect()
}

/// Whether a file lies there.
pub fn covers(room: &Room, path: &str) -> bool {
    if room.path.ends_with('/') { path.starts_with(&room.path) } else { path == room.path }
}

/// `unsafe` outside the listed rooms, and listed rooms that need it no longer. Tests of such rooms
/// may use it freely.
pub fn unsafe_code(files: &[SourceFile], rooms: &[Room]) -> Vec<Violation> {
    let first = |file: &SourceFile| word_positions(&file.scanned.code, "unsafe").next();
    let unsafe_files: Vec<(&SourceFile, usize)> = files
        .iter()
        .filter(|file| file.syntax == Syntax::Rust && !file.is_test())
        .filter_map(|file| Some((file, first(file)?)))
        .collect();
    let outside =
        unsafe_files.iter().filter(|(file, _)| !rooms.iter().any(|room| covers(room, &file.path)));
    let problem = "`unsafe` outside the listed rooms; write it safely, or list the file in \
        tools/tidy/unsafe.txt with a reason";
    let stale =
        rooms.iter().filter(|room| !unsafe_files.iter().any(|(file, _)| covers(room, &file.path)));
    let stale = stale.map(|room| {
        Violation::new(&room.path, "has no `unsafe` any more; remove it from tools/tidy/unsafe.txt")
    });
    outside.map(|(file, at)| place(file, *at, problem)).chain(stale).collect()
}

fn place(file: &SourceFile, at: usize, problem: &str) -> Violation {
    Violation::new(format!("{}:{}", file.path, line_of(&file.text, at)), problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile::new(path, text.to_string()).expect("a known kind of file")
    }

    #[test]
    fn the_first_line_must_say_something() {
        assert!(first_line(&file("a.rs", "//! What this file does.\n")).is_none());
        assert!(first_line(&file("a.rs", "use std::fs;\n")).is_some());
        assert!(first_line(&file("a.c", "/* a.c */\n")).is_some());
        assert!(first_line(&file("a.sh", "#!/bin/sh\n# Starts the real servers.\n")).is_none());
        assert!(first_line(&file("a.sh", "#!/bin/sh\nset -e\n")).is_some());
    }

    #[test]
    fn notes_are_found_in_comments() {
        let found = notes(&file("a.rs", &format!("//! x\n\n// {}: later\n", NOTES[0])));
        assert_eq!(found[0].place, "a.rs:3");
        assert!(notes(&file("a.sh", "mktemp /tmp/a.XXXXXX\n")).is_empty());
    }

    #[test]
    fn bags_are_refused_as_files_and_modules() {
        assert_eq!(bags(&file("base/src/utils.rs", "")).len(), 1);
        assert_eq!(
            bags(&file("base/common/src/lib.rs", "mod test_helpers;\nmod command;")).len(),
            2
        );
        assert!(bags(&file("base/src/command.rs", "mod commonality;")).is_empty());
    }

    #[test]
    fn unwrap_is_for_tests() {
        let text = "fn a() { b.unwrap(); }\n#[cfg(test)]\nmod t { fn c() { d.unwrap(); } \
            }\n#[test]\nfn e() { f.unwrap() }\n";
        let found = unwraps(&file("base/src/x.rs", text), &[]);
        assert_eq!(found.iter().map(|v| v.place.as_str()).collect::<Vec<_>>(), ["base/src/x.rs:1"]);
        assert!(unwraps(&file("base/tests/x.rs", text), &[]).is_empty());
        assert!(unwraps(&file("base/src/x.rs", text), &["base/src/x.rs".to_string()]).is_empty());
    }

    #[test]
    fn unsafe_needs_a_listed_reason_and_a_listed_room_needs_unsafe() {
        let files = [
            file("a/x.rs", "unsafe { f() }"),
            file("b/y.rs", "// unsafe\n#![forbid(unsafe_code)]"),
        ];
        let rooms = read_rooms("# list\na/ calls C\n");
        assert!(unsafe_code(&files, &rooms).is_empty());
        assert_eq!(unsafe_code(&files, &[]).len(), 1);
        assert_eq!(unsafe_code(&files, &read_rooms("a/ calls C\nb/y.rs none\n")).len(), 1);
    }
}
