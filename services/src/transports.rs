//! How a plugin reaches other nodes, and is reached: streams by address, from the transports that
//! the binary has.
//!
//! No plugin fills this slot: transports are the binary's, which hands them to its node
//! (`Node::start_with`).

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::stream::{ByteStream, Listener};
use farcall_wire::RelayToken;

/// The slot.
pub const SLOT: &str = "transports";

/// The transports of a binary.
pub trait Transports: Send + Sync {
    /// Listens at an address, as a server's `listen` has it: `unix:PATH`, `tcp:HOST:PORT`,
    /// `tls://HOST:PORT`.
    ///
    /// # Errors
    /// `InvalidArgument` for no such address, `System` when nobody may listen there.
    fn listen(&self, address: &str) -> Result<Box<dyn Listener>>;

    /// Reaches a node at an address, as clients write it, within a time. Nothing has been said over
    /// the stream.
    ///
    /// # Errors
    /// `InvalidArgument` for no such address, `Unreachable`, `TimedOut`, `PermissionDenied`.
    fn dial(&self, address: &str, patience: Duration) -> Result<Box<dyn ByteStream>>;

    /// Whether servers that are reached by `tls://` take this node for its user, and not for a
    /// server.
    fn dials_as_user(&self) -> bool {
        false
    }

    /// Reaches the server of this name, `tls://HOST` or `tls://HOST:PORT`, over a relayed stream that
    /// waits with this token at one of these ports. Nothing has been said over the stream.
    ///
    /// # Errors
    /// As [`Transports::dial`].
    fn dial_led(
        &self,
        server: &str,
        ports: &[String],
        token: &RelayToken,
        patience: Duration,
    ) -> Result<Box<dyn ByteStream>> {
        let _ = (ports, token, patience);
        let message = format!("\"{server}\" is no server that these transports reach");
        Err(Error::new(ErrorKind::InvalidArgument, "reach another node", message))
    }

    /// The two ends of a stream within this process.
    ///
    /// # Errors
    /// `System` when there are no descriptors left.
    fn pair(&self) -> Result<[Box<dyn ByteStream>; 2]> {
        let message = "these transports have none";
        Err(Error::new(ErrorKind::Unavailable, "make a stream within the process", message))
    }

    /// A TCP connection to a node's port for TLS, `tls://HOST:PORT`, over which nothing has been
    /// said; with a token, one that is an end of the relayed stream with this token.
    ///
    /// # Errors
    /// As [`Transports::dial`].
    fn reach(
        &self,
        address: &str,
        token: Option<&RelayToken>,
        patience: Duration,
    ) -> Result<OwnedFd> {
        let _ = (token, patience);
        let message = format!("\"{address}\" is no port that these transports reach");
        Err(Error::new(ErrorKind::InvalidArgument, "reach another node", message))
    }
}

/// What plugins get.
#[derive(Clone)]
pub struct TransportsHandle(Arc<dyn Transports>);

impl TransportsHandle {
    /// A handle on these.
    pub fn new(transports: impl Transports + 'static) -> TransportsHandle {
        TransportsHandle(Arc::new(transports))
    }

    /// As [`Transports::listen`].
    ///
    /// # Errors
    /// As there.
    pub fn listen(&self, address: &str) -> Result<Box<dyn Listener>> {
        self.0.listen(address)
    }

    /// As [`Transports::dial`].
    ///
    /// # Errors
    /// As there.
    pub fn dial(&self, address: &str, patience: Duration) -> Result<Box<dyn ByteStream>> {
        self.0.dial(address, patience)
    }

    /// As [`Transports::dials_as_user`].
    pub fn dials_as_user(&self) -> bool {
        self.0.dials_as_user()
    }

    /// As [`Transports::dial_led`].
    ///
    /// # Errors
    /// As there.
    pub fn dial_led(
        &self,
        server: &str,
        ports: &[String],
        token: &RelayToken,
        patience: Duration,
    ) -> Result<Box<dyn ByteStream>> {
        self.0.dial_led(server, ports, token, patience)
    }

    /// As [`Transports::pair`].
    ///
    /// # Errors
    /// As there.
    pub fn pair(&self) -> Result<[Box<dyn ByteStream>; 2]> {
        self.0.pair()
    }

    /// As [`Transports::reach`].
    ///
    /// # Errors
    /// As there.
    pub fn reach(
        &self,
        address: &str,
        token: Option<&RelayToken>,
        patience: Duration,
    ) -> Result<OwnedFd> {
        self.0.reach(address, token, patience)
    }
}
