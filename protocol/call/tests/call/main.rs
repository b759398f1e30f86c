//! Tests of the call state machines (spec/call.md): golden conversations, properties of two ends,
//! hostile frames.
#![allow(clippy::unwrap_used)]

mod conversation;
mod flood;
mod fuzz;
mod golden;
mod owner;
mod property;
mod words;
