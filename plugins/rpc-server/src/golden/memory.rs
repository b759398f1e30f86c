//! The clock and the memory of conversations.

use std::collections::{BTreeMap, VecDeque};

use farcall_base::{CallId, ChannelId, ConnectionId, ExecutableId, Instant, Result};

use crate::state::{CallKey, MemoryId, MemorySource, OwnMemory, ValueMemory};
use crate::step::{SlotMemory, Surroundings};

/// The clock, and memory that says what happens to it.
#[derive(Default)]
pub struct Memory {
    pub now: Instant,
    pub said: Vec<String>,
    pub taken: BTreeMap<MemoryId, u64>,
    pub released: Vec<MemoryId>,
    /// What goes with Share frames that have not left yet.
    pub announced: BTreeMap<(ConnectionId, u32), MemorySource>,
    /// What is being read from a results folder, for whom.
    pub fetching: VecDeque<(CallId, (ConnectionId, ChannelId))>,
    /// Calls whose begin is being written down, and the executables that are kept for them.
    pub beginning: VecDeque<(CallId, ExecutableId)>,
    /// Calls whose arguments are being read.
    pub loading: VecDeque<CallKey>,
    /// Those who wait until a call is forgotten.
    pub erasing: VecDeque<(ConnectionId, ChannelId)>,
    next: u64,
}

impl Surroundings for Memory {
    fn now(&self) -> Instant {
        self.now
    }

    fn allocate(&mut self, _: ConnectionId, bytes: u64) -> Result<(MemoryId, u64, u64)> {
        self.next += 1;
        self.taken.insert(MemoryId(self.next), bytes);
        self.said.push(format!("take memory {}: {bytes} bytes", self.next));
        Ok((MemoryId(self.next), self.next, bytes))
    }

    fn allocate_for(&mut self, _: &str, bytes: u64) -> Result<(MemoryId, u64, u64)> {
        self.allocate(ConnectionId(0), bytes)
    }

    fn allocate_value(&mut self, _: &str, bytes: u64) -> Result<ValueMemory> {
        let (id, identity, bytes) = self.allocate(ConnectionId(0), bytes)?;
        Ok(ValueMemory { id, identity, bytes })
    }

    fn seal(&mut self, _: &str, memory: &OwnMemory) -> Result<ValueMemory> {
        self.said.push(format!("seal memory {}", memory.id.0));
        Ok(ValueMemory { id: memory.id, identity: memory.identity, bytes: memory.bytes })
    }

    fn copy_value(&mut self, principal: &str, from: &SlotMemory) -> Result<ValueMemory> {
        let copy = self.allocate_value(principal, from.array.bytes())?;
        self.said.push(format!("copy memory {} to memory {}", from.memory.0, copy.id.0));
        Ok(copy)
    }

    fn map(&mut self, _: ConnectionId, segment: u32, bytes: u64) -> Result<MemoryId> {
        self.next += 1;
        self.taken.insert(MemoryId(self.next), bytes);
        self.said.push(format!("map segment {segment} as memory {}: {bytes} bytes", self.next));
        Ok(MemoryId(self.next))
    }

    fn announce(
        &mut self,
        executable: ConnectionId,
        segment: u32,
        source: MemorySource,
    ) -> Result<()> {
        if let MemorySource::Own(identity) = source {
            assert!(
                self.taken.contains_key(&MemoryId(identity)),
                "memory is announced that was given back"
            );
        }
        assert_eq!(self.announced.insert((executable, segment), source), None);
        Ok(())
    }

    fn release(&mut self, memory: MemoryId) {
        assert!(self.taken.remove(&memory).is_some(), "{memory:?} was released twice");
        self.released.push(memory);
        self.said.push(format!("release memory {}", memory.0));
    }
}
