//! Tokens with what stands before each: blanks, comments, directives.

use crate::raw;
use crate::token::{Kind, Token};

/// A token and the gap before it.
pub(super) struct Piece<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub gap: Gap<'a>,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// What stands before a token.
#[derive(Default)]
pub(super) struct Gap<'a> {
    pub remarks: Vec<Remark<'a>>,
    /// Line ends behind the last remark.
    pub line_ends: usize,
}

/// A comment, or a line for the preprocessor.
pub(super) struct Remark<'a> {
    pub text: &'a str,
    /// Line ends before it.
    pub line_ends: usize,
}

impl Piece<'_> {
    /// Whether it is this sign.
    pub(super) fn is(&self, symbol: &str) -> bool {
        matches!(self.kind, Kind::Symbol(found) if found == symbol)
    }
}

impl Gap<'_> {
    /// Whether the token stands on another line than the one before.
    pub(super) fn breaks(&self) -> bool {
        self.line_ends > 0
            || self.remarks.iter().any(|remark| remark.line_ends > 0 || !remark.fits_in_line())
    }

    /// Whether an empty line stands in it.
    pub(super) fn has_empty_line(&self) -> bool {
        self.line_ends > 1 || self.remarks.iter().any(|remark| remark.line_ends > 1)
    }
}

impl Remark<'_> {
    /// Whether other words may follow it on its line.
    pub(super) fn fits_in_line(&self) -> bool {
        self.text.starts_with("/*") && !self.text.contains('\n')
    }

    pub(super) fn is_directive(&self) -> bool {
        self.text.starts_with('#')
    }
}

/// All tokens with their gaps; the last piece is the end of the text.
pub(super) fn read<'a>(text: &'a str, tokens: &[Token]) -> Vec<Piece<'a>> {
    let mut behind = text.len() - text.trim_start_matches('\u{feff}').len();
    let piece = |token: &Token| {
        let start = token.span.start as usize;
        let end = token.span.end as usize;
        // The end stands behind the last token, and comments may follow that.
        let gap_end = if token.kind == Kind::End { text.len() } else { start };
        let gap = gap(&text[behind..gap_end]);
        behind = end.max(behind);
        Piece { kind: token.kind, text: &text[start..end], gap, start, end }
    };
    tokens.iter().map(piece).collect()
}

/// Cuts what stands between two tokens.
fn gap(mut text: &str) -> Gap<'_> {
    let mut gap = Gap::default();
    loop {
        let rest = text.trim_start();
        gap.line_ends += text[..text.len() - rest.len()].matches('\n').count();
        if rest.is_empty() {
            return gap;
        }
        let end = match rest.strip_prefix("/*") {
            Some(comment) => comment.find("*/").map_or(rest.len(), |length| length + 4),
            None if rest.starts_with('#') => raw::directive_end(rest, 0),
            None => rest.find('\n').unwrap_or(rest.len()),
        };
        gap.remarks.push(Remark { text: rest[..end].trim_end(), line_ends: gap.line_ends });
        gap.line_ends = 0;
        text = &rest[end..];
    }
}
