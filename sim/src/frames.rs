//! Frames of a simulated client's connection: those that come to its calls and functions, and those
//! that these have to send.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use farcall_base::{Clock, Error, Result};
use farcall_call::{Place, Side, Transmit};
use farcall_link::memory::Space;
use farcall_link::{FrameHandler, FrameSource, Link};
use farcall_peer::{Caller, Greeting};
use farcall_transport_simulated::Network;
use farcall_wire::FrameHeader;

use crate::program::Program;

/// What is to leave.
pub struct Sending<'a> {
    pub caller: &'a mut Caller<Program>,
    pub clock: &'a Network,
    pub moved: bool,
}

impl FrameSource for Sending<'_> {
    fn next(&mut self, data_bytes_max: u32) -> Option<Transmit> {
        self.caller.poll_transmit(data_bytes_max)
    }

    fn queue_data(&mut self, link: &mut Link, header: FrameHeader, place: &Place) -> Result<()> {
        if place.side == Side::Results {
            let gone = || Error::internal("send a function's answer", "it is gone");
            let answer = self.caller.callback_answer(place.channel).ok_or_else(gone)?;
            link.queue_array(header, answer.sending())?;
            self.caller.callback_sent(place.channel, self.clock.now());
            return Ok(());
        }
        let packing = self.caller.transfer(place.channel).and_then(|transfer| transfer.sending());
        let gone = || Error::internal("send an array", "its call has ended");
        link.queue_array(header, packing.ok_or_else(gone)?)
    }

    fn queued(&mut self, bytes: u64, place: Option<&Place>) {
        self.moved = true;
        let sends = place.filter(|place| place.side == Side::Arguments);
        self.caller.frame_made(bytes, sends.map(|place| place.channel));
    }
}

/// What comes.
pub struct Receiving<'a> {
    pub caller: &'a mut Caller<Program>,
    pub clock: &'a Network,
    pub moved: bool,
}

impl FrameHandler for Receiving<'_> {
    fn control(
        &mut self,
        header: &FrameHeader,
        body: &[u8],
        _: &mut VecDeque<OwnedFd>,
    ) -> Result<()> {
        self.moved = true;
        self.caller.handle_control(header, body, self.clock)
    }

    fn data_space(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Space>> {
        let Some(place) = self.caller.place(header, done)? else { return Ok(None) };
        let packing = if place.side == Side::Arguments {
            let function = self.caller.callback_arguments(place.channel);
            function.and_then(|function| function.receiving())
        } else {
            self.caller.transfer(place.channel).and_then(|transfer| transfer.receiving())
        };
        packing.map(|packing| packing.space((header.length - done) as usize)).transpose()
    }

    fn data_arrived(&mut self, header: &FrameHeader, count: u32, done: u32) -> Result<()> {
        self.moved = true;
        let packing = if self.caller.transfer(header.channel).is_some() {
            self.caller.transfer(header.channel).and_then(|transfer| transfer.receiving())
        } else {
            let function = self.caller.callback_arguments(header.channel);
            function.and_then(|function| function.receiving())
        };
        if let Some(packing) = packing {
            packing.arrived(count as usize)?;
        }
        self.caller.data_arrived(header, done, self.clock)
    }
}

/// What comes before the server has greeted; whether anything did.
pub struct Ungreeted<'a>(pub &'a mut Greeting, pub &'a mut bool);

impl FrameHandler for Ungreeted<'_> {
    fn control(
        &mut self,
        header: &FrameHeader,
        body: &[u8],
        _: &mut VecDeque<OwnedFd>,
    ) -> Result<()> {
        *self.1 = true;
        self.0.handle_control(header, body)
    }

    fn data_space(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Space>> {
        self.0.refuse_data(header, done).map(|()| None)
    }

    fn data_arrived(&mut self, header: &FrameHeader, _: u32, done: u32) -> Result<()> {
        self.0.refuse_data(header, done)
    }
}
