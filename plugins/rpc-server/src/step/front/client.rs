//! What clients ask for.

use farcall_base::{ChannelId, ConnectionId, Error, ErrorKind, Result};
use farcall_call::Event;
use farcall_services::directory::{PublishedRoutine, Visible};
use farcall_services::placement;
use farcall_wire::{CallResult, CallTimes, Order, Reply, Request, Resume, TICKET};

use crate::access::Rights;
use crate::state::{Action, CallKey, Large, MemorySource, PeerKind};
use crate::step::{Server, Surroundings};

impl Server {
    pub(in crate::step) fn client_event(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        event: Event,
    ) -> Result<()> {
        if let Event::Requested(channel, _)
        | Event::Opened(channel, _)
        | Event::Resumed(channel, _) = &event
        {
            self.state.front.count_question(surroundings.now(), connection, *channel);
        }
        let Some(event) = self.refuse_server(connection, event) else { return Ok(()) };
        match event {
            Event::Requested(channel, request) => {
                self.requested(surroundings, connection, channel, request)
            }
            Event::Resumed(channel, resume) => {
                self.resume(surroundings, connection, channel, &resume)
            }
            Event::Acknowledged(channel) => self.acknowledged(surroundings, connection, channel),
            Event::Opened(channel, open) => self.open(surroundings, connection, channel, *open),
            Event::ArgumentsComplete(channel) => {
                if let Some(key) = self.client_call(connection, channel) {
                    if self.state.reporting.listens() {
                        self.note_arrival(key);
                    }
                    self.accept_kept(key);
                    self.enqueue(surroundings, key);
                    self.record_kept(key);
                }
            }
            Event::CancelRequested(channel) => {
                self.cancel_requested(surroundings, connection, channel)
            }
            Event::Shared(share) => {
                if let Some(PeerKind::Client { segments, .. }) = self.kind_mut(connection) {
                    segments.insert(share.segment, share.bytes);
                }
            }
            Event::Unshared(segment) => self.take_back(connection, segment)?,
            Event::Resulted(channel, result) => {
                self.callback_resulted((connection, channel), result)?
            }
            Event::Finished(channel) => self.callback_finished(surroundings, (connection, channel)),
            Event::Replied(..)
            | Event::Noticed(..)
            | Event::Agreed(..)
            | Event::Ready(_)
            | Event::Left(_) => {}
        }
        Ok(())
    }

    /// Refuses what a server asks for that only users may; gives back everything else.
    fn refuse_server(&mut self, connection: ConnectionId, event: Event) -> Option<Event> {
        let rights = self.rights(connection)?;
        let refused = match &event {
            Event::Requested(channel, request) => Some((*channel, asked(request))),
            Event::Opened(channel, _) => Some((*channel, "call routines")),
            // A ticket is judged by itself: it is a server's to show.
            Event::Resumed(_, resume) if shows_ticket(resume) => None,
            Event::Resumed(channel, _) => Some((*channel, "resume calls")),
            _ => None,
        };
        let refusal = refused.and_then(|(channel, what)| {
            let refused = rights.act_as_user(what).err()?;
            let joins = matches!(
                &event,
                Event::Requested(_, Request::Report(_) | Request::State(_) | Request::DialBack)
            );
            let error = if joins { rights.join().err()? } else { refused };
            Some((channel, what, error))
        });
        let Some((channel, what, error)) = refusal else { return Some(event) };
        match event {
            Event::Opened(_, open) => {
                self.audit_refused(connection, Some(open.call), &open.routine, &error);
                self.count_refused(connection, &error);
                self.refuse(connection, channel, &error);
            }
            Event::Resumed(..) => self.refuse(connection, channel, &error),
            _ => {
                self.state.front.begin_order(connection, channel, what.to_owned());
                self.obeyed(connection, channel, Err(error));
            }
        }
        None
    }

    /// A question that is no call.
    fn requested(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
        request: Request,
    ) {
        if let Err(error) = self.check_under_way(connection, "answer a question") {
            return self.reply(connection, channel, &Reply::Failed((&error).into()));
        }
        match request {
            Request::Interface(name) => {
                self.asked_for_interface(connection, channel, name);
            }
            Request::List => self.ask_large(surroundings, connection, channel, Large::List),
            Request::Load(_) => {
                let message = "only a server may send this request, and only to an executable";
                self.not_for_clients(connection, channel, "load a module", message);
            }
            Request::Nest(_) => {
                let message = "only an executable may send this, to its server";
                self.not_for_clients(connection, channel, "call from inside a routine", message);
            }
            Request::Hold(asked) => {
                self.hold_executables(surroundings.now(), connection, channel, &asked);
            }
            Request::Release(first, count) => {
                self.release(surroundings, connection, channel, first, count);
            }
            Request::Administer(Order::Delete(ids)) => {
                self.ordered_to_delete(surroundings, connection, channel, ids);
            }
            Request::Administer(Order::EndCalls(ids)) => {
                self.ordered_to_end(surroundings, connection, channel, ids);
            }
            Request::Administer(order) => self.ordered(connection, channel, order),
            Request::Status => self.ask_large(surroundings, connection, channel, Large::Status),
            Request::Forget(call) => {
                self.forget_kept(surroundings, connection, channel, call);
            }
            Request::Kept => self.ask_large(surroundings, connection, channel, Large::Kept),
            Request::Data(ids) => {
                self.tell_data(surroundings.now(), connection, channel, &ids);
            }
            Request::DeleteData(ids) => {
                self.ordered_to_delete_data(surroundings, connection, channel, &ids);
            }
            Request::State(question) => {
                self.ask_large(surroundings, connection, channel, Large::State(question));
            }
            Request::Report(_)
            | Request::Place(_)
            | Request::Outcomes(_)
            | Request::Servers(..)
            | Request::Relay(_)
            | Request::DialBack => self.asked_for_placement(connection, channel, request),
            Request::Transaction(request) => self.transaction_asked(connection, channel, request),
            Request::Promise(promises, lease_us) => {
                self.promise_data(connection, channel, &promises, lease_us);
            }
            Request::Pull(pull) => self.pull_asked(connection, channel, *pull),
            Request::Break(ids, failure) => {
                self.break_promises(surroundings, connection, channel, &ids, &failure);
            }
        }
    }

    fn not_for_clients(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        operation: &'static str,
        message: &'static str,
    ) {
        let error = Error::new(ErrorKind::PermissionDenied, operation, message);
        self.reply(connection, channel, &Reply::Failed((&error).into()));
    }

    /// What only a metaserver can answer.
    fn asked_for_placement(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        request: Request,
    ) {
        let asked = match request {
            Request::Report(report) => placement::Request::Report(report),
            Request::Place(question) => placement::Request::Place(question),
            Request::Outcomes(outcomes) => placement::Request::Outcomes(outcomes),
            Request::Servers(host, site) => placement::Request::Servers { host, site },
            Request::Relay(server) => placement::Request::Relay(server),
            _ => placement::Request::DialBack,
        };
        self.placement_asked(connection, channel, asked);
    }

    fn cancel_requested(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
    ) {
        match self.client_call(connection, channel) {
            Some(key) => {
                let error =
                    Error::new(ErrorKind::Cancelled, "run a routine", "the call was cancelled");
                self.abort(surroundings, key, error);
            }
            None if self.state.kept.data.ask_no_more((connection, channel)) => {
                let error = Error::new(ErrorKind::Cancelled, "fetch data", "it was cancelled");
                self.refuse(connection, channel, &error);
            }
            None if self.cancel_early(connection, channel) => {}
            None => self.cancel_parked(surroundings, connection, channel),
        }
    }

    /// There was no descriptor or room for memory that a client shared: calls that name it are
    /// refused, until the client takes it back and shares it again.
    pub fn segment_lost(&mut self, connection: ConnectionId, segment: u32) {
        if let Some(PeerKind::Client { segments, .. }) = self.kind_mut(connection) {
            segments.remove(&segment);
        }
    }

    pub(in crate::step) fn kind_mut(&mut self, connection: ConnectionId) -> Option<&mut PeerKind> {
        self.state.front.peer_mut(connection).map(|peer| &mut peer.kind)
    }

    /// The client ends a segment; not one that an open call names (spec/wire.md, section 5.4): a
    /// call that waits would run without its memory, or on other memory that came under the same
    /// number.
    fn take_back(&mut self, connection: ConnectionId, segment: u32) -> Result<()> {
        let Some(PeerKind::Client { calls, segments }) =
            self.state.front.peer_mut(connection).map(|p| &mut p.kind)
        else {
            return Ok(());
        };
        let names = |key| {
            self.state.calls.get(key).is_some_and(|call| call.memory.segments.contains(&segment))
        };
        if calls.values().any(names) {
            return Err(Error::new(
                ErrorKind::Protocol,
                "take back memory",
                "an open call uses it",
            )
            .with("segment", segment)
            .fix("keep memory shared until the calls that use it have finished"));
        }
        segments.remove(&segment);
        self.forget_memory(MemorySource::Client(connection, segment));
        Ok(())
    }

    fn client_call(&self, connection: ConnectionId, channel: ChannelId) -> Option<CallKey> {
        match &self.state.front.peer(connection)?.kind {
            PeerKind::Client { calls, .. } => calls.get(channel).copied(),
            PeerKind::Executable(_) => None,
        }
    }

    pub(in crate::step) fn reply(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        reply: &Reply,
    ) {
        if let Some(peer) = self.state.front.peer_mut(connection) {
            peer.connection.reply(channel, reply);
            self.state.out.touch(connection);
        }
        self.count_answer(connection, channel);
    }

    /// What may not be called is refused whether it is there or not: the directory is not even
    /// asked.
    fn asked_for_interface(&mut self, connection: ConnectionId, channel: ChannelId, name: String) {
        if let Err(error) = self.may_ask(connection, &name) {
            self.audit_refused(connection, None, &name, &error);
            return self.reply(connection, channel, &Reply::Failed((&error).into()));
        }
        let visible = self.visible(connection);
        let reach = self.reach(connection);
        self.state.front.ask_plugin(connection);
        self.state.out.act(Action::Resolve { connection, channel, name, visible, reach });
    }

    /// Whether the table of rights lets the peer ask for this name, routine or not.
    pub(in crate::step) fn may_ask(&self, connection: ConnectionId, name: &str) -> Result<()> {
        self.rights(connection).map_or(Ok(()), |rights| rights.ask(name))
    }

    /// The modules that answers to the peer may name.
    pub(in crate::step) fn visible(&self, connection: ConnectionId) -> Visible {
        self.rights(connection).map_or(Visible::All, Rights::visible)
    }

    /// Whether the table of rights lets the peer call the routine.
    pub(in crate::step) fn may_call(
        &self,
        connection: ConnectionId,
        routine: &PublishedRoutine,
    ) -> Result<()> {
        self.rights(connection).map_or(Ok(()), |rights| rights.call(&routine.module.name))
    }

    pub(in crate::step) fn refuse(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        error: &Error,
    ) {
        let failure = Some(error.into());
        self.respond(
            connection,
            channel,
            &CallResult {
                failure,
                results: Vec::new(),
                times: CallTimes::default(),
                attributes: None,
            },
        );
    }

    pub(in crate::step) fn respond(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        result: &CallResult,
    ) {
        if let Some(peer) = self.state.front.peer_mut(connection) {
            peer.connection.respond(channel, result);
            self.state.out.touch(connection);
        }
        self.count_answer(connection, channel);
    }
}

fn shows_ticket(resume: &Resume) -> bool {
    resume.attributes.iter().flatten().any(|attribute| attribute.name == TICKET)
}

/// What a client wants to do, for a client that may not.
fn asked(request: &Request) -> &'static str {
    match request {
        Request::Interface(_) => "ask for interfaces",
        Request::List => "list routines",
        Request::Load(_) => "load modules",
        Request::Nest(_) => "call from inside a routine",
        Request::Hold(_) | Request::Release(..) => "hold executables",
        Request::Administer(_) => "give orders",
        Request::Status => "see what the server does",
        Request::Kept | Request::Forget(_) => "ask for kept calls",
        Request::Data(_) => "ask for data",
        Request::DeleteData(_) => "delete data",
        Request::State(_) | Request::Servers(..) => "see how servers are",
        Request::Report(_) => "report how it is",
        Request::Relay(_) => "ask for a way to a server",
        Request::DialBack => "ask for clients that it is to dial",
        Request::Transaction(_) => "begin transactions",
        Request::Promise(..) | Request::Break(..) => "promise data",
        Request::Pull(_) => "have data pulled",
        Request::Place(_) | Request::Outcomes(_) => "ask where calls run",
    }
}
