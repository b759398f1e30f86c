//! Shared argument memory (Linux): pooled memfds, sealed so that nobody can take the bytes away
//! under a reader.
//!
//! Making memory is six times as dear as sending it (the kernel clears and the host faults every
//! fresh page), so regions go back to a pool when their last user drops them, and come out of it
//! with the bytes of their last call. Therefore **one source serves one principal**: build a source
//! for each, and never hand its regions to another. A region that a user keeps is private to each
//! process after a fork, and goes back to the system instead. Without a descriptor left, regions
//! are ordinary memory, and their bytes go through the stream.

pub(crate) mod mapping;
mod pool;
mod registry;

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_link::memory::{MemorySource, Region};

use mapping::{Mapping, Obituaries, Use};
use pool::Pool;

/// How much memory a source may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Bytes of all regions, in use and idle; adopted ones are counted apart, up to the same
    /// number.
    pub bytes_max: u64,
    /// Bytes of idle regions kept for the next call.
    pub idle_bytes_max: u64,
    /// Number of idle regions kept; each holds a descriptor.
    pub idle_regions_max: usize,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        MemoryLimits { bytes_max: 1 << 40, idle_bytes_max: 1 << 30, idle_regions_max: 64 }
    }
}

/// Makes and adopts shared regions for one principal.
pub struct SharedMemory {
    pool: Arc<Mutex<Pool>>,
    obituaries: Obituaries,
    kind: Kind,
}

/// Whose a source's memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Shared,
    Private,
}

impl SharedMemory {
    /// A source that keeps to these limits.
    pub fn new(limits: MemoryLimits) -> SharedMemory {
        SharedMemory::of_kind(Kind::Shared, limits)
    }

    /// A source of memory for this process alone, in pages as large as the machine has them: what
    /// it is for is that it is used again, since the first touch of fresh memory costs more than
    /// what is put there.
    pub fn private(limits: MemoryLimits) -> SharedMemory {
        SharedMemory::of_kind(Kind::Private, limits)
    }

    fn of_kind(kind: Kind, limits: MemoryLimits) -> SharedMemory {
        SharedMemory {
            pool: Arc::new(Mutex::new(Pool::new(limits))),
            obituaries: Obituaries::default(),
            kind,
        }
    }

    /// Gives regions back to the system that nobody has used for this long; returns their bytes.
    pub fn trim(&self, older_than: Duration) -> u64 {
        // Unmapping gigabytes takes milliseconds: it happens when `idle` drops, after the lock is
        // gone.
        let idle = lock(&self.pool).take_older(older_than, Instant::now());
        idle.iter().map(|mapping| mapping.bytes() as u64).sum()
    }

    /// Bytes in idle regions.
    pub fn idle_bytes(&self) -> u64 {
        lock(&self.pool).idle_bytes()
    }

    /// Bytes in regions made here, idle ones included.
    pub fn bytes(&self) -> u64 {
        lock(&self.pool).bytes()
    }
}

impl SharedMemory {
    fn adopt_for(&self, descriptor: OwnedFd, bytes: usize, used: Use) -> Result<Arc<dyn Region>> {
        lock(&self.pool).reserve_adopted(bytes as u64)?;
        let mapping = Mapping::adopt(descriptor, bytes, used)
            .inspect_err(|_| lock(&self.pool).release_adopted(bytes as u64))?;
        let home = Home::Peer(Arc::downgrade(&self.pool));
        Ok(Arc::new(SharedRegion { mapping: Some(mapping), home }))
    }
}

impl MemorySource for SharedMemory {
    fn allocate(&self, bytes: usize) -> Result<Arc<dyn Region>> {
        let class = pool::size_class(bytes).ok_or_else(|| too_much(bytes as u64, u64::MAX))?;
        let (pooled, evicted) = lock(&self.pool).take_or_reserve(class)?;
        drop(evicted);
        let mapping = match pooled {
            Some(mapping) => mapping,
            None => match self.kind {
                Kind::Shared => Mapping::create(class, self.obituaries.clone()),
                Kind::Private => Mapping::private(class),
            }
            .inspect_err(|_| lock(&self.pool).release(class as u64))?,
        };
        let home = Home::Pool(Arc::downgrade(&self.pool), self.kind);
        Ok(Arc::new(SharedRegion { mapping: Some(mapping), home }))
    }

    fn allocate_value(&self, bytes: usize) -> Result<Arc<dyn Region>> {
        let bytes = bytes
            .max(1)
            .checked_next_multiple_of(pool::PAGE_BYTES)
            .ok_or_else(|| too_much(bytes as u64, u64::MAX))?;
        let evicted = lock(&self.pool).reserve(bytes as u64)?;
        drop(evicted);
        let mapping = Mapping::sealable(bytes, self.obituaries.clone())
            .inspect_err(|_| lock(&self.pool).release(bytes as u64))?;
        let home = Home::Value(Arc::downgrade(&self.pool));
        Ok(Arc::new(SharedRegion { mapping: Some(mapping), home }))
    }

    fn adopt(&self, descriptor: OwnedFd, bytes: usize) -> Result<Arc<dyn Region>> {
        self.adopt_for(descriptor, bytes, Use::Writing)
    }

    fn adopt_value(&self, descriptor: OwnedFd, bytes: usize) -> Result<Arc<dyn Region>> {
        self.adopt_for(descriptor, bytes, Use::Reading)
    }

    fn adopt_shared(&self, descriptor: OwnedFd, bytes: usize) -> Result<Arc<dyn Region>> {
        lock(&self.pool).reserve_adopted(bytes as u64)?;
        let mapping = Mapping::adopt_shared(descriptor, bytes, self.obituaries.clone())
            .inspect_err(|_| lock(&self.pool).release_adopted(bytes as u64))?;
        let home = Home::Peer(Arc::downgrade(&self.pool));
        Ok(Arc::new(SharedRegion { mapping: Some(mapping), home }))
    }

    fn check(&self, descriptor: OwnedFd, bytes: usize) -> Result<OwnedFd> {
        lock(&self.pool).reserve_adopted(bytes as u64)?;
        let checked = Mapping::inspect(descriptor, bytes, Use::Writing);
        lock(&self.pool).release_adopted(bytes as u64);
        checked.map(|(_, descriptor)| descriptor)
    }

    fn freed(&self) -> Vec<u64> {
        std::mem::take(&mut self.obituaries.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn shared_max(&self) -> usize {
        registry::shared_max()
    }

    fn held(&self) -> u64 {
        self.bytes()
    }

    fn idle(&self) -> u64 {
        self.idle_bytes()
    }

    fn trim(&self, unused_for: Duration) {
        SharedMemory::trim(self, unused_for);
    }
}

fn lock(pool: &Mutex<Pool>) -> MutexGuard<'_, Pool> {
    // The pool's numbers are changed in single steps, so a panic elsewhere leaves them whole.
    pool.lock().unwrap_or_else(PoisonError::into_inner)
}

fn too_much(bytes: u64, limit: u64) -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        "allocate argument memory",
        format!(
            "{} are too \
        much",
            Bytes(bytes)
        ),
    )
    .with("limit", Bytes(limit))
    .fix(
        "raise the memory limit in the configuration file, or free results that are no \
            longer needed",
    )
    .retryable()
}

/// Where a region goes when its last user drops it.
enum Home {
    Pool(Weak<Mutex<Pool>>, Kind),
    /// Back to the system: it was a value's.
    Value(Weak<Mutex<Pool>>),
    Peer(Weak<Mutex<Pool>>),
}

struct SharedRegion {
    /// `None` only while dropping.
    mapping: Option<Mapping>,
    home: Home,
}

impl SharedRegion {
    fn mapping(&self) -> &Mapping {
        self.mapping.as_ref().expect("a region has its mapping until it is dropped")
    }
}

// SAFETY: the mapping is its own as long as it lives, and sealed, so that nobody makes it smaller.
unsafe impl Region for SharedRegion {
    fn base(&self) -> *mut u8 {
        self.mapping().base()
    }

    fn bytes(&self) -> usize {
        self.mapping().bytes()
    }

    fn descriptor(&self) -> Option<Arc<OwnedFd>> {
        self.mapping().descriptor()
    }

    fn identity(&self) -> u64 {
        self.mapping().identity()
    }

    fn keep(&self) {
        registry::keep(self.identity());
    }

    fn withdraw(&self) {
        registry::withdraw(self.identity());
    }

    fn seal(&self) -> bool {
        matches!(self.home, Home::Value(_)) && self.mapping().seal()
    }

    fn is_sealed(&self) -> bool {
        self.mapping().is_sealed()
    }

    fn open_copy(&self) -> Result<()> {
        self.mapping().open_copy()
    }

    fn close_copy(&self) {
        self.mapping().close_copy();
    }

    fn lend(&self) -> bool {
        registry::lend(self.identity())
    }

    fn give_back(&self) {
        registry::give_back(self.identity());
    }

    fn take_back(&self) {
        registry::take_back(self.identity());
    }
}

impl Drop for SharedRegion {
    fn drop(&mut self) {
        let Some(mapping) = self.mapping.take() else { return };
        let surplus = match &self.home {
            // The source is gone, and with it the principal: the memory goes back to the system.
            Home::Pool(pool, kind) => match pool.upgrade() {
                Some(pool) if *kind == Kind::Private || registry::reclaim(mapping.identity()) => {
                    lock(&pool).give_back(mapping, Instant::now())
                }
                Some(pool) => {
                    lock(&pool).release(mapping.bytes() as u64);
                    vec![mapping]
                }
                None => vec![mapping],
            },
            Home::Value(pool) => {
                if let Some(pool) = pool.upgrade() {
                    lock(&pool).release(mapping.bytes() as u64);
                }
                vec![mapping]
            }
            Home::Peer(pool) => {
                if let Some(pool) = pool.upgrade() {
                    lock(&pool).release_adopted(mapping.bytes() as u64);
                }
                vec![mapping]
            }
        };
        // Unmapped here, outside of the lock.
        drop(surplus);
    }
}

#[cfg(test)]
mod tests;
