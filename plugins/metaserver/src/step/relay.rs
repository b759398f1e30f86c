//! Relayed streams: who may have one, and how its ends find each other.

use std::time::Duration;

use farcall_base::{ConnectionId, Error, ErrorKind, Instant, Result};
use farcall_services::placement::Asker;
use farcall_wire::{DIAL_BACK_MAX, Reply};

use super::Action;
use super::reports::shown;
use crate::state::{
    KnownServer, QuestionNumber, RelayedStream, Source, State, StreamEnd, StreamNumber, StreamPhase,
};

const OPERATION: &str = "lead a client to a server";
/// Time in which each end of a stream has to be there.
const PATIENCE: Duration = Duration::from_secs(5);
/// Servers that wait for streams: each has a place among the answers that are due.
const WAITING_MAX: usize = 2048;

/// How the server's end of a stream comes.
enum Way {
    /// The server dials back.
    Back(ConnectionId),
    /// It is dialled there.
    To(String),
}

impl State {
    /// A client wants to be led to a server. It is answered when the server is there.
    pub(super) fn handle_relay(
        &mut self,
        now: Instant,
        number: QuestionNumber,
        asker: &Asker,
        server: &str,
    ) {
        let way = self.way_to(now, asker, server).and_then(|way| {
            self.check_room(asker)?;
            Ok(way)
        });
        let way = match way {
            Ok(way) => way,
            Err(error) => {
                let error = error.with("server", shown(server));
                return self.out.push_back(Action::Answer(number, Err(error)));
            }
        };
        let stream = self.relay.begin(RelayedStream {
            server: server.to_owned(),
            principal: asker.principal.clone(),
            asker: asker.connection,
            joined: match &way {
                Way::Back(connection) => Some(*connection),
                Way::To(_) => None,
            },
            phase: StreamPhase::AwaitsServer(now, number),
        });
        match way {
            Way::To(address) => self.out.push_back(Action::Reach(stream, address)),
            Way::Back(connection) => {
                self.relay.untold.entry(connection).or_default().push(stream);
                self.tell_streams(connection);
            }
        }
    }

    /// Users who may call nothing there learn nothing of the server.
    fn way_to(&self, now: Instant, asker: &Asker, server: &str) -> Result<Way> {
        let may_call = |known: &&KnownServer| {
            known.offers.iter().any(|offer| asker.visible.shows(offer.module()))
        };
        let known = self.servers.get(server).filter(may_call).ok_or_else(|| {
            let message = "no server of this name is known that publishes what you may call";
            Error::new(ErrorKind::NotFound, OPERATION, message)
                .fix("look at the servers: farcall servers")
        })?;
        let unreachable =
            |message: &'static str| Error::new(ErrorKind::Unreachable, OPERATION, message);
        if known.lost.is_some() || self.is_gone(now, known.id) {
            return Err(unreachable("its connection is lost, or it is silent"));
        }
        match known.source {
            Source::Own => {
                Err(unreachable("this is the server that answers").fix("connect to its address"))
            }
            Source::Reporter(connection) if self.relay.dialing_back.contains(&connection) => {
                Ok(Way::Back(connection))
            }
            Source::Reporter(_) => {
                Err(unreachable("the server joined over a Unix socket, or is of an older version")
                    .fix("have it join by tls://HOST:PORT, or call it from its host"))
            }
            Source::Link(_) if server.starts_with("tls://") => Ok(Way::To(server.to_owned())),
            Source::Link(_) => Err(unreachable("this member is known by its Unix socket")
                .fix("list it with tls://HOST:PORT, or call it from its host")),
        }
    }

    fn check_room(&self, asker: &Asker) -> Result<()> {
        let full = |key: &'static str, limit: usize| {
            Error::new(ErrorKind::LimitExceeded, OPERATION, "too many relayed streams are open")
                .with("limit", format!("{key} = {limit}"))
                .fix("close connections, or raise the limit in the options of metaserver")
                .retryable()
        };
        let all = self.settings.relayed_max;
        let own = self.settings.relayed_of_one_max;
        if self.relay.streams.len() >= all {
            return Err(full("relayed_max", all));
        }
        if self.relay.of(&asker.principal) >= own {
            return Err(full("relayed_of_one_max", own));
        }
        Ok(())
    }

    /// A server that joined waits for streams that it is to dial.
    pub(super) fn handle_dial_back(&mut self, number: QuestionNumber, asker: &Asker) {
        let connection = asker.connection;
        self.relay.dialing_back.insert(connection);
        let before = self.relay.waiting.insert(connection, number);
        // It asks one thing at a time; and those who find no place ask again.
        let surplus = (self.relay.waiting.len() > WAITING_MAX).then_some(number);
        if let Some(surplus) = before.or(surplus) {
            if surplus == number {
                self.relay.waiting.remove(&connection);
            }
            self.out.push_back(Action::Answer(surplus, Ok(Reply::DialBack(Vec::new()))));
        }
        self.tell_streams(connection);
    }

    /// Tells a server of its streams, if it waits and there are any.
    fn tell_streams(&mut self, connection: ConnectionId) {
        let Some(untold) = self.relay.untold.get_mut(&connection) else { return };
        let Some(number) = self.relay.waiting.remove(&connection) else { return };
        let told: Vec<StreamNumber> = untold.drain(..untold.len().min(DIAL_BACK_MAX)).collect();
        if untold.is_empty() {
            self.relay.untold.remove(&connection);
        }
        self.out.push_back(Action::TellStreams(number, told));
    }

    /// One end of a stream is there.
    pub fn handle_end(&mut self, now: Instant, number: StreamNumber, end: StreamEnd) {
        let Some(stream) = self.relay.streams.get_mut(&number) else { return };
        match (stream.phase, end) {
            (StreamPhase::AwaitsServer(_, question), StreamEnd::Server) => {
                stream.phase = StreamPhase::AwaitsClient(now);
                let own = self.own.report.iter().flat_map(|own| &own.addresses);
                let addresses = own.filter(|one| one.starts_with("tls://")).cloned().collect();
                self.out.push_back(Action::TellTicket(question, number, addresses));
            }
            (StreamPhase::AwaitsClient(_), StreamEnd::Client) => {
                stream.phase = StreamPhase::Flows;
                self.out.push_back(Action::Splice(number));
            }
            // Its token was good once.
            _ => {}
        }
    }

    /// The server of a stream cannot be reached.
    pub fn handle_not_reached(&mut self, number: StreamNumber, error: Error) {
        self.end_stream(number, error);
    }

    /// No more bytes go over a stream.
    pub fn handle_flowed(&mut self, number: StreamNumber) {
        self.relay.streams.remove(&number);
    }

    /// A stream ends before it flows; the client that waits for it is told why.
    fn end_stream(&mut self, number: StreamNumber, error: Error) {
        let Some(stream) = self.relay.streams.remove(&number) else { return };
        if let StreamPhase::AwaitsServer(_, question) = stream.phase {
            let error = error.with("server", shown(&stream.server));
            self.out.push_back(Action::Answer(question, Err(error)));
        }
        self.out.push_back(Action::EndStream(number));
    }

    /// A connection is closed: who asked over it, or was to dial back, is there no more. Streams
    /// that flow go on.
    pub(super) fn lose_streams(&mut self, connection: ConnectionId) {
        self.relay.dialing_back.remove(&connection);
        self.relay.untold.remove(&connection);
        if let Some(number) = self.relay.waiting.remove(&connection) {
            self.out.push_back(Action::Answer(number, Ok(Reply::DialBack(Vec::new()))));
        }
        let is_lost = |stream: &RelayedStream| match stream.phase {
            StreamPhase::AwaitsServer(..) => {
                stream.asker == connection || stream.joined == Some(connection)
            }
            StreamPhase::AwaitsClient(_) => stream.asker == connection,
            StreamPhase::Flows => false,
        };
        self.end_streams("its connection was lost", is_lost);
    }

    fn end_streams(&mut self, why: &'static str, is_over: impl Fn(&RelayedStream) -> bool) {
        let over = self.relay.streams.iter().filter(|(_, stream)| is_over(stream));
        let over: Vec<StreamNumber> = over.map(|(number, _)| *number).collect();
        for number in over {
            self.end_stream(number, Error::new(ErrorKind::Unreachable, OPERATION, why));
        }
    }

    /// When the first time limit of a stream ends.
    pub(super) fn next_stream(&self) -> Option<Instant> {
        let since = self.relay.streams.values().filter_map(|stream| match stream.phase {
            StreamPhase::AwaitsServer(since, _) | StreamPhase::AwaitsClient(since) => Some(since),
            StreamPhase::Flows => None,
        });
        since.min().map(|since| since + PATIENCE)
    }

    pub(super) fn tick_streams(&mut self, now: Instant) {
        if self.next_stream().is_none_or(|at| at > now) {
            return;
        }
        let is_late = |stream: &RelayedStream| match stream.phase {
            StreamPhase::AwaitsServer(since, _) | StreamPhase::AwaitsClient(since) => {
                now.since(since) >= PATIENCE
            }
            StreamPhase::Flows => false,
        };
        self.end_streams("it did not dial back in time", is_late);
        let streams = &self.relay.streams;
        self.relay.untold.retain(|_, untold| {
            untold.retain(|number| streams.contains_key(number));
            !untold.is_empty()
        });
    }
}
