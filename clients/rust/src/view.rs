//! A client's servers: the one that it was connected to, and those that grants name. Each is dialed
//! when a call first goes there, and keeps its connection.

mod asking;
mod finding;
mod hint;
mod leading;
mod looking;
mod members;
mod moving;
mod opening;
mod outcomes;
mod placing;
mod relay;
mod search;
mod server;
mod takers;
mod waiting;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use farcall_base::{Error, ErrorKind, ObjectId, Result};
use rustc_hash::FxHashMap;

use crate::address::Address;
use crate::data::Carrier;
use crate::dial::ConnectOptions;
use crate::listed::Roll;
use crate::session::Session;
use asking::Askers;
pub use asking::{is_gone, places};
pub use finding::{Place, Placed};
pub use hint::hinting;
pub use members::{ByServer, Unanswered};
pub use moving::Apart;
pub use opening::{open_placed, open_there};
use outcomes::Outcomes;
pub use placing::Placing;
use search::Search;
pub use server::{Server, dial_one};
pub use takers::{KnownTakers, Takers};
use waiting::Bell;

/// Servers that one client knows at a time, and objects of which it knows where they are.
const KNOWN_MAX: usize = 1024;
/// The numbers of calls of one connection: those of the next begin behind them.
const NUMBERS: u64 = 1 << 40;

/// The servers of one client.
pub struct View {
    /// The server that was connected to.
    home: Arc<Server>,
    home_session: Arc<Session>,
    dialing: Dialing,
    servers: Mutex<FxHashMap<Arc<str>, Arc<Server>>>,
    connections: Connections,
    /// Whether there were ever any.
    is_plural: AtomicBool,
    askers: Askers,
    outcomes: Outcomes,
    /// Calls that run and count, at all servers.
    under_way: AtomicUsize,
    /// Calls that are made elsewhere: where, by number.
    moved: Mutex<FxHashMap<u64, Arc<Session>>>,
    has_moved: AtomicBool,
    /// Calls that look for another server.
    moving: Mutex<FxHashMap<u64, Weak<Search>>>,
    /// Where objects are that are not at home, by the first bytes of their ids.
    objects: Mutex<FxHashMap<[u8; 12], Arc<Server>>>,
    bell: Bell,
    /// Whether the server that is asked knew others, and when that was.
    known_others: Mutex<Option<(bool, Instant)>>,
    /// Values on their way from one server to another.
    pub carrier: Carrier,
}

/// The connections of one client.
#[derive(Default)]
struct Connections {
    /// To other servers, by the numbers of their calls.
    to_others: Mutex<Vec<(u64, Weak<Session>)>>,
    /// How many were made to others.
    made: AtomicU64,
    /// Whether the program has closed all.
    is_closed: AtomicBool,
}

/// How other servers are dialed.
pub struct Dialing {
    /// As the first one was.
    pub options: ConnectOptions,
    /// Where that is: what shows who we are is for addresses of this kind.
    pub home: Option<Address>,
    /// The servers of the list that was connected to: the client's own business, which calls go to
    /// under the names that they have there.
    pub roll: Option<Arc<Roll>>,
}

impl View {
    /// Of a client that has just connected.
    pub fn new(session: Arc<Session>, name: &str, dialing: Dialing) -> Arc<View> {
        let listed = dialing.roll.iter().flat_map(|roll| roll.servers());
        let listed = listed.map(|server| (server.name.clone(), server.clone())).collect();
        Arc::new(View {
            home: Arc::new(Server::home(name, session.clone())),
            home_session: session,
            dialing,
            servers: Mutex::new(listed),
            connections: Connections::default(),
            is_plural: AtomicBool::new(false),
            askers: Askers::default(),
            outcomes: Outcomes::default(),
            under_way: AtomicUsize::new(0),
            moved: Mutex::default(),
            has_moved: AtomicBool::new(false),
            moving: Mutex::default(),
            objects: Mutex::default(),
            bell: Bell::default(),
            known_others: Mutex::default(),
            carrier: Carrier::default(),
        })
    }

    /// The servers of the list that was connected to, if it was one.
    pub fn roll(&self) -> Option<&Arc<Roll>> {
        self.dialing.roll.as_ref()
    }

    /// The connection to the server that was connected to.
    #[inline]
    pub fn home_session(&self) -> &Arc<Session> {
        &self.home_session
    }

    /// Whether other servers are connected.
    pub fn has_others(&self) -> bool {
        self.is_plural() && self.all_sessions().iter().skip(1).any(|session| !session.is_lost())
    }

    /// The server that was connected to.
    pub fn home(&self) -> &Arc<Server> {
        &self.home
    }

    /// Whether this is the server that was connected to, by whatever name.
    pub fn is_home(&self, server: &Arc<Server>) -> bool {
        Arc::ptr_eq(server, &self.home) || server.is_over(&self.home_session)
    }

    /// Whether there were ever connections to other servers.
    #[inline]
    pub fn is_plural(&self) -> bool {
        self.is_plural.load(Ordering::Relaxed)
    }

    /// The same, as it changes.
    pub fn plural(&self) -> &AtomicBool {
        &self.is_plural
    }

    /// The server of this name, which is known from now on, and reached there.
    fn server(&self, name: &str, addresses: &[String], host: &str) -> Result<Arc<Server>> {
        let mut servers = lock(&self.servers);
        if let Some(known) = servers.get(name) {
            known.is_at(addresses, host);
            return Ok(known.clone());
        }
        if servers.len() >= KNOWN_MAX {
            servers.retain(|_, server| Arc::strong_count(server) > 1 || server.is_reached());
        }
        if servers.len() >= KNOWN_MAX {
            return Err(Error::new(ErrorKind::LimitExceeded, "call", "too many servers are known")
                .with("limit", KNOWN_MAX)
                .fix("connect again"));
        }
        let server = Arc::new(Server::new(name, addresses, host));
        servers.insert(server.name.clone(), server.clone());
        Ok(server)
    }

    /// Numbers for the calls of another connection.
    fn fresh_numbers(&self) -> u64 {
        (self.connections.made.fetch_add(1, Ordering::Relaxed) + 1) * NUMBERS + 1
    }

    /// There is a connection to another server, whose calls have these numbers.
    fn reached(&self, first: u64, session: &Arc<Session>) {
        let mut sessions = lock(&self.connections.to_others);
        sessions.retain(|(_, session)| session.strong_count() > 0);
        sessions.push((first / NUMBERS, Arc::downgrade(session)));
        drop(sessions);
        if self.is_closed() {
            session.close();
        }
        self.is_plural.store(true, Ordering::Relaxed);
        self.home_session.wake();
        if self.bell.is_watched() {
            self.watch(session);
        }
    }

    /// Closes all connections, and makes none again.
    pub fn close(&self) {
        if let Some(roll) = self.roll() {
            roll.finish(&self.home_session);
        }
        self.outcomes.flush(&self.home_session);
        self.connections.is_closed.store(true, Ordering::SeqCst);
        self.all_sessions().iter().for_each(|session| session.close());
    }

    /// Whether the program has closed it.
    pub fn is_closed(&self) -> bool {
        self.connections.is_closed.load(Ordering::SeqCst)
    }

    /// All connections there are.
    fn all_sessions(&self) -> Vec<Arc<Session>> {
        let others = lock(&self.connections.to_others);
        let others = others.iter().filter_map(|(_, session)| session.upgrade());
        std::iter::once(self.home_session.clone()).chain(others).collect()
    }

    /// The connection that a call goes over, by its number.
    pub fn session_of(&self, number: u64) -> Arc<Session> {
        if self.has_moved.load(Ordering::Relaxed)
            && let Some(session) = lock(&self.moved).get(&number)
        {
            return session.clone();
        }
        let own = number / NUMBERS;
        let found = if own == 0 {
            None
        } else {
            let sessions = lock(&self.connections.to_others);
            let found = sessions.iter().find(|(of, _)| *of == own);
            found.and_then(|(_, session)| session.upgrade())
        };
        found.unwrap_or_else(|| self.home_session.clone())
    }

    /// Objects with ids like this one's are at a server.
    pub fn holds(&self, first: ObjectId, server: &Arc<Server>) {
        let mut objects = lock(&self.objects);
        if objects.len() < KNOWN_MAX * KNOWN_MAX {
            objects.insert(prefix(first), server.clone());
        }
    }

    /// They are no more.
    pub fn holds_no_more(&self, first: ObjectId) {
        lock(&self.objects).remove(&prefix(first));
    }

    /// Where an object is that is not at home.
    pub fn holder(&self, object: ObjectId) -> Option<Arc<Server>> {
        lock(&self.objects).get(&prefix(object)).cloned()
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.outcomes.flush(&self.home_session);
    }
}

/// The part of an object's id that those have in common which were made together.
fn prefix(id: ObjectId) -> [u8; 12] {
    let mut prefix = [0; 12];
    prefix.copy_from_slice(&id.0[..12]);
    prefix
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This host, as its servers name it.
pub fn own_host() -> String {
    farcall_system::host_name::host_name()
}
