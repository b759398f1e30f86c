//! Where the shipped programs and libraries print: by the one way that makes text of others
//! printable, or in a listed file.

use crate::scanner::{Syntax, line_of};
use crate::text::{Room, covers};
use crate::tree::{SourceFile, Violation};

/// Rooms whose crates run on users' machines.
const SHIPPED: &[&str] = &[
    "base/",
    "bins/",
    "clients/",
    "executable/",
    "kernel/",
    "link/",
    "native/",
    "plugins/",
    "programs/",
    "protocol/",
    "publishing/",
    "services/",
    "system/",
    "transports/",
];

/// What writes to a standard stream, in code of Rust.
const WAYS: &[&str] = &[
    "print!(",
    "println!(",
    "eprint!(",
    "eprintln!(",
    "dbg!(",
    "stdout()",
    "stderr()",
    "outlet::",
];

/// Code of Rust that writes to a standard stream outside the listed files, and listed files that do
/// so no longer.
pub fn sites(files: &[SourceFile], rooms: &[Room]) -> Vec<Violation> {
    let shipped = |file: &&SourceFile| {
        file.syntax == Syntax::Rust
            && !file.is_test()
            && SHIPPED.iter().any(|room| file.path.starts_with(room))
    };
    let printing: Vec<(&SourceFile, usize)> = files
        .iter()
        .filter(shipped)
        .filter_map(|file| Some((file, first(&file.scanned.code)?)))
        .collect();
    let problem = "writes to a standard stream; print by bins/farcall/src/output.rs or \
        `print_output`, which make text of others printable, or list the file in \
        tools/tidy/printing.txt with the reason why nothing foreign leaves it";
    let outside =
        printing.iter().filter(|(file, _)| !rooms.iter().any(|room| covers(room, &file.path)));
    let outside = outside.map(|(file, at)| {
        Violation::new(format!("{}:{}", file.path, line_of(&file.text, *at)), problem)
    });
    let stale =
        rooms.iter().filter(|room| !printing.iter().any(|(file, _)| covers(room, &file.path)));
    let stale = stale.map(|room| {
        Violation::new(&room.path, "prints no more; remove it from tools/tidy/printing.txt")
    });
    outside.chain(stale).collect()
}

/// The first place that prints. `.stdout()` of a process that was started is none, nor is a name
/// that ends so.
fn first(code: &str) -> Option<usize> {
    // Tests of a file stand at its end.
    let end = code.find("#[cfg(test)]").unwrap_or(code.len());
    let is_place = |at: &usize| {
        let before = code[..*at].chars().next_back();
        let is_of_rustix = code[..*at].ends_with("stdio::");
        !is_of_rustix && !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.')
    };
    WAYS.iter()
        .flat_map(|way| code[..end].match_indices(way).map(|(at, _)| at))
        .filter(is_place)
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::read_rooms;

    fn found(path: &str, text: &str) -> usize {
        let file = SourceFile::new(path, text.to_string()).expect("a known kind of file");
        sites(&[file], &read_rooms("bins/a/src/listed.rs  it writes a protocol\n")).len()
    }

    #[test]
    fn whatever_prints_by_itself_is_found() {
        // The listed file is not among the files: one of the violations.
        for text in [
            "fn f() { println!(\"{name}\"); }",
            "use std::io;\nfn f() { let _ = io::stderr().lock(); }",
        ] {
            assert_eq!(found("bins/a/src/other.rs", text), 2, "{text}");
            assert_eq!(found("bins/a/src/listed.rs", text), 0, "{text}");
            assert_eq!(found("tools/a/src/other.rs", text), 1, "{text}");
        }
        let harmless = "//! println!()\nfn f() { c.stdout(Stdio::null()); \
                        rustix::stdio::stdout(); writeln!(out); }\n#[cfg(test)]\nmod tests { fn \
                        f() { println!(); } }";
        assert_eq!(found("bins/a/src/other.rs", harmless), 1);
    }
}
