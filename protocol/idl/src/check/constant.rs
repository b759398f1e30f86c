//! Expressions without parameters are evaluated at once, so that their mistakes show before any
//! call.

use crate::diagnostic::Problems;
use crate::evaluate::Values;
use crate::expression::Expression;
use crate::interface::Dimension;
use crate::parse::tree;

/// No parameter has a value while a file is compiled.
struct NoValues;

impl Values for NoValues {
    fn integer(&self, _parameter: u16, _element: u64) -> Option<i64> {
        None
    }

    fn real(&self, _parameter: u16, _element: u64) -> Option<f64> {
        None
    }

    fn length(&self, _parameter: u16) -> Option<u64> {
        None
    }
}

/// The value of an expression that refers to no parameter, `None` for another one, or why it has
/// none.
pub(super) fn value(expression: &Expression) -> Result<Option<i64>, String> {
    if expression.refers_to(&mut |_| true) {
        return Ok(None);
    }
    expression.evaluate_integer(&NoValues).map(Some).map_err(|error| error.message().to_string())
}

/// Reports what can be known to be wrong: a negative size, a range that leaves the array or runs
/// backwards.
pub(super) fn check_dimension(compiled: &Dimension, tree: &tree::Extent, problems: &mut Problems) {
    let tree::Extent { size, start, end, stride } = tree;
    let known = |expression: Option<&Expression>| expression.and_then(|e| value(e).ok().flatten());
    let span = |part: &Option<tree::Expression>| part.as_ref().map_or(size.span, |part| part.span);
    let all = known(Some(&compiled.size));
    if all.is_some_and(|size| size < 0) {
        problems.add(size.span, "a size cannot be negative");
        return;
    }
    let first = known(compiled.start.as_ref());
    let last = known(compiled.end.as_ref());
    // An end of zero means the whole dimension.
    let last = last.filter(|end| *end != 0);
    if last.is_some_and(|end| end < 0) || last.zip(all).is_some_and(|(end, size)| end > size) {
        problems.add(span(end), "the end of this range is outside the array");
    }
    let limit = last.or(all);
    if first.is_some_and(|start| start < 0)
        || first.zip(limit).is_some_and(|(start, end)| start > end)
    {
        problems.add(span(start), "this range begins outside the array");
    }
    if known(compiled.stride.as_ref()).is_some_and(|stride| stride < 0) {
        problems.add(span(stride), "the distance between elements cannot be negative");
    }
}
