//! What published Python functions say in their interfaces beside the language: which parameters may
//! be NULL, and which stand beside others. `_forms.py` and `_groups.py` of the Python package write
//! them.

use crate::interface::{Interface, Mode, Parameter};

/// What the description of a parameter with such a default begins with.
const DEFAULT: &str = "default ";
/// The same of a field of an argument that is a class.
const FIELD: &str = "field ";
/// How the names of parameters end that stand beside others.
const BESIDE: [&str; 3] = ["_count", "_rank", "_shape"];

/// Whether a parameter has a default that the language cannot write, such as a text: NULL stands for
/// it where a caller leaves it out.
pub fn is_nullable(parameter: &Parameter) -> bool {
    let doc = parameter.doc.as_str();
    let is_field = doc.starts_with(FIELD) && doc.contains(", default ");
    parameter.mode == Mode::In && (doc.starts_with(DEFAULT) || is_field)
}

/// Whether parameter `index` only says the rank, the count or the shape of another one.
pub fn is_beside(interface: &Interface, index: usize) -> bool {
    BESIDE.iter().any(|ending| beside(interface, index, ending).is_some())
}

/// What such a parameter says: "rank of x".
pub(crate) fn said_beside(interface: &Interface, index: usize) -> Option<String> {
    BESIDE.iter().find_map(|ending| {
        let of = &interface.parameters[beside(interface, index, ending)?].name;
        Some(format!("{} of {of}", &ending[1..]))
    })
}

/// Parameters that say the rank of arrays which callers pass, each with its array.
pub fn ranks(interface: &Interface) -> Vec<(usize, usize)> {
    let rank = |index| Some((index, beside(interface, index, "_rank")?));
    let all = 0..interface.parameters.len();
    all.filter_map(rank).filter(|(_, of)| interface.parameters[*of].mode == Mode::In).collect()
}

/// The parameter that `index` stands beside: x of `_x_rank`.
fn beside(interface: &Interface, index: usize, ending: &str) -> Option<usize> {
    let name = interface.parameters[index].name.strip_prefix('_')?.strip_suffix(ending)?;
    interface.parameters.iter().position(|parameter| parameter.name == name)
}
