//! Who of a list is there: it changes as servers come and go, and is waited for.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_wire::{Failure, PlacedServer, Request, ServerPresence, ServerState};

use super::versions::Versions;
use super::way::Way;
use crate::session::{Session, earlier};
use crate::standard_streams::tell;
use crate::view::{Server, own_host};

/// Time for which connecting waits for servers that ask the user nothing, once a call can run.
const SETTLE: Duration = Duration::from_secs(5);
/// Who asks the user is looked at so often: that changes without a word.
const LOOK: Duration = Duration::from_millis(50);
/// Time for what is told at the end.
const LAST_MAX: Duration = Duration::from_millis(500);

/// How far a server of a list is.
#[derive(Clone, Debug)]
enum Standing {
    /// It was not reached yet, or has not said all.
    Coming,
    /// Calls can run there.
    There,
    /// They cannot, for this reason.
    Away(Failure),
}

/// The servers of a list.
pub struct Roll {
    servers: Vec<Arc<Server>>,
    has_here: bool,
    /// What they publish.
    pub versions: Versions,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    standings: Vec<Standing>,
    /// Servers of which it was told that they are away.
    told: BTreeSet<usize>,
    /// Grows with each change.
    changes: u64,
    /// Servers whose last calls the private server has not heard of, once the client ends.
    owed: BTreeSet<usize>,
}

/// Whether another server of a list is coming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coming {
    /// One came, or it is known that it does not.
    One,
    /// Not in this time.
    Later,
    /// None is.
    Nobody,
}

impl Roll {
    /// None of them was reached yet.
    pub fn new(servers: Vec<Arc<Server>>, has_here: bool) -> Roll {
        let standings = vec![Standing::Coming; servers.len()];
        let state = State { standings, told: BTreeSet::new(), changes: 0, owed: BTreeSet::new() };
        Roll {
            servers,
            has_here,
            versions: Versions::default(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// All of them.
    pub fn servers(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.servers.iter()
    }

    /// One of them.
    pub fn server(&self, index: usize) -> &Arc<Server> {
        &self.servers[index]
    }

    /// Whether this host is one of the servers.
    pub fn has_here(&self) -> bool {
        self.has_here
    }

    /// Calls can run on one from now on.
    pub fn came(&self, index: usize) {
        self.set(index, Standing::There);
    }

    /// They cannot; the first time that is told.
    pub fn is_away(&self, index: usize, error: &Error) {
        let is_first = self.lock().told.insert(index);
        if is_first {
            let name = &self.servers[index].name;
            tell(&format!("{name} takes no calls, the other servers do: {error}"));
        }
        self.set(index, Standing::Away(error.into()));
    }

    fn set(&self, index: usize, standing: Standing) {
        let mut state = self.lock();
        state.standings[index] = standing;
        state.changes += 1;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_asking(&self, index: usize) -> bool {
        self.servers[index].way().is_some_and(|way| way.is_asking())
    }

    /// Waits until all are there or away, or ask the user something; for some only a while, once a
    /// call can run.
    ///
    /// # Errors
    /// `Unreachable` where no call can run, `TimedOut`.
    pub fn wait_for_all(&self, until: Instant) -> Result<()> {
        let settle = until.min(Instant::now() + SETTLE);
        let mut state = self.lock();
        loop {
            let all = || state.standings.iter().enumerate();
            let is_there = all().any(|(_, one)| matches!(one, Standing::There));
            let coming = || all().filter(|(_, one)| matches!(one, Standing::Coming));
            let is_expected = coming().any(|(index, _)| !self.is_asking(index));
            let now = Instant::now();
            if (self.has_here || is_there) && (now >= settle || !is_expected) {
                return Ok(());
            }
            if coming().next().is_none() {
                return Err(self.nobody(&state));
            }
            if now >= until && is_expected {
                let message = "no server of the list answered in time";
                return Err(Error::new(ErrorKind::TimedOut, "connect", message)
                    .with("servers", self.names())
                    .fix("raise timeout=, or add here to the list"));
            }
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.servers.iter().map(|server| &*server.name).collect();
        names.join(", ")
    }

    fn nobody(&self, state: &State) -> Error {
        let failed = |standing: &Standing| match standing {
            Standing::Away(failure) => Some(Error::from(failure.clone())),
            _ => None,
        };
        let message = "no server of the list can be used";
        let error = Error::new(ErrorKind::Unreachable, "connect", message)
            .with("servers", self.names())
            .fix("check that each can be reached alone, or add here to the list");
        match state.standings.iter().find_map(failed) {
            Some(first) => error.with("the first", first),
            None => error,
        }
    }

    /// Waits until another server comes, at most for `wait` and `patience`.
    pub fn wait_for_one(&self, wait: Option<Duration>, patience: Duration) -> Coming {
        let begun = Instant::now();
        let ends = begun.checked_add(patience);
        let until = wait.and_then(|wait| begun.checked_add(wait));
        let mut state = self.lock();
        let before = state.changes;
        loop {
            if state.changes != before {
                return Coming::One;
            }
            if !state.standings.iter().any(|one| matches!(one, Standing::Coming)) {
                return Coming::Nobody;
            }
            let now = Instant::now();
            let is_past = |end: Option<Instant>| end.is_some_and(|end| end <= now);
            if is_past(until) {
                return Coming::Later;
            }
            if is_past(ends) {
                return Coming::Nobody;
            }
            let left = earlier(until, ends).map_or(LOOK, |end| end - now);
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Why calls cannot run on a server.
    fn trouble(&self, index: usize) -> Option<String> {
        match &self.lock().standings[index] {
            Standing::There => None,
            Standing::Away(failure) => Some(Error::from(failure.clone()).to_string()),
            Standing::Coming if self.is_asking(index) => {
                Some("waits for an answer to what its host asks".to_owned())
            }
            Standing::Coming => Some("is not reached yet".to_owned()),
        }
    }

    /// Servers that take no calls, with the reason.
    fn troubles(&self) -> impl Iterator<Item = (String, String)> {
        let all = self.servers.iter().enumerate();
        all.filter_map(|(index, server)| Some((server.name.to_string(), self.trouble(index)?)))
    }

    /// Waits until the next question to a server is due: at once for the last one, which is then
    /// begun.
    pub fn rest(&self, index: usize, pause: Duration, is_last: &mut bool) {
        let until = Instant::now() + pause;
        let mut state = self.lock();
        loop {
            if state.owed.contains(&index) {
                if !std::mem::replace(is_last, true) {
                    return;
                }
                state.owed.remove(&index);
                self.changed.notify_all();
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The client ends: what its last calls took is told first, if that takes no long time.
    pub fn finish(&self, home: &Session) {
        let until = Instant::now() + LAST_MAX;
        self.servers.iter().filter_map(|server| server.way()).for_each(Way::ends);
        let mut state = self.lock();
        for (index, server) in self.servers.iter().enumerate() {
            let is_there = matches!(state.standings[index], Standing::There);
            if is_there && server.way().is_some_and(|way| way.has_called()) {
                state.owed.insert(index);
            }
        }
        self.changed.notify_all();
        while !state.owed.is_empty() && Instant::now() < until {
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        // It asks itself how it is before it answers, and learns so of calls that ran there.
        let question = Request::Servers(own_host(), String::new());
        let _ = home.ask_for(&question, None, LAST_MAX);
    }

    /// Puts into states what only this client knows.
    pub fn complete_states(&self, states: &mut Vec<ServerState>) {
        states.retain(|state| self.has_here || !state.is_self);
        for (name, note) in self.troubles() {
            let presence = ServerPresence::Unreachable;
            match states.iter_mut().find(|state| state.name == name) {
                Some(state) => (state.presence, state.note) = (presence, note),
                None => states.push(ServerState { name, presence, note, ..ServerState::default() }),
            }
        }
    }

    /// The same for an explanation.
    pub fn complete_placed(&self, placed: &mut Vec<PlacedServer>) {
        placed.retain(|one| self.has_here || !one.is_self);
        for (name, note) in self.troubles() {
            placed.retain(|one| one.name != name);
            placed.push(PlacedServer { name, note, excluded: true, ..PlacedServer::default() });
        }
    }
}
