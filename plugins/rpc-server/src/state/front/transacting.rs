//! Clients that have transactions run.
//!
//! - A client stands here from its first question about transactions until its connection is closed.
//! - While a transaction begins, its client may fetch results already: what is not there yet waits in
//!   `early` until it is known whether the transaction runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use farcall_base::{CallId, ChannelId, ConnectionId};
use farcall_services::transactions::key_of_user;
use farcall_wire::TicketKey;

use super::Caller;
use crate::state::CallKey;

#[derive(Default)]
struct Client {
    /// Questions that begin a transaction and have no answer, and who asked.
    beginning: BTreeMap<ChannelId, Beginner>,
    early: Vec<EarlyFetch>,
    /// Questions that hold up others.
    counted: BTreeSet<ChannelId>,
}

/// Who begins a transaction.
#[derive(Clone)]
pub struct Beginner {
    /// With these rights.
    pub caller: Arc<Caller>,
    /// Inside this call, if a routine does.
    pub inside: Option<CallKey>,
}

/// A result is wanted of a transaction that may run in a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyFetch {
    /// Where the answer goes.
    pub channel: ChannelId,
    /// What is wanted.
    pub id: CallId,
    /// Whether with its interface.
    pub describe: bool,
}

/// All of them.
#[derive(Default)]
pub struct Transacting {
    clients: BTreeMap<ConnectionId, Client>,
    /// What the keys of tickets are derived from, of the plugin that runs transactions here.
    key: Option<TicketKey>,
}

impl Transacting {
    /// Somebody runs transactions here.
    pub(crate) fn serve(&mut self, key: TicketKey) {
        self.key = Some(key);
    }

    /// Whether somebody does.
    pub(crate) fn is_served(&self) -> bool {
        self.key.is_some()
    }

    /// The key of tickets that the plugin makes for the data of a user.
    pub(crate) fn key_of(&self, principal: &str) -> Option<TicketKey> {
        self.key.map(|key| key_of_user(&key, principal))
    }

    /// A client is one that asks about transactions.
    pub(crate) fn know(&mut self, connection: ConnectionId) {
        self.clients.entry(connection).or_default();
    }

    /// A question holds up others until it is answered.
    pub(crate) fn count(&mut self, connection: ConnectionId, channel: ChannelId) {
        self.clients.entry(connection).or_default().counted.insert(channel);
    }

    /// A client begins a transaction.
    pub(crate) fn begin(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        beginner: Beginner,
    ) {
        self.clients.entry(connection).or_default().beginning.insert(channel, beginner);
    }

    /// Who begins a transaction by this question, as long as that has no answer.
    pub(crate) fn beginner(&self, asked: (ConnectionId, ChannelId)) -> Option<Beginner> {
        self.clients.get(&asked.0)?.beginning.get(&asked.1).cloned()
    }

    /// A question is answered: whether it held up others.
    pub(crate) fn count_no_more(&mut self, connection: ConnectionId, channel: ChannelId) -> bool {
        self.clients.get_mut(&connection).is_some_and(|client| client.counted.remove(&channel))
    }

    /// A question is answered: what was fetched early and can be looked for now.
    pub(crate) fn take_early(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
    ) -> Vec<EarlyFetch> {
        let Some(client) = self.clients.get_mut(&connection) else { return Vec::new() };
        let began = client.beginning.remove(&channel).is_some();
        if began && client.beginning.is_empty() {
            std::mem::take(&mut client.early)
        } else {
            Vec::new()
        }
    }

    /// A client fetches what is not there: whether it waits, since a transaction begins.
    pub(crate) fn wait(&mut self, connection: ConnectionId, fetch: EarlyFetch) -> bool {
        let client = self.clients.get_mut(&connection);
        let Some(client) = client.filter(|client| !client.beginning.is_empty()) else {
            return false;
        };
        client.early.push(fetch);
        true
    }

    /// A client does not want it any more; false if it did not.
    pub(crate) fn wait_no_more(&mut self, connection: ConnectionId, channel: ChannelId) -> bool {
        let Some(client) = self.clients.get_mut(&connection) else { return false };
        let before = client.early.len();
        client.early.retain(|fetch| fetch.channel != channel);
        client.early.len() < before
    }

    /// A connection is closed; whether it had asked anything.
    pub(crate) fn forget(&mut self, connection: ConnectionId) -> bool {
        self.clients.remove(&connection).is_some()
    }
}
