//! Calls: from their Open to their outcome, with their arrays, callbacks and calls inside them.

pub(super) mod callback;
pub(super) mod cancel;
pub(super) mod check;
pub(super) mod dispatch;
pub(super) mod fetch;
pub(super) mod files;
pub(super) mod nest;
pub(super) mod notices;
pub(super) mod open;
pub(super) mod place;
pub(super) mod ranks;
pub(super) mod resources;
mod share;
pub(super) mod stall;
mod threads;
pub(super) mod translate;

pub use place::{SlotMemory, result_memory};
