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
//!
//! Where they lie is a parameter: in memory that two processes map, or in a model that looks at
//! each order in which two threads can see them.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use farcall_base::{Error, Result, Word};
use farcall_link::turnstile::Turnstile;

use crate::memory::mapping::{Mapping, Use};

const HEADER_BYTES: usize = 4096;
const TOTAL_BYTES: usize = HEADER_BYTES + 2 * Mapping::CAPACITY as usize;

/// Where the words and the bytes of a pair of rings lie.
pub trait Ground: Sized {
    /// A position.
    type Word64: Word<u64>;
    /// Flags.
    type Word32: Word<u32>;

    /// Bytes of one ring.
    const CAPACITY: u64;

    /// The words.
    fn header(&self) -> &Header<Self>;

    /// Copies `from` into the ring that end `writer` writes.
    ///
    /// # Panics
    /// When it is longer than the ring.
    fn write(&self, writer: usize, position: u64, from: &[u8]);

    /// Copies bytes out of the ring that end `writer` writes.
    ///
    /// # Panics
    /// When `to` is longer than the ring.
    fn read(&self, writer: usize, position: u64, to: &mut [u8]);
}

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
#[derive(Default)]
#[repr(C, align(64))]
struct End<G: Ground> {
    /// Bytes it has sent.
    head: Line<G::Word64>,
    /// Bytes it has received of the other's ring.
    tail: Line<G::Word64>,
    /// Messages with descriptors it has sent over the socket.
    riders: Line<G::Word64>,
    /// It sends and receives no more.
    closed: Line<G::Word32>,
    /// What it waits for.
    wants: Line<G::Word32>,
}

/// A cache line.
#[derive(Default)]
#[repr(C, align(64))]
struct Line<T>(T);

/// What lies in the first page.
#[derive(Default)]
#[repr(C)]
pub struct Header<G: Ground> {
    ends: [End<G>; 2],
    turnstile: Line<Turnstile<G::Word64>>,
}

const _: () = assert!(size_of::<Header<Mapping>>() <= HEADER_BYTES);

impl Ground for Mapping {
    type Word64 = AtomicU64;
    type Word32 = AtomicU32;

    /// Small calls are a few hundred bytes; longer messages pass in pieces.
    const CAPACITY: u64 = 64 << 10;

    fn header(&self) -> &Header<Mapping> {
        // SAFETY: the header begins at the mapping's first byte, which is aligned to a page; all of
        // its fields are atomics, for which every bit pattern is a value, and the mapping lives as
        // long as `self`.
        unsafe { &*self.base().cast::<Header<Mapping>>() }
    }

    fn write(&self, writer: usize, position: u64, from: &[u8]) {
        let (at, first) = split(position, from.len());
        let ring = ring(self, writer);
        // SAFETY: `split` keeps both pieces within the ring; the peer may read or write the same
        // bytes only against the rules, and then gets or makes nonsense, which is all that numbers
        // can be.
        unsafe {
            std::ptr::copy_nonoverlapping(from.as_ptr(), ring.add(at), first);
            std::ptr::copy_nonoverlapping(from.as_ptr().add(first), ring, from.len() - first);
        }
    }

    fn read(&self, writer: usize, position: u64, to: &mut [u8]) {
        let (at, first) = split(position, to.len());
        let ring = ring(self, writer);
        // SAFETY: as in `write`.
        unsafe {
            std::ptr::copy_nonoverlapping(ring.add(at), to.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(ring, to.as_mut_ptr().add(first), to.len() - first);
        }
    }
}

/// Where the ring begins that end `writer` writes.
fn ring(mapping: &Mapping, writer: usize) -> *mut u8 {
    assert!(writer < 2, "a pair has two ends");
    // SAFETY: both rings lie within the mapping.
    unsafe { mapping.base().add(HEADER_BYTES + writer * Mapping::CAPACITY as usize) }
}

/// Where a run of bytes begins in the ring, and how many of them lie before its end.
fn split(position: u64, length: usize) -> (usize, usize) {
    let capacity = Mapping::CAPACITY as usize;
    assert!(length <= capacity, "a run fits its ring");
    let at = (position % Mapping::CAPACITY) as usize;
    (at, length.min(capacity - at))
}

/// The memory, as one of the two ends sees it.
pub struct RingMemory<G = Mapping> {
    ground: G,
    own: usize,
}

impl RingMemory {
    /// Fresh memory, for the end that makes the offer.
    pub fn create() -> Result<RingMemory> {
        Ok(RingMemory::new(Mapping::shared(TOTAL_BYTES)?, 0))
    }

    /// Memory that was offered: sealed, and of the right size.
    pub fn adopt(descriptor: OwnedFd) -> Result<RingMemory> {
        Ok(RingMemory::new(Mapping::adopt(descriptor, TOTAL_BYTES, Use::Writing)?, 1))
    }

    /// What the other end adopts.
    ///
    /// # Errors
    /// `System` when there was no descriptor left for it.
    pub fn descriptor(&self) -> Result<Arc<OwnedFd>> {
        let missing = || Error::system("make a ring", rustix::io::Errno::MFILE.into());
        self.ground.descriptor().ok_or_else(missing)
    }
}

impl<G: Ground> RingMemory<G> {
    /// Memory as its end `own` sees it.
    pub fn new(ground: G, own: usize) -> RingMemory<G> {
        RingMemory { ground, own }
    }

    fn end(&self, which: usize) -> &End<G> {
        &self.ground.header().ends[which]
    }

    /// The turnstile of the two ends.
    pub fn turnstile(&self) -> &Turnstile<G::Word64> {
        &self.ground.header().turnstile.0
    }

    /// The ring that this end writes.
    pub fn outgoing(&self) -> Ring<'_, G> {
        self.ring(self.own)
    }

    /// The ring that this end reads.
    pub fn incoming(&self) -> Ring<'_, G> {
        self.ring(1 - self.own)
    }

    fn ring(&self, number: usize) -> Ring<'_, G> {
        Ring {
            ground: &self.ground,
            number,
            writer: self.end(number),
            reader: self.end(1 - number),
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
pub struct Ring<'a, G: Ground> {
    ground: &'a G,
    /// Which end writes it.
    number: usize,
    writer: &'a End<G>,
    reader: &'a End<G>,
}

impl<G: Ground> Ring<'_, G> {
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
        self.ground.write(self.number, position, from);
    }

    /// Copies bytes at `position` out of the ring.
    ///
    /// # Panics
    /// When `to` is longer than the ring.
    pub fn read(&self, position: u64, to: &mut [u8]) {
        self.ground.read(self.number, position, to);
    }
}
