//! Ends a group of processes when this server ends in whatever way, also by SIGKILL: by the kernel,
//! so that no code of a module has a part in it.
//!
//! A death signal (`PR_SET_PDEATHSIG`) reaches the process that a server has started, and not what
//! that has started in turn. A group is left by nobody, as a filter refuses it. So each has the
//! reading end of a pipe on which nothing is ever written, and which is set up to send SIGKILL to
//! the group at the only thing that can happen there: that the writing end, this process's, is
//! closed. The kernel remembers the group itself, and not its number, which another may have later.
//!
//! When a process ends, all that it has open is closed, in an order that is the kernel's. The
//! reading ends must outlast the writing one. So each lies in a socket, too, sent and never
//! received: the kernel closes those once it has closed the rest.
//!
//! Where a process may open many files, ends are made some at a time and used again: a start pays
//! for one system call. Elsewhere a group costs one descriptor, and more calls.

use std::io::{self, IoSlice, PipeReader, PipeWriter};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, Resource, getrlimit};

/// Orders of `fcntl` (fcntl.h).
const F_SETOWN: libc::c_int = 8;
const F_SETSIG: libc::c_int = 10;
/// Reading ends that are made together and lie in one socket.
const ENDS: usize = 8;
/// Ends that are kept for groups to come: each is a descriptor.
const FREE_MAX: usize = 8;
/// Open files with which that is nothing.
const MANY_FILES: u64 = 1024;

/// The pipe of this process, which it opens once, and never closes.
static PIPE: OnceLock<(PipeReader, PipeWriter)> = OnceLock::new();

/// Reading ends that signal nobody.
static FREE: Mutex<Vec<End>> = Mutex::new(Vec::new());

/// A reading end of the pipe, which a socket keeps open until this process has ended.
struct End {
    descriptor: OwnedFd,
    _keeps: Arc<UnixStream>,
}

/// As long as this lives, a group ends with this process.
pub(super) struct Leash(Tie);

enum Tie {
    /// By an end that others use afterwards.
    Shared(Option<End>),
    /// By one of its own, which lies in this socket alone.
    Own(#[allow(dead_code)] UnixStream),
}

impl Leash {
    /// Ties a group. `None` where the system cannot, for lack of descriptors above all: then its
    /// first process alone has its death signal.
    pub(super) fn of(group: Pid) -> Option<Leash> {
        let owner = -group.as_raw_nonzero().get();
        if getrlimit(Resource::Nofile).current.is_some_and(|files| files < MANY_FILES) {
            return own(owner).ok();
        }
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if free.is_empty() {
            *free = ends().ok()?;
        }
        let end = free.pop()?;
        signal_to(&end, owner).ok()?;
        Some(Leash(Tie::Shared(Some(end))))
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        // One that would go on to signal its group is not used again.
        if let Tie::Shared(end) = &mut self.0
            && let Some(end) = end.take()
            && signal_to(&end, 0).is_ok()
        {
            let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
            if free.len() < FREE_MAX {
                free.push(end);
            }
        }
    }
}

/// Has an end signal a process, a group (less than zero), or nobody (0).
fn signal_to(end: &End, owner: libc::c_int) -> io::Result<()> {
    order(end.descriptor.as_fd(), F_SETOWN, owner)
}

fn ends() -> io::Result<Vec<End>> {
    let opened: Vec<OwnedFd> = (0..ENDS).map(|_| open()).collect::<io::Result<_>>()?;
    let keeps = Arc::new(laid_up(&opened)?);
    Ok(opened.into_iter().map(|descriptor| End { descriptor, _keeps: keeps.clone() }).collect())
}

fn own(owner: libc::c_int) -> io::Result<Leash> {
    let end = open()?;
    order(end.as_fd(), F_SETOWN, owner)?;
    laid_up(&[end]).map(|socket| Leash(Tie::Own(socket)))
}

/// A reading end that signals nobody yet.
fn open() -> io::Result<OwnedFd> {
    if PIPE.get().is_none() {
        // Of two at a time, one is closed again.
        let _ = PIPE.set(io::pipe()?);
    }
    let (reader, _) = PIPE.get().ok_or(io::ErrorKind::NotFound)?;
    // Opened again: whom a descriptor signals is its own, and shared by its copies.
    let end = OwnedFd::from(std::fs::File::open(format!("/proc/self/fd/{}", reader.as_raw_fd()))?);
    order(end.as_fd(), F_SETSIG, libc::SIGKILL)?;
    order(end.as_fd(), libc::F_SETFL, libc::O_ASYNC)?;
    Ok(end)
}

/// A socket in which copies of these lie.
fn laid_up(ends: &[OwnedFd]) -> io::Result<UnixStream> {
    let (keeps, sends) = UnixStream::pair()?;
    let descriptors: Vec<BorrowedFd<'_>> = ends.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(ENDS))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    message.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(&sends, &[IoSlice::new(&[0])], &mut message, SendFlags::empty())?;
    Ok(keeps)
}

fn order(descriptor: BorrowedFd<'_>, order: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: a system call on an open descriptor, with a number.
    match unsafe { libc::fcntl(descriptor.as_raw_fd(), order, value) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    const CHILDS_VARIABLE: &str = "FARCALL_TEST_LEASH";

    fn group() -> (Child, Pid) {
        let mut command = Command::new("/bin/sh");
        let child = command
            .args(["-c", "sleep 65 & sleep 65 & wait"])
            .process_group(0)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let group = Pid::from_child(&child);
        (child, group)
    }

    fn lives(group: i32) -> bool {
        let stat =
            |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("stat")).ok();
        let all = std::fs::read_dir("/proc").unwrap().flatten().filter_map(stat);
        all.filter_map(|stat| {
            let mut words = stat.rsplit_once(')')?.1.split_whitespace();
            Some((words.next()? != "Z", words.nth(1)?.parse::<i32>().ok()?))
        })
        .any(|(runs, of)| runs && of == group)
    }

    /// Not a test of its own, but the process that the next one kills.
    #[test]
    fn a_process_with_groups() {
        if std::env::var_os(CHILDS_VARIABLE).is_none() {
            return;
        }
        // Descriptors of any number, so that the pipe lies among them.
        let mut tied = Vec::new();
        for _ in 0..3 {
            let (child, group) = group();
            let leash = if tied.is_empty() {
                own(-group.as_raw_nonzero().get()).ok()
            } else {
                Leash::of(group)
            };
            tied.push((child, leash.unwrap()));
            println!("group {}", group.as_raw_nonzero());
        }
        println!("ready");
        std::thread::sleep(Duration::from_secs(60));
    }

    #[test]
    fn groups_end_with_whoever_ties_them() {
        let own = std::env::current_exe().unwrap();
        let name = "driver::leash::tests::a_process_with_groups";
        let mut command = Command::new(own);
        let command = command
            .args(["--exact", name, "--nocapture"])
            .env(CHILDS_VARIABLE, "1")
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = io::BufRead::lines(io::BufReader::new(child.stdout.take().unwrap()))
            .map(Result::unwrap);
        let said: Vec<String> = lines.take_while(|line| line != "ready").collect();
        // The harness writes before the first of them on the same line.
        let groups: Vec<i32> = said
            .iter()
            .filter_map(|line| line.split("group ").nth(1)?.trim().parse().ok())
            .collect();
        assert_eq!(groups.len(), 3, "{said:?}");
        assert!(groups.iter().all(|group| lives(*group)));
        child.kill().unwrap();
        child.wait().unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while groups.iter().any(|group| lives(*group)) {
            assert!(Instant::now() < deadline, "groups of a server that was killed live on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_group_that_is_let_go_lives_on() {
        let (mut child, group) = group();
        drop(Leash::of(group).unwrap());
        drop(own(-group.as_raw_nonzero().get()).unwrap());
        let free = || FREE.lock().unwrap().len();
        let many: Vec<Leash> = (0..3 * FREE_MAX).map(|_| Leash::of(group).unwrap()).collect();
        drop(many);
        assert!(free() <= FREE_MAX, "what nobody needs is closed");
        std::thread::sleep(Duration::from_millis(50));
        assert!(lives(group.as_raw_nonzero().get()));
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        child.wait().unwrap();
    }
}
