//! The end of a connection whose client broke a rule, or lost the right to it.
//!
//! A socket that is closed while bytes lie in it takes back what it sent (RFC 1122, 4.2.2.13), and
//! the client would not learn why. So its socket outlives the connection for a moment, and what
//! still comes is thrown away.

use std::collections::BTreeMap;
use std::time::Duration;

use farcall_base::{ConnectionId, Instant};
use farcall_link::Link;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};

use super::Driver;
use super::wires::Interest;
use crate::step::Surroundings;

/// A client that has not read the reason and closed by then does not learn it.
const PATIENCE: Duration = Duration::from_secs(1);
/// Sockets that are kept so; those beyond are closed at once.
const SOCKETS_MAX: usize = 64;

/// Bytes thrown away at a time.
const DISCARD_BYTES: usize = 64 << 10;

/// Sockets of connections that ended, and when each is closed at the latest.
#[derive(Default)]
pub struct Endings {
    sockets: BTreeMap<ConnectionId, (Link, Instant)>,
}

impl Endings {
    /// When the next one is due.
    pub fn next(&self) -> Option<Instant> {
        self.sockets.values().map(|(_, until)| *until).min()
    }

    /// Closes all of them; whether there were any.
    pub fn close_all(&mut self) -> bool {
        !std::mem::take(&mut self.sockets).is_empty()
    }

    /// Closes what is due.
    pub fn close_due(&mut self, now: Instant) {
        self.sockets.retain(|_, (_, until)| *until > now);
    }

    /// Throws away what came; true if there may be more although the socket does not say so.
    pub fn discard(&mut self, connection: ConnectionId) -> bool {
        let Some((link, _)) = self.sockets.get(&connection) else { return false };
        // The socket's own bytes, whatever lies over it: a stream over TLS takes none from a user
        // who lost the right to it.
        let mut bytes = [0; DISCARD_BYTES];
        let socket = link.stream().readiness();
        let taken = socket
            .map(|socket| recv(socket, &mut bytes, RecvFlags::DONTWAIT).map(|(count, _)| count));
        match taken {
            Some(Ok(count)) if count > 0 => return true,
            Some(Err(Errno::AGAIN | Errno::INTR)) => {}
            // The client read it, or is gone.
            _ => drop(self.sockets.remove(&connection)),
        }
        false
    }
}

impl Driver {
    /// The client of a connection broke a rule: it is to learn of it.
    pub(super) fn has_broken(&mut self, connection: ConnectionId) {
        if let Some(wire) = self.wires.get_mut(connection) {
            wire.is_broken = true;
        }
    }

    /// Everything is sent: keeps the socket of a client that broke a rule until he has read it.
    pub(super) fn let_read(&mut self, connection: ConnectionId) {
        let is_client = self.server.executable_of(connection).is_none();
        let is_kept = is_client && self.endings.sockets.len() < SOCKETS_MAX;
        let wire = self.wires.get(connection).filter(|wire| is_kept && wire.is_broken);
        let Some(socket) = wire.filter(|wire| matches!(wire.interest, Interest::Socket(_))) else {
            return;
        };
        let Some(socket) = socket.link.stream().readiness() else { return };
        let is_watched = self.wires.change(socket, connection.0, epoll::EventFlags::IN).is_ok();
        // Fails where the client is gone.
        if is_watched && shutdown(socket, Shutdown::Write).is_ok() {
            let until = self.world.now() + PATIENCE;
            let wire = self.wires.take(connection).expect("it was just looked at");
            self.endings.sockets.insert(connection, (wire.link, until));
            self.wires.look_again(connection);
        }
    }
}
