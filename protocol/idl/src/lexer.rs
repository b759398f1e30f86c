//! Text to tokens (spec/idl.md, section 2). Raw C bodies become single tokens; line marks go to the
//! line table.

use crate::diagnostic::{Problems, shown};
use crate::raw;
use crate::source::{Source, Span};
use crate::token::{Kind, SYMBOLS, Token};

/// More tokens than this make no interface file; the limit bounds memory for a hostile one.
pub(crate) const TOKENS_MAX: usize = 1_000_000;

/// Bodies without an end behind which declarations are still looked for.
const OPEN_BODIES_MAX: usize = 16;

/// Stands for bytes that were not UTF-8 (`String::from_utf8_lossy`). Comments and descriptions may
/// have them.
pub(crate) const UNREADABLE: char = char::REPLACEMENT_CHARACTER;

/// What the lexer finds.
#[derive(Default)]
pub(crate) struct Lexed {
    /// All tokens; the last one is [`Kind::End`].
    pub tokens: Vec<Token>,
    /// Preprocessor directives outside strings, comments and bodies.
    pub directives: Vec<Span>,
    /// Macros that bodies define (`#define NAME …`).
    pub body_macros: Vec<Span>,
}

/// Which `{` comes next: after `DefClass` and `Struct` it opens a list of declarations, else raw C.
#[derive(Clone, Copy, PartialEq)]
enum Brace {
    Raw,
    Structural,
}

/// The position in the text, and what decides how the next sign is read.
struct Lexer<'s, 'a> {
    source: &'s mut Source<'a>,
    text: &'a str,
    at: usize,
    /// One past the last token, or past what was no token.
    last_end: usize,
    /// Bodies without an end so far.
    open_bodies: usize,
    brace: Brace,
    lexed: Lexed,
}

/// Reads the whole text. Never fails: what is no token is reported and skipped.
pub(crate) fn scan(source: &mut Source<'_>, problems: &mut Problems) -> Lexed {
    let text = source.text;
    // Editors of other systems put a byte order mark in front; it is no part of the language.
    let begin = text.len() - text.trim_start_matches('\u{feff}').len();
    let mut lexer = Lexer {
        source,
        text,
        at: begin,
        last_end: 0,
        open_bodies: 0,
        brace: Brace::Raw,
        lexed: Lexed::default(),
    };
    while lexer.skip_blank(problems) {
        if lexer.lexed.tokens.len() >= TOKENS_MAX {
            let here = Span::new(lexer.at, lexer.at + 1);
            problems.add(here, format!("the file has more than {TOKENS_MAX} words and signs"));
            break;
        }
        let start = lexer.at;
        lexer.token(problems);
        lexer.check_readable(start, problems);
        lexer.last_end = lexer.at;
    }
    // The end "stands" behind the last token, so that a message about it shows a line with
    // something on it.
    let end = lexer.lexed.tokens.last().map_or(0, |token| token.span.end as usize);
    lexer.push(Kind::End, end, end);
    lexer.lexed
}

impl Lexer<'_, '_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize) {
        self.lexed.tokens.push(Token { kind, span: Span::new(start, end) });
    }

    /// Skips white space, comments, line marks and directives; false at the end of the text.
    fn skip_blank(&mut self, problems: &mut Problems) -> bool {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            self.at += blank;
            let rest = self.rest();
            if rest.starts_with("/*") {
                self.block_comment(problems);
            } else if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with('#') && self.begins_line() {
                self.directive();
            } else {
                return !rest.is_empty();
            }
        }
    }

    /// Whether nothing but blanks and comments stands before, on this line.
    fn begins_line(&self) -> bool {
        self.last_end == 0 || self.text[self.last_end..self.at].contains('\n')
    }

    /// `/* … */`; one without its end takes the rest of the file, as in C.
    fn block_comment(&mut self, problems: &mut Problems) {
        match self.rest()[2..].find("*/") {
            Some(length) => self.at += length + 4,
            None => {
                problems.add_with_help(
                    Span::new(self.at, self.at + 2),
                    "this comment is not closed",
                    "close it with '*/'",
                );
                self.at = self.text.len();
            }
        }
    }

    /// A line mark is obeyed; a directive is noted and skipped, with its continuation lines.
    fn directive(&mut self) {
        let end = raw::directive_end(self.text, self.at);
        let line = &self.text[self.at..end];
        if !self.source.take_mark(self.at, line) {
            self.lexed
                .directives
                .push(Span::new(self.at, self.at + line.lines().next().map_or(1, str::len)));
        }
        self.at = end;
    }

    /// One token, or one mistake.
    fn token(&mut self, problems: &mut Problems) {
        let first = self.rest().chars().next().unwrap_or(' ');
        let second = self.rest().chars().nth(1).unwrap_or(' ');
        match first {
            '"' => self.string(problems),
            '\'' => self.character(problems),
            '{' if self.brace == Brace::Raw => self.body(problems),
            _ if is_word_start(first) => self.word(),
            _ if first.is_ascii_digit() || (first == '.' && second.is_ascii_digit()) => {
                self.number()
            }
            _ => self.symbol(first, problems),
        }
    }

    /// What is no comment must have come whole: a body would say something else than its author
    /// wrote. Of strings the parser knows which ones are descriptions.
    fn check_readable(&self, start: usize, problems: &mut Problems) {
        let token = &self.text[start..self.at];
        let found = match token.chars().next() {
            Some('"') => None,
            Some('{') => raw::outside_comments(token, UNREADABLE),
            _ => token.find(UNREADABLE),
        };
        if let Some(place) = found {
            problems.unreadable(self.text, start + place);
        }
    }

    /// A word; some of them decide what the next brace means.
    fn word(&mut self) {
        let start = self.at;
        let rest = self.rest();
        let length = rest.find(|c| !is_word_part(c)).unwrap_or(rest.len());
        let word = &rest[..length];
        // `Struct` is a word of ours, so a parameter may bear the name: it counts only where a
        // declaration begins.
        let begins = matches!(
            self.lexed.tokens.last(),
            None | Some(Token { kind: Kind::Body | Kind::Symbol(";" | "}"), .. })
        );
        match word {
            "DefClass" => self.brace = Brace::Structural,
            "Struct" if begins => self.brace = Brace::Structural,
            "Define" | "DefMethod" | "DefState" | "Globals" => self.brace = Brace::Raw,
            _ => {}
        }
        self.at += length;
        self.push(Kind::Word, start, start + length);
    }

    /// Digits with what may belong to them; the parser decodes and judges.
    fn number(&mut self) {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let hexadecimal = matches!(bytes.get(start..start + 2), Some(b"0x" | b"0X"));
        let mut real = false;
        let mut end = start;
        while let Some(byte) = bytes.get(end) {
            let exponent = !hexadecimal && matches!(byte, b'e' | b'E');
            // An exponent may have a sign; Fortran's `d` makes one only behind a point.
            let behind_exponent =
                end > start && !hexadecimal && matches!(bytes[end - 1] | 32, b'e' | b'd');
            let sign = matches!(byte, b'+' | b'-') && behind_exponent;
            real |= exponent || (*byte == b'.' && !hexadecimal);
            if !(byte.is_ascii_alphanumeric() || *byte == b'.' || *byte == b'_' || sign) {
                break;
            }
            end += 1;
        }
        self.at = end;
        self.push(if real { Kind::Real } else { Kind::Integer }, start, end);
    }

    /// `'c'`. It ends on its line: the quote in a forgotten one must not pair with the next.
    fn character(&mut self, problems: &mut Problems) {
        let start = self.at;
        match raw::quoted_in_line(self.text.as_bytes(), start, b'\'') {
            Ok(end) => {
                self.at = end;
                self.push(Kind::Character, start, end);
            }
            Err(line_end) => {
                problems.add_with_help(
                    Span::new(start, start + 1),
                    "this character constant is not closed",
                    "write one character between two quotes, such as 'N'",
                );
                self.at = line_end.min(self.text.len());
            }
        }
    }

    /// A string may run over lines, as in Ninf-G; one whose end is missing must not swallow the
    /// rest of the file.
    fn string(&mut self, problems: &mut Problems) {
        let start = self.at;
        let closed =
            raw::quoted_length(self.rest()).filter(|length| !swallows(&self.rest()[..*length]));
        match closed {
            Some(length) => {
                self.at += length;
                self.push(Kind::Text, start, self.at);
            }
            None => {
                let line = self.rest().lines().next().map_or(1, str::len).max(1);
                problems.add_with_help(
                    Span::new(start, start + line),
                    "this string is not closed",
                    "close it with '\"'; a quote inside a string is written \\\"",
                );
                self.at += line;
                self.push(Kind::Text, start, start + line);
            }
        }
    }

    /// Raw C as one token, with its line marks and macro names taken note of.
    fn body(&mut self, problems: &mut Problems) {
        let start = self.at;
        // Each search for an end that is not there reads the rest of the file.
        let scanned = raw::scan_body(self.text, start, self.open_bodies < OPEN_BODIES_MAX);
        self.open_bodies += usize::from(!scanned.closed);
        for line in &scanned.directives {
            let text = &self.text[line.start as usize..line.end as usize];
            if !self.source.take_mark(line.start as usize, text)
                && let Some(name) = raw::defined_name(text)
            {
                let at = line.start as usize + name.start;
                self.lexed.body_macros.push(Span::new(at, at + name.len()));
            }
        }
        if !scanned.closed {
            problems.add_with_help(
                Span::new(start, start + 1),
                "this '{' has no matching '}'",
                "close the C text with '}'; look for an unclosed quote or comment in it",
            );
        }
        self.at = scanned.end;
        self.push(Kind::Body, start, scanned.end);
    }

    /// An operator or punctuation mark.
    fn symbol(&mut self, first: char, problems: &mut Problems) {
        let start = self.at;
        let rest = self.rest();
        if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
            if symbol == "{" {
                self.brace = Brace::Raw;
            }
            self.at += symbol.len();
            self.push(Kind::Symbol(symbol), start, self.at);
            return;
        }
        // A run of bytes that mean nothing is one mistake.
        let run =
            rest.find(|c: char| c.is_whitespace() || is_word_part(c) || "\"'{}()[],;".contains(c));
        self.at += run.unwrap_or(rest.len()).max(first.len_utf8());
        let span = Span::new(start, self.at);
        if self.text[start..self.at].contains(UNREADABLE) {
            return; // said by check_readable
        }
        let wrong = shown(&self.text[start..self.at]);
        problems.add(span, format!("'{wrong}' has no meaning in an interface file"));
    }
}

/// Whether a string that runs over lines takes in a declaration, which means that its end was
/// forgotten.
fn swallows(text: &str) -> bool {
    const WORDS: [&str; 9] = [
        "Define",
        "Module",
        "DefClass",
        "DefMethod",
        "Globals",
        "Library",
        "Calls",
        "Required",
        "Struct",
    ];
    let word = |line: &str| {
        line.trim_start().split(|c| !is_word_part(c)).next().map(str::to_string).unwrap_or_default()
    };
    text.lines().skip(1).any(|line| WORDS.contains(&word(line).as_str()))
}

fn is_word_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == '$'
}

fn is_word_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}
