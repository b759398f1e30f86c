//! Tells code from comments and text, in every language of the house, without parsing any of them.
//!
//! The checks ask only shallow questions (is this word code? how long is this function?), so a
//! scanner that blanks comments and strings and keeps every line where it was is enough, and a
//! parser dependency is not needed.

/// Which rules of comments and strings a file follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Nested block comments, raw strings, lifetimes.
    Rust,
    /// C, C++ and IDL.
    C,
    /// `#` comments and triple-quoted strings, which count as comments where they stand alone.
    Python,
    /// Shell scripts, makefiles, manifests: `#` at a word's begin.
    Hash,
    /// `!` comments.
    Fortran,
}

/// A file with its comments and strings blanked.
#[derive(Debug)]
pub struct Scanned {
    /// The text with every byte of a comment or a string's content replaced by a space; line breaks
    /// stay.
    pub code: String,
    /// For each line, whether a part of it is comment.
    pub commented: Vec<bool>,
}

/// What hidden bytes are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Region {
    Comment,
    Text,
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    code: Vec<u8>,
    commented: Vec<bool>,
}

/// Blanks comments and strings of `text`.
pub fn scan(text: &str, syntax: Syntax) -> Scanned {
    let mut scanner = Scanner {
        text: text.as_bytes(),
        at: 0,
        code: Vec::with_capacity(text.len()),
        commented: vec![false],
    };
    while scanner.at < scanner.text.len() {
        match syntax {
            Syntax::Rust => scanner.step_rust(),
            Syntax::C => scanner.step_c(),
            Syntax::Python => scanner.step_python(),
            Syntax::Hash => scanner.step_hash(),
            Syntax::Fortran => scanner.step_fortran(),
        }
    }
    let code = String::from_utf8(scanner.code).expect("only ASCII bytes are kept");
    Scanned { code, commented: scanner.commented }
}

/// Whether a byte can be part of a name.
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Byte positions at which `word` stands alone in `code`.
pub fn word_positions<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = code.as_bytes();
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = at == 0 || !is_word(bytes[at - 1]);
        let after = at + word.len();
        before && (after >= bytes.len() || !is_word(bytes[after]))
    })
}

/// The line, counted from 1, in which byte `at` stands.
pub fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The position just behind the brace that closes the one at `open`; the end of the text if none
/// does.
pub fn matching_brace(code: &str, open: usize) -> usize {
    let mut depth = 0usize;
    for (offset, byte) in code.as_bytes()[open..].iter().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return open + offset + 1,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

impl Scanner<'_> {
    fn looking_at(&self, what: &str) -> bool {
        self.text[self.at..].starts_with(what.as_bytes())
    }

    fn previous(&self) -> u8 {
        if self.at == 0 { b'\n' } else { self.text[self.at - 1] }
    }

    fn push(&mut self, byte: u8) {
        self.code.push(if byte.is_ascii() { byte } else { b' ' });
        if byte == b'\n' {
            self.commented.push(false);
        }
        self.at += 1;
    }

    fn keep(&mut self) {
        self.push(self.text[self.at]);
    }

    /// Blanks `count` bytes, or what is left of the text.
    fn hide(&mut self, count: usize, region: Region) {
        for _ in 0..count.min(self.text.len() - self.at) {
            let byte = self.text[self.at];
            if region == Region::Comment && !byte.is_ascii_whitespace() {
                *self.commented.last_mut().expect("there is always a current line") = true;
            }
            self.push(if byte == b'\n' { b'\n' } else { b' ' });
        }
    }

    /// Blanks up to and including `end`.
    fn hide_through(&mut self, end: &str, escape: Option<u8>, region: Region) {
        while self.at < self.text.len() && !self.looking_at(end) {
            let step = if Some(self.text[self.at]) == escape { 2 } else { 1 };
            self.hide(step, region);
        }
        self.hide(end.len(), region);
    }

    fn hide_line(&mut self) {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        self.hide(length, Region::Comment);
    }

    /// A string with backslash escapes. The quotes stay, so that code around them keeps its shape.
    fn hide_quoted(&mut self, quote: &str) {
        self.hide(quote.len(), Region::Text);
        self.hide_through(quote, Some(b'\\'), Region::Text);
    }

    fn step_rust(&mut self) {
        if self.looking_at("//") {
            self.hide_line();
        } else if self.looking_at("/*") {
            self.hide_nested_comment();
        } else if let Some(end) = self.raw_string_end() {
            let open = self.text[self.at..]
                .iter()
                .position(|byte| *byte == b'"')
                .expect("raw string has a quote")
                + 1;
            self.hide(open, Region::Text);
            self.hide_through(&end, None, Region::Text);
        } else if self.looking_at("\"") {
            self.hide_quoted("\"");
        } else if let Some(length) = self.char_literal() {
            self.hide(length, Region::Text);
        } else {
            self.keep();
        }
    }

    fn hide_nested_comment(&mut self) {
        let mut depth = 0usize;
        while self.at < self.text.len() {
            let opens = self.looking_at("/*");
            let closes = self.looking_at("*/");
            depth = depth + usize::from(opens) - usize::from(closes);
            self.hide(if opens || closes { 2 } else { 1 }, Region::Comment);
            if closes && depth == 0 {
                return;
            }
        }
    }

    /// What ends the raw string that begins here, if one does.
    fn raw_string_end(&self) -> Option<String> {
        let rest = &self.text[self.at..];
        let rest = rest.strip_prefix(b"b").or_else(|| rest.strip_prefix(b"c")).unwrap_or(rest);
        let rest = rest.strip_prefix(b"r")?;
        let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
        let is_raw = rest.get(hashes) == Some(&b'"') && !is_word(self.previous());
        is_raw.then(|| format!("\"{}", "#".repeat(hashes)))
    }

    /// The length of the character literal that begins here; a lifetime is none.
    fn char_literal(&self) -> Option<usize> {
        let rest = &self.text[self.at..];
        if rest.first() != Some(&b'\'') {
            return None;
        }
        let content = if rest.get(1) == Some(&b'\\') { 3 } else { 2 };
        // Longest forms: '\u{10FFFF}' and a four-byte character.
        let limit = if content == 3 { 12 } else { 6 };
        let close = (content..limit.min(rest.len())).find(|&at| rest[at] == b'\'')?;
        let is_character = content == 3 || close == 2 || !rest[1].is_ascii();
        is_character.then_some(close + 1)
    }

    fn step_c(&mut self) {
        if self.looking_at("//") {
            self.hide_line();
        } else if self.looking_at("/*") {
            self.hide(2, Region::Comment);
            self.hide_through("*/", None, Region::Comment);
        } else if self.looking_at("\"") {
            self.hide_quoted("\"");
        } else if self.looking_at("'") {
            self.hide_quoted("'");
        } else {
            self.keep();
        }
    }

    fn step_python(&mut self) {
        if self.looking_at("#") {
            self.hide_line();
        } else if let Some(quote) =
            ["\"\"\"", "'''"].into_iter().find(|quote| self.looking_at(quote))
        {
            let region = if self.stands_alone() { Region::Comment } else { Region::Text };
            self.hide(3, region);
            self.hide_through(quote, Some(b'\\'), region);
        } else if let Some(quote) = ["\"", "'"].into_iter().find(|quote| self.looking_at(quote)) {
            self.hide_quoted(quote);
        } else {
            self.keep();
        }
    }

    /// Whether only white space stands before this place in its line.
    fn stands_alone(&self) -> bool {
        self.text[..self.at]
            .iter()
            .rev()
            .take_while(|byte| **byte != b'\n')
            .all(u8::is_ascii_whitespace)
    }

    fn step_hash(&mut self) {
        if self.looking_at("#") && self.previous().is_ascii_whitespace() {
            self.hide_line()
        } else {
            self.keep()
        }
    }

    fn step_fortran(&mut self) {
        if self.looking_at("!") {
            self.hide_line();
        } else if let Some(quote) = ["\"", "'"].into_iter().find(|quote| self.looking_at(quote)) {
            self.hide(1, Region::Text);
            self.hide_through(quote, None, Region::Text);
        } else {
            self.keep();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_strings_and_comments_are_blanked_and_lines_stay() {
        let text =
            "let a = \"// fn x\"; // fn y\nlet b = r#\"\"fn\"#; /* a /* b */ fn */ let c = '\"';\n";
        let scanned = scan(text, Syntax::Rust);
        assert_eq!(scanned.code.len(), text.len());
        assert!(!scanned.code.contains("fn"));
        assert!(scanned.code.contains("let c"));
        assert_eq!(scanned.commented, [true, true, false]);
    }

    #[test]
    fn lifetimes_are_no_character_literals() {
        let code = scan("fn f<'a>(x: &'a str) -> char { '\\'' }", Syntax::Rust).code;
        assert!(code.contains("&'a str"));
        assert!(!code.contains("\\'"));
    }

    #[test]
    fn a_docstring_is_a_comment_and_another_string_is_not() {
        let scanned = scan("def f():\n    \"\"\"Says.\"\"\"\n    x = \"# no\"\n", Syntax::Python);
        assert_eq!(scanned.commented, [false, true, false, false]);
    }

    #[test]
    fn words_stand_alone() {
        assert_eq!(word_positions("unsafe_op unsafe {", "unsafe").collect::<Vec<_>>(), [10]);
    }

    #[test]
    fn unfinished_text_ends_the_scan() {
        for text in ["\"abc", "/* abc", "r##\"abc\"#", "'", "b'", "'\\"] {
            assert_eq!(scan(text, Syntax::Rust).code.len(), text.len(), "{text}");
        }
    }
}
