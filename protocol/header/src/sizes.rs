//! Which parameter says how many elements a pointer has.

use crate::function::Parameter;
use crate::types::Type;

/// Names of sizes.
const NAMES: [&str; 26] = [
    "n",
    "m",
    "len",
    "length",
    "size",
    "count",
    "num",
    "number",
    "nelem",
    "nelems",
    "nel",
    "nitems",
    "nmemb",
    "dim",
    "npts",
    "npoints",
    "nvals",
    "nvalues",
    "nrows",
    "ncols",
    "rows",
    "cols",
    "nx",
    "ny",
    "nz",
    "n_elements",
];
/// What names of sizes begin and end with.
const BEGINS: [&str; 3] = ["n_", "num_", "len_"];
const ENDS: [&str; 8] = ["_n", "_len", "_length", "_size", "_count", "_num", "_dim", "_elements"];

/// What names of strides begin with: an array with one has more elements than its size says.
const STRIDES: [&str; 4] = ["inc", "ld", "stride", "step_"];

/// Whether a parameter is a whole number by value.
pub fn is_number(parameter: &Parameter) -> bool {
    parameter.kind.is_integer()
}

fn is_size(parameter: &Parameter) -> bool {
    let name = parameter.name.to_ascii_lowercase();
    is_number(parameter)
        && (NAMES.contains(&name.as_str())
            || BEGINS.iter().any(|begin| name.starts_with(begin))
            || ENDS.iter().any(|end| name.ends_with(end)))
}

fn is_stride(parameter: &Parameter) -> bool {
    let name = parameter.name.to_ascii_lowercase();
    is_number(parameter) && STRIDES.iter().any(|begin| name.starts_with(begin))
}

/// Whether a size is called after a pointer: `nx`, `x_len`.
fn is_called_after(size: &Parameter, pointer: &Parameter) -> bool {
    let size_name = size.name.to_ascii_lowercase();
    let own = pointer.name.to_ascii_lowercase();
    let forms = [
        format!("n{own}"),
        format!("n_{own}"),
        format!("num_{own}"),
        format!("len_{own}"),
        format!("{own}_n"),
        format!("{own}_len"),
        format!("{own}_length"),
        format!("{own}_size"),
        format!("{own}_count"),
        format!("{own}len"),
        format!("{own}size"),
    ];
    is_number(size) && forms.contains(&size_name)
}

fn is_pointer(parameter: &Parameter) -> bool {
    parameter.kind.pointee().is_some() && parameter.kind.function().is_none()
}

/// The number of the parameter that says how many elements pointer number `index` has: one that is
/// called after it, or the only one beside it that has the name of a size. `None` where that is not
/// certain. Those that are hidden are no arrays.
pub fn size_of(parameters: &[Parameter], hidden: &[usize], index: usize) -> Option<usize> {
    let pointer = &parameters[index];
    if parameters.iter().any(is_stride) {
        return None;
    }
    let named: Vec<usize> = (0..parameters.len())
        .filter(|other| is_called_after(&parameters[*other], pointer))
        .collect();
    if let [one] = named.as_slice() {
        return Some(*one);
    }
    let is_free = |size: usize| {
        let is_anothers = |(other, one): (usize, &Parameter)| {
            other != index && is_pointer(one) && is_called_after(&parameters[size], one)
        };
        is_size(&parameters[size]) && !parameters.iter().enumerate().any(is_anothers)
    };
    // A size behind another pointer is that one's.
    let is_array = |one: usize| is_pointer(&parameters[one]) && !hidden.contains(&one);
    let before = index.checked_sub(1).filter(|size| is_free(*size));
    let before = before.filter(|size| size.checked_sub(1).is_none_or(|one| !is_array(one)));
    let behind = Some(index + 1).filter(|size| *size < parameters.len() && is_free(*size));
    // Two sizes in a row may be those of a matrix.
    let is_alone =
        |next: Option<usize>| next.is_none_or(|next| next >= parameters.len() || !is_free(next));
    let before = before.filter(|size| is_alone(size.checked_sub(1)));
    let behind = behind.filter(|size| is_alone(Some(size + 1)));
    match (before, behind) {
        (Some(one), None) | (None, Some(one)) => Some(one),
        _ => None,
    }
}

/// Whether any parameter could be a size.
pub fn has_numbers(parameters: &[Parameter]) -> bool {
    parameters.iter().any(is_number)
}

/// Whether a type is the address of something without a type.
pub fn is_context(kind: &Type) -> bool {
    matches!(kind, Type::Pointer(to) if to.kind == Type::Void && !to.is_const)
}
