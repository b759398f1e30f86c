//! Where the first of the processes that MPI starts finds its server.
//!
//! An MPI's launcher passes on no descriptor. So its processes dial: by a call that the launcher's
//! filter hands over to us ([`super::asking`]); where there is no such filter, or a batch system's
//! launcher starts them, by a socket, which lies in a folder that nobody else may enter. All do,
//! before they are confined and know their ranks; the first one says that it is, and the others
//! close what they dialled. They keep their files in memory there, too, and all of it is removed
//! when they have ended.

mod folder;
pub(super) mod mpi;

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use farcall_base::{Error, Result};
use farcall_services::spawner::zygote::{Packet, Received, Wait, ZygoteLink};
use farcall_services::spawner::{LEADS, SOCKET_VARIABLE};
use farcall_system::plain_file;
use farcall_system::temporary;
use rustix::event::epoll;
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};

use super::asking::{Asked, Askers};
use super::copy;
use super::rooms::Room;

/// Processes that may dial before one says that it is the first: more than run on one host are
/// strangers to this launch.
const DIALLED_MAX: usize = 4096;
/// Answers to those who ask for a connection, before others are served.
const ANSWERS_MAX: usize = 64;
/// Times that processes are looked for which were killed, and the time between.
const LOOKS_MAX: u32 = 50;
const PAUSE: Duration = Duration::from_millis(2);
/// Who dials, until it is known who is the first.
#[derive(Default)]
struct Dials {
    /// To what becomes the launcher, until it has said by what its processes ask.
    link: Option<ZygoteLink>,
    askers: Option<Askers>,
    dialled: Vec<(UnixStream, Pid)>,
}

/// A folder with a socket that is listened to.
pub(super) struct Meeting {
    folder: PathBuf,
    listener: UnixListener,
    /// Readable when somebody dials, or says something.
    poller: OwnedFd,
    dials: Mutex<Dials>,
    /// The user of the processes.
    user: u32,
    /// Where the launcher is installed.
    launcher: String,
    /// Farcall's own program, which confines each process.
    host: PathBuf,
    /// A copy of the program for a user who cannot reach it.
    program: Option<PathBuf>,
    _lock: OwnedFd,
}

impl Meeting {
    /// For processes of `program` in `room` that `launcher` starts. The files of the program were
    /// `found` when it was published.
    pub(super) fn new(
        launcher: &str,
        (program, found): (&Path, &[String]),
        room: &Room,
    ) -> Result<Meeting> {
        let user = room.user();
        static SWEPT: Once = Once::new();
        SWEPT.call_once(folder::sweep);
        let launcher = mpi::installed(launcher)?;
        let cannot_make = |error| Error::system("make a socket for MPI's processes", error);
        let folder = folder::make().map_err(cannot_make)?;
        let made = folder::listen(&folder, user);
        if made.is_err() {
            temporary::remove(&folder);
        }
        let (listener, lock) = made.map_err(cannot_make)?;
        let number = user.map_or_else(|| geteuid().as_raw(), |(user, _)| user);
        let poller =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|errno| failed(errno.into()))?;
        watch(&poller, &listener).map_err(failed)?;
        let mut meeting = Meeting {
            folder,
            listener,
            poller,
            dials: Mutex::default(),
            user: number,
            launcher,
            host: own_program(),
            program: None,
            _lock: lock,
        };
        if let Some(user) = user {
            // The server keeps what it has built to itself. Memory may not run programs.
            let name = meeting.folder.file_name().unwrap_or_default();
            let copy = room.folder().join(name);
            meeting.program = Some(copy.clone());
            let cannot = |from: &Path| {
                let from = from.display().to_string();
                |error| Error::system("copy a program for its user", error).with("program", from)
            };
            let published = copy::open_published(program, found).map_err(cannot(program))?;
            copy::copy_program(published, &copy, user).map_err(cannot(program))?;
            if !runs_for_all(&meeting.host) {
                let host = copy.with_extension("host");
                let own = std::fs::File::open(&meeting.host);
                own.and_then(|own| copy::copy_program(own, &host, user))
                    .map_err(cannot(&meeting.host))?;
                meeting.host = host;
            }
        }
        Ok(meeting)
    }

    /// What is to be started in place of the program, if anything.
    pub(super) fn program(&self) -> Option<&Path> {
        self.program.as_deref()
    }

    /// What confines a process before it becomes the program.
    pub(super) fn host(&self) -> &Path {
        &self.host
    }

    /// The input of what becomes the launcher.
    pub(super) fn input(&self) -> Result<OwnedFd> {
        let (link, theirs) = ZygoteLink::pair()?;
        watch(&self.poller, &link).map_err(failed)?;
        self.dials().link = Some(link);
        Ok(theirs)
    }

    fn dials(&self) -> MutexGuard<'_, Dials> {
        self.dials.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.folder.join(folder::SOCKET)
    }

    /// What its processes may write.
    pub(super) fn folder(&self) -> String {
        self.folder.display().to_string()
    }

    /// What they must read.
    pub(super) fn launcher(&self) -> &str {
        &self.launcher
    }

    /// What an MPI is told, unless somebody says otherwise.
    pub(super) fn environment(&self) -> impl Iterator<Item = (&'static str, String)> {
        mpi::environment(self.folder(), self.user)
    }

    /// Kills what has the socket's name in its environment: the launcher's processes, and what they
    /// started. A launcher that was killed leaves those that its own processes had started.
    pub(super) fn end_all(&self) {
        let mark = [SOCKET_VARIABLE.as_bytes(), b"=", self.socket().as_os_str().as_encoded_bytes()]
            .concat();
        let is_ours = |pid: Pid| {
            let environment = std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()))
                .unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark)
        };
        // One that forks meanwhile is found by the next look.
        for _ in 0..LOOKS_MAX {
            let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
            let all = entries
                .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
            let mut found = false;
            for pid in all {
                // The number is the process's as long as there is a descriptor of it and it is
                // alive.
                let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
                if is_ours(pid) {
                    found |= pidfd_send_signal(&process, Signal::KILL).is_ok();
                }
            }
            if !found {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// The connection of the first process, and which that is; `None` while it has not said so.
    /// Another user's is none.
    pub(super) fn accept(&self) -> Result<Option<(OwnedFd, Pid)>> {
        let mut dials = self.dials();
        self.take_askers(&mut dials)?;
        self.answer(&mut dials)?;
        self.take_dialled(&mut dials.dialled)?;
        let mut leader = None;
        dials.dialled.retain_mut(|(stream, pid)| {
            let mut byte = [0];
            match stream.read(&mut byte) {
                Ok(1) if byte == [LEADS] && leader.is_none() => {
                    leader = stream.try_clone().ok().map(|stream| (stream, *pid));
                    false
                }
                Err(error) => [std::io::ErrorKind::WouldBlock, std::io::ErrorKind::Interrupted]
                    .contains(&error.kind()),
                // Closed by another rank, or nothing that a rank says.
                Ok(_) => false,
            }
        });
        let Some((stream, pid)) = leader else { return Ok(None) };
        // Whoever asks now is not the first, and gets an error.
        (dials.link, dials.askers) = (None, None);
        let _ = epoll::delete(&self.poller, &stream);
        stream.set_nonblocking(false).map_err(failed)?;
        Ok(Some((stream.into(), pid)))
    }

    /// Learns by what the launcher's processes ask.
    fn take_askers(&self, dials: &mut Dials) -> Result<()> {
        let Some(link) = &dials.link else { return Ok(()) };
        match link.receive(Wait::No)? {
            Received::Nothing => return Ok(()),
            Received::Packet(Packet::Dials, mut descriptors) => {
                let askers = descriptors.pop().map(Askers::new);
                askers.iter().try_for_each(|askers| watch(&self.poller, askers)).map_err(failed)?;
                dials.askers = askers;
            }
            // Its processes dial by the socket's path.
            Received::Packet(..) | Received::End => {}
        }
        dials.link = None;
        Ok(())
    }

    /// Gives a connection to those who ask for one; in this turn to so many, since there may be no
    /// end of them.
    fn answer(&self, dials: &mut Dials) -> Result<()> {
        for _ in 0..ANSWERS_MAX {
            let Some(askers) = &dials.askers else { return Ok(()) };
            let asker = match askers.next().map_err(failed)? {
                Asked::Nothing => return Ok(()),
                Asked::Over => {
                    dials.askers = None;
                    return Ok(());
                }
                Asked::By(asker) => asker,
            };
            if dials.dialled.len() >= DIALLED_MAX {
                asker.refuse(libc::EAGAIN).map_err(failed)?;
                continue;
            }
            let made =
                UnixStream::pair().and_then(|pair| pair.0.set_nonblocking(true).map(|()| pair));
            let (ours, theirs) = made.map_err(failed)?;
            watch(&self.poller, &ours).map_err(failed)?;
            let pid = asker.pid;
            asker.give(&theirs).map_err(failed)?;
            dials.dialled.push((ours, pid));
        }
        Ok(())
    }

    /// Takes those who have come.
    fn take_dialled(&self, dialled: &mut Vec<(UnixStream, Pid)>) -> Result<()> {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed(error)),
            };
            let peer = rustix::net::sockopt::socket_peercred(&stream)
                .map_err(|errno| failed(errno.into()))?;
            if peer.uid.as_raw() == self.user && dialled.len() < DIALLED_MAX {
                stream.set_nonblocking(true).map_err(failed)?;
                watch(&self.poller, &stream).map_err(failed)?;
                dialled.push((stream, peer.pid));
            }
        }
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::system("take the connection of MPI's first process", error)
}

fn watch(poller: &OwnedFd, descriptor: impl AsFd) -> std::io::Result<()> {
    Ok(epoll::add(poller, descriptor, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?)
}

impl AsFd for Meeting {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        temporary::remove(&self.folder);
        if let Some(program) = &self.program {
            let _ = std::fs::remove_file(program);
            let _ = std::fs::remove_file(program.with_extension("host"));
        }
    }
}

/// This program, by a path that leads to it for other processes, too.
fn own_program() -> PathBuf {
    std::env::current_exe().unwrap_or_default()
}

/// Whether any user can run a program where it lies.
fn runs_for_all(program: &Path) -> bool {
    plain_file::is_public(program)
        && std::fs::metadata(program).is_ok_and(|data| data.mode() & 0o001 != 0)
}
