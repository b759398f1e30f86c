//! What survives the server: calls that were accepted are written down before anybody hears of it,
//! and those that an earlier server accepted and never began are taken up in their order
//! (spec/wire.md, section 7).

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{
    CallId, ChannelId, ConnectionId, Error, ErrorKind, ExecutableId, Instant, Result,
};
use farcall_wire::{CallResult, CallTimes, Keep, KeptNote};

use crate::state::{
    Accepted, Action, Call, CallKey, Finished, Kept, Outcome, Phase, Recorded, ResultsOrder,
    Written,
};
use crate::step::kept::keep::result_bytes_of;
use crate::step::kept::resume::{accepted, not_kept, written};
use crate::step::{Server, SlotMemory, Surroundings};

/// What the results folder has of a call from before the server started.
pub struct Restored {
    /// Which call.
    pub id: CallId,
    /// What is said of it.
    pub written: Box<Written>,
    /// How far it was.
    pub was: Was,
    /// Bytes that it takes there, or did.
    pub bytes: u64,
    /// How long it is kept yet.
    pub left: Duration,
}

/// How far a call of an earlier server was.
pub enum Was {
    /// Its outcome is there.
    Stored {
        /// Whether it failed.
        failed: bool,
    },
    /// It has this outcome, which is not there yet.
    Ended(CallResult),
    /// It has not begun.
    Waiting(Box<Accepted>),
}

impl Server {
    /// What the results folder has from before the server started; calls that wait in their order.
    /// Of some calls nothing can be read.
    pub fn restore(
        &mut self,
        restored: Vec<Restored>,
        unreadable: Vec<(CallId, ErrorKind)>,
        now: Instant,
    ) {
        self.state.kept.add_unreadable(unreadable);
        for Restored { id, written, was, bytes, left } in restored {
            let is_waiting = matches!(was, Was::Waiting(_));
            let note = KeptNote::of(written.resume.attributes.as_deref()).ok().flatten();
            let certificate =
                if let Was::Waiting(accepted) = &was { accepted.certificate.clone() } else { None };
            let kept = Kept {
                principal: written.principal.clone(),
                routine: written.routine.clone(),
                keep: written.keep,
                client: None,
                asked: true,
                accepted: true,
                outcome: match was {
                    Was::Stored { failed } => Outcome::Stored { failed },
                    Was::Waiting(accepted) => Outcome::Parked(accepted),
                    Was::Ended(result) => Outcome::Ended(Arc::new(over(id, written, result, now))),
                },
                bytes,
                expires: (!is_waiting).then_some(now + left),
                waits: None,
                certificate,
                recorded: if is_waiting { Recorded::Waits } else { Recorded::Began },
                storing: false,
                complained: false,
                note,
            };
            let is_unstored = kept.is_unstored();
            self.state.kept.insert(id, kept);
            if is_waiting {
                self.state.kept.parked.push(id);
            } else if is_unstored {
                self.store(now, &id);
            }
        }
        if self.state.kept.parked.begin(now) {
            self.state.out.act(Action::Readmit);
        }
    }

    /// A call that is to survive the server stands in a line, or an executable has it already: that
    /// is written down.
    pub(in crate::step) fn record_kept(&mut self, key: CallKey) {
        let Some(call) = self.state.calls.get(&key) else { return };
        let Some(keep) = call.keep.filter(|keep| keep.durable) else { return };
        let id = call.id;
        let accepted = Box::new(accepted(call, keep));
        let recorded = if accepted.has_begun { Recorded::Began } else { Recorded::Waits };
        self.state.kept.change(&id, |kept| kept.recorded = recorded);
        if recorded == Recorded::Began {
            self.count_results_alone(key);
        }
        self.state.out.act(Action::Results(ResultsOrder::Record(accepted, key)));
    }

    /// Where the arrays lie that are written down with a call which waits.
    pub fn argument_memory(&self, key: CallKey) -> Vec<SlotMemory> {
        let Some(call) = self.state.calls.get(&key) else { return Vec::new() };
        crate::step::calls::place::arguments_of(call)
    }

    /// Whether a call can be passed to an executable, which is free, only when the results folder
    /// says that it begins: another server would run it a second time.
    pub(in crate::step) fn is_to_be_marked(
        &mut self,
        key: CallKey,
        executable: ExecutableId,
    ) -> bool {
        let Some(call) =
            self.state.calls.get(&key).filter(|call| call.keep.is_some_and(|keep| keep.durable))
        else {
            return false;
        };
        let id = call.id;
        let waits = self.state.kept.get(&id).is_some_and(|kept| kept.recorded == Recorded::Waits);
        if waits && let Some(record) = self.state.executables.get_mut(&executable) {
            record.phase = Phase::Reserved(key);
            self.state.out.act(Action::Results(ResultsOrder::Begin(id, executable)));
        }
        waits
    }

    /// A call has begun whose arguments the results folder does not hold any more.
    fn count_results_alone(&mut self, key: CallKey) {
        let Some(call) = self.state.calls.get(&key) else { return };
        let id = call.id;
        let bytes = result_bytes_of(call);
        self.state.kept.change(&id, |kept| kept.bytes = bytes);
    }

    /// The results folder says that a call begins, or cannot.
    pub fn begun(
        &mut self,
        surroundings: &mut dyn Surroundings,
        id: CallId,
        executable: ExecutableId,
        outcome: Result<()>,
    ) {
        if outcome.is_ok() {
            self.state.kept.change(&id, |kept| kept.recorded = Recorded::Began);
            if let Some(Outcome::Open(key)) = self.state.kept.get(&id).map(|kept| &kept.outcome) {
                self.count_results_alone(*key);
            }
        }
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        let Phase::Reserved(key) = record.phase else { return };
        record.phase = Phase::Busy;
        match outcome {
            Ok(()) if self.state.calls.contains_key(&key) => {
                if !self.is_to_be_listened_to(key, executable) {
                    self.pass_on(surroundings, key, executable);
                }
                return;
            }
            Ok(()) => {}
            Err(error) => self.finish(surroundings, key, Err(error)),
        }
        self.free(surroundings.now(), executable);
        self.serve_next(surroundings, executable);
    }

    /// Whether a call was passed to an executable, or is over.
    pub fn has_begun(&self, id: &CallId) -> bool {
        let kept = self.state.kept.get(id);
        kept.is_some_and(|kept| match &kept.outcome {
            Outcome::Open(key) => {
                self.state.calls.get(key).is_some_and(|call| call.run.executable.is_some())
            }
            _ => true,
        })
    }

    /// Calls for which executables are kept, and that none has: the results folder says that they
    /// begin, or will.
    pub fn about_to_begin(&self) -> Vec<CallId> {
        let kept_for = self.state.executables.values().filter_map(|record| match record.phase {
            Phase::Reserved(key) => self.state.calls.get(&key),
            _ => None,
        });
        let never_had =
            |call: &&Call| call.run.returns == 0 && call.keep.is_some_and(|keep| keep.durable);
        kept_for.filter(never_had).map(|call| call.id).collect()
    }

    /// Has an outcome written down that is in memory.
    pub(in crate::step) fn store(&mut self, now: Instant, id: &CallId) {
        let Some(kept) = self.state.kept.get(id) else { return };
        let Outcome::Ended(finished) = &kept.outcome else { return };
        let of_call = || finished.call.as_ref().map(|call| Box::new(written(call, kept.keep)));
        let Some(written) = finished.written.clone().or_else(of_call) else { return };
        let left = kept.expires.map_or(kept.keep.after_end(), |at| at.since(now));
        let order = ResultsOrder::Store { written, finished: finished.clone(), left };
        self.state.kept.change(id, |kept| kept.storing = true);
        self.state.out.act(Action::Results(order));
    }

    /// An outcome could not be written down: it is tried again. Whether the log has not said so
    /// yet.
    pub(super) fn try_again(&mut self, now: Instant, id: &CallId) -> bool {
        let mut is_news = false;
        self.state.kept.change(id, |kept| is_news = !std::mem::replace(&mut kept.complained, true));
        self.state.kept.retry.failed(now);
        is_news
    }

    /// Tries the smallest of the outcomes again that could not be written: it needs the least room.
    fn retry(&mut self, now: Instant) {
        let next = self.state.kept.unstored().min();
        if let Some((_, id)) = next {
            self.store(now, &id);
            // Should the answer be long in coming, and for the others when it is here.
            self.state.kept.retry.begins(now);
        }
    }

    /// The server is about to end: what could not be written is tried a last time.
    pub(in crate::step) fn store_all(&mut self, now: Instant) {
        let unstored: Vec<CallId> = self.state.kept.unstored().map(|(_, id)| id).collect();
        unstored.iter().for_each(|id| self.store(now, id));
    }

    /// Time went by.
    pub(in crate::step) fn look_after_folder(&mut self, now: Instant) {
        if self.state.kept.parked.is_due(now) {
            self.state.out.act(Action::Readmit);
        }
        if self.state.kept.retry.is_due(now) {
            self.retry(now);
        }
    }

    /// Why nobody can have a call whose file cannot be read; `None` where that is not so.
    pub(in crate::step) fn unreadable(&self, operation: &'static str, id: CallId) -> Error {
        match self.state.kept.unreadable(&id) {
            Some(ErrorKind::Version) => Error::new(
                ErrorKind::Version,
                operation,
                "another release of Farcall wrote the files of the call",
            )
            .with("call", id)
            .fix(
                "ask the server's administrator to start that release again: the file is unchanged",
            ),
            Some(kind) => Error::new(
                kind,
                operation,
                "the files of the call can no longer be read",
            )
            .with("call", id)
            .fix("see the server's log for the file, and repeat the call if it may run twice"),
            None => not_kept(operation, id),
        }
    }

    /// What there was of a call in the results folder is gone, or cannot be removed.
    pub fn erased(&mut self, connection: ConnectionId, channel: ChannelId, outcome: Result<()>) {
        let reply = match outcome {
            Ok(()) => farcall_wire::Reply::Done,
            Err(error) => farcall_wire::Reply::Failed((&error).into()),
        };
        self.reply(connection, channel, &reply);
    }

    /// The outcome of a call that returned more than may be kept.
    pub(in crate::step) fn too_large(
        &self,
        finished: &Finished,
        keep: Keep,
        error: &Error,
        now: Instant,
    ) -> Finished {
        let bytes = if keep.durable { finished.file_bytes() } else { finished.bytes() };
        let message = format!("it returned, but its results were not kept: {}", error.message());
        let error = error.context().iter().fold(
            Error::new(ErrorKind::LimitExceeded, "keep a result", message).with("bytes", bytes),
            |error, (key, value)| error.with(key.clone(), value),
        );
        let fix = "delete outcomes that you have fetched (`farcall kept`), or raise the limit in \
            the server's farcall.toml; then submit it again if it may run twice";
        let of_call = || finished.call.as_ref().map(|call| Box::new(written(call, keep)));
        let written = finished.written.clone().or_else(of_call);
        let result = CallResult { times: finished.result.times, ..failed_result(&error.fix(fix)) };
        Finished {
            id: finished.id,
            call: None,
            files: None,
            value: None,
            written,
            result,
            waits_since: now,
        }
    }
}

/// A call that has ended, of which the outcome alone is here.
pub(super) fn over(
    id: CallId,
    written: Box<Written>,
    result: CallResult,
    now: Instant,
) -> Finished {
    Finished {
        id,
        call: None,
        files: None,
        value: None,
        written: Some(written),
        result,
        waits_since: now,
    }
}

pub(super) fn failed_result(error: &Error) -> CallResult {
    CallResult {
        failure: Some(error.into()),
        results: Vec::new(),
        times: CallTimes::default(),
        attributes: None,
    }
}
