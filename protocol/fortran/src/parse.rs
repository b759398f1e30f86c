//! Program units: which modules and procedures a source has, and what they declare. Executable
//! statements are passed over.

use std::sync::Arc;

use crate::Problem;
use crate::constant::{Constants, value};
use crate::declare::{self, attribute, entity, type_spec};
use crate::kinds;
use crate::source::Statement;
use crate::token::{Token, parenthesised, split_commas, tokens};
use crate::unit::{Base, Declared, Implicit, Module, Procedure, TypeSpec};

/// Dummies of one procedure at most, as parameters of an interface.
const DUMMIES_MAX: usize = 1024;

/// What encloses a statement.
enum Scope {
    Module,
    /// A procedure that is to be drafted, or an interface of one.
    Procedure(Box<Procedure>),
    /// Internal procedures, programs, submodules: their content is nobody else's.
    Other,
    Interface,
    Type,
}

/// Reads a source: its modules in order, and last the procedures outside of modules. `others` are
/// modules that it may use.
pub fn parse(statements: &[Statement], others: &[Module]) -> (Vec<Module>, Vec<Problem>) {
    let mut parser = Parser {
        others,
        modules: Vec::new(),
        outside: Module::default(),
        scopes: Vec::new(),
        problems: Vec::new(),
    };
    for statement in statements {
        parser.statement(statement);
    }
    if !parser.scopes.is_empty() {
        let line = statements.last().map_or(1, |last| last.line);
        parser
            .problems
            .push(Problem::new(line, "the file ends inside a program unit: add the missing `end`"));
    }
    while !parser.scopes.is_empty() {
        parser.end();
    }
    let Parser { mut modules, outside, problems, .. } = parser;
    modules.push(outside);
    (modules, problems)
}

struct Parser<'a> {
    others: &'a [Module],
    modules: Vec<Module>,
    outside: Module,
    scopes: Vec<Scope>,
    problems: Vec<Problem>,
}

/// A `subroutine` or `function` statement: the prefix, and what follows the keyword.
struct Heading<'a> {
    prefix: &'a [Token],
    is_function: bool,
    rest: &'a [Token],
}

const PREFIXES: [&str; 6] = ["recursive", "pure", "elemental", "impure", "non_recursive", "module"];

/// A comma, `::` or `=` outside of parentheses before the keyword makes it something else: a
/// declaration, an assignment.
fn heading(all: &[Token]) -> Option<Heading<'_>> {
    let mut depth = 0i32;
    for (index, token) in all.iter().enumerate() {
        depth += i32::from(token.is("(")) - i32::from(token.is(")"));
        if token.is("::") || token.is("=") || token.is(",") && depth == 0 {
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
fn is_prefix(word: &str) -> bool {
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

impl Parser<'_> {
    /// Begins and ends units; what declares something goes to the unit that it stands in.
    fn statement(&mut self, statement: &Statement) {
        let all = tokens(&statement.text);
        // A label, and the name of a construct.
        let all = if matches!(all.first(), Some(Token::Number(_))) { &all[1..] } else { &all[..] };
        let Some(first) = all.first().and_then(Token::word) else { return };
        match self.scopes.last() {
            Some(Scope::Type) => {
                if ends(all, "type") {
                    self.scopes.pop();
                }
                return;
            }
            Some(Scope::Interface) if ends(all, "interface") => {
                self.scopes.pop();
                return;
            }
            _ => {}
        }
        if let Some(heading) = heading(all) {
            return self.begin_procedure(statement, &heading);
        }
        let second = all.get(1).and_then(Token::word);
        match (first, second) {
            ("end", None) if all.len() == 1 => self.end(),
            (
                "end",
                Some(
                    "subroutine" | "function" | "module" | "program" | "submodule" | "procedure"
                    | "block",
                ),
            ) if second != Some("block")
                || all.get(2).is_some_and(|third| third.is_word("data")) =>
            {
                self.end();
            }
            ("endsubroutine" | "endfunction" | "endmodule" | "endprogram" | "endsubmodule", _) => {
                self.end()
            }
            ("module", Some("procedure")) if all.len() > 2 => self.begin_separate(),
            ("module", Some(name)) if all.len() == 2 => self.begin_module(name),
            ("program" | "submodule", _) if !all.iter().any(|token| token.is("=")) => {
                self.scopes.push(Scope::Other)
            }
            ("block", Some("data")) => self.scopes.push(Scope::Other),
            // `interface assignment(=)` is none of an assignment to something of that name.
            ("interface", _) | ("abstract", Some("interface"))
                if !all.get(1).is_some_and(|second| second.is("=") || second.is("(")) =>
            {
                self.scopes.push(Scope::Interface);
            }
            ("type", _) if is_type_definition(all) => self.scopes.push(Scope::Type),
            _ => self.specification(statement, all),
        }
    }

    /// `module procedure f` begins a body in a submodule, and only names one in an interface.
    fn begin_separate(&mut self) {
        if !matches!(self.scopes.last(), Some(Scope::Interface)) {
            self.scopes.push(Scope::Other);
        }
    }

    /// Its constants are known to all that it contains.
    fn begin_module(&mut self, name: &str) {
        self.modules.push(Module { name: name.to_owned(), ..Module::default() });
        self.scopes.push(Scope::Module);
    }

    /// Which procedures are drafted: those of modules and those outside; of interfaces, those of
    /// procedures' own dummies.
    fn begin_procedure(&mut self, statement: &Statement, heading: &Heading<'_>) {
        let inside_procedure =
            matches!(self.scopes.last(), Some(Scope::Procedure(_) | Scope::Other));
        // Internal procedures are nobody else's, and interfaces of a module name what is defined
        // elsewhere.
        let is_dummy = matches!(self.scopes.last(), Some(Scope::Interface))
            && matches!(self.scopes.iter().rev().nth(1), Some(Scope::Procedure(_)));
        if inside_procedure {
            self.scopes.push(Scope::Other);
            return;
        }
        let in_module = !self.scopes.is_empty();
        let mut procedure = Procedure { line: statement.line, ..Procedure::default() };
        match (self.scopes.iter().rev().nth(1), self.modules.last()) {
            (Some(Scope::Procedure(outer)), _) if is_dummy => {
                procedure.constants = outer.constants.clone()
            }
            (_, Some(home)) if in_module => {
                procedure.constants = home.constants.clone();
                procedure.implicit = home.implicit.clone();
                procedure.unread = home.unread.clone();
            }
            _ => {}
        }
        procedure.is_separate = heading.prefix.iter().any(|token| token.is_word("module"));
        procedure.pure = !heading.prefix.iter().any(|token| token.is_word("impure"))
            && heading
                .prefix
                .iter()
                .any(|token| token.is_word("pure") || token.is_word("elemental"));
        read_heading(&mut procedure, heading);
        self.scopes.push(Scope::Procedure(Box::new(procedure)));
    }

    /// Ends the innermost unit, and puts a procedure where it belongs.
    fn end(&mut self) {
        let Some(Scope::Procedure(procedure)) = self.scopes.pop() else { return };
        match self.scopes.last() {
            Some(Scope::Interface) => {
                match (self.scopes.iter_mut().rev().nth(1), self.modules.last_mut()) {
                    (Some(Scope::Procedure(outer)), _) => {
                        outer.interfaces.push(Arc::new(*procedure))
                    }
                    // The body is in a submodule; what it takes is said here.
                    (Some(Scope::Module), Some(module)) if procedure.is_separate => {
                        module.procedures.push(*procedure)
                    }
                    (Some(Scope::Module), Some(module)) => {
                        module.interfaces.push(Arc::new(*procedure))
                    }
                    _ => {}
                }
            }
            Some(Scope::Module) => {
                if let Some(module) = self.modules.last_mut() {
                    module.procedures.push(*procedure);
                }
            }
            _ => self.outside.procedures.push(*procedure),
        }
    }

    /// Statements that declare something; all others are passed over.
    fn specification(&mut self, statement: &Statement, all: &[Token]) {
        let mut place = match self.scopes.last_mut() {
            Some(Scope::Procedure(procedure)) => Place::Procedure(procedure),
            Some(Scope::Module) => match self.modules.last_mut() {
                Some(module) => Place::Module(module),
                None => return,
            },
            _ => return,
        };
        match all[0].word() {
            Some("use") => place.use_module(all, self.others),
            Some("include") if matches!(all.get(1), Some(Token::Text(_))) => {
                place.include(all, statement)
            }
            Some("entry") if matches!(place, Place::Procedure(_)) && is_entry(all) => {
                self.problems.push(Problem::new(
                    statement.line,
                    "an ENTRY is not drafted: make it a separate procedure",
                ))
            }
            Some("implicit") => place.implicit(all),
            Some("parameter") => place.parameters(all),
            Some("private" | "public") => place.access(all),
            _ => place.declare(statement, all),
        }
    }
}

/// `end type` and `endtype`, with or without a name behind.
fn ends(all: &[Token], what: &str) -> bool {
    match all[0].word() {
        Some("end") => all.get(1).is_some_and(|second| second.is_word(what)),
        Some(word) => word.strip_prefix("end") == Some(what),
        None => false,
    }
}

/// `type name`, `type :: name`, `type, bind(c) :: name`; not `type(name) :: variable` or `type is
/// (…)`.
fn is_type_definition(all: &[Token]) -> bool {
    match all.get(1) {
        Some(Token::Sign("::" | ",")) => true,
        Some(Token::Word(word)) => word != "is" && all.len() == 2,
        _ => false,
    }
}

/// `entry name` and `entry name(…)`, not an assignment to something of that name.
fn is_entry(all: &[Token]) -> bool {
    all.get(1).and_then(Token::word).is_some() && all.get(2).is_none_or(|third| third.is("("))
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

/// The name, the dummies, and what a function returns.
fn read_heading(procedure: &mut Procedure, heading: &Heading<'_>) {
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

/// What a module gives to those that use it.
enum Named {
    Constant(i64),
    Interface(Arc<Procedure>),
}

/// Where declarations go.
enum Place<'a> {
    Procedure(&'a mut Procedure),
    Module(&'a mut Module),
}

impl Place<'_> {
    /// Named constants of the unit, those of its modules among them.
    fn constants(&mut self) -> &mut Constants {
        match self {
            Place::Procedure(procedure) => &mut procedure.constants,
            Place::Module(module) => &mut module.constants,
        }
    }

    /// `use, intrinsic :: module, only: here => there, name`
    fn use_module(&mut self, all: &[Token], others: &[Module]) {
        let begin = all.iter().position(|token| token.is("::")).map_or(1, |at| at + 1);
        let Some(name) = all.get(begin).and_then(Token::word) else { return };
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
    fn include(&mut self, all: &[Token], statement: &Statement) {
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
    fn implicit(&mut self, all: &[Token]) {
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
    fn parameters(&mut self, all: &[Token]) {
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
    fn access(&mut self, all: &[Token]) {
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

    /// A type declaration, or an attribute as a statement of its own.
    fn declare(&mut self, statement: &Statement, all: &[Token]) {
        let mut constants = self.constants().clone();
        let typed = type_spec(all, &constants);
        let (spec, rest) = typed.map_or((None, all), |(spec, rest)| (Some(spec), rest));
        let mut common = Declared { line: statement.line, ..Declared::default() };
        let colons = rest.iter().position(|token| token.is("::"));
        let mut names = rest;
        if spec.is_none() {
            let is_procedure = all[0].is_word("procedure");
            if !is_procedure && !attribute(all, &mut common, &constants) {
                return;
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
                if let (Place::Procedure(procedure), true) = (&mut *self, spec.is_some()) {
                    procedure
                        .problems
                        .push(Problem::new(statement.line, "a declaration that cannot be read"));
                }
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
