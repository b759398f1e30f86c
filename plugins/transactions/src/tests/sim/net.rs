//! Virtual time, and what is on its way: messages, answers of the store, faults.

use std::collections::{BTreeMap, BTreeSet};

use farcall_base::{CallId, Instant, Random, SeededRandom};
use farcall_services::store::{Change, Changed, Condition, Entry, LeaseId, Version};
use farcall_wire::Failure;

use super::faults::Fault;
use super::graphs::Value;
use super::server::{ConnId, ToNode, ToServer};
use crate::state::{LineNumber, QuestionNumber, Ticket};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1000 * MS;

/// A run of a node or of a server: its number, and which of its lives.
pub type Life = (usize, u64);

/// What happens at some time.
#[derive(Debug)]
pub enum Event {
    ToServer(ConnId, ToServer),
    ToNode(ConnId, ToNode),
    Dialled(Life, LineNumber, Result<usize, &'static str>),
    CallEnds(Life, CallId),
    /// What was pulled has come, or has not.
    Pulled(u64, Result<Value, Failure>),
    /// A server looks for what a pull asks it for.
    PullAsks(u64),
    /// The store is asked, and has answered.
    Ask(Life, Asked),
    Stored(Life, Stored),
    KeepLease(Life),
    Changed(Life, Changed),
    Tick(Life, u64),
    Fault(Fault),
    /// A node or a server comes again.
    NodeReturns(usize),
    ServerReturns(usize),
    Joined(usize, usize),
    /// The store is reached again, by all or by one node.
    StoreReturns(Option<usize>),
    StoreTicks,
    /// The client does something.
    Begins,
    Leaves(usize, u64, u64),
    Visits(u64),
    Answered(Life, QuestionNumber, farcall_base::Result<farcall_wire::Reply>),
    Came(u64, Result<Value, Failure>),
}

/// A question to the store.
#[derive(Debug)]
pub enum Asked {
    Write(Ticket, Vec<Condition>, Vec<Change>),
    Read(Ticket, String, Option<String>, usize),
    Lease,
}

/// An answer of the store.
#[derive(Debug)]
pub enum Stored {
    Written(Ticket, farcall_base::Result<Option<Version>>),
    Read(Ticket, farcall_base::Result<Vec<Entry>>),
    Lease(farcall_base::Result<LeaseId>),
}

/// A connection between a node and a server.
pub struct Link {
    pub node: Life,
    pub line: LineNumber,
    pub server: Life,
    /// Nothing passes any more.
    pub is_cut: bool,
    to_server: u64,
    to_node: u64,
}

/// All that is on its way.
pub struct Net {
    pub now: u64,
    agenda: BTreeMap<(u64, u64), Event>,
    last: u64,
    pub random: SeededRandom,
    pub links: BTreeMap<ConnId, Link>,
    /// Nodes and servers that do not reach each other.
    pub cut: BTreeSet<(usize, usize)>,
    /// Whether to print what happens, and the last of it.
    pub prints: bool,
}

impl Net {
    pub fn new(seed: u64, prints: bool) -> Net {
        Net {
            now: SECOND,
            agenda: BTreeMap::new(),
            last: 0,
            random: SeededRandom::new(seed),
            links: BTreeMap::new(),
            cut: BTreeSet::new(),
            prints,
        }
    }

    pub fn now(&self) -> Instant {
        Instant(self.now)
    }

    /// Tells people what happens, if they want to know.
    pub fn say(&self, text: impl FnOnce() -> String) {
        if self.prints {
            println!("{:>12.3} ms  {}", (self.now - SECOND) as f64 / MS as f64, text());
        }
    }

    pub fn at(&mut self, at: u64, event: Event) {
        self.last += 1;
        self.agenda.insert((at, self.last), event);
    }

    pub fn after(&mut self, time: u64, event: Event) {
        self.at(self.now + time, event);
    }

    /// A small time.
    pub fn latency(&mut self) -> u64 {
        MS / 20 + self.random.next() % (2 * MS)
    }

    /// Soon.
    pub fn soon(&mut self, event: Event) {
        let latency = self.latency();
        self.after(latency, event);
    }

    /// The next event that comes before this time.
    pub fn next(&mut self, until: u64) -> Option<Event> {
        if self.agenda.first_key_value().is_none_or(|((at, _), _)| *at > until) {
            self.now = until;
            return None;
        }
        let ((at, _), event) = self.agenda.pop_first()?;
        self.now = at;
        Some(event)
    }

    /// A new connection.
    pub fn connect(&mut self, node: Life, line: LineNumber, server: Life) -> ConnId {
        self.last += 1;
        let conn = self.last;
        let now = self.now;
        let link = Link { node, line, server, is_cut: false, to_server: now, to_node: now };
        self.links.insert(conn, link);
        conn
    }

    /// Sends something to a server, behind what was sent before.
    pub fn say_to_server(&mut self, conn: ConnId, said: ToServer) {
        let latency = self.latency();
        let Some(link) = self.links.get_mut(&conn) else { return };
        link.to_server = (link.to_server + 1).max(self.now + latency);
        let at = link.to_server;
        self.at(at, Event::ToServer(conn, said));
    }

    /// The same to a node.
    pub fn say_to_node(&mut self, conn: ConnId, said: ToNode) {
        let latency = self.latency();
        let Some(link) = self.links.get_mut(&conn) else { return };
        link.to_node = (link.to_node + 1).max(self.now + latency);
        let at = link.to_node;
        self.at(at, Event::ToNode(conn, said));
    }

    /// Connections of which this holds.
    pub fn links_of(&self, is_it: impl Fn(&Link) -> bool) -> Vec<ConnId> {
        self.links.iter().filter(|(_, link)| is_it(link)).map(|(conn, _)| *conn).collect()
    }
}
