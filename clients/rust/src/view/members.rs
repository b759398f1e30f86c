//! All servers that a metaserver knows: found by name, and asked side by side.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use farcall_base::{CallId, Error, ErrorKind, ObjectId, Result, nearest};
use farcall_placement::Demand;
use farcall_wire::{CallOutcome, ServerPresence, ServerState};

use super::asking::{is_gone, late, places};
use super::finding::{Found, Place, Placed, Wanted};
use super::leading::states_of;
use super::looking::until_of;
use super::server::{Server, is_same_address};
use super::{View, hint, lock, own_host};
use crate::client::{CallOptions, Client, forget_at};
use crate::contract::Contract;
use crate::pending::PendingCall;
use crate::session::Session;

/// Names in an error.
const NAMES_SHOWN: usize = 16;

/// Time for which a server that is gone counts as one that may come back, and is asked.
const GONE_MAX: Duration = Duration::from_secs(3600);
/// Time that each server has for an answer, to be reached included.
pub(super) const MEMBER_MAX: Duration = Duration::from_secs(10);
/// Time for which it counts whether other servers are known.
const LATELY: Duration = Duration::from_secs(10);

/// Whether one good answer is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UntilOne {
    /// Others are not waited for then.
    Yes,
    /// All are wanted.
    No,
}

/// A server that did not answer, and why.
#[derive(Debug)]
pub struct Unanswered {
    /// Its name.
    pub server: String,
    /// What went wrong.
    pub error: Error,
}

/// What each of several servers answered, by its name, and those that did not answer.
#[derive(Debug)]
pub struct ByServer<T> {
    /// The server that was connected to comes first.
    pub answers: Vec<(String, T)>,
    /// Something may be missing for them.
    pub unanswered: Vec<Unanswered>,
}

/// What servers answered, by the server.
pub type Answers<T> = Vec<(Arc<Server>, T)>;

impl View {
    /// The servers that the asked one knows; an empty list where it knows of no others.
    ///
    /// # Errors
    /// Why there is no answer.
    pub fn states(self: &Arc<View>) -> Result<Vec<ServerState>> {
        self.states_within(None)
    }

    /// The same within this time.
    fn states_within(self: &Arc<View>, wait: Option<Duration>) -> Result<Vec<ServerState>> {
        let asker = self.asker();
        if !places(&asker) {
            return Ok(Vec::new());
        }
        let mut states = states_of(&asker, wait)?;
        self.add_led(&mut states);
        Ok(states)
    }

    /// Whether the server that is asked knows others; what was said lately counts.
    ///
    /// # Errors
    /// As [`View::states`].
    pub fn knows_others(self: &Arc<View>) -> Result<bool> {
        let known = *lock(&self.known_others);
        if let Some((others, _)) = known.filter(|(_, when)| when.elapsed() < LATELY) {
            return Ok(others);
        }
        let others = self.states()?.iter().any(|state| !state.is_self);
        *lock(&self.known_others) = Some((others, Instant::now()));
        Ok(others)
    }

    /// The server that is to hold so many executables for this client.
    ///
    /// # Errors
    /// The reason for no server.
    pub fn hold_place(
        self: &Arc<View>,
        contract: &Arc<Contract>,
        count: u32,
        deadline: Option<Instant>,
    ) -> Result<(Arc<Session>, Arc<Server>)> {
        let nothing =
            Demand { operations: None, processors: None, bytes_in: 0.0, bytes_out: 0.0, sizes: 0 };
        let wanted = Wanted { calls: count, ..Wanted::new(contract, nothing, deadline) };
        let Found { session, server, grant, led, .. } = wanted.find(self)?;
        // It counts no more: what is held is in its server's reports.
        let host = own_host();
        let through = led.as_ref().map_or(&server.name, |led| &led.through).to_string();
        let outcome = CallOutcome { grant, server: through, host, ..CallOutcome::default() };
        led.iter().for_each(|led| led.tell(&outcome));
        self.outcomes.push(self, outcome);
        Ok((session, server))
    }

    /// All servers but the one that was connected to, each being dialed.
    fn others(self: &Arc<View>) -> Result<Vec<Arc<Server>>> {
        let mut others = Vec::new();
        for state in self.states()? {
            let silent = Duration::from_micros(state.silent_us);
            let is_away = state.presence == ServerPresence::Gone && silent > GONE_MAX;
            if state.is_self || is_away {
                continue;
            }
            // Where it stands is not told; a socket that is not on this host is not reached.
            let server = self.server(&state.name, &state.addresses, &own_host())?;
            server.dial(self);
            others.push(server);
        }
        Ok(others)
    }

    /// The server of this name or address.
    ///
    /// # Errors
    /// `NotFound` with the nearest names.
    pub fn server_at(self: &Arc<View>, at: &str) -> Result<Arc<Server>> {
        if self.is_called_home(at) {
            return Ok(self.home.clone());
        }
        let known = lock(&self.servers).values().find(|server| server.is_called(at)).cloned();
        if let Some(server) = known {
            return Ok(server);
        }
        let states = self.states()?;
        for state in &states {
            let is_at = |address: &String| is_same_address(address, at);
            if !is_same_address(&state.name, at) && !state.addresses.iter().any(is_at) {
                continue;
            }
            if state.is_self && self.takes_calls() {
                return Ok(self.home.clone());
            }
            if state.is_self {
                break;
            }
            return self.server(&state.name, &state.addresses, &own_host());
        }
        Err(self.unknown(at, &states))
    }

    /// Whether the server that was connected to is called so, and takes calls.
    fn is_called_home(&self, at: &str) -> bool {
        self.home.is_called(at) && self.takes_calls()
    }

    /// Whether the server that was connected to takes calls: not the one that only keeps a list
    /// together.
    fn takes_calls(&self) -> bool {
        self.roll().is_none_or(|roll| roll.has_here())
    }

    fn unknown(&self, at: &str, states: &[ServerState]) -> Error {
        let others = states.iter().filter(|state| !state.is_self || self.takes_calls());
        let mut names: Vec<&str> = others.map(|state| state.name.as_str()).collect();
        if self.takes_calls() && !names.contains(&&*self.home.name) {
            names.push(&self.home.name);
        }
        // Those that may be meant first.
        let mut shown = nearest(at, names.iter().copied(), NAMES_SHOWN);
        names.retain(|name| !shown.contains(name));
        shown.extend(names);
        shown.truncate(NAMES_SHOWN);
        Error::new(ErrorKind::NotFound, "call", format!("no server is called \"{at}\""))
            .with("servers", shown.join(", "))
            .fix("pass one of them as at=, or list all: farcall servers")
    }

    /// Asks all servers but the one that was connected to the same, side by side, each for at most
    /// `patience`.
    ///
    /// # Errors
    /// Why it is not known who there is.
    pub fn ask_all<T: Send + 'static>(
        self: &Arc<View>,
        patience: Duration,
        until_one: UntilOne,
        ask: impl Fn(&Arc<Server>, Arc<Session>) -> Result<T> + Send + Sync + 'static,
    ) -> Result<(Answers<T>, Vec<Unanswered>)> {
        let others = self.others()?;
        let until = Instant::now().checked_add(patience);
        let ask = Arc::new(ask);
        let (tell, told) = channel();
        for (index, server) in others.iter().cloned().enumerate() {
            let view = self.clone();
            let ask = ask.clone();
            let tell = tell.clone();
            let asks = move || {
                let session = server.session(&view, until);
                let reached = session.and_then(|session| session.ok_or_else(late));
                let answer = reached.and_then(|session| ask(&server, session));
                // The client may have gone.
                let _ = tell.send((index, answer));
            };
            let thread = std::thread::Builder::new().name("farcall-ask".to_owned());
            thread.spawn(asks).map_err(|error| Error::system("start a thread", error))?;
        }
        drop(tell);
        let mut silent: Vec<Option<Arc<Server>>> = others.into_iter().map(Some).collect();
        let mut answers = Vec::new();
        let mut unanswered = Vec::new();
        loop {
            let left =
                until.map_or(patience, |until| until.saturating_duration_since(Instant::now()));
            match told.recv_timeout(left) {
                Ok((index, answer)) => {
                    let Some(server) = silent.get_mut(index).and_then(Option::take) else {
                        continue;
                    };
                    match answer {
                        Ok(answer) => {
                            answers.push((index, (server, answer)));
                            if until_one == UntilOne::Yes {
                                return Ok((in_order(answers), in_order(unanswered)));
                            }
                        }
                        Err(error) => {
                            let server = server.name.to_string();
                            unanswered.push((index, Unanswered { server, error }));
                        }
                    }
                }
                Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => break,
            }
        }
        let silent = silent.into_iter().enumerate();
        unanswered.extend(silent.filter_map(|(index, server)| {
            let server = server?.name.to_string();
            Some((index, Unanswered { server, error: no_answer() }))
        }));
        Ok((in_order(answers), in_order(unanswered)))
    }
}

/// What came of each server, in the order in which the servers are known: what is told of them does
/// not depend on who was fastest.
fn in_order<T>(mut all: Vec<(usize, T)>) -> Vec<T> {
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, one)| one).collect()
}

/// No server that answered knows a call; one that did not may.
fn with_silent(unknown: Error, unanswered: &[Unanswered]) -> Error {
    let is_silent = |one: &&Unanswered| one.error.kind() != ErrorKind::NotFound;
    let silent = unanswered.iter().filter(is_silent).map(|one| one.server.as_str());
    let silent: Vec<&str> = silent.take(NAMES_SHOWN).collect();
    if silent.is_empty() {
        return unknown;
    }
    let message = "no server that answered knows it";
    Error::new(ErrorKind::Unreachable, unknown.operation().to_owned(), message)
        .with("no answer from", silent.join(", "))
        .fix("try again when these servers are reached: farcall servers")
        .retryable()
}

fn no_answer() -> Error {
    Error::new(ErrorKind::TimedOut, "ask the server", "no answer in time")
}

impl Client {
    /// Takes a call up that the server which was connected to does not know: from the first that
    /// does.
    ///
    /// # Errors
    /// `unknown`, which that server said, where no other one has it.
    pub(crate) fn fetch_elsewhere(
        &self,
        id: CallId,
        options: &CallOptions,
        unknown: Error,
    ) -> Result<PendingCall> {
        let patience = self.session().patience();
        let client = self.clone();
        let options = options.clone();
        let seek = move |server: &Arc<Server>, session| {
            PendingCall::seek(client.clone(), (server, session), id, &options, patience)
        };
        self.found_by_others(unknown, seek)
    }

    /// Has another server forget a kept call.
    ///
    /// # Errors
    /// As [`Client::fetch_elsewhere`].
    pub(crate) fn forget_elsewhere(&self, id: CallId, unknown: Error) -> Result<()> {
        self.found_by_others(unknown, move |_, session| forget_at(&session, id))
    }

    /// What the server says at which a call's id hints; `None` where it hints at the one that was
    /// connected to, or at one that is not there or does not know the call.
    ///
    /// # Errors
    /// What that server says else.
    pub(crate) fn at_hint<T>(
        &self,
        id: CallId,
        wait: Duration,
        ask: impl Fn(&Arc<Server>, Arc<Session>) -> Result<T>,
    ) -> Result<Option<T>> {
        if !hint::is_elsewhere(id) || !places(self.session()) {
            return Ok(None);
        }
        let view = self.view();
        let Ok(states) = view.states_within(Some(wait)) else { return Ok(None) };
        let is_hinted = |state: &&ServerState| !state.is_self && hint::is_at(id, &state.name);
        let until = Instant::now().checked_add(MEMBER_MAX);
        for state in states.iter().filter(is_hinted) {
            let server = view.server(&state.name, &state.addresses, &own_host())?;
            let Ok(Some(session)) = server.session(view, until) else { continue };
            match ask(&server, session) {
                Err(error) if error.kind() == ErrorKind::NotFound || is_gone(&error) => {}
                answer => return answer.map(Some).map_err(|it| it.with("server", &state.name)),
            }
        }
        Ok(None)
    }

    /// The first good answer of another server.
    pub(crate) fn found_by_others<T: Send + 'static>(
        &self,
        unknown: Error,
        ask: impl Fn(&Arc<Server>, Arc<Session>) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let (answer, unanswered) = self.one_of_others(ask)?;
        answer.ok_or_else(|| with_silent(unknown, &unanswered))
    }

    /// The same, or why no server has a good answer.
    pub(crate) fn one_of_others<T: Send + 'static>(
        &self,
        ask: impl Fn(&Arc<Server>, Arc<Session>) -> Result<T> + Send + Sync + 'static,
    ) -> Result<(Option<T>, Vec<Unanswered>)> {
        if !places(self.session()) || !self.view().knows_others()? {
            return Ok((None, Vec::new()));
        }
        let patience = self.session().patience().min(MEMBER_MAX);
        let (mut answers, unanswered) = self.view().ask_all(patience, UntilOne::Yes, ask)?;
        Ok((answers.pop().map(|(_, answer)| answer), unanswered))
    }

    /// What the server that was connected to says, and behind it what those say that it knows, which
    /// are asked side by side.
    ///
    /// # Errors
    /// Those of the server that was connected to; why it is not known who there is.
    pub(crate) fn of_each<T: Send + 'static>(
        &self,
        patience: Duration,
        ask: impl Fn(Arc<Session>) -> Result<T> + Send + Sync + 'static,
    ) -> Result<ByServer<T>> {
        let own = ask(self.session().clone()).map_err(|it| it.with("server", self.address()))?;
        let mut answers = vec![(self.address().to_owned(), own)];
        if !places(self.session()) || !self.view().knows_others()? {
            return Ok(ByServer { answers, unanswered: Vec::new() });
        }
        let patience = patience.min(MEMBER_MAX);
        let ask = move |_: &Arc<Server>, session| ask(session);
        let (others, mut unanswered) = self.view().ask_all(patience, UntilOne::No, ask)?;
        let others = others.into_iter().map(|(server, answer)| (server.name.to_string(), answer));
        answers.extend(others);
        answers[1..].sort_by(|(one, _), (other, _)| one.cmp(other));
        unanswered.sort_by(|one, other| one.server.cmp(&other.server));
        Ok(ByServer { answers, unanswered })
    }

    /// Whether the server knows others, over which its users' calls, objects and kept results may
    /// be spread.
    ///
    /// # Errors
    /// Why that is not known.
    pub fn knows_others(&self) -> Result<bool> {
        if places(self.session()) { self.view().knows_others() } else { Ok(false) }
    }

    /// A client of one server alone, of those that the server knows: by its name or one of its
    /// addresses. It shows who we are as this client would.
    ///
    /// # Errors
    /// `NotFound` with the nearest names; why it cannot be reached.
    pub fn member(&self, at: &str) -> Result<Client> {
        let view = self.view();
        let server = view.server_at(at)?;
        if Arc::ptr_eq(&server, view.home()) {
            return Ok(self.clone());
        }
        let (session, dialing) = server.dial_apart(view)?;
        Ok(Client::of_session(session, &server.name, dialing))
    }

    /// A call goes to the server of this name or address, and nowhere else.
    pub(crate) fn bound_at(
        &self,
        at: &str,
        waits: (Option<Instant>, Option<Duration>),
    ) -> Result<Place> {
        let server = self.view().server_at(at)?;
        self.bound(server, waits)
    }

    /// A call on an object goes to where that is.
    pub(crate) fn bound_to(
        &self,
        object: ObjectId,
        waits: (Option<Instant>, Option<Duration>),
    ) -> Result<Place> {
        match self.view().holder(object) {
            Some(server) => self.bound(server, waits),
            None => Ok(self.at_home()),
        }
    }

    /// A call goes there, and nowhere else.
    pub(crate) fn bound(
        &self,
        server: Arc<Server>,
        waits: (Option<Instant>, Option<Duration>),
    ) -> Result<Place> {
        let view = self.view();
        let session = if Arc::ptr_eq(&server, &view.home) {
            view.home_session.clone()
        } else {
            server.session(view, until_of(waits))?.ok_or_else(late)?
        };
        Ok(Place { session, placed: Some(Placed::bound(server)) })
    }
}
