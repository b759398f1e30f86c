//! The plugin of this node that runs transactions: clients' questions go to it, and it connects as a
//! client.

use std::collections::VecDeque;

use farcall_base::{ChannelId, ConnectionId, DataId, Error, ErrorKind, Result};
use farcall_link::hosts::CertifiedHosts;
use farcall_link::stream::ByteStream;
use farcall_services::mailbox::{Port, Refusal};
use farcall_services::transactions::{
    Asker, Elements, Message as ToPlugin, Pulled, ToServer, User,
};
use farcall_wire::{PullRequest, TransactionRequest};

use super::journal::Life;
use super::{Driver, Message};
use crate::LogLevel;
use crate::access::{self, Principal};
use crate::state::{Caller, Newcomer, Speaks};
use crate::step::Surroundings;

fn revoked(name: &str) -> Error {
    let message = format!("the certificate with which \"{name}\" began it was revoked");
    Error::new(ErrorKind::PermissionDenied, "take up a transaction", message)
}

/// News that wait for a plugin which is too busy.
const UNTOLD_MAX: usize = 65_536;

/// Who runs transactions.
#[derive(Default)]
pub struct Transactor {
    port: Option<Port<ToPlugin>>,
    /// What it was too busy to be told.
    untold: VecDeque<ToPlugin>,
    /// Its connections for users who have left, until all is published.
    early: Vec<(Box<dyn ByteStream>, User)>,
    all_published: bool,
}

impl Transactor {
    /// Whether it is to be told of something that it had no room for.
    pub(super) fn has_untold(&self) -> bool {
        !self.untold.is_empty()
    }
}

impl Driver {
    /// The plugin says something.
    pub(super) fn transactor(&mut self, said: ToServer) {
        match said {
            ToServer::Serve { port, key } => {
                self.services.transactor.port = Some(port);
                self.server.serve_transactions(key);
            }
            ToServer::Adopt { stream, asked } => self.adopt_transactor(stream, asked),
            ToServer::AdoptFor { stream, user } => {
                let transactor = &mut self.services.transactor;
                if transactor.all_published || !self.transports.opens_when_published {
                    return self.adopt_for(stream, user);
                }
                transactor.early.push((stream, user));
            }
            ToServer::Warn(message) => self.journal.life(LogLevel::Warn, || Life {
                outcome: "failed",
                message: Some(message),
                ..Life::default()
            }),
        }
    }

    /// All that is to be published when the server starts is.
    pub(super) fn transactor_may_connect(&mut self) {
        self.services.transactor.all_published = true;
        for (stream, user) in std::mem::take(&mut self.services.transactor.early) {
            self.adopt_for(stream, user);
        }
    }

    /// The plugin speaks for a user who is not connected: what that user may do now, it may.
    fn adopt_for(&mut self, stream: Box<dyn ByteStream>, user: User) {
        let User { principal: name, address, certificate } = user;
        let judged = access::named(&name, Some((self.transports.own_uid)()));
        let is_revoked = |certificate: &str| {
            self.doors.listeners.iter().any(|listener| listener.is_revoked(certificate))
        };
        let judged = match &certificate {
            Some(certificate) if is_revoked(certificate) => Err(revoked(&name)),
            _ => judged,
        };
        let (principal, refusal) = match judged {
            Ok(principal) => (principal, None),
            Err(error) => (Principal { name: name.clone(), owns_server: false }, Some(error)),
        };
        let rights = access::rights(&self.options.access, &principal);
        let Some(connection) = self.add(stream) else { return };
        self.tell_of(connection, "opened", &name, Some(&address));
        self.world.set_principal(connection, name);
        let hosts = CertifiedHosts::default();
        let caller = Caller { address, rights, certificate, hosts, speaks: Speaks::Within };
        let newcomer = Newcomer { caller, shares_memory: false, token: None, refusal };
        self.server.transactor_connected(connection, newcomer, self.world.now());
        self.wires.look_again(connection);
    }

    /// The plugin is at the other end of a stream: one that came too late is closed.
    fn adopt_transactor(&mut self, stream: Box<dyn ByteStream>, asked: (ConnectionId, ChannelId)) {
        let Some(nest) = self.server.transactor(asked) else { return };
        let Some(connection) = self.add(stream) else { return };
        let principal = nest.newcomer.caller.rights.principal().to_owned();
        self.tell_of(connection, "opened", &principal, Some(&nest.newcomer.caller.address));
        self.world.set_principal(connection, principal);
        match nest.inside {
            Some(_) => self.server.nested(connection, nest, self.world.now()),
            None => self.server.transactor_connected(connection, nest.newcomer, self.world.now()),
        }
        self.wires.look_again(connection);
    }

    /// Hands a client's question to the plugin.
    pub(super) fn ask_transactor(&mut self, asker: Asker, request: TransactionRequest) {
        let asked = (asker.connection, asker.channel);
        let Some(port) = &self.services.transactor.port else {
            let message = "this server runs no transactions";
            let error = Error::new(ErrorKind::Unavailable, "begin a transaction", message)
                .fix("begin it at another server, or make its calls one by one");
            return self.server.transacted(&mut self.world, asked.0, asked.1, Err(error));
        };
        let reply = self.sender.reply(move |answer| Message::Transacted(asked.0, asked.1, answer));
        let sent = reply.and_then(|reply| {
            port.try_send(ToPlugin::Asked { asker, request, reply }).map_err(|refused| {
                if let ToPlugin::Asked { reply, .. } = refused.message {
                    // Its sender is told here, and not a second time.
                    reply.withdraw();
                }
                refused.refusal.error("run a transaction")
            })
        });
        if let Err(error) = sent {
            self.server.transacted(&mut self.world, asked.0, asked.1, Err(error));
        }
    }

    /// Has the plugin pull data.
    pub(super) fn pull(&mut self, asked: (ConnectionId, ChannelId), pull: Box<PullRequest>) {
        let id = pull.data;
        let none = || Error::new(ErrorKind::Unavailable, "pull data", "this server pulls none");
        let port = self.services.transactor.port.as_ref().ok_or_else(none);
        let reply = self.sender.reply(move |answer| Message::Pulled(asked.0, asked.1, id, answer));
        let sent = port.and_then(|port| {
            let reply = reply?;
            port.try_send(ToPlugin::Pull { pull, reply }).map_err(|refused| {
                if let ToPlugin::Pull { reply, .. } = refused.message {
                    // Its sender is told here, and not a second time.
                    reply.withdraw();
                }
                refused.refusal.error("pull data")
            })
        });
        if let Err(error) = sent {
            self.server.pulled(&mut self.world, asked, id, Err(error));
        }
    }

    /// Data was pulled, or could not be: its memory is this server's from here on.
    pub(super) fn pulled(
        &mut self,
        asked: (ConnectionId, ChannelId),
        id: DataId,
        outcome: Result<Pulled>,
    ) {
        let here = outcome.and_then(|mut pulled| {
            let none = Elements::Inline(Vec::new());
            match std::mem::replace(&mut pulled.elements, none) {
                Elements::Memory(descriptor, size) => {
                    let principal = self.server.principal_of_data(&id).unwrap_or_default();
                    Ok((pulled, Some(self.world.adopt_shared(&principal, descriptor, size)?)))
                }
                elements => Ok((Pulled { elements, ..pulled }, None)),
            }
        });
        self.server.pulled(&mut self.world, asked, id, here);
    }

    /// The plugin is to know this.
    pub(super) fn tell_transactor(&mut self, news: ToPlugin) {
        if self.services.transactor.untold.len() < UNTOLD_MAX {
            self.services.transactor.untold.push_back(news);
        }
        self.tell_transactor_again();
    }

    /// Tells the plugin what it had no room for, in its order.
    pub(super) fn tell_transactor_again(&mut self) {
        let Transactor { port, untold, .. } = &mut self.services.transactor;
        let Some(port) = port else { return untold.clear() };
        while let Some(news) = untold.pop_front() {
            if let Err(refused) = port.try_send(news) {
                if refused.refusal == Refusal::Full {
                    untold.push_front(refused.message);
                }
                return;
            }
        }
    }
}
