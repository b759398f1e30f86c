//! Calls are opened where they end first, before what they use is there; late ones once more.

use std::time::Duration;

use farcall_base::{ErrorKind, Instant};

use crate::choice::{Choice, Chosen, Costs};
use crate::state::{Phase, Place, Run, Urgent};
use crate::transaction::Transaction;
use crate::{Action, CallNumber, DataNumber, Ended, Failure};

/// Urgent calls without room that are passed, so that others use servers which have some.
const PASSED_MAX: usize = 64;
/// A call that is late by so many times what it takes, and by this time, runs once more elsewhere.
const LATE_TIMES: f64 = 2.0;
const LATE: Duration = Duration::from_secs(1);
/// What is predicted to take longer takes this long: about thirty years.
const SECONDS_MAX: f64 = 1e9;

impl Transaction {
    /// Opens calls where there is room, the most urgent first.
    pub fn place(&mut self, now: Instant, costs: &dyn Costs) {
        self.handle_time(now);
        let mut passed = Vec::new();
        let mut lacks_room = false;
        // They wait for the same servers, nearly always.
        if self.stranded.first().is_some_and(|urgent| !costs.may_come(urgent.call)) {
            self.ready.append(&mut self.stranded);
        }
        while passed.len() < PASSED_MAX && self.has_room() {
            let Some(urgent) = self.ready.pop_first() else { break };
            let call = urgent.call;
            if !self.is_placeable(call) {
                self.call_mut(call).phase = Phase::Waiting;
                continue;
            }
            match self.choose(call, costs, None) {
                Chosen::Server(choice) => self.open(call, choice, costs),
                Chosen::NoRoom => {
                    lacks_room = true;
                    passed.push(urgent);
                }
                Chosen::Nobody if costs.may_come(call) => drop(self.stranded.insert(urgent)),
                Chosen::Nobody if self.servers.values().any(|server| server.is_there) => {
                    let message = "no server that is there takes it".to_owned();
                    let kind = ErrorKind::NotFound;
                    self.fail(call, Ended::Failed(Failure { kind, message, has_run: false }));
                }
                // Until one comes.
                Chosen::Nobody => passed.push(urgent),
            }
        }
        self.ready.extend(passed);
        if self.may_be_stuck && !self.ready.is_empty() && (lacks_room || !self.has_room()) {
            self.make_room();
        }
    }

    /// Runs calls once more that are late, where another server would end them sooner. Only those that
    /// may run twice. Says how many it looked at: a call that cannot be helped is looked at again
    /// after a while, not each time.
    pub fn hurry(&mut self, now: Instant, costs: &dyn Costs) -> usize {
        self.handle_time(now);
        let mut looked = 0;
        while let Some((_, call)) = self.late.first().copied().filter(|(at, _)| *at <= now) {
            self.late.pop_first();
            looked += 1;
            let Some(run) = self.call(call).runs.first().copied() else { continue };
            let mut uses = self.graph.call(call).uses.iter();
            let is_complete = uses.all(|data| !self.value(*data).places.is_empty());
            let chosen = is_complete.then(|| self.choose(call, costs, Some(run.server)));
            if let Some(Chosen::Server(choice)) = chosen {
                self.open(call, choice, costs);
            } else {
                self.watch(call, now + LATE);
            }
        }
        looked
    }

    /// When [`Transaction::hurry`] has something to do.
    pub fn next_late(&self) -> Option<Instant> {
        self.late.first().map(|(at, _)| *at)
    }

    /// When a call counts as late that is to end then and takes so long.
    pub(crate) fn late_at(&self, ends: Instant, run_s: f64) -> Instant {
        ends + seconds(run_s * LATE_TIMES) + LATE
    }

    /// From this time on a call counts as late, if it may run twice and does not yet.
    pub(crate) fn watch(&mut self, call: CallNumber, at: Instant) {
        let may_run_again = self.graph.call(call).may_run_again;
        if let [run] = self.call_mut(call).runs.as_mut_slice()
            && may_run_again
        {
            run.late = at;
            self.late.insert((at, call));
        }
    }

    /// Opens a call, and has what it uses brought there.
    fn open(&mut self, call: CallNumber, choice: Choice, costs: &dyn Costs) {
        let Choice { server, run_s, ends_s } = choice;
        let ends = self.now + seconds(ends_s);
        for data in self.graph.call(call).uses.clone() {
            let arrives = self.arrival(data, server, costs);
            self.fetch(data, server, arrives);
        }
        let is_last = |data: &DataNumber| {
            let value = self.value(*data);
            let is_only_ours = !value.places.contains(&Place::Client) && value.lent.is_empty();
            value.users_left == 1 && !value.wanted && is_only_ours
        };
        let last_uses = self.graph.call(call).uses.iter().copied().filter(is_last).collect();
        let late = self.late_at(ends, run_s);
        let opened_us = self.age_us(self.now);
        let known = self.call_mut(call);
        known.phase = Phase::Open;
        let attempt = known.attempts;
        known.attempts += 1;
        let run = Run {
            server,
            attempt,
            run_s,
            ends,
            late,
            is_ending: false,
            is_restored: false,
            opened_us,
            begun_us: None,
        };
        known.runs.push(run);
        self.watch(call, late);
        if let Some(server) = self.servers.get_mut(&server) {
            server.open += 1;
            server.load_s += run_s;
        }
        self.out.push_back(Action::Open { call, server, attempt, last_uses });
        for made in self.graph.call(call).makes.clone() {
            self.look_at_users(made);
            self.supply(made);
        }
    }

    /// Whether any server has room, or there is no server that could have.
    fn has_room(&self) -> bool {
        let mut there = self.servers.values().filter(|server| server.is_there).peekable();
        there.peek().is_none() || there.any(|server| server.open < self.limits.open_max)
    }

    /// Whether a call can be opened: what it uses is somewhere, or is being made.
    fn is_placeable(&self, call: CallNumber) -> bool {
        let plan = self.graph.call(call);
        let is_coming =
            |data: &DataNumber| !self.value(*data).places.is_empty() || self.is_being_made(*data);
        // One that had returned, and whose result was lost, has waited for them once: they need not
        // have results any more.
        let has_returned = self.call(call).outcome.is_some();
        let is_done = |before: &CallNumber| match self.call(*before).phase {
            Phase::Done => true,
            Phase::Failed => has_returned,
            _ => false,
        };
        plan.uses.iter().all(is_coming) && plan.after.iter().all(is_done)
    }

    pub(crate) fn is_being_made(&self, data: DataNumber) -> bool {
        let maker = self.graph.maker(data).map(|maker| self.call(maker).phase);
        maker == Some(Phase::Open)
    }

    /// A call may have become ready.
    pub(crate) fn look(&mut self, call: CallNumber) {
        if self.call(call).phase == Phase::Waiting && self.is_placeable(call) {
            let rank = self.call(call).rank;
            let ready_us = self.age_us(self.now);
            self.call_mut(call).phase = Phase::Ready;
            self.call_mut(call).times.ready_us = Some(ready_us);
            self.ready.insert(Urgent { rank, call });
        }
    }

    pub(crate) fn look_at_users(&mut self, data: DataNumber) {
        for at in 0..self.graph.users[data.0 as usize].len() {
            self.look(self.graph.users[data.0 as usize][at]);
        }
    }
}

/// Predictions are what others learned: they may be any number, or no number.
pub(crate) fn seconds(predicted: f64) -> Duration {
    let is_sensible = predicted > 0.0;
    Duration::from_secs_f64(if is_sensible { predicted.min(SECONDS_MAX) } else { 0.0 })
}
