//! Argument memory: regions that several calls' drivers, streams and processes read and write by
//! handle.
//!
//! The bytes of a region may change under our feet (a routine writes them, another process maps
//! them), so nothing here hands out long-lived references: access goes through raw copies and
//! through slices that live for one system call.

use std::any::Any;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Error, Result};

/// A piece of memory at a fixed address.
///
/// # Safety
/// The bytes that `base` and `bytes` name are the same all the time, and may be read and written,
/// for as long as the region lives: slices are made of them on its word.
pub unsafe trait Region: Send + Sync {
    /// Its first byte; valid for [`Region::bytes`] bytes as long as the region lives.
    fn base(&self) -> *mut u8;

    /// Its size.
    fn bytes(&self) -> usize;

    /// The descriptor that names it to another process, if it can be shared.
    fn descriptor(&self) -> Option<Arc<OwnedFd>> {
        None
    }

    /// Tells this memory from any other of this process, for ever: an address may come back after
    /// it was unmapped, an identity does not. 0 for memory that cannot be shared.
    fn identity(&self) -> u64 {
        0
    }

    /// No call writes here any more: a user keeps what lies here. A process that is forked off
    /// finds it as it was, and neither sees what the other writes.
    fn keep(&self) {}

    /// Makes it memory of this process alone, and closes its descriptor. For memory that a user
    /// keeps and that was taken back from every other process: no call uses it again.
    fn withdraw(&self) {}

    /// Nobody writes here any more, in no process, from now on; false where somebody still can. For
    /// memory of [`MemorySource::allocate_value`] that was taken back from every other process.
    fn seal(&self) -> bool {
        self.identity() == 0
    }

    /// Whether nobody can write here, in no process.
    fn is_sealed(&self) -> bool {
        false
    }

    /// What is sealed can be written to in this process, which has a copy of every page that it
    /// writes to, until [`Region::close_copy`].
    ///
    /// # Errors
    /// `System` where there is no memory for copies.
    fn open_copy(&self) -> Result<()> {
        Ok(())
    }

    /// The copies are gone.
    fn close_copy(&self) {}

    /// A call is to use what a user keeps here; false if other processes do not see what is
    /// written. Until it is given back as often, a fork leaves it to the calls of this process, and
    /// the child has a copy.
    fn lend(&self) -> bool {
        false
    }

    /// The call has ended: no other process writes here any more.
    fn give_back(&self) {}

    /// The user has it back although a call goes on: from now on nothing that other processes write
    /// reaches it.
    fn take_back(&self) {}
}

/// Makes regions.
pub trait MemorySource: Send + Sync {
    /// A region of at least `bytes` zero bytes or bytes that the same principal wrote before. It
    /// has no descriptor where there is none left.
    ///
    /// # Errors
    /// `LimitExceeded` when the source's limit is reached, `System` otherwise.
    fn allocate(&self, bytes: usize) -> Result<Arc<dyn Region>>;

    /// A region of `bytes` zero bytes for one value, which can be sealed. It is never used again.
    ///
    /// # Errors
    /// As for [`MemorySource::allocate`].
    fn allocate_value(&self, bytes: usize) -> Result<Arc<dyn Region>> {
        self.allocate(bytes)
    }

    /// Maps memory that another process shared.
    ///
    /// # Errors
    /// `Protocol` when the descriptor is not sealed memory of that size, `LimitExceeded` or
    /// `System` when there was no descriptor or room left for it.
    fn adopt(&self, descriptor: OwnedFd, bytes: usize) -> Result<Arc<dyn Region>>;

    /// The same of memory that may be sealed against writing ([`Region::is_sealed`]): that is mapped
    /// for reading.
    ///
    /// # Errors
    /// As for [`MemorySource::adopt`].
    fn adopt_value(&self, descriptor: OwnedFd, bytes: usize) -> Result<Arc<dyn Region>> {
        self.adopt(descriptor, bytes)
    }

    /// The same of a value that another server keeps, sealed against writing: it is shared with
    /// others from here as if it had been made here.
    ///
    /// # Errors
    /// As for [`MemorySource::adopt`].
    fn adopt_shared(&self, descriptor: OwnedFd, bytes: usize) -> Result<Arc<dyn Region>> {
        self.adopt_value(descriptor, bytes)
    }

    /// Whether [`MemorySource::adopt`] takes this memory; gives its descriptor back. No page of it
    /// is touched.
    ///
    /// # Errors
    /// As for `adopt`.
    fn check(&self, descriptor: OwnedFd, bytes: usize) -> Result<OwnedFd>;

    /// Identities of regions made here that went back to the system since the last question:
    /// whoever told another process of one tells it to unmap it.
    fn freed(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Most regions that should be shared at once: each costs a descriptor here and at the other
    /// end.
    fn shared_max(&self) -> usize {
        usize::MAX
    }

    /// Bytes in regions made here, idle ones included, as far as they are counted.
    fn held(&self) -> u64 {
        0
    }

    /// Of these, bytes in idle ones.
    fn idle(&self) -> u64 {
        0
    }

    /// Gives pooled memory back to the system that nobody has used for this long.
    fn trim(&self, _unused_for: Duration) {}
}

/// Bytes to send that stay where they are until they are sent.
#[derive(Clone)]
pub struct Block {
    base: *const u8,
    length: usize,
    /// Keeps the memory alive; `None` when the maker of the block promised to.
    _region: Option<Arc<dyn Region>>,
}

// SAFETY: a block only names bytes; whoever made it promised that they stay valid, on every thread.
unsafe impl Send for Block {}

impl Block {
    /// Bytes `offset .. offset + length` of a region.
    ///
    /// # Errors
    /// `Internal` when they do not lie within the region.
    pub fn of(region: &Arc<dyn Region>, offset: usize, length: usize) -> Result<Block> {
        check_within(&**region, offset, length)?;
        // SAFETY: the check above keeps the offset within the region.
        let base = unsafe { region.base().add(offset) };
        Ok(Block { base, length, _region: Some(region.clone()) })
    }

    /// The same for bytes that are read at once, while the region is borrowed: nothing keeps the
    /// region alive.
    pub(crate) fn of_unkept(region: &dyn Region, offset: usize, length: usize) -> Result<Block> {
        check_within(region, offset, length)?;
        // SAFETY: the check above keeps the offset within the region.
        Ok(Block { base: unsafe { region.base().add(offset) }, length, _region: None })
    }

    /// Bytes of the caller's own.
    ///
    /// # Safety
    /// They must stay valid and in place until the block and all its clones are dropped.
    pub unsafe fn borrowed(base: *const u8, length: usize) -> Block {
        Block { base, length, _region: None }
    }

    /// Number of bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// A part of it.
    ///
    /// # Panics
    /// When the part does not lie within the block.
    pub fn part(&self, offset: usize, length: usize) -> Block {
        assert!(
            offset.checked_add(length).is_some_and(|end| end <= self.length),
            "a part lies within its block"
        );
        // SAFETY: the assertion keeps the offset within the block.
        Block { base: unsafe { self.base.add(offset) }, length, _region: self._region.clone() }
    }

    /// The same bytes in memory of their own.
    ///
    /// # Errors
    /// `System` when there is none.
    pub fn copied(&self) -> Result<Block> {
        let region: Arc<dyn Region> = Arc::new(HeapRegion::new(self.length)?);
        Space::of(&*region, 0, self.length)?.bytes().copy_from_slice(self.bytes());
        Block::of(&region, 0, self.length)
    }

    /// The bytes, for one system call.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the block's maker keeps the bytes valid; they are numbers that any bit pattern is
        // a value of.
        unsafe { std::slice::from_raw_parts(self.base, self.length) }
    }
}

/// Memory to receive into, for one system call.
pub struct Space {
    base: *mut u8,
    length: usize,
}

impl Space {
    /// Bytes `offset .. offset + length` of a region.
    ///
    /// # Errors
    /// `Internal` when they do not lie within the region.
    pub fn of(region: &dyn Region, offset: usize, length: usize) -> Result<Space> {
        check_within(region, offset, length)?;
        // SAFETY: the check above keeps the offset within the region.
        Ok(Space { base: unsafe { region.base().add(offset) }, length })
    }

    /// Bytes of the caller's own.
    ///
    /// # Safety
    /// They must stay valid, writable and unaliased while the space is used.
    pub unsafe fn borrowed(base: *mut u8, length: usize) -> Space {
        Space { base, length }
    }

    /// Number of bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Address of the first.
    pub fn address(&self) -> usize {
        self.base.addr()
    }

    /// The bytes, for one system call.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: whoever made the space keeps it valid and lets nobody else write during the call.
        unsafe { std::slice::from_raw_parts_mut(self.base, self.length) }
    }

    /// Makes and maps the pages that it lies in; what is written there stays. False where the
    /// system will not: there is no memory, or the kernel is older than Linux 5.14.
    pub fn make_pages(&self) -> bool {
        let before = self.base.addr() % rustix::param::page_size();
        let first = self.base.wrapping_sub(before);
        let bytes = before + self.length;
        // SAFETY: pages that a valid space lies in, which it changes nothing about.
        unsafe {
            rustix::mm::madvise(first.cast(), bytes, rustix::mm::Advice::LinuxPopulateWrite).is_ok()
        }
    }
}

fn check_within(region: &dyn Region, offset: usize, length: usize) -> Result<()> {
    match offset.checked_add(length) {
        Some(end) if end <= region.bytes() => Ok(()),
        _ => Err(Error::internal("name argument memory", "bytes outside of their region")
            .with("offset", offset)
            .with("length", length)
            .with("region", region.bytes())),
    }
}

/// The caller's own memory as a region, so that transfers treat it like any other.
pub struct BorrowedRegion {
    base: *mut u8,
    bytes: usize,
    /// Keeps the memory, where something does.
    _keeper: Option<Arc<dyn Any + Send + Sync>>,
}

// SAFETY: only an address range; see HeapRegion.
unsafe impl Send for BorrowedRegion {}
// SAFETY: as above.
unsafe impl Sync for BorrowedRegion {}

impl BorrowedRegion {
    /// `bytes` bytes from `base` on.
    ///
    /// # Safety
    /// They stay valid, and are written by nobody else, until the region and everything made of it
    /// are dropped; for memory that is only read from, nobody writes through the region.
    pub unsafe fn new(base: *mut u8, bytes: usize) -> BorrowedRegion {
        BorrowedRegion { base, bytes, _keeper: None }
    }

    /// The same for memory that belongs to `keeper`: it lives as long as the region, and what is
    /// made of it.
    #[must_use]
    pub fn kept_by(self, keeper: Option<Arc<dyn Any + Send + Sync>>) -> BorrowedRegion {
        BorrowedRegion { _keeper: keeper, ..self }
    }
}

// SAFETY: whoever made it promised that for as long as it lives.
unsafe impl Region for BorrowedRegion {
    fn base(&self) -> *mut u8 {
        self.base
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Plain memory of this process, for ends that cannot share any: 64-byte aligned, zeroed.
pub struct HeapRegion {
    base: *mut u8,
    layout: std::alloc::Layout,
    bytes: usize,
}

// SAFETY: the region is only an address range; accesses are ordered by the protocol (a call's data
// is written by one end at a time).
unsafe impl Send for HeapRegion {}
// SAFETY: as above.
unsafe impl Sync for HeapRegion {}

impl HeapRegion {
    /// Alignment of every region: a cache line, enough for any vector load.
    pub const ALIGNMENT: usize = 64;

    /// `bytes` zero bytes.
    ///
    /// # Errors
    /// `System` when the machine has not that much.
    pub fn new(bytes: usize) -> Result<HeapRegion> {
        let out_of_memory = || {
            Error::system("allocate argument memory", std::io::ErrorKind::OutOfMemory.into())
                .with("bytes", bytes)
        };
        let layout = std::alloc::Layout::from_size_align(bytes.max(1), Self::ALIGNMENT)
            .map_err(|_| out_of_memory())?;
        // SAFETY: the layout's size is not zero.
        let base = unsafe { std::alloc::alloc_zeroed(layout) };
        if base.is_null() { Err(out_of_memory()) } else { Ok(HeapRegion { base, layout, bytes }) }
    }

    /// Zeroes it.
    pub fn clear(&mut self) {
        // SAFETY: all of it, which nobody else has while we have it mutably.
        unsafe { self.base.write_bytes(0, self.bytes) };
    }
}

impl Drop for HeapRegion {
    fn drop(&mut self) {
        // SAFETY: `base` came from the allocator with this layout.
        unsafe { std::alloc::dealloc(self.base, self.layout) }
    }
}

// SAFETY: its own allocation, which is given back when it is dropped.
unsafe impl Region for HeapRegion {
    fn base(&self) -> *mut u8 {
        self.base
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}
