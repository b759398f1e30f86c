//! Clients that connect, and who of them finds room.
//!
//! A connection is a newcomer until its client has said Hello (and shown the token, where it needs
//! one). Newcomers have a bound of their own, so that whoever connects and says nothing takes no
//! place of those who do: when there are more, the principal with the most of them loses its
//! oldest. Of the places of `connections_max` one user with a certificate has a share, and some are
//! kept for the server's own user.

use std::sync::Arc;

use farcall_base::{ConnectionId, Error, ErrorKind, Instant, Result};
use farcall_call::{Connection, Setup};
use farcall_wire::{COMPRESSION, RESUME, SHARED_RESULTS, kept};

use crate::access::Rights;
use crate::state::{Action, Newcomer, Peer, PeerKind, Resuming};
use crate::step::Server;

/// Of `connections_max`, what is kept for the server's own user: one place in so many, and at least
/// one.
const OWN_SHARE: usize = 10;

impl Server {
    /// A client connected.
    pub fn accepted(&mut self, connection: ConnectionId, mut newcomer: Newcomer, now: Instant) {
        let principal = newcomer.caller.rights.principal().to_owned();
        // Who finds no room now is told so before anything else; who finds some may lose it to
        // others until it greets.
        let others = self.state.front.settled();
        let own = self.state.front.connections_of(&principal);
        let refusal = self.check_room(&newcomer.caller.rights, others, own).err();
        newcomer.refusal = newcomer.refusal.or(refusal);
        self.add_client(connection, newcomer, now);
        self.state.front.begin_newcomer(connection, principal);
    }

    /// The same for a connection that is counted with what it belongs to, and not among newcomers.
    pub(in crate::step) fn add_client(
        &mut self,
        connection: ConnectionId,
        newcomer: Newcomer,
        now: Instant,
    ) {
        let Newcomer { caller, shares_memory, token, refusal } = newcomer;
        // Whoever shares memory is sent nothing that could be compressed.
        let compresses = self.state.limits.compresses && !shares_memory;
        let mut hello = self.hello(compresses.then_some(COMPRESSION));
        hello.features.push(RESUME.to_owned());
        if shares_memory {
            hello.features.push(SHARED_RESULTS.to_owned());
        }
        hello.attributes.extend(self.state.front.instance().map(kept::instance));
        let mut machine = Connection::new(Setup { hello, initiator: false, token });
        if let Some(error) = &refusal {
            machine.goodbye(Some(error));
        }
        self.state.counters.connected += 1;
        let peer = Peer {
            counted: self.state.counters.principal(caller.rights.principal()),
            connection: machine,
            shares_memory,
            caller: Arc::new(caller),
            kind: PeerKind::Client { calls: Default::default(), segments: Default::default() },
            patience_until: Some(now + self.state.limits.greeting_max),
            leaving: refusal.is_some(),
            moved: now,
            has_sent: false,
            said_goodbye: false,
            inside: None,
            resuming: Resuming::default(),
            number: None,
            asked: Default::default(),
            large: Default::default(),
        };
        self.state.add_peer(connection, peer);
        if let Some(error) = refusal {
            self.audit_connection(connection, &error);
        }
    }

    /// A client said who it is: from here on its connection counts among all.
    ///
    /// # Errors
    /// `LimitExceeded` where there is no room for it.
    pub(in crate::step) fn settle_newcomer(&mut self, connection: ConnectionId) -> Result<()> {
        let Some(caller) = self.state.front.peer(connection).map(|peer| peer.caller.clone()) else {
            return Ok(());
        };
        // What is inside a call has a bound by call.
        if !self.state.front.end_newcomer(connection) {
            return Ok(());
        }
        let others = self.state.front.settled() - 1;
        let own = self.state.front.connections_of(caller.rights.principal()) - 1;
        self.check_room(&caller.rights, others, own)
    }

    /// Whether there is room for one more client beside `others` that have greeted, and `own` of
    /// the same user.
    fn check_room(&self, rights: &Rights, others: usize, own: usize) -> Result<()> {
        let limits = &self.state.limits;
        let most =
            if rights.owns_server() { limits.own_connections_max } else { limits.connections_max };
        let kept_back =
            if rights.owns_server() || most < 2 { 0 } else { (most / OWN_SHARE).max(1) };
        if others >= most - kept_back {
            return Err(full("the server has too many connections").with("connections_max", most));
        }
        let share = (most as u64).saturating_mul(self.state.limits.connections_share_percent) / 100;
        if !rights.owns_server() && own as u64 >= share.max(1) {
            return Err(full("this user has too many connections to the server")
                .with("connections_max", most)
                .with("connections_share_percent", self.state.limits.connections_share_percent));
        }
        Ok(())
    }

    /// No descriptor is left for another connection: a newcomer goes, or else a connection of
    /// whoever has the most, the server's own user excepted. Which one, for the driver to close.
    pub fn make_room(&mut self) -> Option<ConnectionId> {
        let newcomer = self.state.front.evict_newcomer();
        let connection = newcomer.or_else(|| self.one_of_the_most())?;
        let message = "the server has no file descriptors left, and others connected";
        let error = Error::new(ErrorKind::LimitExceeded, "keep a connection", message)
            .fix(
                "close connections, or start the server with a higher limit on open files \
                (ulimit -n)",
            )
            .retryable();
        self.broken(connection, &error);
        Some(connection)
    }

    /// Of the connections of the principal that has the most of them, the last one; one without
    /// open calls before others.
    fn one_of_the_most(&self) -> Option<ConnectionId> {
        let strangers = self.state.front.peers().filter(|(_, peer)| {
            peer.inside.is_none() && peer.number.is_some() && !peer.caller.rights.owns_server()
        });
        let connections = |peer: &Peer| self.state.front.connections_beside(peer);
        let is_idle =
            |peer: &Peer| matches!(&peer.kind, PeerKind::Client { calls, .. } if calls.is_empty());
        let most = strangers
            .max_by_key(|(connection, peer)| (connections(peer), is_idle(peer), *connection));
        most.map(|(connection, _)| connection)
    }

    /// Ends newcomers that are too many. It comes after all that they sent was read: those who
    /// greet at once stay.
    pub(in crate::step) fn end_newcomers(&mut self) {
        let most = self.state.limits.greetings_max;
        while self.state.front.newcomers() > most
            && let Some(connection) = self.state.front.evict_newcomer()
        {
            if self.is_leaving(connection) {
                self.state.out.act(Action::Close(connection));
                continue;
            }
            let error = Error::new(
                ErrorKind::LimitExceeded,
                "connect",
                "too many clients were connecting, and this one had not sent its Hello",
            )
            .with("greetings_max", most)
            .fix("raise greetings_max in farcall.toml if many clients connect at the same time")
            .retryable();
            self.broken(connection, &error);
        }
    }
}

fn full(message: &str) -> Error {
    Error::new(ErrorKind::LimitExceeded, "accept a connection", message.to_owned())
        .fix("close connections, try again later, or raise connections_max in farcall.toml")
        .retryable()
}
