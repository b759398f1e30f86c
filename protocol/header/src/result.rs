//! What a function returns, as a parameter.

use crate::Problem;
use crate::function::Function;
use crate::headers::Headers;
use crate::types::Type;

/// The parameter for what a function returns; `None` for nothing.
pub fn result_text(
    headers: &Headers,
    function: &Function,
    (name, returned): (&str, &Type),
    problems: &mut Vec<Problem>,
) -> Option<String> {
    let mut problem = |message: String| {
        problems.push(Problem::new(function.place, format!("{}: {message}", function.name)));
        Some(format!("OUT ? {name}"))
    };
    match returned {
        Type::Void => None,
        Type::Pointer(to) if to.kind == Type::Char => Some(format!("OUT string {name}")),
        Type::Struct(tag) if headers.fields(tag).is_none_or(|one| one.refusal.is_some()) => {
            let why = headers.fields(tag).and_then(|one| one.refusal.as_ref());
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            problem(format!("it returns a {}, which cannot be passed{why}", headers.c_name(tag)))
        }
        Type::Struct(tag) => Some(format!("OUT {} {name}", headers.name_of(tag))),
        Type::Other(reason) => problem(format!("what it returns {reason}")),
        Type::Pointer(to) if is_handle(headers, &to.kind) => {
            let Type::Struct(tag) = &to.kind else { return None };
            problem(format!(
                "it returns a {} *, which is of use in its own process alone: describe a function \
                 that returns what callers need of it",
                headers.c_name(tag)
            ))
        }
        kind => match kind.word() {
            Some(word) => Some(format!("OUT {word} {name}")),
            None => problem(
                "it returns a pointer: describe a function that copies what it points to into an \
                 array"
                    .to_owned(),
            ),
        },
    }
}

/// Whether a type is a struct that the header only names.
fn is_handle(headers: &Headers, kind: &Type) -> bool {
    matches!(kind, Type::Struct(tag) if tag != "FILE" && headers.fields(tag).is_none())
}
