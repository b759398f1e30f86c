//! The interface language, tested from outside: golden outputs, golden diagnostics, rules, and a
//! fuzz loop.

mod dump;
mod fuzz;
mod golden;
mod layout;
mod old;
mod rules;
