//! The server's decisions: what happened comes in, what to send and do comes out. Pure.
//!
//! [`Server`] owns a state machine per connection and joins them: a call that a client opened becomes a call that we open
//! on an executable's connection, its memory named and not moved.

mod calls;
mod data;
mod executables;
mod front;
mod kept;
mod objects;
mod surroundings;

use farcall_base::{ConnectionId, Error, ErrorKind, ExecutableId, Instant, Result};
use farcall_call::{Event, Transmit};
use farcall_wire::message::{ADMINISTRATION, ByteOrder};
use farcall_wire::{
    CALLBACKS, DATA, ENDED_CALLS, FrameHeader, Hello, OBJECTS, PLACEMENT, PUBLISHED_FILES,
    PUBLISHED_PIECES, PULLS, RELAY, RESOURCES, Role, STATUS, TRANSACTIONS, URLS,
};

use crate::access::Rights;
use crate::state::{Action, MemorySource, PeerKind, Resuming, State};

pub use calls::{SlotMemory, result_memory};
pub use front::{Listing, NodeFacts, Union};
pub use kept::{ReadBack, ReadMemory};
pub use kept::{Restored, Was};
pub use surroundings::Surroundings;

/// The server.
pub struct Server {
    pub(crate) state: State,
}

impl Server {
    /// A server with this state.
    pub fn new(state: State) -> Server {
        Server { state }
    }

    /// The state, for people and metrics.
    pub fn state(&self) -> &State {
        &self.state
    }

    fn hello(&self, compression: Option<&str>) -> Hello {
        let objects = (self.state.limits.objects_max > 0).then_some(OBJECTS);
        let features = [
            ADMINISTRATION,
            PUBLISHED_FILES,
            PUBLISHED_PIECES,
            ENDED_CALLS,
            STATUS,
            URLS,
            CALLBACKS,
            RESOURCES,
            PLACEMENT,
            RELAY,
            DATA,
        ]
        .into_iter()
        .chain(objects);
        let is_served = self.state.front.transacting.is_served();
        let transactions = is_served.then_some([TRANSACTIONS, PULLS]).into_iter().flatten();
        let features = features.chain(compression).chain(transactions);
        Hello {
            role: Role::Server,
            byte_order: ByteOrder::NATIVE,
            product: self.state.front.product().to_owned(),
            features: features.map(str::to_owned).collect(),
            limits: self.state.limits.hello,
            host: self.state.front.host().to_owned(),
            principal: None,
            token: None,
            attributes: Vec::new(),
        }
    }

    /// What whoever is at the other end of a connection may do; `None` for one that is gone.
    pub fn rights(&self, connection: ConnectionId) -> Option<&Rights> {
        self.state.front.peer(connection).map(|peer| &peer.caller.rights)
    }

    /// Connections that may have something to send or are to be closed.
    pub fn take_touched(&mut self) -> impl Iterator<Item = ConnectionId> + use<> {
        self.state.out.take_touched().into_iter()
    }

    /// The next thing to do.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.state.out.poll_action()
    }

    /// Whether both ends of a connection named a feature.
    pub fn has_feature(&self, connection: ConnectionId, name: &str) -> bool {
        self.state.front.peer(connection).is_some_and(|peer| peer.connection.has_feature(name))
    }

    /// The longest data frames to be made on a connection from now on.
    pub fn limit_frames(&mut self, connection: ConnectionId, bytes: u32) {
        if let Some(peer) = self.state.front.peer_mut(connection) {
            peer.connection.limit_frames(bytes);
        }
    }

    /// Takes the body of a frame back that was copied to where it leaves from.
    pub fn reuse(&mut self, connection: ConnectionId, body: Vec<u8>) {
        if let Some(peer) = self.state.front.peer_mut(connection) {
            peer.connection.reuse(body);
        }
    }

    /// The next frame to send on a connection.
    pub fn poll_transmit(&mut self, connection: ConnectionId) -> Option<Transmit> {
        let peer = self.state.front.peer_mut(connection)?;
        let transmit = peer.connection.poll_transmit();
        peer.has_sent |= matches!(transmit, Some(Transmit::Data { .. }));
        transmit
    }

    /// The connection of an executable, while there is one.
    pub fn connection_of(&self, executable: ExecutableId) -> Option<ConnectionId> {
        self.state.executables.get(&executable)?.connection
    }

    /// The executable at the other end of a connection, if it is one.
    pub fn executable_of(&self, connection: ConnectionId) -> Option<ExecutableId> {
        match self.state.front.peer(connection)?.kind {
            PeerKind::Executable(executable) => Some(executable),
            PeerKind::Client { .. } => None,
        }
    }

    /// Whether the connection is to be closed once everything is sent.
    pub fn is_leaving(&self, connection: ConnectionId) -> bool {
        self.state.front.peer(connection).is_none_or(|peer| peer.leaving)
    }

    /// Whether the peer reads so slowly that nothing more should be taken from it.
    pub fn is_clogged(&self, connection: ConnectionId) -> bool {
        self.state.front.is_clogged(connection, self.state.limits.under_way_bytes_max)
    }

    /// Takes a control frame from a connection.
    ///
    /// # Errors
    /// The peer broke a rule: tell [`Server::broken`].
    pub fn handle_control(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        header: &FrameHeader,
        body: &[u8],
    ) -> Result<()> {
        let Some(peer) = self.state.front.peer_mut(connection).filter(|peer| !peer.leaving) else {
            return Ok(());
        };
        peer.connection.handle_control(header, body)?;
        self.state.out.touch(connection);
        self.state.front.frame_came(header.length);
        self.handle_events(surroundings, connection)
    }

    /// Bytes of a data frame are in place.
    ///
    /// # Errors
    /// As [`Server::handle_control`].
    pub fn data_arrived(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        header: &FrameHeader,
        done: u32,
    ) -> Result<()> {
        let Some(peer) = self.state.front.peer_mut(connection).filter(|peer| !peer.leaving) else {
            return Ok(());
        };
        peer.connection.data_arrived(header, done)?;
        peer.moved = surroundings.now();
        self.handle_events(surroundings, connection)
    }

    fn handle_events(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
    ) -> Result<()> {
        while let Some(peer) = self.state.front.peer_mut(connection) {
            let Some(event) = peer.connection.poll_event() else { break };
            let executable = match peer.kind {
                PeerKind::Client { .. } => None,
                PeerKind::Executable(executable) => Some(executable),
            };
            match (executable, event) {
                (_, Event::Ready(hello)) => self.greeted(surroundings, connection, &hello)?,
                (_, Event::Left(failure)) => {
                    peer.said_goodbye = failure.is_none();
                    self.leave(connection);
                }
                (None, event) => self.client_event(surroundings, connection, event)?,
                (Some(executable), event) => {
                    self.executable_event(surroundings, executable, event)?
                }
            }
        }
        Ok(())
    }

    fn greeted(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        hello: &Hello,
    ) -> Result<()> {
        if hello.byte_order != ByteOrder::NATIVE {
            return Err(Error::new(ErrorKind::Version, "connect", "it has a different byte order")
                .fix("this version of Farcall connects only machines with the same byte order"));
        }
        let Some(peer) = self.state.front.peer_mut(connection) else { return Ok(()) };
        let executable = match peer.kind {
            PeerKind::Executable(executable) => Some(executable),
            PeerKind::Client { .. } => None,
        };
        self.state.front.set_patience(connection, None);
        match executable {
            Some(executable) => self.load(executable),
            None => {
                self.take_claim(surroundings, connection, hello)?;
                self.settle_newcomer(connection)?;
                self.begin_lasting(surroundings, connection, hello)
            }
        }
    }

    /// Takes no more from a connection. An executable that leaves can take no call, so it is told
    /// to end at once.
    fn leave(&mut self, connection: ConnectionId) {
        let Some(peer) = self.state.front.begin_to_leave(connection) else { return };
        let executable = match peer.kind {
            PeerKind::Executable(executable) => Some(executable),
            PeerKind::Client { .. } => None,
        };
        self.state.out.touch(connection);
        if let Some(executable) = executable {
            self.stop_executable(executable);
        }
    }

    /// The peer broke a rule: it is told so, and goes.
    pub fn broken(&mut self, connection: ConnectionId, error: &Error) {
        self.audit_connection(connection, error);
        let Some(peer) = self.state.front.peer_mut(connection) else { return };
        peer.connection.goodbye(Some(error));
        if let PeerKind::Executable(executable) = peer.kind {
            self.executable_broke(executable, error);
        }
        self.leave(connection);
    }

    /// A connection is gone.
    pub fn ended(&mut self, surroundings: &mut dyn Surroundings, connection: ConnectionId) {
        let Some(peer) = self.state.remove_peer(connection) else { return };
        self.forget_listener(surroundings.now(), Some(connection));
        match peer.kind {
            PeerKind::Client { calls, segments } => {
                // One that left by its own will, or broke a rule, is not to come back for more than
                // it asked to be kept.
                let if_lost = peer.resuming.keep.filter(|_| !peer.leaving);
                let resuming = Resuming { keep: if_lost, ..peer.resuming };
                self.callbacks_lost(surroundings, connection);
                self.state.kept.parked.forget_connection(connection);
                for key in calls.into_values() {
                    self.go_on_or_end(surroundings, key, &resuming);
                }
                self.end_lasting(surroundings.now(), connection, &resuming);
                self.transactions_left(connection, &resuming);
                self.data_owner_gone(surroundings, connection, &resuming);
                self.keep_held(surroundings, peer.caller.rights.principal(), resuming);
                self.forget_large(surroundings, peer.number, &peer.large);
                self.forget_nest(connection, peer.inside);
                self.settle(surroundings, connection);
                // What a routine holds for itself goes with its call.
                let in_order = peer.said_goodbye || peer.inside.is_some();
                self.owner_gone(surroundings, connection, in_order);
                for segment in segments.into_keys() {
                    self.forget_memory(MemorySource::Client(connection, segment));
                }
            }
            PeerKind::Executable(executable) => {
                self.settle_callbacks(surroundings, connection);
                self.executable_disconnected(executable);
            }
        }
    }

    /// When [`Server::tick`] must be called at the latest.
    pub fn next_tick(&self) -> Option<Instant> {
        let patience = self.state.front.next_patience().map(|(at, _)| at);
        let deadline = self.state.calls.next_deadline();
        let look = self.next_look();
        let place = self
            .state
            .next_to_leave()
            .into_iter()
            .chain(self.state.next_launched_to_leave())
            .map(|(at, _)| at)
            .chain(self.state.next_surplus().map(|(at, _)| at));
        let start = self
            .state
            .executables
            .starts
            .next()
            .into_iter()
            .chain(self.state.kept.next_due())
            .chain(self.state.executables.passing.next_due());
        let object = self.state.objects.next();
        let all = patience
            .into_iter()
            .chain(deadline)
            .chain(look)
            .chain(place)
            .chain(start)
            .chain(object);
        let held = self.state.queue.is_to_look().then(Instant::default);
        let all = all.chain(self.state.front.next_look()).chain(held);
        all.chain(self.next_grace()).chain(self.next_stall_check()).min()
    }

    /// Time went by.
    pub fn tick(&mut self, surroundings: &mut dyn Surroundings) {
        let now = surroundings.now();
        while let Some((at, key)) = self.state.calls.take_deadline(now) {
            let error = self.too_late(at, key);
            self.abort(surroundings, key, error);
        }
        self.serve_waiting(surroundings);
        self.expire_kept(surroundings, now);
        self.look_after_folder(now);
        self.look_after_lines(now);
        self.look_after_objects(surroundings);
        self.end_slow_starts(now);
        self.let_results_come(now);
        self.end_idle_launched(now);
        self.end_surplus(now);
        self.end_graces(surroundings, now);
        self.end_newcomers();
        self.look_at_paused(now);
        self.start_executables(now);
        if self.next_stall_check().is_some_and(|at| at <= now) {
            self.end_stalled(surroundings);
        }
        for connection in self.state.front.take_leaving() {
            if self
                .state
                .front
                .peer(connection)
                .is_some_and(|peer| peer.leaving && peer.patience_until.is_none())
            {
                self.state
                    .front
                    .set_patience(connection, Some(now + self.state.limits.greeting_max));
            }
        }
        while let Some((_, connection)) =
            self.state.front.next_patience().filter(|(until, _)| *until <= now)
        {
            self.lose_patience(connection, now);
        }
    }

    /// A peer that does not greet is told so; one that was told to go and does not read that is cut
    /// off.
    fn lose_patience(&mut self, connection: ConnectionId, now: Instant) {
        if self.is_leaving(connection) {
            self.state.front.set_patience(connection, None);
            self.state.out.act(Action::Close(connection));
            return;
        }
        self.state.front.set_patience(connection, Some(now + self.state.limits.greeting_max));
        let kind = self.state.front.peer(connection).map(|peer| &peer.kind);
        let error = if let Some(PeerKind::Executable(_)) = kind {
            let message = "the routine's program started, but did not send its Hello in time";
            let fix = "check whether its node does much else, or raise greeting_ms and loading_ms \
                in farcall.toml";
            Error::new(ErrorKind::TimedOut, "start an executable", message).fix(fix)
        } else {
            Error::new(ErrorKind::TimedOut, "connect", "it did not send its Hello in time")
        };
        self.broken(connection, &error);
    }
}
