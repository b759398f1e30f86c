//! Ends a group of processes when this server ends in whatever way, also by SIGKILL: by the kernel, so that no code of a module has
//! a part in it.
//!
//! A death signal (`PR_SET_PDEATHSIG`) reaches the process that a server has started, and not what that has started in turn. A
//! group is left by nobody, as a filter refuses it. So each has the reading end of a pipe on which nothing is ever written, and
//! which is set up to send SIGKILL to the group at the only thing that can happen there: that the writing end, this process's, is
//! closed. The kernel remembers the group itself, and not its number, which another may have later.
//!
//! When a process ends, all that it has open is closed, in an order that is the kernel's. The reading ends must outlast the writing
//! one. So they are not open here, but lie in a socket, sent and never received: the kernel closes those once it has closed the
//! rest.

use std::io::{self, IoSlice, PipeReader, PipeWriter};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::Pid;

/// Orders of `fcntl` (fcntl.h).
const F_SETOWN: libc::c_int = 8;
const F_SETSIG: libc::c_int = 10;

/// The pipe of this process, which it opens once, and never closes.
static PIPE: OnceLock<(PipeReader, PipeWriter)> = OnceLock::new();

/// As long as this lives, a group ends with this process.
pub(super) struct Leash(#[allow(dead_code)] UnixStream);

impl Leash {
    /// Ties a group. `None` where the system cannot, for want of descriptors above all: then its first process alone has its death
    /// signal.
    pub(super) fn of(group: Pid) -> Option<Leash> {
        if PIPE.get().is_none() {
            // Of two at a time, one is closed again.
            let _ = PIPE.set(io::pipe().ok()?);
        }
        let (reader, _) = PIPE.get()?;
        tie(reader, group).ok()
    }
}

fn tie(reader: &PipeReader, group: Pid) -> io::Result<Leash> {
    // Opened anew: whom a descriptor signals is its own, and shared by its copies.
    let own = OwnedFd::from(std::fs::File::open(format!("/proc/self/fd/{}", reader.as_raw_fd()))?);
    let descriptor = own.as_raw_fd();
    // SAFETY: plain system calls on an open descriptor.
    let done = unsafe {
        libc::fcntl(descriptor, F_SETOWN, -group.as_raw_nonzero().get()) == 0
            && libc::fcntl(descriptor, F_SETSIG, libc::SIGKILL) == 0
            && libc::fcntl(descriptor, libc::F_SETFL, libc::O_ASYNC) == 0
    };
    if !done {
        return Err(io::Error::last_os_error());
    }
    let (keeps, sends) = UnixStream::pair()?;
    let descriptors = [own.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    message.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(&sends, &[IoSlice::new(&[0])], &mut message, SendFlags::empty())?;
    Ok(Leash(keeps))
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
        let child =
            command.args(["-c", "sleep 65 & sleep 65 & wait"]).process_group(0).stdout(Stdio::null()).spawn().unwrap();
        let group = Pid::from_child(&child);
        (child, group)
    }

    fn lives(group: i32) -> bool {
        let stat = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("stat")).ok();
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
            tied.push((child, Leash::of(group).unwrap()));
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
        let command = command.args(["--exact", name, "--nocapture"]).env(CHILDS_VARIABLE, "1").stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = io::BufRead::lines(io::BufReader::new(child.stdout.take().unwrap())).map(Result::unwrap);
        let said: Vec<String> = lines.take_while(|line| line != "ready").collect();
        // The harness writes before the first of them on the same line.
        let groups: Vec<i32> =
            said.iter().filter_map(|line| line.split("group ").nth(1)?.trim().parse().ok()).collect();
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
        std::thread::sleep(Duration::from_millis(50));
        assert!(lives(group.as_raw_nonzero().get()));
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        child.wait().unwrap();
    }
}
