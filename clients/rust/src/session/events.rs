//! What a program's event loops wait for: one descriptor that stands for the connection's socket
//! and for the bell that tells of ended calls.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use farcall_base::{Error, Result};
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::net::Shutdown;

/// An eventfd that nobody has written to.
pub fn signal() -> Result<OwnedFd> {
    eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(system)
}

/// Writes to an eventfd.
pub fn raise(signal: &OwnedFd) {
    let _ = rustix::io::write(signal, &1_u64.to_ne_bytes());
}

/// Takes back what was written to an eventfd.
pub fn silence(signal: &OwnedFd) {
    let _ = rustix::io::read(signal, &mut [0; 8]);
}

fn system(error: rustix::io::Errno) -> Error {
    Error::system("connect", error.into())
}

/// The descriptors, which stay while connections take one another's place.
pub(super) struct Events {
    /// Waits for the socket and the bell.
    all: OwnedFd,
    /// Readable while announced calls wait to be collected.
    bell: OwnedFd,
    /// Whether anybody may wait.
    watched: AtomicBool,
}

/// A connection's socket, and what [`Events`] tell of it.
pub(super) struct Registration {
    pub(super) socket: Arc<OwnedFd>,
    /// Whether they tell of room.
    tells_room: bool,
    /// Whether the bell was rung and not silenced.
    is_rung: bool,
    /// Whether the connection was lost just now, and they still wait for it.
    is_to_leave: bool,
}

impl Registration {
    /// The connection is lost: its socket leaves as soon as somebody can see to it.
    pub(super) fn leave_soon(&mut self) {
        self.is_to_leave = true;
    }

    /// Another connection, whose socket was added.
    pub(super) fn replace(&mut self, socket: OwnedFd) {
        self.socket = Arc::new(socket);
        self.tells_room = false;
    }

    /// Ends the connection, for the server to know.
    pub(super) fn shut(&self) {
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Both);
    }
}

impl Events {
    pub(super) fn new(socket: OwnedFd) -> Result<(Events, Registration)> {
        let all = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(system)?;
        let events = Events { all, bell: signal()?, watched: AtomicBool::new(false) };
        events.add(&socket)?;
        events.add(&events.bell)?;
        let registration = Registration {
            socket: Arc::new(socket),
            tells_room: false,
            is_rung: false,
            is_to_leave: false,
        };
        Ok((events, registration))
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.all.as_fd()
    }

    pub(super) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    /// Somebody may wait from now on; whether nobody did before.
    pub(super) fn watch(&self) -> bool {
        !self.watched.swap(true, Ordering::Relaxed)
    }

    /// Waits for a descriptor, too.
    pub(super) fn add(&self, descriptor: impl AsFd) -> Result<()> {
        let data = epoll::EventData::new_u64(0);
        epoll::add(&self.all, descriptor, data, epoll::EventFlags::IN).map_err(system)
    }

    /// Leaves the socket of a lost connection, so that nobody waits for it.
    pub(super) fn leave(&self, registration: &mut Registration) {
        if std::mem::take(&mut registration.is_to_leave) {
            // The server is to know, in case that it does not.
            registration.shut();
            let _ = epoll::delete(&self.all, &registration.socket);
        }
    }

    /// Rings the bell, or silences it.
    pub(super) fn ring(&self, registration: &mut Registration, is_wanted: bool) {
        if is_wanted == registration.is_rung {
            return;
        }
        registration.is_rung = is_wanted;
        if is_wanted {
            raise(&self.bell);
        } else {
            silence(&self.bell);
        }
    }

    /// Tells of room on the socket, or no more.
    pub(super) fn tell_room(&self, registration: &mut Registration, is_wanted: bool) {
        if is_wanted == registration.tells_room {
            return;
        }
        registration.tells_room = is_wanted;
        let flags = if is_wanted {
            epoll::EventFlags::IN | epoll::EventFlags::OUT
        } else {
            epoll::EventFlags::IN
        };
        let data = epoll::EventData::new_u64(0);
        let _ = epoll::modify(&self.all, &registration.socket, data, flags);
    }
}
