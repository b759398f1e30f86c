//! When each call was ready, was opened, began and ended, and where.

use farcall_base::Instant;

use crate::state::Run;
use crate::transaction::Transaction;
use crate::{CallNumber, ServerNumber};

/// What is known of a call's time. Microseconds since the transaction began; time in which nobody ran
/// it, between two owners, does not count. Of a call that ran again the last time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// Which.
    pub call: CallNumber,
    /// Where it was opened last, or where it returned.
    pub server: Option<ServerNumber>,
    /// How often it was opened.
    pub attempts: u32,
    /// When all that it uses was there or being made.
    pub ready_us: Option<u64>,
    /// When it was opened.
    pub opened_us: Option<u64>,
    /// When its routine began, if that was told.
    pub begun_us: Option<u64>,
    /// When it ended, however it did.
    pub ended_us: Option<u64>,
}

impl Transaction {
    /// All calls in their order.
    pub fn timeline(&self) -> impl Iterator<Item = Timed> {
        self.all_calls().map(|call| self.timed(call))
    }

    fn timed(&self, call: CallNumber) -> Timed {
        let known = self.call(call);
        let run = known.runs.last();
        Timed {
            call,
            server: run.map(|run| run.server).or(known.times.server.map(ServerNumber)),
            attempts: known.attempts,
            ready_us: known.times.ready_us,
            opened_us: run.map(|run| run.opened_us).or(known.times.opened_us),
            begun_us: run.map_or(known.times.begun_us, |run| run.begun_us),
            ended_us: known.times.ended_us,
        }
    }

    /// The routine of a call began. May be told late, with the time at which it was.
    pub fn handle_begun(
        &mut self,
        at: Instant,
        call: CallNumber,
        server: ServerNumber,
        attempt: u32,
    ) {
        let begun_us = self.age_us(at);
        let is_it = |run: &&mut Run| run.server == server && run.attempt == attempt;
        if let Some(run) = self.call_mut(call).runs.iter_mut().find(is_it) {
            run.begun_us = Some(begun_us);
        }
    }

    /// A run of a call is the one whose times count.
    pub(crate) fn keep_times(&mut self, call: CallNumber, run: &Run) {
        let times = &mut self.call_mut(call).times;
        times.server = Some(run.server.0);
        times.opened_us = Some(run.opened_us);
        times.begun_us = run.begun_us;
    }

    /// How old the transaction was at a time.
    pub(crate) fn age_us(&self, at: Instant) -> u64 {
        let since = u64::try_from(at.since(self.began).as_micros()).unwrap_or(u64::MAX);
        self.before_us.saturating_add(since)
    }
}
