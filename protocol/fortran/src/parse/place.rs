//! Where declarations go: what a module or a procedure is told by a statement of its own.

use std::sync::Arc;

use super::heading::is_prefix;
use crate::Problem;
use crate::constant::{Constants, value};
use crate::declare::{self, attribute, entity, type_spec};
use crate::kinds;
use crate::source::Statement;
use crate::token::{Token, parenthesised, split_commas};
use crate::unit::{Base, Declared, Implicit, Module, Procedure, TypeSpec};

/// What a module gives to those that use it.
enum Named {
    Constant(i64),
    Interface(Arc<Procedure>),
}

/// Where declarations go.
pub(super) enum Place<'a> {
    Procedure(&'a mut Procedure),
    Module(&'a mut Module),
}

impl Place<'_> {
    /// Named constants of the unit, those of its modules among them.
    pub(super) fn constants(&mut self) -> &mut Constants {
        match self {
            Place::Procedure(procedure) => &mut procedure.constants,
            Place::Module(module) => &mut module.constants,
        }
    }

    /// `use, intrinsic :: module, only: here => there, name`
    pub(super) fn use_module(&mut self, all: &[Token], others: &[Module]) {
        let begin = all.iter().position(|token| token.is("::")).map_or(1, |at| at + 1);
        let Some(name) = all.get(begin).and_then(Token::word) else { return };
        let uses = match self {
            Place::Procedure(procedure) => &mut procedure.state.uses,
            Place::Module(module) => &mut module.uses,
        };
        uses.push(name.to_owned());
        let known: Vec<(String, Named)> = match kinds::intrinsic(name) {
            Some(known) => {
                known.map(|(name, kind)| (name.to_owned(), Named::Constant(kind))).collect()
            }
            None => match others.iter().find(|module| module.name == name) {
                Some(module) => {
                    let constants = module.constants.iter();
                    let interfaces = module.interfaces.iter();
                    constants
                        .map(|(name, value)| (name.clone(), Named::Constant(*value)))
                        .chain(
                            interfaces.map(|one| (one.name.clone(), Named::Interface(one.clone()))),
                        )
                        .collect()
                }
                None => return,
            },
        };
        let rest = all.get(begin + 1..).unwrap_or(&[]);
        let only = rest.iter().position(|token| token.is(":"));
        let mut renamed: Vec<(&str, &str)> = Vec::new();
        for one in split_commas(only.map_or(rest, |at| &rest[at + 1..])) {
            match one {
                [Token::Word(name)] => renamed.push((name, name)),
                [Token::Word(here), Token::Sign("=>"), Token::Word(there)] => {
                    renamed.push((here, there))
                }
                _ => {}
            }
        }
        for (there, named) in known {
            let mut names: Vec<&str> =
                renamed.iter().filter(|(_, of)| *of == there).map(|(here, _)| *here).collect();
            if names.is_empty() && only.is_none() {
                names.push(&there);
            }
            for name in names {
                self.know(name, &named);
            }
        }
    }

    /// Takes over what a module names.
    fn know(&mut self, name: &str, named: &Named) {
        let interfaces = match self {
            Place::Procedure(procedure) => &mut procedure.interfaces,
            Place::Module(module) => &mut module.interfaces,
        };
        match named {
            Named::Constant(value) => drop(self.constants().insert(name.to_owned(), *value)),
            Named::Interface(one) if one.name == name => interfaces.push(one.clone()),
            Named::Interface(one) => {
                interfaces
                    .push(Arc::new(Procedure { name: name.to_owned(), ..one.as_ref().clone() }));
            }
        }
    }

    /// An INCLUDE of which there is no text, with the reason.
    pub(super) fn include(&mut self, all: &[Token], statement: &Statement) {
        let unread = match self {
            Place::Procedure(procedure) => &mut procedure.unread,
            Place::Module(module) => &mut module.unread,
        };
        if let Some(Token::Text(name)) = all.get(1) {
            unread.push(format!(
                "'{name}' in line {} cannot be read: {}",
                statement.line, statement.comment
            ));
        }
    }

    /// `implicit none`, or types by first letters, of which the last rule for a letter counts.
    pub(super) fn implicit(&mut self, all: &[Token]) {
        let constants = self.constants().clone();
        let implicit = match self {
            Place::Procedure(procedure) => &mut procedure.implicit,
            Place::Module(module) => &mut module.implicit,
        };
        if all.get(1).is_some_and(|second| second.is_word("none")) {
            *implicit = Implicit { none: true, rules: Vec::new() };
            return;
        }
        for one in split_commas(&all[1..]) {
            // The letters are the last parentheses.
            let Some(open) = one.iter().rposition(|token| token.is("(")) else { continue };
            let Some((spec, _)) = type_spec(&one[..open], &constants) else { continue };
            for range in split_commas(&one[open + 1..one.len().saturating_sub(1).max(open + 1)]) {
                let letter = |token: &Token| token.word().and_then(|word| word.chars().next());
                let first = range.first().and_then(letter);
                let last = range.get(2).and_then(letter).or(first);
                if let (Some(first), Some(last)) = (first, last) {
                    implicit.rules.push((first, last, spec.clone()));
                }
            }
        }
    }

    /// `parameter (n = 3, m = n + 1)`
    pub(super) fn parameters(&mut self, all: &[Token]) {
        let Some((inside, _)) = parenthesised(&all[1..]) else { return };
        for one in split_commas(inside) {
            if let [Token::Word(name), Token::Sign("="), rest @ ..] = one
                && let Some(value) = value(rest, self.constants())
            {
                self.constants().insert(name.clone(), value);
            }
        }
    }

    /// `private` and `public`, for all or for names.
    pub(super) fn access(&mut self, all: &[Token]) {
        let Place::Module(module) = self else { return };
        let is_private = all[0].is_word("private");
        let rest =
            if all.get(1).is_some_and(|second| second.is("::")) { &all[2..] } else { &all[1..] };
        let names: Vec<String> = rest.iter().filter_map(Token::word).map(str::to_owned).collect();
        match (names.is_empty(), is_private) {
            (true, _) => module.private_by_default = is_private,
            (false, true) => module.private.extend(names),
            (false, false) => module.public.extend(names),
        }
    }

    /// `common /a/ x, y(3) /b/ z`: the variables of named blocks, and of the one without a name.
    pub(super) fn common(&mut self, statement: &Statement, all: &[Token]) {
        let Place::Procedure(procedure) = self else { return };
        let mut block = String::new();
        let mut rest = &all[1..];
        while !rest.is_empty() {
            rest = match rest {
                [Token::Sign("/"), Token::Word(name), Token::Sign("/"), behind @ ..] => {
                    block.clone_from(name);
                    behind
                }
                [Token::Sign("//"), behind @ ..] => {
                    block.clear();
                    behind
                }
                [Token::Sign("/"), Token::Sign("/"), behind @ ..] => {
                    block.clear();
                    behind
                }
                // A block without the end of its name.
                [Token::Sign("/"), ..] => return,
                _ => {
                    let end = rest.iter().position(|one| one.is("/") || one.is("//"));
                    let (names, behind) = rest.split_at(end.unwrap_or(rest.len()));
                    let constants = procedure.constants.clone();
                    for tokens in split_commas(names) {
                        let Some(one) = entity(tokens, &constants) else { continue };
                        procedure.state.commons.push((block.clone(), one.name.to_owned()));
                        let common = Declared { line: statement.line, ..Declared::default() };
                        merge(procedure, &one, None, &common, "");
                    }
                    behind
                }
            };
        }
    }

    /// `save`, `save a, /block/`: variables that keep their values from one call to the next.
    pub(super) fn save(&mut self, all: &[Token]) {
        let Place::Procedure(procedure) = self else { return };
        let names: Vec<String> =
            all[1..].iter().filter_map(Token::word).map(str::to_owned).collect();
        procedure.state.saves_all |= names.is_empty();
        procedure.state.saved.extend(names);
    }

    /// `data a, b / 1, 2 /`: they keep their values, too.
    pub(super) fn data(&mut self, all: &[Token]) {
        let Place::Procedure(procedure) = self else { return };
        let mut in_values = false;
        for token in &all[1..] {
            in_values ^= token.is("/");
            if let (false, Some(name)) = (in_values, token.word()) {
                procedure.state.saved.push(name.to_owned());
            }
        }
    }

    /// A statement that may do anything with its names.
    pub(super) fn unclear(&mut self, all: &[Token]) {
        if let Place::Procedure(procedure) = self {
            procedure.body.unclear(&all[1..]);
        }
    }

    /// An executable statement. One that is not understood, and names an argument, may declare it.
    pub(super) fn execute(&mut self, statement: &Statement, all: &[Token]) {
        let Place::Procedure(procedure) = self else { return };
        let mut body = std::mem::take(&mut procedure.body);
        let is_known = body.statement(procedure.names(), statement, all);
        procedure.body = body;
        if !is_known {
            not_understood(procedure, statement, all);
        }
    }

    /// A declaration that cannot be read, or words of one that may be none.
    fn unread(&mut self, statement: &Statement, tokens: &[Token], is_declaration: bool) {
        match (self, is_declaration) {
            (Place::Procedure(procedure), true) => procedure
                .problems
                .push(Problem::new(statement.line, "a declaration that cannot be read")),
            (Place::Procedure(procedure), false) => not_understood(procedure, statement, tokens),
            (Place::Module(_), _) => {}
        }
    }

    /// A variable that outlasts a call: a module's, and one with a first value.
    fn keep(&mut self, one: &declare::Entity<'_>, is_variable: bool) {
        match self {
            Place::Module(module) if is_variable => module.variables.push(one.name.to_owned()),
            Place::Procedure(procedure) if is_variable && one.value.is_some() => {
                procedure.state.saved.push(one.name.to_owned());
            }
            _ => {}
        }
    }

    /// A type declaration, or an attribute as a statement of its own.
    pub(super) fn declare(&mut self, statement: &Statement, all: &[Token]) {
        let mut constants = self.constants().clone();
        let typed = type_spec(all, &constants);
        let (spec, rest) = typed.map_or((None, all), |(spec, rest)| (Some(spec), rest));
        let mut common = Declared { line: statement.line, ..Declared::default() };
        let colons = rest.iter().position(|token| token.is("::"));
        let mut names = rest;
        if spec.is_none() {
            let is_procedure = all[0].is_word("procedure");
            if !is_procedure && !attribute(all, &mut common, &constants) {
                return self.unread(statement, all, false);
            }
            common.external |= is_procedure;
            if is_procedure {
                let named = parenthesised(&all[1..]);
                common.interface = named
                    .and_then(|(inside, _)| inside.first()?.word())
                    .filter(|word| !is_prefix(word))
                    .map(str::to_owned);
                let attributes = named.map_or(&[][..], |(_, behind)| behind);
                for one in
                    split_commas(attributes.split(|token| token.is("::")).next().unwrap_or(&[]))
                {
                    attribute(one, &mut common, &constants);
                }
            }
            // Behind the colons, or behind the word and its parentheses.
            names = colons.map_or_else(|| behind_word(all), |at| &rest[at + 1..]);
        } else if let Some(at) = colons {
            for one in split_commas(&rest[..at]) {
                attribute(one, &mut common, &constants);
            }
            names = &rest[at + 1..];
        }
        let entities = split_commas(names);
        let alone = entities.len() == 1;
        for tokens in entities {
            let Some(one) = entity(tokens, &constants) else {
                self.unread(statement, tokens, spec.is_some());
                continue;
            };
            if let (true, Some(initial)) = (common.parameter, one.value)
                && spec.as_ref().is_some_and(|spec| spec.base == Base::Integer)
                && let Some(value) = value(initial, &constants)
            {
                // Known to the rest of the statement, too: `integer, parameter :: dp = kind(1d0),
                // wp = dp`.
                constants.insert(one.name.to_owned(), value);
                self.constants().insert(one.name.to_owned(), value);
            }
            self.keep(&one, spec.is_some() && !common.parameter);
            if let Place::Procedure(procedure) = self {
                merge(
                    procedure,
                    &one,
                    spec.as_ref(),
                    &common,
                    if alone { &statement.comment } else { "" },
                );
            }
        }
    }
}

/// The first words of a long text.
fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}

/// A statement that may say of an argument what is not understood here.
fn not_understood(procedure: &mut Procedure, statement: &Statement, all: &[Token]) {
    let is_dummy = |word: &&str| procedure.dummies.iter().any(|dummy| dummy == word);
    if let Some(dummy) = all.iter().filter_map(Token::word).find(is_dummy) {
        let message = format!(
            "a statement about {dummy} that is not understood: `{}`",
            shown(&statement.text)
        );
        procedure.problems.push(Problem::new(statement.line, message));
    }
}

/// The names of an attribute statement without `::`.
fn behind_word(all: &[Token]) -> &[Token] {
    let rest = &all[1..];
    if all[0].is_word("intent") || all[0].is_word("procedure") {
        return parenthesised(rest).map_or(rest, |(_, rest)| rest);
    }
    rest
}

/// Adds what a declaration says to what is known of the name.
fn merge(
    procedure: &mut Procedure,
    one: &declare::Entity<'_>,
    spec: Option<&TypeSpec>,
    common: &Declared,
    comment: &str,
) {
    let known = procedure
        .declared
        .entry(one.name.to_owned())
        .or_insert_with(|| Declared { line: common.line, ..Declared::default() });
    if let Some(spec) = spec {
        known.type_spec = Some(spec.clone());
        known.line = common.line;
    }
    if let (Some(length), Some(spec)) = (&one.length, &mut known.type_spec) {
        if spec.base == Base::Character {
            spec.length = length.clone();
        } else {
            // REAL X*8, an extension.
            spec.kind = Err(format!("{}*…", one.name));
        }
    }
    if let Some(shape) = &one.shape {
        known.shape = shape.clone();
    } else if !common.shape.is_empty() {
        known.shape = common.shape.clone();
    }
    known.assumed_rank |= one.assumed_rank || common.assumed_rank;
    known.intent = common.intent.or(known.intent);
    known.by_value |= common.by_value;
    known.optional |= common.optional;
    known.allocatable |= common.allocatable;
    known.pointer |= common.pointer;
    known.external |= common.external;
    known.others.extend(&common.others);
    if common.interface.is_some() {
        known.interface.clone_from(&common.interface);
    }
    if !comment.is_empty() {
        known.comment = comment.to_owned();
    }
}
