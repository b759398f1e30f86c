//! Tests of the wire's codec (spec/wire.md): vectors, round trips, explained malformed inputs, the
//! reader, fuzz.
#![allow(clippy::unwrap_used)]

mod body;
mod fuzz;
mod malformed;
mod pilot;
mod random;
mod random_data;
mod random_placement;
mod reader;
mod requests;
mod round_trip;
mod samples;
mod samples_data;
mod samples_placement;
mod samples_transactions;
mod specification;
mod tickets;
mod vectors;
