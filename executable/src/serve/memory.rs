//! Where a call's values lie: segments that the server shares, and an arena for everything small.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::memory::{HeapRegion, MemorySource, Region};
use farcall_wire::Failure;

/// The segments that the server shares with this process. One that cannot be mapped, since its
/// client sealed it in the meantime, costs the calls that name it.
pub struct Segments {
    source: Arc<dyn MemorySource>,
    mapped: BTreeMap<u32, Result<Arc<dyn Region>>>,
}

impl Segments {
    pub fn new(source: Arc<dyn MemorySource>) -> Segments {
        Segments { source, mapped: BTreeMap::new() }
    }

    pub fn add(&mut self, segment: u32, descriptor: OwnedFd, bytes: u64) -> Result<()> {
        let bytes = usize::try_from(bytes).map_err(|_| {
            Error::new(
                ErrorKind::Protocol,
                "take shared memory",
                "a segment larger than the address space",
            )
        })?;
        self.mapped.insert(segment, self.source.adopt_value(descriptor, bytes));
        Ok(())
    }

    pub fn remove(&mut self, segment: u32) {
        self.mapped.remove(&segment);
    }

    /// The memory of an argument: `offset`, at least `needed` bytes of the `length` announced,
    /// aligned for any element.
    pub fn find(
        &self,
        segment: u32,
        offset: u64,
        length: u64,
        needed: u64,
    ) -> Result<(Arc<dyn Region>, usize)> {
        let wrong = |message: &'static str| {
            Error::new(ErrorKind::Protocol, "find an argument", message)
                .with("segment", segment)
                .with("offset", offset)
                .with("length", length)
                .with("needed", needed)
        };
        let region = self
            .mapped
            .get(&segment)
            .ok_or_else(|| wrong("it is in a segment that was never shared"))?;
        let region = region.as_ref().map_err(|error| Error::from(Failure::from(error)))?;
        if length < needed {
            return Err(wrong("its memory is smaller than the array"));
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
        let too_much = || {
            Error::new(
                ErrorKind::LimitExceeded,
                "run a routine",
                "its arrays exceed the address space",
            )
        };
        let offset =
            self.bytes.checked_next_multiple_of(HeapRegion::ALIGNMENT).ok_or_else(too_much)?;
        let bytes = usize::try_from(bytes).map_err(|_| too_much())?.max(1);
        self.bytes = offset
            .checked_add(bytes)
            .filter(|end| *end < isize::MAX as usize)
            .ok_or_else(too_much)?;
        Ok(offset)
    }
}

/// Arenas of this size serve again and again: most calls need less, and getting memory costs more
/// than clearing it.
const SMALL_BYTES: usize = 1024;
/// As many are kept as calls may wait here.
const KEPT_MAX: usize = super::CHANNELS_MAX as usize;

/// A single one of up to this size does, too, for calls that need about as much: a process often
/// runs one routine over and over.
const LARGE_BYTES_MAX: usize = 4 << 20;

/// Makes the arenas of calls.
#[derive(Default)]
pub struct Arenas {
    /// Small ones that no call uses, zeroed.
    kept: Vec<Arc<HeapRegion>>,
    /// The last larger one, zeroed.
    large: Option<Arc<HeapRegion>>,
}

impl Arenas {
    /// The memory of a plan, zeroed: an OUT array that the routine leaves alone must not show
    /// another call's data.
    pub fn make(&mut self, plan: &ArenaPlan) -> Result<Arc<HeapRegion>> {
        if plan.bytes > SMALL_BYTES {
            let fits = |arena: &mut Arc<HeapRegion>| {
                (arena.bytes() / 2..=arena.bytes()).contains(&plan.bytes)
            };
            return self
                .large
                .take_if(fits)
                .map_or_else(|| HeapRegion::new(plan.bytes).map(Arc::new), Ok);
        }
        self.kept.pop().map_or_else(|| HeapRegion::new(SMALL_BYTES).map(Arc::new), Ok)
    }

    /// Keeps an arena for another call, cleared, unless somebody holds it.
    pub fn take_back(&mut self, mut arena: Arc<HeapRegion>) {
        let Some(region) = Arc::get_mut(&mut arena) else { return };
        match region.bytes() {
            SMALL_BYTES if self.kept.len() < KEPT_MAX => {
                region.clear();
                self.kept.push(arena);
            }
            bytes if (SMALL_BYTES + 1..=LARGE_BYTES_MAX).contains(&bytes) => {
                region.clear();
                self.large = Some(arena);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use farcall_link::memory::{Block, Space};

    use super::*;

    fn plan(bytes: u64) -> ArenaPlan {
        let mut plan = ArenaPlan::default();
        plan.reserve(bytes).unwrap();
        plan
    }

    #[test]
    fn a_small_arena_serves_again_without_what_lay_in_it() {
        let mut arenas = Arenas::default();
        let arena = arenas.make(&plan(8)).unwrap();
        let base = arena.base();
        Space::of(&*arena, 0, SMALL_BYTES).unwrap().bytes().fill(7);
        arenas.take_back(arena);
        let again = arenas.make(&plan(SMALL_BYTES as u64)).unwrap();
        assert_eq!(again.base(), base);
        let again: Arc<dyn Region> = again;
        assert!(Block::of(&again, 0, SMALL_BYTES).unwrap().bytes().iter().all(|byte| *byte == 0));
    }

    #[test]
    fn one_larger_arena_serves_again_for_about_as_much() {
        let mut arenas = Arenas::default();
        let arena = arenas.make(&plan(100_000)).unwrap();
        let base = arena.base();
        Space::of(&*arena, 0, 100_000).unwrap().bytes().fill(7);
        arenas.take_back(arena);
        for wanted in [49_999, 100_001] {
            assert_ne!(arenas.make(&plan(wanted)).unwrap().base(), base);
        }
        let again: Arc<dyn Region> = arenas.make(&plan(60_000)).unwrap();
        assert_eq!(again.base(), base);
        assert!(Block::of(&again, 0, 100_000).unwrap().bytes().iter().all(|byte| *byte == 0));
    }

    #[test]
    fn keeps_neither_huge_arenas_nor_those_in_use_nor_too_many() {
        let mut arenas = Arenas::default();
        let huge = arenas.make(&plan(LARGE_BYTES_MAX as u64 + 1)).unwrap();
        arenas.take_back(huge);
        let large = arenas.make(&plan(100_000)).unwrap();
        arenas.take_back(large.clone());
        assert!(arenas.large.is_none());
        let used = arenas.make(&plan(1)).unwrap();
        arenas.take_back(used.clone());
        assert!(arenas.kept.is_empty());
        let many: Vec<_> = (0..KEPT_MAX + 1).map(|_| arenas.make(&plan(1)).unwrap()).collect();
        many.into_iter().for_each(|arena| arenas.take_back(arena));
        assert_eq!(arenas.kept.len(), KEPT_MAX);
    }
}
