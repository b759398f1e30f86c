//! Memory for one value that comes over a line: it is written as it comes, and sealed when it is whole.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use farcall_base::{Bytes, Error, Result};
use rustix::fs::{MemfdFlags, SealFlags};

use crate::memory::{HeapRegion, Space};

/// Memory is given in whole pages.
const PAGE_BYTES: u64 = 4096;
/// Bytes that come before they are written: they are in the cache of the processor still. Fresh pages
/// that are written to by the system cost half of what those cost that are mapped and touched.
const PIECE_BYTES: usize = 256 << 10;

/// A value that comes.
pub(super) struct Value {
    file: File,
    size: u64,
    piece: HeapRegion,
    /// Where the piece belongs.
    at: u64,
}

impl Value {
    /// Memory for so many bytes.
    pub fn new(bytes: u64) -> Result<Value> {
        let size = bytes.next_multiple_of(PAGE_BYTES);
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let memory = rustix::fs::memfd_create(c"farcall", flags);
        let memory = memory.map_err(|error| failed(error.into()).with("bytes", Bytes(bytes)))?;
        rustix::fs::ftruncate(&memory, size).map_err(|error| failed(error.into()))?;
        let piece = HeapRegion::new(PIECE_BYTES)?;
        Ok(Value { file: memory.into(), size, piece, at: 0 })
    }

    /// Where the bytes from an offset on go, of which so many are left.
    pub fn space(&mut self, offset: u64, left: u64) -> Result<Space> {
        self.at = offset;
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        Space::of(&self.piece, 0, left.min(PIECE_BYTES))
    }

    /// So many of them have come.
    pub fn arrived(&mut self, count: u32) -> Result<()> {
        let mut piece = Space::of(&self.piece, 0, count as usize)?;
        self.file.write_all_at(piece.bytes(), self.at).map_err(failed)
    }

    /// All have come: the memory, which nobody can change any more, and its size.
    pub fn sealed(self) -> Result<(Arc<OwnedFd>, u64)> {
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
        let sealed = rustix::fs::fcntl_add_seals(&self.file, seals);
        sealed.map_err(|error| failed(error.into()))?;
        Ok((Arc::new(self.file.into()), self.size))
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::system("keep fetched data", error)
}
