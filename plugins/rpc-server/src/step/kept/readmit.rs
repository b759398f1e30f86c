//! Calls that an earlier server accepted and never began: they are taken up in their order, or fail
//! (spec/wire.md, section 7).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{CallId, ChannelId, ConnectionId, Error, ErrorKind, Instant, Result};
use farcall_services::directory::PublishedRoutine;
use farcall_wire::run_timeout_of;

use super::survive::{failed_result, over};
use crate::access::{Entry, Principal, rights};
use crate::state::{
    Action, Arguments, Call, CallClock, CallKey, CallMemory, Caller, Kept, Outcome, ResultsOrder,
    Run, Variant, Wants,
};
use crate::step::calls::check;
use crate::step::calls::ranks;
use crate::step::calls::resources;
use crate::step::kept::keep::expected_bytes_of;
use crate::step::{Server, Surroundings};

const AGAIN: &str = "submit it again: it has not run";

impl Server {
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
        let open = parked.open.clone();
        let keep = *keep;
        let principal =
            Principal { name: parked.written.principal.clone(), owns_server: parked.owns_server };
        let certificate = parked.certificate.clone();
        let caller = Caller {
            address: parked.address.clone(),
            rights: rights(table, &principal),
            certificate,
            hosts: Default::default(),
            speaks: Default::default(),
        };
        let known = self.remember(routine);
        if !known.is_called_with(&open.contract) {
            return Err(changed(&open.routine));
        }
        caller.rights.call(&routine.module.name)?;
        let interface = &routine.routine.interface;
        let limit = self.state.limits.call_bytes_max;
        let layout = check::layout(interface, &known.sizer, &open, limit)?;
        let ranks = ranks::of(&known, &open)?;
        let asked = resources::of(&known, &open)?;
        let variant = Variant { ranks, resources: resources::of_pool(&known, asked) };
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
        let share = self.share_of(counted, &known, &variant, &open);
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
            run: Run { share, ..Run::default() },
            wants: Wants::default(),
            times: CallClock::new(now, deadline, run_timeout_of(&open)?, asked.wall_time),
            open,
            nesting: Default::default(),
            variant,
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
    pub(in crate::step) fn cancel_parked(
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
}

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
