//! The client against a server that does what a test says: late, never, or otherwise than a good
//! one would.

#![allow(clippy::unwrap_used)]

mod scripted {
    pub mod callbacks;
    pub mod ends;
    pub mod fake;
    pub mod farm;
    pub mod gathering;
    pub mod heartbeat;
    pub mod interfaces;
    pub mod lending;
    pub mod members;
    pub mod moving;
    pub mod placing;
    pub mod questions;
    pub mod sending;
    pub mod timeouts;
    pub mod transactions;
}
