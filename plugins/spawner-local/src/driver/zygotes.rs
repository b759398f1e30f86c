//! The zygotes: which there are, what each was asked for, and what came of it.
//!
//! A zygote serves one module in one environment. It is started with the module's first executable,
//! while it is small, and ends when it had nothing to do for a while, or when the module was
//! published again. Whatever goes wrong with one, executables are started without it.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use farcall_base::{Error, ExecutableId, Instant, Result};
use farcall_services::spawner::zygote::{
    Packet, Received, Wait, ZYGOTE_VARIABLE, ZygoteLink, write_load,
};
use farcall_services::spawner::{ExitHow, SOCKET_VARIABLE};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use super::descent;
use super::environment::prepare;
use super::leash::Leash;
use super::meeting::Meeting;
use super::memory_cgroup::MemoryCgroup;
use super::process::{Near, Process, ends, exit_how};
use super::rooms::Room;
use crate::state::Settings;
use crate::step::{CommandLine, Load};

/// Starts that one zygote was sent and has not answered. Far fewer than its socket holds: neither
/// end ever waits for room while the other does.
const ASKED_MAX: usize = 64;

/// Names a zygote; never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ZygoteId(u64);

/// What a zygote serves: executables that are to be anything else are not its children.
#[derive(Clone, PartialEq)]
struct Kind {
    command: Box<CommandLine>,
    load: Load,
}

/// An executable that somebody wants.
pub(super) struct Wanted {
    pub(super) executable: ExecutableId,
    pub(super) command: Box<CommandLine>,
    /// Its module's, kept as long as it lives.
    pub(super) room: Arc<Room>,
    /// Where it is met, if MPI starts it.
    pub(super) meeting: Option<Arc<Meeting>>,
}

/// What has come of a start or an end.
pub(super) enum News {
    /// It runs.
    Born(ExecutableId, Box<Process>),
    /// It cannot be started.
    Failed(ExecutableId, Error),
    /// No zygote starts it: it is to be spawned.
    Refused(Wanted),
    /// Its end was reported before; now it is reaped.
    Reaped(ExecutableId, ExitHow),
}

/// One zygote.
struct Zygote {
    kind: Kind,
    child: Child,
    pidfd: OwnedFd,
    link: ZygoteLink,
    loaded: bool,
    /// To be asked for.
    wanted: VecDeque<Wanted>,
    /// Asked for, with our ends of what they were given.
    asked: VecDeque<(Wanted, Near)>,
    /// To be reaped, by process.
    ended: BTreeMap<i32, ExecutableId>,
    /// Executables of it that run or are being reaped.
    living: usize,
    /// Since when nothing of it lives.
    idle_since: Instant,
    /// Its module was published again while it was busy.
    outdated: bool,
    /// Ends its group with this server.
    _leash: Option<Leash>,
    /// Holds it to its memory.
    _memory: Option<MemoryCgroup>,
    /// Its own, too: it is counted there.
    _room: Arc<Room>,
}

/// All of them.
#[derive(Default)]
pub(super) struct Zygotes {
    table: BTreeMap<ZygoteId, Zygote>,
    /// What no zygote can serve; the oldest is forgotten first.
    unfit: VecDeque<Kind>,
    /// Of what zygotes were lost while they loaded, once for each; the oldest is forgotten first.
    lost: VecDeque<Kind>,
    last: u64,
    news: VecDeque<News>,
}

impl Zygotes {
    /// Has a zygote start `wanted`, or says in the news that none does.
    pub(super) fn start(&mut self, settings: &Settings, now: Instant, wanted: Wanted, load: Load) {
        let kind = Kind { command: wanted.command.clone(), load };
        self.retire(&kind);
        let known = self.table.iter().find(|(_, zygote)| zygote.kind == kind).map(|(id, _)| *id);
        let found = match known {
            Some(id) => Some(id),
            None if self.unfit.contains(&kind) || !self.make_room(settings.zygotes_max) => None,
            None => self.add(settings, kind, &wanted, now),
        };
        let Some(zygote) = found.and_then(|id| self.table.get_mut(&id)) else {
            return self.news.push_back(News::Refused(wanted));
        };
        zygote.outdated = false;
        zygote.wanted.push_back(wanted);
        zygote.ask(settings, &mut self.news);
    }

    /// Those of the module's older publications go as soon as nothing of them lives.
    fn retire(&mut self, kind: &Kind) {
        // Those for calls that ask for other resources are as good as they were.
        let is_as_new = |other: &Kind| {
            other.load == kind.load && other.command.environment == kind.command.environment
        };
        let outdated = |other: &Kind| other.load.module == kind.load.module && !is_as_new(other);
        self.table
            .values_mut()
            .for_each(|zygote| zygote.outdated = outdated(&zygote.kind) || zygote.outdated);
        self.table.retain(|_, zygote| zygote.is_busy() || !outdated(&zygote.kind));
        self.unfit.retain(|other| !outdated(other));
        self.lost.retain(|other| !outdated(other));
    }

    /// Whether there is room for one more; one that is idle makes some.
    fn make_room(&mut self, zygotes_max: usize) -> bool {
        if self.table.len() >= zygotes_max {
            let idle = self.table.iter().filter(|(_, zygote)| !zygote.is_busy());
            let oldest = idle.min_by_key(|(_, zygote)| zygote.idle_since).map(|(id, _)| *id);
            oldest.map(|id| self.table.remove(&id));
        }
        self.table.len() < zygotes_max
    }

    fn add(
        &mut self,
        settings: &Settings,
        kind: Kind,
        wanted: &Wanted,
        now: Instant,
    ) -> Option<ZygoteId> {
        // Whatever is in the way is in the way of a plain start too, which reports it.
        let zygote = Zygote::launch(settings, kind, wanted, now).ok()?;
        self.last += 1;
        self.table.insert(ZygoteId(self.last), zygote);
        Some(ZygoteId(self.last))
    }

    /// Takes what happened.
    pub(super) fn news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    pub(super) fn sources(&self) -> impl Iterator<Item = (ZygoteId, BorrowedFd<'_>)> {
        self.table.iter().map(|(id, zygote)| (*id, zygote.link.as_fd()))
    }

    /// When the next idle one ends.
    pub(super) fn next_end(&self, settings: &Settings) -> Option<Instant> {
        let idle = self.table.values().filter(|zygote| !zygote.is_busy());
        idle.map(|zygote| zygote.idle_since + settings.zygote_idle()).min()
    }

    /// Ends those that were idle for long enough.
    pub(super) fn end_idle(&mut self, settings: &Settings, now: Instant) {
        self.table.retain(|_, zygote| {
            zygote.is_busy() || zygote.idle_since + settings.zygote_idle() > now
        });
    }

    /// Takes what a zygote says.
    pub(super) fn collect(&mut self, settings: &Settings, now: Instant, id: ZygoteId) {
        loop {
            let Some(zygote) = self.table.get_mut(&id) else { return };
            match zygote.link.receive(Wait::No) {
                Ok(Received::Nothing) => {
                    zygote.ask(settings, &mut self.news);
                    if zygote.outdated && !zygote.is_busy() {
                        self.table.remove(&id);
                    }
                    return;
                }
                Ok(Received::Packet(Packet::Loaded, _)) => zygote.loaded = true,
                Ok(Received::Packet(Packet::Started, mut descriptors)) => {
                    let Some((wanted, near)) = zygote.asked.pop_front() else {
                        return self.lose(id);
                    };
                    zygote.living += 1;
                    let executable = wanted.executable;
                    let parent = (id, Pid::from_child(&zygote.child));
                    self.news.push_back(
                        match Process::born(parent, descriptors.pop(), near, &wanted) {
                            Ok(process) => News::Born(executable, Box::new(process)),
                            // What it forked has ended with it, and is nobody's child any more.
                            Err(_) if zygote.has_ended() => {
                                zygote.wanted.push_front(wanted);
                                return self.lose(id);
                            }
                            Err(error) => News::Failed(executable, error),
                        },
                    );
                }
                Ok(Received::Packet(Packet::NotStarted { errno }, _)) => {
                    let Some((wanted, _)) = zygote.asked.pop_front() else { return self.lose(id) };
                    let error = Error::system(
                        "start an executable",
                        std::io::Error::from_raw_os_error(errno),
                    )
                    .fix("check the server's limits of processes, file descriptors and memory");
                    self.news.push_back(News::Failed(wanted.executable, error));
                }
                Ok(Received::Packet(Packet::Ended { pid, status }, _)) => {
                    zygote.living = zygote.living.saturating_sub(1);
                    zygote.idle_since = now;
                    if let Some(executable) = zygote.ended.remove(&pid) {
                        self.news.push_back(News::Reaped(
                            executable,
                            exit_how(ExitStatus::from_raw(status)),
                        ));
                    }
                }
                Ok(Received::Packet(Packet::Unfit, _)) => {
                    self.table
                        .get(&id)
                        .map(|zygote| zygote.kind.clone())
                        .into_iter()
                        .for_each(|kind| self.forgo(kind));
                    return self.lose(id);
                }
                // Gone, or not talking sense.
                _ => return self.lose(id),
            }
        }
    }

    /// A zygote ends: its executables end with it, and what it was to start is started without it.
    /// Somebody may have killed one that was loading: so another is tried, and whoever fails as
    /// often as that is unfit.
    fn lose(&mut self, id: ZygoteId) {
        let Some(mut zygote) = self.table.remove(&id) else { return };
        let asked = std::mem::take(&mut zygote.asked).into_iter().map(|(wanted, _)| wanted);
        let wanted = std::mem::take(&mut zygote.wanted);
        self.news.extend(asked.chain(wanted).map(News::Refused));
        self.news.extend(
            std::mem::take(&mut zygote.ended)
                .into_values()
                .map(|executable| News::Reaped(executable, lost())),
        );
        if !zygote.loaded {
            let kind = zygote.kind.clone();
            self.lost.push_back(kind.clone());
            if self.lost.iter().filter(|other| **other == kind).count() >= TRIES_MAX {
                self.lost.retain(|other| *other != kind);
                self.forgo(kind);
            }
            if self.lost.len() > UNFIT_MAX {
                self.lost.pop_front();
            }
        }
    }

    /// No zygote is tried for these any more.
    fn forgo(&mut self, kind: Kind) {
        if !self.unfit.contains(&kind) {
            self.unfit.push_back(kind);
        }
        if self.unfit.len() > UNFIT_MAX {
            self.unfit.pop_front();
        }
    }

    /// Has an executable that has ended reaped, by the process that can.
    pub(super) fn reap(&mut self, id: ZygoteId, executable: ExecutableId, pid: i32) {
        let Some(zygote) = self.table.get_mut(&id) else {
            return self.news.push_back(News::Reaped(executable, lost()));
        };
        zygote.ended.insert(pid, executable);
        if zygote.link.send(Packet::Reap { pid }, &[]).is_err() {
            self.lose(id);
        }
    }

    /// Gives up a start that nothing has come of. Its zygote may hang in the code that it loads:
    /// then it is ended.
    pub(super) fn give_up(&mut self, executable: ExecutableId) {
        let waits = |zygote: &Zygote| {
            let asked = zygote.asked.iter().map(|(wanted, _)| wanted);
            !zygote.loaded
                && asked.chain(&zygote.wanted).any(|wanted| wanted.executable == executable)
        };
        let hanging = self.table.iter().find(|(_, zygote)| waits(zygote)).map(|(id, _)| *id);
        if let Some(id) = hanging {
            self.table
                .get(&id)
                .map(|zygote| zygote.kind.clone())
                .into_iter()
                .for_each(|kind| self.forgo(kind));
            self.lose(id);
        }
    }
}

/// Zygotes of one kind that may be lost while they load.
const TRIES_MAX: usize = 3;
/// For so long the end of a zygote is waited for that has lost its children.
const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Kinds remembered as unfit.
const UNFIT_MAX: usize = 64;

/// How an executable ended whose zygote is gone: the system killed it.
fn lost() -> ExitHow {
    exit_how(ExitStatus::from_raw(libc::SIGKILL))
}

impl Zygote {
    /// Starts one: by `posix_spawn`, whose cost does not grow with the server's memory.
    fn launch(settings: &Settings, kind: Kind, wanted: &Wanted, now: Instant) -> Result<Zygote> {
        let (link, theirs) = ZygoteLink::pair()?;
        let memory = write_load(&kind.load.publication())?;
        let mut command = Command::new(&kind.command.program);
        let held = prepare(&mut command, wanted, settings)?;
        let mut child = command
            .env_remove(SOCKET_VARIABLE)
            .env(ZYGOTE_VARIABLE, "0")
            .stdin(Stdio::from(theirs))
            // What a library says when it is loaded is of no call. If it crashes then, a plain
            // start shows it.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|source| Error::system("start a zygote", source))?;
        let pidfd = match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(errno) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(Error::system("watch a zygote", errno.into()));
            }
        };
        let zygote = Zygote {
            kind,
            _leash: Leash::of(Pid::from_child(&child)),
            child,
            pidfd,
            link,
            loaded: false,
            wanted: VecDeque::new(),
            asked: VecDeque::new(),
            ended: BTreeMap::new(),
            living: 0,
            idle_since: now,
            outdated: false,
            _memory: held,
            _room: wanted.room.clone(),
        };
        zygote.link.send(Packet::Load, &[memory.as_fd()])?;
        Ok(zygote)
    }

    /// Whether it has ended, or is about to: its children are another's a moment before its
    /// descriptor says so.
    fn has_ended(&self) -> bool {
        let mut watched = [PollFd::new(&self.pidfd, PollFlags::IN)];
        poll(&mut watched, Some(&MOMENT)).is_ok_and(|count| count > 0)
    }

    fn is_busy(&self) -> bool {
        self.living > 0 || !self.asked.is_empty() || !self.wanted.is_empty()
    }

    /// Asks for what is wanted, as far as it may.
    fn ask(&mut self, settings: &Settings, news: &mut VecDeque<News>) {
        while self.asked.len() < ASKED_MAX
            && let Some(wanted) = self.wanted.pop_front()
        {
            let sent = ends(settings.connection).and_then(|(near, far)| {
                let descriptors: Vec<BorrowedFd<'_>> = far.iter().map(AsFd::as_fd).collect();
                self.link.send(Packet::Start, &descriptors)?;
                Ok(near)
            });
            match sent {
                Ok(near) => self.asked.push_back((wanted, near)),
                // Without descriptors a plain start fails too, and says why.
                Err(_) => news.push_back(News::Refused(wanted)),
            }
        }
    }
}

impl Drop for Zygote {
    fn drop(&mut self) {
        let own = Pid::from_child(&self.child);
        // While it lives, what its code has started and left behind comes to it.
        descent::kill_descendants(own);
        descent::signal_group(&self.pidfd, own, Signal::KILL);
        let _ = self.child.wait();
    }
}
