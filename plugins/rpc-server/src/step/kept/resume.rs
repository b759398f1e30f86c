//! Calls that are taken up again, by a client that lost its connection or by another process that
//! knows their ids; and what is told of those that are kept (spec/wire.md, section 7).

use std::collections::BTreeMap;
use std::sync::Arc;

use farcall_base::{CallId, ChannelId, ConnectionId, DataId, Error, ErrorKind, Instant, Result};
use farcall_wire::{Argument, CallResult, Keep, KeptCall, KeptState, Open, Reply, Resume, Ticket};

use crate::state::{
    Accepted, Action, Call, CallKey, Finished, Kept, Outcome, OwnMemory, PeerKind, ResultFiles,
    ResultsOrder, Written,
};
use crate::step::front::directory::interface_reply;
use crate::step::kept::keep::note_of;
use crate::step::{Server, Surroundings};

/// Kept calls that one answer tells of.
const SHOWN_MAX: usize = 1000;

/// What was read from the results folder.
pub struct ReadBack {
    /// What the call was.
    pub resume: Resume,
    /// Its outcome.
    pub result: CallResult,
    /// Where its arrays lie, if it has any: the memory, its identity and its size, and each array's
    /// offset and length.
    pub memory: Option<ReadMemory>,
}

/// Memory that was read into.
pub struct ReadMemory {
    /// The memory.
    pub memory: OwnMemory,
    /// Bytes of each array, by parameter.
    pub bytes: BTreeMap<u16, u64>,
}

impl Server {
    /// A client takes a call up again.
    pub(in crate::step) fn resume(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
        resume: &Resume,
    ) {
        self.acknowledged(surroundings, connection, channel);
        let describe = resume.describe == Some(true);
        match Ticket::of(resume) {
            Ok(None) => self.take_up(surroundings, (connection, channel), resume.call, describe),
            Ok(Some(ticket)) => {
                let id = DataId(resume.call.0);
                self.fetch_by_ticket(surroundings, (connection, channel), id, describe, &ticket);
            }
            Err(error) => self.refuse(connection, channel, &error),
        }
    }

    /// The same, when it is known how far the call is.
    pub(in crate::step) fn take_up(
        &mut self,
        surroundings: &mut dyn Surroundings,
        (connection, channel): (ConnectionId, ChannelId),
        id: CallId,
        describe: bool,
    ) {
        let Some(principal) =
            self.state.front.peer(connection).map(|peer| peer.caller.rights.principal().to_owned())
        else {
            return;
        };
        let kept =
            self.state.kept.get(&id).filter(|kept| kept.principal == principal && kept.accepted);
        let is_coming =
            kept.is_some_and(|kept| kept.storing || matches!(kept.outcome, Outcome::Parked(_)));
        match kept.map(|kept| (&kept.outcome, kept.asked)) {
            None if self.state.kept.data.of(&DataId(id.0), &principal).is_some() => {
                self.fetch_data(surroundings, (connection, channel), DataId(id.0), describe);
            }
            None => {
                if self.is_early((connection, channel), id, describe) {
                    return;
                }
                // Whether there is none, or another's, reads the same: ids cannot be guessed so.
                let error = self.unreadable("resume a call", id);
                let error = if self.never_ran(connection, &id) { error.retryable() } else { error };
                self.refuse(connection, channel, &error);
            }
            // It is answered when its server has it in its tables, or knows that it never will; or
            // when what it is told is on the disk.
            _ if is_coming => self.state.kept.parked.ask(id, (connection, channel), describe),
            Some((Outcome::Parked(_), _)) => {}
            Some((Outcome::Open(key), asked)) => {
                let key = *key;
                self.attach(surroundings, key, (connection, channel), describe, asked);
            }
            Some((Outcome::Ended(finished), asked)) => {
                let finished = finished.clone();
                self.deliver(surroundings, &finished, (connection, channel), describe);
                if !asked {
                    // It is the connection's again.
                    self.forget_entry(surroundings, &id);
                    self.hold_again(connection, channel, &finished);
                }
                self.let_go(surroundings, finished);
            }
            Some((Outcome::Stored { .. }, _)) => {
                let client = (connection, channel);
                let order = ResultsOrder::Fetch { call: id, principal, client, describe };
                self.state.out.act(Action::Results(order));
            }
        }
    }

    /// Whether a client that came back may make a call again that is not kept.
    fn never_ran(&self, connection: ConnectionId, id: &CallId) -> bool {
        self.client_of(connection)
            .is_some_and(|client| self.state.kept.clients.never_ran(&client, id))
    }

    /// A call that is open goes on for this client; another that waits for it is told so.
    fn attach(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
        (connection, channel): (ConnectionId, ChannelId),
        describe: bool,
        asked: bool,
    ) {
        let Some(call) = self.state.calls.get_mut(&key) else { return };
        let id = call.id;
        let before = call.client.replace((connection, channel));
        let on = call.on;
        if !asked {
            call.keep = None;
        }
        let resume = described(call, describe);
        // Whoever comes back for a call on an object is there for the object, too.
        on.into_iter().for_each(|executable| self.own_object(executable, connection));
        if let Some((connection, channel)) = before {
            let message = "it continues on another connection";
            let error =
                Error::new(ErrorKind::ConnectionLost, "wait for a call", message).with("call", id);
            self.refuse(connection, channel, &error);
            if let Some(PeerKind::Client { calls, .. }) = self.kind_mut(connection) {
                calls.remove(channel);
            }
        }
        if !asked {
            self.forget_entry(surroundings, &id);
        }
        if let Some(peer) = self.state.front.peer_mut(connection) {
            peer.connection.agree(channel, &resume);
            if let PeerKind::Client { calls, .. } = &mut peer.kind {
                calls.insert(channel, key);
            }
            self.state.out.touch(connection);
        }
    }

    fn deliver(
        &mut self,
        surroundings: &dyn Surroundings,
        finished: &Arc<Finished>,
        (connection, channel): (ConnectionId, ChannelId),
        describe: bool,
    ) {
        let resume = match (&finished.call, &finished.written) {
            (Some(call), _) => described(call, describe),
            (None, Some(written)) if describe => written.resume.clone(),
            _ => Resume::new(finished.id),
        };
        self.answer_resumed(surroundings, finished, (connection, channel), &resume);
    }

    pub(in crate::step) fn answer_resumed(
        &mut self,
        surroundings: &dyn Surroundings,
        finished: &Arc<Finished>,
        (connection, channel): (ConnectionId, ChannelId),
        resume: &Resume,
    ) {
        let Some(peer) = self.state.front.peer_mut(connection) else { return };
        peer.connection.agree(channel, resume);
        self.respond(connection, channel, &finished.result);
        if finished.sends_memory() {
            self.state.calls.send((connection, channel), finished.clone());
            self.watch_for_stalls(surroundings.now());
        }
    }

    fn hold_again(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        finished: &Arc<Finished>,
    ) {
        if self.state.front.peer(connection).is_some_and(|peer| peer.resuming.keep.is_some()) {
            self.hold(connection, channel, finished.clone());
        }
    }

    /// An outcome was read from the results folder, or could not be.
    pub fn read_back(
        &mut self,
        surroundings: &mut dyn Surroundings,
        id: CallId,
        (connection, channel): (ConnectionId, ChannelId),
        outcome: Result<ReadBack>,
    ) {
        let ReadBack { resume, result, memory } = match outcome {
            Ok(fetched) => fetched,
            Err(error) => return self.refuse(connection, channel, &error.with("call", id)),
        };
        let files = memory.map(|ReadMemory { memory, bytes }| ResultFiles { memory, bytes });
        let waits_since = surroundings.now();
        let finished = Arc::new(Finished {
            id,
            call: None,
            files,
            value: None,
            written: None,
            result,
            waits_since,
        });
        self.answer_resumed(surroundings, &finished, (connection, channel), &resume);
        self.let_go(surroundings, finished);
    }

    /// A client wants a call to be kept no longer; one that is open ends as by Cancel.
    pub(in crate::step) fn forget_kept(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
        id: CallId,
    ) {
        let principal = self.rights(connection).map(|rights| rights.principal().to_owned());
        let kept =
            self.state.kept.get(&id).filter(|kept| Some(&kept.principal) == principal.as_ref());
        let Some(kept) = kept else {
            let error = self.unreadable("forget a call", id);
            return self.reply(connection, channel, &Reply::Failed((&error).into()));
        };
        let open = if let Outcome::Open(key) = kept.outcome { Some(key) } else { None };
        let is_told = self.forget_for_good(surroundings, &id, Some((connection, channel)));
        if let Some(key) = open {
            if let Some(call) = self.state.calls.get_mut(&key) {
                call.keep = None;
            }
            let error = Error::new(
                ErrorKind::Cancelled,
                "run a routine",
                "the call was kept as long as requested",
            );
            self.abort(surroundings, key, error);
        }
        if !is_told {
            self.reply(connection, channel, &Reply::Done);
        }
    }

    /// A client asks what is kept of its calls.
    pub(in crate::step) fn tell_kept(
        &mut self,
        surroundings: &dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
    ) {
        let Some(rights) = self.rights(connection) else { return };
        let calls = self.kept_calls(surroundings.now(), Some(rights.principal()));
        self.reply(connection, channel, &Reply::Kept(calls));
    }

    /// What is kept, of one principal's calls or of all.
    pub(in crate::step) fn kept_calls(&self, now: Instant, of: Option<&str>) -> Vec<KeptCall> {
        let mine =
            |kept: &Kept| kept.asked && of.is_none_or(|principal| kept.principal == principal);
        let kept = self.state.kept.all().filter(|(_, kept)| mine(kept));
        let mut calls: Vec<KeptCall> =
            kept.map(|(id, kept)| self.kept_call(now, *id, kept)).collect();
        calls.sort_by_key(|call| (call.left_us, call.id.0));
        calls.truncate(SHOWN_MAX);
        calls
    }

    fn kept_call(&self, now: Instant, id: CallId, kept: &Kept) -> KeptCall {
        let ended = |failed: bool| if failed { KeptState::Failed } else { KeptState::Returned };
        let state = match &kept.outcome {
            Outcome::Parked(_) => KeptState::Waiting,
            Outcome::Open(key) => {
                match self.state.calls.get(key).and_then(|call| call.run.executable) {
                    Some(_) => KeptState::Running,
                    None => KeptState::Waiting,
                }
            }
            Outcome::Ended(finished) => ended(finished.result.failure.is_some()),
            Outcome::Stored { failed } => ended(*failed),
        };
        let left = kept.expires.map(|at| at.since(now));
        let left_us = left.map_or(kept.keep.after_end_us, |left| {
            u64::try_from(left.as_micros()).unwrap_or(u64::MAX)
        });
        KeptCall {
            id,
            routine: kept.routine.clone(),
            state,
            bytes: kept.bytes,
            left_us,
            durable: kept.keep.durable && kept.is_on_disk(),
            principal: kept.principal.clone(),
            note: kept.note.clone(),
        }
    }
}

/// What the results folder is told of a call.
pub(in crate::step) fn written(call: &Call, keep: Keep) -> Written {
    Written {
        // The note rides in what is written of a call anyway.
        resume: Resume {
            attributes: note_of(call).map(|note| vec![note.attribute()]),
            ..described(call, true)
        },
        routine: call.routine.name.clone(),
        principal: call.caller.rights.principal().to_owned(),
        keep,
    }
}

/// What another server needs to run a call.
pub(in crate::step) fn accepted(call: &Call, keep: Keep) -> Accepted {
    let on_object = call.on.is_some();
    let left = call
        .times
        .deadline
        .map(|at| u64::try_from(at.since(call.times.queued).as_micros()).unwrap_or(u64::MAX));
    Accepted {
        written: written(call, keep),
        // It is nobody's part any more, and gives its results to whoever asks.
        open: Open { remaining_us: left, result_credit: None, parent: None, ..call.open.clone() },
        address: call.caller.address.clone(),
        owns_server: call.caller.rights.owns_server(),
        certificate: call.caller.certificate.clone(),
        on_object,
        has_begun: on_object || call.run.executable.is_some(),
    }
}

/// The answer to whoever takes a call up again.
fn described(call: &Call, describe: bool) -> Resume {
    let resume = Resume::new(call.id);
    if !describe {
        return resume;
    }
    let inline = |argument: &Argument| match argument {
        Argument::Inline(_) => argument.clone(),
        _ => Argument::Absent,
    };
    let arguments = Some(call.open.arguments.iter().map(inline).collect());
    Resume { interface: Some(interface_reply(&call.routine, None)), arguments, ..resume }
}

pub(super) fn not_kept(operation: &'static str, id: CallId) -> Error {
    Error::new(ErrorKind::NotFound, operation, "the server has no such call").with("call", id).fix(
        "it was never accepted, was deleted, or belongs to another user: `farcall kept` \
            lists yours",
    )
}
