//! Calls and requests that the peer opened (spec/call.md, section 4).

use std::collections::VecDeque;

use farcall_base::{Bytes, ChannelId, Error, ErrorKind, Result};
use farcall_wire::message::{check_attributes, decode, encode};
use farcall_wire::{
    Argument, CALLBACK, CallResult, FrameHeader, FrameKind, KEEP, LEASE, Notice, ON, Open,
    RESOURCES, RESUME, RUN_TIMEOUT, Reply, Request, Resume, Window, decode_open, encode_result,
};

use crate::channel::{Inbound, Outbound, broken, check_count, declared_bytes, no_call};
use crate::channels::Channels;
use crate::connection::Connection;
use crate::event::{Event, Side};

/// Critical attributes of an Open that owners of connections know; the first one, those that keep
/// calls.
const KNOWN_IN_OPEN: [&str; 6] = [KEEP, ON, CALLBACK, RUN_TIMEOUT, RESOURCES, LEASE];

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
    calls: Channels<Call>,
}

impl Incoming {
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    pub fn outbound(&mut self, channel: ChannelId) -> Option<&mut Outbound> {
        self.calls.get_mut(channel).map(|call| &mut call.outbound)
    }

    pub fn inbound(&mut self, channel: ChannelId) -> Option<&mut Inbound> {
        self.calls.get_mut(channel).filter(|call| !call.resulted).map(|call| &mut call.inbound)
    }

    /// False when the frame's bytes are to be thrown away.
    pub fn begin_data(&mut self, header: &FrameHeader) -> Result<bool> {
        let call = self.calls.get_mut(header.channel).ok_or_else(|| no_call(header))?;
        call.inbound.begin_frame(header)?;
        Ok(!call.resulted)
    }

    pub fn data_arrived(
        &mut self,
        header: &FrameHeader,
        done: u32,
        events: &mut VecDeque<Event>,
    ) -> Result<()> {
        let Some(call) = self.calls.get_mut(header.channel) else { return Ok(()) };
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
        let over = self.calls.get(channel).is_some_and(|call| {
            call.resulted && call.outbound.is_done() && call.inbound.is_complete()
        });
        if over {
            self.calls.remove(channel);
        }
    }
}

/// The outcome of a call that did not run.
fn failed(error: &Error) -> CallResult {
    CallResult {
        failure: Some(error.into()),
        results: Vec::new(),
        times: Default::default(),
        attributes: None,
    }
}

fn too_long(bytes: usize, limit: usize) -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        "answer the peer",
        "the answer is larger than the peer accepts",
    )
    .with("bytes", bytes)
    .with("control_bytes_max", limit)
}

/// What an honest peer of a later version, or a greedy one, may ask: it costs that call alone.
fn check_demands(open: &Open, call_bytes_max: u64, keeps: bool) -> Result<()> {
    let known = if keeps { &KNOWN_IN_OPEN[..] } else { &KNOWN_IN_OPEN[1..] };
    check_attributes(open.attributes.as_deref().unwrap_or_default(), known)?;
    let bytes = declared_bytes(&open.arguments);
    if bytes <= call_bytes_max {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::LimitExceeded,
        "accept a call",
        "the call's arrays are larger than this server accepts",
    )
    .with("bytes", Bytes(bytes))
    .with("call_bytes_max", Bytes(call_bytes_max)))
}

fn check_results(results: &[Argument]) -> Result<()> {
    check_count(results)?;
    if results.contains(&Argument::Blocks(None)) {
        return Err(Error::internal(
            "answer the peer",
            "results of unknown length are not supported",
        ));
    }
    Ok(())
}

impl Connection {
    pub(crate) fn on_question(
        &mut self,
        kind: FrameKind,
        header: &FrameHeader,
        body: &[u8],
    ) -> Result<()> {
        let channel = header.channel;
        match kind {
            FrameKind::Request => self.on_request(header, body),
            FrameKind::Open => self.on_open(header, body),
            FrameKind::Resume => self.on_resume(header, body),
            _ => {
                let Some(call) = self.incoming.calls.get_mut(channel) else {
                    // Our outcome may have crossed the opener's last words; anything else comes out
                    // of nowhere.
                    return match kind {
                        FrameKind::Window => {
                            if self.keeps_calls() {
                                self.events.push_back(Event::Acknowledged(channel));
                            }
                            Ok(())
                        }
                        FrameKind::Cancel => Ok(()),
                        _ => Err(no_call(header)),
                    };
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
        let call = self.incoming.calls.get_mut(channel).expect("on_question found it");
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
                if call.outbound.comes_into_line() {
                    self.enlist(channel, Side::Results);
                }
            }
            _ => return Err(broken("a frame does not match its call").with("kind", kind as u8)),
        }
        Ok(())
    }

    fn add_incoming(&mut self, header: &FrameHeader, is_request: bool) -> Result<&mut Call> {
        let limit = self.hello.limits.channels_max as usize;
        if self.incoming.len() >= limit {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "accept a call",
                "the peer opened too many calls",
            )
            .with("channels_max", limit));
        }
        if self.incoming.calls.get(header.channel).is_some() {
            return Err(broken("the peer opened a channel twice").with("channel", header.channel));
        }
        let mut inbound = Inbound::default();
        inbound.check_number(header)?;
        let call = Call { outbound: Outbound::default(), inbound, is_request, resulted: false };
        self.incoming.calls.insert(header.channel, call);
        Ok(self.incoming.calls.get_mut(header.channel).expect("it was just put there"))
    }

    fn on_request(&mut self, header: &FrameHeader, body: &[u8]) -> Result<()> {
        self.add_incoming(header, true)?;
        let request: Request = decode("Request", body)?;
        self.events.push_back(Event::Requested(header.channel, request));
        Ok(())
    }

    fn on_open(&mut self, header: &FrameHeader, body: &[u8]) -> Result<()> {
        let open = decode_open(body)?;
        self.check_open(&open)?;
        let limits = self.hello.limits;
        let keeps = open.attributes.is_some() && self.keeps_calls();
        let call = self.add_incoming(header, false)?;
        call.inbound.grant(limits.initial_credit);
        call.inbound.expect(&open.arguments);
        call.outbound.allow(open.result_credit.unwrap_or(u64::MAX));
        let complete = call.inbound.is_complete();
        if let Err(error) = check_demands(&open, limits.call_bytes_max, keeps) {
            self.respond(header.channel, &failed(&error));
            return Ok(());
        }
        self.events.push_back(Event::Opened(header.channel, Box::new(open)));
        if complete {
            self.events.push_back(Event::ArgumentsComplete(header.channel));
        }
        Ok(())
    }

    /// What ends the connection rather than the call: no honest peer sends it.
    fn check_open(&self, open: &Open) -> Result<()> {
        check_count(&open.arguments)?;
        self.check_segments(&open.arguments)?;
        if let Some(wanted) = &open.wanted {
            check_count(wanted)?;
            self.check_segments(wanted)?;
        }
        Ok(())
    }

    fn on_resume(&mut self, header: &FrameHeader, body: &[u8]) -> Result<()> {
        let resume: Resume = decode("Resume", body)?;
        let keeps = self.keeps_calls();
        self.add_incoming(header, false)?.outbound.allow(u64::MAX);
        if keeps {
            self.events.push_back(Event::Resumed(header.channel, Box::new(resume)));
            return Ok(());
        }
        let error = Error::new(ErrorKind::NotFound, "resume a call", "the server has no such call")
            .with("call", resume.call);
        self.respond(header.channel, &failed(&error));
        Ok(())
    }

    /// Whether our owner keeps calls for those who come back.
    fn keeps_calls(&self) -> bool {
        self.hello.features.iter().any(|feature| feature == RESUME)
    }

    /// Says that we have the call that the peer takes up again: its outcome follows on this
    /// channel. One that tells more than the peer takes goes out as a failure that says so.
    pub fn agree(&mut self, channel: ChannelId, resume: &Resume) {
        let body = encode(resume);
        let limit = self.body_bytes_max();
        if body.len() > limit {
            self.respond_encoded(channel, &[], encode(&failed(&too_long(body.len(), limit))));
        } else if self.is_pending(channel) {
            self.control(FrameKind::Resume, channel, body);
        }
    }

    /// Answers a request. An answer longer than the peer accepts goes out as a failure that says
    /// so.
    pub fn reply(&mut self, channel: ChannelId, reply: &Reply) {
        let body = encode(reply);
        let limit = self.body_bytes_max();
        if let Some(call) =
            self.incoming.calls.get_mut(channel).filter(|call| call.is_request && !call.resulted)
        {
            call.resulted = true;
            let fits = body.len() <= limit;
            let body = if fits {
                body
            } else {
                encode(&Reply::Failed((&too_long(body.len(), limit)).into()))
            };
            self.control(FrameKind::Reply, channel, body);
            self.incoming.settle(channel);
        }
    }

    /// Lets the peer send `total` bytes of data on this channel in all: arguments of its call, or
    /// results of ours.
    pub fn grant(&mut self, channel: ChannelId, total: u64) {
        let inbound = if self.is_ours(channel) {
            self.outgoing.inbound(channel)
        } else {
            self.incoming.inbound(channel)
        };
        let Some(inbound) = inbound else { return };
        if let Some(credit) = inbound.grant(total) {
            let next_sequence = inbound.next_sequence();
            self.control(FrameKind::Window, channel, encode(&Window { credit, next_sequence }));
        }
    }

    /// Gives the outcome of a call; the data of results that are blocks follows as credit allows.
    /// An outcome that the peer could not take goes out as a failure that says so: nothing may
    /// leave a call without an end.
    pub fn respond(&mut self, channel: ChannelId, result: &CallResult) {
        let limit = self.body_bytes_max();
        let body = encode_result(self.used(), result);
        if let Err(error) = check_results(&result.results) {
            self.respond_encoded(channel, &[], encode(&failed(&error)));
        } else if body.len() > limit {
            self.respond_encoded(channel, &[], encode(&failed(&too_long(body.len(), limit))));
        } else {
            self.respond_encoded(channel, &result.results, body);
        }
    }

    fn respond_encoded(&mut self, channel: ChannelId, results: &[Argument], body: Vec<u8>) {
        let Some(call) =
            self.incoming.calls.get_mut(channel).filter(|call| !call.is_request && !call.resulted)
        else {
            return;
        };
        call.resulted = true;
        call.outbound.queue(results);
        let sends = call.outbound.comes_into_line();
        self.control(FrameKind::Result, channel, body);
        if sends {
            self.enlist(channel, Side::Results);
        }
        self.incoming.settle(channel);
    }

    /// Tells the opener something about its running call. Notices may be lost: one that is longer
    /// than the peer accepts, or that finds the peer not reading, is dropped; then this is false.
    pub fn notice(&mut self, channel: ChannelId, notice: &Notice) -> bool {
        !self.is_clogged() && self.last_notice(channel, notice)
    }

    /// As [`notice`](Self::notice), whether the peer reads or not: for one short word before an
    /// outcome.
    pub fn last_notice(&mut self, channel: ChannelId, notice: &Notice) -> bool {
        let body = encode(notice);
        if body.len() > self.body_bytes_max() {
            return false;
        }
        if self.incoming.calls.get(channel).is_some_and(|call| !call.is_request && !call.resulted) {
            self.control(FrameKind::Notice, channel, body);
        }
        true
    }

    /// Whether a call of the peer's is open and has no outcome yet.
    pub fn is_pending(&self, channel: ChannelId) -> bool {
        self.incoming.calls.get(channel).is_some_and(|call| !call.resulted)
    }
}
