//! Data that servers pull from one another (spec/wire.md, section 12.1): those that come with a
//! ticket, and what this server has pulled itself.

use std::sync::Arc;

use farcall_base::{ChannelId, ConnectionId, DataId, Error, ErrorKind, Result};
use farcall_idl::data::DataKind;
use farcall_services::transactions::{Elements, Pulled};
use farcall_wire::{
    Argument, InlineBytes, OWN_USER, PULL_ADDRESSES_MAX, PULLS, PullRequest, Reply, SHARED_RESULTS,
    Share, Ticket, TicketKey,
};

use crate::state::{
    Action, Caller, Content, MemorySource, OVERHEAD, Value, ValueMemory, ValuePlace,
};
use crate::step::{Server, Surroundings};

/// Tickets of one value that were used, and are not out of date.
const PULLED_MAX: usize = 4096;

impl Server {
    /// Somebody shows a ticket for data that is another's.
    pub(in crate::step) fn fetch_by_ticket(
        &mut self,
        surroundings: &mut dyn Surroundings,
        (connection, channel): (ConnectionId, ChannelId),
        id: DataId,
        describe: bool,
        ticket: &Ticket,
    ) {
        match self.judge_ticket(surroundings, connection, id, ticket) {
            Ok(()) => self.fetch_data(surroundings, (connection, channel), id, describe),
            Err(error) => {
                self.audit_refused(connection, Some(id.as_call()), "", &error);
                self.refuse(connection, channel, &error);
            }
        }
    }

    /// Whether a ticket is for this data and for the peer that shows it; it counts as used.
    fn judge_ticket(
        &mut self,
        surroundings: &dyn Surroundings,
        connection: ConnectionId,
        id: DataId,
        ticket: &Ticket,
    ) -> Result<()> {
        let peer = self.state.front.peer(connection);
        let caller = peer.map(|peer| peer.caller.clone());
        let now_us = surroundings.clock_us();
        let data = self.state.kept.data.get_mut(&id);
        let transacting = &self.state.front.transacting;
        let is_made = data.as_ref().is_some_and(|data| {
            let mut keys = data.tickets.into_iter().chain(transacting.key_of(&data.principal));
            keys.any(|key| key.made(id, ticket))
        });
        // Whether there is no such data, or the ticket is not its own, reads the same.
        if !is_made {
            return Err(denied("there is no such data, or the ticket was not made for it"));
        }
        if !caller.is_some_and(|caller| is_receiver(&caller, &ticket.receiver)) {
            return Err(
                denied("the ticket was made for another server").with("receiver", &ticket.receiver)
            );
        }
        let now_us = now_us.filter(|now| *now < ticket.until_us).ok_or_else(|| {
            denied("the ticket is out of date").fix("compare the clocks of the servers")
        })?;
        let Some(data) = data else { return Err(denied("there is no such data")) };
        // Those that are out of date are refused anyway.
        data.pulled = data.pulled.split_off(&(now_us, [0; 32]));
        let used = (ticket.until_us, ticket.proof);
        if data.pulled.contains(&used) {
            return Err(denied("the ticket was used before"));
        }
        if data.pulled.len() >= PULLED_MAX {
            return Err(Error::new(ErrorKind::LimitExceeded, OPERATION, "it was pulled too often"));
        }
        data.pulled.insert(used);
        Ok(())
    }

    /// A value as the memory that it is in, for a connection that takes such: what stands in the
    /// Result. Otherwise it is sent.
    pub(in crate::step) fn share_value(
        &mut self,
        surroundings: &mut dyn Surroundings,
        (connection, channel): (ConnectionId, ChannelId),
        value: &Value,
    ) -> Option<Argument> {
        let memory = *value.memory().filter(|memory| memory.identity != 0)?;
        let takes = self.has_feature(connection, SHARED_RESULTS);
        let peer = self.state.front.peer_mut(connection);
        let peer = peer.filter(|peer| takes && peer.shares_memory)?;
        // A channel has one value: its number tells the memory from others.
        let segment = channel.0;
        let source = MemorySource::Own(memory.identity);
        surroundings.announce(connection, segment, source).ok()?;
        peer.connection.share(Share { segment, bytes: memory.bytes });
        Some(Argument::Shared(segment, 0, value.bytes()))
    }

    /// The Result that names the memory of a value has been said: no other does.
    pub(in crate::step) fn unshare_value(&mut self, connection: ConnectionId, channel: ChannelId) {
        if let Some(peer) = self.state.front.peer_mut(connection) {
            peer.connection.unshare(channel.0);
        }
    }

    /// A plugin that runs transactions has data pulled from another server.
    pub(in crate::step) fn pull_asked(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        pull: PullRequest,
    ) {
        if let Err(error) = self.check_pull(connection, &pull) {
            return self.reply(connection, channel, &Reply::Failed((&error).into()));
        }
        if let Some(data) = self.state.kept.data.get_mut(&pull.data) {
            data.tickets = pull.key.map(TicketKey).or(data.tickets);
        }
        self.state.out.act(Action::Pull { connection, channel, pull: Box::new(pull) });
    }

    fn check_pull(&self, connection: ConnectionId, pull: &PullRequest) -> Result<()> {
        let refused = |message: &'static str| {
            Error::new(ErrorKind::InvalidArgument, OPERATION, message).with("data", pull.data)
        };
        let Some(peer) = self.state.front.peer(connection) else { return Ok(()) };
        if !peer.connection.has_feature(PULLS) {
            return Err(refused("a pull was requested by a client that does not know it"));
        }
        let caller = &peer.caller;
        // It makes this server dial: the peer that says where could dial there itself.
        if !caller.may_send_out() {
            let message = "only servers that run transactions have data pulled";
            return Err(Error::new(ErrorKind::PermissionDenied, OPERATION, message));
        }
        let is_dialled = |address: &String| {
            address.starts_with("tls://") || (address.starts_with("unix:") && caller.is_here())
        };
        if pull.addresses.is_empty()
            || pull.addresses.len() > PULL_ADDRESSES_MAX
            || !pull.addresses.iter().all(is_dialled)
        {
            return Err(refused("the source has no address at which this server may dial it"));
        }
        let data = self.state.kept.data.of(&pull.data, caller.rights.principal());
        if !data.is_some_and(|data| matches!(data.content, Content::Coming(None))) {
            return Err(refused("the data was not promised, or is made by a call")
                .fix("promise it first, and have it pulled once"));
        }
        Ok(())
    }

    /// Whose data is, for the driver, which gets memory for it.
    pub fn principal_of_data(&self, id: &DataId) -> Option<String> {
        self.state.kept.data.get(id).map(|data| data.principal.clone())
    }

    /// Data was pulled, or could not be; if it has memory, that is mapped by now.
    pub fn pulled(
        &mut self,
        surroundings: &mut dyn Surroundings,
        (connection, channel): (ConnectionId, ChannelId),
        id: DataId,
        outcome: Result<(Pulled, Option<ValueMemory>)>,
    ) {
        let reply = match outcome.and_then(|pulled| self.take_pulled(surroundings, id, pulled)) {
            Ok(()) => Reply::Done,
            Err(error) => Reply::Failed((&error.with("data", id)).into()),
        };
        self.reply(connection, channel, &reply);
        self.wake_calls(surroundings);
    }

    fn take_pulled(
        &mut self,
        surroundings: &mut dyn Surroundings,
        id: DataId,
        (pulled, memory): (Pulled, Option<ValueMemory>),
    ) -> Result<()> {
        let value = self.value_pulled(&id, pulled, memory.as_ref());
        if let (Err(_), Some(memory)) = (&value, memory) {
            surroundings.release(memory.id);
        }
        let value = value?;
        self.make_room_to_keep(surroundings, value.bytes());
        self.state.kept.resize_data(&id, value.bytes().saturating_add(OVERHEAD));
        if let Some(data) = self.state.kept.data.get_mut(&id) {
            data.kind = value.kind;
            data.content = Content::There(Arc::new(value));
            self.tell_of_data(surroundings, id);
        }
        Ok(())
    }

    /// What came, if it is what was promised.
    fn value_pulled(
        &self,
        id: &DataId,
        pulled: Pulled,
        memory: Option<&ValueMemory>,
    ) -> Result<Value> {
        let refused = |message: &'static str| Error::new(ErrorKind::Protocol, OPERATION, message);
        let gone = || Error::new(ErrorKind::Cancelled, OPERATION, "it was deleted meanwhile");
        let data = self.state.kept.data.get(id).ok_or_else(gone)?;
        if !matches!(data.content, Content::Coming(None)) {
            return Err(Error::new(ErrorKind::Cancelled, OPERATION, "a call made it meanwhile"));
        }
        let kind = DataKind::of_routine(&pulled.kind)
            .filter(|kind| (kind.element, kind.rank) == (data.kind.element, data.kind.rank));
        let kind = kind.ok_or_else(|| refused("the source sent data of another type"))?;
        if pulled.extents.len() != kind.rank {
            return Err(refused("the source sent data of another number of dimensions"));
        }
        // Sizes of strangers: a product that is too large does not count as one.
        if kind.layout(&pulled.extents).transfer_bytes != pulled.bytes {
            return Err(refused("the source sent data of another length than its extents say"));
        }
        let place = match (&pulled.elements, memory) {
            (_, Some(memory)) if memory.bytes >= pulled.bytes => ValuePlace::Memory(*memory),
            (Elements::Inline(bytes), None) if bytes.len() as u64 == pulled.bytes => {
                ValuePlace::Inline(InlineBytes::from_slice(bytes))
            }
            _ => return Err(refused("the source sent fewer bytes than it said")),
        };
        let limits = &self.state.limits.keep;
        self.state.kept.room.check_data_room(&data.principal, (0, pulled.bytes), limits)?;
        Ok(Value { kind, extents: pulled.extents, place })
    }
}

const OPERATION: &str = "pull data";

fn denied(message: &'static str) -> Error {
    Error::new(ErrorKind::PermissionDenied, OPERATION, message)
}

/// Whether somebody is the receiver that a ticket names.
fn is_receiver(caller: &Caller, receiver: &str) -> bool {
    match receiver {
        OWN_USER => caller.is_here() && caller.through().is_none(),
        host => caller.hosts.name(host),
    }
}
