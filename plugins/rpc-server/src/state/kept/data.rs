//! Data: values that stay here (spec/wire.md, section 12).
//!
//! - Data stands in `all` from the Open of its call until it is deleted or its lease has ended, and
//!   what is counted for it stands in the room of kept calls.
//! - A call that waits for data stands in its `waiting`, once for each argument, and clients that
//!   want it in its `asking` and, by the channel, in `asked`.
//! - `owned` has the data of clients that are connected, and `due` that of all others.
//! - The memory of a value is released when neither its data nor a call nor an answer has it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{ChannelId, ConnectionId, DataId, Instant};
use farcall_idl::data::DataKind;
use farcall_link::strided::Strided;
use farcall_wire::{Failure, InlineBytes, TicketKey};

use super::ClientKey;
use crate::state::{CallKey, MemoryId};

/// A value. It never changes.
#[derive(Debug)]
pub struct Value {
    /// What it consists of.
    pub kind: DataKind,
    /// Its extents.
    pub extents: Vec<u64>,
    /// Where its elements lie, one behind the other.
    pub place: ValuePlace,
}

/// Where the elements of a value lie.
#[derive(Debug)]
pub enum ValuePlace {
    /// Here.
    Inline(InlineBytes),
    /// In memory of its own, from its beginning, to which nobody can write.
    Memory(ValueMemory),
}

/// Memory of a value.
#[derive(Clone, Copy, Debug)]
pub struct ValueMemory {
    /// The driver's name for it.
    pub id: MemoryId,
    /// Its identity for executables; 0 where it cannot be shared.
    pub identity: u64,
    /// Its size.
    pub bytes: u64,
}

impl Value {
    /// Bytes of its elements.
    pub fn bytes(&self) -> u64 {
        self.kind.layout(&self.extents).transfer_bytes
    }

    /// Its elements as they lie in its memory.
    pub fn array(&self) -> Strided {
        Strided::of_layout(&self.kind.layout(&self.extents))
    }

    /// Its memory, if it has some.
    pub fn memory(&self) -> Option<&ValueMemory> {
        match &self.place {
            ValuePlace::Memory(memory) => Some(memory),
            ValuePlace::Inline(_) => None,
        }
    }
}

/// How far data is.
#[derive(Debug)]
pub enum Content {
    /// Its call has not ended; `None`: it was promised, and no call makes it yet.
    Coming(Option<CallKey>),
    /// It is there.
    There(Arc<Value>),
    /// It will never be.
    Failed(Failure),
}

/// Data.
#[derive(Debug)]
pub struct Data {
    /// Whose.
    pub principal: String,
    /// What it consists of.
    pub kind: DataKind,
    /// How far it is.
    pub content: Content,
    /// Whether another call may make it if one fails.
    pub is_promised: bool,
    /// The key of tickets with which other servers may pull it.
    pub tickets: Option<TicketKey>,
    /// Tickets that were used, until they are out of date: when, and their proofs.
    pub pulled: BTreeSet<(u64, [u8; 32])>,
    /// What is counted for it.
    pub bytes: u64,
    /// For how long it stays without its client.
    pub lease: Duration,
    /// The connection of its client, while there is one.
    pub owner: Option<ConnectionId>,
    /// Who that is, if he may come back under his name.
    pub client: Option<ClientKey>,
    /// When it is deleted, where its client is not connected.
    pub expires: Option<Instant>,
    /// Calls that wait for it.
    pub waiting: Vec<CallKey>,
    /// Where it is to be told, and whether with its interface: [`DataTable::ask`] enters them.
    pub asking: Vec<(ConnectionId, ChannelId, bool)>,
}

/// All data.
#[derive(Default)]
pub struct DataTable {
    all: HashMap<DataId, Data>,
    owned: BTreeSet<(ConnectionId, DataId)>,
    due: BTreeSet<(Instant, DataId)>,
    asked: BTreeMap<(ConnectionId, ChannelId), DataId>,
    /// Calls one of whose arguments has come, or never will.
    pub(crate) woken: VecDeque<CallKey>,
    /// Whether these are being looked at: what they wake is looked at behind them, so that a long
    /// chain of calls takes no stack.
    pub(crate) is_waking: bool,
}

impl DataTable {
    /// Data by its id.
    pub fn get(&self, id: &DataId) -> Option<&Data> {
        self.all.get(id)
    }

    /// The same if it is this principal's.
    pub fn of(&self, id: &DataId, principal: &str) -> Option<&Data> {
        self.all.get(id).filter(|data| data.principal == principal)
    }

    /// Whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Everything, in no order.
    pub fn all(&self) -> impl Iterator<Item = (&DataId, &Data)> {
        self.all.iter()
    }

    /// Data of a client that is not here, which keeps the server alive.
    pub fn is_leased(&self) -> bool {
        !self.due.is_empty()
    }

    /// Enters data.
    pub(super) fn insert(&mut self, id: DataId, data: Data) {
        self.owned.extend(data.owner.map(|connection| (connection, id)));
        self.due.extend(data.expires.map(|at| (at, id)));
        self.all.insert(id, data);
    }

    /// Takes data out.
    pub(super) fn remove(&mut self, id: &DataId) -> Option<Data> {
        let data = self.all.remove(id)?;
        if let Some(connection) = data.owner {
            self.owned.remove(&(connection, *id));
        }
        if let Some(at) = data.expires {
            self.due.remove(&(at, *id));
        }
        Some(data)
    }

    /// Data that a client promised, and no call has made.
    pub(crate) fn promised_by(&self, connection: ConnectionId) -> Vec<DataId> {
        let range = (connection, DataId([0; 16]))..=(connection, DataId([u8::MAX; 16]));
        let mine = self.owned.range(range).map(|(_, id)| *id);
        mine.filter(|id| self.all.get(id).is_some_and(|data| data.is_promised)).collect()
    }

    /// Data changes, but not whose it is and when it is due.
    pub(crate) fn get_mut(&mut self, id: &DataId) -> Option<&mut Data> {
        self.all.get_mut(id)
    }

    /// A client wants to have data as soon as it is there.
    pub(crate) fn ask(&mut self, id: DataId, place: (ConnectionId, ChannelId), describe: bool) {
        let Some(data) = self.all.get_mut(&id) else { return };
        data.asking.push((place.0, place.1, describe));
        self.asked.insert(place, id);
    }

    /// Nobody waits for data any more: who did.
    pub(crate) fn take_asking(&mut self, id: &DataId) -> Vec<(ConnectionId, ChannelId, bool)> {
        let Some(data) = self.all.get_mut(id) else { return Vec::new() };
        let asking = std::mem::take(&mut data.asking);
        for (connection, channel, _) in &asking {
            self.asked.remove(&(*connection, *channel));
        }
        asking
    }

    /// A client does not want it any more; false if it did not.
    pub(crate) fn ask_no_more(&mut self, place: (ConnectionId, ChannelId)) -> bool {
        let Some(id) = self.asked.remove(&place) else { return false };
        if let Some(data) = self.all.get_mut(&id) {
            data.asking.retain(|(connection, channel, _)| (*connection, *channel) != place);
        }
        true
    }

    /// What is there for nobody when no client is connected and no call is running.
    pub(crate) fn is_forgotten(&self) -> bool {
        let is_awaited = |data: &Data| !data.waiting.is_empty() || !data.asking.is_empty();
        let is_any = self.all.values().any(is_awaited);
        is_any || !self.owned.is_empty() || !self.asked.is_empty() || !self.woken.is_empty()
    }

    /// A connection has ended: its data stays until then. Gives what does not stay at all.
    pub(crate) fn lost(
        &mut self,
        connection: ConnectionId,
        until: impl Fn(&Data) -> Option<Instant>,
    ) -> Vec<DataId> {
        let range = (connection, DataId([0; 16]))..=(connection, DataId([u8::MAX; 16]));
        let ids: Vec<DataId> = self.owned.range(range).map(|(_, id)| *id).collect();
        let places = (connection, ChannelId(0))..=(connection, ChannelId(u32::MAX));
        let asked: Vec<_> = self.asked.range(places).map(|(place, _)| *place).collect();
        for place in asked {
            self.ask_no_more(place);
        }
        let mut gone = Vec::new();
        for id in ids {
            let Some(mut data) = self.remove(&id) else { continue };
            data.expires = until(&data);
            data.owner = None;
            if data.expires.is_none() {
                gone.push(id);
            }
            self.insert(id, data);
        }
        gone
    }

    /// A client came back: what is left of its data is its own again.
    pub(crate) fn own_again(&mut self, client: &ClientKey, connection: ConnectionId) {
        let mine = |(_, id): &&(Instant, DataId)| {
            self.all.get(id).is_some_and(|data| data.client.as_ref() == Some(client))
        };
        let ids: Vec<DataId> = self.due.iter().filter(mine).map(|(_, id)| *id).collect();
        for id in ids {
            let Some(mut data) = self.remove(&id) else { continue };
            data.expires = None;
            data.owner = Some(connection);
            self.insert(id, data);
        }
    }

    /// When the next data is deleted.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Data whose lease has ended.
    pub(crate) fn due(&self, now: Instant) -> Option<DataId> {
        self.due.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id)
    }

    /// Memory of values that data has.
    pub fn memories(&self) -> impl Iterator<Item = (&DataId, &ValueMemory)> {
        self.all.iter().filter_map(|(id, data)| match &data.content {
            Content::There(value) => Some((id, value.memory()?)),
            _ => None,
        })
    }
}
