//! Program units: which modules and procedures a source has, what they declare, and what their
//! executable statements do with names.

mod heading;
mod place;

use std::sync::Arc;

use crate::Problem;
use crate::body::is_assignment;
use crate::constant::Constants;
use crate::declare::is_declaration;
use crate::dialect::Dialect;
use crate::source::{Form, Statement};
use crate::token::{Token, tokens};
use crate::unit::{Module, Procedure};
use heading::{Heading, heading, read_heading};
use place::Place;

/// What encloses a statement.
enum Scope {
    Module,
    /// A procedure that is to be drafted, or an interface of one.
    Procedure(Box<Procedure>),
    /// Internal procedures, programs, submodules: their content is nobody else's.
    Other,
    /// With the generic name that it has.
    Interface(Option<String>),
    Type,
}

/// Reads a source: its modules in order, and last the procedures outside of modules. `others` are
/// modules that it may use.
pub fn parse(
    statements: &[Statement],
    form: Form,
    dialect: &Dialect,
    others: &[Module],
) -> (Vec<Module>, Vec<Problem>) {
    let mut parser = Parser {
        is_fixed: form != Form::Free,
        dialect,
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
    is_fixed: bool,
    dialect: &'a Dialect,
    others: &'a [Module],
    modules: Vec<Module>,
    outside: Module,
    scopes: Vec<Scope>,
    problems: Vec<Problem>,
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
            Some(Scope::Interface(_)) if ends(all, "interface") => {
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
            ("procedure", _) if self.is_in_generic() => self.add_specific(all),
            ("module", Some("procedure")) if all.len() > 2 => {
                self.add_specific(&all[1..]);
                self.begin_separate();
            }
            ("module", Some(name)) if all.len() == 2 => self.begin_module(name),
            ("program" | "submodule", _) if !all.iter().any(|token| token.is("=")) => {
                self.scopes.push(Scope::Other)
            }
            ("block", Some("data")) => self.scopes.push(Scope::Other),
            // `interface assignment(=)` is none of an assignment to something of that name.
            ("interface", _) | ("abstract", Some("interface"))
                if !all.get(1).is_some_and(|second| second.is("=") || second.is("(")) =>
            {
                self.scopes.push(Scope::Interface(generic_name(all)));
            }
            ("type", _) if is_type_definition(all) => self.scopes.push(Scope::Type),
            _ => self.specification(statement, all),
        }
    }

    /// `module procedure f` begins a body in a submodule, and only names one in an interface.
    fn begin_separate(&mut self) {
        if !matches!(self.scopes.last(), Some(Scope::Interface(_))) {
            self.scopes.push(Scope::Other);
        }
    }

    fn is_in_generic(&self) -> bool {
        matches!(self.scopes.last(), Some(Scope::Interface(Some(_))))
    }

    /// `procedure :: a, b` in the interface of a generic name.
    fn add_specific(&mut self, all: &[Token]) {
        let (Some(Scope::Interface(Some(generic))), Some(module)) =
            (self.scopes.last(), self.modules.last_mut())
        else {
            return;
        };
        let names = all[1..].iter().filter_map(Token::word).map(str::to_owned).collect();
        module.generics.push((generic.clone(), names));
    }

    /// Its constants are known to all that it contains.
    fn begin_module(&mut self, name: &str) {
        let constants = Constants::of(self.dialect.kinds);
        self.modules.push(Module { name: name.to_owned(), constants, ..Module::default() });
        self.scopes.push(Scope::Module);
    }

    /// Which procedures are drafted: those of modules and those outside; of interfaces, those of
    /// procedures' own dummies.
    fn begin_procedure(&mut self, statement: &Statement, heading: &Heading<'_>) {
        let inside_procedure =
            matches!(self.scopes.last(), Some(Scope::Procedure(_) | Scope::Other));
        // Internal procedures are nobody else's, and interfaces of a module name what is defined
        // elsewhere.
        let is_dummy = matches!(self.scopes.last(), Some(Scope::Interface(_)))
            && matches!(self.scopes.iter().rev().nth(1), Some(Scope::Procedure(_)));
        if inside_procedure {
            self.scopes.push(Scope::Other);
            return;
        }
        let in_module = !self.scopes.is_empty();
        let mut procedure = Procedure {
            line: statement.line,
            is_fixed: self.is_fixed,
            constants: Constants::of(self.dialect.kinds),
            ..Procedure::default()
        };
        procedure.state.saves_all = self.dialect.saves_all;
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
            Some(Scope::Interface(_)) => {
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

    /// Statements that declare something, and those that do something.
    fn specification(&mut self, statement: &Statement, all: &[Token]) {
        let mut place = match self.scopes.last_mut() {
            Some(Scope::Procedure(procedure)) => Place::Procedure(procedure),
            Some(Scope::Module) => match self.modules.last_mut() {
                Some(module) => Place::Module(module),
                None => return,
            },
            Some(Scope::Other) => return self.internal(all),
            _ => return,
        };
        match all[0].word() {
            _ if is_assignment(all) => place.execute(statement, all),
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
            Some("common") => place.common(statement, all),
            Some("save") => place.save(all),
            Some("data") => place.data(all),
            Some("equivalence" | "namelist") => place.unclear(all),
            Some(word) if NOTHING_SAID.contains(&word) => {}
            Some(word) if is_declaration(word) => place.declare(statement, all),
            _ => place.execute(statement, all),
        }
    }

    /// An internal procedure may do anything with the names of the one that contains it.
    fn internal(&mut self, all: &[Token]) {
        let outer = self.scopes.iter_mut().rev().find_map(|scope| match scope {
            Scope::Procedure(procedure) => Some(procedure),
            _ => None,
        });
        if let Some(procedure) = outer {
            procedure.body.unclear(all);
        }
    }
}

/// Statements that say nothing of arguments.
const NOTHING_SAID: [&str; 11] = [
    "automatic",
    "bind",
    "contains",
    "enum",
    "enumerator",
    "generic",
    "import",
    "intrinsic",
    "protected",
    "sequence",
    "static",
];

/// The name of `interface name`; operators and abstract interfaces have none.
fn generic_name(all: &[Token]) -> Option<String> {
    match all {
        [_, Token::Word(name)] if !all[0].is_word("abstract") => Some(name.clone()),
        _ => None,
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
