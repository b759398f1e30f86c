//! Calls that routines make through their own server: inside the call that they run, with its
//! caller's rights, in what is left of its time, and no longer than it runs (spec/call.md, section
//! 6).
//!
//! A routine that waits for such a call, or for a function of its client that may call in turn,
//! does not count among the executables that may work at a time, so that there is a place for the
//! other. Otherwise the places could all be held by routines that wait for one.

use std::sync::Arc;

use farcall_base::{
    CallId, ChannelId, ConnectionId, Error, ErrorKind, ExecutableId, Instant, Result,
};
use farcall_wire::Reply;

use crate::state::{Call, CallKey, Caller, Nest, Nesting, Newcomer, PeerKind, State};
use crate::step::{Server, Surroundings};

/// Connections at a time inside one call: a routine needs one, and each costs descriptors here.
const CONNECTIONS_MAX: usize = 8;

/// What a call that is opened on a connection stands in.
#[derive(Default)]
pub(in crate::step) struct Around {
    /// Its place.
    pub nesting: Nesting,
    /// When the call around it ends at the latest.
    pub until: Option<Instant>,
}

impl Server {
    /// An executable asks for a connection inside the call that it runs. The driver has its end,
    /// and takes our answer with
    /// [`Server::take_nest`].
    pub(in crate::step) fn nest(
        &mut self,
        executable: ExecutableId,
        channel: ChannelId,
        call: CallId,
    ) {
        let Some(connection) =
            self.state.executables.get(&executable).and_then(|record| record.connection)
        else {
            return;
        };
        let asked = self.nest_inside(executable, call);
        let inside = asked.as_ref().ok().copied();
        let (reply, refusal) = match asked {
            Ok(_) => (Reply::Done, None),
            Err(error) => (Reply::Failed((&error).into()), Some(error)),
        };
        let around =
            inside.and_then(|key| self.state.calls.get(&key)).map(|call| self.caller_now(call));
        let caller = around.or_else(|| self.state.front.peer(connection).map(|peer| &peer.caller));
        if let Some(caller) = caller {
            let caller = Caller { rights: caller.rights.to_call(), ..(**caller).clone() };
            let newcomer = Newcomer { caller, shares_memory: true, token: None, refusal };
            self.state.front.set_nest(Nest { newcomer, inside });
        }
        self.reply(connection, channel, &reply);
    }

    /// Whose a call is, with the rights of now: it came with those that were when it began.
    fn caller_now<'a>(&'a self, call: &'a Call) -> &'a Arc<Caller> {
        let client = call.client.and_then(|(connection, _)| self.state.front.peer(connection));
        client.map_or(&call.caller, |peer| &peer.caller)
    }

    /// The call that a routine may make others in: one that its executable works on, and that is to
    /// go on.
    fn nest_inside(&self, executable: ExecutableId, id: CallId) -> Result<CallKey> {
        let refused =
            |what: &str| Error::new(ErrorKind::Unavailable, "call from inside a routine", what);
        if self.state.limits.nesting_max == 0 {
            return Err(refused("this server does not let routines call others")
                .with("nesting_max", 0)
                .fix("raise nesting_max in the server's farcall.toml"));
        }
        let line = self.state.executables.get(&executable).map(|record| &record.line);
        let keys = line.into_iter().flat_map(|line| line.keys());
        let call = keys
            .filter_map(|key| Some((key, self.state.calls.get(&key)?)))
            .find(|(_, call)| call.id == id);
        let Some((key, call)) = call.filter(|(_, call)| call.run.unwanted.is_none()) else {
            return Err(refused("its call has ended"));
        };
        if call.nesting.connections.len() >= CONNECTIONS_MAX {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "call from inside a routine",
                "it has too many connections",
            )
            .with("connections", CONNECTIONS_MAX)
            .fix(
                "request the server once per call, and free connections that are no longer used",
            ));
        }
        Ok(key)
    }

    /// What the frame before asked for, if it was a connection inside a call: its end came with
    /// that frame.
    pub fn take_nest(&mut self) -> Option<Nest> {
        self.state.front.take_nest()
    }

    /// The connection inside a call is there.
    pub fn nested(&mut self, connection: ConnectionId, nest: Nest, now: Instant) {
        let mut newcomer = nest.newcomer;
        let inside = nest.inside.filter(|key| self.state.calls.contains_key(key));
        if inside.is_none() && newcomer.refusal.is_none() {
            newcomer.refusal = Some(over());
        }
        self.add_client(connection, newcomer, now);
        if let Some(peer) = self.state.front.peer_mut(connection) {
            peer.inside = inside;
        }
        if let Some(call) = inside.and_then(|key| self.state.calls.get_mut(&key)) {
            call.nesting.connections.push(connection);
        }
    }

    /// The connection is gone.
    pub(in crate::step) fn forget_nest(
        &mut self,
        connection: ConnectionId,
        inside: Option<CallKey>,
    ) {
        if let Some(call) = inside.and_then(|key| self.state.calls.get_mut(&key)) {
            call.nesting.connections.retain(|one| *one != connection);
        }
    }

    /// What a call stands in that is opened on a connection. Where no more calls are taken, those
    /// that are open may still make the ones that they need to end.
    pub(in crate::step) fn around(
        &self,
        connection: ConnectionId,
        claimed: Option<&[u8]>,
    ) -> Result<Around> {
        let inside = self.state.front.peer(connection).and_then(|peer| peer.inside);
        let caller = claimed.and_then(|parent| self.waits_for_function(connection, parent));
        let Some(key) = inside else {
            let Some(parent) = caller else {
                self.check_not_draining()?;
                return Ok(Around::default());
            };
            return Ok(Around { nesting: self.nesting_in(parent), until: None });
        };
        let call = self.state.calls.get(&key).ok_or_else(over)?;
        let nesting = self.nesting_in(caller.unwrap_or(key));
        let levels = call.nesting.levels + 1;
        if levels > self.state.limits.nesting_max {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "accept a call",
                "calls are nested \
                too deeply",
            )
            .with("nesting_max", self.state.limits.nesting_max)
            .fix(
                "check that the routine does not call itself forever, or raise nesting_max \
                    in farcall.toml",
            ));
        }
        let until = call
            .times
            .deadline
            .into_iter()
            .chain(call.times.allowed.map(|allowed| allowed.until))
            .min();
        Ok(Around { nesting: Nesting { levels, ..nesting }, until })
    }

    /// The call of this id, if it waits for a function that the client at the other end passed. Who
    /// makes another call meanwhile, and says that it is part of that, is believed: only its own
    /// calls may wait for it.
    fn waits_for_function(&self, connection: ConnectionId, id: &[u8]) -> Option<CallKey> {
        let open = self
            .state
            .callbacks
            .values()
            .filter(|one| one.client.is_some_and(|line| line.0 == connection));
        open.map(|one| one.outer)
            .find(|key| self.state.calls.get(key).is_some_and(|call| call.id.0 == id))
    }

    fn nesting_in(&self, parent: CallKey) -> Nesting {
        let Some(call) = self.state.calls.get(&parent) else { return Nesting::default() };
        let depth = call.nesting.depth + 1;
        let levels = call.nesting.levels;
        Nesting { depth, levels, parent: Some((parent, call.id)), ..Nesting::default() }
    }

    /// A call was opened inside another.
    pub(super) fn begin_inside(&mut self, parent: Option<(CallKey, CallId)>, key: CallKey) {
        if let Some(call) = parent.and_then(|(parent, _)| self.state.calls.get_mut(&parent)) {
            call.nesting.inner.insert(key);
            self.state.queue.look_again();
        }
    }

    /// It is over.
    pub(super) fn finish_inside(&mut self, parent: Option<(CallKey, CallId)>, key: CallKey) {
        if let Some(call) = parent.and_then(|(parent, _)| self.state.calls.get_mut(&parent)) {
            call.nesting.inner.remove(&key);
        }
    }

    /// A call is to end with its executable: those that it made end now. The routine is not told:
    /// it would go on, and might return before it is stopped. As deep as calls stand in one
    /// another.
    pub(super) fn abandon_inside(&mut self, surroundings: &mut dyn Surroundings, key: CallKey) {
        let connections = self.state.calls.get(&key).map(|call| call.nesting.connections.clone());
        for connection in connections.into_iter().flatten() {
            let Some(peer) = self.state.front.peer_mut(connection) else { continue };
            let PeerKind::Client { calls, .. } = &mut peer.kind else { continue };
            for inner in std::mem::take(calls).into_values() {
                self.client_gone(surroundings, inner);
            }
        }
    }

    /// A call is over: so are those that it made, and no more are taken.
    pub(in crate::step) fn end_inside(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
    ) {
        self.end_callbacks(surroundings, key);
        let Some(call) = self.state.calls.get_mut(&key) else { return };
        for connection in std::mem::take(&mut call.nesting.connections) {
            let Some(peer) = self.state.front.peer_mut(connection) else { continue };
            peer.connection.goodbye(Some(&over()));
            let inner = match &peer.kind {
                PeerKind::Client { calls, .. } => calls.values().copied().collect(),
                PeerKind::Executable(_) => Vec::new(),
            };
            self.leave(connection);
            for key in inner {
                self.abort(surroundings, key, over());
            }
        }
    }

    /// A call that a routine or its client's function waits for, where everybody waits for such
    /// calls and nobody more may come: it would wait for ever.
    pub(in crate::step) fn refuse_if_all_wait(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
    ) {
        let waits = |call: &Call| call.nesting.depth > 0 && call.run.executable.is_none();
        let Some(call) = self.state.calls.get(&key).filter(|call| waits(call)) else { return };
        let pool = self.state.queue.get(&call.module_key());
        if pool.is_some_and(|pool| pool.is_here() && self.state.waits_for_own_gpus(pool)) {
            return self.finish(surroundings, key, Err(without_gpus()));
        }
        if let Some(most) = self.state.waits_for_itself(call) {
            let error = for_itself(&call.routine.module.name, most);
            return self.finish(surroundings, key, Err(error));
        }
        if !self.state.all_wait() {
            return;
        }
        let error = Error::new(
            ErrorKind::LimitExceeded,
            "run a routine",
            "every executable is waiting for a call that it made",
        )
        .with("executables_max", self.state.limits.executables_max)
        .fix("try again later, or raise executables_max or nesting_max in farcall.toml")
        .retryable();
        self.finish(surroundings, key, Err(error));
    }
}

impl State {
    /// Whether all processes that a module may have run calls that this one is inside of, and how
    /// many these are: it would wait until they end, and they wait for it.
    fn waits_for_itself(&self, call: &Call) -> Option<usize> {
        let module = call.module_key();
        let most = self.queue.get(&module)?.executables_max()?;
        let is_its = |outer: &Call| {
            let record = outer.run.executable.and_then(|one| self.executables.get(&one));
            outer.module_key() == module && record.is_some_and(|record| !record.held)
        };
        let outer = |call: &Call| call.nesting.parent.and_then(|(key, _)| self.calls.get(&key));
        let around = std::iter::successors(outer(call), |call| outer(call));
        (around.filter(|call| is_its(call)).count() >= most).then_some(most)
    }
}

fn for_itself(module: &str, most: usize) -> Error {
    let message = "it is called from inside of its own module, all of whose processes wait for it";
    Error::new(ErrorKind::LimitExceeded, "run a routine", message)
        .with("module", module)
        .with("executables_max of the module", most)
        .fix("call the function itself instead, or raise executables_max in the interface file")
}

/// A routine would wait for GPUs that its own call has, or one that waits as it does.
fn without_gpus() -> Error {
    let message = "all GPUs are those of calls that wait for calls of their own";
    Error::new(ErrorKind::LimitExceeded, "run a routine", message)
        .fix("ask for fewer GPUs in calls that make others, or give the server more (gpus)")
        .retryable()
}

fn over() -> Error {
    Error::new(
        ErrorKind::Cancelled,
        "call from inside a routine",
        "the call that requested its server has ended",
    )
    .fix("request the running server again in every call")
}
