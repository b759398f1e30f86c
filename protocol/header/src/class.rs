//! Opaque handles: which functions make one, take one and free it.

use crate::function::{Function, Parameter};
use crate::headers::Headers;
use crate::types::Type;

/// Ends of names of functions that free what they are given.
const ENDS: [&str; 10] = [
    "free", "destroy", "delete", "close", "release", "dispose", "fini", "finalize", "cleanup",
    "end",
];
/// Ends of names of functions that make what they return.
const MAKES: [&str; 8] = ["new", "create", "make", "init", "open", "alloc", "begin", "load"];

/// Ends of names of types.
const ENDS_OF_TYPES: [&str; 5] = ["_struct", "_tag", "_st", "_t", "_s"];

/// A struct that the header only names, and its functions by their numbers.
#[derive(Debug, Default)]
pub struct Handle {
    pub tag: String,
    pub maker: Option<usize>,
    pub ender: Option<usize>,
    pub methods: Vec<usize>,
}

impl Handle {
    /// Whether a function is one of its own.
    pub fn has(&self, function: usize) -> bool {
        [self.maker, self.ender].contains(&Some(function)) || self.methods.contains(&function)
    }
}

/// The tag of the handle that a type is a pointer to.
fn handle_of<'a>(headers: &Headers, kind: &'a Type) -> Option<&'a str> {
    match &kind.pointee()?.kind {
        Type::Struct(tag) if tag != "FILE" && headers.fields(tag).is_none() => Some(tag),
        _ => None,
    }
}

/// The tag of the handle that a function puts where a parameter says: `struct solver **made`.
fn place_of<'a>(headers: &Headers, parameter: &'a Parameter) -> Option<&'a str> {
    handle_of(headers, &parameter.kind.pointee()?.kind)
}

/// The number of the parameter that a maker fills; `None` for one that returns what it makes.
pub fn filled(headers: &Headers, function: &Function) -> Option<usize> {
    function.parameters.iter().position(|one| place_of(headers, one).is_some())
}

/// The number of the parameter that is the handle.
pub fn taken(headers: &Headers, function: &Function) -> Option<usize> {
    function.parameters.iter().position(|one| handle_of(headers, &one.kind).is_some())
}

/// Which handle a function is of, and whether it makes one.
fn use_of<'a>(headers: &Headers, function: &'a Function) -> Option<(&'a str, bool)> {
    let taken = taken(headers, function).map(|index| &function.parameters[index].kind);
    if let Some(tag) = taken.and_then(|kind| handle_of(headers, kind)) {
        return Some((tag, false));
    }
    let made = handle_of(headers, &function.result.kind);
    let made = made.or_else(|| function.parameters.iter().find_map(|one| place_of(headers, one)));
    made.map(|tag| (tag, true))
}

/// Whether a function makes a handle from other things.
pub fn is_maker_of(headers: &Headers, handle: &Handle, function: usize) -> bool {
    use_of(headers, &headers.functions[function]) == Some((handle.tag.as_str(), true))
}

/// All handles that some function makes, with their functions; in the order of the header.
pub fn handles(headers: &Headers) -> Vec<Handle> {
    let mut all: Vec<Handle> = Vec::new();
    for (number, function) in headers.functions.iter().enumerate() {
        let Some((tag, makes)) = use_of(headers, function) else { continue };
        let place = all.iter().position(|one| one.tag == tag).unwrap_or_else(|| {
            all.push(Handle { tag: tag.to_owned(), ..Handle::default() });
            all.len() - 1
        });
        let handle = &mut all[place];
        match (makes, handle.maker) {
            (true, None) => handle.maker = Some(number),
            // The one that is called so is the maker.
            (true, Some(before))
                if ends_with(function, &MAKES)
                    && !ends_with(&headers.functions[before], &MAKES) =>
            {
                handle.maker = Some(number);
                handle.methods.push(before);
            }
            (false, _)
                if function.parameters.len() == 1
                    && handle.ender.is_none()
                    && ends_with(function, &ENDS) =>
            {
                handle.ender = Some(number);
            }
            _ => handle.methods.push(number),
        }
    }
    all.retain(|one| one.maker.is_some() && (one.ender.is_some() || !one.methods.is_empty()));
    all
}

fn ends_with(function: &Function, words: &[&str]) -> bool {
    let name = function.name.to_ascii_lowercase();
    words.iter().any(|word| name.ends_with(word))
}

/// What people call a handle: without what says that it is a type or a struct.
pub fn handle_name<'a>(headers: &'a Headers, tag: &'a str) -> &'a str {
    let name = headers.name_of(tag);
    let short = ENDS_OF_TYPES.iter().find_map(|end| name.strip_suffix(end));
    short.filter(|short| !short.is_empty()).unwrap_or(name)
}

/// The name of its class, which no routine has.
pub fn class_name(headers: &Headers, tag: &str) -> String {
    let mut name = handle_name(headers, tag).to_owned();
    while headers.functions.iter().any(|function| function.name == name) {
        name.push_str("_object");
    }
    name
}

/// What a method is called: the function's name without the handle's.
pub fn method_name(handle: &str, function: &str) -> String {
    let begin = function.get(..handle.len()).unwrap_or_default();
    let rest = function.get(handle.len()..).unwrap_or_default();
    let is_own = begin.eq_ignore_ascii_case(handle)
        && rest.starts_with(|one: char| one == '_' || one.is_ascii_uppercase());
    let rest = rest.trim_start_matches('_');
    let is_name = rest.starts_with(|one: char| one.is_ascii_alphabetic());
    if is_own && is_name { rest.to_owned() } else { function.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_lose_the_handles_name() {
        assert_eq!(method_name("solver", "solver_step"), "step");
        assert_eq!(method_name("Solver", "SolverStep"), "Step");
        assert_eq!(method_name("mesh", "mesh_size"), "size");
        assert_eq!(method_name("mesh", "meshing"), "meshing");
        assert_eq!(method_name("solver", "step"), "step");
        assert_eq!(method_name("solver", "solver_2d"), "solver_2d");
    }
}
