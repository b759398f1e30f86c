//! Where the bytes of data frames belong.

use farcall_base::{ChannelId, ConnectionId, Error, Result};
use farcall_call::{Place, Side};
use farcall_idl::layout::{CallLayout, ParameterLayout};
use farcall_link::strided::Strided;
use farcall_wire::{Argument, FrameHeader};

use crate::state::{Call, CallKey, Finished, MemoryId, OwnMemory, PeerKind};
use crate::step::Server;
use crate::step::calls::files;
use crate::step::data::take::given_memory;

/// An argument's or a result's memory.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotMemory {
    /// Memory of ours.
    pub memory: MemoryId,
    /// Where the array begins in it.
    pub base: u64,
    /// Which of its elements travel.
    pub array: Strided,
}

impl Server {
    /// Where a data frame's byte `done` belongs; `None` to throw it away.
    ///
    /// # Errors
    /// The peer broke a rule: tell [`Server::broken`].
    pub fn place(
        &mut self,
        connection: ConnectionId,
        header: &FrameHeader,
        done: u32,
    ) -> Result<Option<Place>> {
        match self.state.front.peer_mut(connection) {
            Some(peer) if !peer.leaving => peer.connection.place(header, done),
            _ => Ok(None),
        }
    }

    /// The memory that a place lies in; `None` when its call is over.
    pub fn memory_of(&self, connection: ConnectionId, place: &Place) -> Option<SlotMemory> {
        if is_inside(place.channel) {
            let callback = self.state.callbacks.get((connection, place.channel))?;
            return array_in(callback.memory.as_ref()?, &callback.layout, place.slot);
        }
        let sending = match place.side {
            Side::Results => self.state.calls.sending_on((connection, place.channel)),
            Side::Arguments => None,
        };
        if let Some(finished) = sending {
            return result_memory(finished, place);
        }
        call_memory(self.state.calls.get(&self.call_of(connection, place.channel)?)?, place)
    }

    /// The memory for an array takes nothing: its call fails, once its executable is done with it,
    /// and nobody else's.
    ///
    /// # Errors
    /// `error`, where there is no such call: tell [`Server::broken`].
    pub fn memory_failed(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        error: Error,
    ) -> Result<()> {
        let key = self.call_of(connection, channel);
        let Some(call) = key.and_then(|key| self.state.calls.get_mut(&key)) else {
            return Err(error);
        };
        call.run.unwanted.get_or_insert(error);
        Ok(())
    }

    /// Whose data come over a connection: we open the calls on executables' connections, clients
    /// those on theirs; callbacks go the other way.
    pub fn side_received(&self, connection: ConnectionId, channel: ChannelId) -> Side {
        let inside = is_inside(channel);
        match self.state.front.peer(connection).map(|peer| &peer.kind) {
            Some(PeerKind::Executable(_)) if inside => Side::Arguments,
            Some(PeerKind::Executable(_)) => Side::Results,
            _ if inside => Side::Results,
            _ => Side::Arguments,
        }
    }

    fn call_of(&self, connection: ConnectionId, channel: ChannelId) -> Option<CallKey> {
        match &self.state.front.peer(connection)?.kind {
            PeerKind::Client { calls, .. } => calls.get(channel).copied(),
            PeerKind::Executable(executable) => {
                // Also of one that is to end: its memory stays until it has, and what is under way
                // may go on.
                self.in_line(*executable, channel)
            }
        }
    }
}

pub(in crate::step) fn call_memory(call: &Call, place: &Place) -> Option<SlotMemory> {
    if place.side == Side::Arguments
        && let Some(given) = given_memory(call, place.slot)
    {
        return Some(given);
    }
    if let Some(file) = files::memory_of(call, place) {
        return Some(file);
    }
    let stays = call.memory.stays.iter().filter_map(|stay| stay.memory.as_ref());
    let mut memories = call.memory.own.iter().chain(&call.memory.mapped).chain(stays);
    memories.find_map(|memory| array_in(memory, &call.layout, place.slot))
}

/// Where the arrays and files lie that came as arguments of a call, in the order of their
/// parameters.
pub(in crate::step) fn arguments_of(call: &Call) -> Vec<SlotMemory> {
    let came = call.open.arguments.iter().enumerate();
    let came = came.filter(|(_, argument)| matches!(argument, Argument::Blocks(Some(1..))));
    let place = |slot: usize| Place {
        channel: ChannelId(0),
        side: Side::Arguments,
        slot: slot as u16,
        offset: 0,
    };
    came.filter_map(|(slot, _)| call_memory(call, &place(slot))).collect()
}

/// Where a result lies whose call is over.
pub fn result_memory(finished: &Finished, place: &Place) -> Option<SlotMemory> {
    if let Some(call) = &finished.call {
        return call_memory(call, place);
    }
    if let Some(value) = &finished.value {
        return Some(SlotMemory { memory: value.memory()?.id, base: 0, array: value.array() });
    }
    let files = finished.files.as_ref()?;
    let base = *files.memory.offsets.get(&place.slot)?;
    let bytes = *files.bytes.get(&place.slot)?;
    Some(SlotMemory { memory: files.memory.id, base, array: Strided::contiguous(bytes) })
}

/// Whether a channel is a callback's: those are the only ones that clients accept and executables
/// open, and the ends that accepted a connection, or whose initiator was the other, number theirs
/// evenly (spec/wire.md, section 3).
fn is_inside(channel: ChannelId) -> bool {
    channel.0.is_multiple_of(2)
}

fn array_in(memory: &OwnMemory, layout: &CallLayout, slot: u16) -> Option<SlotMemory> {
    let base = *memory.offsets.get(&slot)?;
    let ParameterLayout::Array(array) = layout.parameters.get(usize::from(slot))? else {
        return None;
    };
    Some(SlotMemory { memory: memory.id, base, array: Strided::of_layout(array) })
}
