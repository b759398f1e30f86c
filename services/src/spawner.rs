//! The spawner service: starts executables, hands over the connection to each, and reports how each
//! ended.

mod capacity;
mod listening;
mod output;
mod ranks;
pub mod rules;
pub mod system_files;
pub mod zygote;

use std::fmt;
use std::os::fd::OwnedFd;
use std::time::Duration;

use farcall_base::{Bytes, ExecutableId, Instant};
use rustix::process::Signal;

use crate::directory::ExecutableImage;
use crate::mailbox::{Port, Reply};
use farcall_link::stream::ByteStream;

pub use capacity::{Capacity, beyond, counted};
pub use listening::{Listener, Output, Said};
pub use output::OutputTail;
pub use ranks::{RANKS_MAX, ranks};

/// The slot that the spawner of this host fills.
pub const SLOT: &str = "spawner";

/// The slot of the spawner that has launchers start executables elsewhere.
pub const JOBS_SLOT: &str = "jobs";

/// The environment variable that tells an executable which inherited descriptor is its connection.
pub const SOCKET_VARIABLE: &str = "FARCALL_SOCKET";

/// The first byte that the first of an MPI's processes sends. All of them dial the spawner before
/// they know their ranks; the others close what they dialled.
pub const LEADS: u8 = b'L';

/// The protocol of a Unix socket by which a process of MPI's asks for its connection: no such
/// socket has one, so that no program asks for this by chance. The filter of a confined launcher
/// has the spawner answer.
pub const DIAL: u32 = u32::from_be_bytes(*b"\0mpi");

/// The folder in a module's working folder in which the executable with this process number keeps
/// the files of the call that it runs. It removes them after the call; its spawner does when the
/// process has ended.
pub fn files_folder(process: u32) -> String {
    format!("files-{process}")
}

/// What can be asked of a spawner.
pub enum Request {
    /// Start an executable.
    Start(Box<Start>),
    /// End an executable: politely, and after `grace` by force. Its end is reported to the start's
    /// `exited`. One that is unknown has ended already: nothing happens.
    Stop {
        /// Which one.
        executable: ExecutableId,
        /// Time between SIGTERM and SIGKILL.
        grace: Duration,
    },
    /// Tell what an executable writes after `done` was answered, until [`Request::Hush`]. What it
    /// wrote before is told to nobody any more. Whoever listened before does so no more. One that
    /// is unknown has ended: nothing is told.
    Listen {
        /// Which one.
        executable: ExecutableId,
        /// Whom to tell.
        listener: Port<Said>,
        /// Told when it begins.
        done: Reply<()>,
    },
    /// Tell what an executable wrote so far, then that this is all, and nothing more.
    Hush {
        /// Which one.
        executable: ExecutableId,
        /// Told when all was told.
        done: Reply<()>,
    },
}

/// A start, with the addresses of its two reports.
pub struct Start {
    /// The asker's name for it; no other living executable of the asker's node has it.
    pub executable: ExecutableId,
    /// Name of its module, shown to people in the list of processes; empty for none.
    pub module: String,
    /// What to start.
    pub image: ExecutableImage,
    /// The array of handles that it is for. Those of one array share a job, where a job can be so
    /// large.
    pub array: Option<u64>,
    /// Told first: it runs, or why it could not be started.
    pub started: Reply<Started>,
    /// Told last, and only if it ran: how it ended. Withdrawn (no message at all) when the start
    /// failed.
    pub exited: Reply<Exited>,
}

/// Those limits of an executable that the server must hold or explain; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecutableLimits {
    /// Private memory of one process.
    pub memory_max: Option<Bytes>,
    /// Time of one call, in seconds; the server ends an executable that takes longer.
    pub call_seconds_max: Option<u64>,
    /// Whether nobody has said how many threads its libraries run: the server may tell it, with each
    /// call.
    pub threads_are_free: bool,
    /// Until when it is to begin calls: a later one would not have the time that it asks for.
    pub takes_calls_until: Option<Instant>,
}

/// The connection to an executable.
pub enum Line {
    /// Our end of a Unix stream socket pair or of a TCP connection, blocking and close-on-exec; the
    /// executable has the other end as descriptor 0.
    Inherited(OwnedFd),
    /// What leads to another host.
    Stream(Box<dyn ByteStream>),
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Inherited(descriptor) => f.debug_tuple("Inherited").field(descriptor).finish(),
            Line::Stream(stream) => f.debug_tuple("Stream").field(stream.peer()).finish(),
        }
    }
}

/// An executable runs.
#[derive(Debug)]
pub struct Started {
    /// Which one.
    pub executable: ExecutableId,
    /// What leads to it.
    pub line: Line,
    /// Its process id, on the host where it runs, for people and logs.
    pub pid: u32,
    /// What it may use.
    pub limits: ExecutableLimits,
}

/// An executable has ended; no process of its group is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exited {
    /// Which one.
    pub executable: ExecutableId,
    /// By status or by signal.
    pub how: ExitHow,
    /// Which of the processes that MPI started ended so, and all others by that, if it is known.
    pub rank: Option<u32>,
    /// Whether it lived when it was first stopped: then its end was not its own doing.
    pub was_stopped: bool,
    /// The last lines it wrote to standard error. Times are those of the process that reports,
    /// whose clocks agree.
    pub stderr: OutputTail,
    /// The last lines it wrote to standard output.
    pub stdout: OutputTail,
}

/// How a process ended. Reads as `exited with status 3` or `killed by signal 11 (SIGSEGV), core
/// dumped`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitHow {
    /// It called `exit` with this status, or returned from `main`.
    Status(i32),
    /// A signal ended it.
    Signal {
        /// The signal's number.
        number: i32,
        /// Its name (`SIGSEGV`); `signal` for one without a name.
        name: &'static str,
        /// Whether a core file was written.
        core: bool,
    },
    /// Nobody can say: the host that it ran on is out of reach, or gone.
    Lost,
}

impl ExitHow {
    /// A signal ended it: the signals that end processes have names; their numbers differ between
    /// systems.
    pub fn of_signal(number: i32, core: bool) -> ExitHow {
        const NAMES: [(Signal, &str); 21] = [
            (Signal::HUP, "SIGHUP"),
            (Signal::INT, "SIGINT"),
            (Signal::QUIT, "SIGQUIT"),
            (Signal::ILL, "SIGILL"),
            (Signal::TRAP, "SIGTRAP"),
            (Signal::ABORT, "SIGABRT"),
            (Signal::BUS, "SIGBUS"),
            (Signal::FPE, "SIGFPE"),
            (Signal::KILL, "SIGKILL"),
            (Signal::USR1, "SIGUSR1"),
            (Signal::SEGV, "SIGSEGV"),
            (Signal::USR2, "SIGUSR2"),
            (Signal::PIPE, "SIGPIPE"),
            (Signal::ALARM, "SIGALRM"),
            (Signal::TERM, "SIGTERM"),
            (Signal::XCPU, "SIGXCPU"),
            (Signal::XFSZ, "SIGXFSZ"),
            (Signal::VTALARM, "SIGVTALRM"),
            (Signal::PROF, "SIGPROF"),
            (Signal::IO, "SIGIO"),
            (Signal::SYS, "SIGSYS"),
        ];
        let name = NAMES
            .iter()
            .find(|(known, _)| known.as_raw() == number)
            .map_or("signal", |(_, name)| name);
        ExitHow::Signal { number, name, core }
    }
}

impl fmt::Display for ExitHow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExitHow::Status(status) => write!(f, "exited with status {status}"),
            ExitHow::Signal { number, name, core } => {
                write!(
                    f,
                    "killed by signal {number} ({name}){}",
                    if *core { ", core dumped" } else { "" }
                )
            }
            ExitHow::Lost => f.write_str("lost with its host"),
        }
    }
}

/// Sends requests to the spawner of this node.
#[derive(Clone)]
pub struct SpawnerHandle {
    port: Port<Request>,
    capacity: Capacity,
}

impl SpawnerHandle {
    /// A handle on whatever serves `port`.
    pub fn new(port: Port<Request>) -> Self {
        SpawnerHandle { port, capacity: Capacity::default() }
    }

    /// The same, of a spawner that says what its host has.
    pub fn with_capacity(self, capacity: Capacity) -> Self {
        SpawnerHandle { capacity, ..self }
    }

    /// What its host has to give.
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// Starts an executable; whatever happens, also a spawner that is busy or gone, arrives at
    /// `start.started`.
    pub fn start(&self, start: Start) {
        let Err(refused) = self.port.try_send(Request::Start(Box::new(start))) else { return };
        if let Request::Start(start) = refused.message {
            start.exited.withdraw();
            start.started.answer(Err(refused.refusal.error("start an executable")));
        }
    }

    /// Ends an executable.
    ///
    /// # Errors
    /// `LimitExceeded` (retryable) when too many requests wait; `ShuttingDown` when the spawner is
    /// gone, which ends its executables itself.
    pub fn stop(&self, executable: ExecutableId, grace: Duration) -> farcall_base::Result<()> {
        let request = Request::Stop { executable, grace };
        self.port.try_send(request).map_err(|refused| refused.refusal.error("stop an executable"))
    }

    /// Listens to what an executable writes; whatever happens, also a spawner that is busy or gone,
    /// arrives at `done`.
    pub fn listen(&self, executable: ExecutableId, listener: Port<Said>, done: Reply<()>) {
        let Err(refused) = self.port.try_send(Request::Listen { executable, listener, done })
        else {
            return;
        };
        if let Request::Listen { done, .. } = refused.message {
            done.answer(Err(refused.refusal.error("listen to an executable")));
        }
    }

    /// Ends that; whatever happens, `done` is answered when nothing more comes.
    pub fn hush(&self, executable: ExecutableId, done: Reply<()>) {
        let Err(refused) = self.port.try_send(Request::Hush { executable, done }) else { return };
        if let Request::Hush { done, .. } = refused.message {
            done.answer(Err(refused.refusal.error("listen to an executable")));
        }
    }
}
