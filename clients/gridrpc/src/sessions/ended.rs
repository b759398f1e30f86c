//! The sessions that have ended: what is known of them, and when it is forgotten.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rustc_hash::FxHashMap;

use super::{Ended, FEW, WAITED_MAX};
use crate::code::Failure;
use crate::information::Measured;
use crate::pointers::RawHandle;

/// How many sessions' measurements are kept at first: Ninf-G's `save_sessionInfo`.
const MEASURED: usize = 256;

/// Sessions that have ended.
pub(super) struct EndedSessions {
    sessions: FxHashMap<i32, Ended>,
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
    /// Those whose measurements are kept, in the order of their ends, and how many may be.
    measured: BTreeMap<u64, i32>,
    /// `None` for all that are remembered.
    measured_max: Option<usize>,
}

impl Default for EndedSessions {
    fn default() -> Self {
        EndedSessions {
            sessions: FxHashMap::default(),
            forgotten: 0,
            ends: 0,
            fresh: BTreeMap::new(),
            waited: VecDeque::new(),
            failed: BTreeSet::new(),
            measured: BTreeMap::new(),
            measured_max: Some(MEASURED),
        }
    }
}

impl EndedSessions {
    pub(super) fn add(
        &mut self,
        session: i32,
        given: *mut RawHandle,
        failure: Option<Failure>,
        measured: Measured,
    ) {
        if failure.is_some() {
            self.failed.insert(session);
        }
        let waited = false;
        let measured = Some(Box::new(measured));
        let failure = failure.map(Box::new);
        self.ends += 1;
        let order = self.ends;
        self.sessions.insert(session, Ended { order, failure, given, waited, measured });
        self.fresh.insert(order, session);
        self.measured.insert(order, session);
        self.forget_measured();
    }

    pub(super) fn contains(&self, session: i32) -> bool {
        self.sessions.contains_key(&session)
    }

    pub(super) fn get(&self, session: i32) -> Option<&Ended> {
        self.sessions.get(&session)
    }

    /// Whether no session up to this number is known any more.
    pub(super) fn is_forgotten(&self, session: i32) -> bool {
        session <= self.forgotten
    }

    /// One of a set that nobody waited for.
    pub(super) fn fresh_of(&self, set: &[i32]) -> Option<i32> {
        let found = self.fresh.values().take(FEW).find(|session| set.contains(session));
        let is_fresh = |session: &&i32| self.get(**session).is_some_and(|ended| !ended.waited);
        let others = if self.fresh.len() > FEW { set } else { &[] };
        found.or_else(|| others.iter().find(is_fresh)).copied()
    }

    /// The first that nobody waited for.
    pub(super) fn first_fresh(&self) -> Option<i32> {
        self.fresh.first_key_value().map(|(_, session)| *session)
    }

    /// Notes that somebody waited for one: what went wrong there.
    pub(super) fn waited_for(&mut self, session: i32) -> Option<Failure> {
        let ended = self.sessions.get_mut(&session)?;
        let failure = ended.failure.as_deref().cloned();
        if !std::mem::replace(&mut ended.waited, true) {
            self.fresh.remove(&ended.order);
            self.waited.push_back(session);
            self.forget_oldest();
        }
        failure
    }

    /// The latest that failed, once.
    pub(super) fn take_failed(&mut self) -> Option<i32> {
        self.failed.pop_last()
    }

    /// Forgets one: its number is no session's any more.
    pub(super) fn forget(&mut self, session: i32) {
        let Some(ended) = self.sessions.remove(&session) else { return };
        self.forgotten = self.forgotten.max(session);
        self.fresh.remove(&ended.order);
        self.measured.remove(&ended.order);
        self.failed.remove(&session);
    }

    fn forget_oldest(&mut self) {
        while self.waited.len() > WAITED_MAX {
            let Some(oldest) = self.waited.pop_front() else { return };
            self.sessions.remove(&oldest);
            self.failed.remove(&oldest);
            self.forgotten = self.forgotten.max(oldest);
        }
    }

    /// The one that ended last, of those whose measurements are kept.
    pub(super) fn last_measured(&self) -> Option<i32> {
        self.measured.last_key_value().map(|(_, session)| *session)
    }

    /// Forgets what was measured of one.
    pub(super) fn remove_measured(&mut self, session: i32) {
        if let Some(ended) = self.sessions.get_mut(&session) {
            self.measured.remove(&ended.order);
            ended.measured = None;
        }
    }

    /// The same for all of them.
    pub(super) fn remove_all_measured(&mut self) {
        for session in std::mem::take(&mut self.measured).into_values() {
            self.remove_measured(session);
        }
    }

    /// How many sessions' measurements are kept.
    pub(super) fn set_measured_max(&mut self, count: Option<usize>) {
        self.measured_max = count;
        self.forget_measured();
    }

    fn forget_measured(&mut self) {
        while self.measured.len() > self.measured_max.unwrap_or(WAITED_MAX) {
            let Some((_, oldest)) = self.measured.pop_first() else { return };
            self.remove_measured(oldest);
        }
    }
}
