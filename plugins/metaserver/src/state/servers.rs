//! Servers that are known, by their names.

use std::collections::{BTreeMap, BTreeSet};

use farcall_base::{ConnectionId, Instant};
use farcall_placement::{Contract, MemberId};
use farcall_wire::ServerReport;

use super::{LinkNumber, Offer};

/// How a server is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It is this node.
    Own,
    /// Somebody reports over this connection.
    Reporter(ConnectionId),
    /// It is asked.
    Link(LinkNumber),
}

/// A server.
#[derive(Debug)]
pub struct KnownServer {
    /// Its number in the placement.
    pub id: MemberId,
    /// How it is known.
    pub source: Source,
    /// Connections over which somebody reports it: several programs of one user may know it.
    pub reporters: BTreeSet<ConnectionId>,
    /// What it said last, without what is kept below.
    pub report: ServerReport,
    /// What it publishes, and the revision of that.
    pub offers: Vec<Offer>,
    /// The revision; none where it has to tell all.
    pub revision: Option<u64>,
    /// Of that, what calls may be placed on: the interface is known and is what it says.
    pub routines: BTreeSet<Contract>,
    /// Contracts that it offers and whose interfaces were wrong or did not come.
    pub refused: BTreeSet<[u8; 32]>,
    /// Why, for people.
    pub note: String,
    /// When it was heard of.
    pub heard: Instant,
    /// Since when its connection is lost.
    pub lost: Option<Instant>,
    /// Whether the catalogue counts what it publishes.
    pub counted: bool,
}

impl KnownServer {
    /// Whether it is another metaserver, which is asked where a call runs.
    pub(crate) fn leads_on(&self) -> bool {
        self.report.leads && self.source != Source::Own
    }

    /// Whether this is the same run of it, which another connection reports.
    pub(crate) fn is_reported_as(&self, source: Source, report: &ServerReport) -> bool {
        matches!((self.source, source), (Source::Reporter(_), Source::Reporter(_)))
            && self.report.instance == report.instance
            && report.instance != [0; 16]
    }
}

/// All of them.
pub type Servers = BTreeMap<String, KnownServer>;
