//! The evaluator: every operator, every failure, and what its errors say.

use crate::fixture::*;
use farcall_idl::evaluate::{EXPRESSION_DEPTH_MAX, Values};
use farcall_idl::expression::{BinaryOperator as B, Expression, Function};

/// Parameters 0 and 1 with these values; 2 is real, 3 a string of 5 bytes, 9 unknown.
struct Two(i64, i64);

impl Values for Two {
    fn integer(&self, parameter: u16, element: u64) -> Option<i64> {
        match (parameter, element) {
            (0, 0) => Some(self.0),
            (1, 0) => Some(self.1),
            _ => None,
        }
    }

    fn real(&self, parameter: u16, element: u64) -> Option<f64> {
        if parameter == 2 {
            Some(0.5)
        } else {
            self.integer(parameter, element).map(|value| value as f64)
        }
    }

    fn length(&self, parameter: u16) -> Option<u64> {
        (parameter == 3).then_some(5)
    }

    fn name(&self, parameter: u16) -> Option<&str> {
        ["n", "lda", "alpha", "title"].get(usize::from(parameter)).copied()
    }
}

fn of(operator: B, left: i64, right: i64) -> Option<i64> {
    binary(operator, p(0), p(1)).evaluate_integer(&Two(left, right)).ok()
}

#[test]
fn integers_follow_the_table() {
    let table = [
        (B::Add, 2, 3, Some(5)),
        (B::Add, i64::MAX, 1, None),
        (B::Subtract, i64::MIN, 1, None),
        (B::Multiply, -4, 3, Some(-12)),
        (B::Multiply, 1 << 32, 1 << 31, None),
        (B::Divide, 7, 2, Some(3)),
        (B::Divide, -7, 2, Some(-3)),
        (B::Divide, 1, 0, None),
        // The one quotient that does not fit: it traps on real processors.
        (B::Divide, i64::MIN, -1, None),
        (B::Remainder, i64::MIN, -1, None),
        (B::Remainder, 7, 0, None),
        (B::Remainder, -7, 2, Some(-1)),
        (B::Power, 2, 10, Some(1024)),
        (B::Power, 2, 63, None),
        (B::Power, -2, 63, Some(i64::MIN)),
        (B::Power, 0, 0, Some(1)),
        (B::Power, 2, -1, None),
        // Huge exponents of -1, 0 and 1 are no reason to compute for years.
        (B::Power, -1, i64::MAX, Some(-1)),
        (B::Power, 1, i64::MAX, Some(1)),
        (B::Power, 0, i64::MAX, Some(0)),
        (B::Power, 2, i64::MAX, None),
        (B::ShiftLeft, 3, 4, Some(48)),
        (B::ShiftLeft, 1, 62, Some(1 << 62)),
        (B::ShiftLeft, 2, 62, None),
        (B::ShiftLeft, 1, 64, None),
        (B::ShiftRight, -8, 1, Some(-4)),
        (B::ShiftRight, 1, -1, None),
        (B::BitAnd, 6, 3, Some(2)),
        (B::Less, 1, 2, Some(1)),
        (B::GreaterEqual, 1, 2, Some(0)),
        (B::Equal, 4, 4, Some(1)),
        (B::NotEqual, 4, 4, Some(0)),
    ];
    for (operator, left, right, wanted) in table {
        assert_eq!(of(operator, left, right), wanted, "{left} {} {right}", operator.symbol());
    }
    assert!(negate(p(0)).evaluate_integer(&Two(i64::MIN, 0)).is_err());
    assert!(abs(p(0)).evaluate_integer(&Two(i64::MIN, 0)).is_err());
    assert_eq!(
        Expression::Call(Function::Length, vec![p(3)]).evaluate_integer(&Two(0, 0)).unwrap(),
        5
    );
}

#[test]
fn only_what_decides_is_evaluated() {
    let two = Two(0, 7);
    let fails = binary(B::Divide, i(1), p(0));
    let and = |left, right| binary(B::And, left, right);
    assert_eq!(and(p(0), fails.clone()).evaluate_integer(&two).unwrap(), 0);
    assert_eq!(binary(B::Or, p(1), fails.clone()).evaluate_integer(&two).unwrap(), 1);
    assert_eq!(select(p(0), fails.clone(), i(3)).evaluate_integer(&two).unwrap(), 3);
    assert_eq!(select(p(0), fails.clone(), i(3)).evaluate_real(&two).unwrap(), 3.0);
    assert!(and(p(1), fails).evaluate_integer(&two).is_err());
}

#[test]
fn errors_name_the_guilty_part_and_its_values() {
    let two = Two(4_000_000_000, 4_000_000_000);
    let message = |e: Expression| e.evaluate_integer(&two).unwrap_err().to_string();
    let product = times(p(0), p(1));
    let wanted = "evaluate: n * lda overflows 64 bits (n = 4000000000, lda = 4000000000)";
    assert_eq!(message(times(i(8), add(product.clone(), i(1)))), message(product.clone()));
    assert!(of(B::Multiply, 4_000_000_000, 4_000_000_000).is_none());
    assert_eq!(message(product), wanted);
    assert!(message(p(9)).contains("has no value"));
    assert!(message(p(2)).contains("alpha has no value to compute a size from"));
    let real = binary(B::Multiply, Expression::Real(1.5), i(2));
    assert!(message(real).contains("1.5 is not an integer"));
    let element = Expression::Element(0, Box::new(i(-1)));
    assert!(message(element).contains("has no element -1"));
}

#[test]
fn reals_do_not_round() {
    let two = Two(10, 4);
    let value = |e: &Expression| e.evaluate_real(&two).unwrap();
    assert_eq!(value(&binary(B::Divide, p(0), p(1))), 2.5);
    assert_eq!(value(&times(p(2), power(p(0), i(3)))), 500.0);
    assert_eq!(value(&Expression::Call(Function::Log2, vec![i(8)])), 3.0);
    // The logarithm of zero and the root of minus one are no numbers of operations.
    assert!(Expression::Call(Function::Log, vec![i(0)]).evaluate_real(&two).is_err());
    assert!(Expression::Call(Function::Sqrt, vec![i(-1)]).evaluate_real(&two).is_err());
    assert!(power(p(0), i(400)).evaluate_real(&two).is_err());
    assert!(binary(B::Remainder, p(0), i(0)).evaluate_real(&two).is_err());
    assert!(binary(B::BitAnd, p(2), i(1)).evaluate_real(&two).is_err());
}

#[test]
fn nesting_ends_in_an_error_not_in_the_stack() {
    let deep = (0..100_000).fold(p(0), |inner, _| negate(inner));
    assert!(deep.evaluate_integer(&Two(1, 1)).unwrap_err().to_string().contains("nests deeper"));
    assert!(deep.evaluate_real(&Two(1, 1)).is_err());
    let fits = (1..EXPRESSION_DEPTH_MAX).fold(p(0), |inner, _| negate(inner));
    assert!(fits.evaluate_integer(&Two(1, 1)).is_ok());
    // Dropping the tree would recurse as well; such a tree cannot come from the parser or the
    // decoder.
    std::mem::forget(deep);
}
