//! One connection: greeting, channels, and the order in which frames leave (spec/call.md, sections
//! 2 to 4).

mod data;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use farcall_base::{ChannelId, Error, ErrorKind, Result};
use farcall_wire::message::{decode, encode};
use farcall_wire::{
    Argument, CallResult, FrameHeader, FrameKind, Goodbye, HEADER_BYTES, Hello, Share,
};

use crate::channel::broken;
use crate::event::{Event, Side, Transmit};
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

/// A control frame waiting to leave. It has its number already: data frames leave, and are
/// numbered, only when no control frame waits, so numbers follow the order on the stream.
struct Waiting {
    header: FrameHeader,
    body: Vec<u8>,
    shares: Option<u32>,
}

impl Waiting {
    fn bytes(&self) -> usize {
        HEADER_BYTES + self.body.len()
    }
}

/// Bytes of answers waiting to leave from which on the owner must stop reading: see
/// [`Connection::is_clogged`].
pub const CLOGGED_BYTES: usize = 4 << 20;
/// Bytes of answers waiting that end the connection, should the owner read on. Ours for a peer that
/// asks and does not read; a polite owner never gets here.
pub const ANSWERS_BYTES_MAX: usize = 64 << 20;

/// Frames that wait for which there is room all the time.
const WAITING_KEPT: usize = 256;
/// Bodies whose memory is kept, and bytes of one.
const USED_MAX: usize = 8;
const USED_BYTES_MAX: usize = 4096;
/// Results that the one has room for which is kept, at most.
const USED_RESULTS_MAX: usize = 64;

/// One connection's state. See the crate's documentation.
pub struct Connection {
    pub(crate) hello: Hello,
    initiator: bool,
    token: Option<Arc<[u8]>>,
    pub(crate) peer: Option<Box<Hello>>,
    pub(crate) outgoing: Outgoing,
    pub(crate) incoming: Incoming,
    waiting: VecDeque<Waiting>,
    /// Memory of bodies that have left, for the next ones.
    used: Vec<Vec<u8>>,
    /// A result of which nothing is needed any more.
    pub(crate) used_result: Option<Box<CallResult>>,
    /// Bytes of all that waits, and of what answers the peer: that part grows by the peer's doing.
    waiting_bytes: usize,
    answers_bytes: usize,
    pong_waits: bool,
    /// The data frame whose body is coming.
    receiving: Option<FrameHeader>,
    /// Channels with data to send, in turn: one frame each, so that a big call never starves a
    /// small one.
    senders: VecDeque<(ChannelId, Side)>,
    pub(crate) events: VecDeque<Event>,
    segments: BTreeMap<u32, u64>,
    closing: bool,
    peer_left: bool,
    /// Longest data frames that the owner wants made.
    frame_bytes_max: u32,
}

impl Connection {
    /// A fresh connection. The end that made it says Hello first; the other answers once it has
    /// judged that, so that whoever reads our Hello knows that it was let in.
    pub fn new(setup: Setup) -> Connection {
        let mut connection = Connection {
            outgoing: Outgoing::new(if setup.initiator { 1 } else { 2 }),
            incoming: Incoming::default(),
            initiator: setup.initiator,
            token: setup.token,
            peer: None,
            waiting: VecDeque::new(),
            used: Vec::new(),
            used_result: None,
            waiting_bytes: 0,
            answers_bytes: 0,
            pong_waits: false,
            receiving: None,
            senders: VecDeque::new(),
            events: VecDeque::new(),
            segments: BTreeMap::new(),
            closing: false,
            peer_left: false,
            frame_bytes_max: u32::MAX,
            hello: setup.hello,
        };
        if connection.initiator {
            connection.greet();
        }
        connection
    }

    fn greet(&mut self) {
        let hello = encode(&self.hello);
        self.control(FrameKind::Hello, ChannelId(0), hello);
    }

    /// The peer's Hello, once it came.
    pub fn peer(&self) -> Option<&Hello> {
        self.peer.as_deref()
    }

    /// Whether both ends named a feature.
    pub fn has_feature(&self, name: &str) -> bool {
        let named = |hello: &Hello| hello.features.iter().any(|feature| feature == name);
        named(&self.hello) && self.peer().is_some_and(named)
    }

    /// Data frames made from now on have at most so many bytes, also where the peer takes more.
    pub fn limit_frames(&mut self, bytes: u32) {
        self.frame_bytes_max = bytes.max(1);
    }

    /// Calls and requests open in both directions.
    pub fn channels_open(&self) -> usize {
        self.outgoing.len() + self.incoming.len()
    }

    /// Bytes of control frames that wait to leave.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// The peer asks faster than it reads the answers: read no more from it until this is false
    /// again. An owner that reads on loses the connection at [`ANSWERS_BYTES_MAX`].
    pub fn is_clogged(&self) -> bool {
        self.answers_bytes > CLOGGED_BYTES
    }

    /// Bytes of answers that wait to leave.
    pub fn answers_bytes(&self) -> usize {
        self.answers_bytes
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Announces shared memory; the owner attaches the descriptor when the frame leaves.
    pub fn share(&mut self, share: Share) {
        let body = encode(&share);
        let header = FrameHeader::new(FrameKind::Share, ChannelId(0), 0);
        self.wait(Waiting { header, body, shares: Some(share.segment) });
    }

    /// Takes shared memory back: no later frame names it.
    pub fn unshare(&mut self, segment: u32) {
        self.control(FrameKind::Unshare, ChannelId(0), encode(&segment));
    }

    /// Says goodbye, with the reason if there is one; the owner closes the stream once it is sent.
    pub fn goodbye(&mut self, failure: Option<&Error>) {
        if !self.closing {
            self.control(
                FrameKind::Goodbye,
                ChannelId(0),
                encode(&Goodbye { failure: failure.map(Into::into) }),
            );
            self.closing = true;
        }
    }

    /// Asks for a sign of life.
    pub fn ping(&mut self) {
        self.control(FrameKind::Ping, ChannelId(0), Vec::new());
    }

    pub(crate) fn control(&mut self, kind: FrameKind, channel: ChannelId, body: Vec<u8>) {
        let sequence = if channel.0 == 0 { 0 } else { self.number(channel) };
        let header = FrameHeader { sequence, ..FrameHeader::new(kind, channel, 0) };
        self.wait(Waiting { header, body, shares: None });
    }

    /// Queues a frame, unless Goodbye is queued: nothing follows that.
    fn wait(&mut self, waiting: Waiting) {
        if self.closing {
            return;
        }
        self.waiting_bytes += waiting.bytes();
        if self.is_answer(&waiting.header) {
            self.answers_bytes += waiting.bytes();
        }
        self.waiting.push_back(waiting);
    }

    fn is_answer(&self, header: &FrameHeader) -> bool {
        header.kind == FrameKind::Pong as u8
            || header.channel.0 != 0 && !self.is_ours(header.channel)
    }

    /// Longest control body that the peer accepts; what every peer accepts while we do not know.
    pub(crate) fn body_bytes_max(&self) -> usize {
        self.peer.as_ref().map_or(greeting::CONTROL_BYTES_MIN, |peer| peer.limits.control_bytes_max)
            as usize
    }

    /// Refuses to ask more of a peer that is leaving, or that we leave.
    pub(crate) fn check_open_for_questions(&self) -> Result<()> {
        if !self.closing && !self.peer_left {
            return Ok(());
        }
        let whose = if self.closing { "this end" } else { "the other end" };
        Err(Error::new(
            ErrorKind::ShuttingDown,
            "open a call",
            format!("{whose} is closing the connection"),
        )
        .fix("connect again")
        .retryable())
    }

    /// Puts a channel in line to send data, which says that it comes there
    /// (`Outbound::comes_into_line`).
    pub(crate) fn enlist(&mut self, channel: ChannelId, side: Side) {
        self.senders.push_back((channel, side));
    }

    /// Memory for a message's body, which was used before if there is any.
    pub fn used(&mut self) -> Vec<u8> {
        self.used.pop().unwrap_or_default()
    }

    /// Takes the body of a frame back that was copied to where it leaves from.
    pub fn reuse(&mut self, body: Vec<u8>) {
        if self.used.len() < USED_MAX && (1..=USED_BYTES_MAX).contains(&body.capacity()) {
            self.used.push(body);
        }
    }

    /// Takes a result back of which nothing is needed any more: the next one is read into it.
    pub fn reuse_result(&mut self, mut result: Box<CallResult>) {
        result.results.clear();
        if result.results.capacity() <= USED_RESULTS_MAX {
            self.used_result = Some(result);
        }
    }

    /// The next frame to send: control first, then the data of each channel in turn.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        if let Some(waiting) = self.waiting.pop_front() {
            return Some(self.transmit_control(waiting));
        }
        if self.waiting.capacity() > WAITING_KEPT {
            // What somebody who did not read made long is given back.
            self.waiting = VecDeque::new();
        }
        if self.closing {
            return None;
        }
        let bytes_max = self.peer.as_ref()?.limits.data_bytes_max.min(self.frame_bytes_max);
        while let Some((channel, side)) = self.senders.pop_front() {
            if let Some(transmit) = self.next_data(channel, side, bytes_max) {
                return Some(transmit);
            }
        }
        None
    }

    fn transmit_control(&mut self, waiting: Waiting) -> Transmit {
        self.waiting_bytes -= waiting.bytes();
        if self.is_answer(&waiting.header) {
            self.answers_bytes -= waiting.bytes();
        }
        if waiting.header.kind == FrameKind::Pong as u8 {
            self.pong_waits = false;
        }
        Transmit::Control { header: waiting.header, body: waiting.body, shares: waiting.shares }
    }

    fn number(&mut self, channel: ChannelId) -> u32 {
        let outbound = if self.is_ours(channel) {
            self.outgoing.outbound(channel)
        } else {
            self.incoming.outbound(channel)
        };
        outbound.map(|outbound| outbound.number()).unwrap_or_default()
    }

    /// Whether a channel is open, in either direction.
    pub fn is_open(&mut self, channel: ChannelId) -> bool {
        self.outgoing.outbound(channel).is_some() || self.incoming.outbound(channel).is_some()
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
        self.check_turn(kind)?;
        use FrameKind::{Goodbye, Hello, Ping, Pong, Share, Unshare};
        match (kind, header.channel.0) {
            (Hello | Goodbye | Ping | Pong | Share | Unshare, 0) => {
                self.on_connection_frame(kind, body)
            }
            (Hello | Goodbye | Ping | Pong | Share | Unshare, _) => {
                Err(broken("the peer sent a connection frame on a call's channel")
                    .with("kind", kind as u8))
            }
            (_, 0) => Err(broken("the peer sent a call's frame without a channel")),
            _ if self.is_ours(header.channel) => self.on_answer(kind, header, body),
            _ => self.on_question(kind, header, body),
        }
    }

    /// May any frame of this kind come now?
    fn check_turn(&self, kind: FrameKind) -> Result<()> {
        if self.peer.is_none() && !matches!(kind, FrameKind::Hello | FrameKind::Goodbye) {
            return Err(broken("the peer sent frames before its Hello"));
        }
        if self.peer_left {
            return Err(broken("the peer sent frames after its Goodbye"));
        }
        if self.answers_bytes > ANSWERS_BYTES_MAX {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "follow a call",
                "the peer sends requests but reads no answers",
            )
            .with("bytes waiting", self.answers_bytes)
            .with("limit", ANSWERS_BYTES_MAX));
        }
        Ok(())
    }

    fn on_connection_frame(&mut self, kind: FrameKind, body: &[u8]) -> Result<()> {
        match kind {
            FrameKind::Hello => self.on_hello(decode("Hello", body)?)?,
            FrameKind::Goodbye => {
                let goodbye: Goodbye = decode("Goodbye", body)?;
                self.peer_left = true;
                self.events.push_back(Event::Left(goodbye.failure));
            }
            // A flood of pings must not grow our queue: one answer stands for many.
            FrameKind::Ping if !self.pong_waits => {
                self.pong_waits = !self.closing;
                self.control(FrameKind::Pong, ChannelId(0), Vec::new());
            }
            FrameKind::Share => self.on_share(decode("Share", body)?)?,
            FrameKind::Unshare => {
                let segment: u32 = decode("Unshare", body)?;
                self.segments
                    .remove(&segment)
                    .ok_or_else(|| broken("the peer withdrew memory that it never shared"))?;
                self.events.push_back(Event::Unshared(segment));
            }
            _ => {}
        }
        Ok(())
    }

    /// Refuses arguments that lie outside the memory the peer shares with us.
    pub(crate) fn check_segments(&self, arguments: &[Argument]) -> Result<()> {
        let outside = |argument: &&Argument| match **argument {
            Argument::Shared(segment, offset, length) => {
                let end = offset.checked_add(length);
                !matches!((end, self.segments.get(&segment)), (Some(end), Some(bytes)) if end <= *bytes)
            }
            _ => false,
        };
        match arguments.iter().find(outside) {
            None => Ok(()),
            Some(argument) => Err(broken("the peer placed an argument outside its shared memory")
                .with("argument", format!("{argument:?}"))),
        }
    }

    fn on_hello(&mut self, hello: Hello) -> Result<()> {
        if self.peer.is_some() {
            return Err(broken("the peer sent a second Hello"));
        }
        greeting::judge(&hello, self.token.as_deref())?;
        if !self.initiator {
            self.greet();
        }
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
}
