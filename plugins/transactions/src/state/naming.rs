//! By what ids calls name what they use, and what becomes of those whose value gets another id: it is
//! made at their server in place of coming there.

use std::collections::{BTreeMap, BTreeSet};

use farcall_base::{DataId, Instant};
use farcall_graph::{CallNumber, DataNumber, Origin, Place, ServerNumber};
use farcall_wire::Argument;

use super::running::{Delayed, Running};
use super::{HERE, Move};

/// Ids of values that are not where they are used yet.
#[derive(Default)]
pub struct Naming {
    /// Values that were promised at a server, and have not come: which server they are on their way
    /// from, if they are.
    pub promised: BTreeMap<(DataNumber, ServerNumber), Option<ServerNumber>>,
    /// Values that are to be brought elsewhere once they are made, by the call that makes them.
    pub waiting: BTreeMap<CallNumber, Vec<Move>>,
    /// Results that the client wants, and that calls make under its ids at the server of this node.
    pub promised_here: BTreeSet<DataNumber>,
    /// Results that calls of these attempts make there under ids of their own all the same.
    pub own_ids: BTreeSet<(DataNumber, u32)>,
    /// By what ids calls that are open name what they use, by call and attempt.
    named: BTreeMap<(CallNumber, u32), Named>,
}

/// A call that is open on a server, and the values that it uses there.
struct Named {
    server: ServerNumber,
    values: Vec<(DataNumber, DataId)>,
}

impl Running {
    /// Results that the client wants, and whose ids are to be promised to it at the server of this
    /// node: those that are not there yet, nor made there by a call that goes on.
    pub fn promise_wanted(&mut self) -> Vec<DataNumber> {
        let mut promised = Vec::new();
        for data in self.wanted.keys().copied().collect::<Vec<_>>() {
            let Some(id) = self.wanted.get(&data).map(|wanted| wanted.id) else { continue };
            let is_its = self.place(data, HERE) == id;
            let is_there = is_its && self.is_at(data, HERE) && !self.is_number(data);
            let maker = self.transaction.graph().maker(data);
            let is_made = maker.is_some_and(|maker| self.transaction.is_open_on(maker, HERE));
            if let Some(wanted) = self.wanted.get_mut(&data) {
                wanted.is_there = is_there;
            }
            if is_its && is_made && !is_there {
                continue;
            }
            self.naming.promised_here.insert(data);
            promised.extend((!is_there).then_some(data));
        }
        promised
    }

    /// A call is opened that makes a value which the client wants: not under the client's id if that is
    /// taken, or may be by the time the call comes to the server, by what comes from elsewhere.
    pub(super) fn choose_id(&mut self, data: DataNumber, server: ServerNumber, attempt: u32) {
        let Some(wanted) = self.wanted.get(&data).filter(|_| server == HERE) else { return };
        let is_taken = wanted.is_moving || wanted.is_there;
        if is_taken || !self.naming.promised_here.contains(&data) {
            self.naming.own_ids.insert((data, attempt));
        }
    }

    /// A value is at a server under an id: maybe that by which the client asks for it.
    pub(super) fn is_delivered(&mut self, data: DataNumber, (server, id): (ServerNumber, DataId)) {
        if let Some(wanted) = self.wanted.get_mut(&data).filter(|_| server == HERE) {
            wanted.is_moving = false;
            wanted.is_there |= wanted.id == id;
        }
    }

    /// A value is not at a server any more.
    pub fn is_gone(&mut self, now: Instant, data: DataNumber, server: ServerNumber) {
        let id = self.place(data, server);
        if self.is_wanted_as(data, (server, id))
            && let Some(wanted) = self.wanted.get_mut(&data)
        {
            wanted.is_there = false;
        }
        self.transaction.handle_gone(now, data, Place::Server(server));
    }

    /// A copy of a value is at the server of this node, where the client asks for it.
    pub fn was_copied(&mut self, data: DataNumber, id: DataId) {
        self.is_delivered(data, (HERE, id));
    }

    /// A call has made its values at a server, under the ids that it was opened with: it says so.
    pub fn has_made(
        &mut self,
        call: CallNumber,
        (server, attempt): (ServerNumber, u32),
        results: &[Argument],
    ) {
        for data in self.transaction.graph().call(call).makes.clone() {
            let said = match self.plan.origin(data) {
                Origin::Result(_, slot) => results.get(usize::from(slot)),
                Origin::Input(_) => None,
            };
            let id = match said {
                Some(Argument::Data(id)) => *id,
                _ => self.made_as(data, server, attempt),
            };
            self.set_place(data, server, id);
            if !self.is_number(data)
                && let Some(wanted) = self.wanted.get_mut(&data).filter(|_| server == HERE)
            {
                wanted.is_there |= wanted.id == id;
            }
        }
    }

    /// Values that a call makes were promised at its server, where it makes them under other ids. Calls
    /// there wait for what never comes, unless it is on its way: which these are.
    pub fn renamed(&mut self, call: CallNumber, server: ServerNumber) -> Vec<(CallNumber, u32)> {
        let mut waiting = Vec::new();
        for data in self.transaction.graph().call(call).makes.clone() {
            if self.naming.promised.remove(&(data, server)) == Some(None) {
                waiting.extend(self.abandon(data, server, self.place(data, server)));
            }
        }
        waiting
    }

    /// What a call makes at a server and nobody else promised there, with its ids.
    pub fn results_of(
        &self,
        call: CallNumber,
        attempt: u32,
        server: ServerNumber,
    ) -> Vec<(DataNumber, DataId)> {
        let made = self.transaction.graph().call(call).makes.iter().copied();
        let named = made.map(|data| (data, self.made_as(data, server, attempt)));
        let is_new = |(data, id): &(DataNumber, DataId)| {
            !self.is_number(*data) && !self.is_wanted_as(*data, (server, *id))
        };
        named.filter(is_new).collect()
    }

    /// Whether the client asks for a value by its id at a server.
    fn is_wanted_as(&self, data: DataNumber, (server, id): (ServerNumber, DataId)) -> bool {
        server == HERE && self.wanted.get(&data).is_some_and(|wanted| wanted.id == id)
    }

    /// A value will not come to a server under an id: calls that wait for it there.
    pub fn abandon(
        &mut self,
        data: DataNumber,
        server: ServerNumber,
        id: DataId,
    ) -> Vec<(CallNumber, u32)> {
        if !self.is_wanted_as(data, (server, id)) {
            self.unneeded.push((server, id));
        }
        let waits = |named: &Named| named.server == server && named.values.contains(&(data, id));
        let calls = self.naming.named.iter().filter(|(_, named)| waits(named));
        calls.map(|(call, _)| *call).collect()
    }

    /// Remembers by what ids a call names what it uses.
    pub(super) fn name(&mut self, one: Delayed) {
        let uses = self.transaction.graph().call(one.call).uses.iter().copied();
        let values = uses.filter(|data| !self.is_number(*data));
        let values = values.map(|data| (data, self.place(data, one.server))).collect();
        self.naming.named.insert((one.call, one.attempt), Named { server: one.server, values });
    }

    /// A call is open no more. Whether a value that it uses has another id at its server by now: then
    /// the call did not have it.
    pub fn was_renamed(&mut self, call: CallNumber, attempt: u32) -> bool {
        let named = self.naming.named.remove(&(call, attempt));
        named.is_some_and(|Named { server, values }| {
            values.into_iter().any(|(data, id)| self.place(data, server) != id)
        })
    }

    /// A server is lost: nothing is on its way from there, and no call is open there.
    pub fn forget_server(&mut self, server: ServerNumber) {
        self.delayed.retain(|one| one.server != server);
        self.naming.named.retain(|_, named| named.server != server);
        for from in self.naming.promised.values_mut().filter(|from| **from == Some(server)) {
            *from = None;
        }
    }

    /// A value could not be brought to a server under an id. The next move brings it under the same
    /// one, unless it has another one there by now: calls that wait for it in vain.
    pub fn has_not_moved(
        &mut self,
        data: DataNumber,
        (to, id): (ServerNumber, DataId),
    ) -> Vec<(CallNumber, u32)> {
        if self.place(data, to) != id {
            return self.abandon(data, to, id);
        }
        if let Some(from) = self.naming.promised.get_mut(&(data, to)) {
            *from = None;
        }
        Vec::new()
    }
}
