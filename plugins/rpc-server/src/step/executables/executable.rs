//! Executables: from the spawner's word that one runs to the report of its end.

use std::sync::Arc;

use farcall_base::{ChannelId, ConnectionId, Error, ErrorKind, ExecutableId, Instant, Result};
use farcall_call::{Connection, Event, Setup};
use farcall_services::directory::ImageKind;
use farcall_services::spawner::ExecutableLimits;
use farcall_wire::{Loaded, NESTED_CALLS, POLLED_CANCEL, Publication, Reply, Request};

use crate::access::Rights;
use crate::state::{Action, Caller, Peer, PeerKind, Phase};
use crate::step::executables::pool::Waiting;
use crate::step::{Server, Surroundings};

impl Server {
    /// An executable runs, and this is the connection to it.
    pub fn executable_started(
        &mut self,
        executable: ExecutableId,
        connection: ConnectionId,
        shares_memory: bool,
        takes_ahead: bool,
        now: Instant,
    ) {
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        record.connection = Some(connection);
        record.line.set_takes_ahead(takes_ahead);
        let address = format!("executable {executable} of module {}", record.module.0);
        let mut patience = self.state.limits.greeting_max;
        if record.launched {
            let loading_max = self.state.limits.loading_max;
            self.state.executables.starts.begin(now + loading_max, executable);
            // Its program may still start, on a node that does much else.
            patience = patience.max(loading_max);
        }
        let mut hello = self.hello(None);
        hello.features.push(POLLED_CANCEL.to_owned());
        if self.state.limits.nesting_max > 0 {
            hello.features.push(NESTED_CALLS.to_owned());
        }
        let peer = Peer {
            counted: self.state.counters.principal("inherited"),
            connection: Connection::new(Setup { hello, initiator: true, token: None }),
            shares_memory,
            caller: Arc::new(Caller {
                address,
                rights: Rights::all("inherited"),
                certificate: None,
                hosts: Default::default(),
                speaks: Default::default(),
            }),
            kind: PeerKind::Executable(executable),
            patience_until: Some(now + patience),
            leaving: false,
            moved: now,
            has_sent: false,
            said_goodbye: false,
            inside: None,
            resuming: Default::default(),
            number: None,
            asked: Default::default(),
            large: Default::default(),
        };
        self.state.add_peer(connection, peer);
    }

    /// The process of an executable that runs, and what it may use.
    pub fn executable_limited(
        &mut self,
        executable: ExecutableId,
        pid: u32,
        limits: ExecutableLimits,
    ) {
        if let Some(record) = self.state.executables.get_mut(&executable) {
            (record.pid, record.limits) = (Some(pid), limits);
        }
    }

    pub(in crate::step) fn executable_event(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        event: Event,
    ) -> Result<()> {
        match event {
            Event::Replied(channel, reply) => self.loaded(surroundings, executable, channel, reply),
            Event::Resulted(channel, result) => {
                self.call_resulted(surroundings, executable, channel, result)?
            }
            Event::Finished(channel) => self.call_finished(surroundings, executable, channel),
            Event::Noticed(channel, notice) => self.executable_noticed(executable, channel, notice),
            Event::Opened(channel, open) => {
                self.call_back(surroundings, executable, channel, *open)
            }
            Event::ArgumentsComplete(channel) => {
                self.pass_callback_on(surroundings, executable, channel)
            }
            Event::CancelRequested(channel) => {
                self.callback_given_up(surroundings, executable, channel)
            }
            Event::Requested(channel, Request::Nest(call)) => self.nest(executable, channel, call),
            Event::Requested(channel, _) => self.refuse_question(executable, channel),
            _ => {}
        }
        Ok(())
    }

    /// Other questions are a client's, on connections of their own.
    fn refuse_question(&mut self, executable: ExecutableId, channel: ChannelId) {
        let Some(connection) =
            self.state.executables.get(&executable).and_then(|record| record.connection)
        else {
            return;
        };
        let error = Error::new(
            ErrorKind::Unavailable,
            "ask the server",
            "the server does not answer requests from executables",
        );
        self.reply(connection, channel, &Reply::Failed((&error).into()));
    }

    /// The executable said Hello: it is told what to serve.
    pub(in crate::step) fn load(&mut self, executable: ExecutableId) -> Result<()> {
        let Some(record) = self.state.executables.get_mut(&executable) else { return Ok(()) };
        if record.phase != Phase::Starting {
            return Ok(());
        }
        let pool = self.state.queue.get(&record.module).map(|pool| &pool.image);
        let hold = self.state.objects.hold_of(executable);
        let image = if record.held {
            hold.and_then(|hold| hold.image.as_ref()).map(|(_, image)| image)
        } else {
            pool
        };
        let (Some(connection), Some(image)) = (record.connection, image) else { return Ok(()) };
        let libraries = match &image.kind {
            ImageKind::GenericHost { libraries } => libraries.clone(),
            ImageKind::Linked { .. } | ImageKind::Interpreted { .. } => Vec::new(),
        };
        let object = hold.and_then(|hold| hold.class.clone());
        let publication = Publication { module: image.module_text.to_vec(), libraries, object };
        let Some(peer) = self.state.front.peer_mut(connection) else { return Ok(()) };
        let channel = peer.connection.request(&Request::Load(publication))?;
        record.phase = Phase::Loading(channel);
        self.state.out.touch(connection);
        Ok(())
    }

    fn loaded(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        channel: ChannelId,
        reply: Reply,
    ) {
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        if record.phase != Phase::Loading(channel) {
            return;
        }
        let module = record.module.clone();
        let said = if let Reply::Loaded(loaded) = reply { loaded } else { Loaded::default() };
        let asks = said.asks;
        record.threads.are_set = said.threads == Some(true) && record.limits.threads_are_free;
        let sets_threads = record.threads.are_set;
        if record.held {
            record.asks = asks;
            self.state.executables.starts.came(&module);
            return self.object_loaded(surroundings, executable, reply);
        }
        match reply {
            Reply::Done | Reply::Loaded(_) => {
                (record.loaded, record.asks) = (true, asks);
                self.note_start(surroundings.now(), executable);
                self.state.executables.starts.came(&module);
                self.state.leave_pool(executable);
                if let Some(pool) = self.state.queue.get_mut(&module) {
                    pool.forget_kills();
                }
                self.state.queue.let_set_threads(&module, sets_threads);
                self.free(surroundings.now(), executable);
                self.serve_all(surroundings, &module);
            }
            Reply::Failed(failure) => {
                record.trouble = Some(Error::from(failure.clone()));
                self.fail_waiting(surroundings, &module, Waiting::All, &Error::from(failure));
                self.stop_executable(executable);
            }
            _ => {
                let error = Error::new(
                    ErrorKind::Protocol,
                    "start an executable",
                    "it sent the \
                    wrong kind of answer",
                )
                .with("module", &module.0)
                .fix(
                    "the executable is damaged or from another version of Farcall: publish \
                        the module again",
                );
                self.executable_broke(executable, &error);
            }
        }
    }

    /// Ends executables that have not loaded their module in time: what a library does when it is
    /// opened may never end.
    pub(in crate::step) fn end_slow_starts(&mut self, now: Instant) {
        while let Some(executable) = self.state.executables.starts.due(now) {
            self.state.executables.starts.end(executable);
            let Some(record) = self.state.executables.get_mut(&executable) else { continue };
            let message = format!(
                "its module was not loaded after {} s",
                self.state.limits.loading_max.as_secs_f32()
            );
            let error = Error::new(ErrorKind::Unavailable, "start an executable", message)
                .with("module", &record.module.0);
            let fix = "ask the server's administrator what its libraries do when they are loaded, \
                or to raise loading_ms in farcall.toml";
            record.trouble = Some(error.fix(fix));
            let module = record.module.clone();
            self.state.executables.starts.came_too_late(&module);
            self.stop_executable(executable);
        }
    }

    /// Executables that a launcher started elsewhere end when they were idle: what they run in is
    /// others' to use.
    pub(in crate::step) fn end_idle_launched(&mut self, now: Instant) {
        while let Some((_, executable)) =
            self.state.next_launched_to_leave().filter(|(at, _)| *at <= now)
        {
            self.stop_executable(executable);
        }
    }

    /// Tells an executable to end. Calls that it has not begun are taken back; the one that it
    /// works on fails as it was said to, or with the report of the end.
    pub(in crate::step) fn stop_executable(&mut self, executable: ExecutableId) {
        self.state.leave_pool(executable);
        self.state.executables.end_grace(executable);
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        if record.phase == Phase::Ending {
            return;
        }
        let kept_for = std::mem::replace(&mut record.phase, Phase::Ending);
        self.give_back(executable, kept_for);
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        if !record.line.is_empty() {
            self.recall(executable);
        }
        self.state.out.act(Action::Stop { executable, grace: self.state.limits.stop_grace });
    }

    /// It broke a rule of the wire: that, and not how we ended it, is what its call or those that
    /// wait are told.
    pub(in crate::step) fn executable_broke(&mut self, executable: ExecutableId, error: &Error) {
        let copy = || Error::from(farcall_wire::Failure::from(error));
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        record.trouble.get_or_insert_with(copy);
        if let Some(call) = record.line.front().and_then(|key| self.state.calls.get_mut(&key)) {
            call.run.unwanted.get_or_insert_with(copy);
        }
        self.stop_executable(executable);
    }

    /// There is no connection to an executable that was started. How it ended says more than
    /// `error`, if it has ended by itself; its exit is reported either way.
    pub fn executable_unreachable(&mut self, executable: ExecutableId, error: Error) {
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        if record.trouble.is_none() {
            record.trouble = (error.kind() != ErrorKind::ConnectionLost).then_some(error);
        }
        self.stop_executable(executable);
    }

    /// Its connection ended: it ends too, by itself or by force.
    pub(in crate::step) fn executable_disconnected(&mut self, executable: ExecutableId) {
        if let Some(record) = self.state.executables.get_mut(&executable) {
            record.connection = None;
        }
        self.stop_executable(executable);
    }
}
