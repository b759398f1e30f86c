//! What an administrator wants of a server that runs: changes to what it serves, and its end.

use std::sync::Arc;

use farcall_base::{CallId, ChannelId, ConnectionId, Error, ErrorKind, Instant, ObjectId, Result};
use farcall_services::directory::Visible;
use farcall_wire::{ModuleReport, Order, Reply};

use crate::Orderer;
use crate::access::{Entry, Rights};
use crate::state::{Action, Caller, PeerKind};
use crate::step::front::claims::by;
use crate::step::{Server, Surroundings};

/// Ids of objects or calls that the logs tell of one order.
const WORDS_IDS_MAX: usize = 8;

impl Server {
    /// A client gives an order: whoever may is passed on to those who carry it out.
    pub(in crate::step) fn ordered(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        order: Order,
    ) {
        // Of what comes in pieces the logs tell once, when it is published.
        if !matches!(order, Order::Piece(_)) {
            self.state.front.begin_order(connection, channel, words(&order));
        }
        match self.may_order(connection, &order) {
            Ok(()) => {
                // Without a peer there is nobody to give more than nothing.
                let nobody = || Orderer {
                    principal: String::new(),
                    administers: false,
                    visible: Visible::Only(Arc::default()),
                };
                let by = self.rights(connection).map_or_else(nobody, Rights::orderer);
                self.state.out.act(Action::Order { connection, channel, order, by });
            }
            Err(error) => self.obeyed(connection, channel, Err(error)),
        }
    }

    /// The same for an order that the server carries out itself.
    pub(super) fn ordered_to_delete(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
        ids: Vec<ObjectId>,
    ) {
        let order = Order::Delete(ids);
        self.state.front.begin_order(connection, channel, words(&order));
        match (self.may_order(connection, &order), order) {
            (Ok(()), Order::Delete(ids)) => self.delete(surroundings, connection, channel, &ids),
            (outcome, _) => self.obeyed(connection, channel, outcome.map(|()| Vec::new())),
        }
    }

    fn may_order(&self, connection: ConnectionId, order: &Order) -> Result<()> {
        let Some(rights) = self.rights(connection) else { return Ok(()) };
        match order {
            Order::Publish(_) | Order::Files(_) | Order::Piece(_) | Order::Withdraw(_) => {
                rights.publish()
            }
            Order::Reload(_) | Order::Drain(_) | Order::Delete(_) | Order::EndJob(_) => {
                rights.administer()
            }
            // Of others' calls they are told that there are none.
            Order::EndCalls(_) => Ok(()),
        }
    }

    /// Cancels open calls: an administrator anybody's, others their own.
    pub(super) fn ordered_to_end(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
        ids: Vec<CallId>,
    ) {
        let order = Order::EndCalls(ids);
        self.state.front.begin_order(connection, channel, words(&order));
        let Order::EndCalls(ids) = order else { return };
        let mut outcome = Ok(Vec::new());
        for id in ids {
            if !self.end_by_order(surroundings, connection, id) {
                outcome = Err(no_open_call(id));
            }
        }
        self.obeyed(connection, channel, outcome);
    }

    /// Whether the call is open, and the client may end it.
    fn end_by_order(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        id: CallId,
    ) -> bool {
        let Some(rights) = self.rights(connection) else { return false };
        let Some(owner) = self.owner_of_open(id) else { return false };
        let is_own = owner == rights.principal();
        if !is_own && rights.administer().is_err() {
            return false;
        }
        let by = if is_own { "its user" } else { "an administrator of the server" };
        let message = format!("{by} cancelled the call");
        self.end_open(surroundings, id, Error::new(ErrorKind::Cancelled, "run a routine", message));
        true
    }

    /// What became of an order.
    pub fn obeyed(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        outcome: Result<Vec<ModuleReport>>,
    ) {
        self.audit_order(connection, channel, outcome.as_ref().err());
        let reply = match outcome {
            Ok(reports) if reports.is_empty() => Reply::Done,
            Ok(reports) => Reply::Modules(reports),
            Err(error) => Reply::Failed((&error).into()),
        };
        self.reply(connection, channel, &reply);
    }

    /// This is who may do what from now on. Calls and orders that are open go on with the rights
    /// that they came with, but for calls that go on without their clients: these end. What
    /// routines call from now on is what their callers may call now.
    pub fn grant(&mut self, surroundings: &mut dyn Surroundings, table: &[Entry]) {
        self.know_access(table);
        self.end_forbidden(surroundings, table);
        for peer in self.state.front.peers_mut() {
            if matches!(peer.kind, PeerKind::Client { .. }) {
                let rights = by(&peer.caller, table);
                let rights = if peer.inside.is_some() { rights.to_call() } else { rights };
                peer.caller = Arc::new(Caller { rights, ..(*peer.caller).clone() });
            }
        }
    }

    /// Takes no more calls from now on; those that are open go on.
    pub fn drain(&mut self, now: Instant) {
        self.state.draining = true;
        self.store_all(now);
    }

    /// Whether it accepts no more calls and none is open: every result is written down and has
    /// left, every object has ended.
    pub fn is_drained(&self) -> bool {
        let is_idle = || {
            self.state.calls.is_empty()
                && !self.state.calls.is_sending()
                && !self.state.kept.is_being_written()
        };
        self.state.draining && is_idle() && self.state.objects.is_empty()
    }

    /// Calls that are open.
    pub fn calls_open(&self) -> usize {
        self.state.calls.count()
    }

    pub(in crate::step) fn check_not_draining(&self) -> Result<()> {
        if !self.state.draining {
            return Ok(());
        }
        Err(shutting_down("accept a call", "the server accepts no more calls: it is stopping")
            .retryable())
    }

    /// Says goodbye to every client. Nothing of a client ran that has no call open: it may ask
    /// another server.
    pub fn farewell(&mut self) {
        self.state.ending = true;
        let clients = self.state.front.peers().filter_map(|(connection, peer)| match &peer.kind {
            PeerKind::Client { calls, .. } if !peer.leaving => Some((connection, calls.is_empty())),
            _ => None,
        });
        for (connection, unharmed) in clients.collect::<Vec<_>>() {
            let error = if unharmed {
                shutting_down("serve", "the server ends").retryable()
            } else {
                shutting_down("serve", "the server stops before its calls have finished")
            };
            self.broken(connection, &error);
        }
    }

    /// Whether the server must not end though no client is there: calls go on without one, or an
    /// outcome is not yet where it will stay.
    pub fn has_kept_calls(&self) -> bool {
        self.state.kept.needs_server()
    }

    /// Whether a client is connected.
    pub fn has_clients(&self) -> bool {
        self.state.front.has_clients()
    }
}

/// An order as the logs have it.
fn words(order: &Order) -> String {
    match order {
        Order::Publish(file) => format!("publish {file}"),
        Order::Files(sent) => {
            let first = sent.files.first().map(|file| file.name.as_str());
            let named = first.or(sent.there.as_deref()).or(sent.known_as.as_deref());
            format!("publish {}", named.unwrap_or_default())
        }
        Order::Piece(piece) => format!("take a piece of {}", piece.name),
        Order::Withdraw(module) => format!("withdraw {module}"),
        Order::Reload(None) => "reload".to_owned(),
        Order::Reload(Some(module)) => format!("reload {module}"),
        Order::Delete(ids) => {
            let ids: Vec<String> =
                ids.iter().take(WORDS_IDS_MAX).map(ObjectId::to_string).collect();
            format!("delete {}", ids.join(" "))
        }
        Order::EndJob(number) => format!("end job {number}"),
        Order::EndCalls(ids) => {
            let ids: Vec<String> = ids.iter().take(WORDS_IDS_MAX).map(CallId::to_string).collect();
            format!("cancel {}", ids.join(" "))
        }
        Order::Drain(None) => "drain".to_owned(),
        Order::Drain(Some(milliseconds)) => format!("drain within {milliseconds} ms"),
    }
}

fn no_open_call(id: CallId) -> Error {
    Error::new(ErrorKind::NotFound, "cancel a call", "you have no open call with this id")
        .with("call", id)
        .fix("`farcall top` lists open calls: this one has ended, or belongs to another user")
}

fn shutting_down(operation: &'static str, message: &'static str) -> Error {
    Error::new(ErrorKind::ShuttingDown, operation, message)
        .fix("call another server, or this one after it has restarted")
}
