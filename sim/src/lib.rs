//! Simulated world: the shipped state machines in virtual time.
//!
//! A [`World`] is a network, one server or several with metaservers, their executables and clients.
//! The decisions of servers (`farcall_rpc_server::step`) and of metaservers
//! (`farcall_metaserver::step`), every connection's state machine, links, frames and arrays are the
//! shipped ones; time, chance, processes and routines are simulated. A [`Plan`] says what happens,
//! a seed decides the rest: the same two give the same trace, byte for byte.

mod client;
mod end;
mod frames;
mod held;
mod machine;
mod metaserver;
mod module;
mod node;
mod placer;
mod plan;
mod process;
mod program;
mod promises;
mod spawner;
pub mod study;
mod world;

pub use plan::Plan;
pub use world::{Report, World};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
