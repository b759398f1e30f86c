//! Arrays on their way: which bytes of which region come or go next.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use farcall_base::{ChannelId, ConnectionId, Error, Result};
use farcall_call::{Place, Side};
use farcall_link::memory::{HeapRegion, Region, Space};
use farcall_link::packing::Packing;
use rustix::io::Errno;

use crate::state::MemoryId;
use crate::step::SlotMemory;

/// Bytes of a file that are written at once.
const WRITE_BYTES: usize = 256 << 10;
/// Fewer are put where the file is mapped.
const WRITE_MIN: usize = 16 << 10;
/// Memory that is prepared at once: some 50 µs.
const PREPARE_BYTES: u64 = 128 << 10;
/// Prepared memory of calls under way. Results that are larger or more wait for their bytes.
const PREPARED_MAX: u64 = 512 << 20;
/// Values are copied in pieces of so many bytes.
const COPY_BYTES: usize = 256 << 10;
/// Parts that wait to be prepared; older ones are forgotten.
const EXPECTED_MAX: usize = 4096;
/// What a file that can be mapped may answer all the same: its owner sealed it against writing
/// (which spares the mappings that are there), or the server has a limit on the size of files.
const TAKEN_BY_MAPPINGS: [Errno; 2] = [Errno::PERM, Errno::FBIG];

type Key = (ConnectionId, ChannelId, Side, u16);

struct Kept {
    region: Arc<dyn Region>,
    /// The file that the region maps, where its pages are better written than touched.
    file: Option<Arc<OwnedFd>>,
    /// Bytes that were prepared for what comes.
    prepared: u64,
}

/// Bytes on their way to a file.
struct Writing {
    key: Key,
    file: Arc<OwnedFd>,
    offset: u64,
}

/// Transfers under way, and the regions that the server's memory names stand for.
#[derive(Default)]
pub struct Transfers {
    regions: BTreeMap<MemoryId, Kept>,
    packings: BTreeMap<Key, (MemoryId, Packing)>,
    next: u64,
    /// What was given as space last, if it was the scratch.
    writing: Option<Writing>,
    scratch: Option<HeapRegion>,
    /// Parts of files' regions that bytes are to come to, and what was prepared in all.
    expected: VecDeque<(MemoryId, Range<u64>)>,
    prepared: u64,
}

impl Transfers {
    /// Keeps a region under a new name.
    pub fn keep(&mut self, region: Arc<dyn Region>) -> MemoryId {
        self.keep_file(region, None)
    }

    /// The same for a region that maps a file; what comes for it is written to the file. Pages that
    /// nobody has touched come three times faster so, and two times those that only this process
    /// has not.
    pub fn keep_file(&mut self, region: Arc<dyn Region>, file: Option<Arc<OwnedFd>>) -> MemoryId {
        self.next += 1;
        let id = MemoryId(self.next);
        self.regions.insert(id, Kept { region, file, prepared: 0 });
        id
    }

    /// Forgets a region and every transfer in it.
    pub fn release(&mut self, memory: MemoryId) {
        if let Some(kept) = self.regions.remove(&memory) {
            self.prepared -= kept.prepared;
        }
        self.packings.retain(|_, (of, _)| *of != memory);
    }

    /// Bytes are to come to this part of a region.
    pub fn expect(&mut self, memory: MemoryId, part: Range<u64>) {
        if self.expected.len() == EXPECTED_MAX {
            self.expected.pop_front();
        }
        if self.regions.get(&memory).is_some_and(|kept| kept.file.is_some()) {
            self.expected.push_back((memory, part));
        }
    }

    /// Whether there is something to do for [`Transfers::prepare`].
    pub fn has_to_prepare(&self) -> bool {
        !self.expected.is_empty()
    }

    /// Makes the next pages that bytes are to come to, and maps them: that takes longer than to
    /// receive into them, and the bytes need not go through the file then.
    pub fn prepare(&mut self) {
        let Some((memory, part)) = self.expected.front_mut() else { return };
        let piece = part.start..part.end.min(part.start + PREPARE_BYTES);
        let fits = self.prepared + PREPARE_BYTES <= PREPARED_MAX;
        let bytes = (piece.end - piece.start) as usize;
        let is_made = |kept: &&mut Kept| {
            Space::of(&*kept.region, piece.start as usize, bytes)
                .is_ok_and(|space| space.make_pages())
        };
        // Where there is no memory, or an older kernel, the file takes the bytes when they are
        // here, or says what is wrong.
        let Some(kept) = self.regions.get_mut(memory).filter(|_| fits).filter(is_made) else {
            self.expected.pop_front();
            return;
        };
        kept.prepared += bytes as u64;
        self.prepared += bytes as u64;
        part.start = piece.end;
        if part.is_empty() {
            kept.file = None;
            self.expected.pop_front();
        }
    }

    /// Forgets a connection's transfers.
    pub fn forget(&mut self, connection: ConnectionId) {
        self.packings.retain(|(of, ..), _| *of != connection);
    }

    /// A region by its name.
    pub fn region(&self, memory: MemoryId) -> Option<Arc<dyn Region>> {
        self.regions.get(&memory).map(|kept| kept.region.clone())
    }

    /// The region that an identity belongs to.
    pub fn by_identity(&self, identity: u64) -> Option<&Arc<dyn Region>> {
        self.regions.values().map(|kept| &kept.region).find(|region| region.identity() == identity)
    }

    /// Copies a place's elements to the beginning of a region, one after the other.
    ///
    /// # Errors
    /// `Internal` when the memory has been released, or the region is too small.
    pub fn copy(&self, from: &SlotMemory, to: &dyn Region) -> Result<()> {
        let mut packing = self.packing_of(from)?;
        let mut done = 0;
        while packing.left() > 0 {
            let piece = usize::try_from(packing.left()).unwrap_or(usize::MAX).min(COPY_BYTES);
            for block in packing.blocks(piece)? {
                let bytes = block.bytes();
                Space::of(to, done, bytes.len())?.bytes().copy_from_slice(bytes);
                done += bytes.len();
            }
        }
        Ok(())
    }

    /// A place's elements, one after the other.
    ///
    /// # Errors
    /// `Internal` when the memory has been released.
    pub fn packing_of(&self, place: &SlotMemory) -> Result<Packing> {
        let region = self
            .region(place.memory)
            .ok_or_else(|| Error::internal("move an array", "its memory has been released"))?;
        Packing::new(region, place.base as usize, &place.array)
    }

    fn packing(
        &mut self,
        connection: ConnectionId,
        place: &Place,
        memory: Option<SlotMemory>,
    ) -> Result<&mut Packing> {
        let key = (connection, place.channel, place.side, place.slot);
        if place.offset == 0 {
            // The first bytes of an argument: whatever an earlier call left under this number is
            // over.
            let memory =
                memory.ok_or_else(|| Error::internal("move an array", "its call has ended"))?;
            let packing = self.packing_of(&memory)?;
            self.packings.insert(key, (memory.memory, packing));
        }
        let found = self.packings.get_mut(&key).map(|(_, packing)| packing);
        found.ok_or_else(|| Error::internal("move an array", "its start was never seen"))
    }

    /// Where the bytes at `place` go, at most `max`; `None` to throw them away, because their call
    /// is over or has no memory for them. `memory` is that of the argument's first byte.
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
        let space = self.packing(connection, place, memory)?.space(max)?;
        self.by_file(key, space).map(Some)
    }

    /// The bytes of a data frame are thrown away: whatever an earlier call left under this number
    /// is over, though its memory may be in use still.
    pub fn discard(&mut self, of: (ConnectionId, ChannelId, Side, u16)) {
        self.packings.remove(&of);
    }

    /// The scratch in the place of a file's memory.
    fn by_file(&mut self, key: Key, space: Space) -> Result<Space> {
        self.writing = None;
        let kept = self.packings.get(&key).and_then(|(memory, _)| self.regions.get(memory));
        let Some(Kept { region, file: Some(file), .. }) = kept else { return Ok(space) };
        // What is gathered for short runs lies elsewhere.
        let offset = space.address().wrapping_sub(region.base().addr());
        if space.length() < WRITE_MIN || offset >= region.bytes() {
            return Ok(space);
        }
        self.writing = Some(Writing { key, file: file.clone(), offset: offset as u64 });
        if self.scratch.is_none() {
            self.scratch = Some(HeapRegion::new(WRITE_BYTES)?);
        }
        Space::of(self.scratch.as_ref().expect("made above"), 0, space.length().min(WRITE_BYTES))
    }

    /// `count` of them came.
    ///
    /// # Errors
    /// `System` when there is no memory for them: that call cannot have its results.
    pub fn arrived(&mut self, key: Key, count: usize) -> Result<()> {
        if let Some(writing) = self.writing.take_if(|writing| writing.key == key) {
            let scratch = self.scratch.as_ref().expect("it was given as space");
            let mut written = Space::of(scratch, 0, count)?;
            match write_all(&writing.file, written.bytes(), writing.offset) {
                Ok(()) => {}
                Err(errno) if TAKEN_BY_MAPPINGS.contains(&errno) => {
                    self.by_mapping(&writing, written.bytes())?
                }
                // To touch the page would be a SIGBUS, and every client's end.
                Err(errno) => {
                    return Err(Error::system("write into a client's memory", errno.into()));
                }
            }
        }
        match self.packings.get_mut(&key) {
            Some((_, packing)) => packing.arrived(count),
            None => Ok(()),
        }
    }

    /// The file takes no more: what comes goes where it is mapped, as its seals leave that as it
    /// was.
    fn by_mapping(&mut self, writing: &Writing, bytes: &[u8]) -> Result<()> {
        let memory = self.packings.get(&writing.key).map(|(memory, _)| *memory);
        let Some(kept) = memory.and_then(|memory| self.regions.get_mut(&memory)) else {
            return Ok(());
        };
        kept.file = None;
        Space::of(&*kept.region, writing.offset as usize, bytes.len())?
            .bytes()
            .copy_from_slice(bytes);
        Ok(())
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

fn write_all(file: &OwnedFd, mut bytes: &[u8], mut offset: u64) -> std::result::Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::pwrite(file, bytes, offset) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => {
                bytes = &bytes[count..];
                offset += count as u64;
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
