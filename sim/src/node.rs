//! The server's node: the shipped decisions, driven in virtual time as `farcall_rpc_server`'s
//! driver drives them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::fd::OwnedFd;
use std::time::Duration;

use farcall_base::{Clock, ConnectionId, Error, ErrorKind, Instant, Result};
use farcall_call::{Place, Transmit};
use farcall_link::memory::{MemorySource, Space};
use farcall_link::stream::ByteStream;
use farcall_link::{FrameHandler, FrameSource, Link, Received};
use farcall_rpc_server::state::{
    Action, MemoryId, MemorySource as SharedSource, OwnMemory, State, ValueMemory,
};
use farcall_rpc_server::step::{Server, SlotMemory, Surroundings};
use farcall_rpc_server::transfers::Transfers;
use farcall_transport_simulated::{HeapMemory, Network};
use farcall_wire::FrameHeader;

use crate::plan::{Plan, hello_limits};

/// Clock and memory.
pub struct Memory {
    network: Network,
    /// How far its clock is ahead of the world's.
    ahead: Duration,
    source: HeapMemory,
    transfers: Transfers,
    /// What is not released yet.
    pub held: BTreeSet<MemoryId>,
    /// What was released since somebody looked.
    pub released: Vec<MemoryId>,
}

impl Surroundings for Memory {
    fn now(&self) -> Instant {
        self.network.now() + self.ahead
    }

    fn allocate(&mut self, _: ConnectionId, bytes: u64) -> Result<(MemoryId, u64, u64)> {
        let region = self.source.allocate(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        let memory = self.transfers.keep(region);
        self.held.insert(memory);
        Ok((memory, memory.0, bytes))
    }

    fn allocate_for(&mut self, _: &str, bytes: u64) -> Result<(MemoryId, u64, u64)> {
        self.allocate(ConnectionId(0), bytes)
    }

    fn allocate_value(&mut self, _: &str, bytes: u64) -> Result<ValueMemory> {
        let (id, identity, bytes) = self.allocate(ConnectionId(0), bytes)?;
        Ok(ValueMemory { id, identity, bytes })
    }

    fn seal(&mut self, _: &str, memory: &OwnMemory) -> Result<ValueMemory> {
        Ok(ValueMemory { id: memory.id, identity: memory.identity, bytes: memory.bytes })
    }

    fn copy_value(&mut self, principal: &str, from: &SlotMemory) -> Result<ValueMemory> {
        let copy = self.allocate_value(principal, from.array.bytes())?;
        let region = self.transfers.region(copy.id);
        let region = region.ok_or_else(|| Error::internal("copy a value", "it is gone"))?;
        self.transfers.copy(from, &*region)?;
        Ok(copy)
    }

    fn map(&mut self, _: ConnectionId, _: u32, _: u64) -> Result<MemoryId> {
        Err(Error::internal("share memory", "links of a simulation carry none"))
    }

    /// Links of the simulation carry no descriptors, and peers there share no memory.
    fn announce(&mut self, _: ConnectionId, _: u32, _: SharedSource) -> Result<()> {
        Err(Error::internal("share memory", "links of a simulation carry none"))
    }

    fn release(&mut self, memory: MemoryId) {
        assert!(self.held.remove(&memory), "{memory:?} was released twice");
        self.released.push(memory);
        self.transfers.release(memory);
    }
}

/// A connection's link.
struct Wire {
    link: Link,
    /// It has more to send than its stream took: it is to be told when that takes more. The driver
    /// asks epoll for this, so a server that forgets what it has to send stalls here as there.
    unsent: bool,
}

/// The server with its connections.
pub struct Node {
    pub server: Server,
    pub memory: Memory,
    wires: BTreeMap<ConnectionId, Wire>,
    queue_bytes: usize,
    next: u64,
    /// Connections that were closed since somebody looked.
    closed: Vec<ConnectionId>,
}

impl Node {
    /// A server starts, as the `number`-th of the world; its clock is ahead of the world's.
    pub fn new(plan: &Plan, network: &Network, number: usize, ahead: Duration) -> Node {
        let memory = Memory {
            network: network.clone(),
            ahead,
            source: HeapMemory::new(1 << 30),
            transfers: Transfers::default(),
            held: BTreeSet::new(),
            released: Vec::new(),
        };
        let mut run = *b"the only run of ";
        run[15] += number as u8;
        let state = State::new(plan.limits(), "simulated".to_owned()).named(Some(run));
        Node {
            server: Server::new(state),
            memory,
            wires: BTreeMap::new(),
            queue_bytes: plan.queue_bytes,
            next: 0,
            closed: Vec::new(),
        }
    }

    /// A new connection; the server must be told whose.
    pub fn add(&mut self, stream: Box<dyn ByteStream>) -> ConnectionId {
        self.next += 1;
        let limits = hello_limits();
        let link = Link::new(stream, limits.control_bytes_max, limits.data_bytes_max);
        // The preface is queued.
        self.wires.insert(ConnectionId(self.next), Wire { link, unsent: true });
        ConnectionId(self.next)
    }

    pub fn connections(&self) -> usize {
        self.wires.len()
    }

    /// Lets every connection do what it can; what the world has to do, and whether anything moved.
    pub fn work(&mut self) -> (Vec<Action>, bool) {
        let mut moved = false;
        self.server.tick(&mut self.memory);
        for connection in self.wires.keys().copied().collect::<Vec<_>>() {
            moved |= self.receive(connection);
        }
        let mut actions = Vec::new();
        loop {
            while let Some(action) = self.server.poll_action() {
                match action {
                    Action::Close(connection) => self.close(connection),
                    action => actions.push(action),
                }
            }
            let touched: Vec<ConnectionId> = self.server.take_touched().collect();
            if touched.is_empty() {
                return (actions, moved);
            }
            moved = true;
            touched.into_iter().for_each(|connection| self.flush(connection));
        }
    }

    fn receive(&mut self, connection: ConnectionId) -> bool {
        let Some(wire) = self.wires.get_mut(&connection) else { return false };
        let mut taking =
            Taking { server: &mut self.server, memory: &mut self.memory, connection, moved: false };
        let outcome = wire.link.receive(&mut taking, 1 << 16);
        let moved = taking.moved;
        match outcome {
            Ok(Received::Blocked | Received::More) if moved || wire.unsent => {
                self.flush(connection)
            }
            Ok(Received::Blocked | Received::More) => {}
            Ok(Received::Closed) => self.close(connection),
            Err(error) if error.kind() == ErrorKind::ConnectionLost => self.close(connection),
            Err(error) => panic!("peers of this world break no rule: {error}"),
        }
        moved
    }

    fn flush(&mut self, connection: ConnectionId) {
        let Some(wire) = self.wires.get_mut(&connection) else { return };
        let outcome =
            send_frames(&mut self.server, &mut self.memory, connection, wire, self.queue_bytes);
        self.server.settle(&mut self.memory, connection);
        match outcome {
            Ok(()) if !wire.unsent && self.server.is_leaving(connection) => self.close(connection),
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionLost => self.close(connection),
            Err(error) => panic!("the server sends what it has: {error}"),
        }
    }

    /// Connections that were closed since somebody looked.
    pub fn take_closed(&mut self) -> Vec<ConnectionId> {
        std::mem::take(&mut self.closed)
    }

    fn close(&mut self, connection: ConnectionId) {
        self.wires.remove(&connection);
        self.closed.push(connection);
        self.server.ended(&mut self.memory, connection);
        self.memory.transfers.forget(connection);
    }
}

fn send_frames(
    server: &mut Server,
    memory: &mut Memory,
    connection: ConnectionId,
    wire: &mut Wire,
    queue_bytes: usize,
) -> Result<()> {
    let done = wire.link.pump(queue_bytes, &mut Sending { server, memory, connection });
    wire.unsent = !done?;
    Ok(())
}

struct Sending<'a> {
    server: &'a mut Server,
    memory: &'a mut Memory,
    connection: ConnectionId,
}

impl FrameSource for Sending<'_> {
    fn next(&mut self, data_bytes_max: u32) -> Option<Transmit> {
        self.server.limit_frames(self.connection, data_bytes_max);
        self.server.poll_transmit(self.connection)
    }

    fn queue_data(&mut self, link: &mut Link, header: FrameHeader, place: &Place) -> Result<()> {
        let from =
            if place.offset == 0 { self.server.memory_of(self.connection, place) } else { None };
        link.queue_array(header, self.memory.transfers.sending(self.connection, place, from)?)
    }
}

struct Taking<'a> {
    server: &'a mut Server,
    memory: &'a mut Memory,
    connection: ConnectionId,
    moved: bool,
}

impl FrameHandler for Taking<'_> {
    fn control(
        &mut self,
        header: &FrameHeader,
        body: &[u8],
        _: &mut VecDeque<OwnedFd>,
    ) -> Result<()> {
        self.moved = true;
        self.server.handle_control(self.memory, self.connection, header, body)
    }

    fn data_space(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Space>> {
        let Some(place) = self.server.place(self.connection, header, done)? else {
            let side = self.server.side_received(self.connection, header.channel);
            self.memory.transfers.discard((self.connection, header.channel, side, header.slot));
            return Ok(None);
        };
        let memory =
            if place.offset == 0 { self.server.memory_of(self.connection, &place) } else { None };
        let left = (header.length - done) as usize;
        self.memory.transfers.space(self.connection, &place, memory, left)
    }

    fn data_arrived(&mut self, header: &FrameHeader, count: u32, done: u32) -> Result<()> {
        self.moved = true;
        let side = self.server.side_received(self.connection, header.channel);
        self.memory
            .transfers
            .arrived((self.connection, header.channel, side, header.slot), count as usize)?;
        self.server.data_arrived(self.memory, self.connection, header, done)
    }
}
