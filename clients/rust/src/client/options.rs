//! How one call is made.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{ObjectId, Resources};
use farcall_wire::wants;

use crate::data::Stay;

/// How to make one call.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// Time for the whole call; none by default.
    pub timeout: Option<Duration>,
    /// Time for its routine from when it begins, each time that the server runs it: what it waits
    /// before does not count. The server ends it: one that does not know of such times refuses the
    /// call with `Version`.
    pub run_timeout: Option<Duration>,
    /// Whether [`Client::next_finished`] tells of its end, and of its news.
    pub announced: bool,
    /// Whether [`PendingCall::next_news`](crate::PendingCall::next_news) tells of its place in the
    /// queue, its begin and its progress.
    pub progress: bool,
    /// Whether it tells what the routine writes to its standard output and error, while it runs.
    pub output: bool,
    /// Whether the processor time of the routine is measured: two checks at a clock that is a
    /// system call.
    pub processor_time: bool,
    /// How its outcome is kept if this program goes away: see
    /// [`PendingCall::id`](crate::PendingCall::id). Its arrays do not travel by shared memory then.
    pub keep: Option<Keep>,
    /// What `farcall kept` lists beside it, where it is to be kept: at most 200 bytes.
    pub label: Option<Arc<str>>,
    /// The server that it is to run on, by its name or one of its addresses, and no other.
    pub at: Option<Arc<str>>,
    /// The object that it is on, for the method of a class: see [`Client::hold`].
    pub on: Option<ObjectId>,
    /// Whether it reads copies of its arrays, so that its caller may change them as soon as it is
    /// started.
    pub copied: bool,
    /// Processes that MPI is to start for it; 0 for as many as the interface or the server says.
    /// Other routines run in one.
    pub ranks: u32,
    /// Which of its results stay at the server, as [`Output::Data`](crate::Output::Data).
    pub stay: Stay,
    /// For how long these stay when the connection has ended; not at all by default.
    pub lease: Option<Duration>,
    /// What each of its processes is given: more or less than its interface says. A server that does
    /// not know of such requests refuses the call with `Version`.
    pub resources: Resources,
}

/// How a call goes on without the program that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// For how long after the call's end the server keeps its outcome.
    pub after_end: Duration,
    /// Whether that is to survive the server.
    pub durable: bool,
}

impl CallOptions {
    /// In bits of the wire.
    pub(crate) fn wants(&self) -> u8 {
        let bit = |wanted: bool, bit: u8| if wanted { bit } else { 0 };
        bit(self.progress, wants::PROGRESS)
            | bit(self.output, wants::OUTPUT)
            | bit(self.processor_time, wants::PROCESSOR_TIME)
    }
}
