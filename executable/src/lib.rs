//! The library every executable is built on: the generic host and linked executables.

pub mod build;
pub mod confine;
pub mod entry;
pub mod image;
pub mod library;
pub mod serve;
mod words;
