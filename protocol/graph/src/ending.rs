//! Calls that end without a result, and calls that run again.

use farcall_base::ErrorKind;

use crate::state::{Phase, Run, Urgent};
use crate::transaction::Transaction;
use crate::{Action, CallNumber, Ended, Failure, ServerNumber};

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
        if let Some(left) = self.call(call).runs.first() {
            let late = left.late.max(self.now);
            self.watch(call, late);
        }
        true
    }

    /// A call is ended on a server, and waits for another.
    pub(crate) fn take_back(&mut self, call: CallNumber, server: ServerNumber) {
        let on_it = |run: &&Run| run.server == server;
        let Some(attempt) = self.call(call).runs.iter().find(on_it).map(|run| run.attempt) else {
            return;
        };
        self.end_run(call, server, attempt);
        self.out.push_back(Action::Cancel { call, server, attempt });
        if !self.call(call).runs.is_empty() {
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
                self.unload(one, &run);
                let Run { server, attempt, .. } = run;
                self.out.push_back(Action::Cancel { call: one, server, attempt });
            }
            let rank = self.call(one).rank;
            self.ready.remove(&Urgent { rank, call: one });
            self.call_mut(one).phase = Phase::Failed;
            self.call_mut(one).outcome = Some(outcome.clone());
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
