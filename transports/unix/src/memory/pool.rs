//! The books of a memory source: what exists, what is idle, and what must go.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use farcall_base::Result;

use super::mapping::Mapping;
use super::{MemoryLimits, too_much};

pub const PAGE_BYTES: usize = 4096;
/// Up to here classes are powers of two; above, each is a quarter larger than the one before.
const SMALL_MAX: usize = 64 << 10;

/// The size of the region that a request for `bytes` gets: at most a quarter too large, so that
/// calls of slightly different sizes find each other's regions. `None` when no address space is
/// that large.
pub fn size_class(bytes: usize) -> Option<usize> {
    if bytes <= SMALL_MAX {
        return Some(bytes.next_power_of_two().max(PAGE_BYTES));
    }
    let mut class = SMALL_MAX;
    while class < bytes {
        class = class.checked_add(class / 4)?.checked_next_multiple_of(PAGE_BYTES)?;
    }
    isize::try_from(class).is_ok().then_some(class)
}

struct Idle {
    mapping: Mapping,
    since: Instant,
}

/// Idle mappings by size class, oldest first in each, and the sums that the limits are held
/// against.
pub struct Pool {
    limits: MemoryLimits,
    idle: BTreeMap<usize, Vec<Idle>>,
    idle_regions: usize,
    idle_bytes: u64,
    bytes: u64,
    adopted_bytes: u64,
}

impl Pool {
    pub fn new(limits: MemoryLimits) -> Pool {
        Pool {
            limits,
            idle: BTreeMap::new(),
            idle_regions: 0,
            idle_bytes: 0,
            bytes: 0,
            adopted_bytes: 0,
        }
    }

    pub fn idle_bytes(&self) -> u64 {
        self.idle_bytes
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// An idle mapping of this class, or leave to make one; with it, idle mappings of other classes
    /// that had to go to stay within the limit.
    pub fn take_or_reserve(&mut self, class: usize) -> Result<(Option<Mapping>, Vec<Mapping>)> {
        match self.take(class) {
            Some(mapping) => Ok((Some(mapping), Vec::new())),
            None => Ok((None, self.reserve(class as u64)?)),
        }
    }

    /// Leave to make a mapping of so many bytes, with the idle ones that had to go.
    pub fn reserve(&mut self, bytes: u64) -> Result<Vec<Mapping>> {
        let in_use = self.bytes - self.idle_bytes;
        if bytes > self.limits.bytes_max.saturating_sub(in_use) {
            return Err(too_much(bytes, self.limits.bytes_max));
        }
        let mut evicted = Vec::new();
        while self.bytes + bytes > self.limits.bytes_max {
            evicted.push(
                self.take_oldest().expect("only idle bytes stand between the sum and the limit"),
            );
        }
        self.bytes += bytes;
        Ok(evicted)
    }

    /// The bytes of a mapping that was reserved and could not be made.
    pub fn release(&mut self, bytes: u64) {
        self.bytes -= bytes;
    }

    pub fn reserve_adopted(&mut self, bytes: u64) -> Result<()> {
        if bytes > self.limits.bytes_max.saturating_sub(self.adopted_bytes) {
            return Err(too_much(bytes, self.limits.bytes_max));
        }
        self.adopted_bytes += bytes;
        Ok(())
    }

    pub fn release_adopted(&mut self, bytes: u64) {
        self.adopted_bytes -= bytes;
    }

    /// Keeps a mapping for the next call; returns what the limits no longer allow to keep.
    pub fn give_back(&mut self, mapping: Mapping, now: Instant) -> Vec<Mapping> {
        self.idle_regions += 1;
        self.idle_bytes += mapping.bytes() as u64;
        self.idle.entry(mapping.bytes()).or_default().push(Idle { mapping, since: now });
        let mut surplus = Vec::new();
        while self.idle_regions > self.limits.idle_regions_max
            || self.idle_bytes > self.limits.idle_bytes_max
        {
            surplus.push(
                self.take_oldest()
                    .expect("there is an idle mapping as long as the sums are not zero"),
            );
        }
        surplus
    }

    /// Removes what has been idle for at least this long.
    pub fn take_older(&mut self, age: Duration, now: Instant) -> Vec<Mapping> {
        let mut old = Vec::new();
        while let Some((since, class)) = self.oldest() {
            if now.saturating_duration_since(since) < age {
                break;
            }
            old.extend(self.remove(class, 0));
        }
        old
    }

    /// The youngest of a class: its pages are the likeliest to be in a cache still.
    fn take(&mut self, class: usize) -> Option<Mapping> {
        let youngest = self.idle.get(&class)?.len().checked_sub(1)?;
        let mapping = self.detach(class, youngest)?;
        Some(mapping)
    }

    fn take_oldest(&mut self) -> Option<Mapping> {
        let (_, class) = self.oldest()?;
        self.remove(class, 0)
    }

    fn oldest(&self) -> Option<(Instant, usize)> {
        self.idle.iter().filter_map(|(class, idle)| Some((idle.first()?.since, *class))).min()
    }

    /// Takes an idle mapping out for good: it no longer counts.
    fn remove(&mut self, class: usize, index: usize) -> Option<Mapping> {
        let mapping = self.detach(class, index)?;
        self.bytes -= mapping.bytes() as u64;
        Some(mapping)
    }

    fn detach(&mut self, class: usize, index: usize) -> Option<Mapping> {
        let idle = self.idle.get_mut(&class)?;
        let mapping = idle.remove(index).mapping;
        if idle.is_empty() {
            self.idle.remove(&class);
        }
        self.idle_regions -= 1;
        self.idle_bytes -= class as u64;
        Some(mapping)
    }
}
