//! Reaching a server over a network.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::stream::{ByteStream, Peer, Proof};
use farcall_wire::{RELAY_HEAD_BYTES, RelayToken};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::ClientConfig;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;

use crate::choice::Choice;
use crate::credentials::{Credentials, Whose, default_credentials};
use crate::handshake::{Handshake, Progress};
use crate::refusal::View;
use crate::stream::TlsByteStream;
use crate::{config, socket};

const OPERATION: &str = "connect";
/// Time after which a server whose machine answers nothing is given up, though nobody waits for it.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Connects to `host`, a name or an address that the server's certificate has, and shows the
/// certificate in `credentials` (by default [`default_credentials`]). Where that is a folder, it
/// shows the one from the server's authority.
///
/// # Errors
/// As [`Credentials::read`]; `Unreachable` when nobody listens, `TimedOut`, `PermissionDenied` when
/// one end does not accept the other's certificate or no file of a folder is from the server's
/// authority, `Protocol` when there is no Farcall behind the port. What the server has against a
/// certificate may come with the first bytes that are received.
pub fn connect(
    host: &str,
    port: u16,
    credentials: Option<&Path>,
    timeout: Duration,
) -> Result<Box<dyn ByteStream>> {
    let deadline = Instant::now() + timeout;
    let at = |trouble: Error| trouble.with("host", host).with("port", port);
    shown(credentials, at, |config| connect_with(config, host, port, deadline))
}

/// The same for a server that `reach` leads to, as often as it is asked, by a socket and words for
/// people that say where it goes. `host` is a host that the server's certificate names.
///
/// # Errors
/// As [`connect`], and what `reach` says.
pub fn connect_through(
    host: &str,
    credentials: Option<&Path>,
    timeout: Duration,
    reach: impl Fn() -> Result<(OwnedFd, String)>,
) -> Result<Box<dyn ByteStream>> {
    let deadline = Instant::now() + timeout;
    let at = |trouble: Error| trouble.with("host", host);
    shown(credentials, at, |config| prove(config, host, deadline, |_| reach()))
}

/// A TCP connection to a port over which nothing has been said.
///
/// # Errors
/// `Unreachable`, `TimedOut`.
pub fn reach_port(host: &str, port: u16, timeout: Duration) -> Result<OwnedFd> {
    let reached = reach(host, port, Instant::now() + timeout);
    reached.map(|(socket, _)| socket).map_err(|error| error.with("host", host).with("port", port))
}

/// The same to a metaserver: it is one end of the relayed stream with this token.
///
/// # Errors
/// As [`reach_port`].
pub fn reach_stream(
    host: &str,
    port: u16,
    token: &RelayToken,
    timeout: Duration,
) -> Result<OwnedFd> {
    let stream = reach_port(host, port, timeout)?;
    // What is sent first fits into any socket's buffer.
    let sent = socket::send(&stream, &token.head());
    let lost = |error: io::Error| {
        Error::new(ErrorKind::ConnectionLost, OPERATION, format!("the connection broke: {error}"))
    };
    match sent.map_err(lost)? {
        RELAY_HEAD_BYTES => Ok(stream),
        _ => Err(Error::internal(OPERATION, "a fresh socket took only a part of what was sent")),
    }
}

/// Connects, and shows what is in `credentials`. What is wrong with them says where that was.
fn shown(
    credentials: Option<&Path>,
    at: impl Fn(Error) -> Error,
    connect: impl Fn(Arc<ClientConfig>) -> Result<Box<dyn ByteStream>>,
) -> Result<Box<dyn ByteStream>> {
    let mut places = credentials.map_or_else(default_credentials, |path| vec![path.to_owned()]);
    if !places.iter().any(|place| place.is_dir()) {
        // The first of them is where it is missed.
        places.truncate(1);
        let credentials = Credentials::read(&places[0], Whose::User)?;
        return connect(config::client(&credentials)?);
    }
    let choice = Arc::new(Choice::between(&places)?);
    let mut reached = connect(config::client_by(&choice)?);
    if reached.is_err() && choice.knows_more() {
        reached = connect(config::client_by(&choice)?);
    }
    reached.map_err(|error| choice.take_trouble().map_or(error, at))
}

/// The same over a stream socket behind which somebody passes bytes on to the server called `host`;
/// `address` says to people where they go.
///
/// # Errors
/// As [`connect`], but for what has to do with reaching a host.
pub fn connect_over(
    socket: OwnedFd,
    (host, address): (&str, String),
    credentials: &Path,
    timeout: Duration,
) -> Result<Box<dyn ByteStream>> {
    let config = config::client(&Credentials::read(credentials, Whose::User)?)?;
    prove(config, host, Instant::now() + timeout, |_| Ok((socket, address)))
}

pub(crate) fn connect_with(
    config: Arc<ClientConfig>,
    host: &str,
    port: u16,
    deadline: Instant,
) -> Result<Box<dyn ByteStream>> {
    let reached = prove(config, host, deadline, |host| {
        let (socket, peer) = reach(host, port, deadline)?;
        Ok((socket, format!("{peer}")))
    });
    reached.map_err(|error| error.with("port", port))
}

/// Both ends show their certificates over what `reach` leads to.
fn prove(
    config: Arc<ClientConfig>,
    host: &str,
    deadline: Instant,
    reach: impl FnOnce(&str) -> Result<(OwnedFd, String)>,
) -> Result<Box<dyn ByteStream>> {
    let at = |error: Error| error.with("host", host);
    // Brackets are how a URL writes an IPv6 address.
    let host = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    let name = ServerName::try_from(host.to_owned()).map_err(|_| {
        at(Error::new(ErrorKind::InvalidArgument, OPERATION, "this is not a host name")
            .fix("check its spelling"))
    })?;
    let (socket, address) = reach(host).map_err(at)?;
    let engine = UnbufferedClientConnection::new(config, name)
        .map_err(|error| at(Error::internal(OPERATION, error.to_string())))?;
    let mut handshake = Handshake::new(engine);
    shake_hands(&mut handshake, &socket, host, deadline).map_err(at)?;
    let peer = Peer { address, proof: Proof::Address };
    Ok(Box::new(TlsByteStream::new(handshake.into_records(), socket, peer, None)))
}

fn reach(host: &str, port: u16, deadline: Instant) -> Result<(OwnedFd, SocketAddr)> {
    let addresses = (host, port).to_socket_addrs().map_err(|error| {
        Error::new(ErrorKind::Unreachable, OPERATION, format!("the host does not resolve: {error}"))
            .fix("check its spelling")
            .source(error)
    })?;
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in addresses {
        match reach_at(address, deadline) {
            Ok(socket) => return Ok((socket, address)),
            Err(error) => last = error,
        }
    }
    Err(unreachable(last))
}

fn reach_at(address: SocketAddr, deadline: Instant) -> io::Result<OwnedFd> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let stream = TcpStream::connect_timeout(&address, left)?;
    // TCP joins a port that nobody listens at with itself, if the kernel gave it to this very
    // connection.
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    let socket = OwnedFd::from(stream);
    socket::tune(&socket, address, SILENCE_MAX)?;
    Ok(socket)
}

fn unreachable(error: io::Error) -> Error {
    let (kind, message, fix) = match error.kind() {
        io::ErrorKind::ConnectionRefused => (
            ErrorKind::Unreachable,
            "nothing listens there".to_owned(),
            "start a server with this port, or check both",
        ),
        io::ErrorKind::TimedOut => (
            ErrorKind::TimedOut,
            "no answer in time".to_owned(),
            "look whether a firewall is between, and the host is up",
        ),
        _ => (
            ErrorKind::Unreachable,
            format!("the host cannot be reached: {error}"),
            "check host and network",
        ),
    };
    Error::new(kind, OPERATION, message).fix(fix).source(error)
}

fn shake_hands(
    handshake: &mut Handshake<UnbufferedClientConnection>,
    socket: &OwnedFd,
    host: &str,
    deadline: Instant,
) -> Result<()> {
    loop {
        let flags = match handshake.advance(socket, || View::Client(host)) {
            Ok(Progress::Done) => return Ok(()),
            Ok(Progress::WaitsForBytes) => PollFlags::IN,
            Ok(Progress::WaitsForRoom) => PollFlags::OUT,
            Err(error) => {
                handshake.farewell(socket);
                return Err(at_end(error));
            }
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::new(
                ErrorKind::TimedOut,
                OPERATION,
                "the server accepted, but said nothing in time",
            )
            .fix("check whether it hangs, and whether it speaks TLS there"));
        }
        let timeout = Timespec::try_from(left).ok();
        // Errors and interruptions look like readiness: the next step tells.
        let _ = poll(&mut [PollFd::new(socket, flags)], timeout.as_ref());
    }
}

/// A server that ends the connection without a word.
fn at_end(error: Error) -> Error {
    match error.kind() {
        ErrorKind::ConnectionLost => error
            .fix("the server's audit log says why; or this is not the port of a Farcall server"),
        _ => error,
    }
}
