//! Constants: what names stand for, and values of constant expressions.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};

use crate::dialect::Kinds;
use crate::expression;
use crate::kinds::{selected_int, selected_real};
use crate::token::{Token, parenthesised, split_commas};

/// Values of named integer constants, and the kinds of types and literals without one.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    values: HashMap<String, i64>,
    pub kinds: Kinds,
}

impl Constants {
    /// None yet.
    pub fn of(kinds: Kinds) -> Constants {
        Constants { values: HashMap::new(), kinds }
    }
}

impl Deref for Constants {
    type Target = HashMap<String, i64>;

    fn deref(&self) -> &HashMap<String, i64> {
        &self.values
    }
}

impl DerefMut for Constants {
    fn deref_mut(&mut self) -> &mut HashMap<String, i64> {
        &mut self.values
    }
}

/// The value of a constant expression: arithmetic, names, and the functions that give kinds.
pub fn value(tokens: &[Token], constants: &Constants) -> Option<i64> {
    if let Some(kind) = kind_function(tokens, constants) {
        return kind;
    }
    let read = expression::read(tokens)?;
    let known = |one: &expression::Expression| match one {
        expression::Expression::Name(name) => {
            constants.get(name).copied().map(expression::Expression::Number)
        }
        _ => None,
    };
    read.resolved(&known).ok()?.value()
}

/// The value of `kind(…)` and its like; the outer `None` for anything else.
fn kind_function(tokens: &[Token], constants: &Constants) -> Option<Option<i64>> {
    let name = tokens.first()?.word()?;
    let (inside, behind) = parenthesised(tokens.get(1..)?)?;
    if !behind.is_empty() {
        return None;
    }
    let arguments = split_commas(inside);
    let number = |wanted: &str, position: usize| {
        let named =
            arguments.iter().find(|one| one.len() > 2 && one[0].is_word(wanted) && one[1].is("="));
        let plain = arguments.get(position).filter(|one| !one.iter().any(|token| token.is("=")));
        named.map(|one| &one[2..]).or(plain.copied()).map(|one| value(one, constants))
    };
    match name {
        "kind" => Some(kind_of(inside, constants)),
        "selected_int_kind" => Some(number("r", 0).flatten().and_then(selected_int)),
        "selected_real_kind" => {
            let part = |wanted: &str, position: usize| number(wanted, position).unwrap_or(Some(0));
            Some(part("p", 0).and_then(|digits| selected_real(digits, part("r", 1)?)))
        }
        _ => None,
    }
}

/// The kind of a literal: `1.0`, `1d0`, `0`, `1.0_dp`.
fn kind_of(tokens: &[Token], constants: &Constants) -> Option<i64> {
    match tokens {
        [Token::Number(text)] => match text.split_once('_') {
            Some((_, kind)) => kind.parse().ok().or_else(|| constants.get(kind).copied()),
            None if text.contains('d') => Some(constants.kinds.double),
            None if text.contains(['.', 'e']) => Some(constants.kinds.real),
            None => Some(constants.kinds.integer),
        },
        [Token::Word(word)] if word == ".true." || word == ".false." => {
            Some(constants.kinds.integer)
        }
        _ => None,
    }
}
