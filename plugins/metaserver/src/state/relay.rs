//! Relayed streams: each leads a client to a server that it cannot reach itself.
//!
//! - A stream is in `streams` from the question to the end of its bytes, and counts for its asker.
//! - `untold` has streams of connections in `dialing_back` alone.

use std::collections::{BTreeMap, BTreeSet};

use farcall_base::{ConnectionId, Instant};

use super::QuestionNumber;

/// One of the streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamNumber(pub u64);

/// One end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StreamEnd {
    /// The server's.
    Server,
    /// The client's.
    Client,
}

/// How far a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamPhase {
    /// The server's end is waited for since then, and a client for the answer.
    AwaitsServer(Instant, QuestionNumber),
    /// The client's end is waited for, since then.
    AwaitsClient(Instant),
    /// Both are there.
    Flows,
}

/// A stream.
#[derive(Debug)]
pub struct RelayedStream {
    /// To which server.
    pub server: String,
    /// Its user.
    pub principal: String,
    /// Which connection asked for it.
    pub asker: ConnectionId,
    /// Which connection its server joined by; none where it is dialled.
    pub joined: Option<ConnectionId>,
    /// How far.
    pub phase: StreamPhase,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Relay {
    /// By number.
    pub streams: BTreeMap<StreamNumber, RelayedStream>,
    /// Connections whose servers dial back.
    pub dialing_back: BTreeSet<ConnectionId>,
    /// Those that wait for a stream, with their question.
    pub waiting: BTreeMap<ConnectionId, QuestionNumber>,
    /// Streams that servers were not told of yet.
    pub untold: BTreeMap<ConnectionId, Vec<StreamNumber>>,
    last: u64,
}

impl Relay {
    /// Another stream.
    pub fn begin(&mut self, stream: RelayedStream) -> StreamNumber {
        self.last += 1;
        let number = StreamNumber(self.last);
        self.streams.insert(number, stream);
        number
    }

    /// How many somebody has.
    pub fn of(&self, principal: &str) -> usize {
        self.streams.values().filter(|stream| stream.principal == principal).count()
    }
}
