//! Asks where calls are to run: the server that was connected to, and where that is gone, others
//! that know the same servers.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_wire::{CallOutcome, PLACEMENT, PlaceAnswer, PlaceQuestion, Reply, Request};

use super::finding::{Named, Predicted};
use super::placing::{Ahead, Next};
use super::server::Server;
use super::{View, lock, own_host};
use crate::contract::Contract;
use crate::results::Phases;
use crate::session::{Session, earlier};

/// Metaservers that are kept, at most.
const ASKERS_MAX: usize = 16;

/// Time that a metaserver has to answer where calls can go on without it, and time for which it is
/// then not asked.
const BRIEF: Duration = Duration::from_secs(2);
const SILENT_FOR: Duration = Duration::from_secs(10);

/// Metaservers that answers named.
#[derive(Default)]
pub struct Askers {
    named: Mutex<Vec<Arc<Server>>>,
    /// Those that did not answer in time, and when that was.
    silent: Mutex<Vec<(Arc<str>, Instant)>>,
}

impl Askers {
    /// Whether somebody said nothing lately.
    fn is_silent(&self, name: &str) -> bool {
        let silent = lock(&self.silent);
        silent.iter().any(|(one, when)| **one == *name && when.elapsed() < SILENT_FOR)
    }

    fn note(&self, name: &Arc<str>, is_silent: bool) {
        let mut silent = lock(&self.silent);
        silent.retain(|(one, _)| one != name);
        if is_silent {
            silent.push((name.clone(), Instant::now()));
        }
    }
}

/// How long an answer is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// As long as any question of the client's.
    Patiently,
    /// Not for long, and not again and again.
    Briefly,
}

/// An answer, and who gave it.
pub struct Answered {
    pub answer: PlaceAnswer,
    pub by: Arc<Session>,
}

impl View {
    /// Those that are asked, the best first. A metaserver is dialed again where its connection is
    /// gone for good: it may have been started again. Clients of one server alone have lost it.
    fn askers(&self) -> Vec<Option<Arc<Server>>> {
        let mut askers = lock(&self.askers.named);
        let is_known = |name: &str| askers.iter().any(|server| *server.name == *name);
        if self.is_plural() && self.home_session.is_lost() && !is_known(&self.home.name) {
            askers.insert(0, asker_at(&self.home.name));
        }
        let others = askers.iter().cloned().map(Some).collect::<Vec<_>>();
        std::iter::once(None).chain(others).collect()
    }

    /// Metaservers that answers named.
    pub fn other_askers(&self) -> Vec<Arc<Server>> {
        lock(&self.askers.named).clone()
    }

    /// The one to be asked: the server that was connected to, unless that is gone for good and
    /// another can be reached.
    pub fn asker(self: &Arc<View>) -> Arc<Session> {
        if !self.home_session.is_lost() {
            return self.home_session.clone();
        }
        let others = self.askers().into_iter().flatten();
        let mut reached = others.filter_map(|server| server.session(self, None).ok().flatten());
        reached.next().unwrap_or_else(|| self.home_session.clone())
    }

    /// Asks where a call is to run. `ahead` is the same question, asked before. One that knows no server
    /// for the call may have been started a moment ago: then others are asked, too.
    ///
    /// # Errors
    /// What the server answers, or why there is no answer.
    pub fn ask(
        self: &Arc<View>,
        question: &PlaceQuestion,
        ahead: Option<Ahead>,
        (until, asking): (Option<Instant>, Asking),
    ) -> Result<Answered> {
        let is_brief = asking == Asking::Briefly;
        let until = || match is_brief {
            true => earlier(until, Instant::now().checked_add(BRIEF)),
            false => until,
        };
        if let Some(Ahead { session, question }) = ahead {
            match self.answer_of(&session, question, until()) {
                Ok(answered) => return Ok(answered),
                Err(error) => self.note_silence(&session, &error),
            }
        }
        let mut trouble = None;
        let mut unknown = None;
        for asker in self.askers() {
            let name = asker.as_ref().map_or(&self.home.name, |server| &server.name);
            if is_brief && self.askers.is_silent(name) {
                continue;
            }
            let until = until();
            let session = match &asker {
                None => Ok(Some(self.home_session.clone())),
                Some(server) => server.session(self, until),
            };
            let asked = session.and_then(|session| {
                let session = session.ok_or_else(late)?;
                let question = session.begin(&Request::Place(Box::new(question.clone())))?;
                self.answer_of(&session, question, until)
            });
            let is_silent = |error: &Error| error.kind() == ErrorKind::TimedOut;
            self.askers.note(name, asked.as_ref().is_err_and(is_silent));
            match asked {
                Ok(answered) => return Ok(answered),
                Err(error) if is_gone(&error) => trouble = trouble.or(Some(error)),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    unknown = unknown.or(Some(error));
                }
                Err(error) => return Err(error),
            }
        }
        Err(unknown.or(trouble).unwrap_or_else(late))
    }

    /// The server that was connected to has not answered what it was asked before.
    fn note_silence(&self, session: &Arc<Session>, error: &Error) {
        if Arc::ptr_eq(session, &self.home_session) {
            self.askers.note(&self.home.name, error.kind() == ErrorKind::TimedOut);
        }
    }

    /// Asks one metaserver that another one has named.
    pub fn ask_one(
        &self,
        session: &Arc<Session>,
        question: PlaceQuestion,
        until: Option<Instant>,
    ) -> Result<Answered> {
        let question = session.begin(&Request::Place(Box::new(question)))?;
        self.waited_for(session, question, until)
    }

    fn answer_of(
        &self,
        session: &Arc<Session>,
        question: u64,
        until: Option<Instant>,
    ) -> Result<Answered> {
        let answered = self.waited_for(session, question, until)?;
        self.learn_askers(&answered.answer);
        Ok(answered)
    }

    fn waited_for(
        &self,
        session: &Arc<Session>,
        question: u64,
        until: Option<Instant>,
    ) -> Result<Answered> {
        let patience = Instant::now().checked_add(session.patience());
        let reply = match session.answer(question, earlier(until, patience)) {
            Ok(Some(reply)) => reply,
            Ok(None) => {
                session.forget(question);
                return Err(late());
            }
            Err(error) => return Err(error),
        };
        Ok(Answered { answer: placed(reply)?, by: session.clone() })
    }

    fn learn_askers(&self, answer: &PlaceAnswer) {
        if answer.metaservers.is_empty() {
            return;
        }
        let mut askers = lock(&self.askers.named);
        for address in answer.metaservers.iter().take(ASKERS_MAX) {
            let is_known = askers.iter().any(|server| *server.name == **address);
            if !is_known && askers.len() < ASKERS_MAX {
                askers.push(asker_at(address));
            }
        }
    }

    /// Asks for the next grant of a routine without waiting for it, or looks for the answer.
    #[cold]
    pub fn see_to_next(self: &Arc<View>, contract: &Contract, grant: u64) {
        let Some(placing) = &contract.placing else { return };
        let Some(Next { demand, calls, ahead }) = placing.next_of(grant) else { return };
        let ahead = match ahead {
            None => {
                let question = self.question(contract, &demand, calls);
                let session = self.asker();
                let asked = session.begin(&Request::Place(Box::new(question)));
                let Ok(question) = asked else { return };
                Ahead { session, question }
            }
            Some(Ahead { session, question }) => {
                let _ = session.process();
                match session.answer(question, Some(Instant::now())) {
                    Ok(Some(reply)) => return self.take_answer(contract, grant, reply, &session),
                    Ok(None) => Ahead { session, question },
                    Err(_) => return,
                }
            }
        };
        if let Some(Ahead { session, question }) = placing.asked(grant, ahead) {
            session.forget(question);
        }
    }

    fn take_answer(
        self: &Arc<View>,
        contract: &Contract,
        grant: u64,
        reply: Reply,
        by: &Arc<Session>,
    ) {
        let (Some(placing), Ok(answer)) = (&contract.placing, placed(reply)) else { return };
        self.learn_askers(&answer);
        let answered = Answered { answer, by: by.clone() };
        let servers = self.servers_of(&answered, &[]);
        // Another metaserver would have to be waited for: the next call asks again.
        if servers.iter().any(|named| named.leads && named.calls > 0) {
            let grant = answered.answer.grant;
            let unused = CallOutcome { grant, host: own_host(), ..CallOutcome::default() };
            return self.outcomes.push(self, unused);
        }
        servers.iter().for_each(|named| named.server.dial(self));
        placing.answered(grant, &answered.answer, &servers);
    }

    /// The question for calls that ask for so much.
    pub fn question(
        &self,
        contract: &Contract,
        demand: &farcall_placement::Demand,
        calls: u32,
    ) -> PlaceQuestion {
        PlaceQuestion {
            name: contract.name.clone(),
            contract: contract.hash,
            sizes: demand.sizes,
            amount: demand.amount(),
            processors: demand.processors.unwrap_or(1),
            bytes_in: demand.bytes_in,
            bytes_out: demand.bytes_out,
            host: own_host(),
            calls,
            outcomes: self.outcomes.take(self),
            ..PlaceQuestion::default()
        }
    }

    /// The servers of an answer that can be called, with the calls that each is to have.
    pub fn servers_of(&self, answered: &Answered, without: &[String]) -> Vec<Named> {
        let placed = answered.answer.servers.iter().filter(|placed| !placed.excluded);
        let servers = placed.filter_map(|placed| {
            let server = if placed.is_self {
                self.self_named(&placed.name, &answered.by)
            } else {
                self.server(&placed.name, &placed.addresses, &placed.host)
            };
            let phases = Phases {
                wait_s: (placed.wait_s - placed.send_s).max(0.0),
                send_s: placed.send_s,
                run_s: placed.run_s,
                return_s: placed.return_s,
            };
            let predicted = Some(Predicted { phases, error_s: placed.error_s });
            let calls = placed.calls;
            Some(Named { server: server.ok()?, calls, predicted, leads: placed.leads, led: None })
        });
        let is_wanted = |named: &Named| !without.iter().any(|name| **name == *named.server.name);
        servers.filter(is_wanted).collect()
    }

    /// The server that answered, by the name that it gives itself.
    fn self_named(&self, name: &str, by: &Arc<Session>) -> Result<Arc<Server>> {
        // One that has no name for others is called as it was connected to.
        if name.is_empty() || *name == *self.home.name && Arc::ptr_eq(by, &self.home_session) {
            return Ok(self.home.clone());
        }
        if let Some(known) = lock(&self.servers).get(name)
            && known.connection().is_some_and(|session| Arc::ptr_eq(&session, by))
        {
            return Ok(known.clone());
        }
        let server = Arc::new(Server::home(name, by.clone()));
        lock(&self.servers).insert(server.name.clone(), server.clone());
        Ok(server)
    }
}

/// A metaserver that is reached at this address.
fn asker_at(address: &str) -> Arc<Server> {
    let host = if address.starts_with("unix:") { own_host() } else { String::new() };
    Arc::new(Server::new(address, &[address.to_owned()], &host))
}

/// Whether both ends of a connection speak of placement.
pub fn places(session: &Session) -> bool {
    session.has_feature(PLACEMENT)
}

fn placed(reply: Reply) -> Result<PlaceAnswer> {
    match reply {
        Reply::Placed(answer) => Ok(*answer),
        Reply::Failed(failure) => Err(failure.into()),
        _ => Err(Error::new(
            ErrorKind::Protocol,
            "place a call",
            "the server sent the wrong kind of answer",
        )),
    }
}

/// Whether nobody answered.
pub fn is_gone(error: &Error) -> bool {
    use ErrorKind::{ConnectionLost, ShuttingDown, TimedOut, Unreachable};
    matches!(error.kind(), ConnectionLost | ShuttingDown | TimedOut | Unreachable)
}

/// No server was found in time.
pub fn late() -> Error {
    let message = "timed out before a server was found for the call";
    Error::new(ErrorKind::TimedOut, "call", message)
        .fix("raise timeout=, or check the servers: farcall servers")
        .retryable()
}
