//! The servers of a transaction: the one of this node, and others that its metaserver knows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use farcall_base::{Error, Instant};
use farcall_graph::{Place, ServerNumber};
use farcall_link::hosts::host_of;
use farcall_wire::{OWN_USER, PULL_ADDRESSES_MAX, TicketKey};

use super::kept::{KeptServer, KeptWay};
use super::{Pull, SecretKeys};

/// The server of this node.
pub const HERE: ServerNumber = ServerNumber(0);
/// Others that one transaction runs on.
const OTHERS_MAX: usize = 64;
/// Bytes a second, and seconds that a small message takes, where nobody has measured them.
const BYTES_A_SECOND: f64 = 1e9;
const LATENCY_S: f64 = 0.0005;
/// Bytes that a value of unknown size may have.
const UNKNOWN_BYTES_MAX: u64 = 64 << 20;
/// Time after which a server that was lost is tried again, which doubles each time.
const AGAIN_FIRST: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(30);
/// So long calls that nobody else takes wait for a server that was lost.
const RETURNS_WITHIN: Duration = Duration::from_secs(60);

/// How far a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is being reached, or asked; so many answers are missing.
    Coming(usize),
    /// Calls can run there.
    There,
    /// It is lost, or was not reached.
    Gone,
}

/// How a server is reached for a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// At one of these Unix sockets: it believes its own user in whose name the calls are.
    Socket(Vec<String>),
    /// At one of these ports, as the user whose node this is.
    AsUser(Vec<String>),
    /// Over a stream that it dials to the metaserver of this node, which it has joined: it believes
    /// the metaserver in whose name the calls are.
    Led(String),
}

/// A server.
#[derive(Clone, Debug)]
pub struct Server {
    /// What people call it.
    pub name: String,
    /// How it is reached.
    pub way: Way,
    /// Where others reach it.
    pub addresses: Vec<String>,
    /// Whether it pulls values from others, and they from it.
    pub pulls: bool,
    /// Processors that calls may have together.
    pub processors: u32,
    /// Bytes a second to it and from it, and seconds that a small message takes.
    pub ways: (f64, f64, f64),
    /// Predicted seconds of calls, by the index of their routine: what it has.
    pub offers: BTreeMap<u32, f64>,
    /// How far it is.
    pub standing: Standing,
    /// Why it was not reached last, for people.
    pub trouble: Option<String>,
    /// When it is tried again, and how long to wait after that.
    pub again: Option<(Instant, Duration)>,
    /// Since when it is lost.
    pub lost: Option<Instant>,
    /// Which run of it this is.
    pub run: Option<[u8; 16]>,
    /// How many connections there were to it before, by this transaction.
    pub connections: u64,
}

impl Server {
    /// A server that has not been reached.
    pub fn new(name: String, way: Way, processors: u32) -> Server {
        Server {
            name,
            way,
            addresses: Vec::new(),
            pulls: false,
            processors: processors.max(1),
            ways: (BYTES_A_SECOND, BYTES_A_SECOND, LATENCY_S),
            offers: BTreeMap::new(),
            standing: Standing::Coming(1),
            trouble: None,
            again: None,
            lost: None,
            run: None,
            connections: 0,
        }
    }
}

/// All of them, by number.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    all: Vec<Server>,
    /// The keys of tickets for what the transaction has.
    keys: Option<SecretKeys>,
    /// Pairs of which the second could not pull from the first.
    apart: BTreeSet<(ServerNumber, ServerNumber)>,
}

impl Servers {
    /// The one of this node, with these routines.
    pub fn here(processors: u32, routines: usize) -> Servers {
        let mut here = Server::new("here".to_owned(), Way::Socket(Vec::new()), processors);
        here.ways = (f64::INFINITY, f64::INFINITY, 0.0);
        here.standing = Standing::There;
        here.offers = (0..routines as u32).map(|routine| (routine, 0.0)).collect();
        Servers { all: vec![here], ..Servers::default() }
    }

    /// The same, whose values have tickets with these keys.
    pub fn with_keys(self, keys: SecretKeys) -> Servers {
        Servers { keys: Some(keys), ..self }
    }

    /// The key of tickets that a server is given with what is made there. The one of this node has one
    /// for all that its user has, also for what the client put there.
    pub fn key_at(&self, server: ServerNumber) -> Option<TicketKey> {
        let keys = self.keys.filter(|_| server != HERE && self.lets_pull(server));
        keys.map(|keys| keys.made)
    }

    fn lets_pull(&self, server: ServerNumber) -> bool {
        self.get(server).is_some_and(|known| known.pulls)
    }

    /// One server could not pull from another.
    pub fn keep_apart(&mut self, from: ServerNumber, to: ServerNumber) {
        self.apart.insert((from, to));
    }

    /// How one server pulls a value from another; `None` where it passes through this node.
    pub fn pull(&self, from: ServerNumber, to: ServerNumber, bytes: u64) -> Option<Pull> {
        if !self.lets_pull(from) || !self.lets_pull(to) || self.apart.contains(&(from, to)) {
            return None;
        }
        let keys = self.keys?;
        let key = if from == HERE { keys.here } else { keys.made };
        let source = self.get(from)?;
        let receiver = self.get(to)?;
        let of = |server: &Server, scheme: &str| -> Vec<String> {
            let all = server.addresses.iter().filter(|address| address.starts_with(scheme));
            all.take(PULL_ADDRESSES_MAX).cloned().collect()
        };
        let bytes_max = if bytes == 0 { UNKNOWN_BYTES_MAX } else { bytes };
        let is_on_host = |server: &Server| matches!(server.way, Way::Socket(_));
        let sockets = of(source, "unix:");
        if is_on_host(source) && is_on_host(receiver) && !sockets.is_empty() {
            let receiver = OWN_USER.to_owned();
            return Some(Pull { key, receiver, addresses: sockets, bytes_max });
        }
        let ports = of(source, "tls://");
        // The name by which it joined is one that its certificate proves.
        let named = [receiver.name.clone()].into_iter().chain(of(receiver, "tls://"));
        let name = named.into_iter().find(|name| name.starts_with("tls://"))?;
        let receiver = host_of(&name).to_owned();
        (!ports.is_empty()).then_some(Pull { key, receiver, addresses: ports, bytes_max })
    }

    /// As they are written down.
    pub fn kept(&self) -> Vec<KeptServer> {
        let kept = |server: &Server| KeptServer {
            name: server.name.clone(),
            addresses: server.addresses.clone(),
            processors: server.processors,
            run: server.run,
            way: match &server.way {
                Way::Socket(_) => KeptWay::Socket,
                Way::AsUser(_) => KeptWay::AsUser,
                Way::Led(_) => KeptWay::Led,
            },
        };
        self.all.iter().map(kept).collect()
    }

    /// Those of a transaction that is taken up: the one of this node is a new one, and the one that
    /// was the first is the last.
    pub fn taken_up(processors: u32, routines: usize, kept: Vec<KeptServer>) -> Servers {
        let mut all = Servers::here(processors, routines);
        let mut others = kept.into_iter();
        let first = others.next();
        for kept in others.chain(first) {
            let way = kept.way();
            let mut server = Server::new(kept.name, way, kept.processors);
            server.addresses = kept.addresses;
            server.offers = (0..routines as u32).map(|routine| (routine, 0.0)).collect();
            server.run = kept.run;
            server.connections = 1;
            all.all.push(server);
        }
        if let Some(here) = all.get_mut(HERE) {
            here.connections = 1;
        }
        all
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// One of them.
    pub fn get(&self, number: ServerNumber) -> Option<&Server> {
        self.all.get(number.0 as usize)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, number: ServerNumber) -> Option<&mut Server> {
        self.all.get_mut(number.0 as usize)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = (ServerNumber, &Server)> {
        (0..).map(ServerNumber).zip(&self.all)
    }

    /// Whether a server has a newer number.
    pub fn is_reached_again(&self, number: ServerNumber) -> bool {
        let Some(known) = self.get(number) else { return false };
        let mut newer = self.all().skip(number.0 as usize + 1);
        newer.any(|(_, other)| other.name == known.name)
    }

    /// Adds one; `None` where there are as many as there may be.
    pub fn add(&mut self, server: Server) -> Option<ServerNumber> {
        if self.all.len() > OTHERS_MAX {
            return None;
        }
        self.all.push(server);
        Some(ServerNumber(self.all.len() as u32 - 1))
    }

    /// The one of this name.
    pub fn named(&self, name: &str) -> Option<ServerNumber> {
        self.all().find(|(_, server)| server.name == name).map(|(number, _)| number)
    }

    /// A server is lost, or was not reached: it is tried again in a while.
    pub fn lost(&mut self, now: Instant, number: ServerNumber, why: &Error) {
        let Some(server) = self.get_mut(number) else { return };
        server.standing = Standing::Gone;
        server.lost.get_or_insert(now);
        server.trouble = Some(format!("{}: {}", server.name, why.message()));
        if number != HERE {
            let wait = server.again.map_or(AGAIN_FIRST, |(_, wait)| wait);
            server.again = Some((now + wait, (wait * 2).min(AGAIN_MAX)));
        }
    }

    /// Whether a server may still come that has a routine.
    pub fn may_come(&self, now: Instant, routine: u32) -> bool {
        let is_awaited = |server: &Server| match server.standing {
            Standing::There => false,
            Standing::Gone if server.again.is_none() => false,
            _ => server.lost.is_none_or(|lost| now < lost + RETURNS_WITHIN),
        };
        let mut able = self.all.iter().filter(|server| server.offers.contains_key(&routine));
        able.any(is_awaited)
    }

    /// When the next lost server is tried again.
    pub fn next_again(&self) -> Option<Instant> {
        let gone = self.all.iter().filter(|server| server.standing == Standing::Gone);
        gone.filter_map(|server| server.again.map(|(at, _)| at)).min()
    }

    /// Those that are tried again now, each under a new number, and how they are reached.
    pub fn take_again(&mut self, now: Instant) -> Vec<(ServerNumber, Way)> {
        let is_due = |server: &Server| {
            server.standing == Standing::Gone && server.again.is_some_and(|(at, _)| at <= now)
        };
        let mut again = Vec::new();
        for at in 0..self.all.len() {
            if !is_due(&self.all[at]) {
                continue;
            }
            // It may have been restarted: late news of it are not to be taken for its own.
            let server = Server {
                standing: Standing::Coming(1),
                run: None,
                connections: self.all[at].connections + 1,
                ..self.all[at].clone()
            };
            self.all[at].again = None;
            let way = server.way.clone();
            self.all.push(server);
            again.push((ServerNumber(self.all.len() as u32 - 1), way));
        }
        again
    }

    /// Seconds that so many bytes take from one place to a server, by way of this node.
    pub fn move_s(&self, from: Place, to: ServerNumber, bytes: u64) -> f64 {
        let bytes = bytes as f64;
        let out = match from {
            Place::Server(from) => self.get(from).map_or(0.0, |server| {
                let (_, returns, latency) = server.ways;
                latency + bytes / returns
            }),
            Place::Client => 0.0,
        };
        let into = self.get(to).map_or(0.0, |server| {
            let (sends, _, latency) = server.ways;
            latency + bytes / sends
        });
        out + into
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn servers() -> Servers {
        let keys = SecretKeys { made: TicketKey([1; 32]), here: TicketKey([2; 32]) };
        let mut servers = Servers::here(1, 0).with_keys(keys);
        let led = |name: &str| Way::Led(name.to_owned());
        let socket = Way::Socket(vec!["unix:/b".to_owned()]);
        let mut add = |name: &str, way: Way, addresses: &[&str]| {
            let mut server = Server::new(name.to_owned(), way, 1);
            server.addresses = addresses.iter().map(|one| (*one).to_owned()).collect();
            server.pulls = true;
            servers.add(server).unwrap();
        };
        add("unix:/b", socket.clone(), &["unix:/b"]);
        add("tls://c.example:7", led("tls://c.example:7"), &["tls://c.example:7"]);
        add("tls://d.example", led("tls://d.example"), &[]);
        let here = servers.get_mut(HERE).unwrap();
        here.pulls = true;
        here.addresses = vec!["tls://a.example:7".to_owned(), "unix:/a".to_owned()];
        servers
    }

    fn way(servers: &Servers, from: u32, to: u32) -> Option<(String, Vec<String>)> {
        let pull = servers.pull(ServerNumber(from), ServerNumber(to), 8)?;
        Some((pull.receiver, pull.addresses))
    }

    #[test]
    fn values_are_pulled_where_servers_reach_each_other() {
        let mut servers = servers();
        let some =
            |receiver: &str, address: &str| Some((receiver.to_owned(), vec![address.to_owned()]));
        assert_eq!(way(&servers, 0, 1), some(OWN_USER, "unix:/a"));
        assert_eq!(way(&servers, 1, 0), some(OWN_USER, "unix:/b"));
        assert_eq!(way(&servers, 0, 2), some("c.example", "tls://a.example:7"));
        assert_eq!(way(&servers, 2, 3), some("d.example", "tls://c.example:7"));
        // It listens nowhere, and has no certificate by which another one would know it.
        assert_eq!(way(&servers, 3, 2), None);
        assert_eq!(way(&servers, 2, 1), None);
        servers.keep_apart(ServerNumber(2), ServerNumber(3));
        assert_eq!(way(&servers, 2, 3), None);
        servers.get_mut(HERE).unwrap().pulls = false;
        assert_eq!((way(&servers, 0, 1), way(&servers, 1, 0)), (None, None));
    }

    /// The key for all that a user has here is told to no server.
    #[test]
    fn what_lies_here_has_a_key_of_its_own() {
        let servers = servers();
        let key = |from, to| servers.pull(ServerNumber(from), ServerNumber(to), 8).unwrap().key;
        assert_eq!((key(0, 1), key(1, 0)), (TicketKey([2; 32]), TicketKey([1; 32])));
        assert_eq!(servers.key_at(HERE), None);
        assert_eq!(servers.key_at(ServerNumber(1)), Some(TicketKey([1; 32])));
    }

    /// One that was lost and reached again is dialled once by who takes the transaction up.
    #[test]
    fn a_server_with_two_numbers_counts_under_the_newer_one() {
        let mut servers = servers();
        let error = Error::new(farcall_base::ErrorKind::ConnectionLost, "test", "it is lost");
        servers.lost(Instant(1), ServerNumber(1), &error);
        let again = servers.take_again(Instant(10_000_000_000));
        assert_eq!(again.len(), 1);
        let kept = servers.kept();
        let taken_up = Servers::taken_up(1, 0, kept);
        let old = |number| taken_up.is_reached_again(ServerNumber(number));
        assert_eq!([1, 2, 3, 4].map(old), [true, false, false, false]);
    }

    #[test]
    fn a_value_of_unknown_size_has_a_bound() {
        let servers = servers();
        let bound = |bytes| servers.pull(HERE, ServerNumber(1), bytes).unwrap().bytes_max;
        assert_eq!((bound(0), bound(9)), (UNKNOWN_BYTES_MAX, 9));
    }
}
