//! Expressions by precedence climbing (spec/idl.md, section 5.1).

use super::tree::{Expression, ExpressionKind, Name};
use super::{Parser, constant};
use crate::diagnostic::shown;
use crate::evaluate::EXPRESSION_DEPTH_MAX;
use crate::expression::{BinaryOperator, UnaryOperator};
use crate::source::Span;
use crate::token::Kind;

/// Arguments of `min` and `max`.
const ARGUMENTS_MAX: usize = 64;

/// The level of comparisons, which do not chain.
const COMPARISON: u8 = 5;
/// The level at which the references have power: that of C's exclusive or.
const POWER_BEFORE: u8 = 3;

/// Whether parentheses stand around all of an expression.
fn is_enclosed(text: &str) -> bool {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1 == text.len() && letter == ')';
        }
    }
    false
}

/// A binary operator and its level; a higher one binds tighter. Power stands above all and is read
/// by `power`, but for sizes of old files.
fn operator(symbol: &str) -> Option<(BinaryOperator, u8)> {
    Some(match symbol {
        "||" => (BinaryOperator::Or, 1),
        "&&" => (BinaryOperator::And, 2),
        "&" => (BinaryOperator::BitAnd, 4),
        "<" => (BinaryOperator::Less, COMPARISON),
        "<=" => (BinaryOperator::LessEqual, COMPARISON),
        ">" => (BinaryOperator::Greater, COMPARISON),
        ">=" => (BinaryOperator::GreaterEqual, COMPARISON),
        "==" => (BinaryOperator::Equal, COMPARISON),
        "!=" => (BinaryOperator::NotEqual, COMPARISON),
        "<<" => (BinaryOperator::ShiftLeft, 6),
        ">>" => (BinaryOperator::ShiftRight, 6),
        "+" => (BinaryOperator::Add, 7),
        "-" => (BinaryOperator::Subtract, 7),
        "*" => (BinaryOperator::Multiply, 8),
        "/" => (BinaryOperator::Divide, 8),
        "%" => (BinaryOperator::Remainder, 8),
        _ => return None,
    })
}

impl Parser<'_, '_> {
    /// `condition ? a : b`, or anything that binds tighter.
    pub(super) fn expression(&mut self) -> Option<Expression> {
        self.nested(|parser| {
            let condition = parser.binary(1)?;
            if !parser.at_symbol("?") {
                return Some(condition);
            }
            let mut chosen = parser.select(condition)?;
            while parser.groups_as_before && parser.at_symbol("?") {
                let sign = parser.peek().span;
                parser.problems.warn(
                    sign,
                    "all that stands before this '?' is its condition, as Ninf-G reads it; write \
                     parentheses",
                );
                chosen = parser.select(chosen)?;
            }
            Some(chosen)
        })
    }

    /// `? a : b` behind its condition. What follows the `:` is all of the rest, in old sizes up to
    /// the next `?`.
    fn select(&mut self, condition: Expression) -> Option<Expression> {
        self.advance();
        let then = self.expression()?;
        if !self.close(":", "between the two results of '?'") {
            return None;
        }
        let otherwise = if self.groups_as_before { self.binary(1) } else { self.expression() }?;
        let span = condition.span.to(otherwise.span);
        let height = condition.height.max(then.height).max(otherwise.height) + 1;
        let kind = ExpressionKind::Select(Box::new(condition), Box::new(then), Box::new(otherwise));
        self.build(kind, span, height)
    }

    /// Runs `read` one level deeper; refuses when the text nests too deeply.
    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Option<Expression>) -> Option<Expression> {
        if self.nesting >= EXPRESSION_DEPTH_MAX {
            self.too_deep(self.peek().span);
            return None;
        }
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        result
    }

    /// The limit is that of evaluation and of the encoding, so what compiles can be sent and
    /// evaluated.
    pub(super) fn too_deep(&mut self, span: Span) {
        let message = format!("this expression nests more than {EXPRESSION_DEPTH_MAX} levels deep");
        self.problems.add_with_help(
            span,
            message,
            "compute part of it in a WORK scalar: 'WORK long size = …'",
        );
    }

    /// A node, unless its tree is too high for those who will walk it.
    fn build(&mut self, kind: ExpressionKind, span: Span, height: u16) -> Option<Expression> {
        if usize::from(height) > EXPRESSION_DEPTH_MAX {
            self.too_deep(span);
            return None;
        }
        Some(Expression { kind, span, height })
    }

    /// Operators of level `level_min` and tighter, grouped to the left.
    ///
    /// Climbing over levels needs one function where a grammar has one rule per level, and less
    /// stack.
    fn binary(&mut self, level_min: u8) -> Option<Expression> {
        let mut left = self.unary()?;
        let mut compared = false;
        loop {
            let Kind::Symbol(symbol) = self.peek().kind else { return Some(left) };
            let power = (symbol == "^" && self.groups_as_before)
                .then_some((BinaryOperator::Power, POWER_BEFORE));
            let Some((operator, level)) = power.or_else(|| operator(symbol)) else {
                return self.no_operator(symbol, left);
            };
            if level < level_min {
                return Some(left);
            }
            let sign = self.advance().span;
            let right = self.binary(level + 1)?;
            if level == COMPARISON && compared {
                self.chained(sign);
            }
            if level == POWER_BEFORE {
                self.loose_power(sign, &left, &right);
            }
            compared = level == COMPARISON;
            let span = left.span.to(right.span);
            let height = left.height.max(right.height) + 1;
            left = self.build(
                ExpressionKind::Binary(operator, Box::new(left), Box::new(right)),
                span,
                height,
            )?;
        }
    }

    /// `a < b < c` compares 0 or 1 with `c`, which nobody means.
    fn chained(&mut self, sign: Span) {
        if self.dialect.is_old() {
            let words = "this compares the truth, 0 or 1, of the comparison before it";
            return self.problems.warn(sign, words);
        }
        self.problems.add_with_help(
            sign,
            "comparisons do not chain",
            "write 'a < b && b < c', or parentheses if a truth value is to be compared",
        );
    }

    /// The references' `^` binds looser than `*` and `+`: said where that makes a difference.
    fn loose_power(&mut self, sign: Span, base: &Expression, exponent: &Expression) {
        let is_open = |side: &Expression| {
            matches!(side.kind, ExpressionKind::Binary(..) | ExpressionKind::Unary(..))
                && !is_enclosed(self.source.slice(side.span))
        };
        let negative = matches!(exponent.kind, ExpressionKind::Unary(..));
        if !is_open(base) && (negative || !is_open(exponent)) {
            return;
        }
        let base = shown(self.source.slice(base.span));
        let exponent = shown(self.source.slice(exponent.span));
        let words = format!("this is ({base})^({exponent}), as Ninf-G reads it; write parentheses");
        self.problems.warn(sign, words);
    }

    /// What follows an expression is the business of whoever asked for it, except for C's operators
    /// we lack.
    fn no_operator(&mut self, symbol: &str, left: Expression) -> Option<Expression> {
        let instead = match symbol {
            "|" => "write '||' for \"or\"",
            "~" => "bit inversion is not supported here; compute the value in the caller",
            _ => return Some(left),
        };
        let message = format!("'{symbol}' is not an operator of the interface language");
        self.problems.add_with_help(self.peek().span, message, instead);
        None
    }

    /// `-x`, `!x`, `+x`: looser than power, so that `-n^2` is what it is on paper.
    fn unary(&mut self) -> Option<Expression> {
        let operator = match self.peek().kind {
            Kind::Symbol("-") => Some(UnaryOperator::Negate),
            Kind::Symbol("!") => Some(UnaryOperator::Not),
            Kind::Symbol("+") => None,
            _ => return self.power(),
        };
        let sign = self.advance().span;
        self.nested(|parser| {
            let operand = parser.unary()?;
            let Some(operator) = operator else { return Some(operand) };
            let span = sign.to(operand.span);
            let height = operand.height + 1;
            parser.build(ExpressionKind::Unary(operator, Box::new(operand)), span, height)
        })
    }

    /// `a ^ b`: right associative, and the exponent may have a sign.
    fn power(&mut self) -> Option<Expression> {
        let base = self.primary()?;
        if self.groups_as_before || !self.eat("^") {
            return Some(base);
        }
        self.nested(|parser| {
            let exponent = parser.unary()?;
            let span = base.span.to(exponent.span);
            let height = base.height.max(exponent.height) + 1;
            let kind =
                ExpressionKind::Binary(BinaryOperator::Power, Box::new(base), Box::new(exponent));
            parser.build(kind, span, height)
        })
    }

    /// What needs no operator: constants, names, calls, parentheses, and `*name`.
    fn primary(&mut self) -> Option<Expression> {
        let token = self.peek();
        match token.kind {
            Kind::Integer => {
                self.constant(|text| constant::integer(text).map(ExpressionKind::Integer))
            }
            Kind::Character => {
                self.constant(|text| constant::character(text).map(ExpressionKind::Integer))
            }
            Kind::Real => self.constant(|text| constant::real(text).map(ExpressionKind::Real)),
            Kind::Word => self.name_or_call(),
            Kind::Symbol("(") => self.parenthesised(),
            Kind::Symbol("*") => self.pointee(),
            _ => {
                self.expected("a number, a parameter or '('");
                None
            }
        }
    }

    /// A constant; a wrong one is reported and counts as 1, so that the rest of the expression is
    /// still read.
    fn constant(
        &mut self,
        decode: impl FnOnce(&str) -> Result<ExpressionKind, &'static str>,
    ) -> Option<Expression> {
        let span = self.advance().span;
        match decode(self.text(span)) {
            Ok(kind) => Some(Expression { kind, span, height: 1 }),
            Err(wrong) => {
                self.problems.add(span, format!("this constant {wrong}"));
                // The place of the constant is known, so what surrounds it can still be read.
                Some(Expression { kind: ExpressionKind::Integer(1), span, height: 1 })
            }
        }
    }

    /// `( … )`. Its place takes in the parentheses, so that carets stand under all of it.
    fn parenthesised(&mut self) -> Option<Expression> {
        let open = self.advance().span;
        let mut inner = self.expression()?;
        if !self.close(")", "to close this parenthesis") {
            return None;
        }
        inner.span = open.to(self.previous());
        self.indexes(inner)
    }

    /// `*name` is `name[0]`, as in files that declare `OUT int *n`.
    fn pointee(&mut self) -> Option<Expression> {
        let star = self.advance().span;
        self.nested(|parser| {
            let target = parser.primary()?;
            let span = star.to(target.span);
            let height = target.height + 1;
            parser.build(ExpressionKind::Pointee(Box::new(target)), span, height)
        })
    }

    /// A word before `(` is a function: parameters cannot be called here.
    fn name_or_call(&mut self) -> Option<Expression> {
        let name = self.take_name();
        if self.at_symbol("(") {
            return self.call(name);
        }
        let span = name.span;
        self.indexes(Expression { kind: ExpressionKind::Name(name.text), span, height: 1 })
    }

    /// `a[i]`. Several indexes are read so that the message about them can say what is wrong.
    fn indexes(&mut self, mut array: Expression) -> Option<Expression> {
        while self.eat("[") {
            let index = self.expression()?;
            if !self.close("]", "after the index") {
                return None;
            }
            let span = array.span.to(self.previous());
            let height = array.height.max(index.height) + 1;
            array =
                self.build(ExpressionKind::Index(Box::new(array), Box::new(index)), span, height)?;
        }
        Some(array)
    }

    /// `function(arguments)`. Which functions there are is the checker's business.
    fn call(&mut self, function: Name) -> Option<Expression> {
        self.advance();
        let mut arguments = Vec::new();
        while !self.at_symbol(")") {
            arguments.push(self.expression()?);
            if arguments.len() > ARGUMENTS_MAX {
                self.problems.add(function.span, format!("more than {ARGUMENTS_MAX} arguments"));
                return None;
            }
            if !self.eat(",") {
                break;
            }
        }
        if !self.close(")", "after the arguments") {
            return None;
        }
        let span = function.span.to(self.previous());
        let height = arguments.iter().map(|argument| argument.height).max().unwrap_or(0) + 1;
        self.build(ExpressionKind::Call(function, arguments), span, height)
    }
}
