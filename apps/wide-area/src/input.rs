//! Errors of inputs that name file, line and column, and the reader of words that knows them.

use std::fmt;

/// What is wrong with an input, where, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The file, or `the command line`.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What was found, what was expected, and the fix.
    pub problem: String,
}

impl fmt::Display for InputError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}:{}: {}", self.file, self.line, self.column, self.problem)
    }
}

impl std::error::Error for InputError {}

/// A word of a text: what stands between white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    /// Its characters.
    pub text: &'a str,
    /// Its line, from 1.
    pub line: usize,
    /// Its first column, from 1.
    pub column: usize,
}

/// A text and the name under which errors speak of it.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file's name as the user wrote it.
    pub file: &'a str,
    /// All of its text.
    pub text: &'a str,
}

impl<'a> Source<'a> {
    /// An error at a place of this source.
    pub fn error(&self, line: usize, column: usize, problem: impl Into<String>) -> InputError {
        InputError { file: self.file.to_string(), line, column, problem: problem.into() }
    }

    /// An error at a word of this source.
    pub fn error_at(&self, word: &Word<'_>, problem: impl Into<String>) -> InputError {
        self.error(word.line, word.column, problem)
    }

    /// An error at a byte of this source; a byte behind the end means the end.
    pub fn error_at_byte(&self, at: usize, problem: impl Into<String>) -> InputError {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let behind = before.rfind('\n').map_or(0, |newline| newline + 1);
        self.error(line, before[behind..].chars().count() + 1, problem)
    }

    /// Refuses a text of more than `bytes_max` bytes.
    pub fn check_size(&self, bytes_max: usize) -> Result<(), InputError> {
        let bytes = self.text.len();
        if bytes <= bytes_max {
            return Ok(());
        }
        let problem =
            format!("the text has {bytes} bytes, {bytes_max} at most; give a smaller input");
        Err(self.error(1, 1, problem))
    }

    /// The words of the text with their places.
    pub fn words(self) -> impl Iterator<Item = Word<'a>> {
        let lines = self.text.lines().enumerate();
        lines.flat_map(|(index, line)| words_of_line(line, index + 1))
    }
}

/// The words of one line, whose number is `line`.
pub fn words_of_line(text: &str, line: usize) -> impl Iterator<Item = Word<'_>> {
    let mut rest = text;
    let mut column = 1;
    std::iter::from_fn(move || {
        let skipped = rest.chars().take_while(|c| c.is_whitespace()).count();
        rest = rest.trim_start();
        column += skipped;
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let word = Word { text: &rest[..end], line, column };
        column += word.text.chars().count();
        rest = &rest[end..];
        (!word.text.is_empty()).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_their_places() {
        let source = Source { file: "f", text: " ab  ü x\n\ty" };
        let places: Vec<_> =
            source.words().map(|word| (word.text, word.line, word.column)).collect();
        assert_eq!(places, [("ab", 1, 2), ("ü", 1, 6), ("x", 1, 8), ("y", 2, 2)]);
    }

    #[test]
    fn an_error_at_a_byte_counts_characters() {
        let source = Source { file: "f", text: "ü\nüx" };
        let error = source.error_at_byte(5, "odd");
        assert_eq!(error.to_string(), "f:2:2: odd");
    }
}
