//! One end of a pair of rings: what it sends and receives, and when it wakes the other.
//!
//! The algorithm alone. Where the words lie, and what wakes, are parameters, so that a model can
//! look at each order in which the two ends see one another's words (`tests/model.rs`).

use std::collections::VecDeque;
use std::io::{self, ErrorKind as IoErrorKind, IoSlice, IoSliceMut};
use std::os::fd::{BorrowedFd, OwnedFd};

use farcall_base::{Error, ErrorKind};

use super::memory::{Ground, RingMemory, Wants};

/// Bytes of the message that carries descriptors: the position of the byte they ride with.
pub const POSITION_BYTES: usize = 8;

/// What an end has beside the memory: the other's bell, and the socket for descriptors.
pub trait Side {
    /// Wakes the peer.
    fn strike(&self);

    /// Sends descriptors with the position of the byte they ride with.
    ///
    /// # Errors
    /// `WouldBlock` when the socket has no room now; else the system's.
    fn send(
        &mut self,
        position: &[u8; POSITION_BYTES],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<usize>;

    /// Takes descriptors, and the position of the byte they ride with.
    ///
    /// # Errors
    /// `WouldBlock` when there are none now; else the system's.
    fn receive(
        &mut self,
        position: &mut [u8; POSITION_BYTES],
        descriptors: &mut Vec<OwnedFd>,
    ) -> io::Result<usize>;

    /// Whether the peer's process is gone.
    fn has_hung_up(&self) -> bool;
}

/// One end.
pub struct Flow<G: Ground, S: Side> {
    pub memory: RingMemory<G>,
    pub side: S,
    /// Bytes sent and bytes received so far. The copies in the shared memory are for the peer to
    /// read; a peer that changes them harms nobody but itself.
    pub sent: u64,
    pub received: u64,
    /// Messages with descriptors taken from the socket so far.
    riders_taken: u64,
    /// Descriptors whose byte was not received yet, by its position.
    pub riders: VecDeque<(u64, Vec<OwnedFd>)>,
    pub broken: bool,
    /// Whether the peer's bell is held, and whether it would have been struck.
    bell_is_held: bool,
    owes_stroke: bool,
}

impl<G: Ground, S: Side> Flow<G, S> {
    pub fn new(memory: RingMemory<G>, side: S) -> Flow<G, S> {
        // Whoever was never told that the ring is empty would sleep without having asked to be
        // woken.
        memory.ask(Wants::BYTES);
        Flow {
            memory,
            side,
            sent: 0,
            received: 0,
            riders_taken: 0,
            riders: VecDeque::new(),
            broken: false,
            bell_is_held: false,
            owes_stroke: false,
        }
    }

    /// Sends what there is room for, as [`farcall_link::stream::ByteStream::send`].
    pub fn send(
        &mut self,
        parts: &[IoSlice<'_>],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<usize> {
        if self.broken || self.memory.incoming().is_closed() {
            return Err(gone());
        }
        let outcome = self.try_send(parts, descriptors);
        match &outcome {
            Ok(_) => self.ring(Wants::BYTES),
            Err(error) => self.broken = error.kind() != IoErrorKind::WouldBlock,
        }
        outcome
    }

    /// Receives what there is, as [`farcall_link::stream::ByteStream::receive`].
    pub fn receive(
        &mut self,
        parts: &mut [IoSliceMut<'_>],
        descriptors: &mut Vec<OwnedFd>,
    ) -> io::Result<usize> {
        let count = self.try_receive(parts, descriptors)?;
        if count > 0 {
            self.ring(Wants::ROOM);
            return Ok(count);
        }
        if !self.peer_is_gone() {
            return Err(IoErrorKind::WouldBlock.into());
        }
        // What the peer wrote before it went may have come since we looked.
        self.try_receive(parts, descriptors)
    }

    /// Strikes the peer's bell no more while it is held, but once at the end if that is due.
    pub fn hold_bell(&mut self, held: bool) {
        self.bell_is_held = held;
        if !held && std::mem::take(&mut self.owes_stroke) {
            self.ring(Wants::BYTES);
        }
    }

    /// Lets calls begin again, and wakes the peer: it may have gone to sleep before the turnstile.
    pub fn open_turnstile(&self) {
        self.memory.turnstile().open();
        self.side.strike();
    }

    /// Wakes the peer if it asked for what there is now.
    fn ring(&mut self, what: Wants) {
        if self.bell_is_held && what == Wants::BYTES {
            self.owes_stroke = true;
            return;
        }
        if self.memory.answer(what) {
            self.side.strike();
        }
    }

    /// Bytes that can be received now.
    fn available(&self) -> io::Result<u64> {
        let count = self.memory.incoming().head().wrapping_sub(self.received);
        if count > G::CAPACITY { Err(corrupt()) } else { Ok(count) }
    }

    /// Bytes that can be sent now.
    fn room(&self) -> io::Result<u64> {
        let unread = self.sent.wrapping_sub(self.memory.outgoing().tail());
        if unread > G::CAPACITY { Err(corrupt()) } else { Ok(G::CAPACITY - unread) }
    }

    /// Whether the peer has closed its end, or died.
    fn peer_is_gone(&self) -> bool {
        self.memory.incoming().is_closed() || self.side.has_hung_up()
    }

    /// Takes from the socket the descriptors that ride with bytes in the ring.
    fn take_riders(&mut self) -> io::Result<()> {
        while self.riders_taken != self.memory.incoming().riders() {
            let mut position = [0; POSITION_BYTES];
            let mut descriptors = Vec::new();
            // Who counts a message has sent it before: what is not there now never was.
            let count = match self.side.receive(&mut position, &mut descriptors) {
                Err(error) if error.kind() == IoErrorKind::WouldBlock => return Err(corrupt()),
                other => other?,
            };
            let position = u64::from_le_bytes(position);
            // Not before the bytes that were received already, and not behind those that can be
            // there.
            let is_near = position.wrapping_sub(self.received) <= G::CAPACITY;
            if count != POSITION_BYTES || descriptors.is_empty() || !is_near {
                return Err(corrupt());
            }
            self.riders.push_back((position, descriptors));
            self.riders_taken = self.riders_taken.wrapping_add(1);
        }
        Ok(())
    }

    /// Hands over the descriptors that ride with the bytes received so far.
    fn deliver_riders(&mut self, descriptors: &mut Vec<OwnedFd>) {
        // Positions may lie ahead by less than the capacity, so the sign of the difference tells
        // before from behind.
        while let Some((position, _)) = self.riders.front()
            && (position.wrapping_sub(self.received) as i64) < 0
        {
            descriptors
                .extend(self.riders.pop_front().map(|(_, riding)| riding).unwrap_or_default());
        }
    }

    /// Sends descriptors ahead over the socket; false when it has no room now.
    fn send_riders(&mut self, descriptors: &[BorrowedFd<'_>]) -> io::Result<bool> {
        match self.side.send(&self.sent.to_le_bytes(), descriptors) {
            Ok(POSITION_BYTES) => {
                self.memory.outgoing().add_rider();
                Ok(true)
            }
            Ok(_) => Err(corrupt()),
            Err(error) if error.kind() == IoErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Copies as much of `parts` as there is room for.
    fn put(&mut self, parts: &[IoSlice<'_>], room: u64) -> usize {
        let mut done = 0;
        for part in parts {
            let piece = part.len().min(room as usize - done);
            self.memory.outgoing().write(self.sent.wrapping_add(done as u64), &part[..piece]);
            done += piece;
        }
        self.sent = self.sent.wrapping_add(done as u64);
        self.memory.outgoing().set_head(self.sent);
        done
    }

    /// Copies `available` bytes to `parts` behind the first `skip` bytes of these.
    fn take(&mut self, parts: &mut [IoSliceMut<'_>], mut skip: usize, available: u64) -> usize {
        let mut done = 0;
        for part in parts {
            let behind = skip.min(part.len());
            skip -= behind;
            let piece = (part.len() - behind).min(available as usize - done);
            self.memory
                .incoming()
                .read(self.received.wrapping_add(done as u64), &mut part[behind..behind + piece]);
            done += piece;
        }
        self.received = self.received.wrapping_add(done as u64);
        self.memory.incoming().set_tail(self.received);
        done
    }

    fn try_send(
        &mut self,
        parts: &[IoSlice<'_>],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<usize> {
        let mut room = self.room()?;
        if room == 0 {
            // Only a peer that is awake makes room.
            self.hold_bell(false);
            // Asked first and looked again: whoever makes room in between rings, or we see it.
            self.memory.ask(Wants::ROOM);
            room = self.room()?;
        }
        if room == 0 {
            return Err(if self.peer_is_gone() { gone() } else { IoErrorKind::WouldBlock.into() });
        }
        if !descriptors.is_empty() && !self.send_riders(descriptors)? {
            self.memory.ask(Wants::ROOM);
            if !self.send_riders(descriptors)? {
                return Err(if self.peer_is_gone() {
                    gone()
                } else {
                    IoErrorKind::WouldBlock.into()
                });
            }
        }
        Ok(self.put(parts, room))
    }

    /// Receives until `parts` are full or nothing is left, in which case the bell was asked for:
    /// who gets less than he had room for may sleep.
    fn try_receive(
        &mut self,
        parts: &mut [IoSliceMut<'_>],
        descriptors: &mut Vec<OwnedFd>,
    ) -> io::Result<usize> {
        let room: usize = parts.iter().map(|part| part.len()).sum();
        let mut done = 0;
        let mut asked = false;
        while done < room {
            let available = self.available()?;
            if available > 0 {
                self.take_riders()?;
                done += self.take(parts, done, available.min((room - done) as u64));
                asked = false;
            } else if !asked {
                self.memory.ask(Wants::BYTES);
                asked = true;
            } else {
                break;
            }
        }
        self.deliver_riders(descriptors);
        Ok(done)
    }
}

impl<G: Ground, S: Side> Drop for Flow<G, S> {
    fn drop(&mut self) {
        self.memory.outgoing().close();
        self.side.strike();
    }
}

fn gone() -> io::Error {
    io::Error::new(IoErrorKind::BrokenPipe, "the other end of the ring has ended")
}

fn corrupt() -> io::Error {
    let error = Error::new(
        ErrorKind::Protocol,
        "receive",
        "the other end wrote invalid positions into the ring",
    )
    .fix("its process is faulty or hostile; the connection is closed");
    io::Error::new(IoErrorKind::InvalidData, error)
}
