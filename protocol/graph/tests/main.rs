//! Tests of graphs of calls, in one program.
#![allow(clippy::unwrap_used)]

mod fuzz;
mod graph;
mod judge;
mod late;
mod lost;
mod message;
mod plain;
mod record;
mod timeline;
mod world;
