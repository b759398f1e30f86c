//! A text that people wrote, with the name of its file: errors point into it.

use crate::Error;

/// A text and where it is from.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// The file, or what else errors name.
    pub file: String,
    /// All of it.
    pub text: String,
}

impl SourceText {
    /// The line and the column of a byte, both from 1; the column in characters.
    pub fn line_and_column(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// An error with its place in the text.
    #[must_use]
    pub fn at(&self, offset: usize, error: Error) -> Error {
        let (line, column) = self.line_and_column(offset);
        error.with("file", &self.file).with("line", line).with("column", column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_and_in_characters() {
        let source = SourceText { file: "f".to_owned(), text: "aé\n\nb".to_owned() };
        assert_eq!(source.line_and_column(0), (1, 1));
        assert_eq!(source.line_and_column(3), (1, 3));
        assert_eq!(source.line_and_column(4), (2, 1));
        assert_eq!(source.line_and_column(5), (3, 1));
        // Inside a character, and beyond the end.
        assert_eq!(source.line_and_column(2), (3, 2));
        assert_eq!(source.line_and_column(99), (3, 2));
    }
}
