//! Processes under a launcher's filter that ask for their connection, and the answer
//! (seccomp_unotify(2)): a call of theirs waits until it gets a descriptor, or an error. Which
//! process asks is the kernel's word, and what it says beside that is not read.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;

/// What shows who asks.
pub(super) struct Askers(OwnedFd);

/// One process that waits for its answer. One that gets none waits on.
pub(super) struct Asker<'a> {
    askers: &'a Askers,
    id: u64,
    pub(super) pid: Pid,
}

/// What is to be done.
pub(super) enum Asked<'a> {
    /// Nothing now.
    Nothing,
    /// Nothing any more: no process is under the filter.
    Over,
    /// Somebody waits.
    By(Asker<'a>),
}

impl Askers {
    pub(super) fn new(listener: OwnedFd) -> Askers {
        Askers(listener)
    }

    /// Who waits for an answer. Does not wait itself.
    pub(super) fn next(&self) -> io::Result<Asked<'_>> {
        loop {
            let mut waiting = [PollFd::new(&self.0, PollFlags::IN)];
            poll(&mut waiting, Some(&Timespec::default()))?;
            let seen = waiting[0].revents();
            if !seen.contains(PollFlags::IN) {
                return Ok(if seen.is_empty() { Asked::Nothing } else { Asked::Over });
            }
            match self.take() {
                Ok(asker) => return Ok(asker.map_or(Asked::Nothing, Asked::By)),
                // Ended meanwhile.
                Err(error)
                    if [Some(libc::ENOENT), Some(libc::EINTR)].contains(&error.raw_os_error()) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The kernel counts who asked and not who went: after [`poll`] saw somebody, this waits for
    /// nobody.
    fn take(&self) -> io::Result<Option<Asker<'_>>> {
        // SAFETY: numbers, of which all may be 0, as the kernel wants them.
        let mut told: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        self.order(libc::SECCOMP_IOCTL_NOTIF_RECV, &mut told)?;
        let pid = i32::try_from(told.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            return Ok(Some(Asker { askers: self, id: told.id, pid }));
        }
        // It cannot be seen from here, so that nobody could end it.
        self.refuse(told.id, libc::EPERM).map(|()| None)
    }

    /// The call of this number fails so. One whose process has ended meanwhile is no error.
    fn refuse(&self, id: u64, errno: i32) -> io::Result<()> {
        let mut answer = libc::seccomp_notif_resp { id, val: 0, error: -errno, flags: 0 };
        match self.order(libc::SECCOMP_IOCTL_NOTIF_SEND, &mut answer) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            outcome => outcome,
        }
    }

    fn order<T>(&self, request: libc::Ioctl, what: &mut T) -> io::Result<()> {
        // SAFETY: the request's number says the size of `T`, which the kernel reads and writes
        // within it.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), request, std::ptr::from_mut(what)) } {
            ..0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

impl Asker<'_> {
    /// Its call returns a descriptor of its own for `file`. One that has ended meanwhile is no
    /// error.
    pub(super) fn give(self, file: impl AsFd) -> io::Result<()> {
        let mut answer = libc::seccomp_notif_addfd {
            id: self.id,
            flags: libc::SECCOMP_ADDFD_FLAG_SEND as u32,
            srcfd: file.as_fd().as_raw_fd() as u32,
            newfd: 0,
            newfd_flags: libc::O_CLOEXEC as u32,
        };
        match self.askers.order(libc::SECCOMP_IOCTL_NOTIF_ADDFD, &mut answer) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            // It has no room for one more, for example.
            Err(error) => self.refuse(error.raw_os_error().unwrap_or(libc::EIO)),
            Ok(()) => Ok(()),
        }
    }

    /// Its call fails with this error number.
    pub(super) fn refuse(self, errno: i32) -> io::Result<()> {
        self.askers.refuse(self.id, errno)
    }
}

impl AsFd for Askers {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
