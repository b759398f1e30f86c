//! One server that calls may go to: where it is, and its connection, which is made when it is first
//! wanted.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_wire::Failure;

use super::{Dialing, View, lock, own_host, relay};
use crate::address::Address;
use crate::dial::{self, ConnectOptions, Reached};
use crate::listed::Way;
use crate::session::{Session, closed_here};

/// Time for which a server that could not be reached is not dialed again.
const PAUSE: Duration = Duration::from_secs(1);
/// Time for reaching it and for its greeting, at each address: a call can go elsewhere.
const REACH_MAX: Duration = Duration::from_secs(10);

/// A server.
pub struct Server {
    /// What it is called.
    pub name: Arc<str>,
    /// Calls of this client that it has.
    pub under_way: AtomicUsize,
    place: Mutex<Place>,
    changed: Condvar,
    /// How it is reached, where the user has listed it.
    listed: Option<Box<Way>>,
}

struct Place {
    /// The best one first.
    addresses: Vec<String>,
    host: String,
    line: Line,
}

/// How far it is.
enum Line {
    /// Nobody has dialed it.
    Away,
    /// A thread does.
    Dialing,
    Up(Arc<Session>),
    /// It could not be reached then.
    Failed(Failure, Instant),
}

impl Server {
    /// The one that was connected to.
    pub fn home(name: &str, session: Arc<Session>) -> Server {
        Server { place: Mutex::new(Place { line: Line::Up(session), ..nowhere() }), ..named(name) }
    }

    /// One that is reached there.
    pub fn new(name: &str, addresses: &[String], host: &str) -> Server {
        let server = named(name);
        server.is_at(addresses, host);
        server
    }

    /// One that the user has listed.
    pub fn listed(name: &str, way: Way) -> Server {
        Server { listed: Some(Box::new(way)), ..named(name) }
    }

    /// How it is reached, where the user has listed it.
    pub fn way(&self) -> Option<&Way> {
        self.listed.as_deref()
    }

    /// Where it is reached from now on.
    pub fn is_at(&self, addresses: &[String], host: &str) {
        let mut place = lock(&self.place);
        place.addresses = addresses.to_vec();
        host.clone_into(&mut place.host);
    }

    /// Where it is reached.
    pub fn addresses(&self) -> Vec<String> {
        lock(&self.place).addresses.clone()
    }

    /// Whether this is its name, or one of its addresses.
    pub fn is_called(&self, name: &str) -> bool {
        let is_it = |address: &String| is_same_address(address, name);
        is_same_address(&self.name, name) || lock(&self.place).addresses.iter().any(is_it)
    }

    /// Whether it has a connection.
    pub fn is_reached(&self) -> bool {
        matches!(lock(&self.place).line, Line::Up(_))
    }

    /// Whether it is reached over this connection.
    pub fn is_over(&self, session: &Arc<Session>) -> bool {
        matches!(&lock(&self.place).line, Line::Up(own) if Arc::ptr_eq(own, session))
    }

    /// Whether it has no call of this client.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) == 0
    }

    /// Its connection, if there is one that is neither lost nor being made again.
    pub fn connection(&self) -> Option<Arc<Session>> {
        match &lock(&self.place).line {
            Line::Up(session) if session.stands() => Some(session.clone()),
            _ => None,
        }
    }

    /// Whether its connection is being made again: calls go elsewhere as long as they can.
    pub fn is_cut_off(&self) -> bool {
        match &lock(&self.place).line {
            Line::Up(session) => !session.stands() && !session.is_lost(),
            _ => false,
        }
    }

    /// Why it could not be reached a moment ago.
    pub fn trouble(&self) -> Option<Error> {
        match &lock(&self.place).line {
            Line::Failed(failure, when) if when.elapsed() < PAUSE => {
                Some(Error::from(failure.clone()))
            }
            _ => None,
        }
    }

    /// Has a thread dial it, unless it has a connection or one does.
    pub fn dial(self: &Arc<Server>, view: &Arc<View>) {
        let mut place = lock(&self.place);
        match &place.line {
            Line::Up(session) if !session.is_lost() => return,
            Line::Failed(_, when) if when.elapsed() < PAUSE => return,
            Line::Dialing => return,
            Line::Away | Line::Up(_) | Line::Failed(..) => {}
        }
        place.line = Line::Dialing;
        let addresses = place.addresses.clone();
        let host = place.host.clone();
        drop(place);
        let server = self.clone();
        let options = view.dialing.options.clone();
        let home = view.dialing.home.clone();
        let first = view.fresh_numbers();
        let owner = Arc::downgrade(view);
        let dial = move || {
            let dialing = Dial { addresses: &addresses, host: &host, home: home.as_ref() };
            let made = match server.way() {
                Some(way) => way.go(&server.name, first),
                None => dialing
                    .first(&options, first)
                    .or_else(|error| {
                        server.be_led(&owner, &dialing, &options, first).unwrap_or(Err(error))
                    })
                    .map(|(_, session)| session)
                    .map_err(|error| error.with("server", &server.name)),
            };
            if let (Ok(session), Some(view)) = (&made, owner.upgrade()) {
                view.reached(first, session);
            }
            server.dialed(made);
        };
        let thread = std::thread::Builder::new().name("farcall-dial".to_owned());
        if let Err(error) = thread.spawn(dial) {
            self.dialed(Err(Error::system("start a thread", error)));
        }
    }

    /// A connection of its own, and how the servers that it names are dialed.
    ///
    /// # Errors
    /// Why it cannot be reached.
    pub fn dial_apart(&self, view: &Arc<View>) -> Result<(Arc<Session>, Dialing)> {
        if let Some(way) = self.way() {
            let session = way.go(&self.name, 1)?;
            let options = view.dialing.options.clone();
            return Ok((session, Dialing { options, home: None, roll: None }));
        }
        let place = lock(&self.place);
        let addresses = place.addresses.clone();
        let host = place.host.clone();
        drop(place);
        let dialing = &view.dialing;
        let dial = Dial { addresses: &addresses, host: &host, home: dialing.home.as_ref() };
        let made = dial.first(&dialing.options, 1).or_else(|error| {
            let led = self.be_led(&Arc::downgrade(view), &dial, &dialing.options, 1);
            led.unwrap_or(Err(error))
        });
        let (address, session) = made.map_err(|error| error.with("server", &self.name))?;
        let options = dial.options(&address, &dialing.options);
        Ok((session, Dialing { options, home: Some(address), roll: None }))
    }

    fn dialed(&self, made: Result<Arc<Session>>) {
        let line = match made {
            Ok(session) => Line::Up(session),
            Err(error) => Line::Failed((&error).into(), Instant::now()),
        };
        lock(&self.place).line = line;
        self.changed.notify_all();
    }

    /// Its connection, made if it has no connection; `None` if it has not by then.
    ///
    /// # Errors
    /// Why it cannot be reached.
    pub fn session(
        self: &Arc<Server>,
        view: &Arc<View>,
        until: Option<Instant>,
    ) -> Result<Option<Arc<Session>>> {
        if view.is_closed() {
            return Err(closed_here());
        }
        self.dial(view);
        let mut place = lock(&self.place);
        loop {
            match &place.line {
                Line::Up(session) => return Ok(Some(session.clone())),
                Line::Failed(failure, _) => return Err(failure.clone().into()),
                Line::Away | Line::Dialing => {}
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            place = match left {
                Some(Duration::ZERO) => return Ok(None),
                Some(left) => {
                    let waited = self.changed.wait_timeout(place, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(place).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// A call more, or one less, is there.
    pub fn count(&self, view: &View, is_more: bool) {
        if is_more {
            self.listed.iter().for_each(|way| way.calls());
            self.under_way.fetch_add(1, Ordering::Relaxed);
            view.under_way.fetch_add(1, Ordering::Relaxed);
        } else {
            self.under_way.fetch_sub(1, Ordering::Relaxed);
            view.under_way.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn named(name: &str) -> Server {
    Server {
        name: name.into(),
        under_way: AtomicUsize::new(0),
        place: Mutex::new(nowhere()),
        changed: Condvar::new(),
        listed: None,
    }
}

fn nowhere() -> Place {
    Place { addresses: Vec::new(), host: String::new(), line: Line::Away }
}

impl Server {
    /// Reaches it through a metaserver; nothing where none can lead there.
    fn be_led(
        &self,
        view: &Weak<View>,
        dialing: &Dial<'_>,
        options: &ConnectOptions,
        first: u64,
    ) -> Option<Result<(Address, Arc<Session>)>> {
        let host = relay::host_of(&self.name)?;
        view.upgrade().filter(|view| view.has_relays())?;
        // What shows who we are is shown over TLS, as to any server that is reached so.
        let shown = Address::Tls { host: host.clone(), port: 1 };
        let options = dialing.options(&shown, options);
        let view = view.clone();
        let name = self.name.clone();
        let lead = move |time| relay::lead(&view, &name, time);
        let begun = Instant::now();
        let compression = match dial::given_compression() {
            Ok(compression) => compression,
            Err(error) => return Some(Err(error)),
        };
        let reached = dial::reach_through((&host, &self.name), &options, compression, lead);
        let greeted = |reached| greet(reached, &options, begun.elapsed(), first);
        Some(reached.and_then(greeted).map(|session| (shown, session)))
    }
}

/// What is dialed.
struct Dial<'a> {
    addresses: &'a [String],
    host: &'a str,
    home: Option<&'a Address>,
}

impl Dial<'_> {
    /// The first address that answers; the calls of the connection have numbers from `first` on.
    fn first(&self, options: &ConnectOptions, first: u64) -> Result<(Address, Arc<Session>)> {
        let mut trouble = None;
        for address in self.addresses.iter().filter_map(|text| self.usable(text)) {
            match dial_one(&address, &self.options(&address, options), first) {
                Ok(session) => return Ok((address, session)),
                Err(error) => trouble = trouble.or(Some(error)),
            }
        }
        Err(trouble.unwrap_or_else(|| {
            let message = "this server has no address that can be reached from here";
            Error::new(ErrorKind::Unreachable, "connect", message)
                .fix("start it with --listen tls://HOST:PORT, or call from its host")
        }))
    }

    /// A socket is on its own host; and nobody else may have us run `ssh`.
    fn usable(&self, text: &str) -> Option<Address> {
        match text.parse().ok()? {
            Address::Unix(_) if self.host != own_host() => None,
            Address::Ssh(_) => None,
            address => Some(address),
        }
    }

    /// What shows who we are is for servers that are reached in the same way.
    fn options(&self, address: &Address, options: &ConnectOptions) -> ConnectOptions {
        let is_alike = self
            .home
            .is_some_and(|home| std::mem::discriminant(home) == std::mem::discriminant(address));
        ConnectOptions {
            secret: options.secret.clone().filter(|_| is_alike),
            far: Default::default(),
            timeout: options.timeout.min(REACH_MAX),
            ..options.clone()
        }
    }
}

/// Connects to one server; the calls of the connection have numbers from `first` on.
pub fn dial_one(address: &Address, options: &ConnectOptions, first: u64) -> Result<Arc<Session>> {
    let begun = Instant::now();
    let compression = dial::given_compression()?;
    let reached = dial::reach(address, options, compression)?;
    // What ssh asks the user for is not the server's time.
    let waited = if matches!(address, Address::Ssh(_)) { Duration::ZERO } else { begun.elapsed() };
    greet(reached, options, waited, first)
}

fn greet(
    reached: Reached,
    options: &ConnectOptions,
    waited: Duration,
    first: u64,
) -> Result<Arc<Session>> {
    let compression = dial::given_compression()?;
    let left = options.greeting().saturating_sub(waited);
    let patience =
        dial::Patience { greeting: left, answers: options.timeout, until: options.until };
    let session = dial::greet(reached, patience, compression, first)?.0;
    if let Some(heartbeat) = options.heartbeat {
        session.set_heartbeat(heartbeat);
    }
    Ok(session)
}

/// Whether two addresses are one: as they are written, or the path of one socket in two ways.
pub fn is_same_address(one: &str, other: &str) -> bool {
    let path = |address: &str| std::path::absolute(address.strip_prefix("unix:")?).ok();
    one == other || path(one).is_some_and(|one| path(other) == Some(one))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_has_several_names() {
        let here = std::env::current_dir().unwrap();
        let full = format!("unix:{}/a.sock", here.display());
        for other in ["unix:a.sock", "unix:./a.sock", &full] {
            assert!(is_same_address(&full, other) && is_same_address(other, &full), "{other}");
        }
        for other in ["unix:b.sock", "a.sock", "unix:", "tcp:a.sock"] {
            assert!(!is_same_address(&full, other), "{other}");
        }
    }
}
