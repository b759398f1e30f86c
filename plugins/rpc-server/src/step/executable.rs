//! Executables: from the spawner's word that one runs to the report of its end.

use farcall_base::{ConnectionId, Error, ErrorKind, ExecutableId, Result};
use farcall_call::{Connection, Event, Setup};
use farcall_interfaces::directory::ImageKind;
use farcall_interfaces::spawner::{ExitHow, Exited};
use farcall_wire::{Publication, Reply, Request};

use crate::state::{Action, CallKey, Executable, ModuleKey, Peer, PeerKind, Phase};
use crate::step::{Server, Surroundings};

impl Server {
    /// An executable runs, and this is the connection to it.
    pub fn executable_started(
        &mut self,
        executable: ExecutableId,
        connection: ConnectionId,
        shares_memory: bool,
        now: farcall_base::Instant,
    ) {
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        record.connection = Some(connection);
        let name = format!("executable {executable} of module {}", record.module.0);
        let hello = self.hello();
        let peer = Peer {
            connection: Connection::new(Setup { hello, initiator: true, token: None }),
            shares_memory,
            name,
            kind: PeerKind::Executable(executable),
            greeting_until: Some(now + self.state.limits.greeting_max),
            leaving: false,
        };
        self.state.peers.insert(connection, peer);
        self.state.touched.insert(connection);
    }

    pub(super) fn executable_event(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        event: Event,
    ) -> Result<()> {
        match event {
            Event::Replied(channel, reply) => self.loaded(surroundings, executable, channel, reply),
            Event::Resulted(_, result) => {
                if let Some(call) = self.busy_call(executable).and_then(|key| self.state.calls.get_mut(&key)) {
                    call.results = Some(result);
                }
            }
            Event::Finished(_) => self.call_finished(surroundings, executable),
            // Executables open no calls yet; a frame of one that does is refused by the rules of the connection.
            _ => {}
        }
        Ok(())
    }

    /// The executable said Hello: it is told what to serve.
    pub(super) fn load(&mut self, executable: ExecutableId) -> Result<()> {
        let Some(record) = self.state.executables.get_mut(&executable) else { return Ok(()) };
        let (Some(connection), Some(pool)) = (record.connection, self.state.pools.get(&record.module)) else {
            return Ok(());
        };
        let libraries = match &pool.image.kind {
            ImageKind::GenericHost { libraries } => libraries.clone(),
            ImageKind::Linked { .. } => Vec::new(),
        };
        let publication = Publication { module: pool.image.module_text.to_vec(), libraries };
        let Some(peer) = self.state.peers.get_mut(&connection) else { return Ok(()) };
        let channel = peer.connection.request(&Request::Load(publication))?;
        record.phase = Phase::Loading(channel);
        self.state.touched.insert(connection);
        Ok(())
    }

    fn loaded(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        channel: farcall_base::ChannelId,
        reply: Reply,
    ) {
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        if record.phase != Phase::Loading(channel) {
            return;
        }
        let module = record.module.clone();
        match reply {
            Reply::Done => {
                record.phase = Phase::Idle;
                if let Some(pool) = self.state.pools.get_mut(&module) {
                    pool.coming = pool.coming.saturating_sub(1);
                    pool.idle.push(executable);
                }
                self.serve_pool(surroundings, &module);
            }
            Reply::Failed(failure) => {
                let error = Error::from(failure);
                self.fail_waiting(surroundings, &module, &error);
                self.stop_executable(executable, None);
            }
            _ => self.stop_executable(executable, None),
        }
    }

    fn busy_call(&self, executable: ExecutableId) -> Option<CallKey> {
        match self.state.executables.get(&executable)?.phase {
            Phase::Busy(key, _) => Some(key),
            _ => None,
        }
    }

    /// A module cannot be run: every call that waits for it fails with the reason.
    fn fail_waiting(&mut self, surroundings: &mut dyn Surroundings, module: &ModuleKey, error: &Error) {
        let Some(pool) = self.state.pools.get_mut(module) else { return };
        for key in std::mem::take(&mut pool.waiting) {
            let copy = Error::from(farcall_wire::Failure::from(error));
            self.finish(surroundings, key, Err(copy));
        }
    }

    /// Tells an executable to end; `why` is reported for the call it works on.
    pub(super) fn stop_executable(&mut self, executable: ExecutableId, why: Option<Error>) {
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        if record.phase == Phase::Ending {
            return;
        }
        leave_pool(&mut self.state.pools, record, executable);
        if let Phase::Busy(key, _) = record.phase {
            record.last_call = Some((key, why));
        }
        record.phase = Phase::Ending;
        self.state.actions.push_back(Action::Stop { executable, grace: self.state.limits.stop_grace });
    }

    /// Its connection ended: it ends too, by itself or by force.
    pub(super) fn executable_disconnected(&mut self, executable: ExecutableId) {
        if let Some(record) = self.state.executables.get_mut(&executable) {
            record.connection = None;
        }
        self.stop_executable(executable, None);
    }

    /// An executable could not be started.
    pub fn executable_failed(&mut self, surroundings: &mut dyn Surroundings, executable: ExecutableId, error: &Error) {
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        let module = record.module.clone();
        leave_pool(&mut self.state.pools, record, executable);
        self.state.executables.remove(&executable);
        self.forget(&module);
        self.fail_waiting(surroundings, &module, error);
    }

    /// An executable has ended; nothing of it is left, so memory it could write to is free now.
    pub fn executable_exited(&mut self, surroundings: &mut dyn Surroundings, exited: &Exited) {
        let Some(mut record) = self.state.executables.remove(&exited.executable) else { return };
        let was_coming = matches!(record.phase, Phase::Starting | Phase::Loading(_));
        if record.phase != Phase::Ending {
            leave_pool(&mut self.state.pools, &record, exited.executable);
        }
        if let Phase::Busy(key, _) = record.phase {
            record.last_call = Some((key, None));
        }
        if let Some(connection) = record.connection {
            self.leave(connection);
        }
        self.forget(&record.module);
        if let Some((key, why)) = record.last_call {
            let error = why.unwrap_or_else(|| end_of_routine(exited));
            self.finish(surroundings, key, Err(error));
        }
        if was_coming {
            let error = end_of_routine(exited).with("while", "the executable started");
            self.fail_waiting(surroundings, &record.module, &error);
        }
        let modules: Vec<ModuleKey> =
            self.state.pools.iter().filter(|(_, p)| !p.waiting.is_empty()).map(|(module, _)| module.clone()).collect();
        for module in modules {
            self.serve_pool(surroundings, &module);
        }
    }

    /// An executable of the module is gone.
    fn forget(&mut self, module: &ModuleKey) {
        if let Some(pool) = self.state.pools.get_mut(module) {
            pool.alive = pool.alive.saturating_sub(1);
            if pool.alive == 0 && pool.waiting.is_empty() {
                self.state.pools.remove(module);
            }
        }
    }
}

/// Takes an executable that will do no more work out of its pool's reckoning.
fn leave_pool(
    pools: &mut std::collections::BTreeMap<ModuleKey, crate::state::Pool>,
    record: &Executable,
    executable: ExecutableId,
) {
    let Some(pool) = pools.get_mut(&record.module) else { return };
    pool.idle.retain(|idle| *idle != executable);
    if matches!(record.phase, Phase::Starting | Phase::Loading(_)) {
        pool.coming = pool.coming.saturating_sub(1);
    }
}

/// What the caller is told of a routine that ended its process.
fn end_of_routine(exited: &Exited) -> Error {
    let (kind, message) = match exited.how {
        ExitHow::Signal { .. } => (ErrorKind::RoutineCrashed, format!("the routine was {}", exited.how)),
        ExitHow::Status(_) => (ErrorKind::RoutineExited, format!("the routine {}", exited.how)),
    };
    let error = Error::new(kind, "run a routine", message);
    if exited.stderr_tail.trim().is_empty() { error } else { error.with("stderr", exited.stderr_tail.trim_end()) }
}
