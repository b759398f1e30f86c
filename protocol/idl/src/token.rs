//! Tokens of the interface language (spec/idl.md, section 2).

use crate::source::Span;

/// What a token is. Its text is the span's; strings and numbers are decoded when they are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name or a word of the language; which of them, the parser decides by position.
    Word,
    /// An integer constant: decimal, `0x…`, or octal with a leading `0`.
    Integer,
    /// A constant with a point or an exponent.
    Real,
    /// `'c'`.
    Character,
    /// `"…"`.
    Text,
    /// Raw C with its braces.
    Body,
    /// An operator or punctuation.
    Symbol(&'static str),
    /// The end of the file.
    End,
}

/// A token and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it is.
    pub span: Span,
}

/// Every operator and punctuation mark, longest first, so that the first match is the right one.
pub(crate) const SYMBOLS: [&str; 31] = [
    "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "(", ")", "[", "]", "{", "}", ",", ";", ":",
    "=", "+", "-", "*", "/", "%", "^", "<", ">", "!", "&", "|", "~", "?",
];
