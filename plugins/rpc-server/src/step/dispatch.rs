//! Calls on their way to executables and back.

use farcall_base::{ChannelId, ConnectionId, Error, ErrorKind, ExecutableId, Instant, Result};
use farcall_idl::interface::Mode;
use farcall_idl::layout::{CallLayout, ParameterLayout, resolve_results};
use farcall_idl::values::ByteValues;
use farcall_wire::{Argument, CallResult, CallTimes, Open};

use crate::state::{Action, Call, CallKey, Executable, MemorySource, ModuleKey, PeerKind, Phase, Pool};
use crate::step::{Server, Surroundings};

impl Server {
    /// A call's arguments are complete: it takes its place in its module's line.
    pub(super) fn enqueue(&mut self, surroundings: &mut dyn Surroundings, key: CallKey) {
        let Some(call) = self.state.calls.get_mut(&key) else { return };
        call.queued = surroundings.now();
        let module = module_key(call);
        let pool = self.state.pools.entry(module.clone()).or_insert_with(|| Pool {
            image: call.routine.module.executable.clone(),
            idle: Vec::new(),
            alive: 0,
            coming: 0,
            waiting: Default::default(),
        });
        pool.waiting.push_back(key);
        self.serve_pool(surroundings, &module);
    }

    /// Gives waiting calls to free executables, and starts more if calls still wait.
    pub(super) fn serve_pool(&mut self, surroundings: &mut dyn Surroundings, module: &ModuleKey) {
        while let Some(pool) = self.state.pools.get_mut(module) {
            let Some(key) = pool.waiting.front().copied() else { return };
            if !self.state.calls.contains_key(&key) {
                pool.waiting.pop_front();
                continue;
            }
            let Some(executable) = pool.idle.pop() else { break };
            pool.waiting.pop_front();
            if let Err(error) = self.dispatch(surroundings.now(), key, executable) {
                self.finish(surroundings, key, Err(error));
                self.free(executable, module);
            }
        }
        self.start_executables(module);
    }

    fn free(&mut self, executable: ExecutableId, module: &ModuleKey) {
        if let Some(record) = self.state.executables.get_mut(&executable) {
            record.phase = Phase::Idle;
            if let Some(pool) = self.state.pools.get_mut(module) {
                pool.idle.push(executable);
            }
        }
    }

    /// Starts executables until as many come as calls wait, within the limit for all modules.
    fn start_executables(&mut self, module: &ModuleKey) {
        loop {
            let room = self.state.executables.len() < self.state.limits.executables_max || self.retire_idle(module);
            let number = self.state.number();
            let Some(pool) = self.state.pools.get_mut(module) else { return };
            if pool.coming >= pool.waiting.len() || !room {
                return;
            }
            pool.alive += 1;
            pool.coming += 1;
            let executable = ExecutableId(number);
            self.state.actions.push_back(Action::Start { executable, image: pool.image.clone() });
            let record = Executable {
                module: module.clone(),
                connection: None,
                phase: Phase::Starting,
                last_call: None,
                shared: Default::default(),
                next_segment: 1,
            };
            self.state.executables.insert(executable, record);
        }
    }

    /// At the limit, an executable of another module that does nothing makes room; true if one was told to end and the
    /// place is free at once.
    fn retire_idle(&mut self, wanting: &ModuleKey) -> bool {
        let Some(pool) = self.state.pools.get(wanting) else { return false };
        if pool.alive > 0 || pool.waiting.is_empty() {
            return false;
        }
        let idle = self.state.pools.iter().filter(|(module, _)| *module != wanting).find_map(|(_, p)| p.idle.first());
        if let Some(executable) = idle.copied() {
            self.stop_executable(executable, None);
        }
        // The place is free when its exit is reported; the pool is served again then.
        false
    }

    /// Passes a call to an executable.
    fn dispatch(&mut self, now: Instant, key: CallKey, executable: ExecutableId) -> Result<()> {
        let gone = || Error::internal("pass a call on", "its executable is gone");
        let connection = self.state.executables.get(&executable).and_then(|e| e.connection).ok_or_else(gone)?;
        let shares = self.state.peers.get(&connection).ok_or_else(gone)?.shares_memory;
        let open = self.translate(key, executable, shares)?;
        let peer = self.state.peers.get_mut(&connection).ok_or_else(gone)?;
        let channel = peer.connection.open(&open)?;
        self.state.touched.insert(connection);
        if let Some(record) = self.state.executables.get_mut(&executable) {
            record.phase = Phase::Busy(key, channel);
        }
        if let Some(call) = self.state.calls.get_mut(&key) {
            call.started = now;
            call.executable = Some(executable);
        }
        Ok(())
    }

    /// The client's request in the executable's terms: same values, memory under the executable's names.
    fn translate(&mut self, key: CallKey, executable: ExecutableId, shares: bool) -> Result<Open> {
        let gone = || Error::internal("pass a call on", "the call is gone");
        let call = self.state.calls.get_mut(&key).ok_or_else(gone)?;
        let client = call.client.map(|(connection, _)| connection);
        let memory = call.memory.clone();
        let arguments = std::mem::take(&mut call.open.arguments);
        let wanted = call.open.wanted.clone();
        let sizes: Vec<u64> = call.layout.parameters.iter().map(full_bytes).collect();
        let modes: Vec<Mode> = call.routine.routine.interface.parameters.iter().map(|p| p.mode).collect();
        let mut open = Open {
            call: call.id,
            routine: call.routine.routine.interface.full_name(),
            contract: call.routine.contract,
            arguments: Vec::with_capacity(arguments.len()),
            wanted: None,
            remaining_us: None,
            result_credit: None,
            parent: None,
            principal: None,
            trace: call.open.trace.clone(),
            attributes: None,
        };
        let mut wants = Vec::with_capacity(arguments.len());
        for (slot, argument) in arguments.into_iter().enumerate() {
            let want = wanted.as_ref().map_or(Argument::Blocks(None), |wanted| wanted[slot].clone());
            let own = memory.as_ref().and_then(|m| m.offsets.get(&(slot as u16)).map(|offset| (m, *offset)));
            let place = match (own, &argument, &want) {
                (Some((memory, offset)), ..) => {
                    Some((MemorySource::Own(memory.identity), memory.bytes, offset, sizes[slot]))
                }
                (None, Argument::Shared(segment, offset, length), _)
                | (None, _, Argument::Shared(segment, offset, length)) => {
                    let connection = client.ok_or_else(gone)?;
                    let source = MemorySource::Client(connection, *segment);
                    Some((source, self.segment_bytes(connection, *segment)?, *offset, *length))
                }
                _ => None,
            };
            let shared = match place {
                Some((source, bytes, offset, length)) if shares => {
                    let segment = self.share_with(executable, source, bytes).ok_or_else(gone)?;
                    Some(Argument::Shared(segment, offset, length))
                }
                Some((MemorySource::Client(..), ..)) => {
                    return Err(Error::new(
                        ErrorKind::Unavailable,
                        "pass a call on",
                        "this executable shares no memory",
                    )
                    .fix("call this server over TCP"));
                }
                _ => None,
            };
            let is_input = modes[slot].is_input();
            let in_memory = matches!(argument, Argument::Blocks(_) | Argument::Shared(..));
            let needs_place = shared.is_some() && is_input && !in_memory;
            // A short INOUT array that came inline goes back the way the client wants it; the executable keeps it in
            // memory of its own.
            wants.push(match &shared {
                _ if !modes[slot].is_output() => Argument::Absent,
                Some(place) if !needs_place => place.clone(),
                _ if want == Argument::Absent => Argument::Absent,
                _ => Argument::Blocks(None),
            });
            open.arguments.push(match shared {
                Some(place) if is_input && in_memory => place,
                _ => argument,
            });
        }
        open.wanted = Some(wants);
        Ok(open)
    }

    fn segment_bytes(&self, connection: ConnectionId, segment: u32) -> Result<u64> {
        let missing = || Error::new(ErrorKind::ConnectionLost, "pass a call on", "the client's memory is gone");
        match &self.state.peers.get(&connection).ok_or_else(missing)?.kind {
            PeerKind::Client { segments, .. } => segments.get(&segment).copied().ok_or_else(missing),
            PeerKind::Executable(_) => Err(missing()),
        }
    }

    /// The executable's answer is complete.
    pub(super) fn call_finished(&mut self, surroundings: &mut dyn Surroundings, executable: ExecutableId) {
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        let Phase::Busy(key, _) = record.phase else { return };
        let module = record.module.clone();
        self.free(executable, &module);
        if let Some(result) = self.state.calls.get_mut(&key).and_then(|call| call.results.take()) {
            let outcome = match result.failure {
                Some(failure) => Err(Error::from(failure)),
                None => Ok((result.results, result.times)),
            };
            self.finish(surroundings, key, outcome);
        }
        self.serve_pool(surroundings, &module);
    }

    /// Gives the client the outcome and forgets the call.
    pub(super) fn finish(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
        outcome: Result<(Vec<Argument>, CallTimes)>,
    ) {
        let Some(call) = self.state.calls.remove(&key) else { return };
        if let Some(deadline) = call.deadline {
            self.state.deadlines.remove(&(deadline, key));
        }
        let result = outcome.and_then(|(results, times)| answer(&call, results, times));
        let result = result.unwrap_or_else(|error| failed(&call, &error, surroundings.now()));
        let sends_memory = result.results.iter().any(|argument| matches!(argument, Argument::Blocks(_)));
        if let Some((connection, channel)) = call.client {
            self.respond(connection, channel, &result);
            if let Some(PeerKind::Client { calls, .. }) =
                self.state.peers.get_mut(&connection).map(|peer| &mut peer.kind)
            {
                calls.remove(&channel);
            }
            if sends_memory {
                // Result data still lies in the call's memory: it stays until the last frame left.
                self.state.sending.insert((connection, channel), call);
                return;
            }
        }
        if let Some(memory) = call.memory {
            surroundings.release(memory.id);
        }
    }

    /// The driver sent frames of a connection: calls whose last result frame left are forgotten.
    pub fn settle(&mut self, surroundings: &mut dyn Surroundings, connection: ConnectionId) {
        if self.state.sending.is_empty() {
            return;
        }
        let everything = ChannelId(u32::MIN)..=ChannelId(u32::MAX);
        let range = (connection, *everything.start())..=(connection, *everything.end());
        let channels: Vec<ChannelId> = self.state.sending.range(range).map(|((_, channel), _)| *channel).collect();
        for channel in channels {
            let open = self.state.peers.get_mut(&connection).is_some_and(|peer| peer.connection.is_open(channel));
            if open {
                continue;
            }
            if let Some(memory) = self.state.sending.remove(&(connection, channel)).and_then(|call| call.memory) {
                surroundings.release(memory.id);
            }
        }
    }

    /// Ends a call early, for `error`: at once if it waits, with its executable if it runs.
    pub(super) fn abort(&mut self, surroundings: &mut dyn Surroundings, key: CallKey, error: Error) {
        match self.state.calls.get(&key).map(|call| call.executable) {
            Some(Some(executable)) => self.stop_executable(executable, Some(error)),
            Some(None) => self.finish(surroundings, key, Err(error)),
            None => {}
        }
    }

    /// The client is gone: nobody wants the call's outcome.
    pub(super) fn client_gone(&mut self, surroundings: &mut dyn Surroundings, key: CallKey) {
        let Some(call) = self.state.calls.get_mut(&key) else { return };
        call.client = None;
        let error = Error::new(ErrorKind::ConnectionLost, "run a routine", "its client is gone");
        self.abort(surroundings, key, error);
    }
}

pub(super) fn module_key(call: &Call) -> ModuleKey {
    (call.routine.module.name.clone(), call.routine.module.generation)
}

fn full_bytes(layout: &ParameterLayout) -> u64 {
    match layout {
        ParameterLayout::Array(array) => array.full_bytes,
        _ => 0,
    }
}

/// The executable's results in the client's terms.
fn answer(call: &Call, results: Vec<Argument>, times: CallTimes) -> Result<CallResult> {
    let interface = &call.routine.routine.interface;
    if results.len() != interface.parameters.len() {
        return Err(Error::internal("pass a result on", "the executable answered with another number of results"));
    }
    let after = layout_after(call, &results)?;
    let layout = after.as_ref().unwrap_or(&call.layout);
    let results = results.into_iter().enumerate().map(|(slot, result)| match result {
        Argument::Shared(..) | Argument::Blocks(_) => match call.open.wanted.as_ref().map(|wanted| &wanted[slot]) {
            Some(Argument::Shared(segment, offset, length)) => Argument::Shared(*segment, *offset, *length),
            _ => match &layout.parameters[slot] {
                ParameterLayout::Array(array) if array.transfer_bytes > 0 => {
                    Argument::Blocks(Some(array.transfer_bytes))
                }
                _ => Argument::Inline(Vec::new()),
            },
        },
        other => other,
    });
    let since = |at: Instant| u64::try_from(at.since(call.accepted).as_nanos()).unwrap_or(u64::MAX);
    let begun = since(call.started);
    let times = CallTimes {
        queued_ns: since(call.queued),
        started_ns: begun + times.started_ns,
        finished_ns: begun + times.finished_ns,
    };
    Ok(CallResult { failure: None, results: results.collect(), times, attributes: None })
}

/// The layout that results decide, where they do.
fn layout_after(call: &Call, results: &[Argument]) -> Result<Option<CallLayout>> {
    let interface = &call.routine.routine.interface;
    if interface.inline_results().is_empty() {
        return Ok(None);
    }
    let bytes: Vec<Option<&[u8]>> = results
        .iter()
        .map(|result| match result {
            Argument::Inline(bytes) => Some(bytes.as_slice()),
            _ => None,
        })
        .collect();
    resolve_results(interface, &ByteValues::new(interface, bytes.as_slice()), &call.layout).map(Some)
}

fn failed(call: &Call, error: &Error, now: Instant) -> CallResult {
    let finished_ns = u64::try_from(now.since(call.accepted).as_nanos()).unwrap_or(u64::MAX);
    let times = CallTimes { finished_ns, ..CallTimes::default() };
    CallResult { failure: Some(error.into()), results: Vec::new(), times, attributes: None }
}
