//! One memfd, sealed and mapped.

use std::os::fd::OwnedFd;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use farcall_base::{Bytes, Error, ErrorKind, Result};
use rustix::fs::{FileType, MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};

use super::registry;
use crate::stream::{give_back_stand_in, is_stand_in};

/// Without these a peer could shrink the file, and our next access would be a SIGBUS.
const SEALS_NEEDED: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW);

/// What `statfs` says of memory in huge pages (linux/magic.h).
const HUGETLBFS_MAGIC: rustix::fs::FsWord = 0x9584_58f6;

/// Identities of mappings that are gone, for whoever told another process of them.
pub type Obituaries = Arc<Mutex<Vec<u64>>>;

/// Bytes at a fixed address: memory that we made and can share, that a peer shared, or that is ours
/// alone.
pub struct Mapping {
    base: *mut u8,
    bytes: usize,
    /// What the registry knows it by: never given twice in this process, unlike an address or a
    /// descriptor's number. 0 for memory that we cannot share.
    identity: u64,
    obituaries: Option<Obituaries>,
    /// Whether it was adopted sealed against writing.
    is_sealed: bool,
}

/// What a peer's memory is used for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Both ends read and write.
    Writing,
    /// It may be sealed against writing, and is only read then.
    Reading,
}

// SAFETY: the mapping is an address range of the whole process; who may touch which bytes when is
// ordered by the protocol, between threads as between processes.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Fresh zero bytes for arguments; `bytes` is a whole number of pages. They can be shared,
    /// unless descriptors are scarce: then the connection carries them instead.
    pub fn create(bytes: usize, obituaries: Obituaries) -> Result<Mapping> {
        let made = if registry::has_room() { memfd() } else { Err(Errno::MFILE) };
        match made {
            Ok(descriptor) => Mapping::of(descriptor, bytes, obituaries),
            Err(Errno::MFILE | Errno::NFILE) => {
                let base =
                    registry::map_unshared(bytes).map_err(|errno| not_allocated(bytes, errno))?;
                Ok(Mapping { base, bytes, identity: 0, obituaries: None, is_sealed: false })
            }
            Err(errno) => Err(not_allocated(bytes, errno)),
        }
    }

    /// Fresh zero bytes for what is nothing unless it is shared. The descriptors that arguments may
    /// not have are kept for this: without an executable, no call would ever give back those of its
    /// arguments.
    pub fn shared(bytes: usize) -> Result<Mapping> {
        let descriptor = memfd().map_err(|errno| not_allocated(bytes, errno))?;
        Mapping::of(descriptor, bytes, Obituaries::default())
    }

    /// The first `bytes` of a fresh memfd.
    fn of(descriptor: OwnedFd, bytes: usize, obituaries: Obituaries) -> Result<Mapping> {
        Mapping::sealed_by(descriptor, SEALS_NEEDED | SealFlags::SEAL, bytes, obituaries)
    }

    fn sealed_by(
        descriptor: OwnedFd,
        seals: SealFlags,
        bytes: usize,
        obituaries: Obituaries,
    ) -> Result<Mapping> {
        let system = |errno: Errno| not_allocated(bytes, errno);
        rustix::fs::ftruncate(&descriptor, bytes as u64).map_err(system)?;
        rustix::fs::fcntl_add_seals(&descriptor, seals).map_err(system)?;
        let base = map(&descriptor, bytes).map_err(system)?;
        let identity = registry::enter(base, bytes, descriptor);
        Ok(Mapping { base, bytes, identity, obituaries: Some(obituaries), is_sealed: false })
    }

    /// Fresh zero bytes for a value, which can be sealed; else as [`Mapping::create`].
    pub fn sealable(bytes: usize, obituaries: Obituaries) -> Result<Mapping> {
        let made = if registry::has_room() { memfd() } else { Err(Errno::MFILE) };
        match made {
            Ok(descriptor) => Mapping::sealed_by(descriptor, SEALS_NEEDED, bytes, obituaries),
            Err(Errno::MFILE | Errno::NFILE) => Mapping::create(bytes, obituaries),
            Err(errno) => Err(not_allocated(bytes, errno)),
        }
    }

    /// Seals memory of [`Mapping::sealable`] against writing: in this process it is mapped for reading
    /// from now on. False where another process has mapped it for writing.
    pub fn seal(&self) -> bool {
        let Some(descriptor) = self.descriptor() else { return self.identity == 0 };
        map_for_reading(Some(self.base), &descriptor, self.bytes).is_ok()
            && rustix::fs::fcntl_add_seals(&descriptor, SealFlags::WRITE | SealFlags::SEAL).is_ok()
    }

    /// Whether it was adopted sealed.
    pub fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    /// Makes pages of it that are written to this process's own.
    pub fn open_copy(&self) -> Result<()> {
        // SAFETY: our mapping, private since it is sealed.
        let opened = unsafe {
            rustix::mm::mprotect(
                self.base.cast(),
                self.bytes,
                MprotectFlags::READ | MprotectFlags::WRITE,
            )
        };
        opened.map_err(|errno| {
            Error::system("copy data for a routine that may write to it", errno.into())
                .with("bytes", self.bytes)
                .fix(
                    "declare the argument `const` if the routine only reads it, or raise \
                    limits.memory_bytes_max in the server's farcall.toml",
                )
        })
    }

    /// Drops these pages: it reads as it was sealed.
    pub fn close_copy(&self) {
        // SAFETY: our mapping, private and of a file that cannot change: pages that are dropped
        // come back as they were sealed.
        unsafe {
            let _ = rustix::mm::madvise(
                self.base.cast(),
                self.bytes,
                rustix::mm::Advice::LinuxDontNeed,
            );
            let _ = rustix::mm::mprotect(self.base.cast(), self.bytes, MprotectFlags::READ);
        }
    }

    /// Fresh zero bytes of this process alone.
    pub fn private(bytes: usize) -> Result<Mapping> {
        let base = registry::map_unshared(bytes).map_err(|errno| not_allocated(bytes, errno))?;
        // SAFETY: a mapping of ours. It is advice: where there are no large pages, nothing changes.
        let _ =
            unsafe { rustix::mm::madvise(base.cast(), bytes, rustix::mm::Advice::LinuxHugepage) };
        Ok(Mapping { base, bytes, identity: 0, obituaries: None, is_sealed: false })
    }

    /// Maps what another process shared, once it can no longer be taken away. The mapping alone
    /// holds the memory.
    pub fn adopt(descriptor: OwnedFd, bytes: usize, used: Use) -> Result<Mapping> {
        Ok(Self::inspect(descriptor, bytes, used)?.0)
    }

    /// The same of a value that is sealed against writing, which other processes are given from here.
    pub fn adopt_shared(
        descriptor: OwnedFd,
        bytes: usize,
        obituaries: Obituaries,
    ) -> Result<Mapping> {
        let (mut mapping, descriptor) = Self::inspect(descriptor, bytes, Use::Reading)?;
        if !mapping.is_sealed {
            let message = "a value was shared that can still change";
            return Err(Error::new(ErrorKind::Protocol, "map shared memory", message));
        }
        if registry::has_room() {
            mapping.identity = registry::enter(mapping.base, bytes, descriptor);
            mapping.obituaries = Some(obituaries);
        }
        Ok(mapping)
    }

    /// The same; gives the descriptor back, too.
    pub fn inspect(descriptor: OwnedFd, bytes: usize, used: Use) -> Result<(Mapping, OwnedFd)> {
        if is_stand_in(&descriptor) {
            give_back_stand_in(descriptor);
            let message = "no file descriptor is left for the peer's shared memory";
            return Err(Error::new(ErrorKind::LimitExceeded, "map shared memory", message)
                .fix("start this process with a higher limit on open files (ulimit -n)")
                .retryable());
        }
        let (base, is_sealed) = map_sealed(&descriptor, bytes, used)?;
        Ok((Mapping { base, bytes, identity: 0, obituaries: None, is_sealed }, descriptor))
    }

    /// What names it to another process, if it can be shared.
    pub fn descriptor(&self) -> Option<Arc<OwnedFd>> {
        registry::descriptor(self.identity)
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
}

/// Maps a peer's memory if it is what the peer says, and stays so; whether it is sealed against
/// writing, too.
fn map_sealed(descriptor: &OwnedFd, bytes: usize, used: Use) -> Result<(*mut u8, bool)> {
    let refuse = |what: String| {
        Error::new(ErrorKind::Protocol, "map shared memory", format!("the peer shared {what}"))
            .with("announced", Bytes(bytes as u64))
            .fix("the peer is broken, hostile or not Farcall")
    };
    // Anything but a memfd (or a file on a tmpfs, which is the same thing) knows no seals and fails
    // here.
    let seals = rustix::fs::fcntl_get_seals(descriptor).map_err(|_| refuse("no memory".into()))?;
    if !seals.contains(SEALS_NEEDED) {
        return Err(refuse(
            "memory that it can still shrink (F_SEAL_SHRINK and F_SEAL_GROW are missing)".into(),
        ));
    }
    let status = rustix::fs::fstat(descriptor)
        .map_err(|errno| Error::system("map shared memory", errno.into()))?;
    let size = u64::try_from(status.st_size).unwrap_or(0);
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile
        || size != bytes as u64
        || bytes == 0
    {
        return Err(refuse(format!("memory of {}", Bytes(size))));
    }
    // Huge pages that were given back by their maker may be another's when they are touched again:
    // a SIGBUS, too.
    let system = rustix::fs::fstatfs(descriptor)
        .map_err(|errno| Error::system("map shared memory", errno.into()))?;
    if system.f_type == HUGETLBFS_MAGIC {
        return Err(refuse("memory in huge pages (MFD_HUGETLB)".into()));
    }
    let is_sealed = used == Use::Reading && seals.contains(SealFlags::WRITE);
    let mapped = match is_sealed {
        true => map_for_reading(None, descriptor, bytes),
        false => map(descriptor, bytes),
    };
    match mapped {
        Ok(base) => Ok((base, is_sealed)),
        Err(Errno::PERM | Errno::ACCESS) => Err(refuse("memory that is read-only".into())),
        Err(errno) => Err(Error::system("map shared memory", errno.into()).with("bytes", bytes)),
    }
}

/// Maps all of it. Never MAP_POPULATE: it makes pages that may not be needed, and no faster than
/// touching them does.
fn memfd() -> rustix::io::Result<OwnedFd> {
    rustix::fs::memfd_create(c"farcall", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
}

fn not_allocated(bytes: usize, errno: Errno) -> Error {
    Error::system("allocate memory", errno.into()).with("bytes", bytes)
}

fn map(descriptor: &OwnedFd, bytes: usize) -> rustix::io::Result<*mut u8> {
    // SAFETY: the kernel chooses an address range that nothing else uses.
    let base = unsafe {
        rustix::mm::mmap(
            ptr::null_mut(),
            bytes,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::SHARED,
            descriptor,
            0,
        )
    };
    base.map(|base| base.cast())
}

/// Maps memory that is sealed, or is to be, for reading; `at` is where it is mapped already. The
/// mapping is private: a shared one counts as one for writing in kernels before 6.7, and what a
/// routine may write to are pages of its own (`open_copy`).
fn map_for_reading(
    at: Option<*mut u8>,
    descriptor: &OwnedFd,
    bytes: usize,
) -> rustix::io::Result<*mut u8> {
    let fixed = if at.is_some() { MapFlags::FIXED } else { MapFlags::empty() };
    let at = at.map_or(ptr::null_mut(), <*mut u8>::cast);
    // SAFETY: our mapping is replaced by one of the same bytes, or the kernel chooses an address
    // range that nothing else uses.
    let base = unsafe {
        rustix::mm::mmap(at, bytes, ProtFlags::READ, MapFlags::PRIVATE | fixed, descriptor, 0)
    };
    base.map(|base| base.cast())
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.identity != 0 {
            registry::leave(self.identity);
        }
        // SAFETY: this range was mapped by us, and whoever may use it holds the region that holds
        // this mapping.
        let unmapped = unsafe { rustix::mm::munmap(self.base.cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "a whole mapping of ours can be unmapped");
        if let Some(obituaries) = &self.obituaries {
            obituaries.lock().unwrap_or_else(PoisonError::into_inner).push(self.identity);
        }
    }
}
