//! Calls and requests that the peer opened (spec/call.md, section 4).

use std::collections::{BTreeMap, VecDeque};

use farcall_base::{ChannelId, Error, ErrorKind, Result};
use farcall_wire::message::{check_attributes, decode, encode};
use farcall_wire::{CallResult, FrameHeader, FrameKind, Notice, Open, Reply, Request, Resume, Window};

use crate::channel::{Inbound, Outbound, broken};
use crate::connection::Connection;
use crate::event::{Event, Side};

#[derive(Debug)]
struct Call {
    outbound: Outbound,
    inbound: Inbound,
    is_request: bool,
    /// Our outcome is queued or sent; data that still comes is thrown away.
    resulted: bool,
}

/// The peer's open channels.
#[derive(Debug, Default)]
pub struct Incoming {
    calls: BTreeMap<ChannelId, Call>,
}

impl Incoming {
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    pub fn outbound(&mut self, channel: ChannelId) -> Option<&mut Outbound> {
        self.calls.get_mut(&channel).map(|call| &mut call.outbound)
    }

    pub fn inbound(&mut self, channel: ChannelId) -> Option<&mut Inbound> {
        self.calls.get_mut(&channel).filter(|call| !call.resulted).map(|call| &mut call.inbound)
    }

    /// False when the frame's bytes are to be thrown away.
    pub fn begin_data(&mut self, header: &FrameHeader) -> Result<bool> {
        let call = self.calls.get_mut(&header.channel).ok_or_else(|| broken("data for a call that is not open"))?;
        call.inbound.begin_frame(header)?;
        Ok(!call.resulted)
    }

    pub fn data_arrived(&mut self, header: &FrameHeader, done: u32, events: &mut VecDeque<Event>) -> Result<()> {
        let Some(call) = self.calls.get_mut(&header.channel) else { return Ok(()) };
        if call.inbound.arrived(header, done)? {
            if !call.resulted {
                events.push_back(Event::ArgumentsComplete(header.channel));
            }
            self.settle(header.channel);
        }
        Ok(())
    }

    /// A frame of this channel left or arrived: forget the channel if that was the last.
    pub fn settle(&mut self, channel: ChannelId) {
        let over = self
            .calls
            .get(&channel)
            .is_some_and(|call| call.resulted && call.outbound.is_done() && call.inbound.is_complete());
        if over {
            self.calls.remove(&channel);
        }
    }
}

impl Connection {
    pub(crate) fn on_question(&mut self, kind: FrameKind, header: &FrameHeader, body: &[u8]) -> Result<()> {
        let channel = header.channel;
        match kind {
            FrameKind::Request => self.on_request(header, body),
            FrameKind::Open => self.on_open(header, body),
            FrameKind::Resume => self.on_resume(header, body),
            _ => {
                let Some(call) = self.incoming.calls.get_mut(&channel) else {
                    // Our outcome may have crossed the opener's last words; anything else comes out of nowhere.
                    let crossed = matches!(kind, FrameKind::Cancel | FrameKind::Window);
                    return if crossed { Ok(()) } else { Err(broken("a frame for a call that is not open")) };
                };
                if kind == FrameKind::Data {
                    call.inbound.begin_frame(header)?;
                    return self.incoming.data_arrived(header, 0, &mut self.events);
                }
                call.inbound.check_number(header)?;
                self.on_later_frame(kind, channel, body)
            }
        }
    }

    fn on_later_frame(&mut self, kind: FrameKind, channel: ChannelId, body: &[u8]) -> Result<()> {
        let call = self.incoming.calls.get_mut(&channel).expect("on_question found it");
        match kind {
            FrameKind::Cancel => {
                call.inbound.abandon();
                if !call.resulted {
                    self.events.push_back(Event::CancelRequested(channel));
                }
                self.incoming.settle(channel);
            }
            FrameKind::Window => {
                let window: Window = decode("Window", body)?;
                call.outbound.allow(window.credit);
                if call.outbound.can_send() {
                    self.enlist(channel, Side::Results);
                }
            }
            _ => return Err(broken("a frame that does not fit its call").with("kind", kind as u8)),
        }
        Ok(())
    }

    fn add_incoming(&mut self, header: &FrameHeader, is_request: bool) -> Result<&mut Call> {
        let limit = self.hello.limits.channels_max as usize;
        if self.incoming.len() >= limit {
            return Err(Error::new(ErrorKind::LimitExceeded, "accept a call", "the peer opens more calls than it may")
                .with("channels_max", limit));
        }
        if self.incoming.calls.contains_key(&header.channel) {
            return Err(broken("the peer opened a channel that is open").with("channel", header.channel));
        }
        let mut inbound = Inbound::default();
        inbound.check_number(header)?;
        let call = Call { outbound: Outbound::default(), inbound, is_request, resulted: false };
        Ok(self.incoming.calls.entry(header.channel).or_insert(call))
    }

    fn on_request(&mut self, header: &FrameHeader, body: &[u8]) -> Result<()> {
        self.add_incoming(header, true)?;
        let request: Request = decode("Request", body)?;
        self.events.push_back(Event::Requested(header.channel, request));
        Ok(())
    }

    fn on_open(&mut self, header: &FrameHeader, body: &[u8]) -> Result<()> {
        let open: Open = decode("Open", body)?;
        check_attributes(open.attributes.as_deref().unwrap_or_default(), &[])?;
        let credit = self.hello.limits.initial_credit;
        let call = self.add_incoming(header, false)?;
        call.inbound.expect(&open.arguments, credit);
        call.outbound.allow(open.result_credit.unwrap_or(u64::MAX));
        let complete = call.inbound.is_complete();
        self.events.push_back(Event::Opened(header.channel, Box::new(open)));
        if complete {
            self.events.push_back(Event::ArgumentsComplete(header.channel));
        }
        Ok(())
    }

    fn on_resume(&mut self, header: &FrameHeader, body: &[u8]) -> Result<()> {
        let resume: Resume = decode("Resume", body)?;
        check_attributes(resume.attributes.as_deref().unwrap_or_default(), &[])?;
        self.add_incoming(header, false)?;
        let error =
            Error::new(ErrorKind::NotFound, "resume a call", "no such call is kept here").with("call", resume.call);
        let failure = Some((&error).into());
        self.respond(
            header.channel,
            &CallResult { failure, results: Vec::new(), times: Default::default(), attributes: None },
        );
        Ok(())
    }

    /// Answers a request.
    pub fn reply(&mut self, channel: ChannelId, reply: &Reply) {
        if let Some(call) = self.incoming.calls.get_mut(&channel).filter(|call| call.is_request && !call.resulted) {
            call.resulted = true;
            self.control(FrameKind::Reply, channel, encode(reply));
            self.incoming.settle(channel);
        }
    }

    /// Lets the opener send `total` bytes of data on this channel in all.
    pub fn grant(&mut self, channel: ChannelId, total: u64) {
        let Some(call) = self.incoming.calls.get_mut(&channel).filter(|call| !call.resulted) else { return };
        if let Some(credit) = call.inbound.grant(total) {
            let next_sequence = call.inbound.next_sequence();
            self.control(FrameKind::Window, channel, encode(&Window { credit, next_sequence }));
        }
    }

    /// Gives the outcome of a call; the data of results that are blocks follows as credit allows.
    pub fn respond(&mut self, channel: ChannelId, result: &CallResult) {
        let Some(call) = self.incoming.calls.get_mut(&channel).filter(|call| !call.is_request && !call.resulted) else {
            return;
        };
        call.resulted = true;
        call.outbound.queue(&result.results);
        let sends = call.outbound.can_send();
        self.control(FrameKind::Result, channel, encode(result));
        if sends {
            self.enlist(channel, Side::Results);
        }
        self.incoming.settle(channel);
    }

    /// Tells the opener something about its running call.
    pub fn notice(&mut self, channel: ChannelId, notice: &Notice) {
        if self.incoming.calls.get(&channel).is_some_and(|call| !call.is_request && !call.resulted) {
            self.control(FrameKind::Notice, channel, encode(notice));
        }
    }

    /// Whether a call of the peer's is open and has no outcome yet.
    pub fn is_pending(&self, channel: ChannelId) -> bool {
        self.incoming.calls.get(&channel).is_some_and(|call| !call.resulted)
    }
}
