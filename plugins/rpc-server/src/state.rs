//! The state of the server: its machines, and what always holds between them. What holds within one
//! stands at the head of its file.
//!
//! - Every call stands in `calls` from its Open until its outcome is queued for the client, or,
//!   when the client is gone, until nothing works on it any more. After that its outcome stands
//!   there until the result data have left.
//! - A call that was passed to an executable stands in that executable's `line`, and names it. The
//!   first in line is the one that it works on, if it works on one; the others are there ahead of
//!   time, and can be taken back.
//! - An executable has a line while it is `Busy`, and while it is `Ending` until its exit is
//!   reported.
//! - A segment that a call names stays shared as long as the call stands in `calls`.
//! - A held executable stands in `objects` and in no pool. A call on an object stands in that
//!   object's line from its Open until it is passed on.
//! - Memory of a call is released only when no process can write to it any more: after the outcome
//!   of a call that returned, after the exit of an executable that was stopped.

mod actions;
mod calls;
mod executables;
mod front;
mod kept;
mod known;
mod limits;
mod memory;
mod objects;
mod outbox;
mod queue;
mod records;
mod reporting;
mod words;

use std::collections::HashMap;
use std::sync::Arc;

use farcall_base::{CallId, ConnectionId, ExecutableId, Instant, Resources};

use crate::counters::Counters;
pub use actions::Action;
pub use calls::{
    Allowed, AllowedBy, Arguments, Call, CallClock, CallKey, CallMemory, CallTable, Callback,
    Callbacks, Calls, Nest, Nesting, Run, Stay, Wants,
};
pub(crate) use executables::FREE_BYTES;
pub use executables::{Executable, Executables, InLine, Phase};
pub use front::{
    Asked, Beginner, Caller, EarlyFetch, Front, Large, LargeQuestions, Newcomer, Peer, PeerKind,
    PrincipalNumber, Speaks,
};
pub use kept::{
    Accepted, ClientKey, Content, Data, DataTable, Finished, KeepLimits, Kept, KeptCalls, OVERHEAD,
    Outcome, Recorded, ResultsOrder, Resuming, Returning, Value, ValueMemory, ValuePlace, Written,
};
pub use known::Known;
pub use limits::Limits;
pub use memory::{MemoryId, MemorySource, OwnMemory, ResultFiles};
pub use objects::{Due, Hold, HoldNumber, Object, Objects, Release, ReleaseNumber, Standing};
pub(crate) use outbox::Outbox;
pub(crate) use queue::Where;
pub(crate) use queue::processors_of;
pub use queue::{
    DeepestFirst, Pool, Processors, Queue, QueuePolicy, Rank, Share, Turn, WaitingCall, WaitingLine,
};
pub use records::{AuditRecord, AuditedCall, Records};
pub use reporting::{Listener, News, Reporting};
pub use words::argument_word;

/// Which module, in which version, and for which of its calls.
pub type ModuleKey = Arc<(String, u64, Variant)>;

/// What tells the executables of some calls of a module from those of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Variant {
    /// The processes of MPI's that run each call; 0 for as many as the spawner's settings say.
    pub ranks: u32,
    /// What each process is given.
    pub resources: Resources,
}

/// The server's whole state. No two calls have one id: `next` numbers whatever is new.
pub struct State {
    pub(crate) limits: Limits,
    pub(crate) front: Front,
    pub(crate) executables: Executables,
    pub(crate) queue: Queue,
    pub(crate) calls: Calls,
    pub(crate) callbacks: Callbacks,
    pub(crate) routines: HashMap<String, Arc<Known>>,
    /// No more calls are taken.
    pub(crate) draining: bool,
    /// Whether the server is its owner's own; nothing before it is known.
    pub(crate) own: Option<bool>,
    /// Clients have been told goodbye: no call begins any more.
    pub(crate) ending: bool,
    pub(crate) out: Outbox,
    pub(crate) next: u64,
    pub(crate) counters: Counters,
    /// Calls that go on, or have ended, for clients that may come back for them.
    pub(crate) kept: KeptCalls,
    pub(crate) objects: Objects,
    /// What other servers are told.
    pub(crate) reporting: Reporting,
}

impl State {
    /// An empty server.
    pub fn new(limits: Limits, host: String) -> State {
        State {
            counters: Counters::new(limits.counters_max),
            queue: Queue::new(&limits),
            front: Front::new((limits.under_way_bytes_max, limits.questions_max), host),
            limits,
            executables: Executables::default(),
            calls: Calls::default(),
            callbacks: Callbacks::default(),
            routines: HashMap::new(),
            draining: false,
            own: None,
            ending: false,
            out: Outbox::default(),
            next: 1,
            kept: KeptCalls::default(),
            objects: Objects::default(),
            reporting: Reporting::default(),
        }
    }

    /// The same, with what tells this run of the server from others.
    pub fn named(self, instance: Option<[u8; 16]>) -> State {
        State { front: self.front.named(instance), ..self }
    }

    /// Memory of ours that calls hold, and whose it is: for tests that check that none is lost.
    pub fn memory_in_use(&self) -> impl Iterator<Item = (MemoryId, CallId)> {
        let running =
            self.calls.values().flat_map(|call| call.memories().map(|memory| (memory.id, call.id)));
        let over = self.calls.sending().chain(self.kept.in_memory()).chain(self.held());
        let callbacks = self
            .callbacks
            .values()
            .filter_map(|one| Some((one.memory.as_ref()?.id, one.open.call)));
        let all =
            running.chain(over.flat_map(|one| one.memories().map(|memory| (memory.id, one.id))));
        let given = self.calls.values().flat_map(|call| &call.memory.given);
        let given = given.filter_map(|(_, value)| Some((value.memory()?.id, CallId([0; 16]))));
        let sent = self.calls.sending().filter_map(|one| Some((one.value.as_ref()?, one.id)));
        let sent = sent.filter_map(|(value, id)| Some((value.memory()?.id, id)));
        let data = self.kept.data.memories().map(|(id, memory)| (memory.id, id.as_call()));
        all.chain(callbacks).chain(given).chain(sent).chain(data)
    }

    /// What is there when no client is: nothing, or the names of tables that leak.
    pub fn left_over(&self) -> Vec<&'static str> {
        let clients = self.front.has_clients();
        let waiting = self.queue.pools().any(|(_, pool)| pool.count() > 0);
        let empty = self.queue.pools().any(|(_, pool)| !pool.has_executables());
        let tables = [
            ("clients", clients),
            ("bytes under way", self.front.bytes_under_way() > 0),
            ("calls", !self.calls.is_empty()),
            ("sending", self.calls.is_sending()),
            ("callbacks", !self.callbacks.is_empty()),
            ("coming", self.calls.arriving().next().is_some()),
            ("deadlines", self.calls.next_deadline().is_some()),
            (
                "executables that may end their calls themselves",
                self.executables.next_grace().is_some(),
            ),
            ("executables with calls ahead of time", self.executables.has_ahead()),
            ("lines of waiting calls", waiting || !self.queue.is_empty()),
            ("processors", self.queue.processors.used() != self.processors_taken()),
            ("pools without executables", empty),
            ("data that nobody waits for", self.kept.data.is_forgotten()),
            ("objects that nobody can end", self.objects.forgotten()),
        ];
        tables.into_iter().filter(|(_, leaks)| *leaks).map(|(name, _)| name).collect()
    }

    /// The executable of this host that has been idle longest, and since when.
    pub fn longest_idle(&self) -> Option<(Instant, ExecutableId)> {
        self.executables.longest_idle()
    }

    /// Executables of this host that were started and have not ended, but for those that are held.
    pub fn executables_alive(&self) -> usize {
        self.executables.len() - self.objects.processes() - self.executables.launched.count()
    }

    /// An executable is gone.
    pub(crate) fn remove_executable(&mut self, executable: ExecutableId) -> Option<Executable> {
        let record = self.executables.remove(executable)?;
        self.queue.processors.give_back(record.processors);
        self.objects.process_ended(executable);
        Some(record)
    }

    /// Enters a peer.
    pub(crate) fn add_peer(&mut self, connection: ConnectionId, peer: Peer) {
        self.front.enter(connection, peer);
        self.out.touch(connection);
    }

    /// Takes a peer out of the tables.
    pub(crate) fn remove_peer(&mut self, connection: ConnectionId) -> Option<Peer> {
        self.out.forget(connection);
        self.front.remove(connection)
    }

    /// A number that was never given before.
    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}
