//! Calls and requests that we opened (spec/call.md, section 3).

use std::collections::VecDeque;

use farcall_base::{Bytes, ChannelId, Error, ErrorKind, Result};
use farcall_wire::message::{check_attributes, decode, encode};
use farcall_wire::{
    Argument, FrameHeader, FrameKind, HelloLimits, Notice, Open, Reply, Request, Resume, Window,
    decode_result_into, encode_open,
};

use crate::channel::{Inbound, Outbound, broken, check_count, declared_bytes, no_call};
use crate::channels::Channels;
use crate::connection::Connection;
use crate::event::{Event, Side};

#[derive(Debug)]
struct Call {
    outbound: Outbound,
    inbound: Inbound,
    is_request: bool,
    /// The outcome came.
    resulted: bool,
    cancelled: bool,
    /// The peer has not said yet that it has the call that we took up again.
    unagreed: bool,
}

impl Call {
    fn new(is_request: bool) -> Call {
        Call {
            outbound: Outbound::default(),
            inbound: Inbound::default(),
            is_request,
            resulted: false,
            cancelled: false,
            unagreed: false,
        }
    }
}

/// Our open channels.
#[derive(Debug)]
pub struct Outgoing {
    calls: Channels<Call>,
    next: u32,
    free: Vec<ChannelId>,
    channels_max: usize,
    initial_credit: u64,
    call_bytes_max: u64,
}

impl Outgoing {
    pub fn new(first: u32) -> Outgoing {
        Outgoing {
            calls: Channels::default(),
            next: first,
            free: Vec::new(),
            channels_max: 1,
            initial_credit: 0,
            call_bytes_max: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.calls.len()
    }

    pub fn set_limits(&mut self, limits: &HelloLimits) {
        self.channels_max = limits.channels_max as usize;
        self.initial_credit = limits.initial_credit;
        self.call_bytes_max = limits.call_bytes_max;
    }

    pub fn outbound(&mut self, channel: ChannelId) -> Option<&mut Outbound> {
        self.calls.get_mut(channel).map(|call| &mut call.outbound)
    }

    pub fn inbound(&mut self, channel: ChannelId) -> Option<&mut Inbound> {
        self.calls.get_mut(channel).map(|call| &mut call.inbound)
    }

    fn add(&mut self, call: Call) -> Result<ChannelId> {
        if self.calls.len() >= self.channels_max {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "open a call",
                "too many calls on one \
                connection",
            )
            .with("channels_max", self.channels_max)
            .fix(
                "wait until one has finished, or raise channels_max in the server's \
                    configuration file",
            )
            .retryable());
        }
        let channel = self.free.pop().unwrap_or_else(|| {
            let channel = ChannelId(self.next);
            self.next += 2;
            channel
        });
        self.calls.put(channel, call);
        Ok(channel)
    }

    pub fn begin_data(&mut self, header: &FrameHeader) -> Result<bool> {
        let call = self.calls.get_mut(header.channel).ok_or_else(|| no_call(header))?;
        call.inbound.begin_frame(header).map(|()| true)
    }

    pub fn data_arrived(
        &mut self,
        header: &FrameHeader,
        done: u32,
        events: &mut VecDeque<Event>,
    ) -> Result<()> {
        let Some(call) = self.calls.get_mut(header.channel) else { return Ok(()) };
        if call.inbound.arrived(header, done)? {
            self.end_if_over(header.channel, events);
        }
        Ok(())
    }

    fn end_if_over(&mut self, channel: ChannelId, events: &mut VecDeque<Event>) {
        if self.calls.get(channel).is_some_and(|call| call.resulted && call.inbound.is_complete()) {
            self.remove(channel);
            events.push_back(Event::Finished(channel));
        }
    }

    /// Frees the number: frames of ours that are still queued were numbered before and leave before
    /// any new one.
    fn remove(&mut self, channel: ChannelId) {
        self.calls.remove(channel);
        self.free.push(channel);
    }
}

impl Connection {
    /// Asks the peer something; the answer comes as [`Event::Replied`] on the returned channel.
    ///
    /// # Errors
    /// `LimitExceeded` when the peer allows no more channels or the message is too long for it;
    /// `ShuttingDown` after a goodbye.
    pub fn request(&mut self, request: &Request) -> Result<ChannelId> {
        self.check_open_for_questions()?;
        let body = encode(request);
        self.check_body("ask the peer", "the question is too long", &body)?;
        let channel = self.outgoing.add(Call::new(true))?;
        self.control(FrameKind::Request, channel, body);
        Ok(channel)
    }

    /// Opens a call. Blocks of known length among its arguments are sent as credit allows; the
    /// owner gives their bytes when [`crate::Transmit::Data`] asks for them.
    ///
    /// # Errors
    /// `LimitExceeded` when the peer allows no more channels, no such sum of arrays, or the message
    /// is too long for it; `ShuttingDown` after a goodbye; `Internal` before [`Event::Ready`], and
    /// for blocks of unknown length, which this version receives but does not send.
    pub fn open(&mut self, open: &Open) -> Result<ChannelId> {
        self.check_open_for_questions()?;
        self.check_can_send(&open.arguments)?;
        let body = encode_open(self.used(), open);
        self.check_body("open a call", "the call's small arguments are too long", &body)?;
        let mut call = Call::new(false);
        call.inbound.grant(open.result_credit.unwrap_or(u64::MAX));
        call.outbound.queue(&open.arguments);
        call.outbound.allow(self.outgoing.initial_credit);
        let sends = call.outbound.comes_into_line();
        let channel = self.outgoing.add(call)?;
        self.control(FrameKind::Open, channel, body);
        if sends {
            self.enlist(channel, Side::Arguments);
        }
        Ok(channel)
    }

    /// Opens a call whose Open was encoded before: its arguments lie in the message, and all of
    /// its results are wanted. See [`farcall_wire::OpenHead`].
    ///
    /// # Errors
    /// As for [`Connection::open`].
    pub fn open_encoded(&mut self, body: Vec<u8>) -> Result<ChannelId> {
        self.check_open_for_questions()?;
        self.check_can_send(&[])?;
        self.check_body("open a call", "the call's small arguments are too long", &body)?;
        let mut call = Call::new(false);
        call.inbound.grant(u64::MAX);
        let channel = self.outgoing.add(call)?;
        self.control(FrameKind::Open, channel, body);
        Ok(channel)
    }

    /// Takes a call up again that was opened on another connection: [`Event::Agreed`] says that the
    /// peer has it, and the outcome comes from its beginning. For a call that it has not, the
    /// outcome alone comes, `not-found`.
    ///
    /// # Errors
    /// As for [`Connection::open`].
    pub fn resume(&mut self, resume: &Resume) -> Result<ChannelId> {
        self.check_open_for_questions()?;
        let body = encode(resume);
        self.check_body("resume a call", "the question is too long", &body)?;
        let mut call = Call { unagreed: true, ..Call::new(false) };
        call.inbound.grant(u64::MAX);
        let channel = self.outgoing.add(call)?;
        self.control(FrameKind::Resume, channel, body);
        Ok(channel)
    }

    fn check_can_send(&self, arguments: &[Argument]) -> Result<()> {
        if self.peer.is_none() {
            return Err(Error::internal("open a call", "the peer has not sent its Hello yet"));
        }
        if arguments.contains(&Argument::Blocks(None)) {
            return Err(Error::internal(
                "open a call",
                "arguments of unknown length are not supported",
            ));
        }
        check_count(arguments)?;
        let bytes = declared_bytes(arguments);
        let limit = self.outgoing.call_bytes_max;
        if bytes <= limit {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::LimitExceeded,
            "open a call",
            "the call's arrays are larger than the peer accepts",
        )
        .with("bytes", Bytes(bytes))
        .with("call_bytes_max", Bytes(limit))
        .fix("send less per call, or raise call_bytes_max in the server's configuration file"))
    }

    fn check_body(
        &self,
        operation: &'static str,
        message: &'static str,
        body: &[u8],
    ) -> Result<()> {
        let limit = self.body_bytes_max();
        if body.len() <= limit {
            return Ok(());
        }
        Err(Error::new(ErrorKind::LimitExceeded, operation, message)
            .with("bytes", body.len())
            .with("control_bytes_max", limit))
    }

    /// Says that we have the outcome of a call of ours that is over, and its data: a peer that
    /// keeps it for us need not do so any longer.
    pub fn acknowledge(&mut self, channel: ChannelId) {
        if self.outgoing.calls.get(channel).is_none() {
            let window = Window { credit: u64::MAX, next_sequence: u32::MAX };
            self.control(FrameKind::Window, channel, encode(&window));
        }
    }

    /// Whether data frames of a call of ours were not made yet.
    pub fn has_arguments_left(&self, channel: ChannelId) -> bool {
        self.outgoing.calls.get(channel).is_some_and(|call| !call.outbound.is_done())
    }

    /// Asks the peer to end a call of ours. Its outcome still comes.
    pub fn cancel(&mut self, channel: ChannelId) {
        let Some(call) = self.outgoing.calls.get_mut(channel) else { return };
        if !call.cancelled && !call.resulted {
            call.cancelled = true;
            call.outbound.abandon();
            self.control(FrameKind::Cancel, channel, Vec::new());
        }
    }

    pub(crate) fn on_answer(
        &mut self,
        kind: FrameKind,
        header: &FrameHeader,
        body: &[u8],
    ) -> Result<()> {
        let channel = header.channel;
        let call = self.outgoing.calls.get_mut(channel).ok_or_else(|| no_call(header))?;
        if kind == FrameKind::Data {
            call.inbound.begin_frame(header)?;
            return self.outgoing.data_arrived(header, 0, &mut self.events);
        }
        call.inbound.check_number(header)?;
        match kind {
            FrameKind::Reply if call.is_request => {
                let reply: Reply = decode("Reply", body)?;
                self.events.push_back(Event::Replied(channel, reply));
                self.outgoing.remove(channel);
            }
            FrameKind::Result if !call.is_request && !call.resulted => {
                self.on_result(channel, body)?
            }
            FrameKind::Window => {
                let window: Window = decode("Window", body)?;
                call.outbound.allow(window.credit);
                if call.outbound.comes_into_line() {
                    self.enlist(channel, Side::Arguments);
                }
            }
            FrameKind::Resume if call.unagreed && !call.resulted => {
                let resume: Resume = decode("Resume", body)?;
                call.unagreed = false;
                self.events.push_back(Event::Agreed(channel, Box::new(resume)));
            }
            FrameKind::Notice if !call.is_request && !call.resulted => {
                let notice: Notice = decode("Notice", body)?;
                self.events.push_back(Event::Noticed(channel, notice));
            }
            _ => {
                return Err(
                    broken("an answer does not match its request").with("kind", header.kind)
                );
            }
        }
        Ok(())
    }

    fn on_result(&mut self, channel: ChannelId, body: &[u8]) -> Result<()> {
        let mut result = self.used_result();
        decode_result_into(body, &mut result)?;
        let call = self.outgoing.calls.get_mut(channel).expect("on_answer found it");
        check_count(&result.results)?;
        check_attributes(result.attributes.as_deref().unwrap_or_default(), &[])?;
        call.resulted = true;
        call.inbound.expect(&result.results);
        if call.outbound.abandon() {
            // The peer still waits for the rest of our data: tell it that none comes.
            self.control(FrameKind::Cancel, channel, Vec::new());
        }
        self.events.push_back(Event::Resulted(channel, result));
        self.outgoing.end_if_over(channel, &mut self.events);
        Ok(())
    }
}
