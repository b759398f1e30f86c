//! The interface language, compiled interfaces and size expressions (spec/idl.md). Pure: no I/O.

pub mod expression;
pub mod interface;
