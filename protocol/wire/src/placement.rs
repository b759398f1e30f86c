//! What servers tell of themselves, and where calls should run (spec/placement.md, section 10).

mod contracts;

use minicbor::{Decode, Encode};

use crate::message::{Attribute, decode, encode};
use crate::request::InterfaceReply;
use farcall_base::Result;

/// The feature that allows [`crate::Request::Report`], [`crate::Request::State`],
/// [`crate::Request::Place`], [`crate::Request::Outcomes`], [`crate::Request::Servers`] and their
/// answers.
pub const PLACEMENT: &str = "placement";

/// The attribute of an Open whose server was found by a metaserver: the number of its grant. Not
/// critical: it is by this that the server tells the metaserver that the call has come.
pub const GRANT: &str = "grant";

/// Names of other servers in one question or answer, and calls and outcomes that are told at a time.
pub const TOLD_MAX: usize = 1024;

/// How a server is.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct ServerReport {
    /// What others call it: the address that its users write.
    #[n(1)]
    pub name: String,
    /// Where clients reach it, the best first; none: only through the reporter.
    #[n(2)]
    pub addresses: Vec<String>,
    /// Its host, as its Hello names it.
    #[n(3)]
    pub host: String,
    /// Hosts that share a fast network have one site; empty: the host alone.
    #[n(4)]
    pub site: String,
    /// This run of it.
    #[cbor(n(5), with = "minicbor::bytes")]
    pub instance: [u8; 16],
    /// Processors that calls may have together.
    #[n(6)]
    pub processors: u32,
    /// Of them, those that calls have.
    #[n(7)]
    pub busy: f64,
    /// Calls that run or wait.
    #[n(8)]
    pub calls: u64,
    /// Processor-seconds that calls before a new one need.
    #[n(9)]
    pub backlog_s: f64,
    /// Processes of others that want a processor, on average.
    #[n(10)]
    pub load: f64,
    /// How long an executable takes to start.
    #[n(11)]
    pub start_s: f64,
    /// Another number when it publishes something else.
    #[n(12)]
    pub revision: u64,
    /// All that it publishes; left out where the receiver knows it by its revision.
    #[n(13)]
    pub offers: Option<Vec<OfferedRoutine>>,
    /// Interfaces that the receiver asked for.
    #[n(14)]
    pub interfaces: Option<Vec<InterfaceReply>>,
    /// Modules that have an executable that waits for calls.
    #[n(15)]
    pub warm: Vec<String>,
    /// How long jobs waited lately, where calls run in jobs.
    #[n(16)]
    pub job_wait_s: Option<f64>,
    /// Operations a second, where it measured itself.
    #[n(17)]
    pub speed: Option<f64>,
    /// Whether it takes no more calls.
    #[n(18)]
    pub draining: bool,
    /// Bytes of memory that are free on its host.
    #[n(19)]
    pub memory_free: u64,
    /// Calls that ran since the last report; of many, some of each routine.
    #[n(20)]
    pub runs: Vec<RanCall>,
    /// Grants whose calls have begun to come since the last report.
    #[n(21)]
    pub begun: Vec<u64>,
    /// Grants whose calls have all their arguments since the last report.
    #[n(22)]
    pub arrived: Vec<u64>,
    /// Metaservers that it reports to: clients go on there when one is gone.
    #[n(23)]
    pub metaservers: Vec<String>,
    /// Product and version.
    #[n(24)]
    pub product: String,
    /// Whether it leads to other servers: then all else is said of them together.
    #[cbor(n(25), default)]
    pub leads: bool,
}

/// A routine that a server publishes.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct OfferedRoutine {
    /// `module/name`.
    #[n(0)]
    pub name: String,
    /// Its contract's hash.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub contract: [u8; 32],
    /// Whether its calls run in jobs of a launcher.
    #[n(2)]
    pub in_jobs: bool,
    /// Metaservers on the way to it from the server that offers it; none: it has it itself.
    #[n(3)]
    pub hops: Option<u32>,
}

/// A call that ran, as its server measured it.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct RanCall {
    /// The routine: the hash of its contract and its full name.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub routine: [u8; 32],
    /// A hash of its scalars.
    #[n(2)]
    pub sizes: u64,
    /// How much it did: operations, or bytes of arrays.
    #[n(3)]
    pub amount: f64,
    /// Threads that it had.
    #[n(4)]
    pub threads: u32,
    /// While it ran.
    #[n(5)]
    pub seconds: f64,
    /// From its arguments being there to its beginning.
    #[n(6)]
    pub waited_s: f64,
    /// The grant that it came with.
    #[n(7)]
    pub grant: Option<u64>,
}

/// The answer to a report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ReportAnswer {
    /// Whether the next report is to have all offers: their revision is not known.
    #[n(1)]
    pub wants_offers: bool,
    /// Contracts whose interfaces the next reports are to have.
    #[cbor(n(2), with = "contracts")]
    pub wanted: Vec<[u8; 32]>,
    /// Addresses that were not taken, each with the reason.
    #[n(3)]
    pub dropped: Vec<DroppedAddress>,
}

/// An address that a metaserver does not tell clients.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DroppedAddress {
    /// As it was reported.
    #[n(0)]
    pub address: String,
    /// Why.
    #[n(1)]
    pub reason: String,
}

/// What a server is asked to say of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct StateQuestion {
    /// The revision of its offers that is known; it tells them if they have another.
    #[n(1)]
    pub known: Option<u64>,
    /// Contracts whose interfaces it is to tell.
    #[cbor(n(2), with = "contracts")]
    pub wanted: Vec<[u8; 32]>,
    /// The run of the server that asks: it is not told of itself.
    #[cbor(n(3), with = "minicbor::bytes")]
    pub asker: Option<[u8; 16]>,
}

/// A call that wants a server.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct PlaceQuestion {
    /// `module/name`.
    #[n(1)]
    pub name: String,
    /// The routine.
    #[cbor(n(2), with = "minicbor::bytes")]
    pub contract: [u8; 32],
    /// A hash of its scalars: calls with equal ones do the same work.
    #[n(3)]
    pub sizes: u64,
    /// How much it has to do: operations, or bytes of arrays.
    #[n(4)]
    pub amount: f64,
    /// Processors that it takes.
    #[n(5)]
    pub processors: u32,
    /// Bytes of arrays that travel to the server.
    #[n(6)]
    pub bytes_in: f64,
    /// Bytes of arrays that travel back.
    #[n(7)]
    pub bytes_out: f64,
    /// The caller's host, as a Hello names it.
    #[n(8)]
    pub host: String,
    /// The caller's site; empty: the host alone.
    #[n(9)]
    pub site: String,
    /// Seconds that the call has, if it has a limit.
    #[n(10)]
    pub deadline_s: Option<f64>,
    /// Servers that it does not want: they refused it, or could not be reached.
    #[n(11)]
    pub without: Vec<String>,
    /// How many calls of this kind are wanted, at least one.
    #[n(12)]
    pub calls: u32,
    /// Whether all servers are to be told, and nothing is placed.
    #[n(13)]
    pub explains: bool,
    /// What became of earlier calls.
    #[n(14)]
    pub outcomes: Vec<CallOutcome>,
    /// Runs of metaservers that this question has passed, as [`PlaceAnswer::passed`] told them.
    #[n(15)]
    pub passed: Vec<String>,
}

/// Where a call runs.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct PlaceAnswer {
    /// Names the grant in [`GRANT`] and [`CallOutcome`]; 0: nothing was placed.
    #[n(1)]
    pub grant: u64,
    /// For how long it is good for more calls of the kind, in microseconds.
    #[n(2)]
    pub valid_us: u64,
    /// Servers, the best first.
    #[n(3)]
    pub servers: Vec<PlacedServer>,
    /// Metaservers that know the same servers.
    #[n(4)]
    pub metaservers: Vec<String>,
    /// What a question to a server that leads to others is to say that it has passed.
    #[cbor(n(5), default)]
    pub passed: Vec<String>,
}

/// A server in an answer. Times are what is predicted, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct PlacedServer {
    /// What it is called.
    #[n(1)]
    pub name: String,
    /// Where it is reached, the best address first; none: only through the answerer.
    #[n(2)]
    pub addresses: Vec<String>,
    /// Its host, as its Hello names it.
    #[n(3)]
    pub host: String,
    /// Until the call runs, its arguments being there.
    #[n(4)]
    pub wait_s: f64,
    /// Until its arguments are there.
    #[n(5)]
    pub send_s: f64,
    /// While it runs.
    #[n(6)]
    pub run_s: f64,
    /// Until its results are back.
    #[n(7)]
    pub return_s: f64,
    /// By how much the sum may well be wrong.
    #[n(8)]
    pub error_s: f64,
    /// Of the calls that were asked for, those that it is to have.
    #[n(9)]
    pub calls: u32,
    /// What people should know of it; empty for nothing.
    #[n(10)]
    pub note: String,
    /// Why it cannot be chosen, if it cannot: then the times mean nothing.
    #[n(11)]
    pub excluded: bool,
    /// Whether it is the server that answers.
    #[n(12)]
    pub is_self: bool,
    /// Whether it leads to other servers: it is asked where the call runs.
    #[cbor(n(13), default)]
    pub leads: bool,
}

/// What became of a call that was placed, as its client tells it.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct CallOutcome {
    /// The grant.
    #[n(1)]
    pub grant: u64,
    /// The server where it ran; empty: nowhere.
    #[n(2)]
    pub server: String,
    /// How its arguments travelled.
    #[n(3)]
    pub sent: Option<MeasuredTransfer>,
    /// How its results travelled.
    #[n(4)]
    pub returned: Option<MeasuredTransfer>,
    /// The caller's host.
    #[n(5)]
    pub host: String,
    /// The caller's site; empty: the host alone.
    #[n(6)]
    pub site: String,
    /// The number of the kind of its error, if it failed.
    #[n(7)]
    pub failure: Option<u16>,
    /// Whether it goes on: its arguments are there, and no more is known.
    #[n(8)]
    pub continues: bool,
}

/// Bytes of arrays, after compression, and the seconds that they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Encode, Decode)]
pub struct MeasuredTransfer {
    /// Bytes.
    #[n(0)]
    pub bytes: f64,
    /// Seconds.
    #[n(1)]
    pub seconds: f64,
}

/// Whether a server is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum ServerPresence {
    /// It was heard of lately.
    #[default]
    #[n(0)]
    Up,
    /// It is silent for longer than usual.
    #[n(1)]
    Suspect,
    /// It is not asked any more.
    #[n(2)]
    Gone,
    /// It takes no more calls.
    #[n(3)]
    Draining,
    /// It could not be reached yet.
    #[n(4)]
    Unreachable,
}

/// A server, as a metaserver knows it.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct ServerState {
    /// What it is called.
    #[n(1)]
    pub name: String,
    /// Whether it is there.
    #[n(2)]
    pub presence: ServerPresence,
    /// Where it is reached.
    #[n(3)]
    pub addresses: Vec<String>,
    /// Processors that calls may have together.
    #[n(4)]
    pub processors: u32,
    /// Of them, those that calls have.
    #[n(5)]
    pub busy: f64,
    /// Calls that run or wait.
    #[n(6)]
    pub calls: u64,
    /// Processes of others that want a processor.
    #[n(7)]
    pub load: f64,
    /// Routines that it publishes.
    #[n(8)]
    pub routines: u64,
    /// Microseconds since it was heard of.
    #[n(9)]
    pub silent_us: u64,
    /// Bytes a second to it from the asker, as far as that is known.
    #[n(10)]
    pub sends_at: Option<f64>,
    /// Bytes a second from it.
    #[n(11)]
    pub returns_at: Option<f64>,
    /// Seconds that a small message takes.
    #[n(12)]
    pub latency_s: Option<f64>,
    /// Product and version.
    #[n(13)]
    pub product: String,
    /// What people should know of it; empty for nothing.
    #[n(14)]
    pub note: String,
    /// Whether it is the server that answers.
    #[n(15)]
    pub is_self: bool,
    /// Whether it leads to other servers, which it tells who asks it.
    #[cbor(n(16), default)]
    pub leads: bool,
}

/// The attribute [`GRANT`] of a call.
pub fn grant_attribute(grant: u64) -> Attribute {
    Attribute { name: GRANT.to_owned(), critical: false, value: encode(&grant) }
}

/// The grant that a call came with.
///
/// # Errors
/// `Protocol` for a value that is no number.
pub fn grant_of(attributes: Option<&[Attribute]>) -> Result<Option<u64>> {
    let found = attributes.and_then(|all| all.iter().find(|attribute| attribute.name == GRANT));
    found.map(|attribute| decode("grant", &attribute.value)).transpose()
}
