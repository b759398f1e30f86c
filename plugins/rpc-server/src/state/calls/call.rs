//! A call: what was asked for, what it uses, and how far it has come.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{CallId, ChannelId, ConnectionId, DataId, Error, ExecutableId, Instant};
use farcall_idl::data::DataKind;
use farcall_idl::layout::CallLayout;
use farcall_wire::{CallResult, Keep, Open};

use super::Nesting;
use crate::counters::RowNumber;
use crate::state::{Caller, Known, ModuleKey, OwnMemory, ResultFiles, Share, Turn, Value, Variant};

/// What a client wants to be told of a call while it is running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Its place in the queue, and that it began.
    pub progress: bool,
    /// What its routine writes.
    pub output: bool,
    /// The processor time of its routine, with its outcome.
    pub processor_time: bool,
}

/// Memory that a call uses.
#[derive(Default)]
pub struct CallMemory {
    /// Our memory.
    pub own: Option<OwnMemory>,
    /// Memory of its client's that we have mapped, by parameter: its executable shares none.
    pub mapped: Vec<OwnMemory>,
    /// That for files that come back: how long they are is known only then.
    pub files: Option<Box<ResultFiles>>,
    /// Segments of the client's that it names.
    pub segments: Vec<u32>,
    /// Values of data that it was given, by parameter.
    pub given: Vec<(u16, Arc<Value>)>,
    /// What stays of its results.
    pub stays: Vec<Stay>,
}

/// A result that stays as data.
#[derive(Clone, Debug)]
pub struct Stay {
    /// Its parameter.
    pub slot: u16,
    /// Its id.
    pub id: DataId,
    /// What it consists of.
    pub kind: DataKind,
    /// Where it comes to, if it may be too long for an answer.
    pub memory: Option<OwnMemory>,
}

impl CallMemory {
    /// The value that a parameter was given.
    pub fn given(&self, slot: usize) -> Option<&Arc<Value>> {
        self.given.iter().find(|(given, _)| usize::from(*given) == slot).map(|(_, value)| value)
    }

    /// How a result stays, if it does.
    pub fn stay(&self, slot: usize) -> Option<&Stay> {
        self.stays.iter().find(|stay| usize::from(stay.slot) == slot)
    }
}

/// How many of a call's arguments are there.
#[derive(Default)]
pub struct Arguments {
    /// Arrays that it names by URL, and data, that are not there yet.
    pub fetching: usize,
    /// Whether everything that its client sends has come.
    pub complete: bool,
}

/// How far a call has come on its way to an executable and back.
#[derive(Default)]
pub struct Run {
    /// Its turn in the line of its module or object, if it was ever in one.
    pub turn: Option<Turn>,
    /// What it takes of this host's processors.
    pub share: Share,
    /// Whose line it stands in.
    pub executable: Option<ExecutableId>,
    /// Why it is to end before its outcome comes, if it is.
    pub unwanted: Option<Error>,
    /// How often it came back from an executable: unbegun, or to be run again.
    pub returns: u32,
    /// Whether it ran before, in an executable that ended with it.
    pub has_run: bool,
    /// Bytes of its output that its client was not told since he was told some.
    pub output_lost: u64,
    /// Results as the executable gave them, and whether their data is complete.
    pub results: Option<Box<CallResult>>,
}

/// When things happened to a call, or will.
pub struct CallClock {
    /// When its Open came.
    pub accepted: Instant,
    /// When its arguments were complete.
    pub queued: Instant,
    /// When it was passed to an executable.
    pub started: Instant,
    /// When it times out.
    pub deadline: Option<Instant>,
    /// How long its routine may run, if its client says so.
    pub run_timeout: Option<Duration>,
    /// The same as what it asks for, or its interface.
    pub wall_time: Option<Duration>,
    /// While an executable has it: until when it may run.
    pub allowed: Option<Allowed>,
    /// Since when it waits for its client: for arguments from the start, for results to be taken in
    /// the end.
    pub waits_since: Instant,
}

/// Until when a routine may run, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// When that time has passed.
    pub until: Instant,
    /// How long it is.
    pub time: Duration,
    /// Who says so.
    pub by: AllowedBy,
}

/// Who says how long a routine may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowedBy {
    /// The server's configuration, for all calls of the module.
    Module,
    /// The client, for this call.
    Client,
    /// What the call asks for, or its interface.
    WallTime,
}

impl CallClock {
    /// It comes now, and must be over by then.
    pub fn new(
        now: Instant,
        deadline: Option<Instant>,
        run_timeout: Option<Duration>,
        wall_time: Option<Duration>,
    ) -> CallClock {
        CallClock {
            accepted: now,
            queued: now,
            started: now,
            deadline,
            run_timeout,
            wall_time,
            allowed: None,
            waits_since: now,
        }
    }
}

/// A call.
pub struct Call {
    /// Its id on every connection.
    pub id: CallId,
    /// Where it came from; `None` when the client is gone.
    pub client: Option<(ConnectionId, ChannelId)>,
    /// Whose it is, also when the client is gone.
    pub caller: Arc<Caller>,
    /// Where it is counted.
    pub counted: RowNumber,
    /// What it calls.
    pub routine: Arc<Known>,
    /// The client's request.
    pub open: Open,
    /// Sizes.
    pub layout: Arc<CallLayout>,
    /// What it uses.
    pub memory: CallMemory,
    /// How many of its arguments are there.
    pub arguments: Arguments,
    /// How far it has come.
    pub run: Run,
    /// What its client wants to be told while it is running.
    pub wants: Wants,
    /// When.
    pub times: CallClock,
    /// How it stands to the calls around it and in it.
    pub nesting: Nesting,
    /// What its executables are like.
    pub variant: Variant,
    /// How its outcome is kept, where its client wants that.
    pub keep: Option<Keep>,
    /// The object that it is on.
    pub on: Option<ExecutableId>,
}

impl Call {
    /// The pool that runs it.
    pub fn module_key(&self) -> ModuleKey {
        let own = &self.routine.module_key;
        if self.variant == own.2 {
            return own.clone();
        }
        Arc::new((own.0.clone(), own.1, self.variant))
    }

    /// Whether it only puts a value here: no executable runs it.
    pub fn is_put(&self) -> bool {
        self.routine.is_data
    }

    /// All of our memory that it uses.
    pub fn memories(&self) -> impl Iterator<Item = &OwnMemory> {
        let files = self.memory.files.as_deref().map(|files| &files.memory);
        let stays = self.memory.stays.iter().filter_map(|stay| stay.memory.as_ref());
        self.memory.own.iter().chain(&self.memory.mapped).chain(files).chain(stays)
    }
}
