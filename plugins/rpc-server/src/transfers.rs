//! Arrays on their way: which bytes of which region come or go next.

use std::collections::BTreeMap;
use std::sync::Arc;

use farcall_base::{ChannelId, ConnectionId, Error, Result};
use farcall_call::{Place, Side};
use farcall_interfaces::memory::{Region, Space};
use farcall_interfaces::packing::Packing;

use crate::state::MemoryId;
use crate::step::SlotMemory;

type Key = (ConnectionId, ChannelId, Side, u16);

/// Transfers under way, and the regions that the server's memory names stand for.
#[derive(Default)]
pub struct Transfers {
    regions: BTreeMap<MemoryId, Arc<dyn Region>>,
    packings: BTreeMap<Key, (MemoryId, Packing)>,
    next: u64,
}

impl Transfers {
    /// Keeps a region under a new name.
    pub fn keep(&mut self, region: Arc<dyn Region>) -> MemoryId {
        self.next += 1;
        let id = MemoryId(self.next);
        self.regions.insert(id, region);
        id
    }

    /// Forgets a region and every transfer in it.
    pub fn release(&mut self, memory: MemoryId) {
        self.regions.remove(&memory);
        self.packings.retain(|_, (of, _)| *of != memory);
    }

    /// Forgets a connection's transfers.
    pub fn forget(&mut self, connection: ConnectionId) {
        self.packings.retain(|(of, ..), _| *of != connection);
    }

    /// A region by its name.
    pub fn region(&self, memory: MemoryId) -> Option<Arc<dyn Region>> {
        self.regions.get(&memory).cloned()
    }

    /// The region that an identity belongs to.
    pub fn by_identity(&self, identity: u64) -> Option<&Arc<dyn Region>> {
        self.regions.values().find(|region| region.identity() == identity)
    }

    /// A place's elements, one after the other.
    ///
    /// # Errors
    /// `Internal` when the memory is gone.
    pub fn packing_of(&self, place: &SlotMemory) -> Result<Packing> {
        let region = self.regions.get(&place.memory).cloned();
        let region = region.ok_or_else(|| Error::internal("move an array", "its memory is gone"))?;
        Packing::new(region, place.base as usize, &place.array)
    }

    fn packing(&mut self, connection: ConnectionId, place: &Place, memory: Option<SlotMemory>) -> Result<&mut Packing> {
        let key = (connection, place.channel, place.side, place.slot);
        if place.offset == 0 {
            // The first bytes of an argument: whatever an earlier call left under this number is over.
            let memory = memory.ok_or_else(|| Error::internal("move an array", "its call is gone"))?;
            let packing = self.packing_of(&memory)?;
            self.packings.insert(key, (memory.memory, packing));
        }
        let found = self.packings.get_mut(&key).map(|(_, packing)| packing);
        found.ok_or_else(|| Error::internal("move an array", "its begin was never seen"))
    }

    /// Where the bytes at `place` go, at most `max`; `None` to throw them away, because their call is over or has no
    /// memory for them. `memory` is that of the argument's first byte.
    pub fn space(
        &mut self,
        connection: ConnectionId,
        place: &Place,
        memory: Option<SlotMemory>,
        max: usize,
    ) -> Result<Option<Space>> {
        let key = (connection, place.channel, place.side, place.slot);
        let begins = place.offset == 0;
        if begins && memory.is_none() {
            // What an earlier call left under this number must not take the rest of these bytes.
            self.packings.remove(&key);
        }
        if memory.is_none() && !self.packings.contains_key(&key) {
            return Ok(None);
        }
        self.packing(connection, place, memory)?.space(max).map(Some)
    }

    /// `count` of them came.
    pub fn arrived(&mut self, key: Key, count: usize) -> Result<()> {
        match self.packings.get_mut(&key) {
            Some((_, packing)) => packing.arrived(count),
            None => Ok(()),
        }
    }

    /// The array whose bytes at `place` are to be sent.
    pub fn sending(
        &mut self,
        connection: ConnectionId,
        place: &Place,
        memory: Option<SlotMemory>,
    ) -> Result<&mut Packing> {
        self.packing(connection, place, memory)
    }
}
