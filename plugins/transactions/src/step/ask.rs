//! What clients ask about their transactions.

use farcall_base::{Instant, Result, TransactionId};
use farcall_graph::{CallNumber, Ended};
use farcall_wire::{
    CALLS_SHOWN_MAX, CallFailure, FAILURES_SHOWN_MAX, Reply, TRANSACTIONS_SHOWN_MAX, Timeline,
    TimelineRow, TimelineState, TransactionEnd, TransactionReply, TransactionResult,
    TransactionResults, TransactionStatus,
};

use super::not_there;
use super::take::is_taken_up;
use crate::state::{Entry, QuestionNumber, Running, State};

impl State {
    /// A client wants to know when a transaction has ended: the answer, if it is.
    pub(super) fn wait(
        &mut self,
        question: QuestionNumber,
        id: &TransactionId,
        principal: &str,
    ) -> Result<Option<Reply>> {
        let number = self.of(id, principal).ok_or_else(|| not_there(id))?;
        let Some(entry) = self.entry_mut(number) else { return Err(not_there(id)) };
        match entry.running() {
            Some(running) if running.may_be_told() => Ok(Some(over(running))),
            _ => {
                entry.awaiting.push(question);
                Ok(None)
            }
        }
    }

    pub(super) fn list(&self, now: Instant, ids: &[TransactionId], principal: &str) -> Reply {
        let all = self.entries().filter(|(_, entry)| entry.principal == principal);
        let named = all.filter(|(_, entry)| ids.is_empty() || ids.contains(&entry.id));
        let told = named.map(|(_, entry)| status(now, entry));
        let damaged = self.list_damaged(now, ids, principal);
        let told = told.chain(damaged).take(TRANSACTIONS_SHOWN_MAX);
        Reply::Transaction(TransactionReply::List(told.collect()))
    }

    fn running_of(&self, id: &TransactionId, principal: &str) -> Result<&Running> {
        let entry = self.of(id, principal).and_then(|number| self.entry(number));
        entry.and_then(Entry::running).ok_or_else(|| match entry.is_some_and(Entry::is_taken_up) {
            true => is_taken_up(id),
            false => not_there(id),
        })
    }

    pub(super) fn timeline(
        &self,
        id: &TransactionId,
        first: u32,
        principal: &str,
    ) -> Result<Reply> {
        let running = self.running_of(id, principal)?;
        let calls = running.transaction.timeline().skip(first as usize).take(CALLS_SHOWN_MAX);
        let message = running.plan.message();
        let row = |timed: farcall_graph::Timed| TimelineRow {
            routine: message.calls[timed.call.0 as usize].routine,
            state: match running.transaction.outcome(timed.call) {
                Some(Ended::Returned(_)) => TimelineState::Returned,
                Some(Ended::Failed(_)) => TimelineState::Failed,
                Some(Ended::NotRun(_)) => TimelineState::NotRun,
                None if timed.opened_us.is_some() => TimelineState::Open,
                None => TimelineState::Waits,
            },
            attempts: timed.attempts,
            server: timed.server.map(|server| server.0),
            ready_us: timed.ready_us,
            opened_us: timed.opened_us,
            begun_us: timed.begun_us,
            ended_us: timed.ended_us,
        };
        Ok(Reply::Transaction(TransactionReply::Timeline(Box::new(Timeline {
            calls: message.calls.len() as u32,
            servers: running.servers.all().map(|(_, server)| server.name.clone()).collect(),
            routines: message.routines.iter().map(|routine| routine.name.clone()).collect(),
            rows: calls.map(row).collect(),
        }))))
    }

    pub(super) fn results(&self, id: &TransactionId, first: u32, principal: &str) -> Result<Reply> {
        let running = self.running_of(id, principal)?;
        let results = &running.plan.message().results;
        let row = |result: &farcall_graph::WantedResult| {
            let call = CallNumber(result.call);
            let parameter = running.plan.interface(call).parameters.get(usize::from(result.slot));
            TransactionResult {
                call: result.call,
                routine: running.plan.routine(call).name.clone(),
                parameter: parameter.map(|parameter| parameter.name.clone()).unwrap_or_default(),
                data: result.name,
            }
        };
        let rows = results.iter().skip(first as usize).take(CALLS_SHOWN_MAX).map(row).collect();
        let told = TransactionResults { results: results.len() as u32, rows };
        Ok(Reply::Transaction(TransactionReply::Results(Box::new(told))))
    }
}

/// How a transaction ended.
pub(super) fn over(running: &Running) -> Reply {
    let failure =
        |call: CallNumber| CallFailure { call: call.0, failure: running.failure_of(call) };
    let failures = running.failed_calls().take(FAILURES_SHOWN_MAX).map(failure).collect();
    let end = TransactionEnd { failed: running.failed() as u32, failures };
    Reply::Transaction(TransactionReply::Over(end))
}

fn status(now: Instant, entry: &Entry) -> TransactionStatus {
    let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let running = entry.running();
    TransactionStatus {
        id: entry.id,
        is_over: entry.is_over(),
        calls: entry.calls() as u32,
        returned: running.map_or(0, |running| running.returned.len() as u32),
        failed: running.map_or(0, |running| running.failed() as u32),
        age_us: micros(now.since(entry.began)),
        left_us: entry.expires.map(|at| micros(at.since(now))),
        principal: entry.principal.clone(),
        failure: entry.first_failure(),
    }
}
