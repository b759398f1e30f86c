//! Transactions: a plugin runs them, and opens their calls over a connection of its own that has the
//! rights of their client (spec/wire.md, section 13).

use farcall_base::{ChannelId, ConnectionId, Error, ErrorKind, Instant, Result};
use farcall_services::transactions::{Asker, Message, User};
use farcall_wire::{Reply, TicketKey, TransactionRequest};

use crate::access;
use crate::state::{
    Action, Beginner, Caller, ClientKey, EarlyFetch, Nest, Newcomer, Resuming, Speaks,
};
use crate::step::{Server, Surroundings};

impl Server {
    /// Somebody runs transactions here from now on: clients that connect are told so. Tickets with keys
    /// that are derived from `key` are good for data here.
    pub fn serve_transactions(&mut self, key: TicketKey) {
        self.state.front.transacting.serve(key);
    }

    /// A client begins a transaction, or asks about one.
    pub(super) fn transaction_asked(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        request: TransactionRequest,
    ) {
        let Some(peer) = self.state.front.peer(connection) else { return };
        let caller = peer.caller.clone();
        let inside = peer.inside;
        let user = access::named(caller.rights.principal(), None).map(|principal| User {
            principal: principal.name,
            address: caller.address.clone(),
            certificate: caller.certificate.clone(),
        });
        let asker = Asker {
            user,
            connection,
            channel,
            principal: caller.rights.principal().to_owned(),
            visible: caller.rights.visible(),
            client: peer.resuming.client.clone(),
        };
        match &request {
            TransactionRequest::Begin(begin) => {
                if let Err(error) = self.check_not_draining() {
                    return self.reply(connection, channel, &Reply::Failed((&error).into()));
                }
                // What is kept goes on when the call that a routine began it in has ended.
                let inside = inside.filter(|_| begin.keep_us.is_none());
                let beginner = Beginner { caller, inside };
                self.state.front.transacting.begin(connection, channel, beginner);
            }
            _ => self.state.front.transacting.know(connection),
        }
        // It is answered when the transaction has ended, and holds up no other question.
        if !matches!(request, TransactionRequest::Await(_)) {
            self.state.front.transacting.count(connection, channel);
            self.state.front.ask_plugin(connection);
        }
        self.state.out.act(Action::Transact { asker, request });
    }

    /// The plugin's answer. What was fetched meanwhile is there now, or coming, or never will be.
    pub fn transacted(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
        answer: Result<Reply>,
    ) {
        if self.state.front.transacting.count_no_more(connection, channel) {
            self.state.front.plugin_answered(connection);
        }
        let reply = answer.unwrap_or_else(|error| Reply::Failed((&error).into()));
        self.reply(connection, channel, &reply);
        for fetch in self.state.front.transacting.take_early(connection, channel) {
            let EarlyFetch { channel, id, describe } = fetch;
            self.take_up(surroundings, (connection, channel), id, describe);
        }
    }

    /// The plugin connected, for the client that asked it this: what the client may, it may. It is
    /// gone if that has an answer. The calls of a transaction that a routine began are inside the
    /// call of the routine, as those that it makes one by one.
    pub fn transactor(&mut self, asked: (ConnectionId, ChannelId)) -> Option<Nest> {
        let Beginner { caller, inside } = self.state.front.transacting.beginner(asked)?;
        let caller = Caller { speaks: Speaks::Within, ..(*caller).clone() };
        let newcomer = Newcomer { caller, shares_memory: false, token: None, refusal: None };
        Some(Nest { newcomer, inside })
    }

    /// That connection is there.
    pub fn transactor_connected(
        &mut self,
        connection: ConnectionId,
        newcomer: Newcomer,
        now: Instant,
    ) {
        self.add_client(connection, newcomer, now);
    }

    /// A connection that had asked about transactions is closed.
    pub(in crate::step) fn transactions_left(
        &mut self,
        connection: ConnectionId,
        resuming: &Resuming,
    ) {
        if self.state.front.transacting.forget(connection) {
            let may_return = resuming.client.as_ref().and(resuming.keep);
            let left = Message::Left { connection, may_return };
            self.state.out.act(Action::TellTransactions(left));
        }
    }

    /// A client has come back.
    pub(in crate::step) fn transactions_back(
        &mut self,
        client: &ClientKey,
        connection: ConnectionId,
    ) {
        if self.state.front.transacting.is_served() {
            self.state.front.transacting.know(connection);
            let back = Message::Back { client: client.clone(), connection };
            self.state.out.act(Action::TellTransactions(back));
        }
    }

    /// Whether what a client fetches, and is not there, may come with a transaction that begins.
    pub(in crate::step) fn is_early(
        &mut self,
        (connection, channel): (ConnectionId, ChannelId),
        id: farcall_base::CallId,
        describe: bool,
    ) -> bool {
        self.state.front.transacting.wait(connection, EarlyFetch { channel, id, describe })
    }

    /// A client does not want any more what it fetched early; false if it fetched nothing there.
    pub(in crate::step) fn cancel_early(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
    ) -> bool {
        let was_early = self.state.front.transacting.wait_no_more(connection, channel);
        if was_early {
            let error = Error::new(ErrorKind::Cancelled, "fetch data", "it was cancelled");
            self.refuse(connection, channel, &error);
        }
        was_early
    }
}
