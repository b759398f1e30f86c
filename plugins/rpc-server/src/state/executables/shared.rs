//! Memory that an executable knows.

use std::collections::VecDeque;

use crate::state::MemorySource;

/// Memory shared with an executable, and under which segment number, oldest first.
#[derive(Debug)]
pub struct SharedMemory {
    known: VecDeque<(MemorySource, u32)>,
    /// The next segment number.
    next: u32,
}

impl Default for SharedMemory {
    fn default() -> SharedMemory {
        SharedMemory { known: VecDeque::new(), next: 1 }
    }
}

impl SharedMemory {
    /// The number of memory that it knows.
    pub fn find(&self, source: MemorySource) -> Option<u32> {
        self.known.iter().find(|(known, _)| *known == source).map(|(_, segment)| *segment)
    }

    /// The number that the next memory is given.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// The oldest, where it knows as many as it takes: it has to forget that first.
    pub fn forget_oldest(&mut self, segments_max: usize) -> Option<u32> {
        if self.known.len() < segments_max {
            return None;
        }
        self.known.pop_front().map(|(_, segment)| segment)
    }

    /// It knows this memory from now on.
    pub fn add(&mut self, source: MemorySource) {
        self.known.push_back((source, self.next));
        self.next += 1;
    }

    /// Memory is gone: under which number it knew that.
    pub fn forget(&mut self, source: MemorySource) -> Option<u32> {
        let at = self.known.iter().position(|(known, _)| *known == source)?;
        self.known.remove(at).map(|(_, segment)| segment)
    }
}
