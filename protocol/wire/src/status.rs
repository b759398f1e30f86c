//! What a server tells of itself: who calls what, what waits, and what it uses (spec/wire.md,
//! section 4).
//!
//! Counts begin with the server's start and only grow. Who asks twice knows rates.

use farcall_base::{CallId, ObjectId};
use minicbor::{Decode, Encode};

use crate::ids::id;
use crate::kept::KeptCall;

/// The feature that allows [`crate::Request::Status`] and [`crate::Reply::Status`].
pub const STATUS: &str = "status";

/// Upper ends of all but the last class of [`Use::durations`], in nanoseconds: about two in each
/// factor of ten.
pub const DURATIONS_NS: [u64; 15] = [
    10_000,
    30_000,
    100_000,
    300_000,
    1_000_000,
    3_000_000,
    10_000_000,
    30_000_000,
    100_000_000,
    300_000_000,
    1_000_000_000,
    3_000_000_000,
    10_000_000_000,
    100_000_000_000,
    1_000_000_000_000,
];

/// A server, now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Status {
    /// Program and version.
    #[n(1)]
    pub product: String,
    /// Time since it started, in nanoseconds.
    #[n(2)]
    pub up_ns: u64,
    /// Whether it accepts no more calls.
    #[n(3)]
    pub draining: bool,
    /// Calls that are open, oldest first; of many, the oldest.
    #[n(4)]
    pub calls: Vec<OpenCall>,
    /// All calls that are open.
    #[n(5)]
    pub calls_open: u64,
    /// Who called what, so far.
    #[n(6)]
    pub uses: Vec<Use>,
    /// Modules that have executables or waiting calls.
    #[n(7)]
    pub modules: Vec<ModuleStatus>,
    /// What only administrators see.
    #[n(8)]
    pub totals: Option<Totals>,
    /// The server's clock, in microseconds since the beginning of 1970: what certificates are
    /// judged by there.
    #[n(9)]
    pub clock_us: Option<u64>,
    /// Objects, oldest first; of many, the oldest.
    #[cbor(n(10), default)]
    pub objects: Vec<ObjectStatus>,
    /// All objects.
    #[cbor(n(12), default)]
    pub objects_held: u64,
    /// Calls that are kept, oldest first; of many, the oldest. Only administrators see them here.
    #[n(11)]
    pub kept: Option<Vec<KeptCall>>,
    /// Jobs that launchers hold for the server, oldest first. Only administrators see them.
    #[n(13)]
    pub jobs: Option<Vec<JobStatus>>,
    /// Whether the server is its owner's own, by how it was started: what the owner publishes there
    /// has the owner's rights. Nothing: the server does not say.
    #[n(14)]
    pub own: Option<bool>,
    /// Processors that calls may have together on the server's host, and those that they have.
    #[n(15)]
    pub processors: Option<ProcessorsStatus>,
}

/// Processors of a server's host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ProcessorsStatus {
    /// What calls may have together.
    #[n(0)]
    pub max: u32,
    /// What they have; more where one goes on that had lent its own to others.
    #[n(1)]
    pub taken: u64,
}

/// A job of a batch system, or of another launcher.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct JobStatus {
    /// The server's number for it.
    #[n(1)]
    pub number: u64,
    /// Its launcher.
    #[n(2)]
    pub launcher: String,
    /// What its launcher calls it; empty until it does.
    #[n(3)]
    pub id: String,
    /// `submitting`, `pending`, `active` or `ending`.
    #[n(4)]
    pub state: String,
    /// What its launcher says of it: its place in a queue, and why it waits.
    #[n(5)]
    pub text: String,
    /// Executables that it is for.
    #[n(6)]
    pub slots: u32,
    /// Executables that run in it.
    #[n(7)]
    pub running: u32,
    /// Where.
    #[n(8)]
    pub hosts: Vec<String>,
    /// Time since it was asked for, in microseconds.
    #[n(9)]
    pub age_us: u64,
}

/// Counts of the server as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Totals {
    /// Connections of clients now.
    #[n(1)]
    pub clients: u64,
    /// Clients that ever connected.
    #[n(2)]
    pub connected: u64,
    /// Of them, those that were refused or broke a rule.
    #[n(3)]
    pub refused: u64,
    /// Executables that were started.
    #[n(4)]
    pub started: u64,
    /// Executables that the server stopped.
    #[n(5)]
    pub stopped: u64,
    /// Executables that ended though the server did not want it, or could not be started.
    #[n(6)]
    pub crashed: u64,
    /// Bytes of argument memory that open calls hold.
    #[n(7)]
    pub memory_used: u64,
    /// Bytes of argument memory that lie ready for calls, used ones among them.
    #[n(8)]
    pub memory_held: u64,
    /// Bytes of memory that clients share.
    #[n(9)]
    pub memory_shared: u64,
}

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Stage {
    /// Its arguments come.
    #[n(0)]
    Arriving,
    /// It waits for an executable.
    #[n(1)]
    Waiting,
    /// An executable has it.
    #[n(2)]
    Running,
    /// Its results leave.
    #[n(3)]
    Leaving,
}

impl Stage {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Stage::Arriving => "arriving",
            Stage::Waiting => "waiting",
            Stage::Running => "running",
            Stage::Leaving => "leaving",
        }
    }
}

/// A call that is open.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct OpenCall {
    /// Its id.
    #[cbor(n(1), with = "id")]
    pub id: CallId,
    /// Whose.
    #[n(2)]
    pub principal: String,
    /// From where.
    #[n(3)]
    pub peer: String,
    /// What, in full.
    #[n(4)]
    pub routine: String,
    /// How far.
    #[n(5)]
    pub stage: Stage,
    /// Time since its Open came, in nanoseconds.
    #[n(6)]
    pub age_ns: u64,
}

/// What became of the calls of one principal to one routine. Without a routine: of those that never
/// began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Use {
    /// Whose.
    #[n(1)]
    pub principal: String,
    /// What, in full; empty for calls that were refused.
    #[n(2)]
    pub routine: String,
    /// Calls that were accepted.
    #[n(3)]
    pub begun: u64,
    /// Calls that returned.
    #[n(4)]
    pub returned: u64,
    /// Calls that failed or were refused, by number of the kind of error.
    #[n(5)]
    pub failed: Vec<(u16, u64)>,
    /// Bytes of arguments, strings not counted.
    #[n(6)]
    pub bytes_in: u64,
    /// Bytes of results, strings not counted.
    #[n(7)]
    pub bytes_out: u64,
    /// Calls that ended, by the time from Open to outcome: up to each of [`DURATIONS_NS`], and
    /// longer.
    #[n(8)]
    pub durations: Vec<u64>,
    /// Sum of these times, in nanoseconds.
    #[n(9)]
    pub duration_ns: u64,
    /// The part of it in which routines ran; the rest is transfer and the queue.
    #[cbor(n(10), default)]
    pub running_ns: u64,
}

/// A module's executables and its line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ModuleStatus {
    /// Its name.
    #[n(1)]
    pub module: String,
    /// Calls that wait.
    #[n(2)]
    pub waiting: u64,
    /// Executables that come.
    #[n(3)]
    pub starting: u64,
    /// Executables that are free.
    #[n(4)]
    pub idle: u64,
    /// Executables that work.
    #[n(5)]
    pub busy: u64,
    /// Executables that end.
    #[n(6)]
    pub ending: u64,
}

/// How far an object has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum ObjectState {
    /// Its executable comes.
    #[n(0)]
    Starting,
    /// It can take a call.
    #[n(1)]
    Idle,
    /// A call runs on it.
    #[n(2)]
    Busy,
    /// It was told to end.
    #[n(3)]
    Ending,
    /// It has ended though its owner did not want it.
    #[n(4)]
    Ended,
}

impl ObjectState {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            ObjectState::Starting => "starting",
            ObjectState::Idle => "idle",
            ObjectState::Busy => "busy",
            ObjectState::Ending => "ending",
            ObjectState::Ended => "ended",
        }
    }
}

/// An executable that is held for somebody.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ObjectStatus {
    /// Its id.
    #[cbor(n(1), with = "id")]
    pub id: ObjectId,
    /// Whose.
    #[n(2)]
    pub principal: String,
    /// `module/Class`, or the routine that it runs, in full.
    #[n(3)]
    pub name: String,
    /// How far it has come.
    #[n(4)]
    pub state: ObjectState,
    /// Calls on it so far, the one that runs included.
    #[n(5)]
    pub calls: u64,
    /// Calls that wait for it.
    #[n(6)]
    pub waiting: u64,
    /// Time since it was asked for, in nanoseconds.
    #[n(7)]
    pub age_ns: u64,
    /// While its owner is away: time until it ends, in nanoseconds.
    #[n(8)]
    pub lease_left_ns: Option<u64>,
    /// Its process, while there is one.
    #[n(9)]
    pub pid: Option<u32>,
    /// Why it has ended.
    #[n(10)]
    pub reason: Option<String>,
}
