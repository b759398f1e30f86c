//! Calls that end without a result, and calls that run again.

use farcall_base::ErrorKind;

use crate::state::{Phase, Run, Times, Urgent};
use crate::transaction::Transaction;
use crate::{Action, CallNumber, DataNumber, Ended, Failure, ServerNumber};

impl Transaction {
    /// A run of a call has ended, whose server has room for another.
    pub(crate) fn unload(&mut self, call: CallNumber, run: &Run) {
        self.late.remove(&(run.late, call));
        if let Some(server) = self.servers.get_mut(&run.server) {
            server.open = server.open.saturating_sub(1);
            server.load_s = (server.load_s - run.run_s).max(0.0);
        }
    }

    /// A run of a call has ended without a result; whether there was such a run. The other run of a
    /// late call goes on.
    pub(crate) fn end_run(&mut self, call: CallNumber, server: ServerNumber, attempt: u32) -> bool {
        let is_it = |run: &Run| run.server == server && run.attempt == attempt;
        let Some(at) = self.call(call).runs.iter().position(is_it) else { return false };
        let run = self.call_mut(call).runs.remove(at);
        self.unload(call, &run);
        self.keep_times(call, &run);
        if let Some(left) = self.call(call).runs.first() {
            let late = left.late.max(self.now);
            self.watch(call, late);
        }
        true
    }

    /// A call is ended on a server, and waits for another. One that may not run twice waits for the
    /// server's answer first: it may have begun meanwhile.
    pub(crate) fn take_back(&mut self, call: CallNumber, server: ServerNumber) {
        let may_run_again = self.graph.call(call).may_run_again;
        let on_it = |run: &&mut Run| run.server == server;
        let Some(run) = self.call_mut(call).runs.iter_mut().find(on_it) else { return };
        let attempt = run.attempt;
        if !std::mem::replace(&mut run.is_ending, true) {
            self.out.push_back(Action::Cancel { call, server, attempt });
        }
        if !may_run_again {
            return;
        }
        self.end_run(call, server, attempt);
        if !self.call(call).runs.is_empty() {
            return;
        }
        if self.may_try_again(call) {
            return self.wait_again(call);
        }
        let message = "what it uses could not be brought to its servers".to_owned();
        let kind = ErrorKind::Unreachable;
        self.fail(call, Ended::Failed(Failure { kind, message, has_run: false }));
    }

    /// Open calls that wait for what no open call makes leave their servers, so that there is room for
    /// the calls which make it again. Without that, all could wait for what none of them makes.
    pub(crate) fn make_room(&mut self) {
        while std::mem::take(&mut self.may_be_stuck) {
            let is_nowhere = |data: &DataNumber| {
                self.value(*data).places.is_empty() && !self.is_being_made(*data)
            };
            let is_stuck = |call: &CallNumber| {
                let is_open = self.call(*call).phase == Phase::Open;
                is_open && self.graph.call(*call).uses.iter().any(is_nowhere)
            };
            let stuck: Vec<CallNumber> = self.all_calls().filter(is_stuck).collect();
            for call in stuck {
                // It was not opened in vain.
                let known = self.call_mut(call);
                known.failures = known.failures.saturating_sub(1);
                for run in known.runs.iter().map(|run| run.server).collect::<Vec<_>>() {
                    self.take_back(call, run);
                }
            }
        }
    }

    /// Whether a call that was opened in vain once more is opened again.
    pub(crate) fn may_try_again(&mut self, call: CallNumber) -> bool {
        let max = self.limits.attempts_max;
        let known = self.call_mut(call);
        known.failures += 1;
        known.failures < max
    }

    /// A call that was open waits again, and so does what was to be made of its results.
    pub(crate) fn wait_again(&mut self, call: CallNumber) {
        self.call_mut(call).phase = Phase::Waiting;
        self.may_be_stuck = true;
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
                self.unload(one, &run);
                self.keep_times(one, &run);
                let Run { server, attempt, .. } = run;
                self.out.push_back(Action::Cancel { call: one, server, attempt });
            }
            let rank = self.call(one).rank;
            self.ready.remove(&Urgent { rank, call: one });
            self.stranded.remove(&Urgent { rank, call: one });
            let ended_us = self.age_us(self.now);
            self.call_mut(one).phase = Phase::Failed;
            self.call_mut(one).times.ended_us = Some(ended_us);
            self.call_mut(one).outcome = Some(outcome.clone());
            if phase != Phase::Done {
                self.left -= 1;
                self.release_uses(one);
            }
            self.out.push_back(Action::Ended { call: one, outcome });
            // A copy may be somewhere all the same: nobody asks for it.
            for made in self.graph.call(one).makes.clone() {
                self.value_mut(made).wanted = false;
                self.drop_unneeded(made);
            }
            let behind = self.graph.behind(one).collect::<Vec<_>>();
            for next in behind {
                if self.ends_with(next, one) {
                    failed.push((next, Ended::NotRun(call)));
                } else {
                    // It waits for this one no more.
                    self.look(next);
                }
            }
        }
    }

    /// Whether a call ends since one fails that it waits for. One that is made again, and only had to
    /// come later, goes on.
    pub(crate) fn ends_with(&self, call: CallNumber, failed: CallNumber) -> bool {
        let known = self.call(call);
        let makes = &self.graph.call(failed).makes;
        let uses_it = || self.graph.call(call).uses.iter().any(|data| makes.contains(data));
        !known.has_ended() && (known.outcome.is_none() || uses_it())
    }

    /// A call that had returned is to run again.
    pub(crate) fn run_again(&mut self, call: CallNumber) {
        let known = self.call_mut(call);
        known.phase = Phase::Waiting;
        known.times = Times::default();
        self.left += 1;
        for data in self.graph.call(call).uses.clone() {
            self.value_mut(data).users_left += 1;
        }
    }
}
