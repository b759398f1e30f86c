//! The text of an interface file, and the true place of every byte of it (spec/idl.md, section
//! 2.4).
//!
//! A preprocessed file carries line marks (`# 12 "header.h" 1`). The lexer reports each one it
//! meets in code, so that a mark inside a string or a comment changes nothing; from then on places
//! count from the mark.

/// A range of bytes of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// From byte `start` to byte `end`; files are far below 4 GiB (`compile::FILE_BYTES_MAX`).
    pub(crate) fn new(start: usize, end: usize) -> Span {
        Span {
            start: u32::try_from(start).unwrap_or(u32::MAX),
            end: u32::try_from(end).unwrap_or(u32::MAX),
        }
    }

    /// The range from the start of `self` to the end of `last`.
    pub(crate) fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end.max(self.end) }
    }

    /// One byte wide, right behind `self`: where something is missing.
    pub(crate) fn behind(self) -> Span {
        Span { start: self.end, end: self.end + 1 }
    }
}

/// A line mark: from physical line `from` on, lines are `line`, `line + 1`, … of file number
/// `file`.
struct Mark {
    from: usize,
    file: usize,
    line: u32,
}

/// Where a byte stands, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// File as the line marks name it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// The text and its line table.
pub(crate) struct Source<'a> {
    /// The whole text.
    pub text: &'a str,
    files: Vec<String>,
    line_starts: Vec<usize>,
    marks: Vec<Mark>,
}

impl<'a> Source<'a> {
    /// `file` is the name for places before the first line mark.
    pub(crate) fn new(file: &str, text: &'a str) -> Source<'a> {
        let starts =
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(starts).collect();
        Source { text, files: vec![file.to_string()], line_starts, marks: Vec::new() }
    }

    /// The text of a span; empty where the span lies outside.
    pub(crate) fn slice(&self, span: Span) -> &'a str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// Number of the physical line, from 0, that holds a byte.
    fn physical_line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// Takes note of a line mark at byte `offset`, where `line` is a whole line; false if it is no
    /// line mark.
    ///
    /// `# 12 "file"` needs its file name, so that a comment such as `# 12` is none; `#line 12` may
    /// omit it.
    pub(crate) fn take_mark(&mut self, offset: usize, line: &str) -> bool {
        let Some(mark) = parse_mark(line) else { return false };
        let file = match mark.1 {
            Some(name) => self.file_number(name),
            None => self.marks.last().map_or(0, |last| last.file),
        };
        let from = self.physical_line(offset) + 1;
        self.marks.push(Mark { from, file, line: mark.0 });
        true
    }

    /// The number of a file, new or known.
    fn file_number(&mut self, name: &str) -> usize {
        // Marks go back and forth between few files: the last entries are the likely ones.
        if let Some(found) = self.files.iter().rposition(|file| file == name) {
            return found;
        }
        // A hostile file may hold one name per line; past the limit they share the last one.
        if self.files.len() < 4096 {
            self.files.push(name.to_string());
        }
        self.files.len() - 1
    }

    /// File, line and column of a byte.
    pub(crate) fn place(&self, offset: u32) -> Place {
        // What is missing at the end of the file stands behind the last byte.
        let offset = (offset as usize).min(self.text.len());
        let physical = self.physical_line(offset);
        let after = self.marks.partition_point(|mark| mark.from <= physical);
        let (file, line) = match after.checked_sub(1).map(|index| &self.marks[index]) {
            Some(mark) => (mark.file, mark.line.saturating_add((physical - mark.from) as u32)),
            None => (0, physical as u32 + 1),
        };
        let before = self
            .text
            .get(self.line_starts[physical]..offset)
            .map_or(0, |text| text.chars().count());
        Place { file: self.files[file].clone(), line, column: before as u32 + 1 }
    }

    /// The physical line that holds a byte, without its line end.
    pub(crate) fn line_text(&self, offset: u32) -> &'a str {
        let physical = self.physical_line(offset as usize);
        let start = self.line_starts[physical];
        let end = self.line_starts.get(physical + 1).copied().unwrap_or(self.text.len());
        self.text.get(start..end).unwrap_or("").trim_end_matches(['\n', '\r'])
    }
}

/// Reads `# 12 "file" flags` and `#line 12 ["file"]`.
fn parse_mark(line: &str) -> Option<(u32, Option<&str>)> {
    let rest = line.trim().strip_prefix('#')?.trim_start();
    let (rest, named) = match rest.strip_prefix("line") {
        Some(rest) => (rest.trim_start(), false),
        None => (rest, true),
    };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = rest.get(..digits)?.parse().ok()?;
    let rest = rest.get(digits..)?.trim();
    if rest.is_empty() {
        return (!named).then_some((number, None));
    }
    let name = rest.strip_prefix('"')?;
    let end = name.find('"')?;
    Some((number, Some(&name[..end])))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn marks_of_both_spellings_are_read_and_look_alikes_are_not() {
        assert_eq!(parse_mark("# 12 \"a.h\" 1 3"), Some((12, Some("a.h"))));
        assert_eq!(parse_mark("#line 7"), Some((7, None)));
        assert_eq!(parse_mark("#line 7 \"b\""), Some((7, Some("b"))));
        // A directive, a number without a file name, a number that does not fit, a name without an
        // end.
        for line in ["#define N 3", "# 12", "# 99999999999 \"a\"", "# 1 \"a"] {
            assert_eq!(parse_mark(line), None, "{line}");
        }
    }

    #[test]
    fn places_follow_marks_and_count_characters() {
        let text = "one\n# 40 \"b.h\"\nähm x\nnext";
        let mut source = Source::new("a.idl", text);
        assert!(source.take_mark(4, "# 40 \"b.h\""));
        let at = text.find('x').unwrap() as u32;
        assert_eq!(source.place(at), Place { file: "b.h".into(), line: 40, column: 5 });
        assert_eq!(source.place(0), Place { file: "a.idl".into(), line: 1, column: 1 });
        assert_eq!(source.line_text(at), "ähm x");
        assert_eq!(source.place(text.len() as u32).line, 41);
    }
}
