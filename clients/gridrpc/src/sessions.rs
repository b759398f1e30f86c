//! Sessions: asynchronous calls under way, and what became of those that have ended.

mod collecting;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use farcall_c::Places;
use farcall_client::PendingCall;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::code::{Code, Failure, Outcome};
use crate::connecting::Connection;
use crate::handles::Handle;
use crate::information::Measured;
use crate::own::Turn;
use crate::pointers::RawHandle;
use crate::progress;
use crate::transfers::Watch;
use collecting::Spent;

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
}

// SAFETY: the caller's handle and places of strings are addresses here: the places are written to
// by whoever collects the outcome, alone, and grpc.h has them stay until then.
unsafe impl Send for Running {}

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
    last: i32,
    running: FxHashMap<i32, Running>,
    ended: FxHashMap<i32, Ended>,
    /// The greatest number that is forgotten.
    forgotten: i32,
    /// How many have ended so far: the order of their ends.
    ends: u64,
    /// Those that nobody has waited for, in the order of their ends.
    fresh: BTreeMap<u64, i32>,
    /// Those that somebody has waited for, in that order.
    waited: VecDeque<i32>,
    /// Those that failed, and that `grpc_get_failed_sessionid` has not told of.
    failed: BTreeSet<i32>,
    deadlines: BTreeSet<(Instant, i32)>,
    /// Those under way, by handle.
    of_handles: BTreeSet<(u64, i32)>,
    /// Those with limits for what moves.
    limited: BTreeSet<i32>,
    numbers: FxHashMap<Number, i32>,
    /// Calls that were over before they were sessions.
    early: FxHashSet<Number>,
    /// By connection: how many sessions are under way there. Those of one that is lost end one by
    /// one, while others begin.
    under_way: FxHashMap<u64, usize>,
    /// Connections that a thread looks after.
    watched: FxHashSet<u64>,
    /// Threads that collect outcomes at this moment, and may write to the program's memory.
    collecting: usize,
    /// Those to be looked at once more.
    again: Vec<Number>,
    ending: bool,
    /// Calls that threads wait in, which are no sessions.
    calls: FxHashMap<Number, Arc<Connection>>,
    /// Those whose measurements are kept, in the order of their ends, and how many may be.
    measured: BTreeMap<u64, i32>,
    measured_max: MeasuredMax,
    /// What was measured of the last call, if that was none of them.
    last_call: Option<Measured>,
}

/// How many sessions' measurements are kept: `None` for all that are remembered.
struct MeasuredMax(Option<usize>);

impl Default for MeasuredMax {
    fn default() -> Self {
        // Ninf-G's `save_sessionInfo`.
        MeasuredMax(Some(256))
    }
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

    /// Takes a call that was started, and gives it its number.
    pub fn add(self: &Arc<Self>, running: Running) -> Outcome<i32> {
        let (connection, number) =
            (running.connection.clone(), (running.connection.key, running.number));
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
            if table.under_way.contains_key(&connection) {
                let first = table.deadlines.first().map(|(deadline, _)| *deadline + LAST_WORD);
                let left = first.map(|first| first.saturating_duration_since(Instant::now()));
                return Some(left.map_or(slice, |left| left.min(slice)));
            }
            table = self.work.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Nobody looks after the connection any more: what is under way there is looked at once more.
    pub fn unwatch(self: &Arc<Self>, connection: u64) {
        let mut table = self.lock();
        table.watched.remove(&connection);
        let left: Vec<Number> =
            table.numbers.keys().filter(|number| number.0 == connection).copied().collect();
        drop(table);
        self.collect(&left);
    }

    /// Notes that a thread waits in a call, which is cancelled when everything ends.
    pub fn enter(&self, connection: &Arc<Connection>, number: u64) -> Outcome<Entered<'_>> {
        let mut table = self.lock();
        if table.ending {
            return Err(over());
        }
        let number = (connection.key, number);
        table.calls.insert(number, connection.clone());
        Ok(Entered { sessions: self, number, measured: Measured::default() })
    }

    /// Cancels those that are under way with this handle.
    pub fn cancel_of(&self, handle: u64) {
        let table = self.lock();
        let sessions = table.of_handles.range((handle, i32::MIN)..=(handle, i32::MAX));
        let running = sessions.filter_map(|(_, session)| table.running.get(session));
        let calls: Vec<_> =
            running.map(|running| (running.connection.clone(), running.number)).collect();
        drop(table);
        self.cancel_calls(calls);
    }

    /// Asks for the end of one, where it is running.
    pub fn cancel_one(&self, session: i32) {
        let call = self
            .lock()
            .running
            .get(&session)
            .map(|running| (running.connection.clone(), running.number));
        self.cancel_calls(call);
    }

    /// Asks for the end of all that are under way.
    pub fn cancel_all(&self) {
        let table = self.lock();
        let calls: Vec<_> = table
            .running
            .values()
            .map(|running| (running.connection.clone(), running.number))
            .collect();
        drop(table);
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
        let given_up = std::mem::take(&mut table.running);
        // Of those that run a function of the program at this moment, its thread alone can let go.
        let calling = given_up.values().filter(|running| running.pending.is_none());
        let calling: Vec<_> =
            calling.map(|running| (running.connection.clone(), running.number)).collect();
        let calls: Vec<_> =
            table.calls.drain().map(|(number, connection)| (connection, number.1)).collect();
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
    /// What was measured of it, when it is over.
    pub measured: Measured,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut table = self.sessions.lock();
        table.calls.remove(&self.number);
        table.last_call = Some(std::mem::take(&mut self.measured));
    }
}

fn drop_measured(ended: &mut FxHashMap<i32, Ended>, session: i32) {
    if let Some(ended) = ended.get_mut(&session) {
        ended.measured = None;
    }
}

impl Table {
    fn add(&mut self, running: Running) -> i32 {
        let session = self.fresh_number();
        self.numbers.insert((running.connection.key, running.number), session);
        *self.under_way.entry(running.connection.key).or_default() += 1;
        self.of_handles.insert((running.handle.id, session));
        self.deadlines.extend(running.deadline.map(|deadline| (deadline, session)));
        self.limited.extend(running.watch.map(|_| session));
        self.running.insert(session, running);
        session
    }

    /// A number that no session has which is known still.
    fn fresh_number(&mut self) -> i32 {
        loop {
            self.last = self.last.checked_add(1).unwrap_or(1);
            if !self.running.contains_key(&self.last) && !self.ended.contains_key(&self.last) {
                return self.last;
            }
        }
    }

    fn finish(&mut self, session: i32, number: Number, failure: Option<Failure>, spent: Spent) {
        let Some(mut running) = self.running.remove(&session) else { return };
        self.numbers.remove(&number);
        self.of_handles.remove(&(running.handle.id, session));
        if let Entry::Occupied(mut count) = self.under_way.entry(number.0) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        if let Some(deadline) = running.deadline {
            self.deadlines.remove(&(deadline, session));
        }
        self.limited.remove(&session);
        self.last_call = None;
        if failure.is_some() {
            running.turn.iter_mut().for_each(Turn::fail);
            self.failed.insert(session);
        }
        let mut measured = running.measured;
        measured.ended(running.begun, spent.times);
        measured.callbacks = spent.callbacks;
        (measured.arguments, measured.compressed) = (spent.arguments, spent.compressed);
        let (given, waited, measured) = (running.given, false, Some(Box::new(measured)));
        let failure = failure.map(Box::new);
        self.ends += 1;
        let order = self.ends;
        self.ended.insert(session, Ended { order, failure, given, waited, measured });
        self.fresh.insert(order, session);
        self.measured.insert(order, session);
        self.forget_measured();
    }

    /// Whether nothing else is under way.
    fn runs_alone(&self, session: i32) -> bool {
        self.running.len() == 1 && self.running.contains_key(&session)
    }

    /// How many are under way.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    fn unknown(&self, session: i32) -> Failure {
        // What was under way is not known any more then.
        if self.ending { over() } else { unknown(session) }
    }

    /// Whether a session has ended.
    pub fn has_ended(&self, session: i32) -> Outcome<bool> {
        if self.ended.contains_key(&session) {
            return Ok(true);
        }
        self.running.contains_key(&session).then_some(false).ok_or_else(|| self.unknown(session))
    }

    /// That all of a set are sessions; an error that names one that is none.
    pub fn check_all(&self, set: &[i32]) -> Outcome<()> {
        // All numbers are, since the greatest one that is forgotten.
        if !self.ending
            && set.iter().all(|session| *session > self.forgotten && *session <= self.last)
        {
            return Ok(());
        }
        set.iter().try_for_each(|session| self.has_ended(*session).map(drop))
    }

    /// One of a set that has ended, and that nobody waited for.
    pub fn fresh_of(&self, set: &[i32]) -> Option<i32> {
        let found = self.fresh.values().take(FEW).find(|session| set.contains(session));
        let is_fresh = |session: &&i32| self.ended.get(session).is_some_and(|ended| !ended.waited);
        let others = if self.fresh.len() > FEW { set } else { &[] };
        found.or_else(|| others.iter().find(is_fresh)).copied()
    }

    /// Whether one of a set is under way.
    pub fn is_any_running(&self, set: &[i32]) -> bool {
        let found = self.running.keys().take(FEW).any(|session| set.contains(session));
        found
            || (self.running.len() > FEW
                && set.iter().any(|session| self.running.contains_key(session)))
    }

    /// The error of a session that has ended, where it has one.
    pub fn failure(&self, session: i32) -> Outcome<Option<&Failure>> {
        match self.ended.get(&session) {
            Some(ended) => Ok(ended.failure.as_deref()),
            None => self
                .running
                .contains_key(&session)
                .then_some(None)
                .ok_or_else(|| self.unknown(session)),
        }
    }

    /// The caller's own handle.
    pub fn given(&self, session: i32) -> Outcome<*mut RawHandle> {
        let running = self.running.get(&session).map(|running| running.given);
        let ended = || self.ended.get(&session).map(|ended| ended.given);
        running.or_else(ended).ok_or_else(|| self.unknown(session))
    }

    /// The first that has ended and that nobody waited for.
    pub fn first_fresh(&self) -> Option<i32> {
        self.fresh.first_key_value().map(|(_, session)| *session)
    }

    /// Notes that somebody waited for a session that has ended: what went wrong there.
    pub fn waited_for(&mut self, session: i32) -> Option<Failure> {
        let ended = self.ended.get_mut(&session)?;
        let failure = ended.failure.as_deref().cloned();
        if !std::mem::replace(&mut ended.waited, true) {
            self.fresh.remove(&ended.order);
            self.waited.push_back(session);
            self.forget_oldest();
        }
        failure
    }

    /// Notes that somebody waited for all that have ended.
    pub fn waited_for_all(&mut self) -> Vec<Failure> {
        let mut failures = Vec::new();
        while let Some(session) = self.first_fresh() {
            failures.extend(self.waited_for(session));
        }
        failures
    }

    /// Forgets a session that has ended: its number is no session's any more.
    pub fn forget(&mut self, session: i32) {
        let Some(ended) = self.ended.remove(&session) else { return };
        self.forgotten = self.forgotten.max(session);
        self.fresh.remove(&ended.order);
        self.measured.remove(&ended.order);
        self.failed.remove(&session);
    }

    fn forget_oldest(&mut self) {
        while self.waited.len() > WAITED_MAX {
            let Some(oldest) = self.waited.pop_front() else { return };
            self.ended.remove(&oldest);
            self.failed.remove(&oldest);
            self.forgotten = self.forgotten.max(oldest);
        }
    }

    /// What was measured of a session so far, and how far it is.
    pub fn information(&self, session: i32) -> Outcome<(Measured, Stage)> {
        if let Some(running) = self.running.get(&session) {
            let transfer = running.pending.as_ref().map(PendingCall::transfer).unwrap_or_default();
            let stage =
                if transfer.sent < transfer.to_send { Stage::Sending } else { Stage::Executing };
            return Ok((running.measured.clone(), stage));
        }
        let ended = self.ended.get(&session).ok_or_else(|| self.unknown(session))?;
        let lost =
            ended.failure.as_ref().is_some_and(|failure| failure.code == Code::CommunicationFailed);
        let measured = ended.measured.as_deref().cloned().ok_or_else(|| {
            let message = format!("session {session} is no longer known: see save_sessionInfo");
            Failure::new(Code::InvalidSessionId, message)
        })?;
        Ok((measured, if lost { Stage::Lost } else { Stage::Ended }))
    }

    /// What was measured of the last call, if that was no session.
    pub fn last_call(&self) -> Option<&Measured> {
        self.last_call.as_ref()
    }

    /// The session that ended last, of those whose measurements are kept.
    pub fn last_ended(&self) -> Option<i32> {
        self.measured.last_key_value().map(|(_, session)| *session)
    }

    /// Forgets what was measured of a session that has ended; of all of them for -1.
    pub fn remove_information(&mut self, session: i32) -> Outcome<()> {
        if session == -1 {
            for session in std::mem::take(&mut self.measured).into_values() {
                drop_measured(&mut self.ended, session);
            }
            return Ok(());
        }
        if !self.has_ended(session)? {
            return Err(Failure::other(format!("session {session} is running")));
        }
        if let Some(ended) = self.ended.get(&session) {
            self.measured.remove(&ended.order);
        }
        drop_measured(&mut self.ended, session);
        Ok(())
    }

    /// How many sessions' measurements are kept.
    pub fn set_information_max(&mut self, count: Option<usize>) {
        self.measured_max = MeasuredMax(count);
        self.forget_measured();
    }

    fn forget_measured(&mut self) {
        while self.measured.len() > self.measured_max.0.unwrap_or(WAITED_MAX) {
            let Some((_, oldest)) = self.measured.pop_first() else { return };
            drop_measured(&mut self.ended, oldest);
        }
    }

    /// The latest that failed, once.
    pub fn take_failed(&mut self) -> Option<i32> {
        self.failed.pop_last()
    }
}
