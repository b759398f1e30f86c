//! The interface language, compiled interfaces and size expressions (spec/idl.md). Pure: no I/O.

pub mod canonical;
mod check;
mod compile;
pub mod decode;
pub mod diagnostic;
mod domain;
pub mod element;
pub mod encode;
pub mod evaluate;
pub mod expression;
pub mod format;
mod fortran;
pub mod help;
pub mod idl;
pub mod infer;
pub mod interface;
pub mod json;
pub mod layout;
mod lexer;
pub mod nearest;
mod parse;
mod raw;
mod reader;
pub mod runs;
pub mod scope;
pub mod signature;
pub mod sizer;
mod source;
pub mod text;
mod token;
mod validate;
pub mod values;
mod words;

pub use compile::{FILE_BYTES_MAX, compile, needs_preprocessor};
pub use diagnostic::{DIAGNOSTICS_MAX, Diagnostic, Diagnostics};
pub use nearest::nearest;
