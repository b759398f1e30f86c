//! Frames, messages and their codec (spec/wire.md). Pure: bytes in, values out, and back.
//!
//! Every type that is on the wire lives here and nowhere else. Decoders check lengths before they allocate.

pub mod compressed;
pub mod frame;
pub mod message;
mod reader;
mod status;

pub use compressed::{COMPRESSION, CompressedHead};
pub use frame::{Flags, FrameHeader, FrameKind, HEADER_BYTES, PREFACE, padding};
pub use message::{
    Argument, Attribute, ByteOrder, CallResult, CallTimes, Failure, Goodbye, Hello, HelloLimits, InlineBytes,
    InterfaceReply, ModuleReport, NESTED_CALLS, NOTICES, Notice, Open, Order, Publication, Reply, Request, Resume,
    Role, Share, Window, wants,
};
pub use reader::{FrameReader, Step};
pub use status::{DURATIONS_NS, ModuleStatus, OpenCall, STATUS, Stage, Status, Totals, Use};
