//! One connection: greeting, channels, and the order in which frames leave (spec/call.md, sections 2 to 4).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use farcall_base::{ChannelId, Error, ErrorKind, Result};
use farcall_wire::message::{decode, encode};
use farcall_wire::{Flags, FrameHeader, FrameKind, Goodbye, Hello, Share};

use crate::channel::broken;
use crate::event::{Event, Place, Side, Transmit};
use crate::greeting;
use crate::incoming::Incoming;
use crate::outgoing::Outgoing;

/// How a connection begins.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What we say first.
    pub hello: Hello,
    /// Whether we made the connection: then our channels are odd, the peer's even.
    pub initiator: bool,
    /// What the peer's Hello must carry.
    pub token: Option<Arc<[u8]>>,
}

/// A control frame waiting to leave. It has its number already: data frames leave, and are numbered, only when no
/// control frame waits, so numbers follow the order on the stream.
struct Waiting {
    header: FrameHeader,
    body: Vec<u8>,
    shares: Option<u32>,
}

/// One connection's state. See the crate's documentation.
pub struct Connection {
    pub(crate) hello: Hello,
    initiator: bool,
    token: Option<Arc<[u8]>>,
    pub(crate) peer: Option<Box<Hello>>,
    pub(crate) outgoing: Outgoing,
    pub(crate) incoming: Incoming,
    waiting: VecDeque<Waiting>,
    /// Channels with data to send, in turn: one frame each, so that a big call never starves a small one.
    senders: VecDeque<(ChannelId, Side)>,
    pub(crate) events: VecDeque<Event>,
    segments: BTreeMap<u32, u64>,
    closing: bool,
}

impl Connection {
    /// A fresh connection; our Hello is the first thing to transmit.
    pub fn new(setup: Setup) -> Connection {
        let mut connection = Connection {
            outgoing: Outgoing::new(if setup.initiator { 1 } else { 2 }),
            incoming: Incoming::default(),
            initiator: setup.initiator,
            token: setup.token,
            peer: None,
            waiting: VecDeque::new(),
            senders: VecDeque::new(),
            events: VecDeque::new(),
            segments: BTreeMap::new(),
            closing: false,
            hello: setup.hello,
        };
        let hello = encode(&connection.hello);
        connection.control(FrameKind::Hello, ChannelId(0), hello);
        connection
    }

    /// The peer's Hello, once it came.
    pub fn peer(&self) -> Option<&Hello> {
        self.peer.as_deref()
    }

    /// Calls and requests open in both directions.
    pub fn channels_open(&self) -> usize {
        self.outgoing.len() + self.incoming.len()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Announces shared memory; the owner attaches the descriptor when the frame leaves.
    pub fn share(&mut self, share: Share) {
        let body = encode(&share);
        let header = FrameHeader::new(FrameKind::Share, ChannelId(0), 0);
        self.waiting.push_back(Waiting { header, body, shares: Some(share.segment) });
    }

    /// Takes shared memory back: no later frame names it.
    pub fn unshare(&mut self, segment: u32) {
        self.control(FrameKind::Unshare, ChannelId(0), encode(&segment));
    }

    /// Says goodbye, with the reason if there is one; the owner closes the stream once it is sent.
    pub fn goodbye(&mut self, failure: Option<&Error>) {
        if !self.closing {
            self.closing = true;
            self.control(FrameKind::Goodbye, ChannelId(0), encode(&Goodbye { failure: failure.map(Into::into) }));
        }
    }

    /// Asks for a sign of life.
    pub fn ping(&mut self) {
        self.control(FrameKind::Ping, ChannelId(0), Vec::new());
    }

    pub(crate) fn control(&mut self, kind: FrameKind, channel: ChannelId, body: Vec<u8>) {
        let sequence = if channel.0 == 0 { 0 } else { self.number(channel) };
        let header = FrameHeader { sequence, ..FrameHeader::new(kind, channel, 0) };
        self.waiting.push_back(Waiting { header, body, shares: None });
    }

    /// Puts a channel in line to send data.
    pub(crate) fn enlist(&mut self, channel: ChannelId, side: Side) {
        if !self.senders.contains(&(channel, side)) {
            self.senders.push_back((channel, side));
        }
    }

    /// The next frame to send: control first, then the data of each channel in turn.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        if let Some(Waiting { header, body, shares }) = self.waiting.pop_front() {
            return Some(Transmit::Control { header, body, shares });
        }
        let bytes_max = self.peer.as_ref()?.limits.data_bytes_max;
        while let Some((channel, side)) = self.senders.pop_front() {
            if let Some(transmit) = self.next_data(channel, side, bytes_max) {
                return Some(transmit);
            }
        }
        None
    }

    fn next_data(&mut self, channel: ChannelId, side: Side, bytes_max: u32) -> Option<Transmit> {
        let outbound = match side {
            Side::Arguments => self.outgoing.outbound(channel),
            Side::Results => self.incoming.outbound(channel),
        }?;
        let chunk = outbound.next_chunk(bytes_max)?;
        let sequence = outbound.number();
        let more = outbound.can_send();
        let header = FrameHeader {
            flags: if chunk.last { Flags::END } else { Flags::default() },
            slot: chunk.slot,
            sequence,
            ..FrameHeader::new(FrameKind::Data, channel, chunk.length)
        };
        if more {
            self.senders.push_back((channel, side));
        }
        if side == Side::Results {
            self.incoming.settle(channel);
        }
        Some(Transmit::Data { header, place: Place { channel, side, slot: chunk.slot, offset: chunk.offset } })
    }

    fn number(&mut self, channel: ChannelId) -> u32 {
        let outbound =
            if self.is_ours(channel) { self.outgoing.outbound(channel) } else { self.incoming.outbound(channel) };
        outbound.map(|outbound| outbound.number()).unwrap_or_default()
    }

    /// Whether a channel was (or would be) opened by us.
    pub(crate) fn is_ours(&self, channel: ChannelId) -> bool {
        (channel.0 % 2 == 1) == self.initiator
    }

    /// Takes a control frame, or a data frame of no bytes.
    ///
    /// # Errors
    /// The peer broke a rule: say [`Connection::goodbye`] with the error and close.
    pub fn handle_control(&mut self, header: &FrameHeader, body: &[u8]) -> Result<()> {
        let Some(kind) = header.known_kind()? else { return Ok(()) };
        if self.peer.is_none() && !matches!(kind, FrameKind::Hello | FrameKind::Goodbye) {
            return Err(broken("the peer sent frames before its Hello"));
        }
        match kind {
            FrameKind::Hello => self.on_hello(decode("Hello", body)?),
            FrameKind::Goodbye => {
                let goodbye: Goodbye = decode("Goodbye", body)?;
                self.events.push_back(Event::Left(goodbye.failure));
                Ok(())
            }
            FrameKind::Ping => {
                // A flood of pings must not grow our queue: one answer stands for many.
                if !self.waiting.iter().any(|waiting| waiting.header.kind == FrameKind::Pong as u8) {
                    self.control(FrameKind::Pong, ChannelId(0), Vec::new());
                }
                Ok(())
            }
            FrameKind::Pong => Ok(()),
            FrameKind::Share => self.on_share(decode("Share", body)?),
            FrameKind::Unshare => {
                let segment: u32 = decode("Unshare", body)?;
                self.segments.remove(&segment).ok_or_else(|| broken("the peer took back memory it never shared"))?;
                self.events.push_back(Event::Unshared(segment));
                Ok(())
            }
            _ if header.channel.0 == 0 => Err(broken("the peer sent a call's frame without a channel")),
            _ if self.is_ours(header.channel) => self.on_answer(kind, header, body),
            _ => self.on_question(kind, header, body),
        }
    }

    fn on_hello(&mut self, hello: Hello) -> Result<()> {
        if self.peer.is_some() {
            return Err(broken("the peer sent a second Hello"));
        }
        greeting::judge(&hello, self.token.as_deref())?;
        self.outgoing.set_limits(&hello.limits);
        self.peer = Some(Box::new(hello.clone()));
        self.events.push_back(Event::Ready(Box::new(hello)));
        Ok(())
    }

    fn on_share(&mut self, share: Share) -> Result<()> {
        if self.segments.len() >= self.hello.limits.segments_max as usize {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "take shared memory",
                "the peer shares too many segments",
            )
            .with("segments_max", self.hello.limits.segments_max));
        }
        if self.segments.insert(share.segment, share.bytes).is_some() {
            return Err(broken("the peer shared one segment twice"));
        }
        self.events.push_back(Event::Shared(share));
        Ok(())
    }

    /// Where the current data frame's byte `done` goes; `None` to throw it away.
    ///
    /// # Errors
    /// As [`Connection::handle_control`].
    pub fn place(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Place>> {
        let side = if self.is_ours(header.channel) { Side::Results } else { Side::Arguments };
        if done == 0 && !self.begin_data(header, side)? {
            return Ok(None);
        }
        let inbound = match side {
            Side::Results => self.outgoing.inbound(header.channel),
            Side::Arguments => self.incoming.inbound(header.channel),
        };
        Ok(inbound.map(|inbound| Place {
            channel: header.channel,
            side,
            slot: header.slot,
            offset: inbound.offset(done),
        }))
    }

    fn begin_data(&mut self, header: &FrameHeader, side: Side) -> Result<bool> {
        match side {
            Side::Results => self.outgoing.begin_data(header),
            Side::Arguments => self.incoming.begin_data(header),
        }
    }

    /// `done` bytes of the data frame are in place (or thrown away).
    ///
    /// # Errors
    /// As [`Connection::handle_control`].
    pub fn data_arrived(&mut self, header: &FrameHeader, done: u32) -> Result<()> {
        if self.is_ours(header.channel) {
            self.outgoing.data_arrived(header, done, &mut self.events)
        } else {
            self.incoming.data_arrived(header, done, &mut self.events)
        }
    }
}
