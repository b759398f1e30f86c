//! A transaction goes on after a restart of its owner: from its graph and its records. What had ended
//! stays ended; what was open is asked for when its server is there.

use std::collections::BTreeSet;

use farcall_base::{Instant, Result};

use crate::opening::seconds;
use crate::record::{CallRow, Record, RunRow, State, ValueRow, broken};
use crate::state::{Phase, Place, Run};
use crate::transaction::Transaction;
use crate::{Action, CallNumber, DataNumber, Ended, Graph, Limits, ServerNumber};

/// Times that a call is open at once: a late one twice.
const RUNS_MAX: usize = 2;
/// No call is opened so often: its attempts can be counted on.
const ATTEMPTS_MAX: u32 = u32::MAX / 2;

impl Transaction {
    /// As [`Transaction::new`], from the records of one that ran, the oldest first. Its servers are
    /// not there until they are announced, and it waits for those that are not reported as lost.
    /// `renumber` gives the numbers that servers have from now on, each another one.
    ///
    /// # Errors
    /// `Damaged` for records that are broken, belong to another graph, or contradict themselves;
    /// `Version`.
    pub fn restore<'a>(
        now: Instant,
        graph: Graph,
        limits: Limits,
        run_s: impl Fn(CallNumber) -> f64,
        move_s: impl Fn(u64) -> f64,
        records: impl IntoIterator<Item = &'a [u8]>,
        renumber: impl Fn(ServerNumber) -> ServerNumber,
    ) -> Result<Transaction> {
        let mut transaction = Transaction::unstarted(now, graph, limits, &run_s, move_s);
        transaction.was_restored = true;
        for bytes in records {
            let mut record = Record::decode(bytes)?;
            record.renumber(&|server| renumber(ServerNumber(server)).0);
            transaction.apply(record)?;
        }
        transaction.count(&run_s);
        transaction.repair();
        transaction.all_calls().for_each(|call| transaction.look(call));
        Ok(transaction)
    }

    fn apply(&mut self, record: Record) -> Result<()> {
        let size = (self.graph.calls() as u64, self.graph.values() as u64);
        if size != (record.calls, record.values) {
            return Err(broken("it is of another transaction")
                .with("calls", record.calls)
                .with("values", record.values));
        }
        self.before_us = self.before_us.max(record.age_us);
        for row in record.call_rows {
            let number = row.call;
            self.apply_call(row).map_err(|error| error.with("call", number))?;
        }
        record.value_rows.into_iter().try_for_each(|row| self.apply_value(row))
    }

    fn apply_call(&mut self, row: CallRow) -> Result<()> {
        if row.call as usize >= self.graph.calls() {
            return Err(broken("it names a call that is not there"));
        }
        let attempts: BTreeSet<u32> = row.runs.iter().map(|run| run.attempt).collect();
        let servers: BTreeSet<u32> = row.runs.iter().map(|run| run.server).collect();
        let is_sound = row.runs.len() <= RUNS_MAX
            && attempts.len() == row.runs.len()
            && servers.len() == row.runs.len()
            && attempts.last().is_none_or(|last| *last < row.attempts)
            && row.attempts < ATTEMPTS_MAX;
        if !is_sound || (row.state == State::Open) == row.runs.is_empty() {
            return Err(broken("where a call is open contradicts its state"));
        }
        let outcome = row.outcome.map(|outcome| outcome.ended()).transpose()?;
        let fits = match (&outcome, row.state) {
            (None | Some(Ended::Returned(_)), State::Waiting | State::Open) => true,
            (Some(Ended::Returned(_)), State::Done) => true,
            (Some(Ended::NotRun(cause)), State::Failed) => (cause.0 as usize) < self.graph.calls(),
            (Some(Ended::Failed(_)), State::Failed) => true,
            _ => false,
        };
        if !fits {
            return Err(broken("how a call ended contradicts its state"));
        }
        let run = |run: &RunRow| Run {
            server: ServerNumber(run.server),
            attempt: run.attempt,
            run_s: 0.0,
            ends: self.now,
            late: self.now,
            is_ending: false,
            is_restored: true,
            opened_us: run.opened_us,
            begun_us: run.begun_us,
        };
        let runs = row.runs.iter().map(run).collect();
        let known = self.call_mut(CallNumber(row.call));
        known.runs = runs;
        known.phase = match row.state {
            State::Waiting => Phase::Waiting,
            State::Open => Phase::Open,
            State::Done => Phase::Done,
            State::Failed => Phase::Failed,
        };
        known.attempts = row.attempts;
        known.outcome = outcome;
        known.times = row.times;
        Ok(())
    }

    fn apply_value(&mut self, row: ValueRow) -> Result<()> {
        if row.data as usize >= self.graph.values() {
            return Err(broken("it names a value that is not there").with("value", row.data));
        }
        let data = DataNumber(row.data);
        let is_result = self.graph.maker(data).is_some() && self.graph.value(data).wanted;
        let now = self.now;
        let value = self.value_mut(data);
        value.places =
            row.servers.into_iter().map(|one| Place::Server(ServerNumber(one))).collect();
        value.places.extend(row.is_at_client.then_some(Place::Client));
        value.coming = row.coming.into_iter().map(|server| (ServerNumber(server), now)).collect();
        value.wanted = row.wanted && is_result;
        let is_there = |server: &ServerNumber| value.places.contains(&Place::Server(*server));
        value.lent = row.lent.into_iter().map(ServerNumber).filter(is_there).collect();
        Ok(())
    }

    /// Works out what follows from the rows: who needs a value, what servers have to do, how many
    /// calls are left.
    fn count(&mut self, run_s: &impl Fn(CallNumber) -> f64) {
        self.left = 0;
        for call in self.all_calls() {
            if self.call(call).has_ended() {
                continue;
            }
            self.left += 1;
            let takes = run_s(call).max(0.0);
            let ends = self.now + seconds(takes);
            for at in 0..self.call(call).runs.len() {
                let run = &mut self.call_mut(call).runs[at];
                run.run_s = takes;
                run.ends = ends;
                let server = run.server;
                let server = self.servers.entry(server).or_default();
                server.open += 1;
                server.load_s += takes;
            }
            let late = self.late_at(ends, takes);
            self.watch(call, late);
        }
        for data in self.all_values() {
            let users = self.graph.users[data.0 as usize].iter();
            let left = users.filter(|user| !self.call(**user).has_ended()).count();
            let value = self.value_mut(data);
            value.users_left = left as u32;
            let places = value.places.iter().filter_map(|place| match place {
                Place::Server(server) => Some(*server),
                Place::Client => None,
            });
            let servers: Vec<ServerNumber> = places.chain(value.coming.keys().copied()).collect();
            for server in servers {
                self.servers.entry(server).or_default();
            }
        }
    }

    /// Records that are each sound may still contradict one another. Then calls end that could only
    /// wait for ever, and what is nowhere is made again.
    fn repair(&mut self) {
        for call in self
            .all_calls()
            .filter(|call| self.call(*call).phase == Phase::Failed)
            .collect::<Vec<_>>()
        {
            let behind: Vec<CallNumber> = self.graph.behind(call).collect();
            for next in behind {
                if self.ends_with(next, call) {
                    self.fail(next, Ended::NotRun(call));
                }
            }
        }
        self.all_values().for_each(|data| self.make_again(data));
        self.all_values().for_each(|data| self.supply(data));
        self.all_values().for_each(|data| self.drop_unneeded(data));
    }

    /// A server from before the restart is there: all that is to be on it is asked for.
    pub(crate) fn take_up(&mut self, server: ServerNumber) {
        let place = Place::Server(server);
        let of_call = |call: CallNumber| {
            let runs = self.call(call).runs.iter().filter(|run| run.server == server);
            runs.map(|run| (call, run.attempt)).collect::<Vec<_>>()
        };
        let calls = self.all_calls().flat_map(of_call).collect();
        let is_on_it = |data: &DataNumber| {
            let value = self.value(*data);
            value.places.contains(&place) || value.coming.contains_key(&server)
        };
        let data: Vec<DataNumber> = self.all_values().filter(is_on_it).collect();
        // Other servers may have waited for what this one has.
        let has = |data: &&DataNumber| self.value(**data).places.contains(&place);
        let offered: Vec<DataNumber> = data.iter().filter(has).copied().collect();
        self.out.push_back(Action::TakeUp { server, calls, data });
        offered.into_iter().for_each(|data| self.supply(data));
    }

    /// Runs that are open: call, server, and how often it was opened before.
    pub fn open_runs(&self) -> Vec<(CallNumber, ServerNumber, u32)> {
        let runs = |call: CallNumber| {
            let runs = self.call(call).runs.iter();
            runs.map(move |run| (call, run.server, run.attempt))
        };
        self.all_calls().flat_map(runs).collect()
    }

    /// A server that has been there since before the restart does not know a call that was to be
    /// open there: the call never came to it, and has not run.
    pub fn handle_unknown(
        &mut self,
        now: Instant,
        call: CallNumber,
        server: ServerNumber,
        attempt: u32,
    ) {
        self.handle_time(now);
        if self.end_run(call, server, attempt) && self.call(call).runs.is_empty() {
            self.wait_again(call);
        }
    }
}
