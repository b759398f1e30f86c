//! Expressions as IDL text, for people and for error messages. The text parses back to the same
//! expression.

use std::fmt::Write as _;

use crate::expression::{BinaryOperator, Expression, UnaryOperator};
use crate::interface::{Dimension, ElementType, Interface, Parameter, Shape};
use crate::scope::Scope;

impl Interface {
    /// The expression as IDL text with the names of this interface's parameters: `max(1, 2 * n)`.
    pub fn expression_text(&self, expression: &Expression) -> String {
        self.scope().expression_text(expression)
    }
}

impl Scope<'_> {
    /// The expression as IDL text with the names of this scope's parameters.
    pub fn expression_text(self, expression: &Expression) -> String {
        expression_text(expression, &self)
    }
}

/// Where the text of an expression gets its names from.
pub(crate) trait Names {
    /// Name of a parameter, if it has one.
    fn name_of(&self, parameter: u16) -> Option<&str>;
    /// Whether the parameter's elements are characters, so that constants compared with it read as
    /// `'N'`.
    fn is_character(&self, parameter: u16) -> bool;
}

impl Names for Scope<'_> {
    fn name_of(&self, parameter: u16) -> Option<&str> {
        self.parameter(parameter).map(|p| p.name.as_str())
    }

    fn is_character(&self, parameter: u16) -> bool {
        self.parameter(parameter).is_some_and(|p| p.element == ElementType::Char)
    }
}

/// Longer expressions explain nothing inside a sentence.
const SHORT: usize = 24;

/// The expression as text where that is short enough to be read inside a sentence.
pub(crate) fn short_text(expression: &Expression, names: &dyn Names) -> Option<String> {
    Some(expression_text(expression, names)).filter(|text| text.chars().count() <= SHORT)
}

/// The expression as text.
pub(crate) fn expression_text(expression: &Expression, names: &dyn Names) -> String {
    let mut text = String::new();
    write(&mut text, expression, names);
    text
}

/// How tightly an expression's outermost part binds; what binds less tightly than its place allows
/// gets parentheses.
///
/// `&`, shifts and comparisons inside anything but `&&`, `||` and `?:` get parentheses even where
/// the grammar needs none: their places in C's order of precedence surprise too many readers.
fn binding(expression: &Expression) -> u8 {
    match expression {
        Expression::Select(..) => 0,
        Expression::Binary(operator, ..) => operator.binding(),
        Expression::Unary(..) => 7,
        Expression::Integer(value) if *value < 0 => 7,
        Expression::Real(value) if value.is_sign_negative() => 7,
        _ => 9,
    }
}

impl BinaryOperator {
    fn binding(self) -> u8 {
        match self {
            BinaryOperator::Or => 1,
            BinaryOperator::And => 2,
            BinaryOperator::Less
            | BinaryOperator::LessEqual
            | BinaryOperator::Greater
            | BinaryOperator::GreaterEqual
            | BinaryOperator::Equal
            | BinaryOperator::NotEqual
            | BinaryOperator::ShiftLeft
            | BinaryOperator::ShiftRight
            | BinaryOperator::BitAnd => 3,
            BinaryOperator::Add | BinaryOperator::Subtract => 5,
            BinaryOperator::Multiply | BinaryOperator::Divide | BinaryOperator::Remainder => 6,
            BinaryOperator::Power => 8,
        }
    }

    /// What the left and the right operand must at least bind with to stand without parentheses.
    fn operand_bindings(self) -> (u8, u8) {
        match self {
            BinaryOperator::Power => (9, 8),
            // Arithmetic may stand beside a comparison, shift or `&`; another of these may not.
            _ if self.binding() == 3 => (5, 5),
            _ => (self.binding(), self.binding() + 1),
        }
    }

    /// The operator in the IDL.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOperator::Add => "+",
            BinaryOperator::Subtract => "-",
            BinaryOperator::Multiply => "*",
            BinaryOperator::Divide => "/",
            BinaryOperator::Remainder => "%",
            BinaryOperator::Power => "^",
            BinaryOperator::Less => "<",
            BinaryOperator::LessEqual => "<=",
            BinaryOperator::Greater => ">",
            BinaryOperator::GreaterEqual => ">=",
            BinaryOperator::Equal => "==",
            BinaryOperator::NotEqual => "!=",
            BinaryOperator::And => "&&",
            BinaryOperator::Or => "||",
            BinaryOperator::ShiftLeft => "<<",
            BinaryOperator::ShiftRight => ">>",
            BinaryOperator::BitAnd => "&",
        }
    }
}

fn write(text: &mut String, expression: &Expression, names: &dyn Names) {
    match expression {
        Expression::Integer(value) => write_integer(text, *value),
        Expression::Real(value) => {
            let _ = write!(text, "{value:?}");
        }
        Expression::Parameter(index) => write_name(text, *index, names),
        Expression::Element(index, element) => {
            write_name(text, *index, names);
            text.push('[');
            write(text, element, names);
            text.push(']');
        }
        Expression::Unary(operator, operand) => {
            text.push(if *operator == UnaryOperator::Negate { '-' } else { '!' });
            write_operand(text, operand, 8, names);
        }
        Expression::Binary(operator, left, right) => {
            write_binary(text, *operator, left, right, names)
        }
        Expression::Select(condition, then, otherwise) => {
            write_operand(text, condition, 1, names);
            text.push_str(" ? ");
            write_operand(text, then, 1, names);
            text.push_str(" : ");
            write_operand(text, otherwise, 1, names);
        }
        Expression::Call(function, arguments) => {
            text.push_str(function.name());
            write_list(text, arguments, names);
        }
    }
}

fn write_list(text: &mut String, arguments: &[Expression], names: &dyn Names) {
    text.push('(');
    for (index, argument) in arguments.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        write(text, argument, names);
    }
    text.push(')');
}

fn write_operand(text: &mut String, operand: &Expression, least: u8, names: &dyn Names) {
    let parentheses = binding(operand) < least;
    text.push_str(if parentheses { "(" } else { "" });
    write(text, operand, names);
    text.push_str(if parentheses { ")" } else { "" });
}

fn write_binary(
    text: &mut String,
    operator: BinaryOperator,
    left: &Expression,
    right: &Expression,
    names: &dyn Names,
) {
    let compares = matches!(operator, BinaryOperator::Equal | BinaryOperator::NotEqual);
    let (left_least, right_least) = operator.operand_bindings();
    match left {
        Expression::Integer(code) if compares && is_character(right, names) => {
            write_character(text, *code)
        }
        _ => write_operand(text, left, left_least, names),
    }
    let _ = write!(text, " {} ", operator.symbol());
    match right {
        Expression::Integer(code) if compares && is_character(left, names) => {
            write_character(text, *code)
        }
        _ => write_operand(text, right, right_least, names),
    }
}

/// A character, or one behind a mask: `(trans & 95)` is the upper case of a letter.
fn is_character(expression: &Expression, names: &dyn Names) -> bool {
    match expression {
        Expression::Binary(BinaryOperator::BitAnd, left, right) => {
            is_character(left, names) && matches!(**right, Expression::Integer(_))
        }
        Expression::Parameter(index) | Expression::Element(index, _) => names.is_character(*index),
        _ => false,
    }
}

/// A character constant where the code is a visible character that needs no escape; else the
/// number.
pub(crate) fn write_character(text: &mut String, code: i64) {
    match u8::try_from(code).map(char::from) {
        Ok(character)
            if (character.is_ascii_graphic() || character == ' ')
                && !matches!(character, '\'' | '\\') =>
        {
            let _ = write!(text, "'{character}'");
        }
        _ => write_integer(text, code),
    }
}

fn write_integer(text: &mut String, value: i64) {
    // The smallest integer has no positive counterpart that a parser could read first and negate
    // then.
    let _ = match value {
        i64::MIN => write!(text, "({} - 1)", i64::MIN + 1),
        _ => write!(text, "{value}"),
    };
}

fn write_name(text: &mut String, index: u16, names: &dyn Names) {
    let _ = match names.name_of(index) {
        Some(name) => write!(text, "{name}"),
        None => write!(text, "parameter {index}"),
    };
}

impl Scope<'_> {
    /// One dimension as IDL text: `[lda:n]`.
    pub fn dimension_text(self, dimension: &Dimension) -> String {
        let mut text = String::from("[");
        write(&mut text, &dimension.size, &self);
        let mut part = |separator: &str, expression: &Expression| {
            text.push_str(separator);
            // A bare `?:` would swallow the range's own punctuation in a reader's eye.
            write_operand(&mut text, expression, 1, &self);
        };
        match (&dimension.start, &dimension.end, &dimension.stride) {
            (None, None, None) => {}
            (None, Some(end), None) => part(":", end),
            (start, end, stride) => {
                let zero = Expression::Integer(0);
                part(":", start.as_ref().unwrap_or(&zero));
                part(", ", end.as_ref().unwrap_or(&zero));
                stride.iter().for_each(|stride| part(", ", stride));
            }
        }
        text.push(']');
        text
    }

    /// An element type as the IDL spells it; a struct by its name.
    pub fn element_text(self, element: ElementType) -> String {
        match element {
            ElementType::Struct(index) => {
                self.structs.get(usize::from(index)).map_or("struct", |s| &s.name).to_owned()
            }
            _ => element.name().to_owned(),
        }
    }

    /// A parameter with its dimensions, `a[lda:n][n]`; by its name alone where these are too long
    /// to be read.
    pub(crate) fn declaration(self, parameter: &Parameter) -> String {
        let dimensions = self.dimensions_text(parameter);
        let short = dimensions.chars().count() <= 2 * SHORT;
        format!("{}{}", parameter.name, if short { dimensions.as_str() } else { "" })
    }

    /// All dimensions of a parameter as IDL text: `[lda:n][n]`; empty for what is not an array.
    pub fn dimensions_text(self, parameter: &Parameter) -> String {
        match &parameter.shape {
            Shape::Array { dimensions, .. } => {
                dimensions.iter().map(|d| self.dimension_text(d)).collect()
            }
            Shape::Scalar | Shape::Callback { .. } => String::new(),
        }
    }
}
