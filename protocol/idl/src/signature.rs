//! How a caller with keyword arguments calls a routine: which arguments go by position, and the
//! signature to show.

use std::collections::BTreeSet;

use crate::expression::{Expression, UnaryOperator};
use crate::infer::{is_only_leading, solve};
use crate::interface::{ElementType, Interface, Mode, Parameter, Shape};
use crate::published::{is_beside, is_nullable};
use crate::scope::Scope;
use crate::text::write_character;

/// Parameter numbers of what a call takes by position, in the order in which they are passed: what
/// has to be given, then what may follow ([`following`]). All others go by name.
pub fn positional(interface: &Interface) -> Vec<usize> {
    let mut all = needed(interface);
    all.extend(following(interface));
    all
}

/// What has to be given, in interface order: IN and INOUT arrays, strings, files, callbacks, and the
/// scalars that neither an array's extent nor a default determines.
pub fn needed(interface: &Interface) -> Vec<usize> {
    let mut all = positional_in(interface.scope());
    all.retain(|index| !is_nullable(&interface.parameters[*index]));
    all
}

/// What may follow by position, in interface order: parameters whose default is a constant, or that
/// of a published function. All of them stand behind what has to be given: else nobody could tell
/// which one a position means, and they go by name.
pub fn following(interface: &Interface) -> Vec<usize> {
    let of = |index: &usize| &interface.parameters[*index];
    let is_function = |index: &usize| matches!(of(index).shape, Shape::Callback { .. });
    let last = needed(interface).into_iter().filter(|index| !is_function(index)).max();
    let having: Vec<usize> =
        (0..interface.parameters.len()).filter(|index| may_follow(interface, *index)).collect();
    let is_behind = having.first().is_none_or(|first| last.is_none_or(|last| *first > last));
    if is_behind { having } else { Vec::new() }
}

/// Whether a parameter has a default that everybody knows, and is no size.
fn may_follow(interface: &Interface, index: usize) -> bool {
    let parameter = &interface.parameters[index];
    if is_nullable(parameter) {
        return true;
    }
    let is_scalar = parameter.mode.is_input() && parameter.is_plain_scalar();
    let is_free = !is_size(interface, index) && !is_beside(interface, index);
    is_scalar && constant_text(parameter).is_some() && is_free
}

/// Whether an array has so many elements.
fn is_size(interface: &Interface, index: usize) -> bool {
    interface.parameters.iter().any(|parameter| match &parameter.shape {
        Shape::Array { dimensions, .. } => dimensions
            .iter()
            .any(|one| one.size.refers_to(&mut |other| usize::from(other) == index)),
        _ => false,
    })
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
///
/// What stands beside others is not shown, as Python hides it.
pub fn signature(interface: &Interface) -> String {
    let of = |index: &usize| &interface.parameters[*index];
    let with_default = |index: &usize| format!("{}={}", of(index).name, default_text(of(index)));
    let following = following(interface);
    let needed = needed(interface);
    // In Python's words, only what stands behind all that is needed can be left out.
    let read = needed.iter().rposition(|index| of(index).given.is_none()).map_or(0, |at| at + 1);
    let mut arguments: Vec<String> =
        needed[..read].iter().map(|index| of(index).name.clone()).collect();
    arguments.extend(needed[read..].iter().map(|index| format!("{}=None", of(index).name)));
    arguments.extend(following.iter().map(with_default));
    let nullable = |index: &usize| is_nullable(of(index));
    let mut others = by_name(interface.scope());
    others.extend((0..interface.parameters.len()).filter(nullable));
    others.retain(|index| !following.contains(index) && !is_beside(interface, *index));
    if !others.is_empty() {
        arguments.push("*".into());
    }
    arguments.extend(others.iter().map(with_default));
    let results: Vec<&str> = results(interface)
        .filter(|(index, _)| !is_beside(interface, *index))
        .map(|(_, parameter)| parameter.name.as_str())
        .collect();
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
    constant_text(parameter).unwrap_or_else(|| "None".to_owned())
}

/// A default that is a constant.
fn constant_text(parameter: &Parameter) -> Option<String> {
    let negative = |operand: &Expression| match operand {
        Expression::Integer(value) => Some(format!("-{value}")),
        Expression::Real(value) => Some(format!("-{value:?}")),
        _ => None,
    };
    match parameter.default.as_ref() {
        Some(Expression::Integer(code)) if parameter.element == ElementType::Char => {
            let mut text = String::new();
            write_character(&mut text, *code);
            Some(text)
        }
        Some(Expression::Integer(value)) => Some(value.to_string()),
        Some(Expression::Real(value)) => Some(format!("{value:?}")),
        Some(Expression::Unary(UnaryOperator::Negate, operand)) => negative(operand),
        _ => None,
    }
}
