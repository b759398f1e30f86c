//! Reaching a server on a port of this machine.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::stream::{ByteStream, Proof};

use crate::loopback;
use crate::stream::TcpByteStream;

const OPERATION: &str = "connect";

/// Connects to a server on this machine: `host` is a name or an address of the loopback, IPv4 or
/// IPv6.
///
/// The caller's Hello must carry the server's token, read with [`crate::Token::read`].
///
/// # Errors
/// `Unreachable` when nobody listens, `TimedOut`, `PermissionDenied` when the host is another
/// machine.
pub fn connect(host: &str, port: u16, timeout: Duration) -> Result<Box<dyn ByteStream>> {
    let tunnel = format!(
        "connect to tls://{host}:{port} if its server uses TLS; or use a tunnel: ssh -L \
        {port}:localhost:{port} {host}, then connect to localhost"
    );
    let addresses = loopback::resolve(OPERATION, host, port, &tunnel)?;
    let deadline = Instant::now() + timeout;
    let mut last = None;
    for address in addresses {
        match connect_to(address, deadline) {
            Ok(stream) => return Ok(Box::new(stream)),
            Err(error) => last = Some(error),
        }
    }
    let error = last.expect("a resolved host has an address");
    Err(explain(host, port, error))
}

fn connect_to(address: SocketAddr, deadline: Instant) -> io::Result<TcpByteStream> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let socket = TcpStream::connect_timeout(&address, left)?;
    // Nobody listens on this port, but it is one that the kernel gives to outgoing connections, and
    // it gave it to ours: TCP calls that a connection with itself.
    if socket.local_addr()? == socket.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    TcpByteStream::new(socket, Proof::Address).map(TcpByteStream::blocking)
}

fn explain(host: &str, port: u16, error: io::Error) -> Error {
    let (kind, message, fix) = match error.kind() {
        io::ErrorKind::ConnectionRefused => (
            ErrorKind::Unreachable,
            "nothing listens there",
            "start a server on this port, or check the number",
        ),
        io::ErrorKind::TimedOut => {
            (ErrorKind::TimedOut, "no answer in time", "check whether the server hangs")
        }
        _ => return Error::system(OPERATION, error).with("host", host).with("port", port),
    };
    Error::new(kind, OPERATION, message)
        .with("host", host)
        .with("port", port)
        .fix(fix)
        .source(error)
}
