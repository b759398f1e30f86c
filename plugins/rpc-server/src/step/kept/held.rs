//! Outcomes that connections hold until their clients show that they have them, in case that the
//! connection is lost.

use std::sync::Arc;

use farcall_base::{ChannelId, ConnectionId};
use farcall_wire::Keep;

use super::keep::is_shared;
use crate::state::{Finished, Kept, Outcome, Recorded, Resuming};
use crate::step::{Server, Surroundings};

impl Server {
    pub(in crate::step) fn may_hold(&self, connection: ConnectionId, finished: &Finished) -> bool {
        let is_shared = finished.call.as_ref().is_some_and(|call| is_shared(&call.open));
        if self.state.kept.clients.is_empty() || is_shared {
            return false;
        }
        let Some(peer) =
            self.state.front.peer(connection).filter(|peer| peer.resuming.keep.is_some())
        else {
            return false;
        };
        let principal = peer.caller.rights.principal();
        self.state.kept.room.may_hold(principal, finished.bytes(), &self.state.limits.keep)
    }

    pub(in crate::step) fn hold(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        finished: Arc<Finished>,
    ) {
        let bytes = finished.bytes();
        if let Some(peer) = self.state.front.peer_mut(connection) {
            // The channel was free, so that nothing is held there.
            peer.resuming.held.insert(channel, finished);
            self.state.kept.room.hold(peer.caller.rights.principal(), bytes);
        }
    }

    /// So many bytes are to be kept in memory because somebody asked for that: what connections
    /// hold in case that they are lost makes room, beginning with those of whoever holds the most.
    pub(in crate::step) fn make_room_to_keep(
        &mut self,
        surroundings: &mut dyn Surroundings,
        bytes: u64,
    ) {
        while let Some(principal) =
            self.state.kept.room.holds_too_much(bytes, &self.state.limits.keep)
        {
            let principal = principal.to_owned();
            let theirs = self
                .state
                .front
                .peers_mut()
                .filter(|peer| peer.caller.rights.principal() == principal);
            let most = theirs.max_by_key(|peer| peer.resuming.held.len());
            let Some(peer) = most.filter(|peer| !peer.resuming.held.is_empty()) else { return };
            let held = std::mem::take(&mut peer.resuming.held);
            let client = peer.resuming.client.clone();
            for finished in held.into_values() {
                self.state.kept.room.hold_less(&principal, finished.bytes());
                client
                    .iter()
                    .for_each(|client| self.state.kept.clients.is_gone(client, finished.id));
                self.let_go(surroundings, finished);
            }
        }
    }

    /// A client shows that it has the last outcome of a channel.
    pub(in crate::step) fn acknowledged(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
    ) {
        if !self.state.kept.room.has_held() {
            return;
        }
        let Some(peer) = self.state.front.peer_mut(connection) else { return };
        let Some(finished) = peer.resuming.held.remove(channel) else { return };
        self.state.kept.room.hold_less(peer.caller.rights.principal(), finished.bytes());
        self.let_go(surroundings, finished);
    }

    /// A connection is lost: outcomes that its client may not have are kept for it.
    pub(in crate::step) fn keep_held(
        &mut self,
        surroundings: &mut dyn Surroundings,
        principal: &str,
        resuming: Resuming,
    ) {
        let now = surroundings.now();
        for finished in resuming.held.into_values() {
            let bytes = finished.bytes();
            let limits = self.state.limits.keep;
            self.state.kept.room.hold_less(principal, bytes);
            let room = self.state.kept.room.check_room(principal, bytes, false, &limits);
            let has_room = room.is_ok() && self.state.kept.room.may_hold(principal, bytes, &limits);
            // Another call may have the id of one that has ended.
            let is_free =
                !self.state.calls.has_id(&finished.id) && !self.state.kept.has(&finished.id);
            let Some(keep) = resuming.keep.filter(|_| has_room && is_free) else {
                if let Some(client) = &resuming.client {
                    self.state.kept.clients.is_gone(client, finished.id);
                }
                self.let_go(surroundings, finished);
                continue;
            };
            let routine =
                finished.call.as_ref().map_or(String::new(), |call| call.routine.name.clone());
            let kept = Kept {
                principal: principal.to_owned(),
                routine,
                keep: Keep {
                    after_end_us: u64::try_from(keep.as_micros()).unwrap_or(u64::MAX),
                    durable: false,
                },
                client: resuming.client.clone(),
                asked: false,
                accepted: true,
                outcome: Outcome::Ended(finished.clone()),
                bytes,
                expires: Some(now + keep),
                waits: None,
                certificate: None,
                recorded: Recorded::No,
                storing: false,
                complained: false,
                note: None,
            };
            self.state.kept.insert(finished.id, kept);
        }
    }
}
