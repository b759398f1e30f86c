//! The placement service: which server a call runs on, where a node knows other servers.
//!
//! Its two sides are the server of a node, which has the connections, and a metaserver, which
//! decides. The server fills the slot; a metaserver comes to it and is asked from then on. Without
//! one, a server answers for itself.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use farcall_base::{ConnectionId, Result};
use farcall_link::hosts::CertifiedHosts;
use farcall_link::stream::RelayedSocket;
use farcall_wire::{CallOutcome, PlaceQuestion, ServerReport, StateQuestion};

use crate::directory::Visible;
use crate::mailbox::{Port, Reply};

/// The slot, which the server of the node fills.
pub const SLOT: &str = "placement";

/// A client that asks, as its server knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Its connection: grants count no more when that ends.
    pub connection: ConnectionId,
    /// Its principal.
    pub principal: String,
    /// Modules whose routines it may call.
    pub visible: Visible,
    /// Whether it is the server's own user, and on this host.
    pub is_own_user: bool,
    /// Hosts that its certificate names; none without a server's certificate.
    pub hosts: CertifiedHosts,
}

/// What a metaserver is asked. Each answer is the reply of the same name.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// So I am; the server has checked the right to say so.
    Report(Box<ServerReport>),
    /// Where does this call run?
    Place(Box<PlaceQuestion>),
    /// This became of calls that were placed.
    Outcomes(Vec<CallOutcome>),
    /// Which servers are there?
    Servers {
        /// The client's host.
        host: String,
        /// Its site; empty: the host alone.
        site: String,
    },
    /// Lead me to the server of this name.
    Relay(String),
    /// Which streams am I to dial? The server has checked the right to join.
    DialBack,
    /// How are you? The server has said how it is itself, with all that the client may know.
    State(StateQuestion, Box<ServerReport>),
}

/// What reaches a metaserver.
pub enum Message {
    /// Somebody asks.
    Asked {
        /// Who.
        asker: Asker,
        /// What.
        request: Request,
        /// Where the answer goes.
        reply: Reply<farcall_wire::Reply>,
    },
    /// A connection that had asked something is closed.
    Closed(ConnectionId),
    /// Somebody connected to the node who says to be one end of a relayed stream.
    Relayed(RelayedSocket),
}

/// A routine that other servers publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// This server publishes it, too.
    Also,
    /// Only others do.
    Elsewhere,
}

/// Routines that other servers publish: by full name, the hash of each contract there is.
pub type PlacedRoutines = BTreeMap<String, BTreeMap<[u8; 32], Placed>>;

/// What the server of the node is asked, and told, by a metaserver.
pub enum ToServer {
    /// Here clients' questions are answered from now on.
    Serve(Port<Message>),
    /// How are you? The report has no name and no site.
    State {
        /// As another server would ask it.
        question: StateQuestion,
        /// Where the answer goes.
        reply: Reply<Box<ServerReport>>,
    },
    /// Others publish these, and nothing else.
    Placed(Arc<PlacedRoutines>),
    /// A client is at the other end of this socket, as if it had connected here, or the metaserver
    /// on this host, which this node has joined and dialled for it.
    Adopt(OwnedFd, String),
    /// The log is to have this: a server could not be reached, or refused this one.
    Warn {
        /// Which.
        address: String,
        /// Why, and what to do.
        message: String,
    },
}

/// How a metaserver reaches the server of its node.
#[derive(Clone)]
pub struct PlacementHandle {
    port: Port<ToServer>,
}

impl PlacementHandle {
    /// A handle on whatever serves `port`.
    pub fn new(port: Port<ToServer>) -> Self {
        PlacementHandle { port }
    }

    /// Has clients' questions come to `port` from now on.
    ///
    /// # Errors
    /// `LimitExceeded` or `ShuttingDown`.
    pub fn serve(&self, port: Port<Message>) -> Result<()> {
        let sent = self.port.try_send(ToServer::Serve(port));
        sent.map_err(|refused| refused.refusal.error("place calls"))
    }

    /// Asks how the server is; whatever happens arrives at `reply`.
    pub fn state(&self, question: StateQuestion, reply: Reply<Box<ServerReport>>) {
        let Err(refused) = self.port.try_send(ToServer::State { question, reply }) else { return };
        if let ToServer::State { reply, .. } = refused.message {
            reply.answer(Err(refused.refusal.error("ask the server")));
        }
    }

    /// Hands over a socket at whose other end a client is, as if it had connected here; it was dialled
    /// to the metaserver on this host. One for which there is no room is closed.
    pub fn adopt(&self, socket: OwnedFd, host: String) {
        drop(self.port.try_send(ToServer::Adopt(socket, host)));
    }

    /// Has something logged; one that is too busy does without.
    pub fn warn(&self, address: String, message: String) {
        drop(self.port.try_send(ToServer::Warn { address, message }));
    }

    /// Tells what others publish; whether it was taken. Otherwise it is to be told again.
    pub fn placed(&self, routines: Arc<PlacedRoutines>) -> bool {
        self.port.try_send(ToServer::Placed(routines)).is_ok()
    }
}
