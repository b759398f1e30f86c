//! The servers of a transaction: the one of this node, and others that its metaserver knows.

use std::collections::BTreeMap;
use std::time::Duration;

use farcall_base::Instant;
use farcall_graph::{Place, ServerNumber};

/// The server of this node.
pub const HERE: ServerNumber = ServerNumber(0);
/// Others that one transaction runs on.
const OTHERS_MAX: usize = 64;
/// Bytes a second, and seconds that a small message takes, where nobody has measured them.
const BYTES_A_SECOND: f64 = 1e9;
const LATENCY_S: f64 = 0.0005;
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

/// A server.
#[derive(Clone, Debug)]
pub struct Server {
    /// What people call it.
    pub name: String,
    /// Where it is reached.
    pub addresses: Vec<String>,
    /// Processors that calls may have together.
    pub processors: u32,
    /// Bytes a second to it and from it, and seconds that a small message takes.
    pub ways: (f64, f64, f64),
    /// Predicted seconds of calls, by the index of their routine: what it has.
    pub offers: BTreeMap<u32, f64>,
    /// How far it is.
    pub standing: Standing,
    /// When it is tried again, and how long to wait after that.
    pub again: Option<(Instant, Duration)>,
    /// Since when it is lost.
    pub lost: Option<Instant>,
}

impl Server {
    /// A server that has not been reached.
    pub fn new(name: String, addresses: Vec<String>, processors: u32) -> Server {
        Server {
            name,
            addresses,
            processors: processors.max(1),
            ways: (BYTES_A_SECOND, BYTES_A_SECOND, LATENCY_S),
            offers: BTreeMap::new(),
            standing: Standing::Coming(1),
            again: None,
            lost: None,
        }
    }
}

/// All of them, by number.
#[derive(Clone, Debug, Default)]
pub struct Servers(Vec<Server>);

impl Servers {
    /// The one of this node, with these routines.
    pub fn here(processors: u32, routines: usize) -> Servers {
        let mut here = Server::new("here".to_owned(), Vec::new(), processors);
        here.ways = (f64::INFINITY, f64::INFINITY, 0.0);
        here.standing = Standing::There;
        here.offers = (0..routines as u32).map(|routine| (routine, 0.0)).collect();
        Servers(vec![here])
    }

    /// One of them.
    pub fn get(&self, number: ServerNumber) -> Option<&Server> {
        self.0.get(number.0 as usize)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, number: ServerNumber) -> Option<&mut Server> {
        self.0.get_mut(number.0 as usize)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = (ServerNumber, &Server)> {
        (0..).map(ServerNumber).zip(&self.0)
    }

    /// Adds one; `None` where there are as many as there may be.
    pub fn add(&mut self, server: Server) -> Option<ServerNumber> {
        if self.0.len() > OTHERS_MAX {
            return None;
        }
        self.0.push(server);
        Some(ServerNumber(self.0.len() as u32 - 1))
    }

    /// The one of this name.
    pub fn named(&self, name: &str) -> Option<ServerNumber> {
        self.all().find(|(_, server)| server.name == name).map(|(number, _)| number)
    }

    /// A server is lost, or was not reached: it is tried again in a while.
    pub fn lost(&mut self, now: Instant, number: ServerNumber) {
        let Some(server) = self.get_mut(number) else { return };
        server.standing = Standing::Gone;
        server.lost.get_or_insert(now);
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
        let mut able = self.0.iter().filter(|server| server.offers.contains_key(&routine));
        able.any(is_awaited)
    }

    /// When the next lost server is tried again.
    pub fn next_again(&self) -> Option<Instant> {
        let gone = self.0.iter().filter(|server| server.standing == Standing::Gone);
        gone.filter_map(|server| server.again.map(|(at, _)| at)).min()
    }

    /// Those that are tried again now, each under a new number, and where they are reached.
    pub fn take_again(&mut self, now: Instant) -> Vec<(ServerNumber, Vec<String>)> {
        let is_due = |server: &Server| {
            server.standing == Standing::Gone && server.again.is_some_and(|(at, _)| at <= now)
        };
        let mut again = Vec::new();
        for at in 0..self.0.len() {
            if !is_due(&self.0[at]) {
                continue;
            }
            // It may have been restarted: late news of it are not to be taken for its own.
            let server = Server { standing: Standing::Coming(1), ..self.0[at].clone() };
            self.0[at].again = None;
            let addresses = server.addresses.clone();
            self.0.push(server);
            again.push((ServerNumber(self.0.len() as u32 - 1), addresses));
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
