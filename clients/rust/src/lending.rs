//! Memory for a program's own arrays that calls use where it lies: shared from the start, and lent
//! to one call after another. On one host such arrays travel without a copy; anywhere else they are
//! arrays like any other.
//!
//! One connection at a time knows a piece of it, because the other end may go on looking: other
//! connections get copies.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::memory::{MemorySource, Region, Space};
use farcall_transport_unix::{MemoryLimits, SharedMemory};

use crate::array::Access;
use crate::per_process::PerProcess;

/// Where the protocol wants arrays in shared memory to begin.
const ALIGNMENT: usize = 16;

/// A piece of memory for the program's arrays. It is pooled when this and all calls that use it are
/// gone.
pub struct ArrayMemory {
    piece: Arc<Piece>,
}

impl ArrayMemory {
    /// At least `bytes` bytes, of any value.
    ///
    /// # Errors
    /// `LimitExceeded` when a program may not have that much, `System` when the machine has not.
    pub fn allocate(bytes: usize) -> Result<ArrayMemory> {
        let books = Books::of_this_process();
        let region = books.source.allocate(bytes).map_err(|error| too_much(bytes, error))?;
        region.keep();
        let base = region.base().addr();
        let piece = Arc::new(Piece {
            books,
            region,
            uses: Mutex::default(),
            taken_back: AtomicBool::new(false),
        });
        let mut pieces = books.lock();
        pieces.by_address.insert(base, Arc::downgrade(&piece));
        pieces.tell_of_freed(books.source.freed());
        Ok(ArrayMemory { piece })
    }

    /// Its first byte.
    pub fn base(&self) -> *mut u8 {
        self.piece.region.base()
    }
}

/// A connection's side of it: who it is, and what it is to forget.
#[derive(Default)]
pub struct Borrower {
    freed: Mutex<Vec<u64>>,
}

impl Borrower {
    /// Identities of memory that it knew and that went back to the system since the last question.
    pub fn freed(&self) -> Vec<u64> {
        std::mem::take(&mut self.freed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// All pieces of a process.
struct Books {
    source: SharedMemory,
    pieces: Mutex<Pieces>,
}

#[derive(Default)]
struct Pieces {
    by_address: BTreeMap<usize, Weak<Piece>>,
    /// Who knows memory, by its identity, which stays when it is pooled.
    known_to: HashMap<u64, Weak<Borrower>>,
}

impl Books {
    fn of_this_process() -> &'static Books {
        static BOOKS: PerProcess<Books> = PerProcess::new();
        BOOKS.get(|| Books {
            source: SharedMemory::new(MemoryLimits::default()),
            pieces: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Pieces> {
        // Every change is a single step, so a panic elsewhere leaves the tables whole.
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pieces {
    fn tell_of_freed(&mut self, identities: Vec<u64>) {
        for identity in identities {
            if let Some(borrower) =
                self.known_to.remove(&identity).and_then(|borrower| borrower.upgrade())
            {
                borrower.freed.lock().unwrap_or_else(PoisonError::into_inner).push(identity);
            }
        }
    }

    /// Whether this connection may know the memory: nobody else does who is there still.
    fn may_know(&mut self, identity: u64, borrower: &Arc<Borrower>) -> bool {
        let known_to = self.known_to.entry(identity).or_default();
        if known_to.upgrade().is_none() {
            *known_to = Arc::downgrade(borrower);
        }
        known_to.ptr_eq(&Arc::downgrade(borrower))
    }
}

/// Memory of the program's that a call may use.
pub struct Wanted {
    /// Addresses of the first byte and behind the last.
    pub addresses: Range<usize>,
    pub access: Access,
    /// Whether bytes between them are others': such an array is copied if another call writes
    /// there.
    pub has_gaps: bool,
}

/// Lends memory to a call of this connection. `None` if the call is to use a copy.
///
/// # Errors
/// `InvalidArgument` when another use of the same bytes is under way, and one of them writes.
pub fn lend(wanted: &Wanted, borrower: &Arc<Borrower>) -> Result<Option<Arc<Lent>>> {
    let books = Books::of_this_process();
    let mut pieces = books.lock();
    let below = pieces.by_address.range(..=wanted.addresses.start).next_back();
    let Some(piece) = below.and_then(|(_, piece)| piece.upgrade()) else { return Ok(None) };
    let offset = wanted.addresses.start - piece.base().addr();
    let bytes = offset..offset + wanted.addresses.len();
    if bytes.end > piece.bytes() || !offset.is_multiple_of(ALIGNMENT) {
        return Ok(None);
    }
    if !piece.is_free(&bytes, wanted.access) {
        return if wanted.has_gaps { Ok(None) } else { Err(busy(wanted.access)) };
    }
    let lends = pieces.may_know(piece.identity(), borrower) && piece.region.lend();
    let Some(descriptor) = piece.region.descriptor().filter(|_| lends) else { return Ok(None) };
    Ok(Some(Lent::new(piece, bytes, wanted.access, descriptor)))
}

/// No server's manifest is about a program's own memory.
fn too_much(bytes: usize, error: Error) -> Error {
    if error.kind() != ErrorKind::LimitExceeded {
        return error;
    }
    let message = format!(
        "{bytes} bytes exceed the limit of a program for arrays that are sent without a copy"
    );
    let limit =
        error.context().iter().find(|(key, _)| *key == "limit").map(|(_, limit)| limit.to_string());
    limit
        .into_iter()
        .fold(Error::new(ErrorKind::LimitExceeded, "make an array", message), |error, limit| {
            error.with("limit", limit)
        })
        .fix("free others first, or use ordinary memory: each call then copies the array")
}

fn busy(access: Access) -> Error {
    let message = match access {
        Access::Read => "a running call writes to this array",
        Access::Write => {
            "the array for the result is used by a running call, or for another result"
        }
    };
    Error::new(ErrorKind::InvalidArgument, "call", message)
        .fix("wait for that call, or pass another array")
}

/// To a connection's table of segments, a piece is a region that never becomes anything else.
struct Piece {
    books: &'static Books,
    region: Arc<dyn Region>,
    uses: Mutex<Vec<(Range<usize>, Access)>>,
    /// Whether a call that writes was given up: nothing that other processes write is seen here any
    /// more.
    taken_back: AtomicBool,
}

impl Piece {
    fn uses(&self) -> MutexGuard<'_, Vec<(Range<usize>, Access)>> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_free(&self, bytes: &Range<usize>, access: Access) -> bool {
        let apart = |other: &Range<usize>| other.end <= bytes.start || bytes.end <= other.start;
        let reads = |other: &Access| *other == Access::Read && access == Access::Read;
        self.uses().iter().all(|(other, how)| reads(how) || apart(other))
    }

    fn end_use(&self, bytes: &Range<usize>, access: Access) {
        let mut uses = self.uses();
        // Of two alike, either.
        if let Some(own) = uses.iter().position(|(other, how)| other == bytes && *how == access) {
            uses.swap_remove(own);
        }
        self.region.give_back();
    }
}

// SAFETY: all of a region, which it keeps.
unsafe impl Region for Piece {
    fn base(&self) -> *mut u8 {
        self.region.base()
    }

    fn bytes(&self) -> usize {
        self.region.bytes()
    }

    fn descriptor(&self) -> Option<Arc<OwnedFd>> {
        self.region.descriptor()
    }

    fn identity(&self) -> u64 {
        self.region.identity()
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.books.lock().by_address.remove(&self.base().addr());
    }
}

/// A part of a piece while a call uses it.
pub struct Lent {
    piece: Arc<Piece>,
    bytes: Range<usize>,
    access: Access,
    /// Whether the server may be writing here.
    running: AtomicBool,
    /// Whether others may have it.
    ended: AtomicBool,
    descriptor: Arc<OwnedFd>,
}

impl Lent {
    fn new(
        piece: Arc<Piece>,
        bytes: Range<usize>,
        access: Access,
        descriptor: Arc<OwnedFd>,
    ) -> Arc<Lent> {
        piece.uses().push((bytes.clone(), access));
        let running = AtomicBool::new(false);
        let ended = AtomicBool::new(false);
        Arc::new(Lent { piece, bytes, access, running, ended, descriptor })
    }

    /// Where it begins in the memory that [`Lent::whole`] is.
    pub fn offset(&self) -> u64 {
        self.bytes.start as u64
    }

    /// What the server knows.
    pub fn whole(&self) -> Arc<dyn Region> {
        self.piece.clone()
    }

    /// The server has been told of the call.
    pub fn opened(&self) {
        self.running.store(self.access == Access::Write, Ordering::Relaxed);
    }

    /// Whether the server may write to it.
    pub fn may_be_written(&self) -> bool {
        self.access == Access::Write
    }

    /// The server says that the call is over.
    ///
    /// # Errors
    /// `System` when what it wrote cannot be had any more.
    pub fn over(&self) -> Result<()> {
        let wrote = self.running.swap(false, Ordering::Relaxed);
        // Another call on the same piece was given up meanwhile: what this one wrote is in the file
        // alone.
        if wrote && self.piece.taken_back.load(Ordering::Relaxed) { self.fetch() } else { Ok(()) }
    }

    fn fetch(&self) -> Result<()> {
        let mut done = 0;
        while done < self.bytes() {
            let mut space = Space::of(self, done, self.bytes() - done)?;
            let read = rustix::io::pread(
                &*self.descriptor,
                space.bytes(),
                (self.bytes.start + done) as u64,
            );
            match read.map_err(|error| Error::system("receive a result", error.into()))? {
                0 => return Err(Error::internal("receive a result", "shared memory ended early")),
                count => done += count,
            }
        }
        Ok(())
    }

    /// The program has its memory back, whatever the server does.
    pub fn take_back(&self) {
        if self.running.swap(false, Ordering::Relaxed) {
            self.piece.taken_back.store(true, Ordering::Relaxed);
            self.piece.region.take_back();
        }
        if !self.ended.swap(true, Ordering::Relaxed) {
            self.piece.end_use(&self.bytes, self.access);
        }
    }
}

// SAFETY: a part of a region, which it keeps; the part was checked when it was lent.
unsafe impl Region for Lent {
    fn base(&self) -> *mut u8 {
        self.piece.base().wrapping_add(self.bytes.start)
    }

    fn bytes(&self) -> usize {
        self.bytes.len()
    }

    fn identity(&self) -> u64 {
        self.piece.identity()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // The connection is gone, and nobody knows what the server does.
        self.take_back();
    }
}
