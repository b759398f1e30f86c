//! One connection that a plugin made, as a client: it greets, asks and opens calls, and carries no
//! arrays: those of its calls are data, which stay where they are.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use farcall_base::{ChannelId, DataId, Error, ErrorKind, Result};
use farcall_call::{Connection, Event, Setup, Transmit};
use farcall_wire::{
    ByteOrder, CallResult, FrameHeader, Hello, HelloLimits, Open, Reply, Request, Resume, Role,
};
use rustix::event::{PollFd, PollFlags};

use crate::memory::Space;
use crate::stream::ByteStream;
use crate::{Control, FrameHandler, Link, QUEUE_BYTES, Received};

/// Bytes taken before others have their turn.
const RECEIVE_BUDGET: usize = 1 << 20;
/// The longest answer: all that a server publishes.
const ANSWER_BYTES_MAX: u32 = 16 << 20;

/// What came over a connection.
pub enum LineEvent {
    /// The other end greeted, and has these features.
    Open(Vec<String>),
    /// It answered what was asked on this channel.
    Reply(ChannelId, Reply),
    /// The call on this channel has ended.
    Ended(ChannelId, Box<CallResult>),
}

/// A connection.
pub struct Line {
    link: Link,
    connection: Connection,
    events: Vec<LineEvent>,
}

impl Line {
    /// Greets over a stream, with these features.
    pub fn new(stream: Box<dyn ByteStream>, features: &[&str]) -> Line {
        let hello = Hello {
            role: Role::Client,
            byte_order: ByteOrder::NATIVE,
            product: concat!("farcall ", env!("CARGO_PKG_VERSION")).to_owned(),
            features: features.iter().map(|feature| (*feature).to_owned()).collect(),
            limits: HelloLimits { control_bytes_max: ANSWER_BYTES_MAX, ..HelloLimits::default() },
            host: String::new(),
            principal: None,
            token: None,
            attributes: Vec::new(),
        };
        let HelloLimits { control_bytes_max, data_bytes_max, .. } = hello.limits;
        let connection = Connection::new(Setup { hello, initiator: true, token: None });
        let link = Link::new(stream, control_bytes_max, data_bytes_max);
        Line { link, connection, events: Vec::new() }
    }

    /// Waits for it, too.
    pub fn watch<'a>(&'a self, watched: &mut Vec<PollFd<'a>>) {
        let stream = self.link.stream();
        let wants_room =
            if self.link.bytes_queued() > 0 { PollFlags::OUT } else { PollFlags::empty() };
        let readiness = stream.readiness();
        watched
            .extend(readiness.map(|one| PollFd::from_borrowed_fd(one, PollFlags::IN | wants_room)));
        let hangup = stream.hangup();
        watched.extend(hangup.map(|one| PollFd::from_borrowed_fd(one, PollFlags::IN)));
    }

    /// Asks the other end.
    ///
    /// # Errors
    /// It takes no more, or the connection is lost.
    pub fn ask(&mut self, request: &Request) -> Result<ChannelId> {
        let channel = self.connection.request(request)?;
        self.send()?;
        Ok(channel)
    }

    /// Opens a call. None of its results may travel. It is sent by [`Line::work`].
    ///
    /// # Errors
    /// As for [`Line::ask`].
    pub fn open(&mut self, open: &Open) -> Result<ChannelId> {
        self.connection.open(open)
    }

    /// Has data sent, which must be so short that it comes inside the answer. As [`Line::open`].
    ///
    /// # Errors
    /// As for [`Line::ask`].
    pub fn fetch(&mut self, data: DataId) -> Result<ChannelId> {
        self.connection.resume(&Resume::new(data.as_call()))
    }

    /// Has the other end end a call.
    pub fn cancel(&mut self, channel: ChannelId) {
        self.connection.cancel(channel);
    }

    /// Leaves in order: what the other end keeps for this connection goes with it.
    pub fn leave(mut self) {
        self.connection.goodbye(None);
        // It may be gone already.
        let _ = self.send();
    }

    /// Takes what has come, and sends what may be sent.
    ///
    /// # Errors
    /// The connection is lost, or the other end broke a rule.
    pub fn work(&mut self) -> Result<()> {
        let received = self.link.receive(&mut Receiving(&mut self.connection), RECEIVE_BUDGET)?;
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Ready(hello) => self.events.push(LineEvent::Open(hello.features)),
                Event::Replied(channel, reply) => {
                    self.events.push(LineEvent::Reply(channel, reply));
                }
                Event::Resulted(channel, result) => {
                    self.events.push(LineEvent::Ended(channel, result));
                }
                Event::Left(Some(failure)) => return Err(failure.into()),
                Event::Left(None) => return Err(closed()),
                // Nobody calls anything here, and no news of calls are wanted.
                _ => {}
            }
        }
        self.send()?;
        match received {
            Received::Closed => Err(closed()),
            Received::Blocked | Received::More => Ok(()),
        }
    }

    fn send(&mut self) -> Result<()> {
        let connection = &mut self.connection;
        self.link.pump(QUEUE_BYTES, &mut Control(|| next(connection))).map(drop)
    }

    /// What came since this was asked last.
    pub fn take_events(&mut self) -> Vec<LineEvent> {
        std::mem::take(&mut self.events)
    }
}

fn next(connection: &mut Connection) -> Option<Transmit> {
    connection.poll_transmit()
}

fn closed() -> Error {
    Error::new(ErrorKind::ConnectionLost, "reach a server", "it closed the connection")
}

struct Receiving<'a>(&'a mut Connection);

impl FrameHandler for Receiving<'_> {
    fn control(
        &mut self,
        header: &FrameHeader,
        body: &[u8],
        _: &mut VecDeque<OwnedFd>,
    ) -> Result<()> {
        self.0.handle_control(header, body)
    }

    /// No results travel: whatever data comes is thrown away.
    fn data_space(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Space>> {
        self.0.place(header, done).map(|_| None)
    }

    fn data_arrived(&mut self, header: &FrameHeader, _: u32, done: u32) -> Result<()> {
        self.0.data_arrived(header, done)
    }
}
