//! Sessions: asynchronous calls under way, and what became of those that have ended.

mod collecting;
mod ended;
mod running;
mod table;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ended::EndedSessions;
use farcall_c::Places;
use farcall_client::PendingCall;
use running::RunningSessions;
use rustc_hash::FxHashSet;

use crate::code::{Code, Failure, Outcome};
use crate::connecting::Connection;
use crate::handles::Handle;
use crate::information::{Measured, MeasuredCall};
use crate::own::Turn;
use crate::pointers::RawHandle;
use crate::progress;
use crate::transfers::Watch;

/// How many sessions are remembered that were waited for: their errors can be asked for, and they
/// waited for again.
const WAITED_MAX: usize = 1 << 18;
/// So many sessions are sooner looked for in a set of thousands than the other way round: the next
/// one that is wanted is mostly among them.
const FEW: usize = 8;
/// Time after a session's deadline in which the server's own word on it counts still.
const LAST_WORD: Duration = Duration::from_millis(250);

/// A call's name on all connections: that of the connection, and its number there.
pub type Number = (u64, u64);

/// A session under way.
pub struct Running {
    /// `None` while its outcome is being collected.
    pub pending: Option<PendingCall>,
    /// Where its strings and open files go.
    pub places: Places,
    pub handle: Arc<Handle>,
    /// The caller's own handle, which `grpc_get_handle` gives back.
    pub given: *mut RawHandle,
    pub connection: Arc<Connection>,
    pub number: u64,
    pub deadline: Option<Instant>,
    pub begun: Instant,
    pub measured: Measured,
    /// Whether its arguments have left, as far as somebody waited for that.
    pub sent: bool,
    /// With its handle's own process.
    pub turn: Option<Turn>,
    /// Where what moves has limits.
    pub watch: Option<Watch>,
    /// Whether it may call functions of the program.
    pub calls_back: bool,
    /// Whether something came of it while its outcome was being collected.
    pub again: bool,
    pub routine: Beginning,
}

/// Whether a session's routine has begun, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// Nothing: the server does not tell.
    Untold,
    /// The server will tell.
    Awaited,
    /// It began.
    At(Instant),
}

// SAFETY: the caller's handle and places of strings are addresses here: the places are written to
// by whoever collects the outcome, alone, and grpc.h has them stay until then.
unsafe impl Send for Running {}

impl Running {
    /// By what it is cancelled.
    fn call(&self) -> (Arc<Connection>, u64) {
        (self.connection.clone(), self.number)
    }
}

/// A session that has ended.
pub struct Ended {
    /// Which of all ends it was.
    order: u64,
    /// What went wrong, where anything did.
    pub failure: Option<Box<Failure>>,
    given: *mut RawHandle,
    waited: bool,
    /// As long as it is among the last ones.
    measured: Option<Box<Measured>>,
}

// SAFETY: the caller's handle is an address, and nothing here looks at what is there.
unsafe impl Send for Ended {}

/// What is known of sessions.
#[derive(Default)]
pub struct Table {
    /// The number that was given last.
    last: i32,
    under_way: RunningSessions,
    ended: EndedSessions,
    /// Calls that were over before they were sessions.
    early: FxHashSet<Number>,
    /// Connections that a thread looks after.
    watched: FxHashSet<u64>,
    /// Threads that collect outcomes at this moment, and may write to the program's memory.
    collecting: usize,
    /// Those to be looked at once more.
    again: Vec<Number>,
    ending: bool,
    /// Calls that threads wait in, which are no sessions: few, since each has a thread.
    calls: Vec<(Arc<Connection>, u64)>,
    /// What was measured of the last call, if that was none of them.
    last_call: Option<MeasuredCall>,
    /// Where that ran.
    last_server: Option<Arc<str>>,
}

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Sending,
    Executing,
    Ended,
    /// Its server is gone.
    Lost,
}

/// All sessions.
#[derive(Default)]
pub struct Sessions {
    table: Mutex<Table>,
    /// Sessions have ended.
    changed: Condvar,
    /// There is something to look after.
    work: Condvar,
}

fn unknown(session: i32) -> Failure {
    Failure::new(Code::InvalidSessionId, format!("there is no session {session}"))
}

fn over() -> Failure {
    Failure::new(Code::NotInitialized, "grpc_finalize was called in the meantime")
}

fn itself(session: i32) -> Failure {
    let words = "waits for the function that waits here, and nothing else is running; wait after \
        the function has returned";
    Failure::other(format!("session {session} {words}"))
}

impl Sessions {
    pub fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `ready` gives something.
    pub fn wait_until<T>(
        &self,
        mut ready: impl FnMut(&mut Table) -> Option<Outcome<T>>,
    ) -> Outcome<T> {
        let mut table = self.lock();
        loop {
            if table.ending {
                return Err(over());
            }
            if let Some(found) = ready(&mut table) {
                return found;
            }
            // What this thread runs a function for ends no sooner than the function does.
            if let Some(session) =
                self.called_back_by().filter(|session| table.runs_alone(*session))
            {
                return Err(itself(session));
            }
            table = self.changed.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until `ready` gives something, for a while that it tells.
    pub fn wait_for_a_while<T>(
        &self,
        ready: impl Fn(&Table) -> Outcome<Option<T>>,
        until: impl Fn(&Table) -> Instant,
    ) -> Outcome<Option<T>> {
        let mut table = self.lock();
        loop {
            let found = ready(&table)?;
            let left = until(&table).saturating_duration_since(Instant::now());
            if found.is_some() || table.ending || left.is_zero() {
                return Ok(found);
            }
            (table, _) =
                self.changed.wait_timeout(table, left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes a call that was started, and gives it its number.
    pub fn add(self: &Arc<Self>, running: Running) -> Outcome<i32> {
        let connection = running.connection.clone();
        let number = (running.connection.key, running.number);
        let mut table = self.lock();
        if table.ending {
            return Err(over());
        }
        let early = table.early.remove(&number);
        let watched = !table.watched.insert(number.0);
        let session = table.add(running);
        drop(table);
        if !watched {
            let begun = progress::watch(self.clone(), connection);
            begun.inspect_err(|_| {
                self.lock().watched.remove(&number.0);
            })?;
        }
        if early {
            self.collect(&[number]);
        }
        self.work.notify_all();
        Ok(session)
    }

    /// Waits until sessions of the connection are under way: for how long to look after them before
    /// somebody looks at their deadlines. `None` when there is nothing to do any more.
    pub fn next_work(&self, connection: u64, slice: Duration) -> Option<Duration> {
        let mut table = self.lock();
        loop {
            if table.ending {
                return None;
            }
            if table.under_way.has_connection(connection) {
                let left = table.under_way.time_left();
                return Some(left.map_or(slice, |left| left.min(slice)));
            }
            table = self.work.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Nobody looks after the connection any more: what is under way there is looked at once more.
    pub fn unwatch(self: &Arc<Self>, connection: u64) {
        let mut table = self.lock();
        table.watched.remove(&connection);
        let left = table.under_way.calls_of_connection(connection);
        drop(table);
        self.collect(&left);
    }

    /// Notes that a thread waits in a call, which is cancelled when everything ends.
    pub fn enter(
        &self,
        connection: &Arc<Connection>,
        number: u64,
        measured: MeasuredCall,
    ) -> Outcome<Entered<'_>> {
        let mut table = self.lock();
        if table.ending {
            return Err(over());
        }
        table.calls.push((connection.clone(), number));
        Ok(Entered { sessions: self, number: (connection.key, number), measured, server: None })
    }

    /// Cancels those that are under way with this handle.
    pub fn cancel_of(&self, handle: u64) {
        let calls = self.lock().under_way.calls_of_handle(handle);
        self.cancel_calls(calls);
    }

    /// Asks for the end of one, where it is running.
    pub fn cancel_one(&self, session: i32) {
        let call = self.lock().under_way.get(session).map(Running::call);
        self.cancel_calls(call);
    }

    /// Asks for the end of all that are under way.
    pub fn cancel_all(&self) {
        let calls: Vec<_> = self.lock().under_way.all().map(Running::call).collect();
        self.cancel_calls(calls);
    }

    fn cancel_calls(&self, calls: impl IntoIterator<Item = (Arc<Connection>, u64)>) {
        for (connection, number) in calls {
            // A connection that is gone has ended the session already.
            connection.log.write(|| format!("call {number} is to end"));
            let _ = connection.client.cancel(number);
        }
    }

    /// Ends everything: what is under way is cancelled, threads that wait are told, and the
    /// program's memory is not used any more.
    pub fn end(&self) {
        let mut table = self.lock();
        table.ending = true;
        let given_up = table.under_way.give_up();
        // Of those that run a function of the program at this moment, its thread alone can let go.
        let calling = given_up.values().filter(|running| running.pending.is_none());
        let calling: Vec<_> = calling.map(Running::call).collect();
        let calls = std::mem::take(&mut table.calls);
        while table.collecting > 0 {
            table = self.changed.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
        drop(table);
        // Both ask the servers to end them, and wait for nothing.
        drop(given_up);
        self.cancel_calls(calls.into_iter().chain(calling));
        self.changed.notify_all();
        self.work.notify_all();
    }
}

/// A call that a thread waits in, for as long as it does.
pub struct Entered<'a> {
    sessions: &'a Sessions,
    number: Number,
    pub measured: MeasuredCall,
    /// Where it ran, once it has ended well.
    pub server: Option<Arc<str>>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut table = self.sessions.lock();
        let is_own = |(connection, number): &(Arc<Connection>, u64)| {
            (connection.key, *number) == self.number
        };
        if let Some(place) = table.calls.iter().position(is_own) {
            table.calls.swap_remove(place);
        }
        table.last_call = Some(self.measured);
        table.last_server = self.server.take();
    }
}
