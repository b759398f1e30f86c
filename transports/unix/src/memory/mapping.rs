//! One memfd, sealed and mapped.

use std::os::fd::OwnedFd;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use farcall_base::{Bytes, Error, ErrorKind, Result};
use rustix::fs::{FileType, MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

/// Without these a peer could shrink the file, and our next access would be a SIGBUS.
const SEALS_NEEDED: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW);

/// Identities of mappings that are gone, for whoever told another process of them.
pub type Obituaries = Arc<Mutex<Vec<u64>>>;

/// Shared bytes at a fixed address.
pub struct Mapping {
    base: *mut u8,
    bytes: usize,
    descriptor: OwnedFd,
    /// Never given twice in this process, unlike an address or a descriptor's number.
    identity: u64,
    obituaries: Option<Obituaries>,
}

/// The next identity; 0 means none.
static NEXT_IDENTITY: AtomicU64 = AtomicU64::new(1);

// SAFETY: the mapping is an address range of the whole process; who may touch which bytes when is ordered by the
// protocol, between threads as between processes.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Fresh zero bytes; `bytes` is a whole number of pages.
    pub fn create(bytes: usize, obituaries: Obituaries) -> Result<Mapping> {
        let system = |errno: Errno| Error::system("allocate argument memory", errno.into()).with("bytes", bytes);
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let descriptor = rustix::fs::memfd_create(c"farcall", flags).map_err(system)?;
        rustix::fs::ftruncate(&descriptor, bytes as u64).map_err(system)?;
        rustix::fs::fcntl_add_seals(&descriptor, SEALS_NEEDED | SealFlags::SEAL).map_err(system)?;
        let base = map(&descriptor, bytes).map_err(system)?;
        let identity = NEXT_IDENTITY.fetch_add(1, Ordering::Relaxed);
        Ok(Mapping { base, bytes, descriptor, identity, obituaries: Some(obituaries) })
    }

    /// Maps what another process shared, once it can no longer be taken away.
    pub fn adopt(descriptor: OwnedFd, bytes: usize) -> Result<Mapping> {
        let refuse = |what: String| {
            Error::new(ErrorKind::Protocol, "map shared memory", format!("the peer shared {what}"))
                .with("announced", Bytes(bytes as u64))
                .fix("the peer is broken, hostile or not Farcall; the connection is closed")
        };
        // Anything but a memfd (or a file on a tmpfs, which is the same thing) knows no seals and fails here.
        let seals = rustix::fs::fcntl_get_seals(&descriptor).map_err(|_| refuse("no memory".into()))?;
        if !seals.contains(SEALS_NEEDED) {
            return Err(refuse("memory that it could still shrink (F_SEAL_SHRINK and F_SEAL_GROW are missing)".into()));
        }
        let status =
            rustix::fs::fstat(&descriptor).map_err(|errno| Error::system("map shared memory", errno.into()))?;
        let size = u64::try_from(status.st_size).unwrap_or(0);
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile || size != bytes as u64 || bytes == 0 {
            return Err(refuse(format!("memory of {}", Bytes(size))));
        }
        let base = match map(&descriptor, bytes) {
            Ok(base) => base,
            Err(Errno::PERM | Errno::ACCESS) => return Err(refuse("memory that may not be written".into())),
            Err(errno) => return Err(Error::system("map shared memory", errno.into()).with("bytes", bytes)),
        };
        Ok(Mapping { base, bytes, descriptor, identity: 0, obituaries: None })
    }

    pub fn identity(&self) -> u64 {
        self.identity
    }

    pub fn base(&self) -> *mut u8 {
        self.base
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn descriptor(&self) -> &OwnedFd {
        &self.descriptor
    }
}

/// Maps all of it. Never MAP_POPULATE: it makes pages that may not be needed, and no faster than touching them does.
fn map(descriptor: &OwnedFd, bytes: usize) -> rustix::io::Result<*mut u8> {
    // SAFETY: the kernel chooses an address range that nothing else uses.
    let base = unsafe {
        rustix::mm::mmap(ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, descriptor, 0)
    };
    base.map(|base| base.cast())
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this range was mapped by us, and whoever may use it holds the region that holds this mapping.
        let unmapped = unsafe { rustix::mm::munmap(self.base.cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "a whole mapping of ours can be unmapped");
        if let Some(obituaries) = &self.obituaries {
            obituaries.lock().unwrap_or_else(PoisonError::into_inner).push(self.identity);
        }
    }
}
