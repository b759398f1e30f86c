//! Arrays that are given only under a condition (spec/idl.md, section 3.4): what such a condition
//! may be.

use crate::expression::{BinaryOperator, Expression};
use crate::interface::ElementType;

/// Whether a scalar of this type has a value in the condition.
pub(crate) fn is_number(element: ElementType) -> bool {
    !matches!(element, ElementType::Struct(_) | ElementType::String | ElementType::Filename)
}

/// Whether an array of this type may be left out: memory, and no texts or files.
pub(crate) fn is_memory(element: ElementType) -> bool {
    !matches!(element, ElementType::String | ElementType::Filename)
}

/// Whether it may only be compared.
pub(crate) fn is_complex(element: ElementType) -> bool {
    matches!(element, ElementType::Complex64 | ElementType::Complex128)
}

/// Whether complex numbers stand in a condition only as one whole side of `==` or `!=`.
pub(crate) fn compares_complex_alone(
    condition: &Expression,
    is_complex: &dyn Fn(u16) -> bool,
) -> bool {
    let all =
        |parts: &[&Expression]| parts.iter().all(|part| compares_complex_alone(part, is_complex));
    match condition {
        Expression::Integer(_) | Expression::Real(_) => true,
        Expression::Parameter(index) => !is_complex(*index),
        Expression::Element(index, element) => !is_complex(*index) && all(&[element]),
        Expression::Unary(_, operand) => all(&[operand]),
        Expression::Binary(BinaryOperator::Equal | BinaryOperator::NotEqual, left, right) => {
            let is_alone = |side: &Expression| {
                matches!(side, Expression::Parameter(_)) || compares_complex_alone(side, is_complex)
            };
            is_alone(left) && is_alone(right)
        }
        Expression::Binary(_, left, right) => all(&[left, right]),
        Expression::Select(condition, then, otherwise) => all(&[condition, then, otherwise]),
        Expression::Call(_, arguments) => {
            arguments.iter().all(|argument| compares_complex_alone(argument, is_complex))
        }
    }
}
