//! The front: connections, who is at their other ends, and what these have asked for.
//!
//! - A peer stands in `peers` from its connection until that is closed. It is in `newcomers`, too,
//!   until its client has said Hello.
//! - `patience` has exactly the times that peers name.

mod asking;
mod large;
mod peer;
mod transacting;
mod under_way;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use farcall_base::{ChannelId, ConnectionId, Crowd, Instant};

use super::Nest;
use crate::access::Entry;
use asking::Asking;
pub use large::{Large, LargeQuestions};
pub use peer::{Caller, Newcomer, Peer, PeerKind, Speaks};
pub use transacting::{Beginner, EarlyFetch, Transacting};
use under_way::UnderWay;
pub use under_way::{Asked, PrincipalNumber};

/// Of `under_way_bytes_max`, what one user with a certificate may have, in percent.
const UNDER_WAY_SHARE_PERCENT: u64 = 50;
/// Bytes of answers that may wait on any connection.
const ANSWERS_LEAST: usize = 64 << 10;
/// Bytes of answers that may wait on a connection when the next large one is made.
const ANSWERS_BEFORE_LARGE: usize = 4 << 10;

/// All connections.
pub struct Front {
    product: String,
    host: String,
    /// What tells this run of the server from others.
    instance: Option<[u8; 16]>,
    peers: BTreeMap<ConnectionId, Peer>,
    /// Clients that have not said Hello, by principal.
    newcomers: Crowd<String, ()>,
    /// What clients have asked for, by principal.
    under_way: UnderWay,
    /// Questions that wait for answers of other plugins.
    asking: Asking,
    /// When patience with peers ends: see [`Peer::patience_until`].
    patience: BTreeSet<(Instant, ConnectionId)>,
    /// Peers that began to leave since the last tick.
    leaving: Vec<ConnectionId>,
    /// Bytes of the frame that came last: what a question counts.
    frame_bytes: u64,
    /// Orders that are being carried out: who gave them, and what they are in words.
    orders: BTreeMap<(ConnectionId, ChannelId), (Arc<Caller>, String)>,
    /// What the last frame asked for: a connection inside a call.
    nest: Option<Nest>,
    /// Clients that have transactions run.
    pub(crate) transacting: Transacting,
    /// Who may do what.
    pub(crate) access: Vec<Entry>,
}

impl Front {
    /// No client is connected; all together may ask for so much at a time, in bytes and in questions for
    /// other plugins.
    pub(crate) fn new((bytes_max, questions_max): (u64, usize), host: String) -> Front {
        Front {
            product: concat!("farcall ", env!("CARGO_PKG_VERSION")).to_owned(),
            host,
            instance: None,
            peers: BTreeMap::new(),
            newcomers: Crowd::default(),
            under_way: UnderWay::new(bytes_max),
            asking: Asking::new(questions_max),
            patience: BTreeSet::new(),
            leaving: Vec::new(),
            frame_bytes: 0,
            orders: BTreeMap::new(),
            nest: None,
            transacting: Transacting::default(),
            access: Vec::new(),
        }
    }

    /// The same, with what tells this run of the server from others.
    pub(crate) fn named(self, instance: Option<[u8; 16]>) -> Front {
        Front { instance, ..self }
    }

    /// What this program is, for people.
    pub(crate) fn product(&self) -> &str {
        &self.product
    }

    /// What tells this host from others.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// What tells this run of the server from others.
    pub(crate) fn instance(&self) -> Option<[u8; 16]> {
        self.instance
    }

    /// Who is at the other end of a connection, unless that is gone.
    pub(crate) fn peer(&self, connection: ConnectionId) -> Option<&Peer> {
        self.peers.get(&connection)
    }

    /// As [`Front::peer`], to change it or to send it something.
    pub(crate) fn peer_mut(&mut self, connection: ConnectionId) -> Option<&mut Peer> {
        self.peers.get_mut(&connection)
    }

    /// All peers.
    pub(crate) fn peers(&self) -> impl Iterator<Item = (ConnectionId, &Peer)> {
        self.peers.iter().map(|(connection, peer)| (*connection, peer))
    }

    /// As [`Front::peers`], to change them.
    pub(crate) fn peers_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.peers.values_mut()
    }

    /// Whether a client is connected.
    pub(crate) fn has_clients(&self) -> bool {
        self.peers.values().any(|peer| matches!(peer.kind, PeerKind::Client { .. }))
    }

    /// Enters a peer; its patience counts from now on.
    pub(crate) fn enter(&mut self, connection: ConnectionId, mut peer: Peer) {
        self.patience.extend(peer.patience_until.map(|until| (until, connection)));
        if let PeerKind::Client { .. } = peer.kind {
            let rights = &peer.caller.rights;
            let percent = if rights.owns_server() { 100 } else { UNDER_WAY_SHARE_PERCENT };
            peer.number = Some(self.under_way.join(rights.principal(), percent));
        }
        self.peers.insert(connection, peer);
    }

    /// A peer that has asked for nothing yet speaks for somebody else from now on.
    pub(crate) fn speak_for(&mut self, connection: ConnectionId, caller: Caller) {
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        if let Some(number) = peer.number.take() {
            self.under_way.leave(connection, number, &peer.asked);
            let principal = caller.rights.principal();
            peer.number = Some(self.under_way.join(principal, UNDER_WAY_SHARE_PERCENT));
        }
        peer.caller = Arc::new(caller);
    }

    /// Takes a peer out of the tables.
    pub(crate) fn remove(&mut self, connection: ConnectionId) -> Option<Peer> {
        self.set_patience(connection, None);
        self.newcomers.remove(connection.0);
        self.asking.forget(connection);
        let peer = self.peers.remove(&connection)?;
        if let Some(number) = peer.number {
            self.under_way.leave(connection, number, &peer.asked);
        }
        Some(peer)
    }

    /// Takes no more from a peer.
    pub(crate) fn begin_to_leave(&mut self, connection: ConnectionId) -> Option<&mut Peer> {
        let peer = self.peers.get_mut(&connection)?;
        peer.leaving = true;
        self.leaving.push(connection);
        Some(peer)
    }

    /// Those that began to leave since this was asked last.
    pub(crate) fn take_leaving(&mut self) -> Vec<ConnectionId> {
        std::mem::take(&mut self.leaving)
    }

    /// When something is due from a peer, if anything is.
    pub(crate) fn set_patience(&mut self, connection: ConnectionId, until: Option<Instant>) {
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        if let Some(before) = std::mem::replace(&mut peer.patience_until, until) {
            self.patience.remove(&(before, connection));
        }
        self.patience.extend(until.map(|until| (until, connection)));
    }

    /// When the next peer must have done what is due from it, and which.
    pub(crate) fn next_patience(&self) -> Option<(Instant, ConnectionId)> {
        self.patience.first().copied()
    }

    /// Connections of a principal's clients, newcomers and those that leave included.
    pub(crate) fn connections_of(&self, principal: &str) -> usize {
        self.under_way.connections_of(principal)
    }

    /// Connections of the principal that this peer's is; 1 for an executable.
    pub(crate) fn connections_beside(&self, peer: &Peer) -> usize {
        peer.number.map_or(1, |number| self.under_way.connections(number))
    }

    /// A client connected that has not said Hello.
    pub(crate) fn begin_newcomer(&mut self, connection: ConnectionId, principal: String) {
        self.newcomers.insert(connection.0, principal, ());
    }

    /// It has; whether it was a newcomer.
    pub(crate) fn end_newcomer(&mut self, connection: ConnectionId) -> bool {
        self.newcomers.remove(connection.0)
    }

    /// How many newcomers there are.
    pub(crate) fn newcomers(&self) -> usize {
        self.newcomers.len()
    }

    /// Connections of all others.
    pub(crate) fn settled(&self) -> usize {
        self.peers.len() - self.newcomers.len()
    }

    /// The oldest newcomer of the principal that has the most.
    pub(crate) fn evict_newcomer(&mut self) -> Option<ConnectionId> {
        self.newcomers.evict().map(ConnectionId)
    }

    /// An order is being carried out.
    pub(crate) fn begin_order(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        words: String,
    ) {
        if let Some(peer) = self.peers.get(&connection) {
            self.orders.insert((connection, channel), (peer.caller.clone(), words));
        }
    }

    /// It was, or was not: who gave it, and what it was.
    pub(crate) fn end_order(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
    ) -> Option<(Arc<Caller>, String)> {
        self.orders.remove(&(connection, channel))
    }

    /// The last frame asked for a connection inside a call.
    pub(crate) fn set_nest(&mut self, nest: Nest) {
        self.nest = Some(nest);
    }

    /// What it asked for, once.
    pub(crate) fn take_nest(&mut self) -> Option<Nest> {
        self.nest.take()
    }
}

/// Questions and answers, in bytes.
impl Front {
    /// A frame of so many bytes came.
    pub(crate) fn frame_came(&mut self, bytes: u32) {
        self.frame_bytes = u64::from(bytes);
    }

    /// A question came in the frame that came last.
    pub(crate) fn count_question(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        channel: ChannelId,
    ) {
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        let Some(number) = peer.number else { return };
        // What a routine asks is not made to wait: the call around it might hold what it waits for.
        peer.asked.presses |= peer.inside.is_some();
        let asked = &mut peer.asked;
        self.under_way.asked((connection, number), channel, self.frame_bytes, asked, now);
    }

    /// It has its answer, which waits to leave.
    pub(crate) fn count_answer(&mut self, connection: ConnectionId, channel: ChannelId) {
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        let Some(number) = peer.number else { return };
        peer.large.leaves |= peer.large.current == Some(channel);
        let waiting = peer.connection.answers_bytes() as u64;
        self.under_way.count_answers((connection, number), waiting, &mut peer.asked);
        self.under_way.answered((connection, number), channel, &mut peer.asked);
    }

    /// Answers may have left.
    pub(crate) fn count_answers(&mut self, connection: ConnectionId) {
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        let Some(number) = peer.number else { return };
        let waiting = peer.connection.answers_bytes() as u64;
        self.under_way.count_answers((connection, number), waiting, &mut peer.asked);
    }

    /// Connections that may be read again.
    pub(crate) fn take_woken(&mut self) -> Vec<ConnectionId> {
        self.under_way.take_woken()
    }

    /// When one is read all the same that has waited for long.
    pub(crate) fn next_look(&self) -> Option<Instant> {
        self.under_way.next_look()
    }

    /// One that has; what is too much is refused from now on.
    pub(crate) fn press(&mut self, now: Instant) -> Option<ConnectionId> {
        let connection = self.under_way.look(now)?;
        if let Some(peer) = self.peers.get_mut(&connection) {
            peer.asked.presses = true;
        }
        Some(connection)
    }

    /// The bound of a peer's principal, if the principal has passed it.
    pub(crate) fn has_too_much(&self, connection: ConnectionId) -> Option<u64> {
        let peer = self.peers.get(&connection)?;
        let number =
            peer.number.filter(|number| self.under_way.is_too_much(*number, &peer.asked))?;
        Some(self.under_way.bound(number))
    }

    /// A connection asks what another plugin is to answer.
    pub(crate) fn ask_plugin(&mut self, connection: ConnectionId) {
        self.asking.begin(connection);
    }

    /// That has answered.
    pub(crate) fn plugin_answered(&mut self, connection: ConnectionId) {
        self.asking.end(connection);
    }

    /// Whether the peer reads so slowly, or asks so much, that nothing more should be taken from it.
    pub(crate) fn is_clogged(&self, connection: ConnectionId, bytes_max: u64) -> bool {
        if self.asking.is_full(connection) {
            return true;
        }
        self.peers.get(&connection).is_some_and(|peer| {
            let waiting = peer.connection.answers_bytes();
            self.under_way.is_paused(connection)
                || peer.connection.is_clogged()
                || (waiting > ANSWERS_LEAST
                    && waiting > answers_share(bytes_max, self.connections_beside(peer)))
        })
    }

    /// Bytes of questions and answers.
    pub(crate) fn bytes_under_way(&self) -> u64 {
        self.under_way.bytes()
    }

    /// A question with a large answer came; whether anybody is there who asks.
    pub(crate) fn ask_large(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        large: Large,
    ) -> bool {
        let peer = self.peers.get_mut(&connection);
        peer.map(|peer| peer.large.waiting.push_back((channel, large))).is_some()
    }

    /// Frames left: whether the last large answer was among them; and then, which other connection
    /// of the principal's has its turn.
    pub(crate) fn large_has_left(
        &mut self,
        connection: ConnectionId,
    ) -> Option<Option<ConnectionId>> {
        let peer = self.peers.get_mut(&connection)?;
        let is_little = peer.connection.answers_bytes() <= ANSWERS_BEFORE_LARGE;
        let number = peer.number.filter(|_| peer.large.leaves && is_little)?;
        (peer.large.current, peer.large.leaves) = (None, false);
        Some(self.under_way.end_large(number))
    }

    /// A connection is gone, and its large answer with it: whose turn it is.
    pub(crate) fn forget_large(
        &mut self,
        number: Option<PrincipalNumber>,
        large: &LargeQuestions,
    ) -> Option<ConnectionId> {
        self.under_way.end_large(number.filter(|_| large.current.is_some())?)
    }

    /// The first large question of a connection that waits, if it may be answered now.
    pub(crate) fn next_large(
        &mut self,
        connection: ConnectionId,
        answer_bytes_max: u64,
    ) -> Option<(ChannelId, Large)> {
        let peer = self.peers.get_mut(&connection)?;
        let number = peer.number.filter(|_| peer.large.current.is_none())?;
        let (channel, large) = peer.large.waiting.front().cloned()?;
        if !self.under_way.begin_large(connection, number, answer_bytes_max) {
            return None;
        }
        peer.large.waiting.pop_front();
        if peer.large.waiting.is_empty() {
            // What a flood made long is given back.
            peer.large.waiting.shrink_to_fit();
        }
        peer.large.current = Some(channel);
        Some((channel, large))
    }
}

/// Bytes of answers that may wait on each of so many connections of one user: what a reader that
/// does not read costs must not grow with the connections that it opens.
fn answers_share(all: u64, connections: usize) -> usize {
    let share = all / connections.max(1) as u64;
    usize::try_from(share).unwrap_or(usize::MAX).max(ANSWERS_LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_nobody_reads_are_bounded_for_all_connections_of_a_user() {
        let all = 512 << 20;
        for connections in [1, 2, 100, 5120] {
            assert!(answers_share(all, connections) * connections <= all as usize, "{connections}");
        }
        assert_eq!((answers_share(all, 0), answers_share(0, 1)), (all as usize, ANSWERS_LEAST));
    }
}
