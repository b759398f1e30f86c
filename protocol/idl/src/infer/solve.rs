//! Solves an extent for the one scalar in it that is not known.

use crate::evaluate::Values;
use crate::expression::{BinaryOperator, Expression, Function, UnaryOperator};
use crate::infer::Inference;
use crate::interface::Dimension;
use crate::scope::Scope;

/// Two pairs of points at which an extent is tried for linearity: small ones, and ones behind the
/// bend of `max(1, n)`.
const PROBES: [i64; 2] = [1, 1000];

/// The number of elements that travel along a dimension; `None` where results decide.
pub(crate) fn extent_expression(scope: Scope<'_>, dimension: &Dimension) -> Option<Expression> {
    let ranges = [&dimension.start, &dimension.end, &dimension.stride];
    if ranges.into_iter().flatten().any(|expression| scope.refers_to_result(expression)) {
        return Some(dimension.size.clone());
    }
    let zero = |e: &&Expression| **e != Expression::Integer(0);
    let end = dimension.end.as_ref().filter(zero).unwrap_or(&dimension.size).clone();
    let elements = match dimension.start.as_ref().filter(zero) {
        Some(start) => binary(BinaryOperator::Subtract, end, start.clone()),
        None => end,
    };
    let unit = [Expression::Integer(0), Expression::Integer(1)];
    match dimension.stride.as_ref().filter(|stride| !unit.contains(stride)) {
        // Rounded up: (elements + stride - 1) / stride.
        Some(stride) => {
            let before = binary(BinaryOperator::Subtract, stride.clone(), Expression::Integer(1));
            Some(binary(
                BinaryOperator::Divide,
                binary(BinaryOperator::Add, elements, before),
                stride.clone(),
            ))
        }
        None => Some(elements),
    }
}

fn binary(operator: BinaryOperator, left: Expression, right: Expression) -> Expression {
    Expression::Binary(operator, Box::new(left), Box::new(right))
}

/// The one open scalar of the extent and the value that makes it `elements`; `None` if there are
/// none or several, or if the extent does not determine it.
pub(super) fn solve(
    inference: &Inference<'_>,
    extent: &Expression,
    elements: u64,
) -> Option<(usize, i64)> {
    let mut unknowns = Vec::new();
    collect(inference, extent, &mut unknowns);
    let [unknown] = unknowns.as_slice() else { return None };
    let value = solve_for(&inference.completed(), extent, *unknown, elements)?;
    Some((usize::from(*unknown), value))
}

/// The value of `unknown` that makes `extent` equal `elements`, if the extent is linear in it
/// there.
pub(super) fn solve_for(
    values: &dyn Values,
    extent: &Expression,
    unknown: u16,
    elements: u64,
) -> Option<i64> {
    let target = i64::try_from(elements).ok()?;
    let exact = |line: Line<'_>| {
        let (value, rest) = line.value_below(target)?;
        (rest == 0 && line.at(value) == Some(target)).then_some(value)
    };
    lines(values, extent, unknown).find_map(exact)
}

/// The one open scalar of an extent that is linear in it and never `elements`, with the extents
/// closest to that.
pub(super) fn near_misses(
    inference: &Inference<'_>,
    extent: &Expression,
    elements: u64,
) -> Option<(u16, Vec<u64>)> {
    let mut unknowns = Vec::new();
    collect(inference, extent, &mut unknowns);
    let [unknown] = unknowns.as_slice() else { return None };
    let values = inference.completed();
    let line = lines(&values, extent, *unknown).next()?;
    let (value, _) = line.value_below(i64::try_from(elements).ok()?)?;
    let near = [value, value.checked_add(1)?]
        .into_iter()
        .filter_map(|value| u64::try_from(line.at(value)?).ok());
    let mut near: Vec<u64> = near.collect();
    near.sort_unstable();
    near.dedup();
    Some((*unknown, near))
}

/// An extent as a function of its unknown: a line through two neighbouring points.
struct Line<'a> {
    values: &'a dyn Values,
    extent: &'a Expression,
    unknown: u16,
    point: i64,
    there: i64,
    slope: i64,
}

/// The extent's lines at the points of [`PROBES`]; none if it is not linear in the unknown.
fn lines<'a>(
    values: &'a dyn Values,
    extent: &'a Expression,
    unknown: u16,
) -> impl Iterator<Item = Line<'a>> {
    let points = if is_linear(extent, unknown) { PROBES.as_slice() } else { &[] };
    points.iter().filter_map(move |point| {
        let line = Line { values, extent, unknown, point: *point, there: 0, slope: 0 };
        let there = line.at(*point)?;
        let next = line.at(point + 1)?;
        let slope = next.checked_sub(there).filter(|slope| *slope != 0)?;
        Some(Line { there, slope, ..line })
    })
}

impl Line<'_> {
    fn at(&self, value: i64) -> Option<i64> {
        self.extent.try_integer(&Assumed { values: self.values, unknown: self.unknown, value }).ok()
    }

    /// The value at which the line is at most one step before `target`, and by how much.
    fn value_below(&self, target: i64) -> Option<(i64, i64)> {
        let distance = target.checked_sub(self.there)?;
        let steps = distance.checked_div_euclid(self.slope)?;
        Some((self.point.checked_add(steps)?, distance.checked_rem_euclid(self.slope)?))
    }
}

/// Whether the unknown occurs only where it can be solved for: in sums, differences, products,
/// branches of `?:`, beside constants in `min` and `max`, and in quotients that have no rest.
/// `abs(incx)` hides the sign, `n / 2` the last bit: such values are never guessed.
pub(crate) fn is_linear(expression: &Expression, unknown: u16) -> bool {
    let absent = |e: &Expression| !e.refers_to(&mut |index| index == unknown);
    let constant = |e: &Expression| matches!(e, Expression::Integer(_));
    match expression {
        Expression::Integer(_) | Expression::Real(_) | Expression::Parameter(_) => true,
        Expression::Unary(UnaryOperator::Negate, operand) => is_linear(operand, unknown),
        Expression::Binary(BinaryOperator::Add | BinaryOperator::Subtract, left, right) => {
            is_linear(left, unknown) && is_linear(right, unknown)
        }
        Expression::Binary(BinaryOperator::Multiply, left, right) => {
            (absent(left) || absent(right)) && is_linear(left, unknown) && is_linear(right, unknown)
        }
        Expression::Binary(BinaryOperator::Divide, dividend, divisor) if !absent(dividend) => {
            absent(divisor)
                && slope(dividend, unknown).is_some_and(|slope| divides(divisor, &slope))
        }
        Expression::Select(condition, then, otherwise) => {
            absent(condition) && is_linear(then, unknown) && is_linear(otherwise, unknown)
        }
        Expression::Call(Function::Min | Function::Max, arguments) if !absent(expression) => {
            arguments.iter().all(|e| constant(e) || is_linear(e, unknown))
                && arguments.iter().filter(|e| !constant(e)).count() == 1
        }
        _ => absent(expression),
    }
}

/// What the unknown is multiplied by in a sum that has it once; `None` for anything else.
fn slope(expression: &Expression, unknown: u16) -> Option<Expression> {
    let absent = |e: &Expression| !e.refers_to(&mut |index| index == unknown);
    match expression {
        Expression::Parameter(parameter) if *parameter == unknown => Some(Expression::Integer(1)),
        Expression::Binary(BinaryOperator::Add, left, right) if absent(left) => {
            slope(right, unknown)
        }
        Expression::Binary(BinaryOperator::Add | BinaryOperator::Subtract, left, right)
            if absent(right) =>
        {
            slope(left, unknown)
        }
        Expression::Binary(BinaryOperator::Multiply, left, right) => {
            let (factor, sum) = if absent(left) { (left, right) } else { (right, left) };
            let is_one = absent(factor) && slope(sum, unknown)? == Expression::Integer(1);
            is_one.then(|| (**factor).clone())
        }
        _ => None,
    }
}

/// Whether a divisor goes into a slope without a rest: it is the slope, a part of that, or the
/// larger of it and 1, as strides are that must not be 0.
fn divides(divisor: &Expression, slope: &Expression) -> bool {
    match (divisor, slope) {
        (Expression::Integer(divisor), Expression::Integer(slope)) => {
            slope.checked_rem(*divisor) == Some(0)
        }
        (Expression::Call(Function::Max, arguments), _) if divisor != slope => {
            match arguments.as_slice() {
                [Expression::Integer(1), one] | [one, Expression::Integer(1)] => one == slope,
                _ => false,
            }
        }
        _ => divisor == slope,
    }
}

/// One parameter's value replaced by an assumption.
struct Assumed<'a> {
    values: &'a dyn Values,
    unknown: u16,
    value: i64,
}

impl Values for Assumed<'_> {
    fn integer(&self, parameter: u16, element: u64) -> Option<i64> {
        if parameter == self.unknown {
            Some(self.value)
        } else {
            self.values.integer(parameter, element)
        }
    }

    fn real(&self, parameter: u16, element: u64) -> Option<f64> {
        self.values.real(parameter, element)
    }

    fn length(&self, parameter: u16) -> Option<u64> {
        self.values.length(parameter)
    }
}

/// The parameters without a value that decide the expression. Where a condition is known, only its
/// branch counts.
pub(super) fn collect(inference: &Inference<'_>, expression: &Expression, unknowns: &mut Vec<u16>) {
    let mut add = |parameter: u16| {
        if !unknowns.contains(&parameter) {
            unknowns.push(parameter);
        }
    };
    match expression {
        Expression::Integer(_) | Expression::Real(_) => {}
        Expression::Parameter(parameter) => {
            if inference.completed().integer(*parameter, 0).is_none() {
                add(*parameter);
            }
        }
        Expression::Element(parameter, element) => {
            if expression.try_integer(&inference.completed()).is_err() {
                add(*parameter);
            }
            collect(inference, element, unknowns);
        }
        Expression::Unary(_, operand) => collect(inference, operand, unknowns),
        Expression::Binary(_, left, right) => {
            collect(inference, left, unknowns);
            collect(inference, right, unknowns);
        }
        Expression::Select(condition, then, otherwise) => {
            match condition.try_integer(&inference.completed()) {
                Ok(0) => collect(inference, otherwise, unknowns),
                Ok(_) => collect(inference, then, unknowns),
                Err(_) => {
                    [condition, then, otherwise]
                        .into_iter()
                        .for_each(|e| collect(inference, e, unknowns));
                }
            }
        }
        Expression::Call(_, arguments) => {
            arguments.iter().for_each(|e| collect(inference, e, unknowns))
        }
    }
}
