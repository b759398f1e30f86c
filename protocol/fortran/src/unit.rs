//! What was read of a source: modules, procedures and their dummy arguments.

use std::collections::HashMap;
use std::sync::Arc;

use crate::Problem;
use crate::body::{Body, Names};
use crate::constant::Constants;
use crate::expression::Expression;

/// A type without its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    Integer,
    Real,
    Complex,
    Logical,
    Character,
    /// A derived type, polymorphic or not.
    Derived(String),
}

/// How long a CHARACTER is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Length {
    Is(Expression),
    /// `*`: that of the actual argument.
    Assumed,
    /// `:`, or an expression that has no form here.
    Unknown,
}

/// A declared type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeSpec {
    pub base: Base,
    /// `Err` with the words of one that nobody knows.
    pub kind: Result<i64, String>,
    pub length: Length,
}

/// One dimension of a declared shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    Extent(Expression),
    /// `:` or `lower:`.
    AssumedShape,
    /// `*`.
    AssumedSize,
    /// An expression that has no form here.
    Unknown,
}

/// What a dummy's declaration lets the procedure do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    In,
    Out,
    InOut,
}

/// A declared name.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    pub line: usize,
    pub type_spec: Option<TypeSpec>,
    pub shape: Vec<Bound>,
    pub intent: Option<Intent>,
    pub by_value: bool,
    pub optional: bool,
    pub allocatable: bool,
    pub pointer: bool,
    pub external: bool,
    /// The interface that `procedure(interface)` names.
    pub interface: Option<String>,
    pub parameter: bool,
    /// Attributes that callers need not know.
    pub others: Vec<&'static str>,
    /// `dimension(..)`.
    pub assumed_rank: bool,
    pub comment: String,
}

/// A subroutine or function.
#[derive(Clone, Debug, Default)]
pub struct Procedure {
    pub name: String,
    pub line: usize,
    pub dummies: Vec<String>,
    /// Of an interface that no source has: the line of the call from which it was made.
    pub called_in: Option<usize>,
    /// Of a function: the name of its result.
    pub result: Option<String>,
    pub declared: HashMap<String, Declared>,
    /// Interfaces of procedures that are dummies, and those that `procedure(interface)` names.
    pub interfaces: Vec<Arc<Procedure>>,
    pub pure: bool,
    /// `module subroutine` in an interface block: its body is in a submodule.
    pub is_separate: bool,
    /// What the linker calls it, with `bind(C)`.
    pub binding: Option<String>,
    /// Files that it includes, and that could not be read: types may be declared there.
    pub unread: Vec<String>,
    pub constants: Constants,
    /// Types by first letters; `None` for `implicit none`.
    pub implicit: Implicit,
    /// Statements that could not be read, and other reasons not to draft it.
    pub problems: Vec<Problem>,
    pub has_alternate_returns: bool,
    /// Whether its source has fixed form, where an extent of 1 may stand for any.
    pub is_fixed: bool,
    pub body: Body,
    pub state: State,
}

/// What outlasts a call.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Variables of COMMON blocks, by the block's name.
    pub commons: Vec<(String, String)>,
    /// Local variables that keep their values.
    pub saved: Vec<String>,
    /// All local variables do.
    pub saves_all: bool,
    /// Modules that are used.
    pub uses: Vec<String>,
}

impl Procedure {
    /// What is declared, for a look at the body.
    pub fn names(&self) -> Names<'_> {
        Names { declared: &self.declared, dummies: &self.dummies }
    }
}

/// Types of names that are not declared.
#[derive(Clone, Debug, Default)]
pub struct Implicit {
    pub none: bool,
    pub rules: Vec<(char, char, TypeSpec)>,
}

/// A module, or the procedures outside of all.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Empty for the procedures outside.
    pub name: String,
    pub procedures: Vec<Procedure>,
    pub constants: Constants,
    /// Those of its own interface blocks, and of modules that it uses.
    pub interfaces: Vec<Arc<Procedure>>,
    /// Files that it includes, and that could not be read.
    pub unread: Vec<String>,
    pub implicit: Implicit,
    pub private_by_default: bool,
    /// Generic names, and the procedures behind each.
    pub generics: Vec<(String, Vec<String>)>,
    /// Variables that all procedures see.
    pub variables: Vec<String>,
    /// Modules that are used.
    pub uses: Vec<String>,
    pub public: Vec<String>,
    pub private: Vec<String>,
}

impl Module {
    /// The name by which others may call the procedure: its own, or a generic one.
    pub fn name_outside<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        let generics =
            self.generics.iter().filter(|(_, behind)| behind.iter().any(|one| one == name));
        let mut names = std::iter::once(name).chain(generics.map(|(generic, _)| generic.as_str()));
        names.find(|name| self.shows(name))
    }

    fn shows(&self, name: &str) -> bool {
        let listed = |list: &[String]| list.iter().any(|one| one == name);
        if self.private_by_default { listed(&self.public) } else { !listed(&self.private) }
    }
}
