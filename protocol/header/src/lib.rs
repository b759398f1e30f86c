//! Drafts interface files from C headers. Pure: text in, text out.
//!
//! What a declaration says is taken from it: types, sizes of arrays, functions that are passed,
//! comments. What it does not say is never guessed: the function is drafted as a comment, and a
//! [`Problem`] names line, column and reason. A struct that the header only names is an opaque
//! handle: the functions that make, take and free it are drafted as a class.

mod class;
mod context;
mod declaration;
mod draft;
mod extent;
mod function;
mod headers;
mod interface;
mod layout;
mod plain;
mod result;
mod sizes;
mod text;
mod token;
mod types;

pub use draft::{Draft, draft};
pub use plain::plain;

/// A header of more bytes is refused, what it includes being part of it.
pub const FILE_BYTES_MAX: usize = 16 << 20;

/// A header, preprocessed or [`plain`].
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its name: line marks that the preprocessor writes tell it from what it includes.
    pub name: &'a str,
    /// What is in it.
    pub text: &'a str,
}

/// A place in a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
}

/// What keeps a function from being drafted, or should be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The header's name.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// What, and what to do about it.
    pub message: String,
}

impl Problem {
    fn new(place: Place, message: impl Into<String>) -> Problem {
        Problem { file: String::new(), place, message: message.into() }
    }
}
