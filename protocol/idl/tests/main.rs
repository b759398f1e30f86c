//! The crate from outside: the language, and what is done with interfaces.

#![allow(clippy::unwrap_used)]

mod encode;
mod evaluate;
mod fixture;
mod given;
mod infer;
mod judge;
mod language;
mod layout;
mod published;
mod render;
mod vectors;
