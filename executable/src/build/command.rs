//! Runs a compiler: no shell, its own process group, bounded time, memory and output. It never
//! outlives this process.

use std::io::{PipeReader, PipeWriter, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Weak;
use std::thread;
use std::time::{Duration, Instant};

use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_services::spawner::rules::{RULES_VARIABLE, Rules};

use super::confined::Confinement;

/// The first errors are the ones that matter; the rest is read and dropped.
const MESSAGES_BYTES_MAX: usize = 16 << 10;
/// `fcntl` command of Linux (fcntl.h) that names the signal of an asynchronous descriptor; the
/// `libc` crate lacks both.
const F_SETSIG: libc::c_int = 10;
/// As above: names whom it is sent to.
const F_SETOWN: libc::c_int = 8;
/// How often a running compiler is looked at.
const POLL: Duration = Duration::from_millis(2);

/// A program, its arguments and its limits.
#[derive(Clone, Debug)]
pub(crate) struct Run<'a> {
    /// Program and arguments.
    pub words: &'a [String],
    /// Directory it runs in.
    pub directory: &'a Path,
    /// Text for its standard input.
    pub input: Option<&'a str>,
    /// Most bytes of standard output.
    pub output_bytes_max: usize,
    /// Longest time it may take.
    pub time_max: Duration,
    /// Most address space of each of its processes.
    pub address_space_max: Bytes,
    /// Who waits for it.
    pub giver: &'a Giver,
    /// What it may read and write, and by what it is held to that; none where its text is its
    /// user's own.
    pub confined: Option<Confined<'a>>,
}

/// Whoever waits for something that takes long, as long as he is there, and until when. By default
/// there is nobody to go away, and time enough.
#[derive(Clone, Debug, Default)]
pub struct Giver {
    /// Lives as long as whoever gave the order.
    pub there: Option<Weak<()>>,
    /// When all that he ordered is to be done.
    pub until: Option<Instant>,
}

impl Giver {
    /// Whether nobody waits any more.
    pub fn is_gone(&self) -> bool {
        self.there.as_ref().is_some_and(|there| there.strong_count() == 0)
    }

    /// Whether the time for all of it is over.
    pub fn is_late(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }
}

/// Variables that compilers go by: where programs, headers and libraries are, and languages.
const VARIABLES: [&str; 14] = [
    "C_INCLUDE_PATH",
    "COMPILER_PATH",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "FARCALL_LIBRARY_DIRECTORY",
    "GCC_EXEC_PREFIX",
    "HOME",
    "LANG",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "LD_RUN_PATH",
    "PATH",
    "SOURCE_DATE_EPOCH",
    "TZ",
];
/// Beginnings of such names: those of the wrappers of MPIs.
const VARIABLE_BEGINNINGS: [&str; 5] = ["I_MPI_", "MPICH_", "OMPI_", "OPAL_", "LC_"];

fn is_compilers(name: &str) -> bool {
    VARIABLES.contains(&name) || VARIABLE_BEGINNINGS.iter().any(|begin| name.starts_with(begin))
}

/// The confinement of one run.
#[derive(Clone, Debug)]
pub(crate) struct Confined<'a> {
    /// By what.
    pub by: &'a Confinement,
    /// To what.
    pub rules: Rules,
    /// Its folder for temporary files.
    pub scratch: &'a Path,
}

/// What a program that came to its end has left.
#[derive(Debug)]
pub(crate) struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output.
    pub output: Vec<u8>,
    /// Standard error, its first kilobytes.
    pub messages: String,
}

impl Run<'_> {
    /// Runs it. Fails with `Unavailable` where there is no such program, `TimedOut`, and
    /// `LimitExceeded` for output.
    pub fn finish(&self) -> Result<Finished> {
        self.find()?;
        let (mut child, _leash) = self.start()?;
        let mut stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("standard output is piped");
        let stderr = child.stderr.take().expect("standard error is piped");
        let (status, output, messages) = thread::scope(|scope| {
            // Three pipes, three threads: whichever the program wants to use next, it never waits
            // for us.
            scope.spawn(move || {
                if let (Some(pipe), Some(text)) = (&mut stdin, self.input) {
                    // A compiler that gives up early closes its end; its own message says why.
                    let _ = std::io::Write::write_all(pipe, text.as_bytes());
                }
            });
            let output =
                scope.spawn(|| read_bounded(stdout, self.output_bytes_max, Surplus::Stops));
            let messages =
                scope.spawn(|| read_bounded(stderr, MESSAGES_BYTES_MAX, Surplus::IsDropped));
            let status = self.wait(&mut child);
            (status, output.join().unwrap_or_default(), messages.join().unwrap_or_default())
        });
        let status = status?;
        if output.dropped > 0 {
            let message = format!("more than {} bytes of output", self.output_bytes_max);
            return Err(Error::new(ErrorKind::LimitExceeded, "run the compiler", message)
                .with("command", self.shown()));
        }
        Ok(Finished { status, output: output.bytes, messages: messages.text() })
    }

    /// What confines a program cannot say as well that there is none.
    fn find(&self) -> Result<()> {
        let program = Path::new(&self.words[0]);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_there = || std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
        if self.confined.is_none() || is_there() {
            return Ok(());
        }
        Err(self.not_started(&self.words[0], std::io::ErrorKind::NotFound.into()))
    }

    fn start(&self) -> Result<(Child, Leash)> {
        let program = self.words.first().expect("a command has a program");
        let mut command = self.command();
        command.current_dir(self.directory);
        // One language for messages, because some of them are matched; one group, so that a kill
        // reaches cc1 too.
        command.env("LC_ALL", "C").process_group(0);
        let input = if self.input.is_some() { Stdio::piped() } else { Stdio::null() };
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let leash = Leash::new(&mut command, self.address_space_max)
            .map_err(|error| Error::system("run the compiler", error))?;
        let child = command.spawn().map_err(|error| self.not_started(program, error))?;
        Ok((child, leash))
    }

    /// The program itself, or what confines itself and becomes it.
    fn command(&self) -> Command {
        let confining = self.confined.iter().flat_map(|confined| &confined.by.command);
        let mut words = confining.chain(self.words);
        let mut command = Command::new(words.next().expect("a command has a program"));
        command.args(words);
        if let Some(confined) = &self.confined {
            // What else is in the server's environment is none of their business.
            let kept =
                std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_compilers));
            let kept: Vec<_> = kept.collect();
            command.env_clear().envs(kept);
            command.env(RULES_VARIABLE, confined.rules.to_text()).env("TMPDIR", confined.scratch);
        }
        command
    }

    fn not_started(&self, program: &str, error: std::io::Error) -> Error {
        if error.kind() != std::io::ErrorKind::NotFound {
            return Error::system("run the compiler", error).with("command", self.shown());
        }
        if !self.directory.is_dir() {
            return Error::new(
                ErrorKind::NotFound,
                "run the compiler",
                "its directory does not exist",
            )
            .with("directory", self.directory.display());
        }
        let missing = Error::new(
            ErrorKind::Unavailable,
            "run the compiler",
            format!("there is no \"{program}\" on this machine"),
        );
        if program.starts_with("mpi") {
            return missing.fix(
                "routines with Backend \"MPI\" are compiled by an MPI's own compilers: install \
                 one (Debian: `apt install openmpi-bin libopenmpi-dev`; on a cluster: `module \
                 load` it before the server starts)",
            );
        }
        missing.fix(
            "install a compiler (Debian: `apt install gcc g++ binutils`; Red Hat: `dnf install \
             gcc gcc-c++ binutils`), or publish a shared library with `Calls`, which needs none",
        )
    }

    /// Waits for the end, or brings it about when the time is over; then ends whatever the program
    /// has started, because a process left behind would hold the pipes open.
    fn wait(&self, child: &mut Child) -> Result<ExitStatus> {
        let begin = Instant::now();
        let mut ended = has_ended(child);
        while !ended
            && begin.elapsed() < self.time_max
            && !self.giver.is_gone()
            && !self.giver.is_late()
        {
            thread::sleep(POLL);
            ended = has_ended(child);
        }
        let group = i32::try_from(child.id()).expect("a process id is positive");
        // SAFETY: a plain system call. The child is not reaped yet, so the number is still that of
        // its group.
        unsafe { libc::kill(-group, libc::SIGKILL) };
        let status = child.wait().map_err(|error| Error::system("run the compiler", error))?;
        if ended { Ok(status) } else { Err(self.not_done()) }
    }

    fn not_done(&self) -> Error {
        if self.giver.is_gone() {
            let message = "it is no longer needed";
            return Error::new(ErrorKind::Cancelled, "run the compiler", message)
                .with("command", self.shown());
        }
        if self.giver.is_late() {
            let message = "the time limit for the whole module has passed";
            return Error::new(ErrorKind::TimedOut, "run the compiler", message)
                .with("command", self.shown())
                .fix(
                    "make several modules of it, or link its code before it is published: \
                    Library \"./libmine.so\"",
                );
        }
        let message = format!("not done after {} s", self.time_max.as_secs_f32());
        Error::new(ErrorKind::TimedOut, "run the compiler", message)
            .with("command", self.shown())
            .fix("look for code that a compiler cannot finish, or allow it more time")
    }

    /// The command as one would type it.
    pub fn shown(&self) -> String {
        let words = self.words.iter().map(|word| {
            if word.contains([' ', '\'', '"', '$']) { format!("'{word}'") } else { word.clone() }
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Ends the program, and all of its process group, when this process ends in whatever way: a build
/// that was interrupted must not go on alone.
///
/// A death signal (`PR_SET_PDEATHSIG`) would reach `cc`, but not the `cc1` that `cc` starts. So the
/// group inherits the reading end of a pipe on which nothing is ever written, and which is set up
/// to send SIGKILL to the group at the only thing that can happen there: that the last writing end,
/// ours, is closed.
struct Leash {
    _end: PipeWriter,
    /// Closed here only after the start: the program inherits it.
    _inherited: PipeReader,
}

impl Leash {
    /// Ties and bounds whatever `command` starts, which must be in a process group of its own.
    fn new(command: &mut Command, address_space_max: Bytes) -> std::io::Result<Leash> {
        let (inherited, end) = std::io::pipe()?;
        let descriptor = inherited.as_raw_fd();
        // SAFETY: between fork and exec the closure makes system calls only; the descriptor is open
        // until the leash goes.
        unsafe {
            command.pre_exec(move || {
                bound_memory(address_space_max).and_then(|()| tie_group(descriptor))
            })
        };
        Ok(Leash { _end: end, _inherited: inherited })
    }
}

/// Runs in the new process, when its group is set.
fn tie_group(descriptor: RawFd) -> std::io::Result<()> {
    // SAFETY: plain system calls on an open descriptor.
    let done = unsafe {
        libc::fcntl(descriptor, F_SETOWN, -libc::getpgrp()) == 0
            && libc::fcntl(descriptor, F_SETSIG, libc::SIGKILL) == 0
            && libc::fcntl(descriptor, libc::F_SETFL, libc::O_ASYNC) == 0
            // Now it stays open at exec. This process's copy of the writing end does not: should
            // ours be closed already, then closing that copy is what sends the signal.
            && libc::fcntl(descriptor, libc::F_SETFD, 0) == 0
    };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Runs in the new process; what it starts inherits the limit.
fn bound_memory(Bytes(most): Bytes) -> std::io::Result<()> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::As);
    limit.current = Some(limit.current.map_or(most, |current| current.min(most)));
    setrlimit(Resource::As, limit).map_err(Into::into)
}

/// Whether the child has come to its end; it stays to be waited for, so that its id is nobody
/// else's.
fn has_ended(child: &Child) -> bool {
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: an all-zero `siginfo_t` is valid, and `waitid` fills it in; `si_pid` stays 0 while
    // the child runs.
    unsafe {
        let mut information: libc::siginfo_t = std::mem::zeroed();
        let result = libc::waitid(libc::P_PID, child.id(), &raw mut information, flags);
        // An error other than an interruption: `wait` will say what it is.
        (result == 0 && information.si_pid() != 0)
            || (result != 0
                && std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted)
    }
}

#[derive(Default)]
struct Bounded {
    bytes: Vec<u8>,
    dropped: usize,
}

impl Bounded {
    /// Whole lines, and how much is missing.
    fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.bytes).into_owned();
        if self.dropped > 0 {
            text.truncate(text.rfind('\n').map_or(text.len(), |end| end + 1));
            text += &format!("… and {} more bytes\n", self.dropped);
        }
        text
    }
}

/// What becomes of output beyond its bound.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Surplus {
    /// It is read and forgotten, so that the program never waits for a full pipe.
    IsDropped,
    /// The pipe is closed, and SIGPIPE ends a program that goes on.
    Stops,
}

/// Reads to the end and keeps the first `bytes_max`.
fn read_bounded(mut pipe: impl Read, bytes_max: usize, surplus: Surplus) -> Bounded {
    let mut kept = Bounded::default();
    let mut chunk = [0u8; 16 << 10];
    loop {
        match pipe.read(&mut chunk) {
            Ok(0) => return kept,
            Ok(count) => {
                let room = (bytes_max - kept.bytes.len()).min(count);
                kept.bytes.extend_from_slice(&chunk[..room]);
                kept.dropped += count - room;
                if kept.dropped > 0 && surplus == Surplus::Stops {
                    return kept;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return kept,
        }
    }
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
