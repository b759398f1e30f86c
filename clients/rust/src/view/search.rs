//! Looks for a server while the program waits in pieces, or does something else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_peer::Audience;

use super::finding::{Found, Wanted};
use super::{View, lock};

/// One search.
pub struct Search {
    state: Mutex<State>,
    changed: Condvar,
    is_cancelled: AtomicBool,
}

enum State {
    Going,
    Over(Result<Found>),
    /// Somebody has what was found.
    Taken,
}

impl Search {
    /// Begins one, in a thread that ends with it. `call` is to be announced then to its
    /// audience.
    pub fn begin(view: &Arc<View>, wanted: Wanted, call: Option<(Audience, u64)>) -> Arc<Search> {
        let search = Arc::new(Search {
            state: Mutex::new(State::Going),
            changed: Condvar::new(),
            is_cancelled: AtomicBool::new(false),
        });
        let own = search.clone();
        let looks = {
            let view = view.clone();
            move || {
                own.end(wanted.find(&view));
                if let Some((audience, number)) = call {
                    view.announce(audience, number);
                }
            }
        };
        let thread = std::thread::Builder::new().name("farcall-place".to_owned());
        if let Err(error) = thread.spawn(looks) {
            search.end(Err(Error::system("start a thread", error)));
        }
        search
    }

    /// What was found, once; `None` if nothing was by then.
    pub fn wait(&self, until: Option<Instant>) -> Option<Result<Found>> {
        let mut state = lock(&self.state);
        loop {
            match std::mem::replace(&mut *state, State::Taken) {
                State::Over(found) => return Some(found),
                other => *state = other,
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            state = match left {
                Some(Duration::ZERO) => return None,
                Some(left) => {
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Nobody wants a server any more: the call ends.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Release);
        let mut state = lock(&self.state);
        // A server that was found, and that the call has not been opened at, is not to have it.
        if matches!(*state, State::Going | State::Over(Ok(_))) {
            *state = State::Over(Err(cancelled()));
            self.changed.notify_all();
        }
    }

    /// Whether somebody did so, perhaps while the call was being opened at the server that was found.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }

    /// The first end counts.
    fn end(&self, found: Result<Found>) {
        let mut state = lock(&self.state);
        if matches!(*state, State::Going) {
            *state = State::Over(found);
            self.changed.notify_all();
        }
    }
}

/// The error of a call that was cancelled between two servers.
pub fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "call", "it was cancelled before it ran")
}
