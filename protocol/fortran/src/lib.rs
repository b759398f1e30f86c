//! Drafts interface files from the declarations of Fortran sources. Pure: text in, text out.
//!
//! What the language's declarations say is taken from them: types and kinds, intents, extents. What
//! they do not say is never guessed: the routine is drafted as a comment, and a [`Problem`] names
//! line and reason. Module procedures have names of their compiler's making, and assumed-shape
//! arguments its private descriptors, so they get wrappers with explicit shapes, which the site's
//! own compiler compiles.

mod body;
mod callback;
mod called;
mod constant;
mod declare;
mod dialect;
mod draft;
mod expression;
mod fixed;
mod interface;
mod kinds;
mod parse;
mod source;
mod sources;
mod token;
mod unit;
mod wrapper;

pub use dialect::{Dialect, Kinds};
pub use draft::{Draft, draft};
pub use source::{Form, is_directive};
pub use sources::SOURCES_MAX;

/// A source of more bytes is refused.
pub const FILE_BYTES_MAX: usize = 4 << 20;

/// Gives the text of a file that a source includes: the source's name, and the file's as it is
/// written there. `Err` says why it does not.
pub type Includes<'a> = &'a dyn Fn(&str, &str) -> Result<String, String>;

/// A source file.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its name, for comments and messages.
    pub name: &'a str,
    /// What is in it.
    pub text: &'a str,
    /// How it is laid out.
    pub form: Form,
}

/// What keeps a routine from being drafted, or should be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The source's name.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// What, and what to do about it.
    pub message: String,
}

impl Problem {
    /// At this line.
    fn new(line: usize, message: impl Into<String>) -> Problem {
        Problem { file: String::new(), line, message: message.into() }
    }

    /// The same in this source.
    fn of(self, file: &str) -> Problem {
        Problem { file: file.to_owned(), ..self }
    }
}
