//! A frame handler that records what arrives, data in place in regions of its own.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use farcall_base::{ChannelId, Result};
use farcall_link::memory::{Block, HeapRegion, Region, Space};
use farcall_link::stream::ByteStream;
use farcall_link::{FrameHandler, Link, Received};
use farcall_wire::{FrameHeader, FrameKind};

use crate::rig::{Progress, Rig};

/// Longest control body of the links under test.
pub const CONTROL_BYTES_MAX: u32 = 1 << 20;
/// Longest data body of the links under test.
pub const DATA_BYTES_MAX: u32 = 4 << 20;
/// Bytes taken in one turn.
const BUDGET: usize = 1 << 20;

/// A whole frame that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its header.
    pub header: FrameHeader,
    /// Its body, wherever it was put.
    pub body: Vec<u8>,
    /// How many descriptors its handler took.
    pub descriptors: usize,
}

/// Records frames; data goes to a region for each channel and slot.
pub struct Recorder {
    /// What came, in order.
    pub frames: Vec<Frame>,
    /// Most bytes offered at once for a data frame; 0: data is not wanted.
    pub space_bytes_max: usize,
    /// Descriptors that each Share frame takes.
    pub descriptors_per_share: usize,
    /// Where data was put: by channel and slot.
    pub regions: BTreeMap<(ChannelId, u16), HeapRegion>,
}

impl Default for Recorder {
    fn default() -> Self {
        Recorder {
            frames: Vec::new(),
            space_bytes_max: usize::MAX,
            descriptors_per_share: 1,
            regions: BTreeMap::new(),
        }
    }
}

impl FrameHandler for Recorder {
    fn control(
        &mut self,
        header: &FrameHeader,
        body: &[u8],
        descriptors: &mut VecDeque<OwnedFd>,
    ) -> Result<()> {
        let wanted =
            if header.kind == FrameKind::Share as u8 { self.descriptors_per_share } else { 0 };
        let taken = descriptors.drain(..wanted.min(descriptors.len())).count();
        self.frames.push(Frame { header: *header, body: body.to_vec(), descriptors: taken });
        Ok(())
    }

    fn data_space(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Space>> {
        if self.space_bytes_max == 0 {
            return Ok(None);
        }
        let key = (header.channel, header.slot);
        let length = header.length as usize;
        if self.regions.get(&key).is_none_or(|region| region.bytes() < length) {
            assert_eq!(done, 0, "a frame's place does not change while it arrives");
            self.regions.insert(key, HeapRegion::new(length)?);
        }
        let rest = length - done as usize;
        Ok(Some(Space::of(&self.regions[&key], done as usize, rest.min(self.space_bytes_max))?))
    }

    fn data_arrived(&mut self, header: &FrameHeader, count: u32, done: u32) -> Result<()> {
        assert!(count > 0 && done <= header.length);
        if done == header.length {
            let body = match self.regions.get(&(header.channel, header.slot)) {
                Some(region) => Space::of(region, 0, header.length as usize)?.bytes().to_vec(),
                None => Vec::new(),
            };
            self.frames.push(Frame { header: *header, body, descriptors: 0 });
        }
        Ok(())
    }
}

/// A link over a stream, with the battery's limits.
pub fn link(stream: Box<dyn ByteStream>) -> Link {
    Link::new(stream, CONTROL_BYTES_MAX, DATA_BYTES_MAX)
}

/// A region with these bytes.
pub fn region(bytes: &[u8]) -> HeapRegion {
    let region = HeapRegion::new(bytes.len()).unwrap();
    Space::of(&region, 0, bytes.len()).unwrap().bytes().copy_from_slice(bytes);
    region
}

/// A block that owns its bytes.
pub fn block(bytes: &[u8]) -> Block {
    let region: Arc<dyn Region> = Arc::new(region(bytes));
    Block::of(&region, 0, bytes.len()).unwrap()
}

/// A header with everything that a receiver must see unchanged.
pub fn header(kind: FrameKind, channel: u32, slot: u16, sequence: u32) -> FrameHeader {
    FrameHeader { slot, sequence, ..FrameHeader::new(kind, ChannelId(channel), 0) }
}

/// Queues the Hello that must come before anything large.
pub fn greet(link: &mut Link) {
    link.queue_control(header(FrameKind::Hello, 0, 0, 0), b"hello", Vec::new());
}

/// Sends all that is queued on `from` and lets `to` receive until it has recorded `count` frames.
pub fn exchange(
    rig: &mut Rig,
    from: &mut Link,
    to: &mut Link,
    recorder: &mut Recorder,
    count: usize,
) {
    rig.until("exchange of frames", || {
        let frames = recorder.frames.len();
        let queued = from.bytes_queued();
        from.flush().unwrap();
        let received = to.receive(recorder, BUDGET).unwrap();
        assert_ne!(received, Received::Closed, "the other end is alive");
        let moved = received == Received::More
            || recorder.frames.len() > frames
            || from.bytes_queued() < queued;
        match recorder.frames.len() {
            got if got == count && from.bytes_queued() == 0 => Progress::Done,
            got if got > count => panic!("{got} frames arrived, {count} were sent"),
            _ if moved => Progress::Moved,
            _ => Progress::Nothing,
        }
    });
}
