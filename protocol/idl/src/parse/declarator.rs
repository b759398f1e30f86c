//! Declarators: a name with its dimensions, in parentheses or behind `*` (spec/idl.md, section
//! 3.3).

use super::Parser;
use super::tree::{Dimension, Expression, Extent, Name};
use crate::canonical::DIMENSIONS_MAX;
use crate::diagnostic::shown;
use crate::evaluate::EXPRESSION_DEPTH_MAX;
use crate::token::Kind;

/// Parentheses and stars around a name.
const NESTING_MAX: usize = 32;

impl Parser<'_, '_> {
    /// `name`, `(declarator)`, `*declarator`, `declarator[…]`.
    pub(super) fn declarator(&mut self, depth: usize) -> Option<(Name, Vec<Dimension>)> {
        if depth > NESTING_MAX {
            self.problems.add(
                self.peek().span,
                format!("more than {NESTING_MAX} parentheses and stars around a name"),
            );
            return None;
        }
        if self.at_symbol("*") {
            return self.pointer(depth);
        }
        let (name, mut dimensions) = if self.eat("(") {
            let inner = self.declarator(depth + 1)?;
            if !self.close(")", "to close this parenthesis") {
                return None;
            }
            inner
        } else {
            (self.name("the parameter's name")?, Vec::new())
        };
        while self.at_symbol("[") {
            dimensions.push(self.dimension());
        }
        self.bound_dimensions(&name, &mut dimensions);
        Some((name, dimensions))
    }

    fn bound_dimensions(&mut self, name: &Name, dimensions: &mut Vec<Dimension>) {
        if dimensions.len() > DIMENSIONS_MAX {
            self.problems
                .add(name.span, format!("an array has at most {DIMENSIONS_MAX} dimensions"));
            dimensions.truncate(DIMENSIONS_MAX);
        }
    }

    /// `*name` is an array of one element. A pointer to an array would be an array of pointers,
    /// which cannot travel; to the references, a star is one more dimension of one element.
    fn pointer(&mut self, depth: usize) -> Option<(Name, Vec<Dimension>)> {
        let star = self.advance().span;
        let (name, mut dimensions) = self.declarator(depth + 1)?;
        if dimensions.is_empty() {
            dimensions.push(Dimension::Pointer);
        } else if self.dialect.is_old() {
            let words = format!("'{}' is an array of elements, not of pointers", shown(&name.text));
            self.problems.warn(star, words);
            dimensions.push(Dimension::Pointer);
            self.bound_dimensions(&name, &mut dimensions);
        } else {
            self.problems.add_with_help(
                star,
                "an array of pointers cannot be passed",
                format!("write '{}[…][…]' with the sizes of both dimensions", name.text),
            );
        }
        Some((name, dimensions))
    }

    /// One `[…]`; after a mistake, everything to its `]` is skipped and the dimension counts as
    /// broken.
    pub(super) fn dimension(&mut self) -> Dimension {
        let first = self.at;
        let open = self.advance().span;
        if self.eat("]") {
            return Dimension::Empty(open.to(self.previous()));
        }
        self.groups_as_before = self.dialect.is_old();
        let sized = self.sized();
        self.groups_as_before = false;
        if let Some(dimension) = sized {
            return dimension;
        }
        // From its begin, because the parentheses that are open where the mistake was found are not
        // known there.
        self.at = first + 1;
        self.skip_to_bracket();
        Dimension::Broken
    }

    /// What stands between `[` and `]`: a size, perhaps with a range.
    fn sized(&mut self) -> Option<Dimension> {
        if self.at_symbol(":") {
            let help = "write the size before ':', as in '[lda : n]'";
            self.problems.add_with_help(
                self.peek().span,
                "the size of this dimension is missing",
                help,
            );
            return None;
        }
        let size = self.expression()?;
        let mut start = None;
        let mut end = None;
        let mut stride = None;
        if self.eat(":") {
            // One value is the end; this is what the reference compiler does and what files mean.
            end = Some(self.expression()?);
            if self.eat(",") {
                start = end.replace(self.expression()?);
                if self.eat(",") {
                    stride = Some(self.expression()?);
                }
            }
        }
        if !self.close("]", "after the dimension") || !self.has_room_for_zero(&size, end.as_ref()) {
            return None;
        }
        Some(Dimension::Sized(Box::new(Extent { size, start, end, stride })))
    }

    /// An end of 0 is the whole size in old files: `end == 0 ? size : end`.
    fn has_room_for_zero(&mut self, size: &Expression, end: Option<&Expression>) -> bool {
        let Some(end) = end.filter(|_| self.dialect.is_old()) else { return true };
        let height = (end.height + 2).max(size.height + 1);
        let fits = usize::from(height) <= EXPRESSION_DEPTH_MAX;
        if !fits {
            self.too_deep(end.span);
        }
        fits
    }

    /// Skips to behind the `]` that closes the dimension, or to what cannot be inside one.
    fn skip_to_bracket(&mut self) {
        let mut open: Vec<&str> = Vec::new();
        while !self.at_end() && !self.at_declaration() {
            match self.peek().kind {
                Kind::Symbol(";") | Kind::Body => return,
                Kind::Symbol(symbol @ ("[" | "(")) => open.push(symbol),
                Kind::Symbol("]") => match open.iter().rposition(|symbol| *symbol == "[") {
                    Some(inner) => open.truncate(inner),
                    None => {
                        self.advance();
                        return;
                    }
                },
                Kind::Symbol(")") if open.is_empty() => return,
                Kind::Symbol(")") if open.last() == Some(&"(") => drop(open.pop()),
                // A mode word begins the next parameter: the bracket was never closed.
                Kind::Word if crate::words::mode(self.word()).is_some() => {
                    return self.step_back_to_comma();
                }
                _ => {}
            }
            self.advance();
        }
    }

    /// The comma in front of a parameter belongs to the list, not to the broken dimension before
    /// it.
    fn step_back_to_comma(&mut self) {
        if self.at > 0 && self.tokens[self.at - 1].kind == Kind::Symbol(",") {
            self.at -= 1;
        }
    }
}
