//! A function as its header declares it.

use crate::Place;
use crate::types::{Qualified, Type};

/// A function, or the type of one that is passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub name: String,
    /// The header's name.
    pub file: String,
    pub place: Place,
    /// The comment before it.
    pub doc: String,
    pub result: Qualified,
    pub parameters: Vec<Parameter>,
    /// Why its parameters are not known: `...`, `()`.
    pub refusal: Option<&'static str>,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its own, or `arg1`.
    pub name: String,
    pub place: Place,
    pub kind: Type,
}
