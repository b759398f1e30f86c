//! What comes and goes over a line, frame by frame.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use farcall_base::{Error, Result};
use farcall_call::{Place, Transmit};
use farcall_wire::{FrameHeader, FrameKind};

use super::End;
use crate::memory::{Block, Space};
use crate::{FrameHandler, FrameSource, Link};

impl FrameHandler for End {
    fn control(
        &mut self,
        header: &FrameHeader,
        body: &[u8],
        descriptors: &mut VecDeque<OwnedFd>,
    ) -> Result<()> {
        self.frames += 1;
        if header.kind == FrameKind::Share as u8 {
            self.coming = descriptors.pop_front();
        }
        self.connection.handle_control(header, body)?;
        self.take_news()
    }

    /// Whatever nobody fetched is thrown away.
    fn data_space(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Space>> {
        let Some(place) = self.connection.place(header, done)? else { return Ok(None) };
        let Some(fetching) = self.fetching.get_mut(&place.channel) else { return Ok(None) };
        let Some((region, bytes)) = &fetching.elements else { return Ok(None) };
        let left = bytes.saturating_sub(place.offset).min(u64::from(header.length - done));
        if let Some(value) = &mut fetching.value {
            self.writing = Some(place.channel);
            return value.space(place.offset, left).map(Some);
        }
        // What fits a region fits an address.
        Space::of(&**region, place.offset as usize, left as usize).map(Some)
    }

    fn data_arrived(&mut self, header: &FrameHeader, count: u32, done: u32) -> Result<()> {
        let writing = self.writing.take().and_then(|channel| self.fetching.get_mut(&channel));
        if let Some(value) = writing.and_then(|fetching| fetching.value.as_mut()) {
            value.arrived(count)?;
        }
        self.frames += 1;
        self.pieces += 1;
        self.connection.data_arrived(header, done)?;
        self.take_news()
    }
}

impl FrameSource for End {
    fn next(&mut self, _: u32) -> Option<Transmit> {
        self.connection.poll_transmit()
    }

    fn queue_data(&mut self, link: &mut Link, header: FrameHeader, place: &Place) -> Result<()> {
        let region = self.putting.get(&place.channel);
        let region = region.ok_or_else(|| Error::internal("put data", "its elements are gone"))?;
        let block = Block::of(region, place.offset as usize, header.length as usize)?;
        link.queue_data(header, [block]);
        Ok(())
    }
}
