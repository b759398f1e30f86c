//! Transactions: graphs of calls that a server runs (spec/wire.md, section 13).

use farcall_base::{DataId, TransactionId};
use minicbor::{Decode, Encode};

use crate::ids::{id, list};
use crate::message::Failure;

/// The feature that allows [`crate::Request::Transaction`], [`crate::Request::Promise`],
/// [`crate::Request::Break`] and [`crate::Reply::Transaction`].
pub const TRANSACTIONS: &str = "transactions";
/// Transactions that one answer tells of.
pub const TRANSACTIONS_SHOWN_MAX: usize = 1000;
/// Calls, and results, that one answer tells of.
pub const CALLS_SHOWN_MAX: usize = 10_000;
/// Failures that one answer tells of.
pub const FAILURES_SHOWN_MAX: usize = 100;

/// What is asked about transactions of the asker's principal.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum TransactionRequest {
    /// Run this. Answer: [`crate::Reply::Done`] when it was checked and runs.
    #[n(0)]
    Begin(#[n(0)] Box<TransactionBegin>),
    /// Tell me when it has ended. Answer: [`TransactionReply::Over`].
    #[n(1)]
    Await(#[cbor(n(0), with = "id")] TransactionId),
    /// How are these? Without any: which do I have? Answer: [`TransactionReply::List`].
    #[n(2)]
    List(#[cbor(n(0), with = "list")] Vec<TransactionId>),
    /// When and where did its calls run? From this number of a call on. Answer:
    /// [`TransactionReply::Timeline`].
    #[n(3)]
    Timeline(#[cbor(n(0), with = "id")] TransactionId, #[n(1)] u32),
    /// Which results were wanted? From this one on. Answer: [`TransactionReply::Results`].
    #[n(4)]
    Results(#[cbor(n(0), with = "id")] TransactionId, #[n(1)] u32),
    /// End these, and forget them. Answer: [`crate::Reply::Done`].
    #[n(5)]
    End(#[cbor(n(0), with = "list")] Vec<TransactionId>),
}

/// A transaction that is to run.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct TransactionBegin {
    /// Its id.
    #[cbor(n(1), with = "id")]
    pub id: TransactionId,
    /// The graph (spec/transactions.md, section 4).
    #[cbor(n(2), with = "minicbor::bytes")]
    pub graph: Vec<u8>,
    /// For how many microseconds it and its results stay when it has ended and its client has left;
    /// its client may leave while it runs.
    #[n(3)]
    pub keep_us: Option<u64>,
}

/// What is answered about transactions.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(flat)]
pub enum TransactionReply {
    /// It has ended.
    #[n(0)]
    Over(#[n(0)] TransactionEnd),
    /// Transactions, the oldest first.
    #[n(1)]
    List(#[n(0)] Vec<TransactionStatus>),
    /// When and where calls ran.
    #[n(2)]
    Timeline(#[n(0)] Box<Timeline>),
    /// Results that were wanted.
    #[n(3)]
    Results(#[n(0)] Box<TransactionResults>),
}

/// How a transaction ended.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct TransactionEnd {
    /// How many calls did not return.
    #[n(1)]
    pub failed: u32,
    /// The first of them, in their order: the number of the call, and why.
    #[n(2)]
    pub failures: Vec<CallFailure>,
}

/// Why a call of a transaction did not return.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct CallFailure {
    /// Its number.
    #[n(0)]
    pub call: u32,
    /// Why.
    #[n(1)]
    pub failure: Failure,
}

/// A transaction, as a server tells of it.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct TransactionStatus {
    /// Its id.
    #[cbor(n(1), with = "id")]
    pub id: TransactionId,
    /// Whether all its calls have ended.
    #[n(2)]
    pub is_over: bool,
    /// How many calls it has.
    #[n(3)]
    pub calls: u32,
    /// How many of them have returned.
    #[n(4)]
    pub returned: u32,
    /// How many of them failed, or did not run because another one failed.
    #[n(5)]
    pub failed: u32,
    /// Microseconds since it began.
    #[n(6)]
    pub age_us: u64,
    /// Microseconds until it is forgotten, where its client is not connected and it has ended.
    #[n(7)]
    pub left_us: Option<u64>,
    /// Whose it is.
    #[n(8)]
    pub principal: String,
    /// Why the first of the calls that failed did so.
    #[n(9)]
    pub failure: Option<Failure>,
}

/// When and where calls of a transaction ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Timeline {
    /// How many calls there are in all.
    #[n(1)]
    pub calls: u32,
    /// Servers, which rows name by their index here.
    #[n(2)]
    pub servers: Vec<String>,
    /// Routines, which rows name by their index here.
    #[n(3)]
    pub routines: Vec<String>,
    /// Calls, in their order.
    #[n(4)]
    pub rows: Vec<TimelineRow>,
}

/// When and where one call ran. Times are microseconds since the transaction began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TimelineRow {
    /// Its routine.
    #[n(0)]
    pub routine: u32,
    /// How far it is.
    #[n(1)]
    pub state: TimelineState,
    /// How often it was opened.
    #[n(2)]
    pub attempts: u32,
    /// Where it was opened last, or has returned.
    #[n(3)]
    pub server: Option<u32>,
    /// When all that it uses was there, or was being made.
    #[n(4)]
    pub ready_us: Option<u64>,
    /// When it was opened.
    #[n(5)]
    pub opened_us: Option<u64>,
    /// When its routine began.
    #[n(6)]
    pub begun_us: Option<u64>,
    /// When it ended.
    #[n(7)]
    pub ended_us: Option<u64>,
}

/// How far a call of a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum TimelineState {
    /// It waits.
    #[n(0)]
    Waits,
    /// It is open on a server.
    #[n(1)]
    Open,
    /// It has returned.
    #[n(2)]
    Returned,
    /// It failed.
    #[n(3)]
    Failed,
    /// It did not run, because another one failed.
    #[n(4)]
    NotRun,
}

impl TimelineState {
    /// In a word or two.
    pub fn words(self) -> &'static str {
        match self {
            TimelineState::Waits => "waits",
            TimelineState::Open => "open",
            TimelineState::Returned => "returned",
            TimelineState::Failed => "failed",
            TimelineState::NotRun => "not run",
        }
    }
}

/// Results of a transaction that were wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct TransactionResults {
    /// How many there are in all.
    #[n(1)]
    pub results: u32,
    /// Some of them, in the order of the graph.
    #[n(2)]
    pub rows: Vec<TransactionResult>,
}

/// A result that was wanted.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TransactionResult {
    /// Number of the call.
    #[n(0)]
    pub call: u32,
    /// Its routine.
    #[n(1)]
    pub routine: String,
    /// The name of the parameter.
    #[n(2)]
    pub parameter: String,
    /// The id under which it is fetched.
    #[cbor(n(3), with = "id")]
    pub data: DataId,
}

/// Data that the asker is going to make, or to have made, under this id (spec/wire.md, section 12).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Promise {
    /// Its id.
    #[cbor(n(0), with = "id")]
    pub data: DataId,
    /// Its type, as of [`crate::DataStatus::kind`].
    #[n(1)]
    pub kind: String,
}
