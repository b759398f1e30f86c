//! The end of a connection whose client lost the right to it: his certificate was revoked, or
//! expired.
//!
//! A client that says nothing, or waits for a long call, gives no occasion to look. So there is a
//! look once in a while, as long as there is a connection that can lose its standing; a server
//! without any sleeps.

use std::collections::BTreeSet;
use std::time::Duration;

use farcall_base::{ConnectionId, Error, ErrorKind, Instant};
use farcall_link::stream::ByteStream;

use super::Driver;
use crate::step::Surroundings;

/// What is documented as "within a second" must be seen, told and carried out in one.
const LOOK_EVERY: Duration = Duration::from_millis(900);

/// Connections that can lose their standing, and when they are looked at next.
#[derive(Default)]
pub struct Standings {
    connections: BTreeSet<ConnectionId>,
    /// Whether calls go on for somebody who showed a certificate, without his connection perhaps.
    has_kept: bool,
    next: Option<Instant>,
}

impl Standings {
    /// A connection begins.
    pub fn watch(&mut self, connection: ConnectionId, stream: &dyn ByteStream, now: Instant) {
        if stream.standing().is_some() {
            self.connections.insert(connection);
            self.next.get_or_insert(now + LOOK_EVERY);
        }
    }

    /// It is over.
    pub fn forget(&mut self, connection: ConnectionId) {
        self.connections.remove(&connection);
        self.sleep_if_none();
    }

    /// Whether calls are kept for those who showed certificates.
    pub fn keep(&mut self, has_kept: bool, now: Instant) {
        if self.has_kept != has_kept {
            self.has_kept = has_kept;
            self.next.get_or_insert(now + LOOK_EVERY);
            self.sleep_if_none();
        }
    }

    fn sleep_if_none(&mut self) {
        if self.connections.is_empty() && !self.has_kept {
            self.next = None;
        }
    }

    /// When they are to be looked at.
    pub fn next(&self) -> Option<Instant> {
        self.next
    }
}

impl Driver {
    /// Ends the calls that are kept for those whose certificates were revoked.
    pub(super) fn look_at_kept(&mut self) {
        for certificate in self.server.certificates_of_kept() {
            if self.doors.listeners.iter().any(|listener| listener.is_revoked(&certificate)) {
                self.server.revoke(&mut self.world, &certificate);
            }
        }
    }

    /// Tells those who lost their standing why, and closes their connections, which ends their
    /// calls.
    pub(super) fn look_at_standings(&mut self) {
        let now = self.world.now();
        self.standings.keep(self.server.has_certificates_of_kept(), now);
        if self.standings.next.is_none_or(|at| at > now) {
            return;
        }
        self.standings.next = Some(now + LOOK_EVERY);
        self.look_at_kept();
        for connection in self.standings.connections.iter().copied().collect::<Vec<_>>() {
            let standing =
                self.wires.get(connection).and_then(|wire| wire.link.stream().standing());
            let Some(Err(error)) = standing else { continue };
            // Once: until all that it is told has left, it stays among the open ones.
            self.standings.forget(connection);
            if self.server.is_leaving(connection) {
                continue;
            }
            let error = error.downcast::<Error>().unwrap_or_else(|other| {
                Error::new(ErrorKind::PermissionDenied, "keep a connection open", other.to_string())
            });
            self.has_broken(connection);
            self.server.broken(connection, &error);
            self.flush(connection);
        }
    }
}
