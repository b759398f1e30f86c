//! A transaction that runs: what happened comes in, with the time, and what to do comes out.
//!
//! - A value is needed as long as a call that uses it has not ended, or the program wants it.
//! - A call is open on one server, or on two where the first is late; whichever returns first counts.
//! - Calls are opened before their arguments are there, so that a chain on one server costs one
//!   latency: the server lets them wait for what its other calls make.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use farcall_base::{ErrorKind, Instant};

use crate::choice::{Choice, Chosen, Costs};
use crate::rank::upward_ranks;
use crate::state::{Call, Phase, Place, Run, Server, Urgent, Value};
use crate::{Action, CallNumber, DataNumber, Ended, Failure, Graph, Limits, ServerNumber};

/// Urgent calls without room that are passed, so that others use servers which have some.
const PASSED_MAX: usize = 64;
/// A call that is late by so many times what it takes, and by this time, runs once more elsewhere.
const LATE_TIMES: f64 = 2.0;
const LATE: Duration = Duration::from_secs(1);

/// A transaction.
#[derive(Debug)]
pub struct Transaction {
    pub(crate) graph: Graph,
    pub(crate) limits: Limits,
    pub(crate) values: Vec<Value>,
    calls: Vec<Call>,
    pub(crate) servers: BTreeMap<ServerNumber, Server>,
    ready: BTreeSet<Urgent>,
    /// Calls that have not ended.
    left: usize,
    pub(crate) out: VecDeque<Action>,
}

impl Transaction {
    /// Nothing has run yet; the values that no call makes are with the program. `run_s` and `move_s`
    /// are what calls and moves take on average.
    pub fn new(
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
        let calls = ranks.into_iter().map(|rank| Call {
            phase: Phase::Waiting,
            runs: Vec::new(),
            attempts: 0,
            without: BTreeSet::new(),
            is_reported: false,
            rank,
        });
        let calls: Vec<Call> = calls.collect();
        let left = calls.len();
        let servers = BTreeMap::new();
        let mut transaction = Transaction {
            graph,
            limits,
            values,
            calls,
            servers,
            ready: BTreeSet::new(),
            left,
            out: VecDeque::new(),
        };
        transaction.all_calls().for_each(|call| transaction.look(call));
        transaction
    }

    pub(crate) fn all_calls(&self) -> impl Iterator<Item = CallNumber> + use<> {
        (0..self.calls.len() as u32).map(CallNumber)
    }

    pub(crate) fn value(&self, data: DataNumber) -> &Value {
        &self.values[data.0 as usize]
    }

    pub(crate) fn value_mut(&mut self, data: DataNumber) -> &mut Value {
        &mut self.values[data.0 as usize]
    }

    pub(crate) fn call(&self, call: CallNumber) -> &Call {
        &self.calls[call.0 as usize]
    }

    pub(crate) fn call_mut(&mut self, call: CallNumber) -> &mut Call {
        &mut self.calls[call.0 as usize]
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

    /// Where a value is.
    pub fn places(&self, data: DataNumber) -> impl Iterator<Item = Place> {
        self.value(data).places.iter().copied()
    }

    /// A server is there, with so many processors, or is there again.
    pub fn handle_server(&mut self, server: ServerNumber, processors: u32) {
        let known = self.servers.entry(server);
        let known = known.or_insert(Server { processors, is_there: true, open: 0, load_s: 0.0 });
        known.processors = processors;
        known.is_there = true;
    }

    /// A call has returned.
    pub fn handle_returned(
        &mut self,
        now: Instant,
        call: CallNumber,
        server: ServerNumber,
        attempt: u32,
    ) {
        let is_it = |run: &Run| run.server == server && run.attempt == attempt;
        if self.call(call).phase != Phase::Open || !self.call(call).runs.iter().any(is_it) {
            return;
        }
        for run in std::mem::take(&mut self.call_mut(call).runs) {
            self.unload(&run);
            if !is_it(&run) {
                self.out.push_back(Action::Cancel {
                    call,
                    server: run.server,
                    attempt: run.attempt,
                });
            }
        }
        self.call_mut(call).phase = Phase::Done;
        self.left -= 1;
        if !std::mem::replace(&mut self.call_mut(call).is_reported, true) {
            self.out.push_back(Action::Ended { call, outcome: Ended::Returned(server) });
        }
        for made in self.graph.call(call).makes.clone() {
            let value = self.value_mut(made);
            value.places.insert(Place::Server(server));
            value.coming.remove(&server);
            self.look_at_users(made);
            self.supply(now, made);
            self.drop_unneeded(made);
        }
        self.release_uses(call);
        for later in self.graph.later[call.0 as usize].clone() {
            self.look(later);
        }
    }

    /// A call has failed. Of one that has not run, the next server has it.
    pub fn handle_failed(
        &mut self,
        call: CallNumber,
        server: ServerNumber,
        attempt: u32,
        failure: Failure,
    ) {
        let is_it = |run: &Run| run.server == server && run.attempt == attempt;
        let Some(at) = self.call(call).runs.iter().position(is_it) else { return };
        let run = self.call_mut(call).runs.remove(at);
        self.unload(&run);
        let is_lost = matches!(failure.kind, ErrorKind::ConnectionLost | ErrorKind::ShuttingDown);
        let may_run_again = is_lost && self.graph.call(call).may_run_again;
        if failure.has_run && !may_run_again {
            return self.fail(call, Ended::Failed(failure));
        }
        let place = Place::Server(server);
        let had_all = |data: &DataNumber| self.value(*data).places.contains(&place);
        if !failure.has_run && self.graph.call(call).uses.iter().all(had_all) {
            self.call_mut(call).without.insert(server);
        }
        if !self.call(call).runs.is_empty() {
            return;
        }
        if self.call(call).attempts >= self.limits.attempts_max {
            return self.fail(call, Ended::Failed(failure));
        }
        self.wait_again(call);
    }

    /// Opens calls where there is room, the most urgent first.
    pub fn place(&mut self, now: Instant, costs: &dyn Costs) {
        let mut passed = Vec::new();
        while passed.len() < PASSED_MAX {
            let Some(urgent) = self.ready.pop_first() else { break };
            let call = urgent.call;
            if !self.is_placeable(call) {
                self.call_mut(call).phase = Phase::Waiting;
                continue;
            }
            match self.choose(now, call, costs, None) {
                Chosen::Server(choice) => self.open(now, call, choice, costs),
                Chosen::NoRoom => passed.push(urgent),
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
    }

    /// Runs calls once more that are late, where another server would end them sooner. Only those that
    /// may run twice.
    pub fn hurry(&mut self, now: Instant, costs: &dyn Costs) {
        for call in self.all_calls() {
            let known = self.call(call);
            let may = known.phase == Phase::Open && self.graph.call(call).may_run_again;
            let Some(run) = known.runs.first().filter(|_| may && known.runs.len() == 1) else {
                continue;
            };
            let run = *run;
            let uses = self.graph.call(call).uses.iter();
            let is_complete = uses.clone().all(|data| !self.value(*data).places.is_empty());
            let late = LATE + Duration::from_secs_f64((run.run_s * LATE_TIMES).min(1e9));
            if !is_complete || now < run.ends + late {
                continue;
            }
            if let Chosen::Server(choice) = self.choose(now, call, costs, Some(run.server)) {
                self.open(now, call, choice, costs);
            }
        }
    }

    /// Opens a call, and has what it uses brought there.
    fn open(&mut self, now: Instant, call: CallNumber, choice: Choice, costs: &dyn Costs) {
        let Choice { server, run_s, ends_s } = choice;
        let ends = now + Duration::from_secs_f64(ends_s.clamp(0.0, 1e9));
        for data in self.graph.call(call).uses.clone() {
            let arrives = self.arrival(now, data, server, costs);
            self.fetch(now, data, server, arrives);
        }
        let is_last = |data: &DataNumber| {
            let value = self.value(*data);
            value.users_left == 1 && !value.wanted && !value.places.contains(&Place::Client)
        };
        let last_uses = self.graph.call(call).uses.iter().copied().filter(is_last).collect();
        let known = self.call_mut(call);
        known.phase = Phase::Open;
        let attempt = known.attempts;
        known.attempts += 1;
        known.runs.push(Run { server, attempt, run_s, ends });
        if let Some(server) = self.servers.get_mut(&server) {
            server.open += 1;
            server.load_s += run_s;
        }
        self.out.push_back(Action::Open { call, server, attempt, last_uses });
        for made in self.graph.call(call).makes.clone() {
            self.look_at_users(made);
            self.supply(now, made);
        }
    }

    /// Whether a call can be opened: what it uses is somewhere, or is being made.
    fn is_placeable(&self, call: CallNumber) -> bool {
        let plan = self.graph.call(call);
        let is_coming =
            |data: &DataNumber| !self.value(*data).places.is_empty() || self.is_being_made(*data);
        let is_done = |before: &CallNumber| self.call(*before).phase == Phase::Done;
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
            self.call_mut(call).phase = Phase::Ready;
            self.ready.insert(Urgent { rank, call });
        }
    }

    pub(crate) fn look_at_users(&mut self, data: DataNumber) {
        for at in 0..self.graph.users[data.0 as usize].len() {
            self.look(self.graph.users[data.0 as usize][at]);
        }
    }

    pub(crate) fn unload(&mut self, run: &Run) {
        if let Some(server) = self.servers.get_mut(&run.server) {
            server.open = server.open.saturating_sub(1);
            server.load_s = (server.load_s - run.run_s).max(0.0);
        }
    }

    /// A call is ended on a server, and waits for another.
    pub(crate) fn take_back(&mut self, call: CallNumber, server: ServerNumber) {
        let runs = std::mem::take(&mut self.call_mut(call).runs);
        let (ended, kept): (Vec<Run>, Vec<Run>) =
            runs.into_iter().partition(|run| run.server == server);
        for run in ended {
            self.unload(&run);
            self.out.push_back(Action::Cancel { call, server, attempt: run.attempt });
        }
        let is_left = !kept.is_empty();
        self.call_mut(call).runs = kept;
        if is_left || self.call(call).phase != Phase::Open {
            return;
        }
        if self.call(call).attempts < self.limits.attempts_max {
            return self.wait_again(call);
        }
        let message = "what it uses could not be brought to its servers".to_owned();
        let kind = ErrorKind::Unreachable;
        self.fail(call, Ended::Failed(Failure { kind, message, has_run: false }));
    }

    /// A call that was open waits again, and so does what was to be made of its results.
    pub(crate) fn wait_again(&mut self, call: CallNumber) {
        self.call_mut(call).phase = Phase::Waiting;
        self.look(call);
        // What was lost meanwhile is made again.
        for data in self.graph.call(call).uses.clone() {
            if self.value(data).places.is_empty() && !self.is_being_made(data) {
                self.make_again(data);
            }
        }
    }

    /// A call has ended without a result; all that waits for it ends, too, and what is open of that is
    /// cancelled.
    pub(crate) fn fail(&mut self, call: CallNumber, outcome: Ended) {
        let mut failed = vec![(call, outcome)];
        while let Some((one, outcome)) = failed.pop() {
            let phase = self.call(one).phase;
            if phase == Phase::Failed {
                continue;
            }
            for run in std::mem::take(&mut self.call_mut(one).runs) {
                self.unload(&run);
                let Run { server, attempt, .. } = run;
                self.out.push_back(Action::Cancel { call: one, server, attempt });
            }
            let rank = self.call(one).rank;
            self.ready.remove(&Urgent { rank, call: one });
            self.call_mut(one).phase = Phase::Failed;
            self.call_mut(one).is_reported = true;
            if phase != Phase::Done {
                self.left -= 1;
                self.release_uses(one);
            }
            self.out.push_back(Action::Ended { call: one, outcome });
            let behind = self.graph.behind(one).collect::<Vec<_>>();
            let waits =
                |next: &CallNumber| !matches!(self.call(*next).phase, Phase::Done | Phase::Failed);
            failed.extend(behind.into_iter().filter(waits).map(|next| (next, Ended::NotRun(call))));
        }
    }

    /// A call that had returned is to run again.
    pub(crate) fn run_again(&mut self, call: CallNumber) {
        self.call_mut(call).phase = Phase::Waiting;
        self.left += 1;
        for data in self.graph.call(call).uses.clone() {
            self.value_mut(data).users_left += 1;
        }
    }
}
