//! The process of a single function handle. It takes the handle's calls one at a time, so that a
//! routine's static variables live on from one to the next, as in Ninf-G; a call that finds it busy
//! goes to whatever process is free.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farcall_client::{ErrorKind, ObjectId};

use crate::code::{Code, Failure, Outcome};
use crate::connecting::Connection;
use crate::held::{Held, Start};
use crate::log::{self, Group, Level};
use crate::servers::Server;

/// What the process does.
const FREE: u8 = 0;
const BUSY: u8 = 1;
/// A call with it failed: it may be no more, or in disorder, and another takes its place.
const SPOILED: u8 = 2;

/// A handle's process: asked for when the handle is bound, and again when it was lost.
pub struct Own {
    server: Arc<Server>,
    name: String,
    start: Start,
    state: Mutex<State>,
}

enum State {
    Asked(Process),
    /// The server gives none: all calls go to whatever process is free.
    Refused,
}

#[derive(Clone)]
struct Process {
    held: Held,
    /// That of the connection it is held over.
    connection: u64,
    does: Arc<AtomicU8>,
}

/// A call's turn with a handle's process; its end frees the process.
pub struct Turn {
    does: Arc<AtomicU8>,
    pub id: ObjectId,
    failed: bool,
}

impl Turn {
    /// Notes that the call with it failed.
    pub fn fail(&mut self) {
        self.failed = true;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.does.store(if self.failed { SPOILED } else { FREE }, Ordering::Release);
    }
}

impl Own {
    /// Asks for a process, and does not wait for it.
    pub fn ask(server: &Arc<Server>, connection: &Connection, name: &str, start: Start) -> Own {
        let state = Mutex::new(ask(server, connection, name, start));
        Own { server: server.clone(), name: name.to_owned(), start, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process for a call, where it is free; waits until it has started. `None`: whatever
    /// process is free is to take the call.
    pub fn take(&self, connection: &Connection) -> Outcome<Option<Turn>> {
        let Some((process, turn)) = self.occupy(connection) else { return Ok(None) };
        let Err(error) = process.held.ready() else { return Ok(Some(turn)) };
        drop(turn);
        match error.kind() {
            ErrorKind::LimitExceeded | ErrorKind::Unavailable | ErrorKind::PermissionDenied => {
                let words =
                    format!("{}: the server cannot give the handle a process: {error}", self.name);
                log::write(Group::Internal, Level::Warning, &words);
                *self.state() = State::Refused;
                Ok(None)
            }
            ErrorKind::TimedOut => Err(Failure::new(Code::Timeout, error.to_string())),
            // Whatever happened to it happens to the call as well, and more of it can be said
            // there.
            _ => Ok(None),
        }
    }

    /// The process, which the turn keeps others from; a new one where it was spoiled, or held over
    /// another connection.
    fn occupy(&self, connection: &Connection) -> Option<(Process, Turn)> {
        let mut state = self.state();
        if let State::Asked(process) = &*state
            && (process.connection != connection.key
                || process.does.load(Ordering::Acquire) == SPOILED)
        {
            if process.connection != connection.key {
                process.held.let_go(&connection.client);
            }
            *state = ask(&self.server, connection, &self.name, self.start);
        }
        let State::Asked(process) = &*state else { return None };
        let free = process.does.compare_exchange(FREE, BUSY, Ordering::Acquire, Ordering::Relaxed);
        free.ok()?;
        let turn = Turn { does: process.does.clone(), id: process.held.id, failed: false };
        Some((process.clone(), turn))
    }

    /// Whether its process takes calls; a handle without one is always ready.
    pub fn is_ready(&self) -> farcall_client::Result<bool> {
        let held = self.held();
        held.map_or(Ok(true), |held| held.is_ready())
    }

    /// Its process.
    pub fn held(&self) -> Option<Held> {
        match &*self.state() {
            State::Asked(process) => Some(process.held.clone()),
            State::Refused => None,
        }
    }
}

fn ask(server: &Arc<Server>, connection: &Connection, name: &str, start: Start) -> State {
    let held =
        Held::ask(server, &connection.client, name, 1, start).map(|held| held.into_iter().next());
    match held {
        Ok(Some(held)) => {
            State::Asked(Process { held, connection: connection.key, does: Arc::default() })
        }
        _ => State::Refused,
    }
}
