//! In-process transport in virtual time: delay, rate, loss, crashes, and the same run again for the
//! same seed.
//!
//! Nothing here reads a clock, and nothing happens until somebody says that time has passed: the
//! driver lets both ends work until neither can, asks the [`Network`] for its next event, and
//! advances to it.

mod direction;
mod memory;
mod network;
mod stream;
mod trace;

pub use memory::HeapMemory;
pub use network::{LINKS_MAX, LinkId, LinkPlan, Network, Pair};
pub use trace::{Event, TRACE_MAX, Trace};

#[cfg(test)]
mod tests;
