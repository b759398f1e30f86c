//! The metaserver of this node: clients' questions go to it, and it asks how the server is.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;

use farcall_base::{ChannelId, ConnectionId, Error, ErrorKind, Result};
use farcall_link::stream::RelayedSocket;
use farcall_services::directory::{self, Response, Visible};
use farcall_services::mailbox::{Port, Refusal, Reply};
use farcall_services::placement::{self, Asker, ToServer};
use farcall_system::machine_load::machine_load;
use farcall_wire::{ServerReport, StateQuestion};

use super::directory::listing;
use super::journal::Life;
use super::{Driver, Message};
use crate::LogLevel;
use crate::state::Listener;
use crate::step::{Listing, NodeFacts, Surroundings};

/// Who is asked, and who has asked it.
#[derive(Default)]
pub struct Metaserver {
    port: Option<Port<placement::Message>>,
    askers: BTreeSet<ConnectionId>,
    /// Connections whose end it was too busy to be told of.
    untold: Vec<ConnectionId>,
    /// Grows when the rights change: what somebody may know of is another then.
    rights: u64,
    /// Who waits until the directory has said what is published.
    waiting: BTreeMap<u64, (StateAsker, StateQuestion)>,
    last: u64,
}

impl Metaserver {
    /// Whether it is to be told of something that it had no room for.
    pub(super) fn has_untold(&self) -> bool {
        !self.untold.is_empty()
    }

    /// The table of rights is another.
    pub(super) fn rights_changed(&mut self) {
        self.rights += 1;
    }

    /// A connection is closed.
    pub(super) fn forget(&mut self, connection: ConnectionId) {
        if self.askers.remove(&connection) {
            self.untold.push(connection);
        }
    }
}

/// Who waits for the state of the server.
pub enum StateAsker {
    /// A client.
    Client(ConnectionId, ChannelId),
    /// The metaserver of this node.
    Metaserver(Reply<Box<ServerReport>>),
}

impl Driver {
    /// A metaserver says something, or asks.
    pub(super) fn metaserver(&mut self, said: ToServer) {
        match said {
            ToServer::Serve(port) => self.services.metaserver.port = Some(port),
            ToServer::Placed(routines) => self.server.set_placed(routines),
            ToServer::Adopt(socket, host) => self.adopt(socket, &host),
            ToServer::Warn { address, message } => self.journal.life(LogLevel::Warn, || Life {
                peer: Some(address),
                outcome: "failed",
                message: Some(message),
                ..Life::default()
            }),
            ToServer::State { question, reply } => {
                self.ask_state(StateAsker::Metaserver(reply), question);
            }
        }
    }

    /// The metaserver has one end of a relayed stream for itself, or for a client.
    pub(super) fn pass_relayed(&mut self, relayed: RelayedSocket) {
        let Some(port) = &self.services.metaserver.port else { return };
        // One that finds no room is closed, and dials again.
        drop(port.try_send(placement::Message::Relayed(relayed)));
    }

    /// A client was led here by the metaserver on this host, or it is that metaserver.
    fn adopt(&mut self, socket: OwnedFd, host: &str) {
        let adopting = self.doors.listeners.iter_mut().position(|listener| listener.adopts());
        let Some(index) = adopting else { return };
        // One that is gone already.
        let _ = self.doors.listeners[index].adopt(socket, host);
    }

    /// Hands a client's question to the metaserver.
    pub(super) fn ask_metaserver(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        asker: Asker,
        request: placement::Request,
    ) {
        let Some(port) = &self.services.metaserver.port else {
            let error =
                Error::new(ErrorKind::Unavailable, "place a call", "this server places no calls");
            return self.server.placed(connection, channel, Err(error));
        };
        let reply = self.sender.reply(move |answer| Message::Placed(connection, channel, answer));
        let sent = reply.and_then(|reply| {
            let message = placement::Message::Asked { asker, request, reply };
            port.try_send(message).map_err(|refused| {
                if let placement::Message::Asked { reply, .. } = refused.message {
                    // Its sender is told here, and not a second time.
                    reply.withdraw();
                }
                refused.refusal.error("place a call")
            })
        });
        match sent {
            Ok(()) => drop(self.services.metaserver.askers.insert(connection)),
            Err(error) => self.server.placed(connection, channel, Err(error)),
        }
    }

    /// Tells the metaserver of connections that ended.
    pub(super) fn tell_metaserver(&mut self) {
        let Some(port) = &self.services.metaserver.port else {
            return self.services.metaserver.untold.clear();
        };
        while let Some(connection) = self.services.metaserver.untold.pop() {
            if let Err(refused) = port.try_send(placement::Message::Closed(connection)) {
                if refused.refusal == Refusal::Full {
                    self.services.metaserver.untold.push(connection);
                }
                return;
            }
        }
    }

    /// Somebody wants to know how the server is. The directory is asked only for what has changed.
    pub(super) fn ask_state(&mut self, asker: StateAsker, question: StateQuestion) {
        let is_known = question.known == Some(self.revision());
        if is_known && question.wanted.is_empty() {
            return self.tell_state(asker, &question, None);
        }
        self.services.metaserver.last += 1;
        let number = self.services.metaserver.last;
        self.services.metaserver.waiting.insert(number, (asker, question));
        match self.sender.reply(move |answer| Message::Stated(number, answer)) {
            Ok(reply) => self.services.directory.ask(directory::Request::List, reply),
            Err(error) => self.stated(number, Err(error)),
        }
    }

    /// What is published, for somebody who waits for it.
    pub(super) fn stated(&mut self, number: u64, answer: Result<Response>) {
        if let Some((asker, question)) = self.services.metaserver.waiting.remove(&number) {
            self.tell_state(asker, &question, Some(answer.and_then(listing)));
        }
    }

    fn tell_state(
        &mut self,
        asker: StateAsker,
        question: &StateQuestion,
        listing: Option<Result<Listing>>,
    ) {
        let now = self.world.now();
        let facts = self.node_facts();
        match asker {
            StateAsker::Client(connection, channel) => {
                self.server.tell_state(now, (connection, channel), question, listing, facts);
            }
            StateAsker::Metaserver(reply) => reply.answer(listing.transpose().map(|listing| {
                let listener = Listener::OwnMetaserver;
                let all = listing.as_deref();
                self.server.report(now, listener, &Visible::All, question, all, facts)
            })),
        }
    }

    fn node_facts(&self) -> NodeFacts {
        let machine = machine_load();
        let listeners = self.doors.listeners.iter();
        let joined = listeners.clone().find_map(|listener| listener.joined_name());
        let listening = listeners.filter(|listener| listener.joined_name().is_none());
        NodeFacts {
            addresses: listening.map(|listener| listener.address()).collect(),
            joined_name: joined.unwrap_or_default(),
            revision: self.revision(),
            load: machine.load,
            memory_free: machine.memory_free,
        }
    }

    /// Another number when something else is published, or the rights are others.
    fn revision(&self) -> u64 {
        self.directory.revision() ^ (self.services.metaserver.rights << 40)
    }
}
