//! The table of sessions: which run, which have ended, and what is asked of either.

use std::time::Instant;

use farcall_client::PendingCall;

use super::collecting::Spent;
use super::{Ended, Number, Running, Stage, Table, over, unknown};
use crate::code::{Code, Failure, Outcome};
use crate::information::Measured;
use crate::own::Turn;
use crate::pointers::RawHandle;

impl Table {
    pub(super) fn add(&mut self, running: Running) -> i32 {
        let session = self.fresh_number();
        self.under_way.add(session, running);
        session
    }

    /// A number that no session has which is known still.
    fn fresh_number(&mut self) -> i32 {
        loop {
            self.last = self.last.checked_add(1).unwrap_or(1);
            if !self.under_way.contains(self.last) && !self.ended.contains(self.last) {
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
        let Some(mut running) = self.under_way.remove(session, number) else { return };
        self.last_call = None;
        if failure.is_some() {
            running.turn.iter_mut().for_each(Turn::fail);
        }
        let mut measured = running.measured;
        measured.ended(running.begun, spent.times);
        measured.callbacks = spent.callbacks;
        measured.arguments = spent.arguments;
        measured.compressed = spent.compressed;
        measured.server = spent.server;
        self.ended.add(session, running.given, failure, measured);
    }

    /// Whether nothing else is under way.
    pub(super) fn runs_alone(&self, session: i32) -> bool {
        self.under_way.is_alone(session)
    }

    /// How many are under way.
    pub fn running(&self) -> usize {
        self.under_way.count()
    }

    pub(super) fn unknown(&self, session: i32) -> Failure {
        // What was under way is not known any more then.
        if self.ending { over() } else { unknown(session) }
    }

    /// Whether a session has ended.
    pub fn has_ended(&self, session: i32) -> Outcome<bool> {
        if self.ended.contains(session) {
            return Ok(true);
        }
        self.under_way.contains(session).then_some(false).ok_or_else(|| self.unknown(session))
    }

    /// That all of a set are sessions; an error that names one that is none.
    pub fn check_all(&self, set: &[i32]) -> Outcome<()> {
        // All numbers are, since the greatest one that is forgotten.
        let is_known = |session: &i32| !self.ended.is_forgotten(*session) && *session <= self.last;
        if !self.ending && set.iter().all(is_known) {
            return Ok(());
        }
        set.iter().try_for_each(|session| self.has_ended(*session).map(drop))
    }

    /// One of a set that has ended, and that nobody waited for.
    pub fn fresh_of(&self, set: &[i32]) -> Option<i32> {
        self.ended.fresh_of(set)
    }

    /// The last of these times of those of a set that run.
    pub fn last_of(&self, set: &[i32], time: impl Fn(&Running) -> Instant) -> Option<Instant> {
        self.under_way.last_of(set, time)
    }

    /// Whether one of a set is under way.
    pub fn is_any_running(&self, set: &[i32]) -> bool {
        self.under_way.has_one_of(set)
    }

    /// The error of a session that has ended, where it has one.
    pub fn failure(&self, session: i32) -> Outcome<Option<&Failure>> {
        match self.ended.get(session) {
            Some(ended) => Ok(ended.failure.as_deref()),
            None => self
                .under_way
                .contains(session)
                .then_some(None)
                .ok_or_else(|| self.unknown(session)),
        }
    }

    /// The caller's own handle.
    pub fn given(&self, session: i32) -> Outcome<*mut RawHandle> {
        let running = self.under_way.get(session).map(|running| running.given);
        let ended = || self.ended.get(session).map(|ended| ended.given);
        running.or_else(ended).ok_or_else(|| self.unknown(session))
    }

    /// The first that has ended and that nobody waited for.
    pub fn first_fresh(&self) -> Option<i32> {
        self.ended.first_fresh()
    }

    /// Notes that somebody waited for a session that has ended: what went wrong there.
    pub fn waited_for(&mut self, session: i32) -> Option<Failure> {
        self.ended.waited_for(session)
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
        self.ended.forget(session);
    }

    /// What was measured of a session so far, and how far it is.
    pub fn information(&self, session: i32) -> Outcome<(Measured, Stage)> {
        if let Some(running) = self.under_way.get(session) {
            let transfer = running.pending.as_ref().map(PendingCall::transfer).unwrap_or_default();
            let stage =
                if transfer.sent < transfer.to_send { Stage::Sending } else { Stage::Executing };
            return Ok((running.measured.clone(), stage));
        }
        let ended = self.ended.get(session).ok_or_else(|| self.unknown(session))?;
        let measured = ended.measured.as_deref().cloned().ok_or_else(|| {
            let message = format!("session {session} is no longer known: see save_sessionInfo");
            Failure::new(Code::InvalidSessionId, message)
        })?;
        Ok((measured, ended.stage()))
    }

    /// What was measured of the last call, if that was no session.
    pub fn last_call(&self) -> Option<Measured> {
        let measured = Measured::from(self.last_call?);
        Some(Measured { server: self.last_server.clone(), ..measured })
    }

    /// The session that ended last, of those whose measurements are kept.
    pub fn last_ended(&self) -> Option<i32> {
        self.ended.last_measured()
    }

    /// Forgets what was measured of a session that has ended; of all of them for -1.
    pub fn remove_information(&mut self, session: i32) -> Outcome<()> {
        if session == -1 {
            self.ended.remove_all_measured();
            return Ok(());
        }
        if !self.has_ended(session)? {
            return Err(Failure::other(format!("session {session} is running")));
        }
        self.ended.remove_measured(session);
        Ok(())
    }

    /// How many sessions' measurements are kept.
    pub fn set_information_max(&mut self, count: Option<usize>) {
        self.ended.set_measured_max(count);
    }

    /// The latest that failed, once.
    pub fn take_failed(&mut self) -> Option<i32> {
        self.ended.take_failed()
    }
}

impl Ended {
    fn stage(&self) -> Stage {
        let lost =
            self.failure.as_ref().is_some_and(|failure| failure.code == Code::CommunicationFailed);
        if lost { Stage::Lost } else { Stage::Ended }
    }
}
