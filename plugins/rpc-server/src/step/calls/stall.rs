//! Clients that stand still: they hold calls and memory, and may not hold them for ever.
//!
//! What counts is the connection, not the call: a client sends its calls' arrays in turn, so that
//! one may wait long while others move. A client that moves a little now and then keeps what it
//! has, which its limits bound.

use std::collections::BTreeSet;

use farcall_base::{ConnectionId, Error, ErrorKind, Instant};

use crate::state::{Call, CallKey, State};
use crate::step::{Server, Surroundings};

impl Server {
    /// A call waits for its client from now on.
    pub(in crate::step) fn watch_for_stalls(&mut self, now: Instant) {
        self.state.calls.watch_for_stalls(now + self.state.limits.stall_max);
    }

    /// When to look for calls whose clients stand still.
    pub(in crate::step) fn next_stall_check(&self) -> Option<Instant> {
        self.state.calls.next_stall_check()
    }

    /// Ends the calls whose clients have stood still for too long. Looking is rare: the next look
    /// is when the first of the others would be due if nothing moved.
    pub(in crate::step) fn end_stalled(&mut self, surroundings: &mut dyn Surroundings) {
        let now = surroundings.now();
        let coming: Vec<(Instant, CallKey)> = self.state.arguments_due().collect();
        let going: Vec<(Instant, ConnectionId)> = self.state.results_due().collect();
        let due = coming.iter().map(|(due, _)| *due).chain(going.iter().map(|(due, _)| *due));
        let next = due.filter(|due| *due > now).min();
        self.state.calls.checked_stalls(next);
        for (_, key) in coming.into_iter().filter(|(due, _)| *due <= now) {
            let error =
                self.stalled("take the arguments", "the client stopped sending them").retryable();
            self.finish(surroundings, key, Err(error));
        }
        // Outcomes are with these clients already: only their connections can end.
        let stalled =
            going.into_iter().filter(|(due, _)| *due <= now).map(|(_, connection)| connection);
        for connection in stalled.collect::<BTreeSet<_>>() {
            let error = self.stalled("send the results", "the client stopped reading them");
            self.broken(connection, &error);
        }
    }

    fn stalled(&self, operation: &'static str, message: &'static str) -> Error {
        Error::new(ErrorKind::TimedOut, operation, message)
            .with("stall_ms", self.state.limits.stall_max.as_millis())
            .fix("call again; raise stall_ms in farcall.toml for clients that pause that long")
    }
}

impl State {
    /// Calls whose arguments still come, and when each is over unless something moves.
    fn arguments_due(&self) -> impl Iterator<Item = (Instant, CallKey)> {
        let due = |call: &Call| Some(self.due(call.client?.0, call.times.waits_since));
        self.calls.arriving().filter_map(move |(key, call)| Some((due(call)?, key)))
    }

    /// Connections that still have to take results, and when each is over unless something moves.
    fn results_due(&self) -> impl Iterator<Item = (Instant, ConnectionId)> {
        let stays = |connection: &ConnectionId| {
            self.front.peer(*connection).is_some_and(|peer| !peer.leaving)
        };
        let sending = self.calls.sending_to().filter(move |(connection, _)| stays(connection));
        sending.map(|(connection, sent)| (self.due(connection, sent.waits_since), connection))
    }

    fn due(&self, client: ConnectionId, waits_since: Instant) -> Instant {
        let moved = self.front.peer(client).map_or(waits_since, |peer| peer.moved);
        waits_since.max(moved) + self.limits.stall_max
    }
}
