//! Memory that the server uses for calls, by name: the driver holds it.

use std::collections::BTreeMap;

use farcall_base::ConnectionId;

/// A piece of memory that the driver holds for the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemoryId(pub u64);

/// Memory that can be shared with an executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemorySource {
    /// A segment that a client shared.
    Client(ConnectionId, u32),
    /// Memory of ours, by the identity that stays with it when it is pooled and used again.
    Own(u64),
}

/// Memory of ours that a call uses.
#[derive(Clone, Debug)]
pub struct OwnMemory {
    /// The driver's name for it, for this call only.
    pub id: MemoryId,
    /// Its identity across calls.
    pub identity: u64,
    /// Its size.
    pub bytes: u64,
    /// Offset of each parameter that lies in it.
    pub offsets: BTreeMap<u16, u64>,
}

/// Files that a call gives back.
#[derive(Clone, Debug)]
pub struct ResultFiles {
    /// Where they lie.
    pub memory: OwnMemory,
    /// Bytes of each, by parameter.
    pub bytes: BTreeMap<u16, u64>,
}
