//! What became of calls that were placed: told with the next question, or after a second without
//! one, or at the end.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use farcall_wire::Request;
use farcall_wire::{CallOutcome, MeasuredTransfer, TOLD_MAX};

use super::finding::{Alone, Predicted};
use super::server::Server;
use super::{View, lock, own_host};
use crate::results::{Outputs, Phases, PlacedTimes, TimesHere};
use crate::session::Session;

/// Time after which they are told, if no question takes them along.
const PAUSE: Duration = Duration::from_secs(1);

/// Those that are to be told.
#[derive(Default)]
pub struct Outcomes(Mutex<State>);

#[derive(Default)]
struct State {
    pending: Vec<CallOutcome>,
    /// Running calls that were asked for alone.
    running: Vec<Running>,
    has_thread: bool,
}

/// A running call.
struct Running {
    number: u64,
    grant: u64,
    server: Arc<Server>,
    session: Weak<Session>,
    /// Whether it was told that its arguments are there.
    is_told: bool,
}

impl Outcomes {
    /// One more.
    pub fn push(&self, view: &Arc<View>, outcome: CallOutcome) {
        let mut state = lock(&self.0);
        if state.pending.len() < TOLD_MAX {
            state.pending.push(outcome);
        }
        self.watch(&mut state, view);
    }

    /// A call was made that was asked for alone.
    pub fn begin(
        &self,
        view: &Arc<View>,
        call: (u64, u64),
        server: &Arc<Server>,
        session: &Arc<Session>,
    ) {
        let (number, grant) = call;
        let session = Arc::downgrade(session);
        let mut state = lock(&self.0);
        if state.running.len() < TOLD_MAX {
            let server = server.clone();
            state.running.push(Running { number, grant, server, session, is_told: false });
        }
        self.watch(&mut state, view);
    }

    /// It ended, or was given up.
    pub fn end(&self, number: u64) {
        lock(&self.0).running.retain(|one| one.number != number);
    }

    /// All that there is to tell.
    pub fn take(&self, _: &View) -> Vec<CallOutcome> {
        lock(&self.0).take()
    }

    /// Has a thread tell them if nobody else does.
    fn watch(&self, state: &mut State, view: &Arc<View>) {
        if state.has_thread {
            return;
        }
        let view = Arc::downgrade(view);
        let thread = std::thread::Builder::new().name("farcall-outcomes".to_owned());
        state.has_thread = thread.spawn(move || tell(&view)).is_ok();
    }

    /// Tells what there is at the end.
    pub fn flush(&self, session: &Session) {
        let pending = lock(&self.0).take();
        send(session, pending);
    }
}

impl State {
    fn take(&mut self) -> Vec<CallOutcome> {
        let mut told = std::mem::take(&mut self.pending);
        for one in self.running.iter_mut().filter(|one| !one.is_told) {
            let Some(session) = one.session.upgrade() else { continue };
            let Some(transfer) = session.transfer(one.number) else { continue };
            if transfer.sent < transfer.to_send || told.len() >= TOLD_MAX {
                continue;
            }
            one.is_told = true;
            let server = one.server.name.to_string();
            let outcome =
                CallOutcome { grant: one.grant, server, continues: true, ..CallOutcome::default() };
            told.push(CallOutcome { host: own_host(), ..outcome });
        }
        told
    }
}

fn tell(view: &Weak<View>) {
    loop {
        std::thread::sleep(PAUSE);
        let Some(view) = view.upgrade() else { return };
        let pending = {
            let mut state = lock(&view.outcomes.0);
            let pending = state.take();
            if pending.is_empty() && state.running.is_empty() {
                state.has_thread = false;
                return;
            }
            pending
        };
        send(&view.asker(), pending);
    }
}

/// Tells somebody who placed calls; nobody waits for the answer.
pub fn send(session: &Session, outcomes: Vec<CallOutcome>) {
    if outcomes.is_empty() || session.is_lost() {
        return;
    }
    if let Ok(question) = session.begin(&Request::Outcomes(outcomes)) {
        session.forget(question);
        let _ = session.process();
    }
}

/// What was predicted of a call, beside what it needed.
pub fn beside(outputs: &Outputs, took: TimesHere, alone: &Alone) -> Option<PlacedTimes> {
    let predicted = alone.predicted?;
    let times = outputs.times();
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
    let measured = Phases {
        wait_s: seconds(times.started_ns.saturating_sub(times.queued_ns)),
        send_s: took.prepared.as_secs_f64() + seconds(times.queued_ns),
        run_s: seconds(times.finished_ns.saturating_sub(times.started_ns)),
        return_s: (took.open.as_secs_f64() - seconds(times.finished_ns)).max(0.0),
    };
    let Predicted { phases, error_s } = predicted;
    Some(PlacedTimes { predicted: phases, error_s, measured })
}

/// How the arrays of a call travelled that went well.
pub fn transfers(
    outputs: &Outputs,
    took: Option<TimesHere>,
    alone: &Alone,
) -> (Option<MeasuredTransfer>, Option<MeasuredTransfer>) {
    let Some(TimesHere { prepared, open }) = took else { return (None, None) };
    let saved = |is_result: bool| -> f64 {
        let own = outputs.compressed().iter().filter(|array| array.is_result == is_result);
        own.map(|array| array.saved.bytes as f64).sum()
    };
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
    let times = outputs.times();
    let sent = MeasuredTransfer {
        bytes: (alone.demand.bytes_in - saved(false)).max(0.0),
        seconds: prepared.as_secs_f64() + seconds(times.queued_ns),
    };
    let returned = MeasuredTransfer {
        bytes: (alone.demand.bytes_out - saved(true)).max(0.0),
        seconds: (open.as_secs_f64() - seconds(times.finished_ns)).max(0.0),
    };
    (Some(sent), Some(returned))
}
