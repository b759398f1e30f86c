//! Which process is whose, by the system's word, and how a group ends: by descriptors that name
//! processes for good, never by a number that somebody told. A number may be another process's by
//! the time it is used, and a module's code may lie.

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// `pidfd_send_signal`: to the group that the process leads, or led (Linux 6.9; linux/pidfd.h).
const PIDFD_SIGNAL_PROCESS_GROUP: libc::c_ulong = 1 << 2;
/// Looks for members of a group where the kernel has no signal for all of them. One that forks
/// meanwhile is found by the next look.
const LOOKS_MAX: u32 = 50;
/// For so long members are looked for, at most: whoever waits for that serves others, too.
const LOOKING_MAX: Duration = Duration::from_secs(2);

/// More than the system says of a process in the files that are read here.
const TOLD_BYTES_MAX: usize = 2048;

/// What `/proc/PID/stat` says of a process (proc(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Status {
    state: u8,
    parent: i32,
    group: i32,
    session: i32,
}

/// The process that a descriptor names, if it is a child of `parent` that leads a group of its own.
///
/// # Errors
/// When the system cannot be asked, for lack of descriptors above all: that says nothing of the
/// process.
pub(super) fn leader_of(pidfd: impl AsFd, parent: Pid) -> io::Result<Option<Pid>> {
    let known = match ask_kernel(&pidfd) {
        Some(known) => Some(known),
        None => ask_files(&pidfd)?,
    };
    let Some(Known { pid, parent: its_parent, group }) = known else { return Ok(None) };
    // Read while it lives, or lies unreaped, the number is this process's own.
    let is_its_own = is_unreaped(&pidfd);
    let is_child = its_parent == raw(parent) && group == raw(pid);
    Ok((is_child && is_its_own).then_some(pid))
}

/// What is asked at each start.
struct Known {
    pid: Pid,
    parent: i32,
    group: i32,
}

/// By two system calls. `None` where the kernel has no such call (before Linux 6.13), or no process
/// has this descriptor.
fn ask_kernel(pidfd: impl AsFd) -> Option<Known> {
    let mut info = PidfdInfo { mask: PIDFD_INFO_PID, ..PidfdInfo::default() };
    // SAFETY: the kernel writes into `info`, no more than the bytes that are part of the order's
    // number.
    let done = unsafe { libc::ioctl(pidfd.as_fd().as_raw_fd(), PIDFD_GET_INFO, &raw mut info) };
    let pid = Pid::from_raw(info.pid.cast_signed())
        .filter(|_| done == 0 && info.mask & PIDFD_INFO_PID != 0)?;
    let group = rustix::process::getpgid(Some(pid)).ok()?;
    Some(Known { pid, parent: info.parent.cast_signed(), group: raw(group) })
}

fn ask_files(pidfd: impl AsFd) -> io::Result<Option<Known>> {
    let Some(pid) = ask_number(pidfd)? else { return Ok(None) };
    Ok(ask_status(pid)?.map(|status| Known { pid, parent: status.parent, group: status.group }))
}

/// `struct pidfd_info` in its first form (linux/pidfd.h).
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    pid: u32,
    thread_group: u32,
    parent: u32,
    users: [u32; 8],
    spare: u32,
}

/// `_IOWR(0xFF, 11, struct pidfd_info)`.
const PIDFD_GET_INFO: libc::c_ulong =
    3 << 30 | (size_of::<PidfdInfo>() as libc::c_ulong) << 16 | 0xff << 8 | 11;
const PIDFD_INFO_PID: u64 = 1;

/// Signals all of the group that a process leads, or the process alone where it has not begun one
/// yet. One that has ended is no error.
pub(super) fn signal_group(pidfd: impl AsFd, group: Pid, signal: Signal) {
    let found = match send_to_group(&pidfd, signal) {
        Err(rustix::io::Errno::INVAL) => {
            signal_members(signal, |status| status.group == raw(group))
        }
        sent => sent.is_ok(),
    };
    if !found {
        let _ = pidfd_send_signal(pidfd, signal);
    }
}

/// Kills all of a session. Whoever may not begin one (`setsid`) belongs to that of its ancestors
/// for good, whatever becomes of its parent, its group and its environment.
pub(super) fn kill_session(leader: Pid) {
    signal_members(Signal::KILL, |status| status.session == raw(leader));
}

/// As [`signal_group`], by the kernel itself.
fn send_to_group(pidfd: impl AsFd, signal: Signal) -> rustix::io::Result<()> {
    send(pidfd, signal.as_raw(), PIDFD_SIGNAL_PROCESS_GROUP)
}

/// Whether a process lives, or has ended and lies there for its parent. One that may not be
/// signalled is there.
fn is_unreaped(pidfd: impl AsFd) -> bool {
    const NO_SIGNAL: i32 = 0;
    matches!(send(pidfd, NO_SIGNAL, 0), Ok(()) | Err(rustix::io::Errno::PERM))
}

fn send(pidfd: impl AsFd, signal: i32, flags: libc::c_ulong) -> rustix::io::Result<()> {
    let descriptor = pidfd.as_fd().as_raw_fd();
    let nothing = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: an open descriptor and no information: the kernel reads no memory.
    let done =
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, descriptor, signal, nothing, flags) };
    if done == 0 {
        Ok(())
    } else {
        Err(rustix::io::Errno::from_io_error(&io::Error::last_os_error())
            .unwrap_or(rustix::io::Errno::SRCH))
    }
}

/// Member by member, each by a descriptor of its own, once it is seen to be one. Whether there was
/// any.
fn signal_members(signal: Signal, is_member: impl Fn(&Status) -> bool) -> bool {
    let begin = Instant::now();
    for look in 0..LOOKS_MAX {
        let mut living = 0;
        for pid in processes().take_while(|_| begin.elapsed() < LOOKING_MAX) {
            let Ok(member) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
            if status(pid).is_some_and(|status| status.state != b'Z' && is_member(&status))
                && number_of(&member) == Some(pid)
            {
                living += u32::from(pidfd_send_signal(&member, signal).is_ok());
            }
        }
        // Only what kills leaves nobody to be signalled again.
        if living == 0 || signal != Signal::KILL {
            return look > 0 || living > 0;
        }
    }
    true
}

/// Kills all that descends from a process, and not the process itself. What it starts meanwhile is
/// found by the next look.
pub(super) fn kill_descendants(ancestor: Pid) {
    for _ in 0..LOOKS_MAX {
        let all: Vec<(Pid, Status)> =
            processes().filter_map(|pid| Some((pid, status(pid)?))).collect();
        let parent_of = |number: i32| {
            all.iter().find(|(pid, _)| raw(*pid) == number).map(|(_, status)| status.parent)
        };
        let descends = |status: &Status| {
            let mut chain = std::iter::successors(Some(status.parent), |number| parent_of(*number))
                .take(all.len());
            chain.any(|number| number == raw(ancestor))
        };
        let mut killed = 0;
        for (pid, _) in all.iter().filter(|(_, status)| status.state != b'Z' && descends(status)) {
            let Ok(process) = pidfd_open(*pid, PidfdFlags::empty()) else { continue };
            // The number was this process's before it was opened, and is so still.
            let unchanged = status(*pid).is_some_and(|now| {
                all.iter().any(|(other, then)| other == pid && then.parent == now.parent)
            });
            if unchanged && number_of(&process) == Some(*pid) {
                killed += u32::from(pidfd_send_signal(&process, Signal::KILL).is_ok());
            }
        }
        if killed == 0 {
            return;
        }
    }
}

/// The number that a descriptor's process has: as long as it is not reaped, nobody else's.
fn number_of(pidfd: impl AsFd) -> Option<Pid> {
    ask_number(pidfd).ok().flatten()
}

fn ask_number(pidfd: impl AsFd) -> io::Result<Option<Pid>> {
    let text = told(&format!("/proc/self/fdinfo/{}", pidfd.as_fd().as_raw_fd()))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pid:"));
    Ok(line.and_then(|line| Pid::from_raw(line.trim().parse().ok().filter(|number| *number > 0)?)))
}

fn status(pid: Pid) -> Option<Status> {
    ask_status(pid).ok().flatten()
}

fn ask_status(pid: Pid) -> io::Result<Option<Status>> {
    Ok(read_status(&told(&format!("/proc/{}/stat", raw(pid)))?))
}

/// What the system says of a process; nothing of one that is gone. In one read, which the kernel
/// fills as a whole: this is asked at each start.
fn told(path: &str) -> io::Result<String> {
    let mut text = [0; TOLD_BYTES_MAX];
    match std::fs::File::open(path).and_then(|mut file| file.read(&mut text)) {
        Ok(count) => Ok(String::from_utf8_lossy(&text[..count]).into_owned()),
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                || error.raw_os_error() == Some(libc::ESRCH) =>
        {
            Ok(String::new())
        }
        Err(error) => Err(error),
    }
}

fn read_status(text: &str) -> Option<Status> {
    // Behind the name, which may hold anything: state, parent, group, session.
    let mut words = text.rsplit_once(')')?.1.split_whitespace();
    let state = *words.next()?.as_bytes().first()?;
    let mut number = || words.next()?.parse().ok();
    Some(Status { state, parent: number()?, group: number()?, session: number()? })
}

fn processes() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}

fn raw(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    use super::*;

    fn start(script: &str, leads: bool) -> (Child, OwnedFd) {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        if leads {
            command.process_group(0);
        }
        let child = command.spawn().unwrap();
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
        (child, pidfd)
    }

    #[test]
    fn only_a_child_that_leads_its_group_is_taken() {
        let own = rustix::process::getpid();
        let (mut child, pidfd) = start("sleep 60", true);
        assert_eq!(leader_of(&pidfd, own).unwrap(), Some(Pid::from_child(&child)));
        assert_eq!(
            leader_of(&pidfd, Pid::from_child(&child)).unwrap(),
            None,
            "it is another's child"
        );
        assert_eq!(
            leader_of(std::fs::File::open("/dev/null").unwrap(), own).unwrap(),
            None,
            "not a process"
        );
        let (mut follower, of_follower) = start("sleep 60", false);
        assert_eq!(leader_of(&of_follower, own).unwrap(), None, "it does not lead a process group");
        // Whichever way is taken on this kernel, both say the same.
        let files = ask_files(&pidfd).unwrap().unwrap();
        if let Some(known) = ask_kernel(&pidfd) {
            assert_eq!(
                (known.pid, known.parent, known.group),
                (files.pid, files.parent, files.group)
            );
        }
        assert_eq!(
            (files.pid, files.parent, files.group),
            (Pid::from_child(&child), raw(own), raw(files.pid))
        );
        for (each, descriptor) in [(&mut child, &pidfd), (&mut follower, &of_follower)] {
            each.kill().unwrap();
            each.wait().unwrap();
            assert_eq!(leader_of(descriptor, own).unwrap(), None);
        }
    }

    #[test]
    fn a_group_ends_as_a_whole_in_both_ways() {
        for by_kernel in [true, false] {
            let (mut child, pidfd) = start("sleep 61 & sleep 61 & wait", true);
            let group = Pid::from_child(&child);
            let members = || {
                processes().filter(|pid| {
                    status(*pid).is_some_and(|one| one.group == raw(group) && one.state != b'Z')
                })
            };
            while members().count() < 3 {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            match by_kernel {
                true => signal_group(&pidfd, group, Signal::KILL),
                false => assert!(signal_members(Signal::KILL, |status| status.group == raw(group))),
            }
            child.wait().unwrap();
            while members().count() > 0 {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
    }

    #[test]
    fn a_process_that_leads_no_group_yet_is_signalled_alone() {
        let (mut child, pidfd) = start("sleep 64", false);
        signal_group(&pidfd, Pid::from_child(&child), Signal::KILL);
        child.wait().unwrap();
    }

    #[test]
    fn who_lost_its_parent_is_found_by_its_session() {
        // The session's leader has ended: its children are somebody else's.
        let script = "exec setsid sh -c 'sleep 63 & env -i sleep 63 & kill -KILL $$'";
        let (mut child, _pidfd) = start(script, false);
        let leader = Pid::from_child(&child);
        let members = || {
            processes().filter(|pid| {
                status(*pid).is_some_and(|one| one.session == raw(leader) && one.state != b'Z')
            })
        };
        while members().count() != 2 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        kill_session(leader);
        while members().count() > 0 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        child.wait().unwrap();
    }

    #[test]
    fn what_left_its_group_is_found_by_its_descent() {
        let (mut child, _pidfd) =
            start("setsid sleep 62 & setsid sh -c 'sleep 62 & wait' & wait", true);
        let parent = Pid::from_child(&child);
        let children = || {
            processes()
                .filter(|pid| {
                    status(*pid).is_some_and(|one| one.parent == raw(parent) && one.state != b'Z')
                })
                .count()
        };
        while children() < 2 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        kill_descendants(parent);
        child.wait().unwrap();
        assert_eq!(children(), 0);
    }
}
