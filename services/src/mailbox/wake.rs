//! What a mailbox stands on: a lock, and what its receiver sleeps by.
//!
//! Both are parameters of the mailbox, so that a model can look at each order in which its threads
//! take turns. What ships has the standard library's lock and a readable descriptor, the one piece
//! that is the operating system's: an eventfd on Linux, a pipe elsewhere.

use std::ops::DerefMut;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use farcall_base::{Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A lock around `T`.
pub trait Lock<T> {
    /// Holds the lock until it is dropped.
    type Guard<'a>: DerefMut<Target = T>
    where
        Self: 'a;

    /// A lock that nobody holds.
    fn new(content: T) -> Self;

    /// Waits until nobody else holds it.
    fn lock(&self) -> Self::Guard<'_>;
}

impl<T> Lock<T> for Mutex<T> {
    type Guard<'a>
        = MutexGuard<'a, T>
    where
        T: 'a;

    fn new(content: T) -> Self {
        Mutex::new(content)
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        // No code that can panic runs under this lock, so that a poisoned one is still whole.
        Mutex::lock(self).unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a mailbox's threads wait by.
pub trait Parking {
    /// Its locks.
    type Lock<T>: Lock<T>;

    /// Wakes the receiver if it waits, until [`Parking::clear`].
    fn signal(&self);

    /// Lets the receiver sleep again.
    fn clear(&self);

    /// Sleeps until it is signalled, at most for `left`. It may wake early.
    fn wait(&self, left: Option<Duration>);
}

/// A descriptor that is readable from `signal` to `clear`.
pub struct Wake {
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
}

impl Parking for Wake {
    type Lock<T> = Mutex<T>;

    /// Makes the descriptor readable. A full counter or pipe is readable already, so that error
    /// means nothing.
    fn signal(&self) {
        #[cfg(target_os = "linux")]
        let end = &self.readable;
        #[cfg(not(target_os = "linux"))]
        let end = &self.writable;
        let _ = rustix::io::write(end, &1u64.to_ne_bytes());
    }

    /// Makes it unreadable again.
    fn clear(&self) {
        let mut counter = [0; 512];
        // An eventfd gives its counter in one read; a pipe may hold more than one buffer.
        while rustix::io::read(&self.readable, &mut counter) == Ok(counter.len()) {}
    }

    fn wait(&self, left: Option<Duration>) {
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        // An interrupted wait is as good as a short one: the caller looks again.
        let _ = poll(&mut [PollFd::new(self, PollFlags::IN)], left.as_ref());
    }
}

/// What a receiver sleeps by that waits for nothing beside its mailbox: it takes no descriptor.
#[derive(Default)]
pub struct Park {
    is_signalled: Mutex<bool>,
    changed: Condvar,
}

impl Parking for Park {
    type Lock<T> = Mutex<T>;

    fn signal(&self) {
        *Lock::lock(&self.is_signalled) = true;
        self.changed.notify_one();
    }

    fn clear(&self) {
        *Lock::lock(&self.is_signalled) = false;
    }

    fn wait(&self, left: Option<Duration>) {
        let is_signalled = Lock::lock(&self.is_signalled);
        if *is_signalled {
            return;
        }
        // It may wake early: the caller looks again.
        match left {
            Some(left) => drop(self.changed.wait_timeout(is_signalled, left)),
            None => drop(self.changed.wait(is_signalled)),
        }
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.readable.as_fd()
    }
}
