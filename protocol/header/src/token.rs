//! Words, numbers and signs of a header, with their places and the comment before them.

use crate::Place;
use crate::layout::Packing;

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Word(String),
    Number(String),
    /// A string or character, with its quotes.
    Text,
    Sign(char),
    /// `...`
    Dots,
}

/// A token of a file.
#[derive(Clone, Debug)]
pub struct Token {
    pub kind: Kind,
    pub place: Place,
    /// Number of the file among those that line marks name.
    pub file: usize,
    /// The comment that ends in its line or the one before.
    pub comment: Option<String>,
    /// What `#pragma pack` says here.
    pub packing: Option<u32>,
}

impl Token {
    /// Whether it is this sign.
    pub fn is(&self, sign: char) -> bool {
        self.kind == Kind::Sign(sign)
    }

    /// The word that it is.
    pub fn word(&self) -> Option<&str> {
        if let Kind::Word(word) = &self.kind { Some(word) } else { None }
    }
}

/// The tokens of a text, and the files that they stand in; the first is the one of `name`.
pub struct Tokens {
    pub list: Vec<Token>,
    pub files: Vec<String>,
}

impl Tokens {
    /// Reads all of a text.
    pub fn of(name: &str, text: &str) -> Tokens {
        let mut scanner = Scanner {
            rest: text,
            place: Place { line: 1, column: 1 },
            file: 0,
            comment: None,
            packing: Packing::default(),
            tokens: Tokens { list: Vec::new(), files: vec![name.to_owned()] },
        };
        while scanner.next() {}
        scanner.tokens
    }
}

struct Scanner<'a> {
    rest: &'a str,
    place: Place,
    file: usize,
    /// The last comment, and the line that it ends in.
    comment: Option<(String, usize)>,
    packing: Packing,
    tokens: Tokens,
}

impl<'a> Scanner<'a> {
    /// Takes bytes, and counts lines and columns.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        for one in taken.chars() {
            if one == '\n' {
                self.place = Place { line: self.place.line + 1, column: 1 };
            } else {
                self.place.column += 1;
            }
        }
        self.rest = rest;
        taken
    }

    fn length(&self, wanted: impl Fn(char) -> bool) -> usize {
        self.rest.find(|one: char| !wanted(one)).unwrap_or(self.rest.len())
    }

    /// Takes a token, a blank or a comment; false at the end.
    fn next(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        if first.is_whitespace() || first == '\u{feff}' {
            self.take(first.len_utf8());
        } else if self.rest.starts_with("/*") || self.rest.starts_with("//") {
            self.take_comment();
        } else if first == '#' {
            let line = self.length(|one| one != '\n');
            let directive = self.take(line).to_owned();
            self.mark(&directive);
        } else {
            self.take_token(first);
        }
        true
    }

    fn take_comment(&mut self) {
        let length = if self.rest.starts_with("//") {
            self.length(|one| one != '\n')
        } else {
            self.rest[2..].find("*/").map_or(self.rest.len(), |end| end + 4)
        };
        let begins_line = self
            .tokens
            .list
            .last()
            .is_none_or(|last| last.place.line < self.place.line || last.file != self.file);
        let comment = self.take(length);
        // What stands behind a declaration belongs to that.
        if !begins_line {
            return;
        }
        let lines = comment.trim_start_matches('/').trim_end_matches('/');
        let words: Vec<&str> = lines
            .lines()
            .map(|line| line.trim().trim_matches(['*', '!']).trim())
            .filter(|line| !line.is_empty())
            .collect();
        let is_line = comment.starts_with("//");
        let before = self.comment.take().filter(|(_, line)| is_line && line + 1 == self.place.line);
        let parts: Vec<String> =
            before.map(|(before, _)| before).into_iter().chain([words.join(" ")]).collect();
        self.comment = Some((parts.join(" "), self.place.line));
    }

    /// `# 12 "file.h" flags`: the next line is that one; and pragmas, of included headers, too.
    fn mark(&mut self, directive: &str) {
        let words = directive.trim_start_matches('#').trim_start();
        if let Some(pragma) = words.strip_prefix("pragma") {
            self.packing.take(pragma);
        }
        let words = words.strip_prefix("line").unwrap_or(words).trim_start();
        let digits = words.find(|one: char| !one.is_ascii_digit()).unwrap_or(words.len());
        let Ok(line) = words[..digits].parse::<usize>() else { return };
        let name = words[digits..].trim_start();
        if let Some(name) = name.strip_prefix('"').and_then(|name| name.split('"').next()) {
            let known = self.tokens.files.iter().position(|file| file == name);
            self.file = known.unwrap_or_else(|| {
                self.tokens.files.push(name.to_owned());
                self.tokens.files.len() - 1
            });
        }
        // The line end that follows counts one.
        self.place.line = line.saturating_sub(1);
    }

    fn take_token(&mut self, first: char) {
        let place = self.place;
        let is_word = |one: char| one.is_alphanumeric() || one == '_' || one == '$';
        let kind = if first.is_ascii_digit() {
            let length = self.length(|one| is_word(one) || one == '.');
            Kind::Number(self.take(length).to_owned())
        } else if is_word(first) {
            let length = self.length(is_word);
            Kind::Word(self.take(length).to_owned())
        } else if first == '"' || first == '\'' {
            let length = quoted(self.rest, first);
            self.take(length);
            Kind::Text
        } else if self.rest.starts_with("...") {
            self.take(3);
            Kind::Dots
        } else {
            self.take(first.len_utf8());
            Kind::Sign(first)
        };
        let comment = self.comment.take();
        let comment = comment.filter(|(_, line)| line + 1 >= place.line).map(|(words, _)| words);
        let packing = self.packing.now();
        self.tokens.list.push(Token { kind, place, file: self.file, comment, packing });
    }
}

/// How long a string or character is, its quotes included; to the line's end where none is there.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, one) in text.char_indices().skip(1) {
        match one {
            '\n' => return at,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if one == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_know_their_places_and_comments() {
        let text = "/* Sum\n * of all. */\nint f(int n); /* not this */\n// one\n// two\nvoid g();";
        let tokens = Tokens::of("a.h", text).list;
        assert_eq!(tokens[0].place, Place { line: 3, column: 1 });
        assert_eq!(tokens[0].comment.as_deref(), Some("Sum of all."));
        let g = tokens.iter().find(|token| token.word() == Some("void"));
        assert_eq!(g.and_then(|token| token.comment.as_deref()), Some("one two"));
    }

    #[test]
    fn line_marks_tell_files() {
        let tokens =
            Tokens::of("a.h", "# 1 \"a.h\"\n# 7 \"/usr/b.h\" 1 3\nint x;\n# 3 \"a.h\" 2\ny");
        let places: Vec<(usize, usize)> =
            tokens.list.iter().map(|token| (token.file, token.place.line)).collect();
        assert_eq!(places, [(1, 7), (1, 7), (1, 7), (0, 3)]);
    }
}
