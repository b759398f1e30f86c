//! Argument memory of processes that share none: plain heap regions.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_link::memory::{HeapRegion, MemorySource, Region};

/// Makes heap regions up to a size.
pub struct HeapMemory {
    region_bytes_max: usize,
}

impl HeapMemory {
    /// A source whose regions have at most `region_bytes_max` bytes each.
    pub fn new(region_bytes_max: usize) -> HeapMemory {
        HeapMemory { region_bytes_max }
    }
}

impl MemorySource for HeapMemory {
    fn allocate(&self, bytes: usize) -> Result<Arc<dyn Region>> {
        if bytes > self.region_bytes_max {
            let message = format!("{} are too much", Bytes(bytes as u64));
            return Err(Error::new(ErrorKind::LimitExceeded, "allocate argument memory", message)
                .with("limit", Bytes(self.region_bytes_max as u64))
                .fix("raise the memory limit"));
        }
        Ok(Arc::new(HeapRegion::new(bytes)?))
    }

    fn adopt(&self, _: OwnedFd, _: usize) -> Result<Arc<dyn Region>> {
        Err(unshareable())
    }

    fn check(&self, _: OwnedFd, _: usize) -> Result<OwnedFd> {
        Err(unshareable())
    }
}

fn unshareable() -> Error {
    Error::new(
        ErrorKind::Protocol,
        "map shared memory",
        "the peer shared memory over a link that cannot",
    )
}
