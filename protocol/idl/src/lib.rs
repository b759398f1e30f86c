//! The interface language, compiled interfaces and size expressions (spec/idl.md). Pure: no I/O.

pub mod element;
pub mod evaluate;
pub mod expression;
pub mod interface;
pub mod layout;
pub mod runs;
pub mod scope;
pub mod text;
pub mod values;
