//! The statement that begins a procedure: its name, its dummies, and what it returns.

use crate::Problem;
use crate::declare::type_spec;
use crate::token::{Token, parenthesised, split_commas};
use crate::unit::{Declared, Procedure};

/// Dummies of one procedure at most, as parameters of an interface.
const DUMMIES_MAX: usize = 1024;

/// A `subroutine` or `function` statement: the prefix, and what follows the keyword.
pub(super) struct Heading<'a> {
    pub(super) prefix: &'a [Token],
    pub(super) is_function: bool,
    pub(super) rest: &'a [Token],
}

const PREFIXES: [&str; 6] = ["recursive", "pure", "elemental", "impure", "non_recursive", "module"];

/// A comma, `::` or `=` outside of parentheses before the keyword makes it something else: a
/// declaration, an assignment.
pub(super) fn heading(all: &[Token]) -> Option<Heading<'_>> {
    let mut depth = 0i32;
    for (index, token) in all.iter().enumerate() {
        depth += i32::from(token.is("(")) - i32::from(token.is(")"));
        let is_outside = depth == 0;
        if is_outside && [",", "::", "="].iter().any(|sign| token.is(sign)) {
            return None;
        }
        let is_function = token.is_word("function");
        if depth != 0 || !(is_function || token.is_word("subroutine")) {
            continue;
        }
        let prefix = &all[..index];
        let known = prefix.first().is_none_or(|first| first.word().is_some_and(is_prefix));
        return (known && all.get(index + 1)?.word().is_some()).then_some(Heading {
            prefix,
            is_function,
            rest: &all[index + 1..],
        });
    }
    None
}

/// What may stand before `subroutine` and `function`: attributes, and the type of a function.
pub(super) fn is_prefix(word: &str) -> bool {
    PREFIXES.contains(&word)
        || [
            "integer",
            "real",
            "complex",
            "logical",
            "byte",
            "character",
            "double",
            "doubleprecision",
            "type",
            "class",
        ]
        .contains(&word)
}

/// The name, the dummies, and what a function returns.
pub(super) fn read_heading(procedure: &mut Procedure, heading: &Heading<'_>) {
    let Some((name, rest)) = heading.rest.split_first() else { return };
    procedure.name = name.word().unwrap_or("").to_owned();
    let list = parenthesised(rest);
    if list.is_none()
        && rest.first().is_some_and(|first| !first.is_word("bind") && !first.is_word("result"))
    {
        procedure
            .problems
            .push(Problem::new(procedure.line, "its list of arguments cannot be read"));
    }
    let (dummies, behind) = list.unwrap_or((&[], rest));
    for dummy in split_commas(dummies) {
        match dummy {
            [Token::Word(word)] if procedure.dummies.len() < DUMMIES_MAX => {
                procedure.dummies.push(word.clone())
            }
            [Token::Sign("*")] => procedure.has_alternate_returns = true,
            _ => procedure
                .problems
                .push(Problem::new(procedure.line, "its list of arguments cannot be read")),
        }
    }
    procedure.binding = binding(behind, &procedure.name);
    if !heading.is_function {
        return;
    }
    let named = behind.iter().position(|token| token.is_word("result"));
    let named = named.and_then(|at| parenthesised(&behind[at + 1..])?.0.first()?.word());
    let result = named.unwrap_or(&procedure.name).to_owned();
    // The type may stand before `function`.
    let typed = heading
        .prefix
        .iter()
        .position(|token| token.word().is_some_and(|word| !PREFIXES.contains(&word)));
    let spec = typed
        .and_then(|at| type_spec(&heading.prefix[at..], &procedure.constants))
        .map(|(spec, _)| spec);
    let declared = Declared { line: procedure.line, type_spec: spec, ..Declared::default() };
    procedure.declared.insert(result.clone(), declared);
    procedure.result = Some(result);
}

/// The name that `bind(C)` or `bind(C, name="…")` gives.
fn binding(behind: &[Token], name: &str) -> Option<String> {
    let at = behind.iter().position(|token| token.is_word("bind"))?;
    let (inside, _) = parenthesised(&behind[at + 1..])?;
    let given = inside
        .iter()
        .find_map(|token| if let Token::Text(text) = token { Some(text.trim()) } else { None });
    Some(given.unwrap_or(name).to_owned())
}
