//! Connections' streams: what is waited for, what is received and what is sent.

use std::collections::BTreeMap;
use std::os::fd::{BorrowedFd, OwnedFd};

use farcall_base::{ConnectionId, Error, ErrorKind, Result};
use farcall_link::stream::ByteStream;
use farcall_link::{Link, QUEUE_BYTES, Received};
use farcall_wire::COMPRESSION;
use rustix::event::{Timespec, epoll};

use super::frames::{Sending, Taking};
use super::world::World;
use super::{Driver, FIRST_CONNECTION, RECEIVE_BUDGET};
use crate::step::{Server, Surroundings};

/// A connection's stream, and what is waited for there.
pub struct Wire {
    pub link: Link,
    pub interest: Interest,
    /// Its end broke a rule, and is to learn of it.
    pub is_broken: bool,
}

/// What a connection waits for.
#[derive(PartialEq)]
pub enum Interest {
    /// Bytes, room to send, both, or nothing for now: a socket says so for as long as it is true.
    Socket(epoll::EventFlags),
    /// Its bell, which rings once. Paused while nothing is taken from it: a stroke of that time
    /// must be made up for.
    Bell { paused: bool },
}

/// All streams.
pub struct Wires {
    poller: OwnedFd,
    all: BTreeMap<ConnectionId, Wire>,
    next: u64,
    /// Connections that may have more to give although nothing will tell so: a bell rings once, and
    /// a stream that decrypts holds bytes that its socket no longer knows of.
    again: Vec<ConnectionId>,
}

impl Wires {
    /// None yet.
    ///
    /// # Errors
    /// `System` where nothing can be waited for.
    pub fn new() -> Result<Wires> {
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(cannot_wait)?;
        Ok(Wires { poller, all: BTreeMap::new(), next: FIRST_CONNECTION, again: Vec::new() })
    }

    /// Waits until something happens, or the time has passed.
    pub fn wait(&self, events: &mut Vec<epoll::Event>, timeout: Option<&Timespec>) -> Result<()> {
        match epoll::wait(&self.poller, rustix::buffer::spare_capacity(events), timeout) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(cannot_wait(error)),
        }
    }

    /// Waits for what comes at a descriptor, too.
    pub fn watch(&self, descriptor: BorrowedFd<'_>, mark: u64) -> Result<()> {
        self.watch_for(descriptor, mark, epoll::EventFlags::IN)
    }

    fn watch_for(
        &self,
        descriptor: BorrowedFd<'_>,
        mark: u64,
        flags: epoll::EventFlags,
    ) -> Result<()> {
        let data = epoll::EventData::new_u64(mark);
        epoll::add(&self.poller, descriptor, data, flags).map_err(cannot_wait)
    }

    /// Waits for something else at a descriptor.
    pub fn change(
        &self,
        descriptor: BorrowedFd<'_>,
        mark: u64,
        flags: epoll::EventFlags,
    ) -> rustix::io::Result<()> {
        epoll::modify(&self.poller, descriptor, epoll::EventData::new_u64(mark), flags)
    }

    /// A stream begins: which connection that is, and what it waits for.
    pub fn begin(&mut self, stream: &dyn ByteStream) -> Option<(ConnectionId, Interest)> {
        let connection = ConnectionId(self.next);
        let readiness = stream.readiness()?;
        let interest = if let Some(hangup) = stream.hangup() {
            let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
            self.watch_for(readiness, connection.0, flags).ok()?;
            self.watch_for(hangup, connection.0, epoll::EventFlags::RDHUP).ok()?;
            Interest::Bell { paused: false }
        } else {
            self.watch(readiness, connection.0).ok()?;
            Interest::Socket(epoll::EventFlags::IN)
        };
        self.next += 1;
        Some((connection, interest))
    }

    /// Its wire is there, or is back.
    pub fn insert(&mut self, connection: ConnectionId, wire: Wire) {
        self.all.insert(connection, wire);
    }

    /// A wire, if it is there.
    pub fn get(&self, connection: ConnectionId) -> Option<&Wire> {
        self.all.get(&connection)
    }

    /// As [`Wires::get`], to change it.
    pub fn get_mut(&mut self, connection: ConnectionId) -> Option<&mut Wire> {
        self.all.get_mut(&connection)
    }

    /// Whether it is there.
    pub fn contains(&self, connection: ConnectionId) -> bool {
        self.all.contains_key(&connection)
    }

    /// Takes it out, for a while or for good; what is waited for there stays.
    pub fn take(&mut self, connection: ConnectionId) -> Option<Wire> {
        self.all.remove(&connection)
    }

    /// Its stream has ended.
    pub fn close(&mut self, connection: ConnectionId) {
        let Some(wire) = self.all.remove(&connection) else { return };
        let stream = wire.link.stream();
        for descriptor in stream.readiness().into_iter().chain(stream.hangup()) {
            let _ = epoll::delete(&self.poller, descriptor);
        }
    }

    /// It may have more to give.
    pub fn look_again(&mut self, connection: ConnectionId) {
        self.again.push(connection);
    }

    /// Whether it may; nobody looks again because of that.
    pub fn stop_looking(&mut self, connection: ConnectionId) -> bool {
        let has_more = self.again.contains(&connection);
        self.again.retain(|again| *again != connection);
        has_more
    }

    /// Whether any may have more.
    pub fn has_again(&self) -> bool {
        !self.again.is_empty()
    }

    /// Those that may.
    pub fn take_again(&mut self) -> Vec<ConnectionId> {
        std::mem::take(&mut self.again)
    }

    /// Waits for room to send, unless all is sent, and for what comes, unless nothing is to be taken.
    pub fn set_interest(&mut self, connection: ConnectionId, done: bool, clogged: bool) {
        let Some(wire) = self.all.get_mut(&connection) else { return };
        match &mut wire.interest {
            Interest::Bell { paused } => {
                if *paused && !clogged {
                    self.again.push(connection);
                }
                *paused = clogged;
            }
            Interest::Socket(known) => {
                let mut flags =
                    if done { epoll::EventFlags::empty() } else { epoll::EventFlags::OUT };
                flags.set(epoll::EventFlags::IN, !clogged);
                if !clogged && !known.contains(epoll::EventFlags::IN) {
                    self.again.push(connection);
                }
                if *known != flags
                    && let Some(descriptor) = wire.link.stream().readiness()
                {
                    *known = flags;
                    let data = epoll::EventData::new_u64(connection.0);
                    // Cannot fail for a descriptor that was added; the next event would still close
                    // the connection.
                    let _ = epoll::modify(&self.poller, descriptor, data, flags);
                }
            }
        }
    }
}

fn cannot_wait(error: rustix::io::Errno) -> Error {
    Error::system("wait for sockets", error.into())
}

impl Driver {
    pub(super) fn add(&mut self, stream: Box<dyn ByteStream>) -> Option<ConnectionId> {
        let (connection, interest) = self.wires.begin(&*stream)?;
        self.standings.watch(connection, &*stream, self.world.now());
        let link = Link::new(stream, self.options.control_bytes_max, self.options.data_bytes_max);
        self.wires.insert(connection, Wire { link, interest, is_broken: false });
        Some(connection)
    }

    /// Something came, or left, or the other end has ended. Of one that is gone nothing is waited
    /// for that is not read now: its socket would tell of it again and again.
    pub(super) fn ready(&mut self, connection: ConnectionId, flags: epoll::EventFlags) {
        let is_gone = flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        if is_gone && self.wires.contains(connection) && self.server.is_clogged(connection) {
            return self.close(connection);
        }
        self.receive(connection);
    }

    pub(super) fn receive(&mut self, connection: ConnectionId) {
        let Some(mut wire) = self.wires.take(connection) else {
            if self.endings.discard(connection) {
                self.wires.look_again(connection);
            }
            return;
        };
        self.world.look_at_clock();
        let clogged = self.server.is_clogged(connection);
        let outcome = if clogged {
            Ok(Received::Blocked)
        } else {
            let mut taking =
                Taking { server: &mut self.server, world: &mut self.world, connection };
            wire.link.receive(&mut taking, RECEIVE_BUDGET)
        };
        // Whoever names it sends no data before our Hello has left, which is after this.
        if !wire.link.may_compress() && self.server.has_feature(connection, COMPRESSION) {
            wire.link.compress(self.options.compression);
        }
        if matches!(outcome, Ok(Received::More)) {
            self.wires.look_again(connection);
        }
        self.wires.insert(connection, wire);
        for (nest, descriptor) in self.world.take_nests() {
            self.nest(nest, descriptor);
        }
        match outcome {
            Ok(Received::Blocked | Received::More) => self.flush(connection),
            Ok(Received::Closed) => self.close(connection),
            Err(error) if error.kind() == ErrorKind::ConnectionLost => self.close(connection),
            Err(error) => {
                self.has_broken(connection);
                self.server.broken(connection, &error);
                self.flush(connection);
            }
        }
    }

    /// Sends what may be sent now; closes the connection when it is to go and everything is sent.
    pub(super) fn flush(&mut self, connection: ConnectionId) {
        let Some(wire) = self.wires.get_mut(connection) else { return };
        let outcome = send_frames(&mut self.server, &mut self.world, connection, &mut wire.link);
        self.server.settle(&mut self.world, connection);
        let done = match outcome {
            Ok(done) => done,
            Err(_) => return self.close(connection),
        };
        if done && self.server.is_leaving(connection) {
            self.let_read(connection);
            return self.close(connection);
        }
        let clogged = self.server.is_clogged(connection);
        self.wires.set_interest(connection, done, clogged);
    }

    pub(super) fn close(&mut self, connection: ConnectionId) {
        // What it has begun must be known before its word is gone, and nothing may begin after.
        if let Some(executable) = self.server.executable_of(connection) {
            self.recall(executable, connection);
        }
        self.wires.close(connection);
        if let Some(principal) = self.world.principal(connection) {
            self.tell_of(connection, "closed", principal, None);
        }
        self.standings.forget(connection);
        self.server.ended(&mut self.world, connection);
        self.world.forget(connection);
        self.orders.forget(connection);
        self.services.metaserver.forget(connection);
    }
}

/// Moves frames from the server's decisions to the link and to the socket; true when all of them
/// left.
fn send_frames(
    server: &mut Server,
    world: &mut World,
    connection: ConnectionId,
    link: &mut Link,
) -> Result<bool> {
    link.pump(QUEUE_BYTES, &mut Sending { server, world, connection })
}
