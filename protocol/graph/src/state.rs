//! What is known of values, calls and servers of a transaction that runs.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use farcall_base::Instant;
use minicbor::{Decode, Encode};

use crate::{CallNumber, Ended, ServerNumber};

/// Where a value can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// With the program.
    Client,
    /// On a server.
    Server(ServerNumber),
}

/// A value.
#[derive(Debug, Default)]
pub(crate) struct Value {
    pub places: BTreeSet<Place>,
    /// Servers where it is the program's own, and stays when the transaction needs it no more.
    pub lent: BTreeSet<ServerNumber>,
    /// Servers that it is on its way to, and when it is to be there.
    pub coming: BTreeMap<ServerNumber, Instant>,
    pub users_left: u32,
    pub wanted: bool,
    pub troubles: u32,
}

impl Value {
    /// It is not there any more; whether it was.
    pub fn remove(&mut self, place: Place) -> bool {
        if let Place::Server(server) = place {
            self.lent.remove(&server);
        }
        self.places.remove(&place)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// For what it uses.
    Waiting,
    /// For room on a server.
    Ready,
    Open,
    Done,
    Failed,
}

/// A call that is open on a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub server: ServerNumber,
    pub attempt: u32,
    pub run_s: f64,
    /// When it is to end.
    pub ends: Instant,
    /// When it counts as late.
    pub late: Instant,
    /// Whether its server was told to end it.
    pub is_ending: bool,
    /// Whether it was opened before a restart: then its server may have been told to end it.
    pub is_restored: bool,
    pub opened_us: u64,
    pub begun_us: Option<u64>,
}

/// Times of a call, in microseconds since the transaction began, and where it had them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Times {
    #[n(0)]
    pub server: Option<u32>,
    #[n(1)]
    pub ready_us: Option<u64>,
    #[n(2)]
    pub opened_us: Option<u64>,
    #[n(3)]
    pub begun_us: Option<u64>,
    #[n(4)]
    pub ended_us: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub phase: Phase,
    pub runs: Vec<Run>,
    /// How often it was opened: what tells its runs apart.
    pub attempts: u32,
    /// How often it was opened in vain.
    pub failures: u32,
    /// Servers that did not take it.
    pub without: BTreeSet<ServerNumber>,
    /// What was told of its end.
    pub outcome: Option<Ended>,
    pub rank: f64,
    pub times: Times,
}

impl Call {
    pub fn new(rank: f64) -> Call {
        Call {
            phase: Phase::Waiting,
            runs: Vec::new(),
            attempts: 0,
            failures: 0,
            without: BTreeSet::new(),
            outcome: None,
            rank,
            times: Times::default(),
        }
    }

    pub fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Done | Phase::Failed)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Server {
    pub processors: u32,
    pub is_there: bool,
    /// Whether it was asked what is on it, or that is known without asking.
    pub is_asked: bool,
    pub open: usize,
    /// Seconds that its open calls need.
    pub load_s: f64,
}

/// A call in the order of urgency.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Urgent {
    pub rank: f64,
    pub call: CallNumber,
}

impl PartialEq for Urgent {
    fn eq(&self, other: &Urgent) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Urgent {}

impl PartialOrd for Urgent {
    fn partial_cmp(&self, other: &Urgent) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Urgent {
    fn cmp(&self, other: &Urgent) -> Ordering {
        other.rank.total_cmp(&self.rank).then(self.call.cmp(&other.call))
    }
}
