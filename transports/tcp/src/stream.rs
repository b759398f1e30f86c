//! A byte stream over TCP.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::stream::{BLOCKING_MAX, BlockingReceive, ByteStream, Peer, Proof};
use rustix::io::ioctl_fionbio;
use rustix::net::{self, RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags, sockopt};

use crate::loopback;

/// A connected socket between two processes of this machine.
pub struct TcpByteStream {
    socket: OwnedFd,
    peer: Peer,
    /// Whether a receive that does not say it must not block may.
    may_block: bool,
}

impl TcpByteStream {
    pub(crate) fn new(socket: TcpStream, proof: Proof) -> io::Result<TcpByteStream> {
        let peer = Peer { address: socket.peer_addr()?.to_string(), proof };
        loopback::tune(&socket)?;
        Ok(TcpByteStream { socket: socket.into(), peer, may_block: false })
    }

    /// The same where nobody else uses the open socket, so that waiting and receiving can be one.
    pub(crate) fn blocking(mut self) -> TcpByteStream {
        let limit =
            sockopt::set_socket_timeout(&self.socket, sockopt::Timeout::Recv, Some(BLOCKING_MAX));
        self.may_block = limit.and_then(|()| ioctl_fionbio(&self.socket, false)).is_ok();
        self
    }
}

/// Takes over a connected TCP socket that another process made, as `proof` says; it is made
/// close-on-exec.
///
/// # Errors
/// `InvalidArgument` for anything but a connected TCP socket.
pub fn from_descriptor(descriptor: OwnedFd, proof: Proof) -> Result<Box<dyn ByteStream>> {
    let wrong = |what: String| {
        Error::new(ErrorKind::InvalidArgument, "take over a connection", what)
            .fix("start the program through the server, which gives it a connected socket")
    };
    let system = |error: io::Error| {
        wrong(format!("the inherited descriptor is not a TCP connection: {error}"))
    };
    match net::sockopt::socket_domain(&descriptor) {
        Ok(net::AddressFamily::INET | net::AddressFamily::INET6) => {}
        Ok(_) => {
            return Err(wrong("the inherited descriptor is a socket, but not a TCP socket".into()));
        }
        Err(errno) => {
            return Err(wrong(format!("the inherited descriptor is not a socket: {errno}")));
        }
    }
    rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC)
        .map_err(|errno| system(errno.into()))?;
    Ok(Box::new(TcpByteStream::new(TcpStream::from(descriptor), proof).map_err(system)?))
}

impl ByteStream for TcpByteStream {
    fn send(&mut self, parts: &[IoSlice<'_>], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
        if !descriptors.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "descriptors cannot be sent over TCP",
            ));
        }
        // DONTWAIT per call, whatever the socket's own mode; NOSIGNAL, because a peer that vanished
        // is an error of this connection and no SIGPIPE for the process.
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        Ok(net::sendmsg(&self.socket, parts, &mut SendAncillaryBuffer::default(), flags)?)
    }

    fn receive(&mut self, parts: &mut [IoSliceMut<'_>], _: &mut Vec<OwnedFd>) -> io::Result<usize> {
        let message = net::recvmsg(
            &self.socket,
            parts,
            &mut RecvAncillaryBuffer::default(),
            RecvFlags::DONTWAIT,
        )?;
        Ok(message.bytes)
    }

    fn blocking_receive(&self) -> Option<BlockingReceive> {
        let wait: BlockingReceive =
            |socket, bytes, _| Ok(net::recv(socket, bytes, RecvFlags::empty())?.1);
        self.may_block.then_some(wait)
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn passes_descriptors(&self) -> bool {
        false
    }

    fn peer(&self) -> &Peer {
        &self.peer
    }
}
