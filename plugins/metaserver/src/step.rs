//! What a metaserver decides: what happened comes in with the time, what to do comes out. Pure.

mod links;
mod own;
mod questions;
mod relay;
mod reports;
mod servers;
mod union;

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{ConnectionId, Instant, Result};
use farcall_placement::{GrantId, Outcome};
use farcall_services::directory::ElsewhereRoutine;
use farcall_services::placement::{Asker, PlacedRoutines, Request};
use farcall_wire::{RelayToken, Reply, StateQuestion};

use crate::state::{LinkNumber, QuestionNumber, State, StreamNumber};

/// Time between two words on what others publish: servers that come and go cost no more.
const TELL_EVERY: Duration = Duration::from_millis(250);
/// Servers are looked at so often for those that are silent.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What the driver is to do.
#[derive(Debug)]
pub enum Action {
    /// Answer a client.
    Answer(QuestionNumber, Result<Reply>),
    /// Ask the own node how it is; tell [`State::handle_own`].
    AskOwn(StateQuestion),
    /// Reach a server; tell [`State::handle_open`] or [`State::handle_lost`].
    Dial(LinkNumber, String),
    /// Send a request to a dialled server; tell [`State::handle_reply`].
    Ask(LinkNumber, Box<farcall_wire::Request>),
    /// End a connection; it is known to be lost.
    Hang(LinkNumber),
    /// Dial back for these streams to a dialled server, and have the own node adopt the sockets.
    DialBack(String, Vec<RelayToken>),
    /// Tell a server that it is to dial back for these streams.
    TellStreams(QuestionNumber, Vec<StreamNumber>),
    /// Reach the server of a stream; tell [`State::handle_end`] or [`State::handle_not_reached`].
    Reach(StreamNumber, String),
    /// Tell a client that it can dial its end of a stream, there too.
    TellTicket(QuestionNumber, StreamNumber, Vec<String>),
    /// Pass on what comes from either end of a stream; tell [`State::handle_flowed`].
    Splice(StreamNumber),
    /// Forget the ends of a stream.
    EndStream(StreamNumber),
    /// Log that a server cannot be reached, by its address and why.
    Warn(String, String),
    /// Add these lines to what was learned.
    Learned(String),
    /// Tell the own node, and its directory, what others publish.
    Tell(Arc<PlacedRoutines>, Vec<ElsewhereRoutine>),
}

impl State {
    /// The next thing to do.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.out.pop_front()
    }

    /// A client asks.
    pub fn handle_asked(
        &mut self,
        now: Instant,
        number: QuestionNumber,
        asker: Asker,
        request: Request,
    ) {
        self.own.wanted = Some(now);
        match request {
            Request::Report(report) => {
                let answer = self.handle_report(now, &asker, *report);
                self.out.push_back(Action::Answer(number, answer.map(Reply::Reported)));
            }
            Request::Outcomes(outcomes) => {
                self.handle_outcomes(now, &asker, outcomes);
                self.out.push_back(Action::Answer(number, Ok(Reply::Done)));
            }
            Request::State(question, own) => {
                let answer = self.answer_state(now, &asker, &question, *own);
                self.out.push_back(Action::Answer(number, answer));
            }
            Request::Relay(server) => self.handle_relay(now, number, &asker, &server),
            Request::DialBack => self.handle_dial_back(number, &asker),
            request => self.ask_when_fresh(now, number, asker, request),
        }
        self.settle(now);
    }

    /// A connection of a client is closed.
    pub fn handle_closed(&mut self, now: Instant, connection: ConnectionId) {
        let first = (connection, GrantId(0));
        let last = (connection, GrantId(u64::MAX));
        let grants: Vec<_> = self.connections.owners.range(first..=last).copied().collect();
        for (connection, grant) in grants {
            self.connections.owners.remove(&(connection, grant));
            let site = Default::default();
            let nothing = Outcome { grant, site, member: None, sent: None, returned: None };
            self.placement.handle_outcome(&nothing);
        }
        self.connections.readers.remove(&connection);
        self.lose_reporter(now, connection);
        self.lose_streams(connection);
        self.settle(now);
    }

    /// When [`State::tick`] must be called at the latest.
    pub fn next_tick(&self) -> Option<Instant> {
        let look = self.is_awake().then(|| self.looked_at + LOOK_EVERY);
        let dialled = self.next_link().into_iter().chain(self.next_stream());
        self.next_own().into_iter().chain(self.telling.at).chain(look).chain(dialled).min()
    }

    /// Time went by.
    pub fn tick(&mut self, now: Instant) {
        if now.since(self.looked_at) >= LOOK_EVERY || self.looked_at == Instant::default() {
            self.looked_at = now;
            self.look_at_servers(now);
        }
        self.tick_links(now);
        self.tick_streams(now);
        self.tick_own(now);
        self.settle(now);
    }

    /// Tells what others publish, if that is another than it was, though not all the time.
    fn settle(&mut self, now: Instant) {
        self.out.extend(self.lessons.take().map(Action::Learned));
        let may_tell = self.telling.at.is_none_or(|at| at <= now);
        if !may_tell {
            return;
        }
        self.telling.at = None;
        if self.catalogue.changed && self.own.report.is_none() {
            // What this node publishes itself is told as its own.
            return self.ask_own(now);
        }
        if std::mem::take(&mut self.catalogue.changed) {
            let own = self.servers.get(&self.own.name).map(|own| &own.routines);
            let placed = self.catalogue.placed(own.unwrap_or(&Default::default()));
            let elsewhere = self.catalogue.elsewhere();
            let has_told = std::mem::replace(&mut self.telling.has_told, !elsewhere.is_empty());
            if has_told || self.telling.has_told {
                self.out.push_back(Action::Tell(Arc::new(placed), elsewhere));
                self.telling.at = Some(now + TELL_EVERY);
            }
        }
    }

    /// What was told last did not arrive.
    pub fn tell_again(&mut self, now: Instant) {
        self.catalogue.changed = true;
        self.telling.has_told = true;
        self.telling.at = Some(now + TELL_EVERY);
    }

    /// Whether anything is to be known: others, or somebody who asked lately.
    fn is_awake(&self) -> bool {
        !self.links.is_empty() || self.has_others || self.own.wanted.is_some()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
