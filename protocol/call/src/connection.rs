//! One connection: greeting, channels, and the order in which frames leave (spec/call.md, sections
//! 2 to 4).

mod data;
mod queue;
mod spare;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use farcall_base::{ChannelId, Error, ErrorKind, Result};
use farcall_wire::message::{decode, encode};
use farcall_wire::{Argument, CallResult, FrameHeader, FrameKind, Goodbye, Hello, Share};

pub use queue::{ANSWERS_BYTES_MAX, CLOGGED_BYTES};
use queue::{ControlQueue, Waiting};
use spare::Spare;

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

/// One connection's state. See the crate's documentation.
pub struct Connection {
    pub(crate) hello: Hello,
    initiator: bool,
    token: Option<Arc<[u8]>>,
    pub(crate) peer: Option<Box<Hello>>,
    pub(crate) outgoing: Outgoing,
    pub(crate) incoming: Incoming,
    waiting: ControlQueue,
    spare: Spare,
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
            waiting: ControlQueue::new(setup.initiator),
            spare: Spare::default(),
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
        self.waiting.bytes()
    }

    /// The peer asks faster than it reads the answers: read no more from it until this is false
    /// again. An owner that reads on loses the connection at [`ANSWERS_BYTES_MAX`].
    pub fn is_clogged(&self) -> bool {
        self.waiting.answers_bytes() > CLOGGED_BYTES
    }

    /// Bytes of answers that wait to leave.
    pub fn answers_bytes(&self) -> usize {
        self.waiting.answers_bytes()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Announces shared memory; the owner attaches the descriptor when the frame leaves.
    pub fn share(&mut self, share: Share) {
        let body = encode(&share);
        let header = FrameHeader::new(FrameKind::Share, ChannelId(0), 0);
        self.wait(header, body, Some(share.segment));
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
        self.wait(header, body, None);
    }

    /// Queues a frame, unless Goodbye is queued: nothing follows that.
    fn wait(&mut self, header: FrameHeader, body: Vec<u8>, shares: Option<u32>) {
        if !self.closing {
            self.waiting.push(Waiting { header, body, shares });
        }
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
        self.spare.take_body()
    }

    /// Takes the body of a frame back that was copied to where it leaves from.
    pub fn reuse(&mut self, body: Vec<u8>) {
        self.spare.keep_body(body);
    }

    /// Takes a result back of which nothing is needed any more: the next one is read into it.
    pub fn reuse_result(&mut self, result: Box<CallResult>) {
        self.spare.keep_result(result);
    }

    /// One to read into, which was used before if there is any.
    pub(crate) fn used_result(&mut self) -> Box<CallResult> {
        self.spare.take_result()
    }

    /// The next frame to send: control first, then the data of each channel in turn.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        let control = self.waiting.pop();
        if control.is_some() {
            return control;
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
        self.waiting.is_ours(channel)
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
        self.waiting.check_answers()
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
            FrameKind::Ping if !self.waiting.has_pong() => {
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
                match (offset.checked_add(length), self.segments.get(&segment)) {
                    (Some(end), Some(bytes)) => end > *bytes,
                    _ => true,
                }
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
