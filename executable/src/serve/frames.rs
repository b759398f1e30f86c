//! What the link asks a session for: frames to send, and memory for what arrives.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use farcall_base::{Error, ErrorKind, Result};
use farcall_call::{Place, Side, Transmit};
use farcall_link::memory::Space;
use farcall_link::{FrameHandler, FrameSource, Link};
use farcall_wire::message::ByteOrder;
use farcall_wire::{FrameHeader, FrameKind, Hello};

use super::Session;

/// An executable takes calls from servers of its own byte order only; the server makes right for
/// its clients.
pub(super) fn check_server(hello: &Hello) -> Result<()> {
    if hello.byte_order == ByteOrder::NATIVE {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Version,
        "greet the server",
        "the server has another byte order than this machine",
    ))
}

impl FrameSource for Session {
    fn next(&mut self, _: u32) -> Option<Transmit> {
        self.connection.poll_transmit()
    }

    fn queue_data(&mut self, link: &mut Link, header: FrameHeader, place: &Place) -> Result<()> {
        if place.side == Side::Arguments {
            let call = self.callbacks.get_mut(place.channel);
            let call =
                call.ok_or_else(|| Error::internal("send an argument", "its callback has ended"))?;
            link.queue_data(header, call.blocks(place.slot, header.length)?);
            return Ok(());
        }
        let call = self.calls.get_mut(place.channel);
        let call = call.ok_or_else(|| Error::internal("send a result", "its call has ended"))?;
        link.queue_data(header, call.result_blocks(place.slot, header.length)?);
        Ok(())
    }

    fn reuse(&mut self, body: Vec<u8>) {
        self.connection.reuse(body);
    }
}

impl FrameHandler for Session {
    fn control(
        &mut self,
        header: &FrameHeader,
        body: &[u8],
        descriptors: &mut VecDeque<OwnedFd>,
    ) -> Result<()> {
        if header.kind == FrameKind::Data as u8 {
            self.connection.place(header, 0)?;
        }
        self.connection.handle_control(header, body)?;
        self.handle_events(descriptors)
    }

    fn data_space(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Space>> {
        let Some(place) = self.connection.place(header, done)? else { return Ok(None) };
        let left = (header.length - done) as usize;
        if place.side == Side::Results {
            return self
                .callbacks
                .get_mut(place.channel)
                .map(|call| call.result_space(place.slot, left))
                .transpose();
        }
        self.calls
            .get_mut(place.channel)
            .map(|call| call.argument_space(place.slot, left))
            .transpose()
    }

    fn data_arrived(&mut self, header: &FrameHeader, count: u32, done: u32) -> Result<()> {
        if let Some(call) = self.calls.get_mut(header.channel) {
            call.argument_arrived(header.slot, count as usize)?;
        } else if let Some(call) = self.callbacks.get_mut(header.channel) {
            call.result_arrived(header.slot, count as usize)?;
        }
        self.connection.data_arrived(header, done)?;
        self.handle_events(&mut VecDeque::new())
    }
}
