//! The interface language, tested from outside: golden outputs, golden diagnostics, rules, and a fuzz loop.
#![allow(clippy::unwrap_used)]

mod dump;
mod fuzz;
mod golden;
mod layout;
mod rules;
