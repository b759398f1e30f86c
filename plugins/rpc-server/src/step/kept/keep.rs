//! Calls that go on without their clients: those that were asked to, and for a while those of a
//! lost connection. Their outcomes wait for whoever comes back (`resume.rs`), within limits, and
//! are forgotten in time.

use farcall_base::{CallId, ConnectionId, Error, ErrorKind, Instant, Result};
use farcall_idl::layout::CallLayout;
use farcall_wire::{Argument, Hello, Keep, KeptNote, Lasting, Notice, Open, RESUME};

use crate::state::{
    Action, Call, CallKey, Caller, ClientKey, Kept, Known, OVERHEAD, Outcome, Recorded, Resuming,
};
use crate::step::front::audit::result_bytes;
use crate::step::{Server, Surroundings};

impl Server {
    /// A client said Hello: it may want its calls to be kept if the connection is lost, and may
    /// have lost one just now.
    pub(in crate::step) fn begin_lasting(
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
        if !peer.connection.has_feature(RESUME) || peer.inside.is_some() {
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
            self.state.kept.data.own_again(&key, connection);
            self.transactions_back(&key, connection);
        }
        Ok(())
    }

    /// Who is at the other end of a connection, if that may come back under its name.
    pub(in crate::step) fn client_of(&self, connection: ConnectionId) -> Option<ClientKey> {
        self.state.front.peer(connection)?.resuming.client.clone()
    }

    /// A connection is gone. Its client may come back if anything is kept for it.
    pub(in crate::step) fn end_lasting(
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
    pub(in crate::step) fn go_on_or_end(
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
    pub(in crate::step) fn keep_of(
        &self,
        connection: ConnectionId,
        open: &Open,
        levels: u32,
    ) -> Result<Option<Keep>> {
        let Some(keep) = Keep::of(open.attributes.as_deref())? else { return Ok(None) };
        let limits = &self.state.limits.keep;
        let refused =
            |message: &str| Err(Error::new(ErrorKind::InvalidArgument, "keep a call", message));
        if levels > 0 {
            return refused("a call from a routine ends with the routine and cannot be kept");
        }
        if is_shared(open) {
            return refused("its arrays are in memory that disappears with its client");
        }
        let is_data = |argument: &Argument| matches!(argument, Argument::Data(_));
        if keep.durable && open.arguments.iter().chain(open.wanted.iter().flatten()).any(is_data) {
            return refused("it is to survive the server, and its data would not")
                .map_err(|it: Error| it.fix("pass arrays, and let no results stay"));
        }
        if !self.has_feature(connection, RESUME) {
            return refused("its client cannot reconnect");
        }
        // Checked here, and read where the call is entered.
        KeptNote::of(open.attributes.as_deref())?;
        if keep.after_end() > limits.longest {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "keep a call",
                "the server does not keep results for that long",
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
    pub(in crate::step) fn take_kept_room(
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
    pub(in crate::step) fn enter_kept(&mut self, key: CallKey) {
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
            note: note_of(call),
        };
        self.state.kept.insert(call.id, kept);
    }

    /// All arguments of a call are there: from now on it goes on without its client. Whoever opened
    /// it hears so; of one that is to survive the server when that is written down (`record_kept`).
    pub(in crate::step) fn accept_kept(&mut self, key: CallKey) {
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
        let Some(kept) = self.state.kept.get(&id) else { return };
        let Outcome::Open(key) = kept.outcome else {
            // It has ended meanwhile. Who waits until its outcome is written down, too, hears that
            // it is kept before the outcome: else a failure would be a refusal.
            if let (Ok(()), Some((connection, channel))) = (outcome, kept.waits) {
                self.notify_client(connection, channel, &Notice::Kept);
            }
            return;
        };
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
        if is_arriving || call.run.unwanted.is_some() || is_shared(&call.open) {
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
        let id = call.id;
        let routine = call.routine.name.clone();
        let certificate = call.caller.certificate.clone();
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
            note: None,
        };
        self.state.kept.insert(id, kept);
        true
    }
}

/// Whether arrays of a call lie in memory of its client, which goes with the connection.
pub(in crate::step) fn is_shared(open: &Open) -> bool {
    let mut all = open.arguments.iter().chain(open.wanted.iter().flatten());
    all.any(|argument| matches!(argument, Argument::Shared(..)))
}

/// What the client of a call that is to be kept says of it.
pub(super) fn note_of(call: &Call) -> Option<KeptNote> {
    KeptNote::of(call.open.attributes.as_deref()).ok().flatten()
}

/// What keeping a call takes, about, before it has ended: files that it gives back are not known yet.
/// In the results folder lie its arguments until it begins, and then its outcome; in memory, of
/// which it has so many bytes, both.
pub(in crate::step) fn expected_bytes(
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
