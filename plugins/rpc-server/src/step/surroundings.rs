//! What the server needs of its driver.

use std::ops::Range;

use farcall_base::{ConnectionId, Instant, Result};

use crate::state::{MemoryId, MemorySource, OwnMemory, ValueMemory};
use crate::step::SlotMemory;

/// What the server needs from its driver while it decides.
pub trait Surroundings {
    /// Now.
    fn now(&self) -> Instant;

    /// What the clock on the wall says, in microseconds since 1970, where there is one. For people
    /// alone.
    fn clock_us(&self) -> Option<u64> {
        None
    }

    /// A connection speaks for this principal from now on: its memory is his.
    fn speaks_for(&mut self, _connection: ConnectionId, _principal: &str) {}

    /// Memory for a client's call: its name, its identity and its size.
    ///
    /// # Errors
    /// `LimitExceeded` when the client's share is used up, `System` otherwise.
    fn allocate(&mut self, client: ConnectionId, bytes: u64) -> Result<(MemoryId, u64, u64)>;

    /// The same for a call of this principal, whose client may be gone.
    ///
    /// # Errors
    /// As for [`Surroundings::allocate`].
    fn allocate_for(&mut self, principal: &str, bytes: u64) -> Result<(MemoryId, u64, u64)>;

    /// Memory of this principal's for one value, which is to be sealed.
    ///
    /// # Errors
    /// As for [`Surroundings::allocate`].
    fn allocate_value(&mut self, principal: &str, bytes: u64) -> Result<ValueMemory>;

    /// Nobody writes to a value any more; if somebody still could, a copy takes its place. The
    /// memory that is not used is for the caller to release.
    ///
    /// # Errors
    /// As for [`Surroundings::allocate`], where it has to be copied.
    fn seal(&mut self, principal: &str, memory: &OwnMemory) -> Result<ValueMemory>;

    /// A sealed copy of an array for a principal's value, its elements one behind the other.
    ///
    /// # Errors
    /// As for [`Surroundings::allocate`].
    fn copy_value(&mut self, principal: &str, from: &SlotMemory) -> Result<ValueMemory>;

    /// Maps memory that a client shared, for the bytes of a call that go to an executable which
    /// shares none: its name.
    ///
    /// # Errors
    /// `Internal` when the memory has been released, `LimitExceeded` or `System` where there is no
    /// room for it.
    fn map(&mut self, client: ConnectionId, segment: u32, bytes: u64) -> Result<MemoryId>;

    /// Bytes are to come to this part of memory that a client shared, not at once perhaps: there
    /// may be time to prepare it.
    fn expect(&mut self, _memory: MemoryId, _part: Range<u64>) {}

    /// Keeps what goes with the frame that announces memory to an executable, until that frame
    /// leaves: calls may end, and their client take the memory back, before an executable that
    /// works for long reads of it.
    ///
    /// # Errors
    /// `Internal` when the memory has been released.
    fn announce(
        &mut self,
        executable: ConnectionId,
        segment: u32,
        source: MemorySource,
    ) -> Result<()>;

    /// An executable that is held to its memory will be told of this: pages that are not there yet
    /// are made now, so that they do not count for the process that writes to them first.
    fn settle_pages(&mut self, _source: MemorySource, _bytes: u64) {}

    /// The call is over: the memory may serve another call of the same client.
    fn release(&mut self, memory: MemoryId);

    /// Bytes of memory that lie ready for calls, used ones among them.
    fn memory_held(&self) -> u64 {
        0
    }
}
