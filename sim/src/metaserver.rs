//! The metaserver of a simulated machine: the shipped decisions, driven in virtual time as
//! `farcall_metaserver`'s driver drives them.

use std::collections::{BTreeMap, BTreeSet};

use farcall_base::{ChannelId, ConnectionId, Error, ErrorKind, Instant};
use farcall_link::line::{Line, LineEvent};
use farcall_link::stream::ByteStream;
use farcall_metaserver::Settings;
use farcall_metaserver::state::{LinkNumber, QuestionNumber, State};
use farcall_metaserver::step::Action;
use farcall_rpc_server::state::{Action as ServerAction, Listener};
use farcall_rpc_server::step::{Listing, NodeFacts};
use farcall_services::directory::Visible;
use farcall_wire::{PLACEMENT, RELAY};

use crate::node::Node;

/// A metaserver.
pub struct Metaserver {
    name: String,
    state: State,
    /// What its server publishes.
    listing: Listing,
    lines: BTreeMap<LinkNumber, Line>,
    /// Where answers go.
    questions: BTreeMap<QuestionNumber, (ConnectionId, ChannelId)>,
    last: u64,
    /// Connections that have asked something.
    askers: BTreeSet<ConnectionId>,
    /// Servers that it wants to reach.
    dials: Vec<(LinkNumber, String)>,
}

impl Metaserver {
    /// That of the server of a name, which joins others. `random` tells its grants from others'.
    pub fn new(name: &str, join: Vec<String>, listing: Listing, random: u32) -> Metaserver {
        let settings = Settings {
            join,
            name: name.to_owned(),
            addresses: vec![name.to_owned()],
            site: name.to_owned(),
            ..Settings::default()
        };
        Metaserver {
            name: name.to_owned(),
            state: State::new(settings, random),
            listing,
            lines: BTreeMap::new(),
            questions: BTreeMap::new(),
            last: 0,
            askers: BTreeSet::new(),
            dials: Vec::new(),
        }
    }

    /// When it has something to do.
    pub fn next_tick(&self) -> Option<Instant> {
        self.state.next_tick()
    }

    /// Servers that it wants to reach: it is told of each by [`Metaserver::reached`].
    pub fn take_dials(&mut self) -> Vec<(LinkNumber, String)> {
        std::mem::take(&mut self.dials)
    }

    /// A server was reached, or nobody listens there.
    pub fn reached(
        &mut self,
        now: Instant,
        number: LinkNumber,
        stream: Option<Box<dyn ByteStream>>,
    ) {
        match stream {
            Some(stream) => drop(self.lines.insert(number, Line::new(stream, &[PLACEMENT, RELAY]))),
            None => self.state.handle_lost(now, number, &nobody()),
        }
    }

    /// Its server passes a question on, or asks how it is.
    pub fn asked(&mut self, now: Instant, node: &mut Node, action: ServerAction) {
        match action {
            ServerAction::Place { connection, channel, asker, request } => {
                self.last += 1;
                let number = QuestionNumber(self.last);
                self.questions.insert(number, (connection, channel));
                self.askers.insert(connection);
                self.state.handle_asked(now, number, asker, request);
            }
            ServerAction::State { connection, channel, question } => {
                let facts = self.facts();
                let listing = Some(Ok(self.listing.clone()));
                node.server.tell_state(now, (connection, channel), &question, listing, facts);
            }
            _ => panic!("a metaserver is asked about placement alone"),
        }
    }

    fn facts(&self) -> NodeFacts {
        NodeFacts { addresses: vec![self.name.clone()], revision: 1, ..NodeFacts::default() }
    }

    /// Does what it can; whether anything moved.
    pub fn work(&mut self, now: Instant, node: &mut Node) -> bool {
        for closed in node.take_closed() {
            self.questions.retain(|_, (connection, _)| *connection != closed);
            if self.askers.remove(&closed) {
                self.state.handle_closed(now, closed);
            }
        }
        let mut moved = self.work_lines(now);
        if self.state.next_tick().is_some_and(|at| at <= now) {
            self.state.tick(now);
        }
        while let Some(action) = self.state.poll_action() {
            moved = true;
            self.act(now, node, action);
        }
        moved
    }

    fn work_lines(&mut self, now: Instant) -> bool {
        let mut moved = false;
        for number in self.lines.keys().copied().collect::<Vec<_>>() {
            let Some(line) = self.lines.get_mut(&number) else { continue };
            let outcome = line.work();
            for event in line.take_events() {
                moved = true;
                match event {
                    LineEvent::Open(features, _) => self.state.handle_open(now, number, &features),
                    LineEvent::Reply(_, reply) => self.state.handle_reply(now, number, reply),
                    LineEvent::TakenUp(_) | LineEvent::Ended(..) | LineEvent::Fetched(..) => {}
                }
            }
            if let Err(error) = outcome
                && self.lines.remove(&number).is_some()
            {
                moved = true;
                self.state.handle_lost(now, number, &error);
            }
        }
        moved
    }

    fn act(&mut self, now: Instant, node: &mut Node, action: Action) {
        match action {
            Action::Answer(number, answer) => {
                if let Some((connection, channel)) = self.questions.remove(&number) {
                    node.server.placed(connection, channel, answer);
                }
            }
            Action::AskOwn(question) => {
                let listener = Listener::OwnMetaserver;
                let listing = Some(&*self.listing);
                let facts = self.facts();
                let all = Visible::All;
                let report = node.server.report(now, listener, &all, &question, listing, facts);
                self.state.handle_own(now, Ok(report));
            }
            Action::Dial(number, address) => self.dials.push((number, address)),
            Action::Ask(number, request) => {
                let asked = self.lines.get_mut(&number).map(|line| line.ask(&request));
                if let Some(Err(error)) = asked {
                    self.lines.remove(&number);
                    self.state.handle_lost(now, number, &error);
                }
            }
            Action::Hang(number) => drop(self.lines.remove(&number)),
            Action::Tell(placed, _) => node.server.set_placed(placed),
            // Nobody keeps a log or a file.
            Action::Warn(..) | Action::Learned(_) => {}
            Action::DialBack(..)
            | Action::TellStreams(..)
            | Action::Reach(..)
            | Action::TellTicket(..)
            | Action::Splice(_)
            | Action::EndStream(_) => panic!("every server of this world is reached directly"),
        }
    }
}

/// Why a machine without a server is not reached.
pub fn nobody() -> Error {
    let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    Error::new(ErrorKind::Unreachable, "connect", "nobody listens").source(refused)
}
