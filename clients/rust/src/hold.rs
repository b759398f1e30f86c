//! Objects and arrays of function handles: executables of the server's that are held for this
//! program.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, ObjectId, Resources, Result};
use farcall_wire::{Failure, HoldRequest, OBJECTS, Reply, Request};

use crate::client::Client;
use crate::contract::Contract;
use crate::session::{Session, earlier};
use crate::view::{Server, places};

/// Time for which an object stays when its owner's connection is lost, unless another is asked for.
const LEASE: Duration = Duration::from_secs(60);

/// Time after a start's own in which the server's word on it counts still: it says more than ours.
const LAST_WORD: Duration = Duration::from_millis(250);

/// How executables are to be held.
#[derive(Clone, Copy, Debug)]
pub struct HoldOptions {
    /// Time for which each stays when the connection is lost, for whoever calls it again: a minute
    /// by default.
    pub lease: Duration,
    /// Time in which all must be ready, whatever the server does; without it, the server's own
    /// patience with each.
    pub start: Option<Duration>,
    /// Whether they stay for their lease also when the connection is closed in order, or the
    /// [`Hold`] dropped.
    pub detached: bool,
    /// Processes of which each consists, where MPI starts it; 0 for as many as the server says.
    pub ranks: u32,
    /// What each of its processes is given.
    pub resources: Resources,
}

impl Default for HoldOptions {
    fn default() -> HoldOptions {
        HoldOptions {
            lease: LEASE,
            start: None,
            detached: false,
            ranks: 0,
            resources: Resources::default(),
        }
    }
}

/// Executables that the server holds for this program: one object, or several. Dropping it releases
/// them, and waits for nothing; [`Hold::detach`] leaves them.
pub struct Hold {
    client: Client,
    session: Arc<Session>,
    server: Arc<Server>,
    name: String,
    first: ObjectId,
    count: u32,
    start: Mutex<Start>,
    /// When they must be ready.
    until: Option<Instant>,
    /// Whether whoever drops this leaves them as they are.
    is_left: AtomicBool,
}

/// How far a hold has come.
enum Start {
    /// The server was asked, with this question.
    Asked(u64),
    /// All take calls.
    Ready,
    /// There are none.
    Failed(Failure),
    /// They were told to end.
    Released,
}

impl Client {
    /// Holds so many executables of a class (`module/Class`) or a routine, each for the calls that
    /// name its id in
    /// [`CallOptions::on`](crate::CallOptions::on). Waits for none of them: calls may follow at once, and [`Hold::ready`]
    /// tells. A name without its module is looked up first.
    ///
    /// # Errors
    /// `Unavailable` for a server that holds none, `NotFound`, `ConnectionLost`. What the server
    /// refuses is told by
    /// [`Hold::ready`], and to calls.
    pub fn hold(&self, name: &str, count: u32, options: &HoldOptions) -> Result<Hold> {
        let begin = Instant::now();
        if !places(self.session()) {
            check_objects(self.session(), self.address())?;
        }
        let name = self.full_name(name, options.start)?;
        let until =
            options.start.and_then(|time| begin.checked_add(time.saturating_add(LAST_WORD)));
        let (session, server) = self.holder_of(&name, count, until)?;
        check_objects(&session, &server.name)?;
        session.check_resources("hold an object", options.resources)?;
        let mut random = [0; 12];
        random.copy_from_slice(&self.session().random()[..12]);
        let first = ObjectId::first(random);
        let microseconds = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        let request = HoldRequest {
            name: name.clone(),
            first,
            count,
            lease_us: microseconds(options.lease),
            start_us: options.start.map(microseconds),
            detached: options.detached.then_some(true),
            ranks: Some(options.ranks).filter(|ranks| *ranks != 0),
            resources: (!options.resources.is_empty()).then(|| options.resources.into()),
        };
        let question = session.begin(&Request::Hold(Box::new(request)))?;
        if !Arc::ptr_eq(&session, self.session()) {
            self.view().holds(first, &server);
        }
        let start = Mutex::new(Start::Asked(question));
        let is_left = AtomicBool::new(options.detached);
        let client = self.clone();
        Ok(Hold { client, session, server, name, first, count, start, until, is_left })
    }

    /// The server that is to hold them, for good.
    fn holder_of(
        &self,
        name: &str,
        count: u32,
        until: Option<Instant>,
    ) -> Result<(Arc<Session>, Arc<Server>)> {
        let view = self.view();
        match self.placed_contract(name)? {
            Some(contract) => view.hold_place(&contract, count, until),
            None => Ok((self.session().clone(), view.home().clone())),
        }
    }

    /// What is held, if it may be at several servers: the routine, or any method of the class.
    fn placed_contract(&self, name: &str) -> Result<Option<Arc<Contract>>> {
        if !places(self.session()) {
            return Ok(None);
        }
        if let Some(known) = self.known_as(|contract| contract.is_held_as(name)) {
            return Ok(known.placing.is_some().then_some(known));
        }
        if !self.view().knows_others()? {
            return Ok(None);
        }
        let routines = self.routines()?;
        let contracts = routines.into_iter().map(|routine| routine.contract);
        let mut held = contracts.filter(|contract| contract.is_held_as(name));
        Ok(held.next().filter(|contract| contract.placing.is_some()))
    }

    /// Ends objects of this user, so many from the first on, and waits until they have: for at most
    /// `timeout`, or for the client's own. Those that are no more there are left out.
    ///
    /// # Errors
    /// `NotFound` where there is none of them; what went wrong when one was to end in order (it has
    /// ended all the same); `TimedOut`.
    pub fn release(&self, first: ObjectId, count: u32, timeout: Option<Duration>) -> Result<()> {
        let holder = self.view().holder(first);
        let session = holder.and_then(|server| server.connection());
        let session = session.unwrap_or_else(|| self.session().clone());
        let question = session.begin(&Request::Release(first, count))?;
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        match session.answer(question, until)? {
            Some(reply) => done(reply, self.address()),
            None => {
                session.forget(question);
                Err(Error::new(ErrorKind::TimedOut, "end an object", "it did not end in time")
                    .fix("wait longer; the server ends it after stop_grace_ms at the latest"))
            }
        }
    }

    /// `module/Class` or `module/routine`; the server is asked for at most `time`.
    fn full_name(&self, name: &str, time: Option<Duration>) -> Result<String> {
        if name.contains('/') {
            return Ok(name.to_owned());
        }
        let found = match time {
            Some(time) => self.routine_within(name, time),
            None => self.routine(name).map(Some),
        };
        match found {
            Ok(Some(routine)) => Ok(routine.name().to_owned()),
            Ok(None) => Err(late(time, self.address())),
            Err(error) => {
                let class = error
                    .context()
                    .iter()
                    .find(|(key, _)| *key == "class")
                    .map(|(_, class)| class.clone());
                class.ok_or(error)
            }
        }
    }
}

fn check_objects(session: &Session, server: &str) -> Result<()> {
    if session.has_feature(OBJECTS) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Unavailable, "hold an object", "this server does not hold objects")
        .with("server", server)
        .fix("raise objects_max in its farcall.toml, or start a newer version of Farcall"))
}

/// The server has not said in time that what is held takes calls.
fn late(time: Option<Duration>, server: &str) -> Error {
    let error =
        Error::new(ErrorKind::TimedOut, "hold an object", "the server did not create it in time")
            .with("server", server)
            .fix("raise timeout=, or check the server: farcall doctor");
    time.iter()
        .fold(error, |error, time| error.with("timeout", format!("{} s", time.as_secs_f64())))
}

fn done(reply: Reply, server: &str) -> Result<()> {
    match reply {
        Reply::Done => Ok(()),
        Reply::Failed(failure) => Err(Error::from(failure).with("server", server)),
        _ => Err(Error::new(
            ErrorKind::Protocol,
            "hold an object",
            "the server sent the wrong kind of answer",
        )),
    }
}

impl Hold {
    /// What is held, in full.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The connection it is held over.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The name of the server that has them.
    pub fn server(&self) -> &str {
        &self.server.name
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The id of the first.
    pub fn first(&self) -> ObjectId {
        self.first
    }

    /// The ids of all.
    pub fn ids(&self) -> impl Iterator<Item = ObjectId> + use<> {
        let first = self.first;
        (0..self.count).filter_map(move |index| first.after(index))
    }

    /// Waits until all take calls, for at most `timeout`: false if they do not by then. Any number
    /// of threads may ask.
    ///
    /// # Errors
    /// Why there are none: what the server refuses, what happened to one of their executables or
    /// its `_initialize`, `ConnectionLost`; `TimedOut` when the time of [`HoldOptions::start`] is
    /// over, however long `timeout` is.
    pub fn ready(&self, timeout: Option<Duration>) -> Result<bool> {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut start = self.start();
        if let Start::Asked(question) = *start {
            if timeout == Some(Duration::ZERO) {
                self.session.process()?;
            }
            match self.session.answer(question, earlier(until, self.until))? {
                None if self.until.is_some_and(|until| until <= Instant::now()) => {
                    self.session.forget(question);
                    *start = Start::Failed((&late(None, &self.server.name)).into());
                    // Those that it makes all the same are nobody's.
                    self.ask_for_their_end();
                }
                None => return Ok(false),
                Some(Reply::Failed(failure)) => *start = Start::Failed(failure),
                Some(reply) => {
                    done(reply, &self.server.name)?;
                    *start = Start::Ready;
                }
            }
        }
        match &*start {
            Start::Failed(failure) => {
                Err(Error::from(failure.clone()).with("server", &*self.server.name))
            }
            Start::Released => {
                Err(Error::new(ErrorKind::NotFound, "hold an object", "it was released"))
            }
            Start::Ready | Start::Asked(_) => Ok(true),
        }
    }

    /// Whether all take calls; never waits, but for another thread that does.
    ///
    /// # Errors
    /// As [`Hold::ready`].
    pub fn is_ready(&self) -> Result<bool> {
        self.ready(Some(Duration::ZERO))
    }

    /// Where the connection is gone, so are they, or their lease runs.
    fn ask_for_their_end(&self) {
        if let Ok(question) = self.session.begin(&Request::Release(self.first, self.count)) {
            self.session.forget(question);
        }
    }

    fn start(&self) -> MutexGuard<'_, Start> {
        self.start.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all of them, and waits until they have: see [`Client::release`]. None are left if they
    /// never came, and once is enough.
    ///
    /// # Errors
    /// As [`Client::release`].
    pub fn release(&self, timeout: Option<Duration>) -> Result<()> {
        let start = std::mem::replace(&mut *self.start(), Start::Released);
        self.is_left.store(true, Ordering::Relaxed);
        if matches!(start, Start::Failed(_) | Start::Released) {
            return Ok(());
        }
        let released = self.client.release(self.first, self.count, timeout);
        self.client.view().holds_no_more(self.first);
        released
    }

    /// Leaves them: they stay as long as their lease and the connection let them.
    pub fn detach(self) {
        self.is_left.store(true, Ordering::Relaxed);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let start = self.start.get_mut().unwrap_or_else(PoisonError::into_inner);
        let has_failed = matches!(start, Start::Failed(_));
        if let Start::Asked(question) = *start {
            self.session.forget(question);
        }
        if self.is_left.load(Ordering::Relaxed) || has_failed {
            return;
        }
        self.ask_for_their_end();
        self.client.view().holds_no_more(self.first);
    }
}
