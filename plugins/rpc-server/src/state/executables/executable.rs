//! An executable, and how far it has come.

use farcall_base::{ChannelId, ConnectionId, Error, Instant};
use farcall_services::spawner::ExecutableLimits;

use super::{AssignedCalls, SharedMemory};
use crate::state::{CallKey, ModuleKey};

/// How far an executable has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The spawner has been asked.
    Starting,
    /// It runs and loads its module.
    Loading(ChannelId),
    /// It can take a call.
    Idle {
        /// Since when.
        since: Instant,
    },
    /// It is kept for a call: until the results folder says that it begins, and its spawner listens
    /// if its output is wanted.
    Reserved(CallKey),
    /// It has calls to work on.
    Busy,
    /// It was told to end, or its connection is gone; its exit will be reported.
    Ending,
}

/// What an executable was told of the threads of its libraries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Threads {
    /// Whether it can be told.
    pub are_set: bool,
    /// What it was told last, where that is certain.
    pub told: Option<u32>,
}

/// An executable.
pub struct Executable {
    /// What it runs.
    pub module: ModuleKey,
    /// Its connection, while there is one.
    pub connection: Option<ConnectionId>,
    /// How far it has come.
    pub phase: Phase,
    /// Whether it ever could take a call.
    pub loaded: bool,
    /// Whether its code asks if its call was cancelled.
    pub asks: bool,
    /// Why it could not, where we know better than its exit status.
    pub trouble: Option<Error>,
    /// The calls that it was passed and has not answered.
    pub line: AssignedCalls,
    /// The channel of a call that it has answered, whose output is being asked for.
    pub hushing: Option<ChannelId>,
    /// Memory that it knows.
    pub shared: SharedMemory,
    /// What it may use.
    pub limits: ExecutableLimits,
    /// What it was told of threads.
    pub threads: Threads,
    /// Processors of this host that it has.
    pub processors: u32,
    /// Whether it is held, and in no pool.
    pub held: bool,
    /// Whether a launcher starts it elsewhere.
    pub launched: bool,
    /// Its process, once it runs.
    pub pid: Option<u32>,
}
