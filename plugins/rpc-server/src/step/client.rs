//! What clients ask for.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{CallId, ChannelId, ConnectionId, Error, ErrorKind, Result};
use farcall_call::Event;
use farcall_services::directory::{PublishedRoutine, Visible};
use farcall_wire::{Argument, CallResult, CallTimes, InterfaceReply, Open, Order, Reply, Request};

use crate::access::Rights;
use crate::state::{
    Action, Arguments, Call, CallClock, CallKey, CallMemory, Known, Large, MemorySource, PeerKind,
    Run, Wants,
};
use crate::step::keep::expected_bytes;
use crate::step::{Server, Surroundings, check, ranks};

impl Server {
    pub(super) fn client_event(
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
                let error = Error::new(
                    ErrorKind::PermissionDenied,
                    "load a module",
                    "only a server may send this, to an executable",
                );
                self.reply(connection, channel, &Reply::Failed((&error).into()));
            }
            Request::Nest(_) => {
                let message = "only an executable may send this, to its server";
                let error =
                    Error::new(ErrorKind::PermissionDenied, "call from inside a routine", message);
                self.reply(connection, channel, &Reply::Failed((&error).into()));
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
            Request::Administer(order) => self.ordered(connection, channel, order),
            Request::Status => self.ask_large(surroundings, connection, channel, Large::Status),
            Request::Forget(call) => {
                self.forget_kept(surroundings, connection, channel, call);
            }
            Request::Kept => self.ask_large(surroundings, connection, channel, Large::Kept),
        }
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

    pub(super) fn kind_mut(&mut self, connection: ConnectionId) -> Option<&mut PeerKind> {
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

    pub(super) fn client_call(
        &self,
        connection: ConnectionId,
        channel: ChannelId,
    ) -> Option<CallKey> {
        match &self.state.front.peer(connection)?.kind {
            PeerKind::Client { calls, .. } => calls.get(channel).copied(),
            PeerKind::Executable(_) => None,
        }
    }

    pub(super) fn reply(&mut self, connection: ConnectionId, channel: ChannelId, reply: &Reply) {
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
        self.state.out.act(Action::Resolve { connection, channel, name, visible });
    }

    /// Whether the table of rights lets the peer ask for this name, routine or not.
    pub(super) fn may_ask(&self, connection: ConnectionId, name: &str) -> Result<()> {
        self.rights(connection).map_or(Ok(()), |rights| rights.ask(name))
    }

    /// The modules that answers to the peer may name.
    pub(super) fn visible(&self, connection: ConnectionId) -> Visible {
        self.rights(connection).map_or(Visible::All, Rights::visible)
    }

    /// The directory knows the routine, or not.
    pub fn resolved(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        answer: Result<Arc<PublishedRoutine>>,
    ) {
        let asked =
            answer.as_ref().map_or(String::new(), |routine| routine.routine.interface.full_name());
        let permitted =
            answer.and_then(|routine| self.may_call(connection, &routine).map(|()| routine));
        let reply = match permitted {
            Ok(routine) => {
                let _ = self.remember(&routine);
                Reply::Interface(interface_reply(&routine))
            }
            Err(error) => {
                if error.kind() == ErrorKind::PermissionDenied {
                    self.audit_refused(connection, None, &asked, &error);
                }
                Reply::Failed((&error).into())
            }
        };
        self.reply(connection, channel, &reply);
    }

    /// Whether the table of rights lets the peer call the routine.
    pub(super) fn may_call(
        &self,
        connection: ConnectionId,
        routine: &PublishedRoutine,
    ) -> Result<()> {
        self.rights(connection).map_or(Ok(()), |rights| rights.call(&routine.module.name))
    }

    /// The directory's whole list, but for what the peer may not call.
    pub fn listed(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        answer: Result<Vec<Arc<PublishedRoutine>>>,
    ) {
        let reply = match answer {
            Ok(routines) => {
                routines.iter().for_each(|routine| drop(self.remember(routine)));
                let permitted =
                    routines.iter().filter(|routine| self.may_call(connection, routine).is_ok());
                Reply::List(permitted.map(|routine| interface_reply(routine)).collect())
            }
            Err(error) => Reply::Failed((&error).into()),
        };
        self.reply(connection, channel, &reply);
    }

    /// What is published has changed: what was kept may be of the past. Whoever calls is told to
    /// ask again.
    pub fn directory_changed(&mut self) {
        self.state.routines.clear();
        if !self.state.kept.parked.is_empty() {
            self.state.out.act(Action::Readmit);
        }
    }

    /// Keeps a routine at hand, so that its calls need no question to the directory.
    pub(super) fn remember(&mut self, routine: &Arc<PublishedRoutine>) -> Arc<Known> {
        let name = routine.routine.interface.full_name();
        if self.state.routines.len() >= self.state.limits.routines_max
            && !self.state.routines.contains_key(&name)
        {
            // Whoever calls a forgotten routine is told to ask again, which brings it back.
            self.state.routines.clear();
        }
        let known =
            self.state.routines.get(&name).filter(|known| Arc::ptr_eq(&known.published, routine));
        if let Some(known) = known {
            return known.clone();
        }
        let known = Arc::new(Known::new(routine.clone(), &mut self.state.counters));
        self.state.routines.insert(name, known.clone());
        known
    }

    fn open(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
        open: Open,
    ) {
        self.acknowledged(surroundings, connection, channel);
        let mut open = Some(open);
        match self.admit(surroundings, connection, channel, &mut open) {
            Ok(announced) => {
                if let Some(peer) = self.state.front.peer_mut(connection) {
                    peer.connection.grant(channel, announced);
                }
            }
            Err(error) => {
                if let Some(open) = &open {
                    self.audit_refused(connection, Some(open.call), &open.routine, &error);
                }
                self.count_refused(connection, &error);
                self.refuse(connection, channel, &error);
            }
        }
    }

    /// Checks a call and makes room for it; returns the bytes of data that come with it. Takes
    /// `open` if it does.
    fn admit(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
        taken: &mut Option<Open>,
    ) -> Result<u64> {
        let Some(open) = taken.as_ref() else { return Ok(0) };
        self.check_id(&open.call)?;
        let around =
            self.around(connection, open.parent.as_ref().map(|parent| parent.as_slice()))?;
        self.check_calls_max(connection)?;
        self.may_ask(connection, &open.routine)?;
        let called = self.object_called(connection, open, &around)?;
        let on = called.as_ref().map(|(executable, _)| *executable);
        let routine =
            called.map_or_else(|| self.routine_of_nobody(open), |(_, routine)| Ok(routine))?;
        self.may_call(connection, &routine)?;
        let layout = check::layout(
            &routine.routine.interface,
            &routine.sizer,
            open,
            self.state.limits.call_bytes_max,
        )?;
        self.check_calls_back(connection, &routine)?;
        let ranks = ranks::of(&routine, open)?;
        let keep = self.keep_of(connection, open, around.nesting.levels)?;
        let Some(peer) = self.state.front.peer(connection) else { return Ok(0) };
        let PeerKind::Client { segments, .. } = &peer.kind else { return Ok(0) };
        let (caller, counted) = (peer.caller.clone(), peer.counted);
        let plan = check::plan(
            &routine.routine.interface,
            open,
            &layout,
            segments,
            self.state.limits.call_bytes_max,
        )?;
        if let Some(keep) = keep {
            let bytes = expected_bytes(&routine, &layout, open, plan.bytes(), keep);
            self.take_kept_room(surroundings, &caller, keep, bytes)?;
        }
        let memory = plan.allocate(surroundings, connection)?;
        let (segments, now) = (named_segments(open), surroundings.now());
        let deadline = open.remaining_us.map(|us| now + Duration::from_micros(us));
        let deadline = deadline.into_iter().chain(around.until).min();
        let Some(open) = taken.take() else { return Ok(0) };
        let wants = Wants::of(&open);
        let ranks = if on.is_some() { 0 } else { ranks };
        let call = Call {
            id: open.call,
            client: Some((connection, channel)),
            caller,
            counted: self.state.counters.begun(counted, routine.counted),
            routine,
            open,
            layout,
            memory: CallMemory { own: memory, segments, ..CallMemory::default() },
            arguments: Arguments::default(),
            run: Run::default(),
            wants,
            times: CallClock::new(now, deadline),
            nesting: around.nesting,
            ranks,
            keep,
            on,
        };
        self.enter(connection, channel, call, &plan);
        Ok(plan.announced)
    }

    /// A call stands in the tables from now on.
    fn enter(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        call: Call,
        plan: &check::Plan,
    ) {
        let (now, on, parent) = (call.times.accepted, call.on, call.nesting.parent);
        let number = self.state.number();
        let key = self.state.calls.enter(number, call);
        self.begin_inside(parent, key);
        if let Some(executable) = on {
            self.stand_at_object(key, executable, connection);
        }
        self.enter_kept(key);
        if plan.announced > 0 {
            self.state.calls.begin_arriving(key);
            self.watch_for_stalls(now);
        }
        if let Some(PeerKind::Client { calls, .. }) = self.kind_mut(connection) {
            calls.insert(channel, key);
        }
        if plan.fetches {
            self.fetch_arguments(key);
        }
    }

    /// Refuses an id that a call has, open or kept, whoever made it (spec/wire.md, section 7):
    /// whoever knows an id could have its outcome, or have it vanish.
    fn check_id(&self, id: &CallId) -> Result<()> {
        if !self.state.calls.has_id(id) && !self.state.kept.has(id) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::InvalidArgument,
            "accept a call",
            "a call with this id is already open or kept",
        )
        .fix("give each call its own id: sixteen random bytes"))
    }

    fn check_calls_max(&self, connection: ConnectionId) -> Result<()> {
        self.check_under_way(connection, "accept a call")?;
        // Calls whose results wait for a slow reader hold memory too.
        if self.state.calls.count() >= self.state.limits.calls_max {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "accept a call",
                "the server has too many calls",
            )
            .with("calls_max", self.state.limits.calls_max)
            .fix("try again later, or raise calls_max in farcall.toml")
            .retryable());
        }
        Ok(())
    }

    /// The routine of a call on no object.
    fn routine_of_nobody(&self, open: &Open) -> Result<Arc<Known>> {
        let routine = self.routine(open)?;
        match routine.routine.interface.full_class() {
            None => Ok(routine),
            Some(class) => Err(Error::new(
                ErrorKind::InvalidArgument,
                "accept a call",
                "a method needs an object",
            )
            .with("method", &routine.name)
            .fix(format!("hold an object of {class}, and call the method on that"))),
        }
    }

    pub(super) fn routine(&self, open: &Open) -> Result<Arc<Known>> {
        match self.state.routines.get(&open.routine) {
            Some(routine) if routine.contract == open.contract => Ok(routine.clone()),
            known => Err(Error::new(
                ErrorKind::InterfaceChanged,
                "accept a call",
                match known {
                    Some(_) => format!(
                        "the interface of \"{}\" changed after it was fetched",
                        open.routine
                    ),
                    None => format!("the interface of \"{}\" must be fetched first", open.routine),
                },
            )
            .fix("fetch the interface and call again")
            .retryable()),
        }
    }

    pub(super) fn refuse(&mut self, connection: ConnectionId, channel: ChannelId, error: &Error) {
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

    pub(super) fn respond(
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

/// The segments that a call's arguments and wanted results lie in.
fn named_segments(open: &Open) -> Vec<u32> {
    let named = |argument: &Argument| {
        if let Argument::Shared(segment, ..) = argument { Some(*segment) } else { None }
    };
    open.arguments.iter().chain(open.wanted.iter().flatten()).filter_map(named).collect()
}

pub(super) fn interface_reply(routine: &PublishedRoutine) -> InterfaceReply {
    InterfaceReply {
        name: routine.routine.interface.full_name(),
        interface: routine.encoded.to_vec(),
        contract: routine.contract,
    }
}
