//! Keeps the leases of this process, and ends them when it stops.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use farcall_base::{Clock, SystemClock};
use farcall_services::store::LeaseId;
use serde_json::json;

use super::message::{Granted, Piece, read, sent};
use super::reach::{Answer, Asking};
use super::{World, locked};
use crate::state::State;

/// Time for each lease that is ended at the stop. One that cannot be ended ends by itself.
const END_MAX: Duration = Duration::from_millis(500);
/// Leases that are ended at the stop: so much time there is.
const ENDED_MAX: usize = 4;
const ANSWER_BYTES_MAX: u64 = 1 << 16;

/// The leases, and what wakes the thread that keeps them.
#[derive(Default)]
pub struct Keeper {
    state: Mutex<State>,
    changed: Condvar,
}

impl Keeper {
    /// Keeps a lease from now on.
    pub fn keep(&self, lease: LeaseId, time: Duration) {
        locked(&self.state).handle_kept(SystemClock::new().now(), lease, time);
        self.wake();
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        locked(&self.state).leases().len()
    }

    /// There is something new.
    pub fn wake(&self) {
        // Under the lock, so that it is not missed between a look and the sleep.
        let _state = locked(&self.state);
        self.changed.notify_all();
    }
}

/// The thread.
pub fn run(world: &World) {
    let clock = SystemClock::new();
    let keeper = &world.keeper;
    loop {
        let state = locked(&keeper.state);
        if world.is_stopping() {
            break;
        }
        let due = state.due(clock.now());
        if due.is_empty() {
            let next =
                state.next_due().map_or(Duration::from_secs(3600), |at| at.since(clock.now()));
            drop(keeper.changed.wait_timeout(state, next).unwrap_or_else(PoisonError::into_inner));
            continue;
        }
        drop(state);
        for (lease, time) in due {
            let kept = keep(world, lease, time);
            let now = clock.now();
            let mut state = locked(&keeper.state);
            match kept {
                Some(Duration::ZERO) => state.handle_ended(lease),
                Some(time) => state.handle_kept(now, lease, time),
                None => state.handle_failed(now, lease),
            }
        }
    }
    let left = locked(&keeper.state).leases();
    left.into_iter().take(ENDED_MAX).for_each(|lease| end(world, lease));
}

/// The time that a lease has then: zero when it has ended, `None` when nobody answered.
fn keep(world: &World, lease: LeaseId, time: Duration) -> Option<Duration> {
    let answer = ask(world, "/v3/lease/keepalive", lease, time)?;
    let piece: Piece<Granted> = read(&answer).ok()?;
    Some(Duration::from_secs(piece.result?.ttl))
}

fn end(world: &World, lease: LeaseId) {
    let _ = ask(world, "/v3/lease/revoke", lease, END_MAX);
}

fn ask(world: &World, path: &'static str, lease: LeaseId, time: Duration) -> Option<Vec<u8>> {
    let message = json!({"ID": lease.0.to_string()});
    let asking = Asking {
        path,
        body: &|_| sent(&message),
        may_repeat: true,
        // Two members at least are asked.
        attempt: time / 2,
        patience: time,
        bytes_max: ANSWER_BYTES_MAX,
    };
    match world.ask(&asking).ok()?.answer {
        Answer::Done(answer) => Some(answer),
        Answer::NoLease | Answer::TooLarge => None,
    }
}
