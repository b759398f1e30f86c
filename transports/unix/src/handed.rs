//! A byte stream over what a relay was given: it hands its standard input and output over, and
//! bytes pass it by.
//!
//! `sshd` joins the relay by two pipes, or by one socket. The relay connects to the server's
//! socket, sends both descriptors with one byte, and waits: for the end of either side. Who is to
//! wait for two pipes needs one descriptor for that: an epoll of them is a bell as
//! [`ByteStream::readiness`] wants it, struck whenever one of them becomes readable or writable.

use std::fs::File;
use std::io::{self, ErrorKind as IoErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use farcall_link::stream::{ByteStream, Peer};
use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::net::{
    self, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

/// What rides with the descriptors.
const OFFER: [u8; 1] = [b'p'];
/// What a pipe is to hold: the most that a user may ask for by default (pipe(7)). `ssh` fills and
/// empties it a piece at a time, and each wakes the other less often.
const PIPE_BYTES: usize = 1 << 20;

/// One end: the server's.
pub struct HandedStream {
    /// Over which it was handed; its end is the relay's.
    socket: OwnedFd,
    bell: OwnedFd,
    /// Input and output, when they have come.
    pipes: Option<(File, File)>,
    peer: Peer,
}

impl HandedStream {
    /// Of a relay that has connected.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(socket: OwnedFd, peer: Peer) -> io::Result<HandedStream> {
        let bell = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        strike_for(&bell, socket.as_fd(), epoll::EventFlags::IN)?;
        Ok(HandedStream { socket, bell, pipes: None, peer })
    }

    /// The pipes, once they have come.
    fn pipes(&mut self) -> io::Result<&mut (File, File)> {
        if self.pipes.is_none() {
            self.pipes = Some(self.take()?);
        }
        self.pipes.as_mut().ok_or_else(|| IoErrorKind::WouldBlock.into())
    }

    fn take(&self) -> io::Result<(File, File)> {
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = RecvAncillaryBuffer::new(&mut room);
        let mut offer = OFFER;
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let message =
            net::recvmsg(&self.socket, &mut [IoSliceMut::new(&mut offer)], &mut control, flags)?;
        let handed: Vec<OwnedFd> = control
            .drain()
            .filter_map(|item| match item {
                RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
                _ => None,
            })
            .flatten()
            .collect();
        if message.bytes == 0 {
            return Err(IoErrorKind::ConnectionReset.into());
        }
        let Ok([input, output]) = <[OwnedFd; 2]>::try_from(handed) else {
            return Err(io::Error::new(
                IoErrorKind::InvalidData,
                "a relay hands two descriptors over",
            ));
        };
        for (descriptor, direction) in
            [(&input, epoll::EventFlags::IN), (&output, epoll::EventFlags::OUT)]
        {
            rustix::io::ioctl_fionbio(descriptor, true)?;
            // Sockets have no such size, and a user may have too many pipes.
            let _ = rustix::pipe::fcntl_setpipe_size(descriptor, PIPE_BYTES);
            strike_for(&self.bell, descriptor.as_fd(), direction)?;
        }
        Ok((input.into(), output.into()))
    }

    /// Whether the relay is gone, and with it the other end of all that it handed over.
    fn is_over(&self) -> bool {
        let mut watched = [PollFd::new(&self.socket, PollFlags::RDHUP)];
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut watched, Some(&now)).is_ok_and(|count| count > 0)
    }
}

fn strike_for(
    bell: &OwnedFd,
    descriptor: BorrowedFd<'_>,
    direction: epoll::EventFlags,
) -> io::Result<()> {
    let flags = direction | epoll::EventFlags::ET;
    Ok(epoll::add(bell, descriptor, epoll::EventData::new_u64(0), flags)?)
}

impl ByteStream for HandedStream {
    fn send(&mut self, parts: &[IoSlice<'_>], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
        if !descriptors.is_empty() {
            return Err(io::Error::new(
                IoErrorKind::InvalidInput,
                "descriptors cannot be sent through a relay",
            ));
        }
        self.pipes()?.1.write_vectored(parts)
    }

    fn receive(&mut self, parts: &mut [IoSliceMut<'_>], _: &mut Vec<OwnedFd>) -> io::Result<usize> {
        let received = self.pipes()?.0.read_vectored(parts);
        match received {
            Err(error) if error.kind() == IoErrorKind::WouldBlock && self.is_over() => Ok(0),
            received => received,
        }
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        Some(self.bell.as_fd())
    }

    fn hangup(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn passes_descriptors(&self) -> bool {
        false
    }

    fn peer(&self) -> &Peer {
        &self.peer
    }
}

/// Hands input and output over to a server that listens for relays.
///
/// # Errors
/// What the system says.
pub fn hand_over(
    socket: BorrowedFd<'_>,
    input: BorrowedFd<'_>,
    output: BorrowedFd<'_>,
) -> io::Result<()> {
    let descriptors = [input, output];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut room);
    assert!(
        control.push(SendAncillaryMessage::ScmRights(&descriptors)),
        "the room was made for this many"
    );
    net::sendmsg(socket, &[IoSlice::new(&OFFER)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}
