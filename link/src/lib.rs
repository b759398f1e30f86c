//! How bytes and memory travel between two processes: streams, the links on them, argument memory,
//! arrays packed and compressed on their way.

pub mod compression;
pub mod content;
pub mod contents;
pub mod hosts;
pub mod line;
mod link;
pub mod memory;
pub mod packing;
pub mod stream;
pub mod strided;
pub mod turnstile;

pub use link::{Control, FrameHandler, FrameSource, Link, QUEUE_BYTES, READ_AHEAD, Received};
