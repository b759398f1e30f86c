//! A client's or an executable's end of a connection: the shipped state machine and link, and
//! arrays in plain memory.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use farcall_base::{ChannelId, Error, ErrorKind, Result};
use farcall_call::{Connection, Event, Place, Setup, Transmit};
use farcall_link::memory::{Block, HeapRegion, Region, Space};
use farcall_link::packing::Packing;
use farcall_link::stream::ByteStream;
use farcall_link::strided::Strided;
use farcall_link::{FrameHandler, FrameSource, Link, Received};
use farcall_wire::{Argument, ByteOrder, CALLBACKS, FrameHeader, Hello, Role};

use crate::plan::hello_limits;

type Array = (Arc<dyn Region>, Packing);

/// One end.
pub struct End {
    link: Link,
    half: Half,
    queue_bytes: usize,
    /// It has something to send: more than its stream took, or what its owner may have asked for.
    unsent: bool,
}

/// Everything but the link, which needs it while it receives.
struct Half {
    connection: Connection,
    receiving: BTreeMap<(ChannelId, u16), Array>,
    sending: BTreeMap<(ChannelId, u16), Packing>,
    events: VecDeque<Event>,
    moved: bool,
}

/// The greeting of a role.
pub fn hello(role: Role) -> Hello {
    Hello {
        role,
        byte_order: ByteOrder::NATIVE,
        product: "simulated".to_owned(),
        features: vec![CALLBACKS.to_owned()],
        limits: hello_limits(),
        host: "simulated".to_owned(),
        principal: None,
        token: None,
        attributes: Vec::new(),
    }
}

/// An array in memory of its own.
fn array(bytes: u64) -> Result<Array> {
    let length =
        usize::try_from(bytes).map_err(|_| Error::internal("make an array", "it is too large"))?;
    let region: Arc<dyn Region> = Arc::new(HeapRegion::new(length)?);
    Ok((region.clone(), Packing::new(region, 0, &Strided::contiguous(bytes))?))
}

impl End {
    pub fn new(stream: Box<dyn ByteStream>, role: Role, queue_bytes: usize) -> End {
        let limits = hello_limits();
        let half = Half {
            connection: Connection::new(Setup {
                hello: hello(role),
                initiator: role == Role::Client,
                token: None,
            }),
            receiving: BTreeMap::new(),
            sending: BTreeMap::new(),
            events: VecDeque::new(),
            moved: false,
        };
        let link = Link::new(stream, limits.control_bytes_max, limits.data_bytes_max);
        End { link, half, queue_bytes, unsent: true }
    }

    pub fn connection(&mut self) -> &mut Connection {
        self.unsent = true;
        &mut self.half.connection
    }

    pub fn next_event(&mut self) -> Option<Event> {
        self.half.events.pop_front()
    }

    /// Takes what has arrived and sends what may be sent; whether anything moved.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn work(&mut self) -> Result<bool> {
        self.half.moved = false;
        let received = self.link.receive(&mut self.half, 1 << 20)?;
        if self.half.moved || self.unsent {
            self.pump()?;
        }
        if received == Received::Closed {
            return Err(Error::new(
                ErrorKind::ConnectionLost,
                "wait for the peer",
                "it closed the connection",
            ));
        }
        Ok(self.half.moved)
    }

    fn pump(&mut self) -> Result<()> {
        let done = self.link.pump(self.queue_bytes, &mut self.half);
        self.unsent = !done?;
        Ok(())
    }

    /// Prepares an array to be sent on a channel, and says how it travels.
    pub fn offer(bytes: &[u8]) -> Argument {
        if bytes.len() > 4096 {
            Argument::Blocks(Some(bytes.len() as u64))
        } else {
            Argument::Inline(bytes.into())
        }
    }

    /// The bytes that [`End::offer`] promised; before anything is sent.
    pub fn lend(&mut self, channel: ChannelId, slot: u16, bytes: &[u8]) -> Result<()> {
        let (region, packing) = array(bytes.len() as u64)?;
        Space::of(&*region, 0, bytes.len())?.bytes().copy_from_slice(bytes);
        self.half.sending.insert((channel, slot), packing);
        Ok(())
    }

    /// An array that came, inline or as blocks.
    pub fn taken(&mut self, channel: ChannelId, slot: u16, argument: &Argument) -> Result<Vec<u8>> {
        if let Argument::Inline(bytes) = argument {
            return Ok(bytes.to_vec());
        }
        let found = self.half.receiving.remove(&(channel, slot));
        let (region, packing) =
            found.ok_or_else(|| Error::internal("take an array", "it never came"))?;
        assert_eq!(packing.left(), 0, "an array is complete when its call says so");
        Ok(Block::of(&region, 0, region.bytes())?.bytes().to_vec())
    }

    /// Forgets the arrays of a channel whose number will be used again.
    pub fn forget(&mut self, channel: ChannelId) {
        self.half.receiving.retain(|(of, _), _| *of != channel);
        self.half.sending.retain(|(of, _), _| *of != channel);
    }
}

impl Half {
    fn take_events(&mut self) -> Result<()> {
        while let Some(event) = self.connection.poll_event() {
            match &event {
                Event::Opened(channel, open) => self.expect(*channel, &open.arguments)?,
                Event::Resulted(channel, result) => self.expect(*channel, &result.results)?,
                _ => {}
            }
            self.events.push_back(event);
        }
        Ok(())
    }

    /// Memory must be ready when an array is announced.
    fn expect(&mut self, channel: ChannelId, arguments: &[Argument]) -> Result<()> {
        for (slot, argument) in arguments.iter().enumerate() {
            if let Argument::Blocks(Some(bytes)) = argument {
                self.receiving.insert((channel, slot as u16), array(*bytes)?);
            }
        }
        Ok(())
    }
}

impl FrameSource for Half {
    fn next(&mut self, data_bytes_max: u32) -> Option<Transmit> {
        self.connection.limit_frames(data_bytes_max);
        self.connection.poll_transmit().inspect(|_| self.moved = true)
    }

    fn queue_data(&mut self, link: &mut Link, header: FrameHeader, place: &Place) -> Result<()> {
        let packing = self.sending.get_mut(&(place.channel, place.slot));
        let gone = || Error::internal("send an array", "its call has ended");
        link.queue_array(header, packing.ok_or_else(gone)?)
    }
}

impl FrameHandler for Half {
    fn control(
        &mut self,
        header: &FrameHeader,
        body: &[u8],
        _: &mut VecDeque<OwnedFd>,
    ) -> Result<()> {
        self.moved = true;
        self.connection.handle_control(header, body)?;
        self.take_events()
    }

    fn data_space(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Space>> {
        let Some(place) = self.connection.place(header, done)? else { return Ok(None) };
        let array = self.receiving.get_mut(&(place.channel, place.slot));
        array.map(|(_, packing)| packing.space((header.length - done) as usize)).transpose()
    }

    fn data_arrived(&mut self, header: &FrameHeader, count: u32, done: u32) -> Result<()> {
        self.moved = true;
        if let Some((_, packing)) = self.receiving.get_mut(&(header.channel, header.slot)) {
            packing.arrived(count as usize)?;
        }
        self.connection.data_arrived(header, done)?;
        self.take_events()
    }
}
