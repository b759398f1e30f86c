//! A byte stream over a Unix socket; descriptors ride along.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::stream::{BLOCKING_MAX, BlockingReceive, ByteStream, Peer, Proof};
use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

/// Most descriptors that one send carries. A message with more breaks the connection at the
/// receiver.
pub const DESCRIPTORS_MAX: usize = 32;

const CONTROL_BYTES: usize = rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX));

/// A connected Unix stream socket. Whether the descriptor itself blocks does not matter: every call
/// says it must not, so an inherited one keeps the flags that its other users rely on.
pub struct UnixStream {
    socket: OwnedFd,
    peer: Peer,
    /// Whether a receive that does not say it must not block may.
    may_block: bool,
    /// Whether the other end of the socket is who we talk to, and no relay.
    is_direct: bool,
}

impl UnixStream {
    pub(crate) fn new(socket: OwnedFd, peer: Peer) -> UnixStream {
        prepare_stand_ins();
        UnixStream { socket, peer, may_block: false, is_direct: true }
    }

    pub(crate) fn relayed(socket: OwnedFd, peer: Peer) -> UnixStream {
        UnixStream { socket, peer, may_block: false, is_direct: false }
    }

    /// The same where nobody else uses the open socket, so that waiting and receiving can be one.
    pub(crate) fn blocking(mut self) -> UnixStream {
        self.may_block = let_block(self.socket.as_fd()).is_ok();
        self
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl ByteStream for UnixStream {
    fn send(&mut self, parts: &[IoSlice<'_>], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
        // NOSIGNAL: a peer that vanished is an error of this connection, not a SIGPIPE for the
        // process.
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        if descriptors.is_empty() {
            return Ok(net::sendmsg(
                &self.socket,
                parts,
                &mut SendAncillaryBuffer::default(),
                flags,
            )?);
        }
        if !self.is_direct {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "descriptors cannot be sent through a relay",
            ));
        }
        if descriptors.len() > DESCRIPTORS_MAX || parts.iter().all(|part| part.is_empty()) {
            return Err(impossible_descriptors());
        }
        let mut room = [MaybeUninit::uninit(); CONTROL_BYTES];
        let mut control = SendAncillaryBuffer::new(&mut room);
        assert!(
            control.push(SendAncillaryMessage::ScmRights(descriptors)),
            "the room was made for this many"
        );
        Ok(net::sendmsg(&self.socket, parts, &mut control, flags)?)
    }

    fn receive(
        &mut self,
        parts: &mut [IoSliceMut<'_>],
        descriptors: &mut Vec<OwnedFd>,
    ) -> io::Result<usize> {
        receive(self.socket.as_fd(), parts, descriptors, RecvFlags::DONTWAIT)
    }

    fn blocking_receive(&self) -> Option<BlockingReceive> {
        let wait: BlockingReceive = |socket, bytes, descriptors| {
            receive(socket, &mut [IoSliceMut::new(bytes)], descriptors, RecvFlags::empty())
        };
        self.may_block.then_some(wait)
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn passes_descriptors(&self) -> bool {
        self.is_direct
    }

    fn peer(&self) -> &Peer {
        &self.peer
    }
}

fn receive(
    socket: BorrowedFd<'_>,
    parts: &mut [IoSliceMut<'_>],
    descriptors: &mut Vec<OwnedFd>,
    flags: RecvFlags,
) -> io::Result<usize> {
    let mut room = [MaybeUninit::uninit(); CONTROL_BYTES];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let message = net::recvmsg(socket, parts, &mut control, flags | RecvFlags::CMSG_CLOEXEC)?;
    let arrived = control.drain().filter_map(|item| match item {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    if message.flags.contains(ReturnFlags::CTRUNC) {
        // The kernel closed what did not fit; dropping the rest closes them too.
        let rest = arrived.flatten().count();
        let stand_in = if rest == 0 { stand_ins().pop() } else { None };
        descriptors.push(stand_in.ok_or_else(too_many_descriptors)?);
        return Ok(message.bytes);
    }
    descriptors.extend(arrived.flatten());
    Ok(message.bytes)
}

/// Has receives wait for at most [`BLOCKING_MAX`], those that do not say that they must not. With a
/// limit a signal interrupts them, whatever its handler says of system calls that are made again.
fn let_block(socket: BorrowedFd<'_>) -> io::Result<()> {
    net::sockopt::set_socket_timeout(socket, net::sockopt::Timeout::Recv, Some(BLOCKING_MAX))?;
    rustix::io::ioctl_fionbio(socket, false)?;
    Ok(())
}

/// What takes the place of a descriptor that was lost because this process could open no more, so
/// that those behind it stay with their frames. Whoever looks at it gives it back at once: there
/// may be none to be had. Two, because a frame may be cut before the next begins; a peer that sends
/// more at a time loses its connection.
static STAND_INS: Mutex<Vec<OwnedFd>> = Mutex::new(Vec::new());
const STAND_INS_MAX: usize = 2;

fn stand_ins() -> MutexGuard<'static, Vec<OwnedFd>> {
    STAND_INS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn prepare_stand_ins() {
    let mut ready = stand_ins();
    while ready.len() < STAND_INS_MAX {
        let Ok(made) = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC) else {
            return;
        };
        ready.push(made);
    }
}

/// Keeps a stand-in for the next descriptor that is lost.
pub(crate) fn give_back_stand_in(descriptor: OwnedFd) {
    let mut ready = stand_ins();
    if ready.len() < STAND_INS_MAX {
        ready.push(descriptor);
    }
}

/// Whether a descriptor is no more than the place of one that was lost.
pub(crate) fn is_stand_in(descriptor: &OwnedFd) -> bool {
    // What is no file, socket or pipe at all: an eventfd, or some kin of it that is no more use.
    let kind = rustix::fs::fstat(descriptor)
        .map(|status| rustix::fs::FileType::from_raw_mode(status.st_mode));
    kind == Ok(rustix::fs::FileType::Unknown)
}

fn too_many_descriptors() -> io::Error {
    let what = format!(
        "the peer sent more than {DESCRIPTORS_MAX} descriptors at once, or this process is out of \
            them"
    );
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Descriptors without a byte would vanish silently; too many would break the receiver.
pub(crate) fn impossible_descriptors() -> io::Error {
    let what = format!("1 to {DESCRIPTORS_MAX} descriptors ride with at least one byte");
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// Takes over a connected Unix stream socket that somebody else made: an executable's inherited
/// descriptor 0.
///
/// # Errors
/// `InvalidArgument` when it is no Unix stream socket.
pub fn from_descriptor(descriptor: OwnedFd, proof: Proof) -> Result<Box<dyn ByteStream>> {
    Ok(Box::new(unix_stream(descriptor, proof)?))
}

/// Takes over one end of a socket behind whose other end a relay passes bytes on, such as `ssh`.
/// `address` says to people where they go.
pub fn relayed(descriptor: OwnedFd, address: String, proof: Proof) -> Box<dyn ByteStream> {
    Box::new(UnixStream::relayed(descriptor, Peer { address, proof }))
}

pub(crate) fn unix_stream(descriptor: OwnedFd, proof: Proof) -> Result<UnixStream> {
    let wrong = |what: String| {
        Error::new(ErrorKind::InvalidArgument, "take over a connection", what)
            .fix("start the program through the server, which gives it a connected socket")
    };
    let found = net::sockopt::socket_domain(&descriptor).and_then(|domain| {
        let kind = net::sockopt::socket_type(&descriptor)?;
        Ok((domain, kind))
    });
    match found {
        Ok((AddressFamily::UNIX, SocketType::STREAM)) => {}
        Ok(_) => {
            return Err(wrong(
                "the inherited descriptor is a socket, but not a Unix stream socket".into(),
            ));
        }
        Err(errno) => {
            return Err(wrong(format!("the inherited descriptor is not a socket: {errno}")));
        }
    }
    rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC)
        .map_err(|errno| Error::system("take over a connection", errno.into()))?;
    Ok(UnixStream::new(descriptor, Peer { address: "unix:inherited".into(), proof }))
}

/// Two connected streams within this process; one usually moves to a child.
///
/// # Errors
/// `System` when the process is out of descriptors.
pub fn pair() -> Result<(Box<dyn ByteStream>, Box<dyn ByteStream>)> {
    let (one, other) =
        net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(|errno| Error::system("make a pair of sockets", errno.into()))?;
    Ok((from_descriptor(one, Proof::Inherited)?, from_descriptor(other, Proof::Inherited)?))
}
