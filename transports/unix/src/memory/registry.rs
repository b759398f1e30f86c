//! What of this process's shared memory is whose, and what becomes of it when the process forks.
//!
//! A result that a user keeps is ordinary memory to them, and ordinary memory is copied by `fork`.
//! Shared memory is not: either process would see what the other writes, and a region that the
//! parent pools and uses again would change under the child's feet. So before anything else runs
//! after a fork, both processes map what users keep once more, privately. The pages stay where they
//! are until one of them writes. Memory of calls under way stays shared in the parent, whose calls
//! they are, and the child loses it. What a user keeps may be lent to calls, too: that stays shared
//! in the parent, and the child gets a copy.

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use rustix::process::{Resource, getrlimit};

/// At most as many bytes as a page has.
const PAGE_BYTES: usize = 4096;

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
    /// Calls that use what a user keeps.
    lent: usize,
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

static ENTRIES: Mutex<Entries> =
    Mutex::new(Entries { all: BTreeMap::new(), descriptors: 0, next_identity: 1 });

fn lock() -> MutexGuard<'static, Entries> {
    // Every change is a single step, so a panic elsewhere leaves the table whole.
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Most descriptors that memory may hold: half of what the process may open.
fn descriptors_max() -> usize {
    open_files_max() / 2
}

/// How many regions one source should share at once. The other end holds a descriptor for each,
/// too.
pub fn shared_max() -> usize {
    (open_files_max() / 8).max(1)
}

fn open_files_max() -> usize {
    getrlimit(Resource::Nofile)
        .current
        .map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX))
}

/// Whether memory may take one more descriptor.
pub fn has_room() -> bool {
    lock().descriptors < descriptors_max()
}

/// Enters memory that was mapped from `descriptor`; returns its identity, which is never given
/// twice.
pub fn enter(base: *mut u8, bytes: usize, descriptor: OwnedFd) -> u64 {
    let mut entries = lock();
    let identity = entries.next_identity;
    entries.next_identity += 1;
    entries.descriptors += 1;
    let descriptor = Some(Arc::new(descriptor));
    entries.all.insert(identity, Entry { base, bytes, descriptor, stage: Stage::Calls, lent: 0 });
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
    static FORKS: Once = Once::new();
    FORKS.call_once(|| {
        // SAFETY: three functions of this library. The C library forgets them, should the library
        // be unloaded. It fails only without memory; then forks are as dangerous as everything
        // else.
        unsafe {
            libc::pthread_atfork(
                Some(before_fork),
                Some(after_fork_in_parent),
                Some(after_fork_in_child),
            )
        };
    });
    let mut entries = lock();
    if let Some(entry) = entries.all.get_mut(&identity).filter(|entry| entry.stage == Stage::Calls)
    {
        entry.stage = Stage::Kept;
    }
}

/// The user is done with it; false when no call can use it again.
pub fn reclaim(identity: u64) -> bool {
    let mut entries = lock();
    let Some(entry) = entries.all.get_mut(&identity).filter(|entry| entry.stage != Stage::Private)
    else {
        return false;
    };
    entry.stage = Stage::Calls;
    true
}

/// A call uses what a user keeps; false if others do not see what is written there.
pub fn lend(identity: u64) -> bool {
    let mut entries = lock();
    let Some(entry) = entries.all.get_mut(&identity).filter(|entry| entry.stage == Stage::Kept)
    else {
        return false;
    };
    entry.lent += 1;
    true
}

/// The call is over.
pub fn give_back(identity: u64) {
    if let Some(entry) = lock().all.get_mut(&identity) {
        entry.lent = entry.lent.saturating_sub(1);
    }
}

/// Makes memory private, and every page of it this process's own: what others write from now on
/// does not come through. Whoever in this process reads or writes there meanwhile notices nothing.
pub fn take_back(identity: u64) {
    let (base, bytes) = {
        let mut entries = lock();
        let Some(entry) = entries.all.get_mut(&identity) else { return };
        make_private(entry);
        entry.lent = 0;
        (entry.base, entry.bytes)
    };
    // SAFETY: a mapping that whoever names it keeps. The system does as if each page were written
    // to.
    if unsafe { libc::madvise(base.cast(), bytes, libc::MADV_POPULATE_WRITE) } == 0 {
        return;
    }
    // Before Linux 5.14, or short of memory.
    for offset in (0..bytes).step_by(PAGE_BYTES) {
        // SAFETY: within the mapping.
        write_as_it_is(unsafe { AtomicU8::from_ptr(base.add(offset)) });
    }
}

/// Writes a byte and changes nothing, whoever else writes it. (Adding zero would be compiled to a
/// read.)
fn write_as_it_is(byte: &AtomicU8) {
    let mut seen = byte.load(Ordering::Relaxed);
    while let Err(other) = byte.compare_exchange(seen, seen, Ordering::Relaxed, Ordering::Relaxed) {
        seen = other;
    }
}

/// Makes memory private and closes its descriptor.
pub fn withdraw(identity: u64) {
    let closed = {
        let mut entries = lock();
        let Some(entry) = entries.all.get_mut(&identity) else { return };
        make_private(entry);
        // Without it, the next fork could not do what failed now.
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
        entries.descriptors -=
            usize::from(gone.as_ref().is_some_and(|entry| entry.descriptor.is_some()));
        gone
    };
    drop(gone);
}

/// Maps the same bytes privately in place: whoever reads or writes there meanwhile waits for the
/// system, and notices nothing. Does only what is allowed between `fork` and `exec`.
fn make_private(entry: &mut Entry) {
    let Some(descriptor) = &entry.descriptor else { return };
    if entry.stage != Stage::Private && map_over(entry, Some(descriptor.as_raw_fd())) {
        entry.stage = Stage::Private;
    }
}

/// Maps private memory over an entry's: the file's bytes, or zeros. NORESERVE: most pages are never
/// written, so what they could need at most must not count against the machine.
fn map_over(entry: &Entry, file: Option<RawFd>) -> bool {
    let anonymous = if file.is_none() { libc::MAP_ANONYMOUS } else { 0 };
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE | anonymous;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the range is a mapping of ours, as an entry leaves the table before it is unmapped;
    // the file is as long, and sealed against shrinking.
    let mapped = unsafe {
        libc::mmap(entry.base.cast(), entry.bytes, protection, flags, file.unwrap_or(-1), 0)
    };
    mapped != libc::MAP_FAILED
}

/// The lock that is held from before a fork until after it, so that no entry changes hands
/// meanwhile.
struct Held(UnsafeCell<Option<MutexGuard<'static, Entries>>>);

// SAFETY: touched only by the thread that forks, between its taking and its giving back of that
// very lock.
unsafe impl Sync for Held {}

static HELD: Held = Held(UnsafeCell::new(None));

extern "C" fn before_fork() {
    let guard = lock();
    // SAFETY: we hold the lock, see `Held`.
    unsafe { *HELD.0.get() = Some(guard) };
}

extern "C" fn after_fork_in_parent() {
    each_after_fork(|entry| {
        if entry.stage == Stage::Kept && entry.lent == 0 {
            make_private(entry);
        }
    });
}

/// One thread is left, and it may allocate nothing: another may have held the allocator when it
/// forked.
extern "C" fn after_fork_in_child() {
    each_after_fork(|entry| match entry.stage {
        Stage::Kept if entry.lent > 0 => copy_in_place(entry),
        Stage::Kept => make_private(entry),
        // The parent's calls and pools go on there; here these pages would be held for nobody.
        Stage::Calls if map_over(entry, None) => entry.stage = Stage::Private,
        Stage::Calls | Stage::Private => {}
    });
}

/// Maps a copy over an entry's memory. Does only what is allowed between `fork` and `exec`; without
/// room for a copy, the child sees what the parent's calls write, until it writes itself.
fn copy_in_place(entry: &mut Entry) {
    let Ok(copy) = map_unshared(entry.bytes) else { return make_private(entry) };
    // SAFETY: two mappings of this length, one of them ours alone; the other is replaced whole, as
    // for `map_over`.
    let moved = unsafe {
        ptr::copy_nonoverlapping(entry.base, copy, entry.bytes);
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        libc::mremap(copy.cast(), entry.bytes, entry.bytes, flags, entry.base)
    };
    if moved == libc::MAP_FAILED {
        return make_private(entry);
    }
    (entry.stage, entry.lent) = (Stage::Private, 0);
}

fn each_after_fork(change: impl FnMut(&mut Entry)) {
    // SAFETY: `before_fork` took the lock in this thread, or in the one that this is a copy of; see
    // `Held`.
    let Some(mut entries) = (unsafe { &mut *HELD.0.get() }).take() else { return };
    entries.all.values_mut().for_each(change);
}

/// Private memory of this process, for when there is no descriptor left: zero bytes.
pub fn map_unshared(bytes: usize) -> rustix::io::Result<*mut u8> {
    use rustix::mm::{MapFlags, ProtFlags};
    // SAFETY: the kernel chooses an address range that nothing else uses.
    let base = unsafe {
        rustix::mm::mmap_anonymous(
            ptr::null_mut(),
            bytes,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
    };
    base.map(|base| base.cast())
}
