//! One connection that a plugin made, as a client: it greets, asks and opens calls. Arrays of calls
//! are data, which stay where they are; what travels is data that is fetched from one server and put
//! at another.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Bytes, CallId, ChannelId, DataId, Error, ErrorKind, Result};
use farcall_call::{Connection, Event, Setup};
use farcall_wire::kept::{asks_to_resume, comes_again};
use farcall_wire::{
    Argument, ByteOrder, CallResult, Hello, HelloLimits, InlineBytes, InterfaceReply, Lasting,
    Open, RESUME, Reply, Request, Resume, Role, Ticket, TicketKey,
};
use rustix::event::{PollFd, PollFlags};

use crate::memory::{HeapRegion, Region, Space};
use crate::stream::ByteStream;
use crate::{Link, QUEUE_BYTES, Received};

mod fetched;
mod frames;
mod value;

pub use fetched::FetchedData;
use value::Value;

/// Bytes taken before others have their turn.
const RECEIVE_BUDGET: usize = 1 << 20;
/// The longest answer: all that a server publishes.
const ANSWER_BYTES_MAX: u32 = 16 << 20;

/// What came over a connection.
pub enum LineEvent {
    /// The other end greeted, and has these features; and what tells this run of it from others.
    Open(Vec<String>, Option<[u8; 16]>),
    /// It has the call that was taken up on this channel.
    TakenUp(ChannelId),
    /// It answered what was asked on this channel.
    Reply(ChannelId, Reply),
    /// The call on this channel has ended.
    Ended(ChannelId, Box<CallResult>),
    /// The data that was fetched on this channel is here.
    Fetched(ChannelId, FetchedData),
}

/// What is known of data that is being fetched.
#[derive(Default)]
struct Fetching {
    told: Option<Box<Resume>>,
    elements: Option<(Arc<dyn Region>, u64)>,
    memory: Option<(Arc<OwnedFd>, u64)>,
    /// In place of elements, where they are to be in memory of their own.
    value: Option<Value>,
}

/// How a line comes back: under a name, with so many connections of that name before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Return {
    /// The name.
    pub name: [u8; 16],
    /// For how long calls and data are to be kept when the connection is lost.
    pub keep: Duration,
    /// How many connections there were.
    pub again: u64,
}

/// A connection.
pub struct Line {
    link: Link,
    end: End,
}

/// Our end of it.
struct End {
    connection: Connection,
    fetching: BTreeMap<ChannelId, Fetching>,
    /// Arrays that are being put, by the channels of their calls.
    putting: BTreeMap<ChannelId, Arc<dyn Region>>,
    /// Memory that the other end shares, by number, and its size.
    shared: BTreeMap<u32, (Arc<OwnedFd>, u64)>,
    /// The descriptor of memory whose Share is being read.
    coming: Option<OwnedFd>,
    /// Bytes that one value may have.
    bytes_max: u64,
    /// Bytes from which on a value is in memory of its own.
    sealed_from: u64,
    /// Where the data that comes just now is written to.
    writing: Option<ChannelId>,
    /// Frames that have come.
    frames: u64,
    /// What has come of data: that its length is known, and its pieces.
    pieces: u64,
    events: Vec<LineEvent>,
}

impl Line {
    /// Greets over a stream, with these features.
    pub fn new(stream: Box<dyn ByteStream>, features: &[&str]) -> Line {
        Line::speaking_for(stream, features, None, None)
    }

    /// The same for another user, if the other end believes that this server speaks for it; and for
    /// a client whose calls are kept when the connection is lost.
    pub fn speaking_for(
        stream: Box<dyn ByteStream>,
        features: &[&str],
        principal: Option<String>,
        returns: Option<Return>,
    ) -> Line {
        let mut attributes = Vec::new();
        let mut features: Vec<String> = features.iter().map(|one| (*one).to_owned()).collect();
        if let Some(Return { name, keep, again }) = returns {
            features.push(RESUME.to_owned());
            attributes.extend(asks_to_resume(name, keep));
            attributes.extend((again > 0).then(|| comes_again(again)));
        }
        let hello = Hello {
            role: Role::Client,
            byte_order: ByteOrder::NATIVE,
            product: concat!("farcall ", env!("CARGO_PKG_VERSION")).to_owned(),
            features,
            limits: HelloLimits { control_bytes_max: ANSWER_BYTES_MAX, ..HelloLimits::default() },
            host: String::new(),
            principal,
            token: None,
            attributes,
        };
        let HelloLimits { control_bytes_max, data_bytes_max, .. } = hello.limits;
        let connection = Connection::new(Setup { hello, initiator: true, token: None });
        let link = Link::new(stream, control_bytes_max, data_bytes_max);
        let end = End {
            connection,
            fetching: BTreeMap::new(),
            putting: BTreeMap::new(),
            shared: BTreeMap::new(),
            coming: None,
            bytes_max: u64::MAX,
            sealed_from: u64::MAX,
            writing: None,
            frames: 0,
            pieces: 0,
            events: Vec::new(),
        };
        Line { link, end }
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

    /// Waits for it to take what is to be sent, and for nothing else.
    pub fn watch_room<'a>(&'a self, watched: &mut Vec<PollFd<'a>>) {
        if self.link.bytes_queued() > 0 {
            let readiness = self.link.stream().readiness();
            watched.extend(readiness.map(|one| PollFd::from_borrowed_fd(one, PollFlags::OUT)));
        }
    }

    /// Asks the other end.
    ///
    /// # Errors
    /// It takes no more, or the connection is lost.
    pub fn ask(&mut self, request: &Request) -> Result<ChannelId> {
        let channel = self.end.connection.request(request)?;
        self.send()?;
        Ok(channel)
    }

    /// Opens a call. None of its results may travel. It is sent by [`Line::work`].
    ///
    /// # Errors
    /// As for [`Line::ask`].
    pub fn open(&mut self, open: &Open) -> Result<ChannelId> {
        self.end.connection.open(open)
    }

    /// Has data sent. As [`Line::open`].
    ///
    /// # Errors
    /// As for [`Line::ask`].
    pub fn fetch(&mut self, data: DataId) -> Result<ChannelId> {
        self.fetch_by(data, None)
    }

    /// The same by a ticket, for data of somebody else. As [`Line::open`].
    ///
    /// # Errors
    /// As for [`Line::ask`].
    pub fn fetch_by(&mut self, data: DataId, ticket: Option<&Ticket>) -> Result<ChannelId> {
        let attributes = ticket.map(|ticket| vec![ticket.attribute()]);
        let resume = Resume { describe: Some(true), attributes, ..Resume::new(data.as_call()) };
        let channel = self.end.connection.resume(&resume)?;
        self.end.fetching.insert(channel, Fetching::default());
        Ok(channel)
    }

    /// Takes a call up that another connection opened. As [`Line::open`].
    ///
    /// # Errors
    /// As for [`Line::ask`].
    pub fn resume(&mut self, call: CallId) -> Result<ChannelId> {
        self.end.connection.resume(&Resume::new(call))
    }

    /// Puts data there, under an id, by a call with this one. As [`Line::open`].
    ///
    /// # Errors
    /// As for [`Line::ask`].
    pub fn put(
        &mut self,
        (call, id): (CallId, DataId),
        data: &FetchedData,
        key: Option<&TicketKey>,
    ) -> Result<ChannelId> {
        let mut arguments = data.extents.clone();
        let absent = arguments.iter().map(|_| Argument::Absent);
        let wanted = absent.chain([Argument::Data(id)]).collect();
        arguments.push(match data.bytes {
            0 => Argument::Inline(InlineBytes::new()),
            bytes => Argument::Blocks(Some(bytes)),
        });
        let mut open = Open::new(call, data.kind.clone(), data.contract, arguments);
        open.wanted = Some(wanted);
        open.attributes = key.map(|key| vec![key.attribute()]);
        let channel = self.end.connection.open(&open)?;
        self.end.putting.insert(channel, data.elements.clone());
        Ok(channel)
    }

    /// Takes no value with more bytes: the connection ends then.
    pub fn limit(&mut self, bytes_max: u64) {
        self.end.bytes_max = bytes_max;
    }

    /// Values of so many bytes and more come in memory of their own ([`FetchedData::memory`]).
    pub fn seal_from(&mut self, bytes: u64) {
        self.end.sealed_from = bytes;
    }

    /// A number that grows as long as data comes, from the moment on when its length has come.
    pub fn progress(&self) -> u64 {
        self.end.pieces
    }

    /// A number that grows with whatever comes.
    pub fn heard(&self) -> u64 {
        self.end.frames
    }

    /// Asks for an answer, once the other end has greeted. As [`Line::open`].
    pub fn ping(&mut self) {
        self.end.connection.ping();
    }

    /// Has the other end end a call.
    pub fn cancel(&mut self, channel: ChannelId) {
        self.end.connection.cancel(channel);
    }

    /// Leaves in order: what the other end keeps for this connection goes with it.
    pub fn leave(mut self) {
        self.end.connection.goodbye(None);
        // It may be gone already.
        let _ = self.send();
    }

    /// Takes what has come, and sends what may be sent.
    ///
    /// # Errors
    /// The connection is lost, or the other end broke a rule.
    pub fn work(&mut self) -> Result<()> {
        let received = self.link.receive(&mut self.end, RECEIVE_BUDGET)?;
        self.end.take_news()?;
        self.send()?;
        match received {
            Received::Closed => Err(closed()),
            Received::Blocked | Received::More => Ok(()),
        }
    }

    /// Sends what may be sent, and takes nothing.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn send(&mut self) -> Result<()> {
        self.link.pump(QUEUE_BYTES, &mut self.end).map(drop)
    }

    /// What came since this was asked last.
    pub fn take_events(&mut self) -> Vec<LineEvent> {
        std::mem::take(&mut self.end.events)
    }
}

impl End {
    fn take_news(&mut self) -> Result<()> {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Ready(hello) => {
                    let run = Lasting::of(&hello)?.instance;
                    self.events.push(LineEvent::Open(hello.features, run));
                }
                Event::Replied(channel, reply) => {
                    self.events.push(LineEvent::Reply(channel, reply));
                }
                Event::Agreed(channel, resume) => match self.fetching.get_mut(&channel) {
                    Some(fetching) => fetching.told = Some(resume),
                    None => self.events.push(LineEvent::TakenUp(channel)),
                },
                Event::Resulted(channel, result) => self.resulted(channel, result)?,
                Event::Finished(channel) => self.finished(channel)?,
                Event::Shared(share) => {
                    let coming = self.coming.take();
                    let memory = coming.ok_or_else(|| broken("memory came without descriptor"))?;
                    self.shared.insert(share.segment, (Arc::new(memory), share.bytes));
                }
                Event::Unshared(segment) => drop(self.shared.remove(&segment)),
                Event::Left(Some(failure)) => return Err(failure.into()),
                Event::Left(None) => return Err(closed()),
                // Nobody calls anything here, and no news of calls are wanted.
                _ => {}
            }
        }
        Ok(())
    }

    /// A call has ended, or the elements of data come next: there is memory for them from now on.
    fn resulted(&mut self, channel: ChannelId, mut result: Box<CallResult>) -> Result<()> {
        self.putting.remove(&channel);
        let Some(fetching) = self.fetching.get_mut(&channel).filter(|_| result.failure.is_none())
        else {
            self.fetching.remove(&channel);
            self.events.push(LineEvent::Ended(channel, result));
            return Ok(());
        };
        let value = result.results.pop();
        let bytes = match &value {
            Some(Argument::Inline(inline)) => inline.len() as u64,
            Some(Argument::Blocks(Some(bytes))) => *bytes,
            Some(Argument::Shared(segment, 0, bytes)) => {
                let memory = self.shared.get(segment).filter(|(_, size)| size >= bytes);
                let memory = memory.ok_or_else(|| broken("data is in memory that is not there"))?;
                fetching.memory = Some(memory.clone());
                *bytes
            }
            _ => return Err(broken("data came without its length")),
        };
        if bytes > self.bytes_max {
            return Err(Error::new(ErrorKind::LimitExceeded, "fetch data", "it is too large")
                .with("bytes", Bytes(bytes))
                .with("at most", Bytes(self.bytes_max)));
        }
        self.pieces += 1;
        let is_to_come = fetching.memory.is_none() && !matches!(value, Some(Argument::Inline(_)));
        if is_to_come && bytes >= self.sealed_from {
            fetching.value = Some(Value::new(bytes)?);
        }
        // What was shared lies where it is.
        let is_elsewhere = fetching.memory.is_some() || fetching.value.is_some();
        let here = if is_elsewhere { 0 } else { bytes };
        let size = usize::try_from(here)
            .map_err(|_| broken("data is larger than any memory").with("bytes", Bytes(bytes)))?;
        let region: Arc<dyn Region> = Arc::new(HeapRegion::new(size)?);
        if let Some(Argument::Inline(inline)) = value {
            Space::of(&*region, 0, inline.len())?.bytes().copy_from_slice(&inline);
        }
        fetching.elements = Some((region, bytes));
        Ok(())
    }

    /// Data that was fetched is here.
    fn finished(&mut self, channel: ChannelId) -> Result<()> {
        let Some(fetching) = self.fetching.remove(&channel) else { return Ok(()) };
        let Fetching { told, elements, memory, value } = fetching;
        let (Some(told), Some((elements, bytes))) = (told, elements) else { return Ok(()) };
        let (Some(interface), Some(mut extents)) = (told.interface, told.arguments) else {
            return Ok(());
        };
        let memory = value.map(Value::sealed).transpose()?.or(memory);
        // The last parameter is the value.
        extents.pop();
        let InterfaceReply { name: kind, contract, .. } = interface;
        let fetched = FetchedData { kind, contract, extents, elements, bytes, memory };
        self.events.push(LineEvent::Fetched(channel, fetched));
        Ok(())
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::ConnectionLost, "reach a server", "it closed the connection")
}

fn broken(message: &'static str) -> Error {
    Error::new(ErrorKind::Protocol, "fetch data", message)
}
