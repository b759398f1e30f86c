//! How a caller with keyword arguments calls a routine: which arguments go by position, and the
//! signature to show.

use std::collections::BTreeSet;

use crate::expression::{Expression, UnaryOperator};
use crate::infer::{is_only_leading, solve};
use crate::interface::{ElementType, Interface, Mode, Parameter, Shape};
use crate::scope::Scope;
use crate::text::write_character;

/// Parameter numbers of what a Python call takes by position, in interface order: IN and INOUT
/// arrays, strings, files, callbacks, and the scalars that neither an array's extent nor a default
/// determines. All others go by name.
pub fn positional(interface: &Interface) -> Vec<usize> {
    positional_in(interface.scope())
}

/// The same of any scope: of a callback, what a function has to be given to know the rest.
pub fn positional_in(scope: Scope<'_>) -> Vec<usize> {
    let by_name = by_name(scope);
    let takes = |(index, parameter): &(usize, &Parameter)| {
        let callback = matches!(parameter.shape, Shape::Callback { .. });
        let given = parameter.mode != Mode::Work && (parameter.mode.is_input() || callback);
        given && !by_name.contains(index)
    };
    scope.parameters.iter().enumerate().filter(takes).map(|(index, _)| index).collect()
}

/// Parameter numbers of the scalars that a caller may leave out: defaulted, leading dimensions, or
/// inferable.
pub(crate) fn by_name(scope: Scope<'_>) -> BTreeSet<usize> {
    let is_scalar = |p: &&Parameter| p.mode.is_input() && p.is_plain_scalar();
    let mut optional = BTreeSet::new();
    let mut open: Vec<u16> = Vec::new();
    for (index, parameter) in scope.parameters.iter().enumerate().filter(|(_, p)| is_scalar(p)) {
        if parameter.default.is_some() || is_only_leading(scope, index) {
            optional.insert(index);
        } else if parameter.element.is_integer() {
            open.extend(u16::try_from(index));
        }
    }
    let extents = extents(scope);
    // Those that no extent could ever determine are known by position, whatever else is.
    open.retain(|one| {
        extents.iter().any(|extent| mentions(extent, *one) && solve::is_linear(extent, *one))
    });
    while !open.is_empty() {
        let next = extents.iter().find_map(|extent| determined(extent, &open));
        match next {
            Some(one) => {
                optional.insert(usize::from(one));
                open.retain(|other| *other != one);
            }
            // Stuck: the last one has to be given; that may free the others.
            None => drop(open.pop()),
        }
    }
    optional
}

/// The extents that travel of all arrays that a caller passes by position, each possible branch of
/// `?:` on its own.
fn extents(scope: Scope<'_>) -> Vec<Expression> {
    let mut extents = Vec::new();
    for parameter in scope.parameters.iter().filter(|p| p.mode.is_input()) {
        if let Shape::Array { dimensions, .. } = &parameter.shape {
            let all = dimensions.iter().filter_map(|d| solve::extent_expression(scope, d));
            all.for_each(|extent| push_branches(extent, &mut extents));
        }
    }
    extents
}

fn push_branches(extent: Expression, extents: &mut Vec<Expression>) {
    match extent {
        Expression::Select(_, then, otherwise) => {
            push_branches(*then, extents);
            push_branches(*otherwise, extents);
        }
        other => extents.push(other),
    }
}

fn mentions(expression: &Expression, one: u16) -> bool {
    expression.refers_to(&mut |index| index == one)
}

/// The only open scalar of an extent, if the extent is linear in it.
fn determined(extent: &Expression, open: &[u16]) -> Option<u16> {
    let mut inside = open.iter().copied().filter(|one| mentions(extent, *one));
    match (inside.next(), inside.next()) {
        (Some(one), None) if solve::is_linear(extent, one) => Some(one),
        _ => None,
    }
}

/// The signature in Python's words: `dgesv(A, B, *, n=None, nrhs=None, lda=None, ldb=None) -> (A,
/// ipiv, B, info)`.
///
/// `None` stands for what is inferred, or computed from a default that is no constant.
pub fn signature(interface: &Interface) -> String {
    let by_position = positional(interface);
    let mut arguments: Vec<String> =
        by_position.iter().map(|index| interface.parameters[*index].name.clone()).collect();
    let optional = by_name(interface.scope());
    if !optional.is_empty() {
        arguments.push("*".into());
    }
    for parameter in optional.iter().map(|index| &interface.parameters[*index]) {
        arguments.push(format!("{}={}", parameter.name, default_text(parameter)));
    }
    let results: Vec<&str> =
        results(interface).map(|(_, parameter)| parameter.name.as_str()).collect();
    let results = match results.as_slice() {
        [] => "None".to_owned(),
        [one] => (*one).to_owned(),
        several => format!("({})", several.join(", ")),
    };
    format!("{}({}) -> {results}", interface.name, arguments.join(", "))
}

/// Number and parameter of everything that comes back, in interface order.
pub fn results(interface: &Interface) -> impl Iterator<Item = (usize, &Parameter)> {
    let comes_back = |p: &Parameter| p.mode.is_output() && p.mode != Mode::Work;
    interface.caller_parameters().filter(move |(_, parameter)| comes_back(parameter))
}

fn default_text(parameter: &Parameter) -> String {
    let negative = |operand: &Expression| match operand {
        Expression::Integer(value) => Some(format!("-{value}")),
        Expression::Real(value) => Some(format!("-{value:?}")),
        _ => None,
    };
    let text = match parameter.default.as_ref() {
        Some(Expression::Integer(code)) if parameter.element == ElementType::Char => {
            let mut text = String::new();
            write_character(&mut text, *code);
            Some(text)
        }
        Some(Expression::Integer(value)) => Some(value.to_string()),
        Some(Expression::Real(value)) => Some(format!("{value:?}")),
        Some(Expression::Unary(UnaryOperator::Negate, operand)) => negative(operand),
        _ => None,
    };
    text.unwrap_or_else(|| "None".to_owned())
}
