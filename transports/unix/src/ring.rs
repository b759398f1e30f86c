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

mod flow;
mod memory;

use std::io::{self, ErrorKind as IoErrorKind, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::stream::{ByteStream, Peer, Proof};
use farcall_link::turnstile::Turnstile;
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{self, RecvFlags};

use crate::memory::mapping::Mapping;
use crate::stream::{DESCRIPTORS_MAX, UnixStream, unix_stream};
use flow::{Flow, POSITION_BYTES, Side};
use memory::RingMemory;

/// First bytes on a socket over which rings are offered.
const OFFER: [u8; 8] = *b"FCRINGS\x01";

/// One end.
pub struct RingStream(Flow<Mapping, Beside>);

/// What it has beside the memory.
struct Beside {
    socket: UnixStream,
    bell: OwnedFd,
    peer_bell: OwnedFd,
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
    let mut flow = Flow::new(memory, Beside { socket, bell, peer_bell });
    let riding = [descriptor.as_fd(), flow.side.peer_bell.as_fd(), flow.side.bell.as_fd()];
    match flow.side.socket.send(&[IoSlice::new(&OFFER)], &riding) {
        Ok(count) if count == OFFER.len() => Ok(Box::new(RingStream(flow))),
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
    let flow = Flow::new(RingMemory::adopt(memory)?, Beside { socket, bell, peer_bell });
    // What the other end sent before we asked for it rang no bell.
    strike(&flow.side.bell);
    Ok(Box::new(RingStream(flow)))
}

impl Side for Beside {
    fn strike(&self) {
        strike(&self.peer_bell);
    }

    fn send(
        &mut self,
        position: &[u8; POSITION_BYTES],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<usize> {
        self.socket.send(&[IoSlice::new(position)], descriptors)
    }

    fn receive(
        &mut self,
        position: &mut [u8; POSITION_BYTES],
        descriptors: &mut Vec<OwnedFd>,
    ) -> io::Result<usize> {
        self.socket.receive(&mut [IoSliceMut::new(position)], descriptors)
    }

    fn has_hung_up(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match net::recv(self.socket.descriptor(), &mut [0_u8; 1][..], flags) {
            Ok((_, count)) => count == 0,
            Err(errno) => errno != rustix::io::Errno::AGAIN && errno != rustix::io::Errno::INTR,
        }
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
        self.0.send(parts, descriptors)
    }

    fn receive(
        &mut self,
        parts: &mut [IoSliceMut<'_>],
        descriptors: &mut Vec<OwnedFd>,
    ) -> io::Result<usize> {
        self.0.receive(parts, descriptors)
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.side.bell.as_fd())
    }

    fn hangup(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.side.socket.descriptor())
    }

    fn hold_bell(&mut self, held: bool) {
        self.0.hold_bell(held);
    }

    fn open_turnstile(&mut self) {
        self.0.open_turnstile();
    }

    fn turnstile(&self) -> Option<&Turnstile> {
        Some(self.0.memory.turnstile())
    }

    fn passes_descriptors(&self) -> bool {
        true
    }

    fn peer(&self) -> &Peer {
        self.0.side.socket.peer()
    }
}

fn strike(bell: &OwnedFd) {
    // Fails only when nobody listened to 2⁶⁴ - 1 strokes: it is ringing then.
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
}

#[cfg(test)]
mod tests;
