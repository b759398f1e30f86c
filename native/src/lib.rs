//! Machine code and its calling conventions: calls routines through their C signatures, and makes
//! functions for them to call. What an executable needs to run a routine, and a client to run a
//! callback.

mod closure;
mod entry;
pub mod invoke;
pub mod running;
pub mod signature;
pub mod taken;

pub use closure::{Closure, Entered};
pub use entry::EntryPoint;
