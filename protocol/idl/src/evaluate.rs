//! Evaluates size expressions: 64-bit integers with every step checked, or real numbers for
//! complexity.
//!
//! Client, server and executable run this same code. A failure is first a small [`Fault`], which
//! costs nothing to make; only when it becomes an [`Error`] are names and values formatted.

use farcall_base::Result;

use crate::expression::{BinaryOperator, Expression, Function, UnaryOperator};
use crate::fault::ValueNames;

/// Expressions nest at most this deep; the parser and the decoder refuse deeper ones.
pub const EXPRESSION_DEPTH_MAX: usize = 64;

/// Values of the parameters that expressions refer to.
pub trait Values {
    /// Element `element` of an integer or character parameter; a scalar has element 0. `None` if it
    /// is not known (yet), is not an integer, lies outside the array or does not fit 64 bits with
    /// sign.
    fn integer(&self, parameter: u16, element: u64) -> Option<i64>;

    /// Element `element` of a parameter as a real number; integers convert.
    fn real(&self, parameter: u16, element: u64) -> Option<f64>;

    /// The same with an imaginary part, which is 0 but of complex numbers.
    fn complex(&self, parameter: u16, element: u64) -> Option<(f64, f64)> {
        Some((self.real(parameter, element)?, 0.0))
    }

    /// Bytes of a string parameter, without its NUL.
    fn length(&self, parameter: u16) -> Option<u64>;

    /// Name of a parameter, for error messages.
    fn name(&self, parameter: u16) -> Option<&str> {
        let _ = parameter;
        None
    }
}

/// Why an expression has no value, and which part of it is to blame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault<'e> {
    pub reason: Reason,
    pub at: &'e Expression,
}

/// The closed set of reasons.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reason {
    Overflow,
    DivisionByZero,
    NegativePower,
    Shift,
    /// The parameter has no value here.
    Unknown(u16),
    /// The element has no value here: outside the array, most likely.
    UnknownElement(u16, i64),
    NotWhole,
    NotFinite,
    TooDeep,
    Arguments,
}

type Outcome<'e, T> = std::result::Result<T, Fault<'e>>;

fn fault<T>(at: &Expression, reason: Reason) -> Outcome<'_, T> {
    Err(Fault { reason, at })
}

impl Expression {
    /// The expression's value as an integer. Every step is checked: overflow of 64 bits, division
    /// by zero, negative powers, shifts outside 0..=62, unknown values. `&&`, `||` and `?:`
    /// evaluate only what decides.
    ///
    /// # Errors
    /// `InvalidArgument` that names the guilty part and the values it was computed from.
    pub fn evaluate_integer(&self, values: &dyn Values) -> Result<i64> {
        self.try_integer(values)
            .map_err(|fault| fault.into_error("evaluate", values, &ValueNames(values)))
    }

    /// The expression's value as a real number: `/` does not round, comparisons give 0 or 1.
    ///
    /// # Errors
    /// `InvalidArgument` as above, and where the result is infinite or not a number.
    pub fn evaluate_real(&self, values: &dyn Values) -> Result<f64> {
        self.try_real(values)
            .map_err(|fault| fault.into_error("evaluate", values, &ValueNames(values)))
    }

    /// `evaluate_integer` without the cost of an error's text.
    pub(crate) fn try_integer<'e>(&'e self, values: &dyn Values) -> Outcome<'e, i64> {
        // The two most frequent forms, kept off the general path: a small call evaluates a handful
        // of these.
        match self {
            Expression::Integer(value) => Ok(*value),
            _ => integer(self, values, 0),
        }
    }

    /// `evaluate_real` without the cost of an error's text.
    pub(crate) fn try_real<'e>(&'e self, values: &dyn Values) -> Outcome<'e, f64> {
        let value = real(self, values, 0)?;
        if value.is_finite() { Ok(value) } else { fault(self, Reason::NotFinite) }
    }

    /// Whether the expression, as a real number, is anything but 0. It may compare complex numbers.
    pub(crate) fn try_holds<'e>(&'e self, values: &dyn Values) -> Outcome<'e, bool> {
        Ok(real(self, values, 0)? != 0.0)
    }
}

fn integer<'e>(e: &'e Expression, values: &dyn Values, depth: usize) -> Outcome<'e, i64> {
    if depth >= EXPRESSION_DEPTH_MAX {
        return fault(e, Reason::TooDeep);
    }
    match e {
        Expression::Integer(value) => Ok(*value),
        Expression::Real(_) => fault(e, Reason::NotWhole),
        Expression::Parameter(index) => {
            values.integer(*index, 0).map_or_else(|| fault(e, Reason::Unknown(*index)), Ok)
        }
        Expression::Element(index, element) => {
            let element = integer(element, values, depth + 1)?;
            let value =
                u64::try_from(element).ok().and_then(|element| values.integer(*index, element));
            value.map_or_else(|| fault(e, Reason::UnknownElement(*index, element)), Ok)
        }
        Expression::Unary(UnaryOperator::Not, operand) => {
            Ok(i64::from(integer(operand, values, depth + 1)? == 0))
        }
        Expression::Unary(UnaryOperator::Negate, operand) => integer(operand, values, depth + 1)?
            .checked_neg()
            .map_or_else(|| fault(e, Reason::Overflow), Ok),
        Expression::Binary(BinaryOperator::And, left, right) => Ok(i64::from(
            integer(left, values, depth + 1)? != 0 && integer(right, values, depth + 1)? != 0,
        )),
        Expression::Binary(BinaryOperator::Or, left, right) => Ok(i64::from(
            integer(left, values, depth + 1)? != 0 || integer(right, values, depth + 1)? != 0,
        )),
        Expression::Binary(operator, left, right) => {
            let left = integer(left, values, depth + 1)?;
            let right = integer(right, values, depth + 1)?;
            integer_binary(*operator, left, right).map_err(|reason| Fault { reason, at: e })
        }
        Expression::Select(condition, then, otherwise) => {
            let chosen = if integer(condition, values, depth + 1)? != 0 { then } else { otherwise };
            integer(chosen, values, depth + 1)
        }
        Expression::Call(function, arguments) => {
            integer_call(e, *function, arguments, values, depth + 1)
        }
    }
}

fn integer_binary(
    operator: BinaryOperator,
    left: i64,
    right: i64,
) -> std::result::Result<i64, Reason> {
    let value = match operator {
        BinaryOperator::Add => left.checked_add(right),
        BinaryOperator::Subtract => left.checked_sub(right),
        BinaryOperator::Multiply => left.checked_mul(right),
        BinaryOperator::Divide | BinaryOperator::Remainder if right == 0 => {
            return Err(Reason::DivisionByZero);
        }
        BinaryOperator::Divide => left.checked_div(right),
        BinaryOperator::Remainder => left.checked_rem(right),
        BinaryOperator::Power => return power(left, right),
        BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight if !(0..=62).contains(&right) => {
            return Err(Reason::Shift);
        }
        // A shift to the left is a multiplication, so that lost bits are an overflow.
        BinaryOperator::ShiftLeft => left.checked_mul(1 << right),
        BinaryOperator::ShiftRight => Some(left >> right),
        BinaryOperator::BitAnd => Some(left & right),
        BinaryOperator::And => Some(i64::from(left != 0 && right != 0)),
        BinaryOperator::Or => Some(i64::from(left != 0 || right != 0)),
        _ => Some(i64::from(compare(operator, left, right))),
    };
    value.ok_or(Reason::Overflow)
}

fn power(base: i64, exponent: i64) -> std::result::Result<i64, Reason> {
    match (base, exponent) {
        (_, ..=-1) => Err(Reason::NegativePower),
        // These have a value for exponents that do not fit 32 bits.
        (0 | 1, 1..) => Ok(base),
        (-1, _) => Ok(if exponent % 2 == 0 { 1 } else { -1 }),
        _ => u32::try_from(exponent)
            .ok()
            .and_then(|exponent| base.checked_pow(exponent))
            .ok_or(Reason::Overflow),
    }
}

fn compare<T: PartialOrd>(operator: BinaryOperator, left: T, right: T) -> bool {
    match operator {
        BinaryOperator::Less => left < right,
        BinaryOperator::LessEqual => left <= right,
        BinaryOperator::Greater => left > right,
        BinaryOperator::GreaterEqual => left >= right,
        BinaryOperator::NotEqual => left != right,
        _ => left == right,
    }
}

fn integer_call<'e>(
    e: &'e Expression,
    function: Function,
    arguments: &'e [Expression],
    values: &dyn Values,
    depth: usize,
) -> Outcome<'e, i64> {
    match (function, arguments) {
        (Function::Min | Function::Max, [first, rest @ ..]) => {
            rest.iter().try_fold(integer(first, values, depth)?, |best, argument| {
                let value = integer(argument, values, depth)?;
                Ok(if function == Function::Min { best.min(value) } else { best.max(value) })
            })
        }
        (Function::Abs, [operand]) => integer(operand, values, depth)?
            .checked_abs()
            .map_or_else(|| fault(e, Reason::Overflow), Ok),
        (Function::Length, [operand]) => length(operand, values),
        (Function::Log | Function::Log2 | Function::Sqrt, [_]) => fault(e, Reason::NotWhole),
        _ => fault(e, Reason::Arguments),
    }
}

fn length<'e>(operand: &'e Expression, values: &dyn Values) -> Outcome<'e, i64> {
    let Expression::Parameter(index) = operand else { return fault(operand, Reason::Arguments) };
    let length = values.length(*index).and_then(|length| i64::try_from(length).ok());
    length.map_or_else(|| fault(operand, Reason::Unknown(*index)), Ok)
}

fn real<'e>(e: &'e Expression, values: &dyn Values, depth: usize) -> Outcome<'e, f64> {
    if depth >= EXPRESSION_DEPTH_MAX {
        return fault(e, Reason::TooDeep);
    }
    let truth = |value: bool| if value { 1.0 } else { 0.0 };
    match e {
        Expression::Integer(value) => Ok(*value as f64),
        Expression::Real(value) => Ok(*value),
        Expression::Parameter(index) => {
            values.real(*index, 0).map_or_else(|| fault(e, Reason::Unknown(*index)), Ok)
        }
        Expression::Element(index, element) => {
            let element = integer(element, values, depth + 1)?;
            let value =
                u64::try_from(element).ok().and_then(|element| values.real(*index, element));
            value.map_or_else(|| fault(e, Reason::UnknownElement(*index, element)), Ok)
        }
        Expression::Unary(UnaryOperator::Not, operand) => {
            Ok(truth(real(operand, values, depth + 1)? == 0.0))
        }
        Expression::Unary(UnaryOperator::Negate, operand) => Ok(-real(operand, values, depth + 1)?),
        Expression::Binary(BinaryOperator::And, left, right) => Ok(truth(
            real(left, values, depth + 1)? != 0.0 && real(right, values, depth + 1)? != 0.0,
        )),
        Expression::Binary(BinaryOperator::Or, left, right) => Ok(truth(
            real(left, values, depth + 1)? != 0.0 || real(right, values, depth + 1)? != 0.0,
        )),
        Expression::Binary(
            operator @ (BinaryOperator::Equal | BinaryOperator::NotEqual),
            left,
            right,
        ) => {
            let left = complex(left, values, depth + 1)?;
            let is_equal = left == complex(right, values, depth + 1)?;
            Ok(truth(is_equal == (*operator == BinaryOperator::Equal)))
        }
        Expression::Binary(operator, left, right) => {
            let left = real(left, values, depth + 1)?;
            let right = real(right, values, depth + 1)?;
            real_binary(*operator, left, right).map_err(|reason| Fault { reason, at: e })
        }
        Expression::Select(condition, then, otherwise) => {
            let chosen = if real(condition, values, depth + 1)? != 0.0 { then } else { otherwise };
            real(chosen, values, depth + 1)
        }
        Expression::Call(function, arguments) => {
            real_call(e, *function, arguments, values, depth + 1)
        }
    }
}

/// One side of `==` and `!=`, where a complex number may stand by itself.
fn complex<'e>(e: &'e Expression, values: &dyn Values, depth: usize) -> Outcome<'e, (f64, f64)> {
    match e {
        Expression::Parameter(index) => {
            values.complex(*index, 0).map_or_else(|| fault(e, Reason::Unknown(*index)), Ok)
        }
        _ => Ok((real(e, values, depth)?, 0.0)),
    }
}

fn real_binary(
    operator: BinaryOperator,
    left: f64,
    right: f64,
) -> std::result::Result<f64, Reason> {
    Ok(match operator {
        BinaryOperator::Add => left + right,
        BinaryOperator::Subtract => left - right,
        BinaryOperator::Multiply => left * right,
        BinaryOperator::Divide | BinaryOperator::Remainder if right == 0.0 => {
            return Err(Reason::DivisionByZero);
        }
        BinaryOperator::Divide => left / right,
        BinaryOperator::Remainder => left % right,
        BinaryOperator::Power => left.powf(right),
        BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight | BinaryOperator::BitAnd => {
            // Bits exist in whole numbers only.
            integer_binary(operator, whole(left)?, whole(right)?)? as f64
        }
        _ if compare(operator, left, right) => 1.0,
        _ => 0.0,
    })
}

/// The integer that a real number stands for, if it is one that a double holds exactly.
fn whole(value: f64) -> std::result::Result<i64, Reason> {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    if value.fract() == 0.0 && value.abs() <= EXACT {
        Ok(value as i64)
    } else {
        Err(Reason::NotWhole)
    }
}

fn real_call<'e>(
    e: &'e Expression,
    function: Function,
    arguments: &'e [Expression],
    values: &dyn Values,
    depth: usize,
) -> Outcome<'e, f64> {
    match (function, arguments) {
        (Function::Min | Function::Max, [first, rest @ ..]) => {
            rest.iter().try_fold(real(first, values, depth)?, |best, argument| {
                let value = real(argument, values, depth)?;
                Ok(if function == Function::Min { best.min(value) } else { best.max(value) })
            })
        }
        (Function::Length, [operand]) => Ok(length(operand, values)? as f64),
        (Function::Abs, [operand]) => Ok(real(operand, values, depth)?.abs()),
        (Function::Log, [operand]) => Ok(real(operand, values, depth)?.ln()),
        (Function::Log2, [operand]) => Ok(real(operand, values, depth)?.log2()),
        (Function::Sqrt, [operand]) => Ok(real(operand, values, depth)?.sqrt()),
        _ => fault(e, Reason::Arguments),
    }
}
