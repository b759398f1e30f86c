//! Listening on a port of the loopback.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::stream::{self, ByteStream, Proof};

use crate::stream::TcpByteStream;
use crate::{Token, loopback};

const OPERATION: &str = "listen";
/// Connections that vanished while they waited and are passed over in one accept.
const VANISHED_MAX: usize = 16;

/// A listening port. Every stream it accepts reports the token that its Hello must carry.
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    token: Token,
}

/// What lets other machines in.
fn advice(host: &str, port: u16) -> String {
    let bracketed = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    format!(
        "run `farcall ca init --server HOST` once (HOST: the name that clients write), then \
         `farcall serve --listen tls://{bracketed}:{port}`; or listen on 127.0.0.1"
    )
}

impl Listener {
    /// Whether [`Listener::bind`] would listen there at all: to be asked before a token is made for
    /// it.
    ///
    /// # Errors
    /// `PermissionDenied` for anything beyond the loopback.
    pub fn check(host: &str, port: u16) -> Result<()> {
        loopback::resolve(OPERATION, host, port, &advice(host, port)).map(|_| ())
    }

    /// Listens on `port` (0: any free one) of `host`, a name or an address of the loopback, IPv4 or
    /// IPv6.
    ///
    /// # Errors
    /// `PermissionDenied` for anything beyond the loopback, `Unreachable` when the port is taken.
    pub fn bind(host: &str, port: u16, token: Token) -> Result<Listener> {
        let addresses = loopback::resolve(OPERATION, host, port, &advice(host, port))?;
        let explain = |error| explain(host, port, error);
        let socket = TcpListener::bind(&*addresses).map_err(explain)?;
        socket.set_nonblocking(true).map_err(explain)?;
        let address = socket.local_addr().map_err(explain)?;
        Ok(Listener { socket, address, token })
    }

    /// The port, where any was asked for.
    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

fn explain(host: &str, port: u16, error: io::Error) -> Error {
    let error = match error.kind() {
        io::ErrorKind::AddrInUse => {
            Error::new(ErrorKind::Unreachable, OPERATION, "the port is taken")
                .fix("stop the program that listens there, or choose another port")
                .source(error)
        }
        _ => Error::system(OPERATION, error),
    };
    error.with("host", host).with("port", port)
}

impl stream::Listener for Listener {
    fn accept(&mut self) -> io::Result<Option<Box<dyn ByteStream>>> {
        for _ in 0..VANISHED_MAX {
            let accepted = self.socket.accept().and_then(|(socket, _)| {
                TcpByteStream::new(socket, Proof::Token(self.token.bytes()))
            });
            match accepted {
                Ok(stream) => return Ok(Some(Box::new(stream))),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if vanished(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn address(&self) -> String {
        format!("farcall://{}", self.address)
    }
}

/// The client gave up while it waited: an affair of its own, not of the listener.
fn vanished(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionReset, Interrupted, InvalidInput, NotConnected,
    };
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | Interrupted | NotConnected | InvalidInput
    )
}
