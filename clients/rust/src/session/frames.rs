//! Frames of a connection: those that come to its calls, and those that its calls have to send.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use farcall_base::{Error, ErrorKind, Result};
use farcall_call::{Place, Side, Transmit};
use farcall_link::compression::Saved;
use farcall_link::memory::Space;
use farcall_link::{FrameHandler, Link};
use farcall_peer::Caller;
use farcall_wire::{FrameHeader, FrameKind};

use super::program::Program;
use crate::clock::{CLOCK, now};

/// Takes what comes.
pub struct Receiving<'a>(pub &'a mut Caller<Program>);

impl FrameHandler for Receiving<'_> {
    fn control(&mut self, header: &FrameHeader, body: &[u8], _: &mut VecDeque<OwnedFd>) -> Result<()> {
        if header.kind == FrameKind::Share as u8 {
            return Err(Error::new(
                ErrorKind::Protocol,
                "follow the server",
                "a server shares no memory with a client",
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
        let transfer = self.0.transfer(place.channel);
        transfer.and_then(|transfer| transfer.result_space(place.slot, left)).transpose()
    }

    fn data_expanded(&mut self, header: &FrameHeader, saved: Saved) {
        let transfer = self.0.transfer(header.channel);
        if let Some((packing, _)) = transfer.and_then(|transfer| transfer.receiving.get_mut(&header.slot)) {
            packing.saved += saved;
        }
    }

    fn data_arrived(&mut self, header: &FrameHeader, count: u32, done: u32) -> Result<()> {
        if let Some(transfer) = self.0.transfer(header.channel) {
            transfer.result_arrived(header.slot, count as usize)?;
        } else if let Some(function) = self.0.callback_arguments(header.channel) {
            function.taken.arrived(header.slot, count as usize)?;
        }
        self.0.data_arrived(header, done, &*CLOCK)
    }
}

/// Queues the next frame; false when there is none.
pub fn make_frame(caller: &mut Caller<Program>, link: &mut Link) -> Result<bool> {
    let Some(transmit) = caller.poll_transmit(link.frame_bytes_max()) else { return Ok(false) };
    let queued = link.bytes_queued();
    let mut sends = None;
    match transmit {
        Transmit::Control { header, body, shares } => {
            let descriptors = shares.map(|segment| caller.application_mut().descriptor(segment)).transpose()?;
            link.queue_control(header, &body, descriptors.into_iter().collect());
            caller.reuse(body);
        }
        Transmit::Data { header, place } if place.side == Side::Results => {
            queue_answer(caller, link, header, &place)?;
        }
        Transmit::Data { header, place } => {
            let gone = || Error::internal("send an argument", "its call is gone");
            let data = &mut caller.transfer(place.channel).ok_or_else(gone)?.data;
            match data.array_to_send(place.slot.into()) {
                Some(packing) => link.queue_array(header, packing)?,
                None => link.queue_array(header, &mut data.piece_of_file(&place, header.length)?)?,
            }
            sends = Some(place.channel);
        }
    }
    caller.frame_made((link.bytes_queued() - queued) as u64, sends);
    Ok(true)
}

fn queue_answer(caller: &mut Caller<Program>, link: &mut Link, header: FrameHeader, place: &Place) -> Result<()> {
    let gone = || Error::internal("send a callback's result", "it is gone");
    let packing = caller.callback_answer(place.channel).and_then(|sending| sending.get_mut(&place.slot));
    link.queue_array(header, packing.ok_or_else(gone)?)?;
    caller.callback_sent(place.channel, now());
    Ok(())
}
