//! Frames between links and the server: what leaves, what comes, and the descriptors with them.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use farcall_base::{ConnectionId, Error, ErrorKind, Result};
use farcall_call::{Place, Transmit};
use farcall_link::memory::Space;
use farcall_link::{FrameHandler, FrameSource, Link};
use farcall_wire::{FrameHeader, FrameKind, Share};

use super::world::World;
use crate::step::Server;

/// One connection's frames that the server has for it.
pub struct Sending<'a> {
    pub server: &'a mut Server,
    pub world: &'a mut World,
    pub connection: ConnectionId,
}

impl FrameSource for Sending<'_> {
    fn next(&mut self, data_bytes_max: u32) -> Option<Transmit> {
        self.server.limit_frames(self.connection, data_bytes_max);
        self.server.poll_transmit(self.connection)
    }

    fn descriptors(&mut self, _: &FrameHeader, shares: Option<u32>) -> Result<Vec<Arc<OwnedFd>>> {
        let descriptor =
            shares.map(|segment| self.world.descriptor(self.connection, segment)).transpose()?;
        Ok(descriptor.into_iter().collect())
    }

    fn queue_data(&mut self, link: &mut Link, header: FrameHeader, place: &Place) -> Result<()> {
        link.queue_array(header, self.world.sending(self.server, self.connection, place)?)
    }

    fn reuse(&mut self, body: Vec<u8>) {
        self.server.reuse(self.connection, body);
    }
}

/// One connection's frames on their way to the server.
pub struct Taking<'a> {
    pub server: &'a mut Server,
    pub world: &'a mut World,
    pub connection: ConnectionId,
}

impl Taking<'_> {
    /// A peer that breaks the rules goes. What we have no descriptor or room left for costs the
    /// calls that name it.
    fn take_segment(&mut self, segment: u32, checked: Result<OwnedFd>) -> Result<()> {
        match checked {
            Ok(descriptor) => {
                self.world.add_segment(self.connection, segment, descriptor);
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::System | ErrorKind::LimitExceeded) => {
                self.server.segment_lost(self.connection, segment);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

impl FrameHandler for Taking<'_> {
    fn control(
        &mut self,
        header: &FrameHeader,
        body: &[u8],
        descriptors: &mut VecDeque<OwnedFd>,
    ) -> Result<()> {
        if header.kind == FrameKind::Share as u8 {
            // The descriptor must be at hand before the server learns of the segment.
            let share: Share = farcall_wire::message::decode("Share", body)?;
            let missing = || {
                Error::new(
                    ErrorKind::Protocol,
                    "take shared memory",
                    "it arrived without a descriptor",
                )
            };
            let descriptor = descriptors.pop_front().ok_or_else(missing)?;
            let checked = self.world.check_shared(self.connection, descriptor, share.bytes);
            self.server.handle_control(self.world, self.connection, header, body)?;
            return self.take_segment(share.segment, checked);
        }
        self.server.handle_control(self.world, self.connection, header, body)?;
        if let Some(nest) = self.server.take_nest() {
            let missing = || {
                Error::new(
                    ErrorKind::Protocol,
                    "take a connection",
                    "it arrived without a descriptor",
                )
            };
            self.world.add_nest(nest, descriptors.pop_front().ok_or_else(missing)?);
        }
        if header.kind == FrameKind::Unshare as u8 {
            let segment: u32 = farcall_wire::message::decode("Unshare", body)?;
            self.world.forget_segment(self.connection, segment);
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.server.is_clogged(self.connection)
    }

    fn data_space(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Space>> {
        let Some(place) = self.server.place(self.connection, header, done)? else {
            let side = self.server.side_received(self.connection, header.channel);
            let of = (self.connection, header.channel, side, header.slot);
            self.world.transfers().discard(of);
            return Ok(None);
        };
        let memory =
            if place.offset == 0 { self.server.memory_of(self.connection, &place) } else { None };
        let left = (header.length - done) as usize;
        self.world.transfers().space(self.connection, &place, memory, left)
    }

    fn data_arrived(&mut self, header: &FrameHeader, count: u32, done: u32) -> Result<()> {
        let side = self.server.side_received(self.connection, header.channel);
        let place = (self.connection, header.channel, side, header.slot);
        if let Err(error) = self.world.transfers().arrived(place, count as usize) {
            self.server.memory_failed(self.connection, header.channel, error)?;
        }
        self.server.data_arrived(self.world, self.connection, header, done)
    }
}
