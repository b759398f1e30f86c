//! Tests of graphs of calls, in one program.
#![allow(clippy::unwrap_used)]

mod graph;
mod late;
mod lost;
mod plain;
mod world;
