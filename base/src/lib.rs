//! Ids, units, the error type, and the clock and random traits. Standard library only.
//!
//! Everything else in the house stands on this crate; it does no I/O itself. Time and randomness
//! are traits, so that the shipped state machines run unchanged in virtual time.

pub mod abi;
mod crowd;
mod error;
mod ids;
mod nearest;
mod printable;
mod resources;
mod source_text;
mod time;
mod units;
mod word;

pub use crowd::Crowd;
pub use error::{Error, ErrorKind, Result};
pub use ids::{
    CallId, ChannelId, ConnectionId, DataId, ExecutableId, ObjectId, SegmentId, TransactionId,
};
pub use nearest::nearest;
pub use printable::{is_obeyed, printable, printable_json, printable_line, printable_output};
pub use resources::Resources;
pub use source_text::SourceText;
pub use time::{Clock, Instant, Random, SeededRandom, SystemClock};
pub use units::Bytes;
pub use word::Word;
