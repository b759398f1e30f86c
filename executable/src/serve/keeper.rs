//! The parent of an MPI's launcher: it outlasts the launcher and the server for the moment that it
//! takes to end all that the launcher has started, in whatever group, session and environment that
//! is.
//!
//! It is forked before any rule holds, and loads nothing of a module's. So what the launcher starts
//! can neither signal nor trace it, and it may end the processes of another user.

use std::ffi::c_int;
use std::os::fd::AsFd;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, waitpid,
};

use super::children::end_children;

/// Looks for processes to end, while the server lives and does the same: a millisecond each, or
/// more where there are many.
const LOOKS_MAX: u32 = 200;
/// The same, where nobody else does it.
const LOOKS_ALONE_MAX: u32 = 60_000;
/// Time between two checks whether the server is there, in case that no signal says so.
const LOOK: Duration = Duration::from_secs(10);

/// Returns in a child of this process, which is to become the launcher, with the server's process.
/// This process keeps it, and ends as it ends.
pub(super) fn keep() -> Result<Option<Pid>> {
    let server = getppid();
    let keeper = getpid();
    rustix::process::set_child_subreaper(Some(keeper)).map_err(failed)?;
    let signals = Signals::block();
    // SAFETY: this process has one thread, so that the child has everything that it had.
    match unsafe { libc::fork() } {
        0 => {
            signals.unblock();
            super::end_with_parent();
            match getppid() == Some(keeper) {
                true => Ok(server),
                false => Err(Error::new(
                    ErrorKind::Unavailable,
                    "start a launcher",
                    "its keeper is gone",
                )),
            }
        }
        pid => match Pid::from_raw(pid).filter(|_| pid > 0) {
            Some(launcher) => keep_until_its_end(launcher, server, &signals),
            None => Err(Error::system("start a launcher", std::io::Error::last_os_error())),
        },
    }
}

fn failed(errno: rustix::io::Errno) -> Error {
    Error::system("keep a launcher", errno.into())
}

/// Ends this process.
fn keep_until_its_end(launcher: Pid, server: Option<Pid>, signals: &Signals) -> ! {
    let _ = rustix::thread::set_name(c"farcall-keeper");
    // What it says and hears is the launcher's.
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null");
    for number in null.iter().flat_map(|_| 0..3) {
        let _ = null.as_ref().map(|null| replace(number, null));
    }
    // It comes as a signal that it waits for; and nobody of its user looks into it.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::TERM));
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    loop {
        if getppid() != server {
            end_children(LOOKS_ALONE_MAX);
            end(0);
        }
        if let Some(status) = reap(launcher) {
            end_children(LOOKS_MAX);
            end_as(status, signals);
        }
        signals.wait(LOOK);
    }
}

fn replace(number: c_int, file: &impl AsFd) {
    match number {
        0 => drop(rustix::stdio::dup2_stdin(file)),
        1 => drop(rustix::stdio::dup2_stdout(file)),
        _ => drop(rustix::stdio::dup2_stderr(file)),
    }
}

/// Takes all children that have ended; how the launcher did, if it is among them.
fn reap(launcher: Pid) -> Option<WaitStatus> {
    let mut of_launcher = None;
    while let Ok(Some((child, status))) = waitpid(None, WaitOptions::NOHANG) {
        if child == launcher {
            of_launcher = Some(status);
        }
    }
    of_launcher
}

/// As the launcher has ended: whoever waits for it waits for this process.
fn end_as(status: WaitStatus, signals: &Signals) -> ! {
    if let Some(number) = status.terminating_signal() {
        // No core file of this process: there is nothing wrong with it.
        let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
        let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
        // SAFETY: the default action is valid for any signal; this process has one thread.
        unsafe { libc::signal(number, libc::SIG_DFL) };
        signals.unblock();
        // SAFETY: a signal to this process.
        unsafe { libc::raise(number) };
    }
    end(status.exit_status().unwrap_or(1))
}

fn end(status: c_int) -> ! {
    // SAFETY: ends this process, which has nothing to write or to undo.
    unsafe { libc::_exit(status) }
}

/// The signals that tell something, which are waited for, and those that would end this process
/// before its children.
struct Signals(libc::sigset_t);

impl Signals {
    const ALL: [c_int; 5] =
        [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

    fn block() -> Signals {
        // SAFETY: the set is filled before it is used, by calls that take any signal's number.
        let signals = unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for number in Signals::ALL {
                libc::sigaddset(&raw mut set, number);
            }
            Signals(set)
        };
        signals.change(libc::SIG_BLOCK);
        signals
    }

    fn unblock(&self) {
        self.change(libc::SIG_UNBLOCK);
    }

    fn change(&self, how: c_int) {
        // SAFETY: the set is alive, and the former one is not asked for.
        unsafe { libc::sigprocmask(how, &raw const self.0, std::ptr::null_mut()) };
    }

    /// Until one of them comes, or that time is over.
    fn wait(&self, longest: Duration) {
        let time = libc::timespec { tv_sec: longest.as_secs().cast_signed(), tv_nsec: 0 };
        // SAFETY: the set and the time are alive; what came is not asked for.
        unsafe { libc::sigtimedwait(&raw const self.0, std::ptr::null_mut(), &raw const time) };
    }
}
