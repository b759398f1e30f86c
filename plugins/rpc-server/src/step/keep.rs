//! Calls that go on without their clients: those that were asked to, and for a while those of a
//! lost connection. Their outcomes wait for whoever comes back (`resume.rs`), within limits, and
//! are forgotten in time.

use std::sync::Arc;

use farcall_base::{CallId, ChannelId, ConnectionId, Error, ErrorKind, Instant, Result};
use farcall_idl::layout::CallLayout;
use farcall_wire::{Argument, Hello, Keep, Lasting, Notice, Open, RESUME};

use crate::state::{
    Action, Call, CallKey, Caller, ClientKey, Finished, Kept, Known, OVERHEAD, Outcome, Recorded,
    ResultsOrder, Resuming,
};
use crate::step::audit::result_bytes;
use crate::step::{Server, Surroundings};

impl Server {
    /// A client said Hello: it may want its calls to be kept if the connection is lost, and may
    /// have lost one just now.
    pub(super) fn begin_lasting(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        hello: &Hello,
    ) -> Result<()> {
        if !hello.features.iter().any(|feature| feature == RESUME) {
            return Ok(());
        }
        let lasting = Lasting::of(hello)?;
        let longest = self.state.limits.keep.resume;
        let Some(peer) = self.state.front.peer_mut(connection) else { return Ok(()) };
        if !peer.connection.has_feature(RESUME) || peer.shares_memory || peer.inside.is_some() {
            return Ok(());
        }
        let Some(name) = lasting.client else { return Ok(()) };
        peer.resuming.keep =
            lasting.keep.map(|keep| keep.min(longest)).filter(|keep| !keep.is_zero());
        let key = ClientKey::new((name, peer.caller.rights.principal().to_owned()));
        peer.resuming.client = Some(key.clone());
        let comes_again = lasting.again > 0;
        if let Some(lost) = self.state.kept.clients.arrived(&key, connection, comes_again) {
            // Whatever still lies in that socket must never run: its client sends it again, if it
            // has to.
            self.ended(surroundings, lost);
            self.state.out.act(Action::Close(lost));
        }
        if comes_again {
            self.own_again(&key, connection);
        }
        Ok(())
    }

    /// Who is at the other end of a connection, if that may come back under its name.
    pub(super) fn client_of(&self, connection: ConnectionId) -> Option<ClientKey> {
        self.state.front.peer(connection)?.resuming.client.clone()
    }

    /// A connection is gone. Its client may come back if anything is kept for it.
    pub(super) fn end_lasting(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        resuming: &Resuming,
    ) {
        let Some(client) = &resuming.client else { return };
        match resuming.keep {
            Some(keep) => self.state.kept.clients.lost(client, connection, now + keep),
            None => self.state.kept.clients.left(client, connection),
        }
    }

    /// Nothing is kept of a call: its client may not make it again, unless none of it can have run.
    fn is_gone(&mut self, client: Option<&ClientKey>, key: CallKey) {
        if let Some(client) = client
            && let Some(call) = self.state.calls.get(&key)
            && !self.state.calls.is_arriving(key)
        {
            self.state.kept.clients.is_gone(client, call.id);
        }
    }

    /// The connection of an open call is gone, in order or not: the call goes on without it, or
    /// ends.
    pub(super) fn go_on_or_end(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
        resuming: &Resuming,
    ) {
        if !self.goes_on(surroundings.now(), key, resuming) {
            self.is_gone(resuming.client.as_ref(), key);
            self.client_gone(surroundings, key);
        }
    }

    /// How the outcome of a call is to be kept, if it is, and whether it can be, as far as its room
    /// is not concerned.
    pub(super) fn keep_of(
        &self,
        connection: ConnectionId,
        open: &Open,
        levels: u32,
    ) -> Result<Option<Keep>> {
        let Some(keep) = Keep::of(open.attributes.as_deref())? else { return Ok(None) };
        let limits = &self.state.limits.keep;
        let refused =
            |message: &str| Err(Error::new(ErrorKind::InvalidArgument, "keep a call", message));
        let shared = |argument: &Argument| matches!(argument, Argument::Shared(..));
        if levels > 0 {
            return refused("a call from a routine ends with the routine and cannot be kept");
        }
        if open.arguments.iter().chain(open.wanted.iter().flatten()).any(shared) {
            return refused("its arrays are in memory that disappears with its client");
        }
        if !self.has_feature(connection, RESUME) {
            return refused("its client cannot reconnect");
        }
        if keep.after_end() > limits.longest {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "keep a call",
                "outcomes are not kept that long",
            )
            .with("asked for", format!("{:?}", keep.after_end()))
            .with("results_keep_ms_max", limits.longest.as_millis())
            .fix("use a shorter time, or raise the limit in the server's farcall.toml"));
        }
        if keep.durable && !limits.has_folder {
            return Err(Error::new(
                ErrorKind::Unavailable,
                "keep a call",
                "the server has no \
                results directory",
            )
            .fix(
                "set results_dir in the server's farcall.toml (the log says what is wrong with \
                    it), or keep the call in memory (durable off)",
            ));
        }
        Ok(Some(keep))
    }

    /// Whether there is room for what is known of a call before it runs, if it is to be kept; what
    /// is only held makes it.
    pub(super) fn take_kept_room(
        &mut self,
        surroundings: &mut dyn Surroundings,
        caller: &Caller,
        keep: Keep,
        bytes: u64,
    ) -> Result<()> {
        self.state.kept.room.check_room(
            caller.rights.principal(),
            bytes,
            keep.durable,
            &self.state.limits.keep,
        )?;
        if !keep.durable {
            self.make_room_to_keep(surroundings, bytes);
        }
        Ok(())
    }

    /// A call came that is to be kept as soon as all its arguments are there.
    pub(super) fn enter_kept(&mut self, key: CallKey) {
        let Some(call) = self.state.calls.get(&key) else { return };
        let Some(keep) = call.keep else { return };
        let kept = Kept {
            principal: call.caller.rights.principal().to_owned(),
            routine: call.routine.name.clone(),
            keep,
            client: call.client.and_then(|(connection, _)| self.client_of(connection)),
            asked: true,
            accepted: false,
            outcome: Outcome::Open(key),
            bytes: expected_bytes_of(call, keep),
            expires: None,
            waits: None,
            certificate: call.caller.certificate.clone(),
            recorded: Recorded::No,
            storing: false,
            complained: false,
        };
        self.state.kept.insert(call.id, kept);
    }

    /// All arguments of a call are there: from now on it goes on without its client. Whoever opened
    /// it hears so; of one that is to survive the server when that is written down (`record_kept`).
    pub(super) fn accept_kept(&mut self, key: CallKey) {
        let Some(call) = self.state.calls.get(&key) else { return };
        let Some(keep) = call.keep else { return };
        let id = call.id;
        self.state.kept.change(&id, |kept| kept.accepted = true);
        if !keep.durable {
            self.notify(key, &Notice::Kept);
        }
    }

    /// That a call was accepted is written down, or could not be.
    pub fn recorded(
        &mut self,
        surroundings: &mut dyn Surroundings,
        id: CallId,
        outcome: Result<()>,
    ) {
        let Some(Outcome::Open(key)) = self.state.kept.get(&id).map(|kept| &kept.outcome) else {
            return;
        };
        let key = *key;
        match outcome {
            Ok(()) => {
                self.notify(key, &Notice::Kept);
            }
            Err(error) => {
                self.state
                    .kept
                    .change(&id, |kept| (kept.accepted, kept.recorded) = (false, Recorded::No));
                self.is_gone(
                    self.state.kept.get(&id).and_then(|kept| kept.client.clone()).as_ref(),
                    key,
                );
                self.abort(surroundings, key, error);
            }
        }
    }

    /// Whether an open call goes on without its connection.
    fn goes_on(&mut self, now: Instant, key: CallKey, resuming: &Resuming) -> bool {
        let is_arriving = self.state.calls.is_arriving(key);
        let Some(call) = self.state.calls.get_mut(&key) else { return false };
        if is_arriving || call.run.unwanted.is_some() {
            return false;
        }
        if call.keep.is_some() {
            call.client = None;
            return true;
        }
        let Some(keep) = resuming.keep.filter(|_| !self.state.kept.has(&call.id)) else {
            return false;
        };
        let keep_us = u64::try_from(keep.as_micros()).unwrap_or(u64::MAX);
        let kept = Keep { after_end_us: keep_us, durable: false };
        let bytes = expected_bytes_of(call, kept);
        let principal = call.caller.rights.principal().to_owned();
        let limits = &self.state.limits.keep;
        let room = self.state.kept.room.check_room(&principal, bytes, false, limits);
        if room.is_err() || !self.state.kept.room.may_hold(&principal, bytes, limits) {
            return false;
        }
        call.client = None;
        call.keep = Some(kept);
        let (id, routine, certificate) =
            (call.id, call.routine.name.clone(), call.caller.certificate.clone());
        let outcome = Outcome::Open(key);
        let expires = Some(now + keep);
        let client = resuming.client.clone();
        let kept = Kept {
            principal,
            routine,
            keep: kept,
            client,
            asked: false,
            accepted: true,
            outcome,
            bytes,
            expires,
            waits: None,
            certificate,
            recorded: Recorded::No,
            storing: false,
            complained: false,
        };
        self.state.kept.insert(id, kept);
        true
    }

    /// A connection is lost: outcomes that its client may not have are kept for it.
    pub(super) fn keep_held(
        &mut self,
        surroundings: &mut dyn Surroundings,
        principal: &str,
        resuming: Resuming,
    ) {
        let now = surroundings.now();
        for finished in resuming.held.into_values() {
            let (bytes, limits) = (finished.bytes(), self.state.limits.keep);
            self.state.kept.room.hold_less(principal, bytes);
            let room = self.state.kept.room.check_room(principal, bytes, false, &limits);
            let has_room = room.is_ok() && self.state.kept.room.may_hold(principal, bytes, &limits);
            // Another call may have the id of one that is over.
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
            };
            self.state.kept.insert(finished.id, kept);
        }
    }

    /// A call is over: its client is told, if that is there, and whoever may still need the outcome
    /// keeps it. One that is to survive the server is written down first, so that nobody hears of
    /// an outcome that is lost with the server.
    pub(super) fn put_away(
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
            return finished.memories().for_each(|memory| surroundings.release(memory.id));
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
        let (id, now) = (finished.id, surroundings.now());
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

    fn may_hold(&self, connection: ConnectionId, finished: &Finished) -> bool {
        if self.state.kept.clients.is_empty() {
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

    pub(super) fn hold(
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
    pub(super) fn make_room_to_keep(&mut self, surroundings: &mut dyn Surroundings, bytes: u64) {
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
            let (held, client) =
                (std::mem::take(&mut peer.resuming.held), peer.resuming.client.clone());
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
    pub(super) fn acknowledged(
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

    /// Something has no more use for an outcome: the last one releases its memory.
    pub(super) fn let_go(&mut self, surroundings: &mut dyn Surroundings, finished: Arc<Finished>) {
        if let Some(finished) = Arc::into_inner(finished) {
            finished.memories().for_each(|memory| surroundings.release(memory.id));
        }
    }

    /// Forgets a kept call, wherever its outcome lies. One that is open stays so.
    pub(super) fn forget_entry(&mut self, surroundings: &mut dyn Surroundings, id: &CallId) {
        self.forget_entry_for(surroundings, id, None);
    }

    /// The same for somebody who is to hear when nothing of it is left; whether he will.
    pub(super) fn forget_entry_for(
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
    pub(super) fn expire_kept(&mut self, surroundings: &mut dyn Surroundings, now: Instant) {
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
        self.state.kept.clients.expire(now);
    }
}

/// What keeping a call takes, about, before it is over: files that it gives back are not known yet.
/// In the results folder lie its arguments until it begins, and then its outcome; in memory, of
/// which it has so many bytes, both.
pub(super) fn expected_bytes(
    routine: &Known,
    layout: &CallLayout,
    open: &Open,
    memory_bytes: u64,
    keep: Keep,
) -> u64 {
    let results = result_bytes(&routine.routine.interface, layout);
    let bytes =
        |argument: &Argument| if let Argument::Blocks(Some(bytes)) = argument { *bytes } else { 0 };
    let arguments = open.arguments.iter().map(bytes).fold(0, u64::saturating_add);
    results.max(if keep.durable { arguments } else { memory_bytes }).saturating_add(OVERHEAD)
}

/// The same of a call that has its memory.
pub(super) fn expected_bytes_of(call: &Call, keep: Keep) -> u64 {
    let memory = call.memories().map(|memory| memory.bytes).fold(0, u64::saturating_add);
    expected_bytes(&call.routine, &call.layout, &call.open, memory, keep)
}

/// What keeping the outcome of a call takes, about, in the results folder.
pub(super) fn result_bytes_of(call: &Call) -> u64 {
    result_bytes(&call.routine.routine.interface, &call.layout).saturating_add(OVERHEAD)
}

/// What keeping an outcome takes.
fn kept_bytes(finished: &Finished, keep: Keep) -> u64 {
    if keep.durable { finished.file_bytes() } else { finished.bytes() }
}
