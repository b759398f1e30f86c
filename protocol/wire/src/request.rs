//! What ends ask one another beside calls, and the answers (spec/wire.md, section 4).

use farcall_base::{CallId, DataId, ObjectId};
use minicbor::{Decode, Encode};

use crate::data::DataStatus;
use crate::executables::Loaded;
use crate::ids::{id, list};
use crate::kept::KeptCall;
use crate::message::Failure;
use crate::placement::{
    CallOutcome, PlaceAnswer, PlaceQuestion, ReportAnswer, ServerReport, ServerState, StateQuestion,
};
use crate::pulls::PullRequest;
use crate::relay::{RelayTicket, RelayToken};
use crate::resources::AskedResources;
use crate::status::Status;
use crate::transactions::{Promise, TransactionReply, TransactionRequest};

/// A question about the server.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(flat)]
pub enum Request {
    /// The interface of a routine: `name`, `module/name` or an alias.
    #[n(0)]
    Interface(#[n(0)] String),
    /// Everything that is published.
    #[n(1)]
    List,
    /// Executables only: the routines this process serves (encoded by farcall-idl).
    #[n(2)]
    Load(#[n(0)] Publication),
    /// Servers that named [`ADMINISTRATION`] only: change what they serve. Answer: [`Reply::Done`]
    /// or [`Reply::Modules`].
    #[n(3)]
    Administer(#[n(0)] Order),
    /// Servers that named [`crate::STATUS`] only: what is going on? Answer: [`Reply::Status`].
    #[n(4)]
    Status,
    /// Servers that named [`NESTED_CALLS`] only, from an executable, with a descriptor: the other
    /// end is a client of ours for as long as this call runs. Answer: [`Reply::Done`].
    #[n(5)]
    Nest(#[cbor(n(0), with = "id")] CallId),
    /// Servers that named [`OBJECTS`] only: executables of the asker's own. Answer: [`Reply::Done`]
    /// when all can take calls.
    #[n(6)]
    Hold(#[n(0)] Box<HoldRequest>),
    /// Servers that named [`OBJECTS`] only: end these, so many from the first on. Answer:
    /// [`Reply::Done`] when they have.
    #[n(7)]
    Release(#[cbor(n(0), with = "id")] ObjectId, #[n(1)] u32),
    /// Servers that named [`crate::RESUME`] only: keep this call no longer. Answer:
    /// [`Reply::Done`].
    #[n(9)]
    Forget(#[cbor(n(0), with = "id")] CallId),
    /// Servers that named [`crate::RESUME`] only: which calls of mine are kept? Answer:
    /// [`Reply::Kept`].
    #[n(10)]
    Kept,
    /// Servers that named [`crate::PLACEMENT`] only: so I am, or a server that I am connected with.
    /// Answer: [`Reply::Reported`].
    #[n(11)]
    Report(#[n(0)] Box<ServerReport>),
    /// Servers that named [`crate::PLACEMENT`] only: how are you? Answer: [`Reply::State`].
    #[n(12)]
    State(#[n(0)] StateQuestion),
    /// Servers that named [`crate::PLACEMENT`] only: where does this call run? Answer:
    /// [`Reply::Placed`].
    #[n(13)]
    Place(#[n(0)] Box<PlaceQuestion>),
    /// Servers that named [`crate::PLACEMENT`] only: this became of calls that were placed. Answer:
    /// [`Reply::Done`].
    #[n(14)]
    Outcomes(#[n(0)] Vec<CallOutcome>),
    /// Servers that named [`crate::PLACEMENT`] only: which servers are there? With the host and the
    /// site of the asker. Answer: [`Reply::Servers`].
    #[n(15)]
    Servers(#[n(0)] String, #[n(1)] String),
    /// Servers that named [`crate::DATA`] only: how are these? Without any: which data do I have?
    /// Answer: [`Reply::Data`].
    #[n(16)]
    Data(#[cbor(n(0), with = "list")] Vec<DataId>),
    /// Servers that named [`crate::DATA`] only: delete these; those that are not there are skipped.
    /// Answer: [`Reply::Done`].
    #[n(17)]
    DeleteData(#[cbor(n(0), with = "list")] Vec<DataId>),
    /// Servers that named [`crate::RELAY`] only: lead me to the server of this name. Answer:
    /// [`Reply::Relay`].
    #[n(18)]
    Relay(#[n(0)] String),
    /// Servers that named [`crate::RELAY`] only, from a server that joined: which streams am I to
    /// dial? Answered when there is one: [`Reply::DialBack`].
    #[n(19)]
    DialBack,
    /// Servers that named [`crate::TRANSACTIONS`] only: graphs of calls. Answers:
    /// [`Reply::Transaction`] and [`Reply::Done`].
    #[n(20)]
    Transaction(#[n(0)] TransactionRequest),
    /// Servers that named [`crate::TRANSACTIONS`] only: I am going to make these data, which stay
    /// for so many microseconds without me. Answer: [`Reply::Done`].
    #[n(21)]
    Promise(#[n(0)] Vec<Promise>, #[n(1)] u64),
    /// To the same: these will never be there. Answer: [`Reply::Done`].
    #[n(22)]
    Break(#[cbor(n(0), with = "list")] Vec<DataId>, #[n(1)] Failure),
    /// Servers that named [`crate::PULLS`] only: pull this from another server. Answer:
    /// [`Reply::Done`] when it is here.
    #[n(23)]
    Pull(#[n(0)] Box<PullRequest>),
}

/// Executables that are to be held for whoever asks (spec/call.md, section 11).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct HoldRequest {
    /// In full: `module/routine`, or `module/Class` for objects.
    #[n(1)]
    pub name: String,
    /// The first one's id; the others have the next indexes.
    #[cbor(n(2), with = "id")]
    pub first: ObjectId,
    /// How many.
    #[n(3)]
    pub count: u32,
    /// Time for which each stays after the connection of its owner is lost, in microseconds.
    #[n(4)]
    pub lease_us: u64,
    /// Time in which all must be able to take calls, in microseconds.
    #[n(5)]
    pub start_us: Option<u64>,
    /// They stay for their lease also when their owner says goodbye.
    #[n(6)]
    pub detached: Option<bool>,
    /// Processes of which each consists, where MPI starts it.
    #[n(7)]
    pub ranks: Option<u32>,
    /// What each is to be given; of servers that named [`crate::RESOURCES`] only.
    #[n(8)]
    pub resources: Option<AskedResources>,
}

/// The feature that allows [`Request::Hold`], [`Request::Release`] and the attribute [`crate::ON`].
pub const OBJECTS: &str = "objects";

/// The feature that allows [`Request::Nest`].
pub const NESTED_CALLS: &str = "nested-calls";

/// The feature that allows [`Request::Administer`] and [`Reply::Modules`].
pub const ADMINISTRATION: &str = "administration";

/// The feature that allows arguments to be named by URL (spec/wire.md, section 5.6).
pub const URLS: &str = "urls";

/// What a server is told to do (spec/wire.md, section 4).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum Order {
    /// Publish an interface file of the server's host: an absolute path, or the bare name of one
    /// that comes with Farcall.
    #[n(0)]
    Publish(#[n(0)] String),
    /// Forget a module.
    #[n(1)]
    Withdraw(#[n(0)] String),
    /// Publish a module again from the file that it came from; `None`: all modules.
    #[n(2)]
    Reload(#[n(0)] Option<String>),
    /// Take no more calls, and end when those that are open are over, or after so many
    /// milliseconds. Answered when no call is open any more.
    #[n(3)]
    Drain(#[n(0)] Option<u64>),
    /// End these objects, whosever they are, and the calls on them.
    #[n(4)]
    Delete(#[cbor(n(0), with = "list")] Vec<ObjectId>),
    /// End a job that a launcher holds for the server, with all that runs in it, by the server's
    /// number for it.
    #[n(5)]
    EndJob(#[n(0)] u64),
    /// Servers that named [`PUBLISHED_FILES`] only: publish what comes with the order, or what may
    /// outlast the server.
    #[n(6)]
    Files(#[n(0)] PublishedFiles),
    /// Servers that named [`PUBLISHED_PIECES`] only: take a piece of a file that [`Order::Files`]
    /// is to publish.
    #[n(7)]
    Piece(#[n(0)] PublishedPiece),
    /// Servers that named [`ENDED_CALLS`] only: cancel these open calls. Administrators name
    /// anybody's, others their own.
    #[n(8)]
    EndCalls(#[cbor(n(0), with = "list")] Vec<CallId>),
}

/// The feature that allows [`Order::EndCalls`].
pub const ENDED_CALLS: &str = "ended-calls";

/// The feature that allows [`Order::Piece`].
pub const PUBLISHED_PIECES: &str = "published-pieces";

/// The feature that allows [`Order::Files`].
pub const PUBLISHED_FILES: &str = "published-files";

/// What is to be published, as its publisher has it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct PublishedFiles {
    /// An interface file or a Python file, and behind it those that it refers to. None for a file
    /// of the server's host.
    #[n(1)]
    pub files: Vec<PublishedFile>,
    /// Whether it is published again when the server is started again.
    #[n(2)]
    pub stays: bool,
    /// The file on the server's host, as [`Order::Publish`] names it; for an order without files.
    #[n(3)]
    pub there: Option<String>,
    /// The first file on its publisher's host, by which messages call it.
    #[n(4)]
    pub known_as: Option<String>,
    /// The publication whose files came before in pieces; for an order without files.
    #[n(5)]
    #[cbor(with = "minicbor::bytes")]
    pub publication: Option<[u8; 16]>,
}

/// A piece of a file that is too long for one message.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct PublishedPiece {
    /// Which publication it is of: chosen by its publisher at random.
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    pub publication: [u8; 16],
    /// The file, as [`PublishedFile`] names it. The first one is published.
    #[n(2)]
    pub name: String,
    /// What comes next in it.
    #[n(3)]
    #[cbor(with = "minicbor::bytes")]
    pub content: Vec<u8>,
}

/// One of the files.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PublishedFile {
    /// Its path from the folder that the first one lies in.
    #[n(0)]
    pub name: String,
    /// What it contains.
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    pub content: Vec<u8>,
}

/// What became of a module that was to be published.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ModuleReport {
    /// Its name.
    #[n(1)]
    pub module: String,
    /// Its routines, by number.
    #[n(2)]
    pub routines: u32,
    /// What the compiler warns of; empty for nothing.
    #[n(3)]
    pub warnings: String,
    /// Why it is served as it was before, if it is.
    #[n(4)]
    pub failure: Option<Failure>,
}

/// What an executable is told to serve.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Publication {
    /// The module with its implementations, encoded.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub module: Vec<u8>,
    /// Shared libraries to load, in order.
    #[n(2)]
    pub libraries: Vec<String>,
    /// The class whose object this process is to be, if it is to be one.
    #[n(3)]
    pub object: Option<String>,
}

/// An interface as it travels.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct InterfaceReply {
    /// `module/name`.
    #[n(1)]
    pub name: String,
    /// Canonical encoding of the interface.
    #[cbor(n(2), with = "minicbor::bytes")]
    pub interface: Vec<u8>,
    /// Its contract hash.
    #[cbor(n(3), with = "minicbor::bytes")]
    pub contract: [u8; 32],
    /// Whether its calls may run on other servers: [`Request::Place`] says where.
    #[n(4)]
    pub is_placed: Option<bool>,
}

/// The answer to a [`Request`].
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(flat)]
pub enum Reply {
    /// It could not be done.
    #[n(0)]
    Failed(#[n(0)] Failure),
    /// The interface asked for.
    #[n(1)]
    Interface(#[n(0)] InterfaceReply),
    /// All interfaces, in order of their full names.
    #[n(2)]
    List(#[n(0)] Vec<InterfaceReply>),
    /// Done, and nothing to say.
    #[n(3)]
    Done,
    /// What became of the modules that an [`Order`] was about.
    #[n(4)]
    Modules(#[n(0)] Vec<ModuleReport>),
    /// What is going on, as far as whoever asks may know.
    #[n(5)]
    Status(#[n(0)] Box<Status>),
    /// From an executable whose module is loaded: done, and what its code can do.
    #[n(6)]
    Loaded(#[n(0)] Loaded),
    /// The calls of whoever asks that are kept.
    #[n(7)]
    Kept(#[n(0)] Vec<KeptCall>),
    /// A report was taken.
    #[n(8)]
    Reported(#[n(0)] ReportAnswer),
    /// How the server is.
    #[n(9)]
    State(#[n(0)] Box<ServerReport>),
    /// Where the call runs.
    #[n(10)]
    Placed(#[n(0)] Box<PlaceAnswer>),
    /// The servers that are known.
    #[n(11)]
    Servers(#[n(0)] Vec<ServerState>),
    /// Data of the user that asks.
    #[n(16)]
    Data(#[n(0)] Vec<DataStatus>),
    /// The client can dial its end of a stream.
    #[n(18)]
    Relay(#[n(0)] RelayTicket),
    /// The server's ends of streams, which it is to dial.
    #[n(19)]
    DialBack(#[n(0)] Vec<RelayToken>),
    /// What was asked about transactions.
    #[n(20)]
    Transaction(#[n(0)] TransactionReply),
}
