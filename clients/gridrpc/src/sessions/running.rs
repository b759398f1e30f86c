//! The sessions that run, and by what they are found.

use std::collections::hash_map::{Entry, Values};
use std::collections::{BTreeSet, btree_set};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::{FEW, LAST_WORD, Number, Running};
use crate::connecting::Connection;

/// Sessions that run.
///
/// Invariant: each index names exactly the sessions that run, until [`RunningSessions::give_up`]
/// ends everything.
#[derive(Default)]
pub(super) struct RunningSessions {
    sessions: FxHashMap<i32, Running>,
    numbers: FxHashMap<Number, i32>,
    /// Those whose deadline nobody has seen pass.
    deadlines: BTreeSet<(Instant, i32)>,
    of_handles: BTreeSet<(u64, i32)>,
    /// Those with limits for what moves.
    limited: BTreeSet<i32>,
    /// By connection: how many sessions run there. Those of one that is lost end one by
    /// one, while others begin.
    of_connections: FxHashMap<u64, usize>,
}

impl RunningSessions {
    pub(super) fn add(&mut self, session: i32, running: Running) {
        let connection = running.connection.key;
        self.numbers.insert((connection, running.number), session);
        *self.of_connections.entry(connection).or_default() += 1;
        self.of_handles.insert((running.handle.id, session));
        self.deadlines.extend(running.deadline.map(|deadline| (deadline, session)));
        self.limited.extend(running.watch.map(|_| session));
        self.sessions.insert(session, running);
    }

    /// Takes one out that has ended.
    pub(super) fn remove(&mut self, session: i32, number: Number) -> Option<Running> {
        let running = self.sessions.remove(&session)?;
        self.numbers.remove(&number);
        self.of_handles.remove(&(running.handle.id, session));
        if let Entry::Occupied(mut count) = self.of_connections.entry(number.0) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        if let Some(deadline) = running.deadline {
            self.deadlines.remove(&(deadline, session));
        }
        self.limited.remove(&session);
        Some(running)
    }

    /// The last of these times of a set.
    pub(super) fn last_of(
        &self,
        set: &[i32],
        time: impl Fn(&Running) -> Instant,
    ) -> Option<Instant> {
        set.iter().filter_map(|session| self.sessions.get(session).map(&time)).max()
    }

    /// Takes all of them out when everything ends.
    pub(super) fn give_up(&mut self) -> FxHashMap<i32, Running> {
        std::mem::take(&mut self.sessions)
    }

    pub(super) fn contains(&self, session: i32) -> bool {
        self.sessions.contains_key(&session)
    }

    /// Whether nothing else runs.
    pub(super) fn is_alone(&self, session: i32) -> bool {
        self.sessions.len() == 1 && self.contains(session)
    }

    pub(super) fn count(&self) -> usize {
        self.sessions.len()
    }

    pub(super) fn get(&self, session: i32) -> Option<&Running> {
        self.sessions.get(&session)
    }

    pub(super) fn get_mut(&mut self, session: i32) -> Option<&mut Running> {
        self.sessions.get_mut(&session)
    }

    pub(super) fn all(&self) -> Values<'_, i32, Running> {
        self.sessions.values()
    }

    /// Which session a call is.
    pub(super) fn session_of(&self, number: Number) -> Option<i32> {
        self.numbers.get(&number).copied()
    }

    /// Whether one of a set runs.
    pub(super) fn has_one_of(&self, set: &[i32]) -> bool {
        let found = self.sessions.keys().take(FEW).any(|session| set.contains(session));
        found || (self.count() > FEW && set.iter().any(|session| self.contains(*session)))
    }

    /// Those with limits for what moves.
    pub(super) fn limited(&self) -> btree_set::Iter<'_, i32> {
        self.limited.iter()
    }

    /// The calls that run with this handle.
    pub(super) fn calls_of_handle(&self, handle: u64) -> Vec<(Arc<Connection>, u64)> {
        self.of_handles
            .range((handle, i32::MIN)..=(handle, i32::MAX))
            .filter_map(|(_, session)| self.get(*session))
            .map(Running::call)
            .collect()
    }

    /// The calls that run on this connection.
    pub(super) fn calls_of_connection(&self, connection: u64) -> Vec<Number> {
        self.numbers.keys().filter(|number| number.0 == connection).copied().collect()
    }

    pub(super) fn has_connection(&self, connection: u64) -> bool {
        self.of_connections.contains_key(&connection)
    }

    /// How long until the next one times out.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let first = self.deadlines.first().map(|(deadline, _)| *deadline + LAST_WORD);
        first.map(|first| first.saturating_duration_since(Instant::now()))
    }

    /// The calls that timed out, once.
    pub(super) fn take_expired(&mut self) -> Vec<Number> {
        let now = Instant::now();
        let mut expired = Vec::new();
        while let Some((deadline, session)) = self.deadlines.first().copied() {
            if deadline + LAST_WORD > now {
                break;
            }
            self.deadlines.pop_first();
            let running = self.get(session);
            expired.extend(running.map(|running| (running.connection.key, running.number)));
        }
        expired
    }
}
