//! The transactions service: graphs of calls that a node runs for its clients.
//!
//! Its two sides are the server of a node, which has the connections, and a plugin that runs graphs.
//! The server fills the slot; the plugin comes to it and is asked from then on. It opens the calls of
//! a transaction over a connection of its own, which has the rights of the client that began it.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{ChannelId, ConnectionId, Result};
use farcall_link::stream::ByteStream;
use farcall_wire::{PullRequest, TicketKey, TransactionRequest};

use crate::directory::Visible;
use crate::mailbox::{Port, Reply};

/// The slot, which the server of the node fills.
pub const SLOT: &str = "transactions";

/// A client that may come back when it has lost its connection: the name that it gave itself, and
/// its principal.
pub type ClientName = Arc<([u8; 16], String)>;

/// A user whose calls are made while no client of theirs is connected: what a server needs to
/// judge what they may do, then and there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The principal.
    pub principal: String,
    /// Where its client was, for people.
    pub address: String,
    /// What tells the certificate that it showed from others, if it showed one.
    pub certificate: Option<Arc<str>>,
}

/// A client that asks, as its server knows it.
#[derive(Debug)]
pub struct Asker {
    /// Its connection.
    pub connection: ConnectionId,
    /// Where on it the answer goes: with the connection it names the question.
    pub channel: ChannelId,
    /// Its principal.
    pub principal: String,
    /// Modules whose routines it may call.
    pub visible: Visible,
    /// Who it is, if it may come back.
    pub client: Option<ClientName>,
    /// The user, as any server of theirs can know them again when the client has left.
    ///
    /// # Errors
    /// Why it cannot.
    pub user: Result<User>,
}

/// Data that was pulled from another server.
#[derive(Debug)]
pub struct Pulled {
    /// The routine that takes such data: `data:double:2:row`.
    pub kind: String,
    /// Its extents.
    pub extents: Vec<u64>,
    /// How many bytes its elements have.
    pub bytes: u64,
    /// These, one behind the other.
    pub elements: Elements,
}

/// The elements of data.
#[derive(Debug)]
pub enum Elements {
    /// Few.
    Inline(Vec<u8>),
    /// In memory that is sealed against writing, from its beginning, and the size of that.
    Memory(OwnedFd, u64),
}

/// The key of tickets for all data that a user has at the server of a node: it opens nobody else's. The
/// server and the plugin derive it alike, and tell it to nobody.
pub fn key_of_user(key: &TicketKey, principal: &str) -> TicketKey {
    key.derived(principal.as_bytes())
}

/// What reaches the plugin.
pub enum Message {
    /// Somebody asks.
    Asked {
        /// Who.
        asker: Asker,
        /// What.
        request: TransactionRequest,
        /// Where the answer goes.
        reply: Reply<farcall_wire::Reply>,
    },
    /// Data is to be pulled from another server.
    Pull {
        /// What.
        pull: Box<PullRequest>,
        /// Where it goes.
        reply: Reply<Pulled>,
    },
    /// A connection that had asked something is closed.
    Left {
        /// Which.
        connection: ConnectionId,
        /// For how long its client may come back; `None`: it does not.
        may_return: Option<Duration>,
    },
    /// A client is back.
    Back {
        /// Who.
        client: ClientName,
        /// Its connection now.
        connection: ConnectionId,
    },
}

/// What the server of the node is told by the plugin.
pub enum ToServer {
    /// Clients' questions are answered from now on.
    Serve {
        /// Here.
        port: Port<Message>,
        /// What the plugin makes tickets with for data that is at this server: [`key_of_user`].
        key: TicketKey,
    },
    /// The plugin is at the other end of this stream, and speaks for the client that asked it to
    /// begin a transaction there. Taken only while that question has no answer.
    Adopt {
        /// The server's end.
        stream: Box<dyn ByteStream>,
        /// The client's connection, and the channel of its question.
        asked: (ConnectionId, ChannelId),
    },
    /// The plugin is at the other end of this stream, and speaks for a user who began a transaction
    /// and has left. The server judges again what that user may do, and says so over the stream if
    /// that is nothing. It takes the stream when all is published that is to be when it starts.
    AdoptFor {
        /// The server's end.
        stream: Box<dyn ByteStream>,
        /// Who.
        user: User,
    },
    /// People should know this: it goes to the log.
    Warn(String),
}

/// How the plugin reaches the server of its node.
#[derive(Clone)]
pub struct TransactionsHandle {
    port: Port<ToServer>,
}

impl TransactionsHandle {
    /// A handle on whatever serves `port`.
    pub fn new(port: Port<ToServer>) -> Self {
        TransactionsHandle { port }
    }

    /// Has clients' questions come to `port` from now on. The plugin makes tickets for the data of
    /// the users that it speaks for, by keys that are derived from `key`.
    ///
    /// # Errors
    /// `LimitExceeded` or `ShuttingDown`.
    pub fn serve(&self, port: Port<Message>, key: TicketKey) -> Result<()> {
        let sent = self.port.try_send(ToServer::Serve { port, key });
        sent.map_err(|refused| refused.refusal.error("run transactions"))
    }

    /// Connects as the client that asked this.
    ///
    /// # Errors
    /// `LimitExceeded` or `ShuttingDown`.
    pub fn adopt(
        &self,
        stream: Box<dyn ByteStream>,
        asked: (ConnectionId, ChannelId),
    ) -> Result<()> {
        let sent = self.port.try_send(ToServer::Adopt { stream, asked });
        sent.map_err(|refused| refused.refusal.error("run a transaction"))
    }

    /// Connects as a user who is not connected.
    ///
    /// # Errors
    /// `LimitExceeded` or `ShuttingDown`.
    pub fn adopt_for(&self, stream: Box<dyn ByteStream>, user: User) -> Result<()> {
        let sent = self.port.try_send(ToServer::AdoptFor { stream, user });
        sent.map_err(|refused| refused.refusal.error("take up a transaction"))
    }

    /// Writes a warning to the log; one for which there is no room is dropped.
    pub fn warn(&self, message: String) {
        drop(self.port.try_send(ToServer::Warn(message)));
    }
}

#[cfg(test)]
mod tests {
    use farcall_base::DataId;

    use super::*;

    #[test]
    fn the_key_of_a_user_opens_the_data_of_nobody_else() {
        let key = TicketKey([5; 32]);
        let data = DataId([1; 16]);
        let ticket = key_of_user(&key, "uid 7").ticket(data, "own", 9);
        assert!(key_of_user(&key, "uid 7").made(data, &ticket));
        for other in ["uid 77", "uid ", "", "user:uid 7"] {
            assert!(!key_of_user(&key, other).made(data, &ticket), "{other}");
        }
        assert!(!key.made(data, &ticket));
        assert!(!key_of_user(&TicketKey([6; 32]), "uid 7").made(data, &ticket));
    }
}
