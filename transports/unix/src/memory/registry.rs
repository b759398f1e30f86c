//! What of this process's shared memory is whose, and which descriptors it holds.
//!
//! Descriptors are few: memory takes at most half of them. A region that a user keeps can do without: it is mapped once
//! more, privately, and its descriptor is closed.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, getrlimit};

/// Who may write to the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Calls: memory in use by one, or waiting in a pool.
    Calls,
    /// A user who keeps a result, until it is dropped; then calls again.
    Kept,
    /// This process alone, for ever: nobody else sees what is written, so no call can use it.
    Private,
}

struct Entry {
    base: *mut u8,
    bytes: usize,
    descriptor: Option<Arc<OwnedFd>>,
    stage: Stage,
}

struct Entries {
    /// By identity.
    all: BTreeMap<u64, Entry>,
    /// How many have a descriptor.
    descriptors: usize,
    next_identity: u64,
}

// SAFETY: the addresses are ranges of the whole process; the lock orders what is done to them.
unsafe impl Send for Entries {}

static ENTRIES: Mutex<Entries> = Mutex::new(Entries { all: BTreeMap::new(), descriptors: 0, next_identity: 1 });

fn lock() -> MutexGuard<'static, Entries> {
    // Every change is a single step, so a panic elsewhere leaves the table whole.
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Most descriptors that memory may hold: half of what the process may open.
fn descriptors_max() -> usize {
    open_files_max() / 2
}

/// How many regions one source should share at once. The other end holds a descriptor for each, too.
pub fn shared_max() -> usize {
    (open_files_max() / 8).max(1)
}

fn open_files_max() -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX))
}

/// Whether memory may take one more descriptor.
pub fn has_room() -> bool {
    lock().descriptors < descriptors_max()
}

/// Enters memory that was mapped from `descriptor`; returns its identity, which is never given twice.
pub fn enter(base: *mut u8, bytes: usize, descriptor: OwnedFd) -> u64 {
    let mut entries = lock();
    let identity = entries.next_identity;
    entries.next_identity += 1;
    entries.descriptors += 1;
    entries.all.insert(identity, Entry { base, bytes, descriptor: Some(Arc::new(descriptor)), stage: Stage::Calls });
    identity
}

/// The descriptor, unless the memory was withdrawn or became private.
pub fn descriptor(identity: u64) -> Option<Arc<OwnedFd>> {
    let entries = lock();
    let entry = entries.all.get(&identity).filter(|entry| entry.stage != Stage::Private)?;
    entry.descriptor.clone()
}

/// A user keeps a result there.
pub fn keep(identity: u64) {
    let mut entries = lock();
    if let Some(entry) = entries.all.get_mut(&identity).filter(|entry| entry.stage == Stage::Calls) {
        entry.stage = Stage::Kept;
    }
}

/// The user is done with it; false when no call can use it again.
pub fn reclaim(identity: u64) -> bool {
    let mut entries = lock();
    let Some(entry) = entries.all.get_mut(&identity).filter(|entry| entry.stage != Stage::Private) else {
        return false;
    };
    entry.stage = Stage::Calls;
    true
}

/// Makes memory private and closes its descriptor.
pub fn withdraw(identity: u64) {
    let closed = {
        let mut entries = lock();
        let Some(entry) = entries.all.get_mut(&identity) else { return };
        make_private(entry);
        // What could not be made private stays as it was.
        let closed = if entry.stage == Stage::Private { entry.descriptor.take() } else { None };
        entries.descriptors -= usize::from(closed.is_some());
        closed
    };
    drop(closed);
}

/// The memory is about to be unmapped.
pub fn leave(identity: u64) {
    let gone = {
        let mut entries = lock();
        let gone = entries.all.remove(&identity);
        entries.descriptors -= usize::from(gone.as_ref().is_some_and(|entry| entry.descriptor.is_some()));
        gone
    };
    drop(gone);
}

/// Maps the same bytes privately in place: whoever reads or writes there meanwhile waits for the system, and notices
/// nothing.
fn make_private(entry: &mut Entry) {
    let Some(descriptor) = &entry.descriptor else { return };
    if entry.stage == Stage::Private {
        return;
    }
    // NORESERVE: most pages are never written, so what they could need at most must not count against the machine.
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the range is a mapping of ours, as an entry leaves the table before it is unmapped; the file is as long,
    // and sealed against shrinking.
    let mapped = unsafe { libc::mmap(entry.base.cast(), entry.bytes, protection, flags, descriptor.as_raw_fd(), 0) };
    if mapped != libc::MAP_FAILED {
        entry.stage = Stage::Private;
    }
}

/// Private memory of this process, for when there is no descriptor left: zero bytes.
pub fn map_unshared(bytes: usize) -> rustix::io::Result<*mut u8> {
    use rustix::mm::{MapFlags, ProtFlags};
    // SAFETY: the kernel chooses an address range that nothing else uses.
    let base = unsafe {
        rustix::mm::mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
    };
    base.map(|base| base.cast())
}
