//! A zygote: a process that has loaded the module, and forks an executable for each start that its
//! spawner asks for.
//!
//! It has one thread and runs no routine, so a fork of it is a whole process: nobody holds a lock
//! in it. It reaps its children only on the spawner's word (`services/src/spawner/zygote.rs` says
//! why).

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};
use farcall_services::spawner::zygote::{Packet, Received, Wait, ZygoteLink, read_load};
use farcall_wire::Publication;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, getppid, pidfd_open, setpgid, waitpgid, waitpid,
};

use super::children::{end_children, keep_what_calls_start};
use super::module::{LoadedModule, Source};
use crate::confine::{Own, begin_call, end_call};

/// Looks at a group that was killed until nothing of it is left, a millisecond each: the kernel
/// needs as long to take a large process down.
const REAP_LOOKS_MAX: u32 = 200;
/// Looks for threads that are on their way out.
const THREAD_LOOKS_MAX: u32 = 50;
const LOOK: Duration = Duration::from_millis(1);

/// The module, loaded before the server told an executable to.
pub struct Preloaded {
    /// What it was loaded from: an executable that is told to load anything else does so.
    pub publication: Publication,
    /// The result.
    pub module: LoadedModule,
}

/// What a forked executable begins with.
pub struct Born {
    /// Its end of the connection to the server.
    pub connection: OwnedFd,
    /// The module.
    pub preloaded: Preloaded,
}

/// Forks executables until the spawner is gone (`None`); or this is one of them, with its outputs
/// in place.
pub fn run(link: ZygoteLink, source: Source<'_>) -> Result<Option<Born>> {
    let name = rustix::thread::name().ok();
    let _ = rustix::thread::set_name(c"farcall-zygote");
    // Orphans of executables come to this process, which can reap them (`confine` has said so).
    let Some(preloaded) = load(&link, source)? else { return Ok(None) };
    let own = Own::new(crate::confine::rules()?)?;
    let Some(descriptors) = serve(&link)? else { return Ok(None) };
    own.apply()?;
    if let Some(name) = name {
        let _ = rustix::thread::set_name(&name);
    }
    drop(link);
    let connection = take_outputs(descriptors)?;
    Ok(Some(Born { connection, preloaded }))
}

/// The module that the first packet brings. One that cannot be loaded is left to an executable of
/// its own, whose server hears the reason.
fn load(link: &ZygoteLink, source: Source<'_>) -> Result<Option<Preloaded>> {
    let Received::Packet(Packet::Load, mut descriptors) = link.receive(Wait::Long)? else {
        return Ok(None);
    };
    let memory = descriptors
        .pop()
        .ok_or_else(|| Error::new(ErrorKind::Protocol, "load a module", "it is missing"))?;
    let publication = read_load(memory)?;
    begin_call();
    let loaded = LoadedModule::load(&publication, source);
    end_call();
    // Nothing of a module runs but its calls. What cannot be ended goes with the zygote.
    end_children(REAP_LOOKS_MAX);
    match loaded {
        Ok(module) if can_fork() => {
            link.send(Packet::Loaded, &[])?;
            Ok(Some(Preloaded { publication, module }))
        }
        _ => {
            link.send(Packet::Unfit, &[])?;
            Ok(None)
        }
    }
}

/// Whether a fork of this process is whole: no thread runs beside this one. Libraries that start
/// threads when they are loaded and know about forks end them before one (OpenBLAS does), hence the
/// trial.
fn can_fork() -> bool {
    super::call::flush_standard_output();
    let alone = || std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1);
    if alone() {
        return true;
    }
    // SAFETY: the child does nothing but end.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(0) };
    }
    if let Some(child) = Pid::from_raw(child) {
        let _ = waitpid(Some(child), WaitOptions::empty());
    }
    // A thread that was joined stays in the list for a moment.
    (0..THREAD_LOOKS_MAX).any(|_| {
        let alone = alone();
        if !alone {
            std::thread::sleep(LOOK);
        }
        alone
    })
}

/// Does what the spawner says. Returns in the child, with the descriptors of its start, and in the
/// zygote at the end.
fn serve(link: &ZygoteLink) -> Result<Option<Vec<OwnedFd>>> {
    let zygote = getpid();
    loop {
        let (packet, descriptors) = match link.receive(Wait::Long)? {
            Received::Packet(packet, descriptors) => (packet, descriptors),
            Received::Nothing => continue,
            Received::End => return Ok(None),
        };
        match packet {
            Packet::Start => {
                // SAFETY: this process has one thread (`can_fork`), so the child has everything
                // that it had.
                match unsafe { libc::fork() } {
                    0 => return begin(zygote).map(|()| Some(descriptors)),
                    pid => report(link, pid)?,
                }
            }
            Packet::Reap { pid } => link.send(Packet::Ended { pid, status: reap(pid) }, &[])?,
            _ => {
                return Err(Error::new(
                    ErrorKind::Protocol,
                    "serve a spawner",
                    "a packet that is for spawners",
                ));
            }
        }
    }
}

/// In the child: a group of its own, and no life without the zygote.
fn begin(zygote: Pid) -> Result<()> {
    super::start::end_with_parent();
    if getppid() != Some(zygote) {
        return Err(Error::new(
            ErrorKind::Unavailable,
            "start the executable",
            "its zygote is gone",
        ));
    }
    let _ = setpgid(None, None);
    keep_what_calls_start();
    Ok(())
}

/// In the zygote: the answer to a start.
fn report(link: &ZygoteLink, pid: i32) -> Result<()> {
    let error = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EAGAIN);
    let Some(child) = Pid::from_raw(pid).filter(|_| pid > 0) else {
        return link.send(Packet::NotStarted { errno: error }, &[]);
    };
    // Both do this, so that it is done whoever comes first. It fails only where the child has done
    // it.
    let _ = setpgid(Some(child), None);
    match pidfd_open(child, PidfdFlags::empty()) {
        Ok(pidfd) => link.send(Packet::Started, &[pidfd.as_fd()]),
        Err(errno) => {
            // Without a pidfd its end would go unseen.
            let _ = rustix::process::kill_process(child, Signal::KILL);
            let _ = waitpid(Some(child), WaitOptions::empty());
            link.send(Packet::NotStarted { errno: errno.raw_os_error() }, &[])
        }
    }
}

/// Reaps a child that has ended, and what its group left behind, which was killed. Returns the
/// status.
fn reap(pid: i32) -> i32 {
    let Some(child) = Pid::from_raw(pid).filter(|_| pid > 0) else { return 0 };
    let ended = waitpid(Some(child), WaitOptions::empty());
    let status = ended.ok().flatten().map_or(libc::SIGKILL, |(_, status)| status.as_raw());
    for _ in 0..REAP_LOOKS_MAX {
        match waitpgid(child, WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => std::thread::sleep(LOOK),
            Err(_) => break,
        }
    }
    status
}

/// Puts the outputs in place; what is left is the connection.
fn take_outputs(descriptors: Vec<OwnedFd>) -> Result<OwnedFd> {
    let [connection, stdout, stderr]: [OwnedFd; 3] = descriptors.try_into().map_err(|_| {
        Error::new(ErrorKind::Protocol, "start the executable", "its descriptors are missing")
    })?;
    let failed = |errno: rustix::io::Errno| Error::system("take over the outputs", errno.into());
    rustix::stdio::dup2_stdout(&stdout).map_err(failed)?;
    rustix::stdio::dup2_stderr(&stderr).map_err(failed)?;
    Ok(connection)
}
