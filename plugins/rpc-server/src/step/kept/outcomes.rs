//! Outcomes of calls: who is told, what is kept, what is written down, and what is forgotten.

use std::sync::Arc;

use farcall_base::{CallId, ChannelId, ConnectionId, Instant, Result};
use farcall_wire::Keep;

use crate::state::{Action, Finished, Kept, Outcome, ResultsOrder};
use crate::step::data::make::expire;
use crate::step::{Server, Surroundings};

impl Server {
    /// A call has ended: its client is told, if that is there, and whoever may still need the outcome
    /// keeps it. One that is to survive the server is written down first, so that nobody hears of
    /// an outcome that is lost with the server.
    pub(in crate::step) fn put_away(
        &mut self,
        surroundings: &mut dyn Surroundings,
        client: Option<(ConnectionId, ChannelId)>,
        finished: Finished,
    ) {
        let keep = finished.call.as_ref().and_then(|call| call.keep);
        if let Some(keep) =
            keep.filter(|keep| keep.durable && self.is_accepted_with_room(&finished))
        {
            let finished = Arc::new(finished);
            self.keep_outcome(surroundings, keep, &finished);
            self.state.kept.change(&finished.id, |kept| kept.waits = client);
            return self.let_go(surroundings, finished);
        }
        if let Some((connection, channel)) = client {
            self.respond(connection, channel, &finished.result);
        }
        let sends = client.is_some() && finished.sends_memory();
        let holds = keep.is_none()
            && client.is_some_and(|(connection, _)| self.may_hold(connection, &finished));
        if !holds && keep.is_none() && !self.state.kept.clients.is_empty() {
            // If this connection is lost now, so is the outcome.
            let owner = client.and_then(|(connection, _)| self.client_of(connection));
            owner.iter().for_each(|owner| self.state.kept.clients.is_gone(owner, finished.id));
        }
        if !sends && keep.is_none() && !holds {
            return self.let_go(surroundings, Arc::new(finished));
        }
        let finished = Arc::new(finished);
        if let Some(client) = client.filter(|_| sends) {
            // Result data still lies in the call's memory: it stays until the last frame left.
            self.state.calls.send(client, finished.clone());
            self.watch_for_stalls(surroundings.now());
        }
        match (keep, client) {
            (Some(keep), _) => self.keep_outcome(surroundings, keep, &finished),
            (None, Some((connection, channel))) if holds => {
                self.hold(connection, channel, finished.clone())
            }
            _ => {}
        }
        self.let_go(surroundings, finished);
    }

    /// An outcome is kept; if there is no room for it, that is what is kept.
    fn keep_outcome(
        &mut self,
        surroundings: &mut dyn Surroundings,
        keep: Keep,
        finished: &Arc<Finished>,
    ) {
        let id = finished.id;
        let now = surroundings.now();
        if !self.state.kept.get(&id).is_some_and(|kept| kept.accepted) {
            self.forget_entry(surroundings, &id);
            return;
        }
        let finished = match self.check_room_for(finished) {
            Ok(()) => {
                if !keep.durable {
                    let before = self.state.kept.get(&id).map_or(0, |kept| kept.bytes);
                    self.make_room_to_keep(surroundings, finished.bytes().saturating_sub(before));
                }
                finished.clone()
            }
            Err(error) => Arc::new(self.too_large(finished, keep, &error, now)),
        };
        let expires = Some(now + keep.after_end());
        let bytes = kept_bytes(&finished, keep);
        let outcome = Outcome::Ended(finished);
        self.state.kept.change(&id, |kept| {
            (kept.outcome, kept.bytes, kept.expires) = (outcome, bytes, expires)
        });
        if keep.durable {
            self.store(now, &id);
        }
    }

    fn is_accepted_with_room(&self, finished: &Finished) -> bool {
        let is_accepted = self.state.kept.get(&finished.id).is_some_and(|kept| kept.accepted);
        is_accepted && self.check_room_for(finished).is_ok()
    }

    /// Whether a call may be kept now that it is known how long the files are which it gave back.
    fn check_room_for(&self, finished: &Finished) -> Result<()> {
        let Some(kept) = self.state.kept.get(&finished.id) else { return Ok(()) };
        let more = kept_bytes(finished, kept.keep).saturating_sub(kept.bytes);
        let limits = &self.state.limits.keep;
        if more == 0 {
            Ok(())
        } else {
            self.state.kept.room.check_bytes(&kept.principal, more, kept.keep.durable, limits)
        }
    }

    /// Whoever waits for an outcome that is, or will not be, in the results folder gets it.
    fn tell_outcome(&mut self, surroundings: &mut dyn Surroundings, id: &CallId) {
        let mut waits = None;
        self.state.kept.change(id, |kept| waits = kept.waits.take());
        let outcome = self.state.kept.get(id).map(|kept| &kept.outcome);
        if let (Some(client), Some(Outcome::Ended(finished))) = (waits, outcome) {
            let finished = finished.clone();
            self.respond(client.0, client.1, &finished.result);
            if finished.sends_memory() && self.state.front.peer(client.0).is_some() {
                self.state.calls.send(client, finished.clone());
                self.watch_for_stalls(surroundings.now());
            }
            self.let_go(surroundings, finished);
        }
    }

    /// The outcome of a call is in the results folder, or could not be written: then it stays in
    /// memory, and is tried again. Whoever waits for it has waited long enough either way. Whether
    /// the log is to tell of a failure: it does so once.
    pub fn stored(
        &mut self,
        surroundings: &mut dyn Surroundings,
        id: CallId,
        outcome: Result<u64>,
    ) -> bool {
        let now = surroundings.now();
        self.state.kept.change(&id, |kept| kept.storing = false);
        self.tell_outcome(surroundings, &id);
        let is_kept = self.state.kept.get(&id).is_some_and(Kept::is_unstored);
        let Ok(bytes) = outcome else {
            self.answer_asking(surroundings, id);
            return is_kept && (self.try_again(now, &id) || self.state.draining);
        };
        let mut before = None;
        self.state.kept.change(&id, |kept| {
            if let Outcome::Ended(finished) = &kept.outcome {
                let failed = finished.result.failure.is_some();
                before = Some(std::mem::replace(&mut kept.outcome, Outcome::Stored { failed }));
                kept.bytes = bytes;
            }
        });
        if let Some(Outcome::Ended(finished)) = before {
            self.let_go(surroundings, finished);
        }
        self.answer_asking(surroundings, id);
        self.state.kept.retry.succeeded(now);
        false
    }

    /// The results folder's thread has what it needs of an outcome that it is to write down.
    pub fn stores(&mut self, surroundings: &mut dyn Surroundings, finished: Arc<Finished>) {
        self.let_go(surroundings, finished);
    }

    /// Whether there is a results folder, after all.
    pub fn has_folder(&mut self, has: bool) {
        self.state.limits.keep.has_folder = has;
    }

    /// Something has no more use for an outcome: the last one releases its memory.
    pub(in crate::step) fn let_go(
        &mut self,
        surroundings: &mut dyn Surroundings,
        finished: Arc<Finished>,
    ) {
        if let Some(finished) = Arc::into_inner(finished) {
            finished.memories().for_each(|memory| surroundings.release(memory.id));
            finished.value.into_iter().for_each(|value| self.let_value_go(surroundings, value));
        }
    }

    /// Forgets a kept call, wherever its outcome lies. One that is open stays so.
    pub(super) fn forget_entry(&mut self, surroundings: &mut dyn Surroundings, id: &CallId) {
        self.forget_entry_for(surroundings, id, None);
    }

    /// The same for somebody who is to hear when nothing of it is left; whether he will.
    fn forget_entry_for(
        &mut self,
        surroundings: &mut dyn Surroundings,
        id: &CallId,
        who: Option<(ConnectionId, ChannelId)>,
    ) -> bool {
        self.tell_outcome(surroundings, id);
        let Some(kept) = self.state.kept.remove(id) else { return false };
        if kept.keep.durable {
            self.state.out.act(Action::Results(ResultsOrder::Erase(*id, who)));
        }
        match kept.outcome {
            Outcome::Ended(finished) => self.let_go(surroundings, finished),
            Outcome::Parked(_) => self.let_in_line(surroundings),
            Outcome::Open(_) | Outcome::Stored { .. } => {}
        }
        self.answer_asking(surroundings, *id);
        kept.keep.durable
    }

    /// The same where nothing is left of the call then: it must not be made again.
    pub(super) fn forget_for_good(
        &mut self,
        surroundings: &mut dyn Surroundings,
        id: &CallId,
        who: Option<(ConnectionId, ChannelId)>,
    ) -> bool {
        if let Some(client) = self.state.kept.get(id).and_then(|kept| kept.client.clone()) {
            self.state.kept.clients.is_gone(&client, *id);
        }
        self.forget_entry_for(surroundings, id, who)
    }

    /// Forgets what was kept for long enough; calls of lost connections whose clients did not come
    /// back end.
    pub(in crate::step) fn expire_kept(
        &mut self,
        surroundings: &mut dyn Surroundings,
        now: Instant,
    ) {
        while let Some(id) = self.state.kept.due(now) {
            let open = match self.state.kept.get(&id).map(|kept| &kept.outcome) {
                Some(Outcome::Open(key)) => Some(*key),
                _ => None,
            };
            self.forget_for_good(surroundings, &id, None);
            if let Some(key) = open {
                self.client_gone(surroundings, key);
            }
        }
        expire(self, surroundings, now);
        self.state.kept.clients.expire(now);
    }
}

/// What keeping an outcome takes.
fn kept_bytes(finished: &Finished, keep: Keep) -> u64 {
    if keep.durable { finished.file_bytes() } else { finished.bytes() }
}
