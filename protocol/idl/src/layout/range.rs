//! Words a range that does not fit its dimension: which value is too small or too large, and what
//! would do.

use farcall_base::{Error, ErrorKind};

use super::OPERATION;
use crate::evaluate::Values;
use crate::expression::Expression;
use crate::fault::enumerated;
use crate::infer::is_only_leading;
use crate::interface::{Dimension, Mode, Parameter};
use crate::scope::Scope;
use crate::text::short_text;

/// A dimension of which `0 <= start <= end <= size` or `stride >= 1` does not hold.
pub(super) struct Refused<'a> {
    pub scope: Scope<'a>,
    pub values: &'a dyn Values,
    pub parameter: &'a Parameter,
    pub dimension: &'a Dimension,
}

impl Refused<'_> {
    /// "lda = 1 is less than n = 2 (parameter: a[lda:n][n]); omit it, or pass at least 2".
    pub(super) fn error(&self, [start, end, stride]: [i64; 3], size: u64) -> Error {
        let (message, fix) = if stride < 1 {
            (format!("{} is less than 1", self.stride(stride)), self.larger_stride())
        } else if start < 0 {
            (
                format!("{} is negative", self.start(start)),
                "a range begins at 0 or later".to_owned(),
            )
        } else if start > end {
            let message = format!("{} is less than {}", self.end(end), self.start(start));
            (message, "pass values for which the range ends after its start".to_owned())
        } else {
            (format!("{} is less than {}", self.size(size), self.end(end)), self.larger(end))
        };
        let declared = self.scope.declaration(self.parameter);
        Error::new(ErrorKind::InvalidArgument, OPERATION, message)
            .with("parameter", declared)
            .fix(fix)
    }

    fn size(&self, size: u64) -> String {
        self.term(Some(&self.dimension.size), ("the size", ""), &size.to_string())
    }

    fn start(&self, start: i64) -> String {
        self.term(self.dimension.start.as_ref(), ("the start", "the range of "), &start.to_string())
    }

    fn end(&self, end: i64) -> String {
        self.term(self.dimension.end.as_ref(), ("the end", "the range of "), &end.to_string())
    }

    fn stride(&self, stride: i64) -> String {
        self.term(
            self.dimension.stride.as_ref(),
            ("the stride", "the range of "),
            &stride.to_string(),
        )
    }

    /// `n = 2`, `n + 1 = 3 (with n = 2)`, or in words where the expression is long.
    fn term(
        &self,
        expression: Option<&Expression>,
        (what, part): (&str, &str),
        value: &str,
    ) -> String {
        let of = format!("{what} {value} of {part}{}", self.parameter.name);
        match expression {
            None | Some(Expression::Integer(_)) => of,
            Some(expression) => {
                let from = match expression {
                    Expression::Parameter(_) => String::new(),
                    _ => format!(" (with {})", enumerated(expression, self.values, &self.scope)),
                };
                match short_text(expression, &self.scope) {
                    Some(text) => format!("{text} = {value}{from}"),
                    None => of + &from,
                }
            }
        }
    }

    /// What to do about a size that is less than `end`.
    fn larger(&self, end: i64) -> String {
        let Expression::Parameter(index) = self.dimension.size else {
            return format!(
                "pass values that make the size of {} {end} or more",
                self.parameter.name
            );
        };
        let index = usize::from(index);
        let passed = self.scope.parameters.get(index).is_some_and(|size| size.mode != Mode::Work);
        match (passed, is_only_leading(self.scope, index)) {
            (true, true) => format!("omit it, or pass at least {end}"),
            (true, false) => format!("pass at least {end}"),
            (false, _) => "the interface is wrong: its value is too small".to_owned(),
        }
    }

    fn larger_stride(&self) -> String {
        match &self.dimension.stride {
            Some(Expression::Parameter(index)) => {
                format!("pass 1 or more for {}", self.scope.name(*index))
            }
            _ => "pass values that give a stride of 1 or more".to_owned(),
        }
    }
}
