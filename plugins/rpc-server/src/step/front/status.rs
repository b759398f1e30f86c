//! What the server tells of itself: to administrators all, to others what is theirs.

use std::collections::BTreeMap;
use std::time::Duration;

use farcall_base::{ChannelId, ConnectionId, Error, ExecutableId, Instant};
use farcall_wire::{
    CallResult, JobStatus, ModuleStatus, ObjectState, ObjectStatus, OpenCall, ProcessorsStatus,
    Reply, Stage, Status, Totals,
};

use crate::access::Rights;
use crate::counters::Ended;
use crate::state::{Call, CallKey, Object, PeerKind, Phase, Standing};
use crate::step::front::audit::bytes;
use crate::step::{Server, Surroundings};

/// Calls that are shown one by one.
const CALLS_SHOWN_MAX: usize = 200;
/// Objects that are shown one by one.
const OBJECTS_SHOWN_MAX: usize = 1000;
/// Rows of who called what that travel to a client: a control message takes no more than so many of
/// the longest names.
const USES_SHOWN_MAX: usize = 1000;

/// As much of the server as somebody may see.
struct View<'a> {
    rights: Option<&'a Rights>,
}

impl View<'_> {
    fn sees_all(&self) -> bool {
        self.rights.is_none_or(|rights| rights.administer().is_ok())
    }

    fn whose(&self) -> Option<&str> {
        self.rights.filter(|_| !self.sees_all()).map(Rights::principal)
    }

    fn sees_call(&self, call: &Call) -> bool {
        self.whose().is_none_or(|principal| principal == call.caller.rights.principal())
    }

    fn sees_object(&self, object: &Object) -> bool {
        self.whose().is_none_or(|principal| principal == &*object.principal)
    }

    fn sees_module(&self, module: &str) -> bool {
        self.sees_all() || self.rights.is_some_and(|rights| rights.may_call(module))
    }
}

impl Server {
    /// Everything that is going on, for whoever watches the server.
    pub fn status(&self, surroundings: &dyn Surroundings) -> Box<Status> {
        self.seen_by(&View { rights: None }, surroundings)
    }

    /// The server is its owner's own, or not.
    pub fn is_own(&mut self, own: bool) {
        self.state.own = Some(own);
    }

    /// A client wants to know what is going on.
    pub(super) fn tell_status(
        &mut self,
        surroundings: &dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
    ) {
        let Some(rights) = self.rights(connection) else { return };
        let mut status = self.seen_by(&View { rights: Some(rights) }, surroundings);
        status.uses.truncate(USES_SHOWN_MAX);
        self.reply(connection, channel, &Reply::Status(status));
    }

    fn seen_by(&self, view: &View<'_>, surroundings: &dyn Surroundings) -> Box<Status> {
        let now = surroundings.now();
        let calls =
            self.state.calls.by_age().into_iter().map(|(key, call)| (call, self.stage(key, call)));
        let sending = self
            .state
            .calls
            .sending()
            .filter_map(|sent| Some((sent.call.as_deref()?, Stage::Leaving)));
        let mut seen: Vec<_> =
            sending.chain(calls).filter(|(call, _)| view.sees_call(call)).collect();
        seen.sort_by_key(|(call, _)| call.times.accepted);
        let calls_open = seen.len() as u64;
        let shown = seen.into_iter().take(CALLS_SHOWN_MAX);
        let objects = self.state.objects.iter().filter(|(_, object)| view.sees_object(object));
        let objects: Vec<_> = objects.collect();
        Box::new(Status {
            product: self.state.front.product().to_owned(),
            up_ns: now.0,
            draining: self.state.draining,
            calls: shown.map(|(call, stage)| open_call(call, stage, now)).collect(),
            calls_open,
            uses: self.state.counters.uses(view.whose()),
            modules: self.module_statuses(view),
            totals: view.sees_all().then(|| self.totals(surroundings)),
            clock_us: surroundings.clock_us(),
            objects: objects
                .iter()
                .take(OBJECTS_SHOWN_MAX)
                .map(|(executable, object)| self.object(*executable, object, now))
                .collect(),
            objects_held: objects.len() as u64,
            kept: view.sees_all().then(|| self.kept_calls(now, None)),
            jobs: view.sees_all().then(|| self.state.executables.jobs.now(now)),
            own: self.state.own,
            processors: Some(ProcessorsStatus {
                max: self.state.queue.processors.max(),
                taken: self.state.queue.processors.used(),
            }),
        })
    }

    /// What launchers tell of their jobs.
    pub fn jobs(&mut self, surroundings: &dyn Surroundings, jobs: Vec<JobStatus>) {
        let before = self.state.executables.jobs.tell(surroundings.now(), jobs);
        self.tell_waits(&before);
        self.note_jobs(&before);
    }

    fn object(&self, executable: ExecutableId, object: &Object, now: Instant) -> ObjectStatus {
        let hold = self.state.objects.hold(object.hold);
        let record = self.state.executables.get(&executable);
        let is_busy =
            record.is_some_and(|record| matches!(record.phase, Phase::Busy | Phase::Reserved(_)));
        let (state, reason) = match &object.standing {
            Standing::Coming => (ObjectState::Starting, None),
            Standing::Ready if is_busy => (ObjectState::Busy, None),
            Standing::Ready => (ObjectState::Idle, None),
            Standing::Ending { .. } => (ObjectState::Ending, None),
            Standing::Ended(reason) => (ObjectState::Ended, Some(reason.message.clone())),
        };
        let nanoseconds = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        ObjectStatus {
            id: object.id,
            principal: object.principal.to_string(),
            name: hold.map_or(String::new(), |hold| hold.name.to_string()),
            state,
            calls: object.calls,
            waiting: object.line.len() as u64,
            age_ns: hold.map_or(0, |hold| nanoseconds(now.since(hold.since))),
            lease_left_ns: object.ends_at.map(|at| nanoseconds(at.since(now))),
            pid: record.and_then(|record| record.pid),
            reason,
        }
    }

    fn stage(&self, key: CallKey, call: &Call) -> Stage {
        match call.run.executable {
            Some(_) => Stage::Running,
            None if self.state.calls.is_arriving(key) => Stage::Arriving,
            None => Stage::Waiting,
        }
    }

    fn module_statuses(&self, view: &View<'_>) -> Vec<ModuleStatus> {
        let mut modules: BTreeMap<&str, ModuleStatus> = BTreeMap::new();
        for (key, pool) in self.state.queue.pools() {
            modules.entry(&key.0).or_default().waiting += pool.count() as u64;
        }
        for record in self.state.executables.values().filter(|record| !record.held) {
            let module = modules.entry(&record.module.0).or_default();
            *match record.phase {
                Phase::Starting | Phase::Loading(_) => &mut module.starting,
                Phase::Idle { .. } => &mut module.idle,
                Phase::Busy | Phase::Reserved(_) => &mut module.busy,
                Phase::Ending => &mut module.ending,
            } += 1;
        }
        let seen = modules.into_iter().filter(|(name, _)| view.sees_module(name));
        seen.map(|(name, module)| ModuleStatus { module: name.to_owned(), ..module }).collect()
    }

    fn totals(&self, surroundings: &dyn Surroundings) -> Totals {
        let counters = &self.state.counters;
        let shared: Vec<u64> = self
            .state
            .front
            .peers()
            .filter_map(|(_, peer)| match &peer.kind {
                PeerKind::Client { segments, .. } => Some(segments.values().sum()),
                PeerKind::Executable(_) => None,
            })
            .collect();
        Totals {
            clients: shared.len() as u64,
            connected: counters.connected,
            refused: counters.refused,
            started: counters.started,
            stopped: counters.stopped,
            crashed: counters.crashed,
            memory_used: self.memory_used(),
            memory_held: surroundings.memory_held(),
            memory_shared: shared.iter().sum(),
        }
    }

    /// Bytes of memory that calls and their outcomes lie in.
    fn memory_used(&self) -> u64 {
        let open = self.state.calls.values().flat_map(|call| call.memories());
        let kept = self.state.kept.in_memory().chain(self.state.held());
        let over = self.state.calls.sending().filter(|sent| sent.is_only_sent()).chain(kept);
        open.chain(over.flat_map(|one| one.memories())).map(|memory| memory.bytes).sum()
    }

    /// A call was refused before it began.
    pub(in crate::step) fn count_refused(&mut self, connection: ConnectionId, error: &Error) {
        if let Some(peer) = self.state.front.peer(connection) {
            self.state.counters.refused(peer.counted, error.kind());
        }
    }

    /// A call is over.
    pub(in crate::step) fn count_end(&mut self, call: &Call, result: &CallResult) {
        let (bytes_in, bytes_out) = bytes(call);
        let failure = result.failure.as_ref().map(|failure| failure.kind);
        let bytes_out = if failure.is_none() { bytes_out } else { 0 };
        let duration_ns = result.times.finished_ns;
        let running_ns = duration_ns.saturating_sub(result.times.started_ns);
        let ended = Ended { failure, bytes_in, bytes_out, duration_ns, running_ns };
        self.state.counters.ended(call.counted, &ended);
    }
}

fn open_call(call: &Call, stage: Stage, now: Instant) -> OpenCall {
    OpenCall {
        id: call.id,
        principal: call.caller.rights.principal().to_owned(),
        peer: call.caller.address.clone(),
        routine: call.routine.name.clone(),
        stage,
        age_ns: u64::try_from(now.since(call.times.accepted).as_nanos()).unwrap_or(u64::MAX),
    }
}
