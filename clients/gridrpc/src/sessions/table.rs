//! The table of sessions: which run, which have ended, and what is forgotten.

use std::collections::hash_map::Entry;

use farcall_client::PendingCall;
use rustc_hash::FxHashMap;

use super::collecting::Spent;
use super::{Ended, FEW, MeasuredMax, Number, Running, Stage, Table, WAITED_MAX, over, unknown};
use crate::code::{Code, Failure, Outcome};
use crate::information::Measured;
use crate::own::Turn;
use crate::pointers::RawHandle;

impl Table {
    pub(super) fn add(&mut self, running: Running) -> i32 {
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

    pub(super) fn finish(
        &mut self,
        session: i32,
        number: Number,
        failure: Option<Failure>,
        spent: Spent,
    ) {
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
        let given = running.given;
        let waited = false;
        let measured = Some(Box::new(measured));
        let failure = failure.map(Box::new);
        self.ends += 1;
        let order = self.ends;
        self.ended.insert(session, Ended { order, failure, given, waited, measured });
        self.fresh.insert(order, session);
        self.measured.insert(order, session);
        self.forget_measured();
    }

    /// Whether nothing else is under way.
    pub(super) fn runs_alone(&self, session: i32) -> bool {
        self.running.len() == 1 && self.running.contains_key(&session)
    }

    /// How many are under way.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    pub(super) fn unknown(&self, session: i32) -> Failure {
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

fn drop_measured(ended: &mut FxHashMap<i32, Ended>, session: i32) {
    if let Some(ended) = ended.get_mut(&session) {
        ended.measured = None;
    }
}
