//! One process: launch, pipes, signals, reaping. The OS-specific module of this plugin (pidfd:
//! Linux 5.3).

mod connecting;
mod names;

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_services::spawner::rules::Missing;
use farcall_services::spawner::{ExecutableLimits, ExitHow, Output, files_folder};
use farcall_system::temporary;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::descent;
use super::environment::{has_threads, prepare};
use super::leash::Leash;
use super::meeting::Meeting;
use super::memory_cgroup::MemoryCgroup;
use super::rooms::{Room, new_name};
use super::zygotes::{Wanted, ZygoteId};
use crate::limits::Limits;
use crate::state::Settings;
use crate::step::Signal;
use connecting::connect;
pub(super) use connecting::ends;
use names::cannot_start;
pub(super) use names::{exit_how, shown_name};

/// Bytes taken from a pipe at a time: as much as a pipe holds by default.
const READ_BYTES_MAX: usize = 64 << 10;

/// Leads every process to its own program, also when the file was replaced or removed.
pub(super) const OWN_PROGRAM: &str = "/proc/self/exe";

/// Reads after a process has ended. Its pipes hold no more; a process that left the group could
/// write for ever.
const DRAIN_READS_MAX: usize = 4;

/// Flag of a process that is being taken down (the kernel's sched.h).
const PF_EXITING: u64 = 4;

/// Connections of others taken from a port that is there for one.
const STRANGERS_MAX: usize = 64;

/// Whose child a process is.
enum Origin {
    /// Ours.
    Spawned(Child),
    /// A zygote's, which reaps it for us.
    Zygote(ZygoteId),
}

/// How far a process is from being forgotten.
pub(super) enum Reaped {
    /// It has not ended.
    NotYet,
    /// It has ended so.
    Done(ExitHow),
    /// It has ended, and its parent must reap it.
    By(ZygoteId, i32),
}

/// Our ends of what an executable is given.
pub(super) struct Near {
    stream: OwnedFd,
    stdout: ChildStdout,
    stderr: ChildStderr,
}

/// A process of its own group. Dropped, it is killed, and reaped if it is our child.
pub(super) struct Process {
    origin: Origin,
    group: Pid,
    /// Readable when the process has ended; names this process even when its number is used again.
    pidfd: OwnedFd,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// Our end of its connection, until it is handed over.
    stream: Option<OwnedFd>,
    /// Where the first of its processes comes, if MPI starts it.
    meeting: Option<Arc<Meeting>>,
    /// Which that is.
    first: Option<Pid>,
    /// It was signalled on request while it lived.
    stopped: bool,
    reaped: bool,
    limits: Limits,
    /// Whether a variable says how many threads its libraries run.
    has_threads: bool,
    /// Which share of the processors is its own.
    place: Option<usize>,
    /// Ends its group with this server.
    _leash: Option<Leash>,
    /// Holds it to its memory.
    _memory: Option<MemoryCgroup>,
    room: Arc<Room>,
}

impl Process {
    /// Starts a program with one end of a socket pair as its standard input.
    ///
    /// There is no code of ours between fork and exec on purpose: only then does the standard
    /// library use `posix_spawn`, whose cost does not grow with the server's memory. Hence the
    /// socket as descriptor 0, and limits that are set from outside right after the start; an
    /// executable itself asks to die with its parent.
    pub(super) fn launch(wanted: &Wanted, settings: &Settings) -> Result<Process> {
        let (ours, theirs) = match &wanted.meeting {
            Some(meeting) => (None, Stdio::from(meeting.input()?)),
            None => connect(settings.connection)
                .map(|(ours, theirs)| (Some(ours), Stdio::from(theirs)))?,
        };
        let program = &wanted.command.program;
        if let Some(linked) = &wanted.command.linked {
            // It is the host that starts it; this says more clearly what is missing.
            std::fs::metadata(linked).map_err(|source| cannot_start(linked, source))?;
        }
        let mut command = Command::new(program);
        let memory = prepare(&mut command, wanted, settings)?;
        if wanted.meeting.is_none() {
            // What becomes a launcher begins a session instead, which only one can that leads no
            // group.
            command.process_group(0);
        }
        let mut child = command
            .stdin(theirs)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| cannot_start(program, source))?;
        let group = Pid::from_child(&child);
        let pidfd = match pidfd_open(group, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(errno) => {
                // Without a pidfd its end would go unseen.
                let _ = child.kill();
                let _ = child.wait();
                return Err(Error::system("watch an executable", errno.into()));
            }
        };
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        // From here on, an error drops the process, which ends it.
        let process = Process {
            origin: Origin::Spawned(child),
            group,
            pidfd,
            stdout,
            stderr,
            stream: ours,
            meeting: wanted.meeting.clone(),
            first: None,
            stopped: false,
            reaped: false,
            limits: wanted.command.limits.clone(),
            has_threads: has_threads(&wanted.command),
            place: None,
            // A launcher's keeper outlives us, to end what is in groups of its own.
            _leash: wanted.meeting.is_none().then(|| Leash::of(group)).flatten(),
            _memory: memory,
            room: wanted.room.clone(),
        };
        process.unblock_pipes()?;
        Ok(process)
    }

    /// A process that a zygote has forked. The zygote has run the module's code, so that nothing of
    /// what it says is believed: the descriptor says which process it is, and the system whose
    /// child that is, and which group it leads.
    pub(super) fn born(
        (zygote, parent): (ZygoteId, Pid),
        pidfd: Option<OwnedFd>,
        near: Near,
        wanted: &Wanted,
    ) -> Result<Process> {
        // It sends one. Nothing but want of descriptors here keeps it from arriving.
        let pidfd = pidfd
            .ok_or_else(|| Error::system("start an executable", rustix::io::Errno::MFILE.into()))?;
        let leader = descent::leader_of(&pidfd, parent)
            .map_err(|error| Error::system("start an executable", error))?;
        let group = leader.ok_or_else(|| {
            Error::new(
                ErrorKind::Protocol,
                "start an executable",
                "the process that its zygote sent is not a child of the zygote",
            )
        })?;
        let missing = wanted.command.rules.missing;
        let memory = wanted.room.memory(&wanted.command.limits, 1, missing)?;
        // It has begun nothing yet: it waits for its first call. One that has ended meanwhile needs
        // no holding.
        let held = memory.as_ref().map_or(Ok(()), |memory| memory.hold(group));
        if let Err(error) = held
            && missing == Missing::Refused
            && error.raw_os_error() != Some(libc::ESRCH)
        {
            return Err(Error::system("hold an executable to its memory", error));
        }
        let process = Process {
            origin: Origin::Zygote(zygote),
            group,
            pidfd,
            stdout: Some(near.stdout),
            stderr: Some(near.stderr),
            stream: Some(near.stream),
            meeting: None,
            first: None,
            stopped: false,
            reaped: false,
            limits: wanted.command.limits.clone(),
            has_threads: has_threads(&wanted.command),
            place: None,
            _leash: Leash::of(group),
            _memory: memory,
            room: wanted.room.clone(),
        };
        process.unblock_pipes()?;
        Ok(process)
    }

    fn unblock_pipes(&self) -> Result<()> {
        for (_, pipe) in self.pipes() {
            rustix::io::ioctl_fionbio(pipe, true)
                .map_err(|errno| Error::system("set up a pipe", errno.into()))?;
        }
        Ok(())
    }

    /// Keeps it to as many processors as it has threads, in the place of this number, if its module
    /// wants that. Before it has loaded anything, so that all its threads are kept there.
    pub(super) fn pin(&mut self, place: usize, settings: &Settings) {
        // What MPI starts is spread over the processors by MPI.
        if !self.limits.pin() || self.meeting.is_some() {
            return;
        }
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let processors: Vec<usize> =
            (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor)).collect();
        let threads = self.limits.threads(processors.len(), settings.executables_max) as usize;
        let mut own = CpuSet::new();
        for number in 0..threads.min(processors.len()) {
            own.set(processors[(place * threads + number) % processors.len()]);
        }
        if sched_setaffinity(Some(self.group), &own).is_ok() {
            self.place = Some(place);
        }
    }

    /// Where it was pinned.
    pub(super) fn place(&self) -> Option<usize> {
        self.place
    }

    pub(super) fn limits(&self) -> ExecutableLimits {
        let limits = self.limits.for_server();
        let are_free = limits.threads_are_free && !self.has_threads && self.meeting.is_none();
        ExecutableLimits { threads_are_free: are_free, ..limits }
    }

    pub(super) fn pid(&self) -> u32 {
        self.group.as_raw_nonzero().get().unsigned_abs()
    }

    pub(super) fn take_stream(&mut self) -> Option<OwnedFd> {
        self.stream.take()
    }

    /// The descriptor that is readable once the process has ended; none when that was seen.
    pub(super) fn end(&self) -> Option<BorrowedFd<'_>> {
        (!self.reaped).then(|| self.pidfd.as_fd())
    }

    /// Whether MPI starts its processes.
    pub(super) fn is_launched(&self) -> bool {
        self.meeting.is_some()
    }

    /// What is readable when the first of MPI's processes has come, until it has.
    pub(super) fn awaited(&self) -> Option<BorrowedFd<'_>> {
        self.meeting.as_ref().filter(|_| self.first.is_none()).map(|meeting| meeting.as_fd())
    }

    /// Takes its connection, if it has come.
    pub(super) fn meet(&mut self) -> Result<bool> {
        let Some(meeting) = self.meeting.as_ref().filter(|_| self.first.is_none()) else {
            return Ok(false);
        };
        let Some((stream, first)) = meeting.accept()? else { return Ok(false) };
        (self.stream, self.first) = (Some(stream), Some(first));
        Ok(true)
    }

    /// The outputs that are still open.
    pub(super) fn pipes(&self) -> impl Iterator<Item = (Output, BorrowedFd<'_>)> {
        let stdout = self.stdout.as_ref().map(|pipe| (Output::Stdout, pipe.as_fd()));
        let stderr = self.stderr.as_ref().map(|pipe| (Output::Stderr, pipe.as_fd()));
        stdout.into_iter().chain(stderr)
    }

    /// What is there to read, at most [`READ_BYTES_MAX`]; closes the pipe at its end.
    pub(super) fn read(&mut self, output: Output) -> Vec<u8> {
        let mut bytes = vec![0; READ_BYTES_MAX];
        let outcome = match (output, &mut self.stdout, &mut self.stderr) {
            (Output::Stdout, Some(pipe), _) => pipe.read(&mut bytes),
            (Output::Stderr, _, Some(pipe)) => pipe.read(&mut bytes),
            _ => return Vec::new(),
        };
        match outcome {
            Ok(count) if count > 0 => bytes.truncate(count),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => bytes.clear(),
            _ => {
                bytes.clear();
                self.close(output);
            }
        }
        bytes
    }

    fn close(&mut self, output: Output) {
        match output {
            Output::Stdout => self.stdout = None,
            Output::Stderr => self.stderr = None,
        }
    }

    /// The rest of an output of a process that has ended; closes the pipe.
    pub(super) fn drain(&mut self, output: Output) -> Vec<u8> {
        let mut all = Vec::new();
        for _ in 0..DRAIN_READS_MAX {
            let bytes = self.read(output);
            if bytes.is_empty() {
                break;
            }
            all.extend(bytes);
        }
        self.close(output);
        all
    }

    /// Signals the process and its group on request. One that has ended meanwhile is no error.
    pub(super) fn signal(&mut self, signal: Signal) {
        let ending = self.is_ending();
        self.stopped |= !ending;
        // A launcher that is ending the others says then whose fault it was.
        if !(ending && self.first.is_some() && signal == Signal::Terminate) {
            self.signal_group(signal);
        }
    }

    /// Whether it lived when it was signalled on request.
    pub(super) fn was_stopped(&self) -> bool {
        self.stopped
    }

    /// Whether it is on its way out, or further. Its connection closes on that way, some time
    /// before it has ended: so whoever stops it because of that is often too early for the pidfd to
    /// tell.
    fn is_ending(&self) -> bool {
        // Of MPI's processes, it is the first one's.
        let connected = self
            .first
            .map_or_else(|| self.pid(), |first| first.as_raw_nonzero().get().unsigned_abs());
        let status = std::fs::read_to_string(format!("/proc/{connected}/stat")).unwrap_or_default();
        // Behind the name, which may hold anything: state, parent, group, session, terminal, its
        // group, flags (proc(5)).
        let flags = status
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(6)?.parse::<u64>().ok());
        flags.is_none_or(|flags| flags & PF_EXITING != 0)
    }

    /// Kills what a launcher has started, which has groups of its own. Its session's number is
    /// nobody else's until it is reaped.
    fn end_launched(&self) {
        if let Some(meeting) = &self.meeting {
            descent::kill_session(self.group);
            meeting.end_all();
        }
    }

    /// Removes the files of its call. There are none but of a process that died while it ran one.
    /// Their folder is renamed first: removing them may take longer than until the next process has
    /// this one's number.
    fn remove_files(&self) {
        let files = self.room.folder().join(files_folder(self.pid()));
        let away = self.room.folder().with_file_name(new_name());
        // What cannot be renamed goes with the room.
        if std::fs::rename(files, &away).is_ok() {
            temporary::remove(&away);
        }
    }

    fn signal_group(&self, signal: Signal) {
        if !self.reaped {
            let signal = match signal {
                Signal::Terminate => rustix::process::Signal::TERM,
                Signal::Kill => rustix::process::Signal::KILL,
            };
            descent::signal_group(&self.pidfd, self.group, signal);
        }
    }

    /// If the process has ended: ends what it left of its group, reaps it or says who must, and
    /// says how it ended.
    ///
    /// The group is signalled before the reaping: until then no other group can have its number.
    pub(super) fn reap(&mut self) -> Reaped {
        self.signal_group(Signal::Kill);
        self.end_launched();
        let reaped = match &mut self.origin {
            Origin::Spawned(child) => child
                .try_wait()
                .ok()
                .flatten()
                .map_or(Reaped::NotYet, |status| Reaped::Done(exit_how(status))),
            Origin::Zygote(zygote) => Reaped::By(*zygote, self.group.as_raw_nonzero().get()),
        };
        self.reaped = !matches!(reaped, Reaped::NotYet);
        reaped
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.reaped {
            if self.meeting.is_some() {
                descent::kill_descendants(self.group);
            }
            self.signal_group(Signal::Kill);
            self.end_launched();
            if let Origin::Spawned(child) = &mut self.origin {
                let _ = child.wait();
            }
        }
        self.remove_files();
    }
}
