//! Leading dimensions: sizes of ranged dimensions that nothing else depends on.

use crate::expression::Expression;
use crate::interface::{Dimension, Mode, Shape};
use crate::scope::Scope;

/// The ranged dimensions whose size is exactly parameter `index`, with the arrays they belong to.
pub(crate) fn leading_uses(
    scope: Scope<'_>,
    index: usize,
) -> impl Iterator<Item = (usize, &Dimension)> {
    let is_use = move |d: &&Dimension| {
        // A written 0 is the size itself.
        let ranged = d.end.as_ref().is_some_and(|end| *end != Expression::Integer(0));
        ranged && matches!(d.size, Expression::Parameter(size) if usize::from(size) == index)
    };
    scope.parameters.iter().enumerate().flat_map(move |(number, parameter)| {
        let dimensions = match &parameter.shape {
            Shape::Array { dimensions, .. } => dimensions.as_slice(),
            Shape::Scalar | Shape::Callback { .. } => &[],
        };
        dimensions.iter().filter(is_use).map(move |dimension| (number, dimension))
    })
}

/// Whether parameter `index` is the size of ranged dimensions, and of arrays that travel occurs
/// nowhere else.
pub(crate) fn is_only_leading(scope: Scope<'_>, index: usize) -> bool {
    let mentions = |e: &Expression| e.refers_to(&mut |one| usize::from(one) == index);
    let uses = leading_uses(scope, index).count();
    let mut elsewhere = 0;
    for parameter in scope.parameters.iter().filter(|parameter| parameter.mode != Mode::Work) {
        elsewhere += parameter.when.iter().filter(|e| mentions(e)).count();
        if let Shape::Array { dimensions, .. } = &parameter.shape {
            for d in dimensions {
                let ranges = [&d.start, &d.end, &d.stride].into_iter().flatten();
                elsewhere += ranges.chain([&d.size]).filter(|e| mentions(e)).count();
            }
        }
    }
    uses > 0 && elsewhere == uses
}
