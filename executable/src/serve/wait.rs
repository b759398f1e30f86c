//! Waiting for the server: at a socket, or at the bell of a ring.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use farcall_base::{Error, Result};
use farcall_link::Link;
use farcall_link::stream::ByteStream;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};

/// Waits at one stream.
pub struct Waiter {
    /// Watches the bell and the end of a stream that has one.
    bell: Option<Arc<OwnedFd>>,
    /// The bell rang while room was waited for: bytes may have come, and it will not ring for them
    /// again.
    heard: bool,
}

impl Waiter {
    pub fn new(stream: &dyn ByteStream) -> Result<Waiter> {
        let (Some(bell), Some(hangup)) = (stream.readiness(), stream.hangup()) else {
            return Ok(Waiter { bell: None, heard: false });
        };
        let watch = || {
            let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
            epoll::add(&events, bell, epoll::EventData::new_u64(0), flags)?;
            epoll::add(&events, hangup, epoll::EventData::new_u64(1), epoll::EventFlags::RDHUP)?;
            Ok(events)
        };
        let events = watch().map_err(failed)?;
        Ok(Waiter { bell: Some(Arc::new(events)), heard: false })
    }

    /// Waits until something may have come, or there is room for what is queued.
    pub fn wait(&mut self, link: &Link) -> Result<()> {
        if std::mem::take(&mut self.heard) {
            return Ok(());
        }
        let room = if link.bytes_queued() > 0 { PollFlags::OUT } else { PollFlags::empty() };
        self.wait_for(link, PollFlags::IN | room)
    }

    /// What a thread can wait for that does not hold the waiter; `None` if something may have come
    /// already.
    pub fn watch(&mut self, link: &Link) -> Result<Option<Watch>> {
        if std::mem::take(&mut self.heard) {
            return Ok(None);
        }
        let room = if link.bytes_queued() > 0 { PollFlags::OUT } else { PollFlags::empty() };
        let descriptor = match (&self.bell, link.stream().readiness()) {
            (Some(bell), _) => {
                return Ok(Some(Watch { descriptor: bell.clone(), flags: PollFlags::IN }));
            }
            (None, Some(descriptor)) => descriptor.try_clone_to_owned(),
            (None, None) => return Ok(None),
        };
        let descriptor = descriptor.map_err(|error| Error::system("wait for the server", error))?;
        Ok(Some(Watch { descriptor: Arc::new(descriptor), flags: PollFlags::IN | room }))
    }

    /// What a [`Watch`] woke for is looked at now: the bell may ring again.
    pub fn heard(&mut self) {
        if let Some(events) = &self.bell {
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            let _ = epoll::wait(events, &mut [epoll_event(); 2][..], Some(&at_once));
        }
    }

    /// Waits until there may be room for what is queued.
    pub fn wait_for_room(&mut self, link: &Link) -> Result<()> {
        self.heard = self.bell.is_some();
        self.wait_for(link, PollFlags::OUT)
    }

    fn wait_for(&self, link: &Link, flags: PollFlags) -> Result<()> {
        let outcome = match (&self.bell, link.stream().readiness()) {
            (Some(events), _) => epoll::wait(events, &mut [epoll_event(); 2][..], None).map(|_| ()),
            (None, Some(descriptor)) => {
                poll(&mut [PollFd::from_borrowed_fd(descriptor, flags)], None).map(|_| ())
            }
            (None, None) => Ok(()),
        };
        match outcome {
            Ok(()) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(failed(errno)),
        }
    }
}

/// A descriptor that is ready when something may have come.
pub struct Watch {
    descriptor: Arc<OwnedFd>,
    flags: PollFlags,
}

impl Watch {
    /// Waits for it, or for `nudge`. Errors and interruptions look like readiness.
    pub fn wait(&self, nudge: &OwnedFd) {
        let mut waited =
            [PollFd::new(&*self.descriptor, self.flags), PollFd::new(nudge, PollFlags::IN)];
        let _ = poll(&mut waited, None);
        if !waited[1].revents().is_empty() {
            let _ = rustix::io::read(nudge, &mut [0; 8]);
        }
    }
}

/// Room for one event: which one it was does not matter.
fn epoll_event() -> epoll::Event {
    epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }
}

fn failed(errno: rustix::io::Errno) -> Error {
    Error::system("wait for the server", errno.into())
}
