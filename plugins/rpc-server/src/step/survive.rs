//! What survives the server: calls that were accepted are written down before anybody hears of it,
//! and those that an earlier server accepted and never began are taken up in their order
//! (spec/wire.md, section 7).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{
    CallId, ChannelId, ConnectionId, Error, ErrorKind, ExecutableId, Instant, Result,
};
use farcall_services::directory::PublishedRoutine;
use farcall_wire::{CallResult, CallTimes, Keep};

use crate::access::{Entry, Principal, rights};
use crate::state::{
    Accepted, Action, Arguments, Call, CallClock, CallKey, CallMemory, Caller, Finished, Kept,
    Outcome, Phase, Recorded, ResultsOrder, Run, Wants, Written,
};
use crate::step::keep::{expected_bytes_of, result_bytes_of};
use crate::step::resume::{accepted, not_kept, written};
use crate::step::{Server, SlotMemory, Surroundings, check, ranks};

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
    pub(super) fn record_kept(&mut self, key: CallKey) {
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
        super::place::arguments_of(call)
    }

    /// Whether a call can be passed to an executable, which is free, only when the results folder
    /// says that it begins: another server would run it a second time.
    pub(super) fn is_to_be_marked(&mut self, key: CallKey, executable: ExecutableId) -> bool {
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
        let (id, bytes) = (call.id, result_bytes_of(call));
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
    pub(super) fn store(&mut self, now: Instant, id: &CallId) {
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
    pub(super) fn store_all(&mut self, now: Instant) {
        let unstored: Vec<CallId> = self.state.kept.unstored().map(|(_, id)| id).collect();
        unstored.iter().for_each(|id| self.store(now, id));
    }

    /// All that is to be published when the server starts is. A routine that is not there by now
    /// may be in a moment.
    pub fn published(&mut self, now: Instant) {
        if self.state.kept.parked.all_published(now) {
            self.state.out.act(Action::Readmit);
        }
    }

    /// The directory could not say what is published.
    pub fn readmit_later(&mut self, now: Instant) {
        self.state.kept.parked.readmit_later(now);
    }

    /// Time went by.
    pub(super) fn look_after_folder(&mut self, now: Instant) {
        if self.state.kept.parked.is_due(now) {
            self.state.out.act(Action::Readmit);
        }
        if self.state.kept.retry.is_due(now) {
            self.retry(now);
        }
    }

    /// The directory's whole list, for the calls of an earlier server that wait: those whose
    /// routines are there take their places, in their order.
    pub fn readmit(
        &mut self,
        surroundings: &mut dyn Surroundings,
        routines: &[Arc<PublishedRoutine>],
        table: &[Entry],
    ) {
        self.state.kept.parked.begin_readmission();
        if self.state.draining {
            // They wait for the next server.
            return;
        }
        let names = routines.iter().map(|routine| (routine.routine.interface.full_name(), routine));
        let names: HashMap<String, &Arc<PublishedRoutine>> = names.collect();
        for id in self.state.kept.parked.take() {
            let Some(kept) = self.state.kept.get(&id) else { continue };
            if !matches!(kept.outcome, Outcome::Parked(_)) {
                continue;
            }
            let short_of_memory = self.state.kept.parked.waits();
            let taken = match names.get(&kept.routine) {
                _ if short_of_memory => Ok(false),
                Some(routine) => self.readmit_one(surroundings, id, routine, table),
                None if self.state.kept.parked.gives_up() => Err(withdrawn(&kept.routine)),
                None => Ok(false),
            };
            match taken {
                Ok(true) => {}
                Ok(false) => self.state.kept.parked.push(id),
                Err(error) => self.fail_parked(surroundings.now(), id, &error),
            }
        }
        self.let_in_line(surroundings);
    }

    /// A parked call takes its place in the tables. Its arrays are read before it stands in line:
    /// one after the other, so that the order stays.
    fn readmit_one(
        &mut self,
        surroundings: &mut dyn Surroundings,
        id: CallId,
        routine: &Arc<PublishedRoutine>,
        table: &[Entry],
    ) -> Result<bool> {
        let Some(Kept { outcome: Outcome::Parked(parked), keep, .. }) = self.state.kept.get(&id)
        else {
            return Ok(true);
        };
        let (open, keep) = (parked.open.clone(), *keep);
        let principal =
            Principal { name: parked.written.principal.clone(), owns_server: parked.owns_server };
        let certificate = parked.certificate.clone();
        let caller = Caller {
            address: parked.address.clone(),
            rights: rights(table, &principal),
            certificate,
        };
        if routine.contract != open.contract {
            return Err(changed(&open.routine));
        }
        caller.rights.call(&routine.module.name)?;
        let (interface, limit) = (&routine.routine.interface, self.state.limits.call_bytes_max);
        let known = self.remember(routine);
        let layout = check::layout(interface, &known.sizer, &open, limit)?;
        let ranks = ranks::of(&known, &open)?;
        let plan = check::plan(interface, &open, &layout, &BTreeMap::new(), limit)?;
        let now = surroundings.now();
        let memory = match plan.allocate_for(surroundings, &principal.name) {
            Ok(memory) => memory,
            // There is more when others are over.
            Err(_) if !self.state.calls.is_empty() => {
                self.state.kept.parked.wait_for_memory(now);
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        let counted = self.state.counters.principal(&principal.name);
        let deadline = open.remaining_us.map(|us| now + Duration::from_micros(us));
        let call = Call {
            id,
            client: None,
            caller: Arc::new(caller),
            counted: self.state.counters.begun(counted, known.counted),
            routine: known,
            layout,
            memory: CallMemory { own: memory, ..CallMemory::default() },
            arguments: Arguments::default(),
            run: Run::default(),
            wants: Wants::default(),
            times: CallClock::new(now, deadline),
            open,
            nesting: Default::default(),
            ranks,
            keep: Some(keep),
            on: None,
        };
        self.enter_again(call, plan.fetches);
        Ok(true)
    }

    fn enter_again(&mut self, call: Call, fetches: bool) {
        let id = call.id;
        let bytes = call.keep.map_or(0, |keep| expected_bytes_of(&call, keep));
        let number = self.state.number();
        let key = self.state.calls.enter(number, call);
        self.state
            .kept
            .change(&id, |kept| (kept.outcome, kept.bytes) = (Outcome::Open(key), bytes));
        if fetches {
            self.fetch_arguments(key);
        }
        self.state.kept.parked.begin_loading(key);
        self.state.out.act(Action::Results(ResultsOrder::Load(id, key)));
    }

    /// The arrays of a call that was parked are in their memory, or cannot be read.
    pub fn loaded_arguments(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
        outcome: Result<()>,
    ) {
        let id = self.state.calls.get(&key).map(|call| call.id);
        match outcome {
            // Still among those that are loaded, so that it stands behind nobody.
            Ok(()) => self.enqueue(surroundings, key),
            Err(error) => self.finish(surroundings, key, Err(error)),
        }
        if self.state.kept.parked.end_loading(key) {
            self.let_in_line(surroundings);
        }
        id.into_iter().for_each(|id| self.answer_asking(surroundings, id));
    }

    /// A parked call fails: that is its outcome from now on, and told when it is written down.
    pub(super) fn fail_parked(&mut self, now: Instant, id: CallId, error: &Error) {
        let Some(Kept { outcome: Outcome::Parked(parked), .. }) = self.state.kept.get(&id) else {
            return;
        };
        let written = Box::new(parked.written.clone());
        let expires = Some(now + written.keep.after_end());
        let finished = Arc::new(over(id, written, failed_result(error), now));
        let bytes = finished.file_bytes();
        self.state.kept.change(&id, |kept| {
            (kept.outcome, kept.bytes, kept.expires) = (Outcome::Ended(finished), bytes, expires);
        });
        self.store(now, &id);
    }

    /// Whoever asked for a call while it was parked, or while its outcome was being written, hears
    /// of it.
    pub(super) fn answer_asking(&mut self, surroundings: &mut dyn Surroundings, id: CallId) {
        for ((connection, channel), describe) in self.state.kept.parked.take_asking(id) {
            self.take_up(surroundings, (connection, channel), id, describe);
        }
    }

    /// Somebody who waits for a parked call cancels it.
    pub(super) fn cancel_parked(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
    ) {
        let Some(id) = self.state.kept.parked.asked_on((connection, channel)) else { return };
        let error = Error::new(ErrorKind::Cancelled, "run a routine", "the call was cancelled");
        self.state.kept.parked.forget(id);
        self.fail_parked(surroundings.now(), id, &error);
        self.let_in_line(surroundings);
    }

    /// Why nobody can have a call whose file cannot be read; `None` where that is not so.
    pub(super) fn unreadable(&self, operation: &'static str, id: CallId) -> Error {
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
    pub(super) fn too_large(
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
        Finished { id: finished.id, call: None, files: None, written, result, waits_since: now }
    }
}

/// A call that is over, of which the outcome alone is here.
fn over(id: CallId, written: Box<Written>, result: CallResult, now: Instant) -> Finished {
    Finished { id, call: None, files: None, written: Some(written), result, waits_since: now }
}

fn failed_result(error: &Error) -> CallResult {
    CallResult {
        failure: Some(error.into()),
        results: Vec::new(),
        times: CallTimes::default(),
        attributes: None,
    }
}

const AGAIN: &str = "submit it again: it has not run";

fn withdrawn(routine: &str) -> Error {
    let message = format!(
        "\"{routine}\" is no longer published: the call was waiting when its server stopped"
    );
    Error::new(ErrorKind::NotFound, "run a routine", message)
        .fix(format!("publish it, and {AGAIN}"))
}

fn changed(routine: &str) -> Error {
    let message =
        format!("the interface of \"{routine}\" changed while the call was waiting for a server");
    Error::new(ErrorKind::InterfaceChanged, "run a routine", message).fix(AGAIN)
}
