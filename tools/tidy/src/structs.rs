//! Fields of Rust's structs: one that has many of them has no single owner. What has to be long
//! stands in a list.

use crate::scanner::{Syntax, is_word, line_of, matching_brace, word_positions};
use crate::tree::{SourceFile, Violation};

/// Fields that a struct may have without being listed.
pub const FIELDS_MAX: usize = 16;

/// Why a listed struct is long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its fields are the settings of a configuration file, the arguments of a command, the
    /// members of a message or of a table of others, or it stands in for another end in tests: no
    /// step changes it, and its length is that of what it describes.
    Free,
    /// It is to be split, and has so many fields until then.
    Temporary(usize),
}

/// A line of the list.
#[derive(Debug, PartialEq, Eq)]
pub struct Listed {
    /// `path:struct`.
    pub place: String,
    /// Why it is long.
    pub kind: Kind,
}

/// What stands for [`Kind::Free`] in the list.
const FREE: [&str; 3] = ["options", "record", "double"];

/// Reads the list: `path:struct KIND reason` per line, `#` comments. A line without a reason is a
/// violation of its own.
pub fn read(list: &str) -> Result<Vec<Listed>, Vec<Violation>> {
    let lines = list.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (read, refused): (Vec<_>, Vec<_>) =
        lines.map(|(number, line)| read_line(line).ok_or(number)).partition(Result::is_ok);
    let problem = "a line is `path:struct KIND reason`";
    let at = |number| Violation::new(format!("tools/tidy/structs.txt:{number}"), problem);
    let refused: Vec<Violation> = refused.into_iter().filter_map(Result::err).map(at).collect();
    if refused.is_empty() { Ok(read.into_iter().flatten().collect()) } else { Err(refused) }
}

fn read_line(line: &str) -> Option<Listed> {
    let mut pieces = line.splitn(3, char::is_whitespace);
    let place = pieces.next()?.to_string();
    let kind = pieces.next()?;
    let kind = if FREE.contains(&kind) { Kind::Free } else { Kind::Temporary(kind.parse().ok()?) };
    let has_reason = pieces.next().is_some_and(|reason| !reason.trim().is_empty());
    has_reason.then_some(Listed { place, kind })
}

/// A struct with named fields.
struct Struct<'a> {
    key: String,
    path: &'a str,
    line: usize,
    fields: usize,
}

/// Structs of too many fields, and lines of the list that no longer fit.
pub fn violations(files: &[SourceFile], listed: &[Listed]) -> Vec<Violation> {
    let measured: Vec<Struct> =
        files.iter().filter(|file| !file.is_test()).flat_map(structs).collect();
    let too_long = measured.iter().filter_map(|one| judge(one, listed));
    let gone = listed.iter().filter(|line| !measured.iter().any(|one| one.key == line.place));
    let gone = gone
        .map(|line| Violation::new(&line.place, "is gone; remove it from tools/tidy/structs.txt"));
    too_long.chain(gone).collect()
}

fn judge(one: &Struct, listed: &[Listed]) -> Option<Violation> {
    let fields = one.fields;
    let problem = match listed.iter().find(|line| line.place == one.key).map(|line| line.kind) {
        None if fields <= FIELDS_MAX => return None,
        None => format!(
            "has {fields} fields, {FIELDS_MAX} at most; group them into parts that own what they \
                do"
        ),
        Some(_) if fields <= FIELDS_MAX => {
            "is short enough now; remove it from tools/tidy/structs.txt".to_string()
        }
        Some(Kind::Temporary(old)) if fields < old => {
            format!("has shrunk; lower its {old} to {fields} in tools/tidy/structs.txt")
        }
        Some(Kind::Temporary(old)) if fields > old => {
            format!("has grown from {old} to {fields} fields; they only become fewer")
        }
        Some(_) => return None,
    };
    Some(Violation::new(format!("{}:{}", one.path, one.line), problem))
}

fn structs(file: &SourceFile) -> Vec<Struct<'_>> {
    if file.syntax != Syntax::Rust {
        return Vec::new();
    }
    let code = &file.scanned.code;
    word_positions(code, "struct").filter_map(|at| read_struct(file, code, at)).collect()
}

fn read_struct<'a>(file: &'a SourceFile, code: &str, at: usize) -> Option<Struct<'a>> {
    let rest = code[at + "struct".len()..].trim_start();
    let name = &rest[..rest.bytes().position(|byte| !is_word(byte))?];
    // One with fields without names ends in a semicolon.
    let open = at + code[at..].find(['{', ';']).filter(|end| code.as_bytes()[at + end] == b'{')?;
    let body = &code[open + 1..matching_brace(code, open) - 1];
    (!name.is_empty()).then(|| Struct {
        key: format!("{}:{name}", file.path),
        path: &file.path,
        line: line_of(code, at),
        fields: fields(body),
    })
}

/// The fields of a body: each has one colon outside the brackets of its type and its attributes.
fn fields(body: &str) -> usize {
    let bytes = body.as_bytes();
    let mut depth = 0usize;
    let mut count = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let before = at.checked_sub(1).map_or(b' ', |before| bytes[before]);
        let after = bytes.get(at + 1).copied().unwrap_or(b' ');
        match byte {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            // The arrow of a function's type closes nothing.
            b'>' if before == b'-' => {}
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && before != b':' && after != b':' => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(count: usize, list: &str) -> Vec<String> {
        let fields: String = (0..count).map(|at| format!("    pub field{at}: u8,\n")).collect();
        let text = format!("//! x\npub struct Long<T> {{\n{fields}}}\n");
        let file = SourceFile::new("a/src/x.rs", text).expect("a Rust file");
        let listed = read(list).expect("a good list");
        violations(&[file], &listed).into_iter().map(|violation| violation.problem).collect()
    }

    #[test]
    fn long_structs_are_found() {
        assert!(problems(16, "").is_empty());
        assert!(problems(17, "")[0].contains("has 17 fields, 16 at most"));
    }

    #[test]
    fn those_that_no_step_changes_are_free() {
        assert!(problems(40, "a/src/x.rs:Long options settings of a file").is_empty());
        assert!(problems(16, "a/src/x.rs:Long record a message")[0].contains("remove it"));
        assert!(problems(40, "a/src/x.rs:Short record a message")[1].contains("is gone"));
    }

    #[test]
    fn the_others_only_shrink() {
        assert!(problems(20, "a/src/x.rs:Long 20 until it is split").is_empty());
        assert!(problems(21, "a/src/x.rs:Long 20 until it is split")[0].contains("has grown"));
        assert!(problems(19, "a/src/x.rs:Long 20 until it is split")[0].contains("lower its 20"));
    }

    #[test]
    fn a_line_without_a_reason_is_refused() {
        for line in ["a/src/x.rs:Long 20", "a/src/x.rs:Long options ", "a/src/x.rs:Long some why"] {
            let refused = read(line).expect_err("no reason, or no kind");
            assert_eq!(refused[0].place, "tools/tidy/structs.txt:1", "{line}");
        }
    }

    #[test]
    fn types_and_attributes_have_no_fields() {
        let body = " #[serde(default, rename = :)] a: std::collections::BTreeMap<u8, dyn Fn(u8) \
            -> Vec<T>>, pub(crate) b: [u8; 4], c: for<'a> fn(x: &'a u8) -> u8,";
        assert_eq!(fields(body), 3);
        assert_eq!(fields(""), 0);
    }
}
