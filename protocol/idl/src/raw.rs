//! Raw C between braces: found by its balanced braces, otherwise left as it is (spec/idl.md,
//! section 3.6).

use std::ops::Range;

use crate::source::Span;

/// A body that was scanned.
pub(crate) struct Scanned {
    /// One past the closing brace.
    pub end: usize,
    /// Whether there was a closing brace.
    pub closed: bool,
    /// Lines that begin with `#`, continuation lines included.
    pub directives: Vec<Span>,
}

/// Length of a string with both quotes, over line ends too; `None` if its end is missing. A
/// backslash protects what follows.
pub(crate) fn quoted_length(text: &str) -> Option<usize> {
    let mut characters = text.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        if c == '\\' {
            characters.next();
        } else if c == '"' {
            return Some(at + 1);
        }
    }
    None
}

/// One past the last byte of the directive that begins at `start`, its line end excluded.
pub(crate) fn directive_end(text: &str, start: usize) -> usize {
    let mut at = start;
    loop {
        let line = text[at..].find('\n').map_or(text.len(), |length| at + length);
        let continued = text[at..line].trim_end_matches('\r').ends_with('\\');
        if !continued || line == text.len() {
            return line;
        }
        at = line + 1;
    }
}

/// The name that `#define NAME …` defines, as a range of the line.
pub(crate) fn defined_name(line: &str) -> Option<Range<usize>> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("define")?;
    let name = rest.trim_start();
    let start = line.len() - name.len();
    let length =
        name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(name.len());
    (length > 0 && rest.len() != name.len()).then_some(start..start + length)
}

/// Finds the end of the C text whose opening brace is at `start`. Braces in strings, characters,
/// comments and directives do not count. Where the end is missing, `resume` asks to go on at the
/// next declaration.
pub(crate) fn scan_body(text: &str, start: usize, resume: bool) -> Scanned {
    let bytes = text.as_bytes();
    let mut scanned = Scanned { end: text.len(), closed: false, directives: Vec::new() };
    let mut depth = 0_usize;
    let mut at = start;
    let mut line_is_blank = false;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte == b'#' && line_is_blank {
            let end = directive_end(text, at);
            scanned.directives.push(Span::new(at, end));
            at = end;
            continue;
        }
        depth = match byte {
            b'{' => depth + 1,
            b'}' => depth - 1,
            _ => depth,
        };
        if depth == 0 {
            return Scanned { end: at + 1, closed: true, ..scanned };
        }
        line_is_blank = byte == b'\n' || (line_is_blank && byte.is_ascii_whitespace());
        at = skip_one(text, at);
    }
    if resume {
        scanned.end = resume_after_open_body(text, start);
    }
    scanned.directives.retain(|line| (line.start as usize) < scanned.end);
    scanned
}

/// Where `wanted`, which is not ASCII, first stands in C text outside of comments.
pub(crate) fn outside_comments(text: &str, wanted: char) -> Option<usize> {
    let mut at = 0;
    // Nearly all text is whole: that is seen at once.
    let end_of_search = text.rfind(wanted)?;
    while let Some(first) = text[at..].chars().next().filter(|_| at <= end_of_search) {
        // Steps are made of whole comments and literals, or of one character.
        let end = if first.is_ascii() {
            skip_one(text, at).min(text.len())
        } else {
            at + first.len_utf8()
        };
        let found = text[at..end].find(wanted).filter(|_| first != '/');
        if found.is_some() {
            return found.map(|found| at + found);
        }
        at = end;
    }
    None
}

/// One past the comment, string, character or byte at `at`.
fn skip_one(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let behind = |length: Option<usize>| length.map_or(text.len(), |length| at + length);
    match (bytes[at], bytes.get(at + 1)) {
        (b'/', Some(b'*')) => behind(text[at + 2..].find("*/").map(|length| length + 4)),
        (b'/', Some(b'/')) => behind(text[at..].find('\n')),
        (b'"', _) if at > 0 && bytes[at - 1] == b'R' => raw_string_end(text, at),
        // A digit before the quote makes it a C++ digit separator (1'000).
        (b'\'', _) if at > 0 && bytes[at - 1].is_ascii_digit() => at + 1,
        (quote @ (b'"' | b'\''), _) => {
            quoted_in_line(bytes, at, quote).unwrap_or_else(|line_end| line_end)
        }
        _ => at + 1,
    }
}

/// One past a C string or character that begins at `start`; the end of its line where the closing
/// quote is missing: it costs one line, not the rest of the file, because C has no longer ones.
pub(crate) fn quoted_in_line(bytes: &[u8], start: usize, quote: u8) -> Result<usize, usize> {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\n' => return Err(at),
            byte if *byte == quote => return Ok(at + 1),
            _ => {}
        }
        at += 1;
    }
    Err(bytes.len())
}

/// One past a C++ raw string `R"x(…)x"` whose quote is at `at`. One without its end takes the rest,
/// as in C++.
fn raw_string_end(text: &str, at: usize) -> usize {
    // The standard allows a delimiter of at most 16 characters.
    let open = text.as_bytes()[at + 1..].iter().take(17).position(|byte| *byte == b'(');
    let Some(delimiter) = open.and_then(|open| text.get(at + 1..at + 1 + open)) else {
        return at + 1;
    };
    let body = at + 2 + delimiter.len();
    let end = format!("){delimiter}\"");
    text[body..].find(&end).map_or(text.len(), |length| body + length + end.len())
}

/// Where to go on after a body without an end: at the next line that begins with a declaration, so
/// that the mistakes behind it are found as well.
fn resume_after_open_body(text: &str, start: usize) -> usize {
    let words = ["\nDefine ", "\nDefClass ", "\nModule "];
    let found = words.iter().filter_map(|word| text[start..].find(word)).min();
    found.map_or(text.len(), |length| start + length)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn body(text: &str) -> &str {
        let scanned = scan_body(text, 0, true);
        assert!(scanned.closed, "{text}");
        &text[..scanned.end]
    }

    #[test]
    fn braces_in_quotes_comments_and_directives_do_not_count() {
        let texts = [
            "{ a = '}'; }",
            "{ s = \"}\\\"}\"; }",
            "{ /* } it's */ }",
            "{ // } don't\n }",
            "{\n#define CLOSE }\n#define MORE \\\n }\n }",
            "{ x = R\"q( }\" )q\"; }",
            "{ int k = 1'000'000; }",
            "{ if (x) { y(); } }",
            "{ char c = '\\''; char d = '\\\\'; }",
        ];
        for text in texts {
            let whole = format!("{text} rest }}");
            assert_eq!(body(&whole), text);
        }
    }

    #[test]
    fn a_body_without_end_stops_at_the_next_declaration() {
        let text = "{ if (x) { \nDefine next() {}";
        let scanned = scan_body(text, 0, true);
        assert!(!scanned.closed && text[scanned.end..].starts_with("\nDefine"));
        let open = "{ \" \nDefine next() Calls f();";
        let scanned = scan_body(open, 0, true);
        assert!(!scanned.closed);
        assert!(open[scanned.end..].starts_with("\nDefine"));
    }

    #[test]
    fn comments_alone_may_hold_what_is_no_text() {
        let find = |text: &str| outside_comments(text, 'é');
        assert_eq!(find("{ /* é */ x(\"/* ü */\"); // é\n }"), None);
        assert_eq!(find("{ /* é */ x(\"ü\\é\"); }"), Some("{ /* é */ x(\"ü\\".len()));
        assert_eq!(find("{ 'é' }"), Some(3));
        assert_eq!(find("{ ü a / é }"), Some("{ ü a / ".len()));
    }

    #[test]
    fn macro_names_are_found() {
        let line = "# define  N 100";
        assert_eq!(&line[defined_name(line).unwrap()], "N");
        assert_eq!(defined_name("#define"), None);
        assert_eq!(defined_name("#defined X"), None);
        assert_eq!(defined_name("#include <math.h>"), None);
    }
}
