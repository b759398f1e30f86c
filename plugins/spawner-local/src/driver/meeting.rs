//! Where the first of the processes that MPI starts finds its server.
//!
//! An MPI's launcher passes on no descriptor. So its processes dial: by a call that the launcher's
//! filter hands over to us ([`super::asking`]); where there is no such filter, or a batch system's
//! launcher starts them, by a socket, which lies in a folder that nobody else may enter. All do,
//! before they are confined and know their ranks; the first one says that it is, and the others
//! close what they dialled. They keep their files in memory there, too, and all of it is removed
//! when they have ended.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};
use farcall_services::spawner::zygote::{Packet, Received, Wait, ZygoteLink};
use farcall_services::spawner::{LEADS, SOCKET_VARIABLE};
use farcall_system::plain_file;
use farcall_system::temporary;
use rustix::event::epoll;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};
use rustix::rand::{GetRandomFlags, getrandom};

use super::asking::{Asked, Askers};
use super::copy;
use super::rooms::Room;

/// Memory that looks like files, where a system has it.
const MEMORY: &str = "/dev/shm";
/// Processes that may dial before one says that it is the first: more than run on one host are
/// strangers to this launch.
const DIALLED_MAX: usize = 4096;
/// Answers to those who ask for a connection, before others are served.
const ANSWERS_MAX: usize = 64;
/// Names of folders begin so.
const PREFIX: &str = "farcall-ranks-";
/// The socket's name.
const SOCKET: &str = "server";
/// Variables by which Open MPI (4, then 5 and its launcher) is told what a server's launches are:
/// several at a time, none of which may take the same processors as another, and of any number of
/// processes. Others know none of them.
const TOLD: [(&str, &str); 8] = [
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ("PRTE_MCA_hwloc_default_binding_policy", "none"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    // A rank that crashes is reported with the last that it said: that is not to be a list of
    // addresses.
    ("OMPI_MCA_opal_signal", ""),
    // Processes under a module's rules read no other's memory.
    ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
    // What starts the processes on other nodes of Slurm's: they need these variables, whatever the
    // job was given.
    ("SLURM_EXPORT_ENV", "ALL"),
];
/// Variables that name the folder for what its processes share. On other nodes of an allocation,
/// Open MPI makes it, and leaves it empty at the end.
const FOLDERS: [&str; 3] = [
    "OMPI_MCA_orte_tmpdir_base",
    "OMPI_MCA_btl_vader_backing_directory",
    "OMPI_MCA_btl_sm_backing_directory",
];
/// Times that processes are looked for which were killed, and the time between.
const LOOKS_MAX: u32 = 50;
const PAUSE: Duration = Duration::from_millis(2);
/// By which root says that it means it.
const AS_ROOT: [&str; 4] = [
    "OMPI_ALLOW_RUN_AS_ROOT",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
    "PRTE_ALLOW_RUN_AS_ROOT",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM",
];

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
        SWEPT.call_once(sweep);
        let launcher = installed(launcher)?;
        let cannot_make = |error| Error::system("make a socket for MPI's processes", error);
        let folder = new_folder().map_err(cannot_make)?;
        let made = listen(&folder, user);
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
        self.folder.join(SOCKET)
    }

    /// What a batch system's own launcher reads, by which an MPI reaches the other nodes of an
    /// allocation.
    pub(super) fn batch_system() -> impl Iterator<Item = String> {
        let within = std::env::var_os("SLURM_JOB_ID").is_some();
        let own = || installed("srun").ok();
        let settings = || {
            let file = PathBuf::from(std::env::var_os("SLURM_CONF")?).canonicalize().ok()?;
            file.parent().map(|folder| folder.display().to_string())
        };
        within.then(|| own().into_iter().chain(settings())).into_iter().flatten()
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
        let folders = FOLDERS.iter().map(|name| (*name, self.folder()));
        let as_root = AS_ROOT.iter().filter(|_| self.user == 0).map(|name| (*name, "1".to_owned()));
        TOLD.iter().map(|(name, value)| (*name, (*value).to_owned())).chain(folders).chain(as_root)
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

/// The folder that a launcher of this name, or path, is installed in.
fn installed(launcher: &str) -> Result<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join(launcher))
        .find(|file| file.is_file());
    let found = found.and_then(|file| file.canonicalize().ok()).ok_or_else(|| {
        Error::new(
            ErrorKind::Unavailable,
            "start an executable",
            format!(
                "there is no \
            \"{launcher}\" on this machine"
            ),
        )
        .fix(
            "an MPI must start routines with Backend \"MPI\": install one (Debian: `apt \
                install openmpi-bin`; on a cluster: `module load` it before the server starts), \
                or set mpi_command in farcall.toml to its launcher",
        )
    })?;
    let folder = found.parent().and_then(Path::parent).filter(|folder| folder.parent().is_some());
    Ok(folder.unwrap_or(&found).display().to_string())
}

fn new_folder() -> std::io::Result<PathBuf> {
    let mut number = [0; 16];
    getrandom(&mut number, GetRandomFlags::empty())?;
    let name = format!("{PREFIX}{:032x}", u128::from_ne_bytes(number));
    let make = |place: &Path| {
        let folder = place.join(&name);
        std::fs::DirBuilder::new().mode(0o700).create(&folder).map(|()| folder)
    };
    make(Path::new(MEMORY)).or_else(|_| make(&std::env::temp_dir()))
}

/// The folder stays locked as long as this process uses it: others must not take it for left
/// behind.
fn listen(folder: &Path, user: Option<(u32, u32)>) -> std::io::Result<(UnixListener, OwnedFd)> {
    let lock = OwnedFd::from(std::fs::File::open(folder)?);
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    let socket = folder.join(SOCKET);
    let listener = UnixListener::bind(&socket)?;
    listener.set_nonblocking(true)?;
    if let Some((user, group)) = user {
        std::os::unix::fs::chown(&socket, Some(user), Some(group))?;
        std::os::unix::fs::chown(folder, Some(user), Some(group))?;
    }
    Ok((listener, lock))
}

/// Removes what servers of ours left behind that were killed.
fn sweep() {
    let own = geteuid();
    let entries =
        [PathBuf::from(MEMORY), std::env::temp_dir()].into_iter().flat_map(std::fs::read_dir);
    for entry in entries
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
    {
        let ours = entry
            .metadata()
            .is_ok_and(|data| data.is_dir() && (own.is_root() || data.uid() == own.as_raw()));
        // One without a socket is of processes that were started from another node: it goes when
        // they have emptied it.
        let is_left = ours
            && std::fs::remove_dir(entry.path()).is_err()
            && entry.path().join(SOCKET).exists();
        if is_left
            && std::fs::File::open(entry.path()).is_ok_and(|folder| {
                flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok()
            })
        {
            temporary::remove(&entry.path());
        }
    }
}
