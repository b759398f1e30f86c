//! What a transport offers: a byte stream between two processes, and a listener that accepts them.
//!
//! A stream receives straight into memory given to it and never blocks; its driver waits on
//! [`ByteStream::readiness`].

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use crate::hosts::CertifiedHosts;
use crate::turnstile::Turnstile;

/// What the transport knows of the other end before a byte was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Where it is, for people: `unix:/run/…`, `127.0.0.1:4711`.
    pub address: String,
    /// What proves who it is.
    pub proof: Proof,
}

/// What proves who the other end is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The kernel says it: user and process of the other end of a Unix socket.
    User {
        /// User id.
        uid: u32,
        /// Process id; 0 when unknown.
        pid: u32,
    },
    /// The certificate that it showed and that our authority signed: it says what it is called.
    Certificate {
        /// Name in the certificate.
        name: String,
    },
    /// The same for a certificate that is a server's: it may ask for other things than users.
    Server {
        /// `server:HOST`, with the host that the certificate names first.
        name: String,
        /// All hosts that the certificate names.
        hosts: CertifiedHosts,
    },
    /// Nothing yet: its Hello must carry this token.
    Token(Arc<[u8]>),
    /// We made both ends ourselves (an inherited socket pair, a simulation).
    Inherited,
    /// Nothing: a server reached over TCP is who its address says.
    Address,
}

/// Receives as [`ByteStream::receive`] does, from the stream's descriptor and without the stream.
/// Waits for the first byte for [`BLOCKING_MAX`] at most.
///
/// # Errors
/// `WouldBlock` when nothing came, `Interrupted` by a signal; others end the connection.
pub type BlockingReceive = fn(BorrowedFd<'_>, &mut [u8], &mut Vec<OwnedFd>) -> io::Result<usize>;

/// How long a [`BlockingReceive`] waits at most.
pub const BLOCKING_MAX: Duration = Duration::from_millis(4);

/// A byte stream between two processes.
pub trait ByteStream: Send {
    /// Sends a prefix of `parts`; the descriptors ride with its first byte. Bytes that were not
    /// taken must be offered again before any others: a stream that encrypts may have prepared
    /// them.
    ///
    /// # Errors
    /// `WouldBlock` when nothing could be taken; others end the connection.
    fn send(&mut self, parts: &[IoSlice<'_>], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize>;

    /// Receives into `parts` in order; `Ok(0)` is the end of the stream. Descriptors that came are
    /// appended.
    ///
    /// # Errors
    /// `WouldBlock` when nothing is there; others end the connection.
    fn receive(
        &mut self,
        parts: &mut [IoSliceMut<'_>],
        descriptors: &mut Vec<OwnedFd>,
    ) -> io::Result<usize>;

    /// The descriptor to wait on; `None` for a stream in virtual time. A socket is readable or
    /// writable for as long as it is; where there is a [`ByteStream::hangup`], this is a bell.
    fn readiness(&self) -> Option<BorrowedFd<'_>>;

    /// How to wait and receive in one system call; `None` where that takes two.
    fn blocking_receive(&self) -> Option<BlockingReceive> {
        None
    }

    /// For a stream whose readiness is a bell: the descriptor that hangs up when the other end has
    /// ended.
    ///
    /// A bell becomes readable once for each time it is struck, and never writable: who waits for
    /// it does so with `EPOLLET`, for bytes and for room alike. It is struck only after
    /// [`ByteStream::receive`] gave less than it had room for, or [`ByteStream::send`] said
    /// `WouldBlock`.
    fn hangup(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// While it is held, the other end's bell is not struck for bytes: for whoever is about to send
    /// more. An end that may sleep lets go first. Nothing for streams without a bell.
    fn hold_bell(&mut self, held: bool) {
        let _ = held;
    }

    /// Opens the turnstile, and strikes the other end's bell: it may have gone to sleep before it.
    fn open_turnstile(&mut self) {}

    /// What both ends see of the calls that have begun, where they share memory.
    fn turnstile(&self) -> Option<&Turnstile> {
        None
    }

    /// For a stream whose peer may lose the right to be there while it is open: whether he still
    /// has it. Asked now and then, also when nothing comes. `None` where nothing can take it away.
    fn standing(&self) -> Option<io::Result<()>> {
        None
    }

    /// What tells the certificate that the other end showed from others of the same authority;
    /// `None` where it showed none. For whoever keeps something in its name when the stream is
    /// gone: see [`Listener::is_revoked`].
    fn certificate(&self) -> Option<String> {
        None
    }

    /// For a stream that this end dialled for a client that is led here: the host that it dialled.
    /// So who proves to be that host is the metaserver that this end joined (spec/wire.md, section 11.2).
    fn led_by(&self) -> Option<&str> {
        None
    }

    /// Whether descriptors, and with them shared memory, can travel.
    fn passes_descriptors(&self) -> bool;

    /// Who is at the other end.
    fn peer(&self) -> &Peer;
}

/// A connection that is one end of a relayed stream (spec/wire.md, section 11.1).
#[derive(Debug)]
pub struct RelayedSocket {
    /// The token that it began with.
    pub token: [u8; 32],
    /// The socket; behind the token nothing was read.
    pub socket: OwnedFd,
    /// Where the other end is, for people.
    pub peer: String,
}

/// Accepts streams.
pub trait Listener: Send {
    /// The next stream; `Ok(None)` when nobody waits.
    ///
    /// # Errors
    /// What the system says; the listener stays usable unless it says otherwise.
    fn accept(&mut self) -> io::Result<Option<Box<dyn ByteStream>>>;

    /// The descriptor to wait on; `None` in virtual time.
    fn readiness(&self) -> Option<BorrowedFd<'_>>;

    /// The address clients connect to, as they write it.
    fn address(&self) -> String;

    /// Whether a certificate was revoked by whose authority clients come in here; see
    /// [`ByteStream::certificate`].
    fn is_revoked(&self, certificate: &str) -> bool {
        let _ = certificate;
        false
    }

    /// The next connection that is one end of a relayed stream.
    fn take_relayed(&mut self) -> Option<RelayedSocket> {
        None
    }

    /// Whether sockets can be given to [`Listener::adopt`].
    fn adopts(&self) -> bool {
        false
    }

    /// Takes a TCP socket as if somebody had connected here: at its other end is a client that the
    /// metaserver on this host led here, or the metaserver itself.
    ///
    /// # Errors
    /// What the system says; `Unsupported` where [`Listener::adopts`] says no.
    fn adopt(&mut self, socket: OwnedFd, host: &str) -> io::Result<()> {
        let _ = (socket, host);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The name of the server, as its certificate proves it, where nobody can connect: clients come
    /// by [`Listener::adopt`] alone.
    fn joined_name(&self) -> Option<String> {
        None
    }

    /// Those who have connected here and have not shown yet who they are: each takes a descriptor.
    fn strangers(&self) -> usize {
        0
    }

    /// No descriptor is left: ends one of the [`Listener::strangers`], of whoever has the most of
    /// them. Whether there was one.
    fn end_stranger(&mut self) -> bool {
        false
    }
}
