//! Where a call's values lie: segments that the server shares, and an arena for everything small.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_interfaces::memory::{HeapRegion, MemorySource, Region};

/// The segments that the server shares with this process.
pub struct Segments {
    source: Arc<dyn MemorySource>,
    mapped: BTreeMap<u32, Arc<dyn Region>>,
}

impl Segments {
    pub fn new(source: Arc<dyn MemorySource>) -> Segments {
        Segments { source, mapped: BTreeMap::new() }
    }

    pub fn add(&mut self, segment: u32, descriptor: OwnedFd, bytes: u64) -> Result<()> {
        let bytes = usize::try_from(bytes).map_err(|_| {
            Error::new(ErrorKind::Protocol, "take shared memory", "a segment larger than the address space")
        })?;
        let region = self.source.adopt(descriptor, bytes)?;
        self.mapped.insert(segment, region);
        Ok(())
    }

    pub fn remove(&mut self, segment: u32) {
        self.mapped.remove(&segment);
    }

    /// The memory of an argument: `offset`, at least `needed` bytes of the `length` announced, aligned for any element.
    pub fn find(&self, segment: u32, offset: u64, length: u64, needed: u64) -> Result<(Arc<dyn Region>, usize)> {
        let wrong = |message: &'static str| {
            Error::new(ErrorKind::Protocol, "find an argument", message)
                .with("segment", segment)
                .with("offset", offset)
                .with("length", length)
                .with("needed", needed)
        };
        let region = self.mapped.get(&segment).ok_or_else(|| wrong("it lies in a segment that was never shared"))?;
        if length < needed {
            return Err(wrong("its memory is shorter than the array"));
        }
        if offset.checked_add(length).is_none_or(|end| end > region.bytes() as u64) {
            return Err(wrong("it reaches beyond its segment"));
        }
        if !offset.is_multiple_of(16) {
            return Err(wrong("its memory is not aligned"));
        }
        Ok((region.clone(), offset as usize))
    }
}

/// Adds up what a call needs, then is made once.
#[derive(Default)]
pub struct ArenaPlan {
    bytes: usize,
}

impl ArenaPlan {
    /// Reserves `bytes` bytes, aligned for any element and any vector load; returns their offset.
    pub fn reserve(&mut self, bytes: u64) -> Result<usize> {
        let too_much = || Error::new(ErrorKind::LimitExceeded, "run a routine", "its arrays exceed the address space");
        let offset = self.bytes.checked_next_multiple_of(HeapRegion::ALIGNMENT).ok_or_else(too_much)?;
        let bytes = usize::try_from(bytes).map_err(|_| too_much())?.max(1);
        self.bytes = offset.checked_add(bytes).filter(|end| *end < isize::MAX as usize).ok_or_else(too_much)?;
        Ok(offset)
    }

    /// The memory, zeroed: an OUT array that the routine leaves alone must not show another call's data.
    pub fn make(&self) -> Result<Arc<dyn Region>> {
        Ok(Arc::new(HeapRegion::new(self.bytes.max(1))?))
    }
}
