//! The readable descriptor of a mailbox: the one OS-specific piece of it. An eventfd on Linux, a
//! pipe elsewhere.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use farcall_base::{Error, Result};

/// A descriptor that is readable from `signal` to `clear`.
pub(super) struct Wake {
    readable: OwnedFd,
    /// The end to write to; an eventfd is its own.
    #[cfg(not(target_os = "linux"))]
    writable: OwnedFd,
}

impl Wake {
    /// Fails when the process is out of descriptors.
    #[cfg(target_os = "linux")]
    pub(super) fn new() -> Result<Wake> {
        use rustix::event::{EventfdFlags, eventfd};
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let readable =
            eventfd(0, flags).map_err(|errno| Error::system("create a mailbox", errno.into()))?;
        Ok(Wake { readable })
    }

    /// Fails when the process is out of descriptors.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn new() -> Result<Wake> {
        let wrong = |errno: rustix::io::Errno| Error::system("create a mailbox", errno.into());
        let (readable, writable) = rustix::pipe::pipe().map_err(wrong)?;
        for end in [&readable, &writable] {
            rustix::io::ioctl_fionbio(end, true).map_err(wrong)?;
            rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC).map_err(wrong)?;
        }
        Ok(Wake { readable, writable })
    }

    /// Makes the descriptor readable. A full counter or pipe is readable already, so that error
    /// means nothing.
    pub(super) fn signal(&self) {
        #[cfg(target_os = "linux")]
        let end = &self.readable;
        #[cfg(not(target_os = "linux"))]
        let end = &self.writable;
        let _ = rustix::io::write(end, &1u64.to_ne_bytes());
    }

    /// Makes it unreadable again.
    pub(super) fn clear(&self) {
        let mut counter = [0; 512];
        // An eventfd gives its counter in one read; a pipe may hold more than one buffer.
        while rustix::io::read(&self.readable, &mut counter) == Ok(counter.len()) {}
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.readable.as_fd()
    }
}
