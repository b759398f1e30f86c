//! Who is at the other end of a connection.

use std::collections::BTreeMap;
use std::sync::Arc;

use farcall_base::{Error, ExecutableId, Instant};
use farcall_call::{Channels, Connection};
use farcall_link::hosts::CertifiedHosts;

use super::{Asked, LargeQuestions, PrincipalNumber};
use crate::access::Rights;
use crate::counters::NameNumber;
use crate::state::{CallKey, Resuming};

/// Who is at the other end of a connection.
pub enum PeerKind {
    /// A client.
    Client {
        /// Its calls.
        calls: Channels<CallKey>,
        /// Sizes of the segments that it shares.
        segments: BTreeMap<u32, u64>,
    },
    /// An executable.
    Executable(ExecutableId),
}

/// In whose name a client speaks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Speaks {
    /// In its own.
    #[default]
    ForItself,
    /// In its own, and its Hello may name a user instead.
    MayClaim,
    /// In a user's: this is who it is.
    Through(Arc<str>),
    /// In a user's, from within this process.
    Within,
}

/// Who is at the other end, from where, and with which rights.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Where it is, for people.
    pub address: String,
    /// What it may do.
    pub rights: Rights,
    /// What tells the certificate that it showed from others, if it showed one.
    pub certificate: Option<Arc<str>>,
    /// The hosts that the certificate of a server names; of a user none.
    pub hosts: CertifiedHosts,
    /// In whose name it speaks.
    pub speaks: Speaks,
}

impl Caller {
    /// Who claims its principal, if it is not the principal itself.
    pub fn through(&self) -> Option<&str> {
        match &self.speaks {
            Speaks::Through(server) => Some(server),
            Speaks::ForItself | Speaks::MayClaim | Speaks::Within => None,
        }
    }

    /// Whether it is this server's own user on this host, or speaks from there.
    pub fn is_here(&self) -> bool {
        match &self.speaks {
            Speaks::Within => true,
            // No server that a certificate proves has such a name.
            Speaks::Through(server) => server.starts_with("uid "),
            Speaks::MayClaim => self.rights.owns_server(),
            Speaks::ForItself => false,
        }
    }

    /// Whether this server dials others on its word: it is the metaserver that was joined, or the
    /// server's own user.
    pub fn may_send_out(&self) -> bool {
        self.is_here() || matches!(self.speaks, Speaks::Through(_))
    }
}

/// Somebody who connected.
pub struct Newcomer {
    /// Who, as far as the transport knows.
    pub caller: Caller,
    /// Whether memory can be shared with it.
    pub shares_memory: bool,
    /// What its Hello must carry.
    pub token: Option<Arc<[u8]>>,
    /// Why it must go at once, if it must.
    pub refusal: Option<Error>,
}

/// A connection.
pub struct Peer {
    /// Its state machine.
    pub connection: Connection,
    /// Whether memory can be shared over it.
    pub shares_memory: bool,
    /// On whose behalf it speaks, and from where.
    pub caller: Arc<Caller>,
    /// Who it is.
    pub kind: PeerKind,
    /// When it must have said Hello, or, if it is leaving, read what it was told. `None` when
    /// nothing is due.
    pub patience_until: Option<Instant>,
    /// No more frames are taken; closed as soon as everything is sent.
    pub leaving: bool,
    /// When array bytes last came from it or left for it.
    pub moved: Instant,
    /// Whether array bytes left since somebody looked at the clock.
    pub has_sent: bool,
    /// Whose calls these are in the counts.
    pub counted: NameNumber,
    /// Whether its end left in order.
    pub said_goodbye: bool,
    /// The call inside which its calls are made, if an executable opened it for the routine that it
    /// runs.
    pub inside: Option<CallKey>,
    /// What becomes of its calls if the connection is lost.
    pub resuming: Resuming,
    /// Its principal's place among those that have asked for something; `None` for executables.
    pub number: Option<PrincipalNumber>,
    /// What it has asked for.
    pub asked: Asked,
    /// Questions whose answers are large.
    pub large: LargeQuestions,
}
