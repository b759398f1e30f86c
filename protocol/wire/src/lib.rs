//! Frames, messages and their codec (spec/wire.md). Pure: bytes in, values out, and back.
//!
//! Every type that is on the wire lives here and nowhere else. Decoders check lengths before they
//! allocate.

pub mod compressed;
mod data;
mod executables;
mod failure;
pub mod frame;
mod greeting;
mod ids;
pub mod kept;
pub mod message;
mod pilot;
mod placement;
mod plain;
mod pulls;
mod reader;
mod relay;
mod request;
mod resources;
mod run_timeout;
mod shown;
mod status;
mod streams;
mod transactions;

pub use compressed::{COMPRESSION, CompressedHead};
pub use data::{DATA, DATA_SHOWN_MAX, DataState, DataStatus, LEASE, lease_attribute, lease_of};
pub use executables::{
    CALLBACK, CALLBACKS, GIVES_UP, Loaded, POLLED_CANCEL, THREADS, callback_attribute,
    callback_slot, gives_up, gives_up_attribute, threads_attribute, threads_of,
};
pub use frame::{Flags, FrameHeader, FrameKind, HEADER_BYTES, PREFACE, padding};
pub use kept::{
    AGAIN, CLIENT, INSTANCE, KEEP, KEEP_US, Keep, KeptCall, KeptNote, KeptState, Lasting, NOTE,
    NOTE_BYTES_MAX, RESUME, Resume,
};
pub use message::{
    Argument, Attribute, ByteOrder, CallResult, CallTimes, Failure, Goodbye, Hello, HelloLimits,
    InlineBytes, NOTICES, Notice, ON, Open, RANKS, Role, Share, Window, wants,
};
pub use pilot::{
    FromPilot, PILOT_GREETING_BYTES_MAX, PILOT_MESSAGE_BYTES_MAX, PILOT_VERSION, PilotExecutable,
    PilotExited, PilotGreeting, PilotHello, PilotPiece, PilotProgram, PilotStart, ToPilot,
    encode_pilot, take_pilot,
};
pub use placement::{
    CallOutcome, DroppedAddress, GRANT, MeasuredTransfer, OfferedRoutine, PLACEMENT, PlaceAnswer,
    PlaceQuestion, PlacedServer, RanCall, ReportAnswer, ServerPresence, ServerReport, ServerState,
    StateQuestion, TOLD_MAX, grant_attribute, grant_of,
};
pub use plain::{
    OpenExtras, OpenHead, OpenWriter, decode_open, decode_result, decode_result_into, encode_open,
    encode_result,
};
pub use pulls::{
    OWN_USER, PULL_ADDRESSES_MAX, PULLS, PullRequest, SHARED_RESULTS, TICKET, TICKET_KEY, Ticket,
    TicketKey,
};
pub use reader::{FrameReader, Step};
pub use relay::{DIAL_BACK_MAX, RELAY, RELAY_HEAD_BYTES, RELAY_PREFACE, RelayTicket, RelayToken};
pub use request::{
    ENDED_CALLS, HoldRequest, InterfaceReply, ModuleReport, NESTED_CALLS, OBJECTS, Order,
    PUBLISHED_FILES, PUBLISHED_PIECES, Publication, PublishedFile, PublishedFiles, PublishedPiece,
    Reply, Request, URLS,
};
pub use resources::{AskedResources, RESOURCES, resources_attribute, resources_of};
pub use run_timeout::{RUN_TIMEOUT, run_timeout_attribute, run_timeout_of};
pub use shown::Shown;
pub use status::{
    DURATIONS_NS, JobStatus, ModuleStatus, ObjectState, ObjectStatus, OpenCall, ProcessorsStatus,
    STATUS, Stage, Status, Totals, Use,
};
pub use streams::{
    STREAM_CREDIT_BYTES, STREAM_FRAME_BYTES_MAX, STREAMS_MARK, STREAMS_MAX,
    STREAMS_NOISE_BYTES_MAX, StreamNumber, Streams, StreamsNews, StreamsSide,
};
pub use transactions::{
    CALLS_SHOWN_MAX, CallFailure, FAILURES_SHOWN_MAX, Promise, TRANSACTIONS,
    TRANSACTIONS_SHOWN_MAX, Timeline, TimelineRow, TimelineState, TransactionBegin, TransactionEnd,
    TransactionReply, TransactionRequest, TransactionResult, TransactionResults, TransactionStatus,
};
