//! Frames of a connection: those that come to its calls, and those that its calls have to send.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use farcall_base::{ChannelId, Error, ErrorKind, Result};
use farcall_call::{Place, Side, Transmit};
use farcall_link::compression::Saved;
use farcall_link::memory::Space;
use farcall_link::{FrameHandler, FrameSource, Link};
use farcall_peer::Caller;
use farcall_wire::{FrameHeader, FrameKind};

use super::flight::{Flight, InFlight};
use super::program::Program;
use crate::clock::{CLOCK, now};

/// Takes what comes.
pub struct Receiving<'a>(pub &'a mut Caller<Program>);

impl Receiving<'_> {
    /// What data of a call of ours move through.
    fn flight(&mut self, channel: ChannelId) -> Option<&mut Flight> {
        self.0.transfer(channel)?.long_mut()
    }
}

impl FrameHandler for Receiving<'_> {
    fn control(
        &mut self,
        header: &FrameHeader,
        body: &[u8],
        _: &mut VecDeque<OwnedFd>,
    ) -> Result<()> {
        if header.kind == FrameKind::Share as u8 {
            return Err(Error::new(
                ErrorKind::Protocol,
                "follow the server",
                "a server must not share memory with a client",
            ));
        }
        self.0.handle_control(header, body, &*CLOCK)
    }

    fn data_space(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Space>> {
        let Some(place) = self.0.place(header, done)? else { return Ok(None) };
        let left = (header.length - done) as usize;
        if place.side == Side::Arguments {
            let function = self.0.callback_arguments(place.channel);
            return function.map(|function| function.taken.space(place.slot, left)).transpose();
        }
        let flight = self.flight(place.channel);
        flight.and_then(|flight| flight.result_space(place.slot, left)).transpose()
    }

    fn data_expanded(&mut self, header: &FrameHeader, saved: Saved) {
        let flight = self.flight(header.channel);
        if let Some((packing, _)) = flight.and_then(|flight| flight.receiving.get_mut(&header.slot))
        {
            packing.saved += saved;
        }
    }

    fn data_arrived(&mut self, header: &FrameHeader, count: u32, done: u32) -> Result<()> {
        if let Some(flight) = self.flight(header.channel) {
            flight.result_arrived(header.slot, count as usize)?;
        } else if let Some(function) = self.0.callback_arguments(header.channel) {
            function.taken.arrived(header.slot, count as usize)?;
        }
        self.0.data_arrived(header, done, &*CLOCK)
    }
}

/// Has what is to leave.
pub struct Sending<'a>(pub &'a mut Caller<Program>);

impl FrameSource for Sending<'_> {
    fn next(&mut self, data_bytes_max: u32) -> Option<Transmit> {
        self.0.poll_transmit(data_bytes_max)
    }

    #[inline]
    fn descriptors(&mut self, _: &FrameHeader, shares: Option<u32>) -> Result<Vec<Arc<OwnedFd>>> {
        let descriptor =
            shares.map(|segment| self.0.application_mut().descriptor(segment)).transpose()?;
        Ok(descriptor.into_iter().collect())
    }

    fn queue_data(&mut self, link: &mut Link, header: FrameHeader, place: &Place) -> Result<()> {
        if place.side == Side::Results {
            let gone = || Error::internal("send a callback's result", "it is gone");
            let packing = self
                .0
                .callback_answer(place.channel)
                .and_then(|sending| sending.get_mut(&place.slot));
            link.queue_array(header, packing.ok_or_else(gone)?)?;
            self.0.callback_sent(place.channel, now());
            return Ok(());
        }
        let gone = || Error::internal("send an argument", "its call has ended");
        let transfer = self.0.transfer(place.channel);
        let data = &mut transfer.and_then(InFlight::long_mut).ok_or_else(gone)?.data;
        match data.array_to_send(place.slot.into()) {
            Some(packing) => link.queue_array(header, packing),
            None => link.queue_array(header, &mut data.piece_of_file(place, header.length)?),
        }
    }

    fn queued(&mut self, bytes: u64, place: Option<&Place>) {
        let sends = place.filter(|place| place.side == Side::Arguments);
        self.0.frame_made(bytes, sends.map(|place| place.channel));
    }

    fn reuse(&mut self, body: Vec<u8>) {
        self.0.reuse(body);
    }
}
