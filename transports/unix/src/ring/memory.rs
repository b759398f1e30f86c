//! The memory of a pair of rings: positions, wishes, and the bytes.
//!
//! ```text
//! page 0   end 0: head, tail of the other's ring, riders, closed, wants      each on a cache line of its own writer
//!          end 1: the same
//!          a turnstile
//! then     the ring that end 0 writes, the ring that end 1 writes
//! ```
//!
//! Positions count bytes since the beginning and wrap at 2⁶⁴. An end writes its own lines and reads
//! the other's, but for `wants`, which the peer clears when it fulfils the wish.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use farcall_base::{Error, Result};
use farcall_link::turnstile::Turnstile;

use crate::memory::mapping::Mapping;

/// Bytes of one ring. Small calls are a few hundred bytes; longer messages pass in pieces.
pub const CAPACITY: u64 = 64 << 10;

const HEADER_BYTES: usize = 4096;
const TOTAL_BYTES: usize = HEADER_BYTES + 2 * CAPACITY as usize;

/// What an end waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wants(u32);

impl Wants {
    /// Bytes to receive.
    pub const BYTES: Wants = Wants(1);
    /// Room to send.
    pub const ROOM: Wants = Wants(2);
}

/// What one end writes.
#[repr(C, align(64))]
struct End {
    /// Bytes it has sent.
    head: Line<AtomicU64>,
    /// Bytes it has received of the other's ring.
    tail: Line<AtomicU64>,
    /// Messages with descriptors it has sent over the socket.
    riders: Line<AtomicU64>,
    /// It sends and receives no more.
    closed: Line<AtomicU32>,
    /// What it waits for.
    wants: Line<AtomicU32>,
}

/// A cache line.
#[repr(C, align(64))]
struct Line<T>(T);

/// What lies in the first page.
#[repr(C)]
struct Header {
    ends: [End; 2],
    turnstile: Line<Turnstile>,
}

const _: () = assert!(size_of::<Header>() <= HEADER_BYTES);

/// The memory, as one of the two ends sees it.
pub struct RingMemory {
    mapping: Mapping,
    own: usize,
}

impl RingMemory {
    /// Fresh memory, for the end that makes the offer.
    pub fn create() -> Result<RingMemory> {
        Ok(RingMemory { mapping: Mapping::shared(TOTAL_BYTES)?, own: 0 })
    }

    /// Memory that was offered: sealed, and of the right size.
    pub fn adopt(descriptor: OwnedFd) -> Result<RingMemory> {
        Ok(RingMemory { mapping: Mapping::adopt(descriptor, TOTAL_BYTES)?, own: 1 })
    }

    /// What the other end adopts.
    ///
    /// # Errors
    /// `System` when there was no descriptor left for it.
    pub fn descriptor(&self) -> Result<Arc<OwnedFd>> {
        let missing = || Error::system("make a ring", rustix::io::Errno::MFILE.into());
        self.mapping.descriptor().ok_or_else(missing)
    }

    fn header(&self) -> &Header {
        // SAFETY: the header begins at the mapping's first byte, which is aligned to a page; all of
        // its fields are atomics, for which every bit pattern is a value, and the mapping lives as
        // long as `self`.
        unsafe { &*self.mapping.base().cast::<Header>() }
    }

    fn end(&self, which: usize) -> &End {
        &self.header().ends[which]
    }

    /// The turnstile of the two ends.
    pub fn turnstile(&self) -> &Turnstile {
        &self.header().turnstile.0
    }

    fn ring(&self, writer: usize) -> *mut u8 {
        // SAFETY: both rings lie within the mapping.
        unsafe { self.mapping.base().add(HEADER_BYTES + writer * CAPACITY as usize) }
    }

    /// The ring that this end writes.
    pub fn outgoing(&self) -> Ring<'_> {
        Ring {
            writer: self.end(self.own),
            reader: self.end(1 - self.own),
            bytes: self.ring(self.own),
        }
    }

    /// The ring that this end reads.
    pub fn incoming(&self) -> Ring<'_> {
        Ring {
            writer: self.end(1 - self.own),
            reader: self.end(self.own),
            bytes: self.ring(1 - self.own),
        }
    }

    /// From now on the peer rings our bell when there is what we want. What came before must be
    /// looked for after this.
    pub fn ask(&self, what: Wants) {
        self.end(self.own).wants.0.fetch_or(what.0, Ordering::SeqCst);
    }

    /// Whether the peer waits for `what`, which is there now: then its bell is to be rung.
    pub fn answer(&self, what: Wants) -> bool {
        let wants = &self.end(1 - self.own).wants.0;
        wants.load(Ordering::SeqCst) & what.0 != 0 && wants.swap(0, Ordering::SeqCst) != 0
    }
}

/// One of the two rings.
pub struct Ring<'a> {
    writer: &'a End,
    reader: &'a End,
    bytes: *mut u8,
}

impl Ring<'_> {
    /// Bytes written so far, as the writer says.
    pub fn head(&self) -> u64 {
        self.writer.head.0.load(Ordering::SeqCst)
    }

    /// Bytes read so far, as the reader says.
    pub fn tail(&self) -> u64 {
        self.reader.tail.0.load(Ordering::SeqCst)
    }

    /// Publishes what was written. Sequentially consistent, like all of these: it must be seen
    /// before the reader's wish is looked at, or both could sleep.
    pub fn set_head(&self, head: u64) {
        self.writer.head.0.store(head, Ordering::SeqCst);
    }

    pub fn set_tail(&self, tail: u64) {
        self.reader.tail.0.store(tail, Ordering::SeqCst);
    }

    pub fn riders(&self) -> u64 {
        self.writer.riders.0.load(Ordering::SeqCst)
    }

    pub fn add_rider(&self) {
        self.writer.riders.0.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether the writer has closed its end.
    pub fn is_closed(&self) -> bool {
        self.writer.closed.0.load(Ordering::SeqCst) != 0
    }

    pub fn close(&self) {
        self.writer.closed.0.store(1, Ordering::SeqCst);
    }

    /// Copies `from` into the ring at `position`.
    ///
    /// # Panics
    /// When it is longer than the ring.
    pub fn write(&self, position: u64, from: &[u8]) {
        let (at, first) = split(position, from.len());
        // SAFETY: `split` keeps both pieces within the ring; the peer may read or write the same
        // bytes only against the rules, and then gets or makes nonsense, which is all that numbers
        // can be.
        unsafe {
            std::ptr::copy_nonoverlapping(from.as_ptr(), self.bytes.add(at), first);
            std::ptr::copy_nonoverlapping(from.as_ptr().add(first), self.bytes, from.len() - first);
        }
    }

    /// Copies bytes at `position` out of the ring.
    ///
    /// # Panics
    /// When `to` is longer than the ring.
    pub fn read(&self, position: u64, to: &mut [u8]) {
        let (at, first) = split(position, to.len());
        // SAFETY: as in `write`.
        unsafe {
            std::ptr::copy_nonoverlapping(self.bytes.add(at), to.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(self.bytes, to.as_mut_ptr().add(first), to.len() - first);
        }
    }
}

/// Where a run of bytes begins in the ring, and how many of them lie before its end.
fn split(position: u64, length: usize) -> (usize, usize) {
    let capacity = CAPACITY as usize;
    assert!(length <= capacity, "a run fits its ring");
    let at = (position % CAPACITY) as usize;
    (at, length.min(capacity - at))
}
