//! A byte stream through shared memory (Linux): two rings of bytes, and a bell for each end.
//!
//! Between a server and its executable on one host a small message costs two copies of its bytes
//! and, if the other end sleeps, one write to an eventfd; a socket would cost two system calls with
//! a buffer of the kernel's for each. The Unix socket that the two were joined by stays:
//! descriptors travel over it, and its end is the end of the stream when a process dies without a
//! word.
//!
//! Neither end believes the other's positions: they are checked against what is possible before
//! they are used, and bytes are copied out before anybody reads them.

mod memory;

use std::collections::VecDeque;
use std::io::{self, ErrorKind as IoErrorKind, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::stream::{ByteStream, Peer, Proof};
use farcall_link::turnstile::Turnstile;
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{self, RecvFlags};

use crate::stream::{DESCRIPTORS_MAX, UnixStream, unix_stream};
use memory::{CAPACITY, RingMemory, Wants};

/// First bytes on a socket over which rings are offered.
const OFFER: [u8; 8] = *b"FCRINGS\x01";

/// Bytes of the message that carries descriptors: the position of the byte they ride with.
const POSITION_BYTES: usize = 8;

/// One end.
pub struct RingStream {
    memory: RingMemory,
    /// Bytes sent and bytes received so far. The copies in the shared memory are for the peer to
    /// read; a peer that changes them harms nobody but itself.
    sent: u64,
    received: u64,
    socket: UnixStream,
    bell: OwnedFd,
    peer_bell: OwnedFd,
    /// Messages with descriptors taken from the socket so far.
    riders_taken: u64,
    /// Descriptors whose byte was not received yet, by its position.
    riders: VecDeque<(u64, Vec<OwnedFd>)>,
    broken: bool,
    /// Whether the peer's bell is held, and whether it would have been struck.
    bell_is_held: bool,
    owes_stroke: bool,
}

/// Makes rings and offers them to whoever holds the other end of a connected Unix socket.
///
/// # Errors
/// `InvalidArgument` when `descriptor` is no such socket, `System` when memory or descriptors are
/// short.
pub fn offer(descriptor: OwnedFd, proof: Proof) -> Result<Box<dyn ByteStream>> {
    let system = |errno: rustix::io::Errno| Error::system("make a ring", errno.into());
    let socket = unix_stream(descriptor, proof)?;
    let memory = RingMemory::create()?;
    let descriptor = memory.descriptor()?;
    let make_bell = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(system);
    let bell = make_bell()?;
    let peer_bell = make_bell()?;
    // Asks to be woken before the other end can know of the rings: what that sends at once would
    // ring no bell otherwise.
    let mut stream = RingStream::new(memory, socket, bell, peer_bell);
    let riding = [descriptor.as_fd(), stream.peer_bell.as_fd(), stream.bell.as_fd()];
    match stream.socket.send(&[IoSlice::new(&OFFER)], &riding) {
        Ok(count) if count == OFFER.len() => Ok(Box::new(stream)),
        Ok(_) => {
            Err(Error::internal("offer a ring", "the socket accepted less than a new one can hold"))
        }
        Err(error) if error.kind() == IoErrorKind::BrokenPipe => {
            Err(Error::new(ErrorKind::ConnectionLost, "offer a ring", "the other end has ended"))
        }
        Err(error) => Err(Error::system("offer a ring", error)),
    }
}

/// Takes over a connected Unix socket whose other end was made by [`offer`], or by somebody who
/// offers no ring and simply begins to speak. Waits for the first bytes.
///
/// # Errors
/// As [`crate::from_descriptor`]; `Protocol` when the offer is not whole.
pub fn accept(descriptor: OwnedFd, proof: Proof) -> Result<Box<dyn ByteStream>> {
    let mut first = [0; OFFER.len()];
    let count = net::recv(&descriptor, &mut first[..], RecvFlags::PEEK | RecvFlags::WAITALL);
    if !matches!(count, Ok((_, count)) if count == OFFER.len() && first == OFFER) {
        return Ok(Box::new(unix_stream(descriptor, proof)?));
    }
    let broken = |what| Error::new(ErrorKind::Protocol, "take over a ring", what);
    let mut socket = unix_stream(descriptor, proof)?;
    let mut descriptors = Vec::new();
    let taken = socket.receive(&mut [IoSliceMut::new(&mut first)], &mut descriptors);
    if !taken.is_ok_and(|count| count == OFFER.len()) {
        return Err(broken("the offer was incomplete"));
    }
    let [memory, bell, peer_bell] = <[OwnedFd; 3]>::try_from(descriptors)
        .map_err(|_| broken("the offer does not have three descriptors"))?;
    let stream = RingStream::new(RingMemory::adopt(memory)?, socket, bell, peer_bell);
    // What the other end sent before we asked for it rang no bell.
    strike(&stream.bell);
    Ok(Box::new(stream))
}

impl RingStream {
    fn new(
        memory: RingMemory,
        socket: UnixStream,
        bell: OwnedFd,
        peer_bell: OwnedFd,
    ) -> RingStream {
        // Whoever was never told that the ring is empty would sleep without having asked to be
        // woken.
        memory.ask(Wants::BYTES);
        RingStream {
            memory,
            sent: 0,
            received: 0,
            socket,
            bell,
            peer_bell,
            riders_taken: 0,
            riders: VecDeque::new(),
            broken: false,
            bell_is_held: false,
            owes_stroke: false,
        }
    }

    /// Wakes the peer if it asked for what there is now.
    fn ring(&mut self, what: Wants) {
        if self.bell_is_held && what == Wants::BYTES {
            self.owes_stroke = true;
            return;
        }
        if self.memory.answer(what) {
            strike(&self.peer_bell);
        }
    }

    /// Bytes that can be received now.
    fn available(&self) -> io::Result<u64> {
        let count = self.memory.incoming().head().wrapping_sub(self.received);
        if count > CAPACITY { Err(corrupt()) } else { Ok(count) }
    }

    /// Bytes that can be sent now.
    fn room(&self) -> io::Result<u64> {
        let unread = self.sent.wrapping_sub(self.memory.outgoing().tail());
        if unread > CAPACITY { Err(corrupt()) } else { Ok(CAPACITY - unread) }
    }

    /// Whether the peer has closed its end, or died.
    fn peer_is_gone(&self) -> bool {
        if self.memory.incoming().is_closed() {
            return true;
        }
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match net::recv(self.socket.descriptor(), &mut [0_u8; 1][..], flags) {
            Ok((_, count)) => count == 0,
            Err(errno) => errno != rustix::io::Errno::AGAIN && errno != rustix::io::Errno::INTR,
        }
    }

    /// Takes from the socket the descriptors that ride with bytes in the ring.
    fn take_riders(&mut self) -> io::Result<()> {
        while self.riders_taken != self.memory.incoming().riders() {
            let mut position = [0; POSITION_BYTES];
            let mut descriptors = Vec::new();
            // Who counts a message has sent it before: what is not there now never was.
            let count = match self
                .socket
                .receive(&mut [IoSliceMut::new(&mut position)], &mut descriptors)
            {
                Err(error) if error.kind() == IoErrorKind::WouldBlock => return Err(corrupt()),
                other => other?,
            };
            let position = u64::from_le_bytes(position);
            // Not before the bytes that were received already, and not behind those that can be
            // there.
            let is_near = position.wrapping_sub(self.received) <= CAPACITY;
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
        match self.socket.send(&[IoSlice::new(&self.sent.to_le_bytes())], descriptors) {
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

impl ByteStream for RingStream {
    fn send(&mut self, parts: &[IoSlice<'_>], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
        let empty = parts.iter().all(|part| part.is_empty());
        if !descriptors.is_empty() && (descriptors.len() > DESCRIPTORS_MAX || empty) {
            return Err(crate::stream::impossible_descriptors());
        }
        if empty {
            return Ok(0);
        }
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

    fn receive(
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

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        Some(self.bell.as_fd())
    }

    fn hangup(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.descriptor())
    }

    fn hold_bell(&mut self, held: bool) {
        self.bell_is_held = held;
        if !held && std::mem::take(&mut self.owes_stroke) {
            self.ring(Wants::BYTES);
        }
    }

    fn open_turnstile(&mut self) {
        self.memory.turnstile().open();
        strike(&self.peer_bell);
    }

    fn turnstile(&self) -> Option<&Turnstile> {
        Some(self.memory.turnstile())
    }

    fn passes_descriptors(&self) -> bool {
        true
    }

    fn peer(&self) -> &Peer {
        self.socket.peer()
    }
}

impl Drop for RingStream {
    fn drop(&mut self) {
        self.memory.outgoing().close();
        strike(&self.peer_bell);
    }
}

fn strike(bell: &OwnedFd) {
    // Fails only when nobody listened to 2⁶⁴ - 1 strokes: it is ringing then.
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
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

#[cfg(test)]
mod tests;
