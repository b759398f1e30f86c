//! A transaction that runs: what happened comes in, with the time, and what to do comes out.
//!
//! - A value is needed as long as a call that uses it has not ended, or the program wants it.
//! - A call is open on one server, or on two where the first is late; the first to return counts.
//! - Calls are opened before their arguments are there, so that a chain on one server costs one
//!   latency: the server lets them wait for what its other calls make.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use farcall_base::{ErrorKind, Instant};

use crate::rank::upward_ranks;
use crate::record::Changes;
use crate::state::{Call, Phase, Place, Run, Server, Urgent, Value};
use crate::{Action, CallNumber, DataNumber, Ended, Failure, Graph, Limits, ServerNumber};

/// A transaction.
#[derive(Debug)]
pub struct Transaction {
    pub(crate) graph: Graph,
    pub(crate) limits: Limits,
    /// The time of the latest news.
    pub(crate) now: Instant,
    pub(crate) began: Instant,
    /// Its age when it began here, after a restart.
    pub(crate) before_us: u64,
    pub(crate) was_restored: bool,
    values: Vec<Value>,
    calls: Vec<Call>,
    pub(crate) servers: BTreeMap<ServerNumber, Server>,
    /// Calls that can be opened, the most urgent first.
    pub(crate) ready: BTreeSet<Urgent>,
    /// Calls that no server takes which is there, though one may come that does.
    pub(crate) stranded: BTreeSet<Urgent>,
    /// Whether calls may be open that wait for what no open call makes.
    pub(crate) may_be_stuck: bool,
    /// Calls that are open once and may run twice, by the time at which they count as late.
    pub(crate) late: BTreeSet<(Instant, CallNumber)>,
    /// Calls that have not ended.
    pub(crate) left: usize,
    pub(crate) out: VecDeque<Action>,
    pub(crate) changes: Changes,
}

impl Transaction {
    /// Nothing has run yet; the values that no call makes are with the program. `run_s` and `move_s`
    /// are what calls and moves take on average.
    pub fn new(
        now: Instant,
        graph: Graph,
        limits: Limits,
        run_s: impl Fn(CallNumber) -> f64,
        move_s: impl Fn(u64) -> f64,
    ) -> Transaction {
        let mut transaction = Transaction::unstarted(now, graph, limits, run_s, move_s);
        transaction.all_calls().for_each(|call| transaction.look(call));
        transaction
    }

    /// One whose calls wait, before anybody looked at which of them can be opened.
    pub(crate) fn unstarted(
        now: Instant,
        graph: Graph,
        limits: Limits,
        run_s: impl Fn(CallNumber) -> f64,
        move_s: impl Fn(u64) -> f64,
    ) -> Transaction {
        let ranks = upward_ranks(&graph, run_s, move_s);
        let values = graph.data.iter().zip(&graph.users).zip(&graph.makers);
        let values = values.map(|((plan, users), maker)| Value {
            places: maker.is_none().then_some(Place::Client).into_iter().collect(),
            users_left: users.len() as u32,
            wanted: plan.wanted && maker.is_some(),
            ..Value::default()
        });
        let values = values.collect();
        let calls: Vec<Call> = ranks.into_iter().map(Call::new).collect();
        Transaction {
            left: calls.len(),
            graph,
            limits,
            now,
            began: now,
            before_us: 0,
            was_restored: false,
            values,
            calls,
            servers: BTreeMap::new(),
            ready: BTreeSet::new(),
            stranded: BTreeSet::new(),
            may_be_stuck: false,
            late: BTreeSet::new(),
            out: VecDeque::new(),
            changes: Changes::default(),
        }
    }

    pub(crate) fn all_calls(&self) -> impl Iterator<Item = CallNumber> + use<> {
        (0..self.calls.len() as u32).map(CallNumber)
    }

    pub(crate) fn all_values(&self) -> impl Iterator<Item = DataNumber> + use<> {
        (0..self.values.len() as u32).map(DataNumber)
    }

    pub(crate) fn value(&self, data: DataNumber) -> &Value {
        &self.values[data.0 as usize]
    }

    /// A value that changes, and so belongs to the next record.
    pub(crate) fn value_mut(&mut self, data: DataNumber) -> &mut Value {
        self.changes.values.insert(data);
        &mut self.values[data.0 as usize]
    }

    pub(crate) fn call(&self, call: CallNumber) -> &Call {
        &self.calls[call.0 as usize]
    }

    /// A call that changes, and so belongs to the next record.
    pub(crate) fn call_mut(&mut self, call: CallNumber) -> &mut Call {
        self.changes.calls.insert(call);
        &mut self.calls[call.0 as usize]
    }

    pub(crate) fn handle_time(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// The next thing to do.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.out.pop_front()
    }

    /// The graph that it runs.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Whether every call has ended.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// How many calls have not ended.
    pub fn left(&self) -> usize {
        self.left
    }

    /// How a call ended; nothing yet: it did not. It may be told again: see [`Action::Ended`].
    pub fn outcome(&self, call: CallNumber) -> Option<&Ended> {
        self.call(call).outcome.as_ref()
    }

    /// Where a value is.
    pub fn places(&self, data: DataNumber) -> impl Iterator<Item = Place> {
        self.value(data).places.iter().copied()
    }

    /// Whether a call is open on a server.
    pub fn is_open_on(&self, call: CallNumber, server: ServerNumber) -> bool {
        self.call(call).runs.iter().any(|run| run.server == server)
    }

    /// Whether the server of a run was told to end it, or may have been before a restart.
    pub fn may_be_ending(&self, call: CallNumber, server: ServerNumber, attempt: u32) -> bool {
        let is_it = |run: &&Run| run.server == server && run.attempt == attempt;
        let run = self.call(call).runs.iter().find(is_it);
        run.is_some_and(|run| run.is_ending || run.is_restored)
    }

    pub(crate) fn is_there(&self, server: ServerNumber) -> bool {
        self.servers.get(&server).is_some_and(|server| server.is_there)
    }

    /// A server is there, with so many processors, or is there again. One that was restarted has a
    /// new number, so that late news of the old one is not taken for its own.
    pub fn handle_server(&mut self, now: Instant, server: ServerNumber, processors: u32) {
        self.handle_time(now);
        let fresh = Server { is_asked: !self.was_restored, ..Server::default() };
        let known = self.servers.entry(server).or_insert(fresh);
        known.processors = processors;
        known.is_there = true;
        self.ready.append(&mut self.stranded);
        if !std::mem::replace(&mut known.is_asked, true) {
            self.take_up(server);
        }
    }

    /// A call has returned.
    pub fn handle_returned(
        &mut self,
        now: Instant,
        call: CallNumber,
        server: ServerNumber,
        attempt: u32,
    ) {
        self.handle_time(now);
        let is_it = |run: &Run| run.server == server && run.attempt == attempt;
        if !self.call(call).runs.iter().any(is_it) {
            return self.keep_late_results(call, server);
        }
        for run in std::mem::take(&mut self.call_mut(call).runs) {
            self.unload(call, &run);
            if is_it(&run) {
                self.keep_times(call, &run);
            } else {
                let Run { server, attempt, .. } = run;
                self.out.push_back(Action::Cancel { call, server, attempt });
            }
        }
        self.left -= 1;
        let ended_us = self.age_us(self.now);
        let known = self.call_mut(call);
        known.times.ended_us = Some(ended_us);
        known.phase = Phase::Done;
        if known.outcome.is_none() {
            let outcome = Ended::Returned(server);
            known.outcome = Some(outcome.clone());
            self.out.push_back(Action::Ended { call, outcome });
        }
        for made in self.graph.call(call).makes.clone() {
            let value = self.value_mut(made);
            value.places.insert(Place::Server(server));
            value.coming.remove(&server);
            self.look_at_users(made);
            self.supply(made);
            self.drop_unneeded(made);
        }
        self.release_uses(call);
        for later in self.graph.later[call.0 as usize].clone() {
            self.look(later);
        }
    }

    /// A run has returned that was cancelled too late: a value that somebody needs is a second copy.
    fn keep_late_results(&mut self, call: CallNumber, server: ServerNumber) {
        for made in self.graph.call(call).makes.clone() {
            self.arrive(made, Place::Server(server));
            self.drop_unneeded(made);
        }
    }

    /// A call has failed, or was ended as [`Action::Cancel`] says. Of one that has not run, the next server has it.
    /// One that was cancelled without having run may go to the same server again.
    pub fn handle_failed(
        &mut self,
        now: Instant,
        call: CallNumber,
        server: ServerNumber,
        attempt: u32,
        failure: Failure,
    ) {
        self.handle_time(now);
        if !self.end_run(call, server, attempt) {
            return;
        }
        let is_lost = matches!(failure.kind, ErrorKind::ConnectionLost | ErrorKind::ShuttingDown);
        let may_run_again = is_lost && self.graph.call(call).may_run_again;
        if failure.has_run && !may_run_again {
            return self.fail(call, Ended::Failed(failure));
        }
        let place = Place::Server(server);
        let had_all = |data: &DataNumber| self.value(*data).places.contains(&place);
        let is_refused = !failure.has_run && failure.kind != ErrorKind::Cancelled;
        if is_refused && self.graph.call(call).uses.iter().all(had_all) {
            self.call_mut(call).without.insert(server);
        }
        if !self.call(call).runs.is_empty() {
            return;
        }
        if self.may_try_again(call) {
            self.wait_again(call);
        } else {
            self.fail(call, Ended::Failed(failure));
        }
    }
}
