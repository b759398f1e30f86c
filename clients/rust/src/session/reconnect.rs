//! Makes a lost connection again, in a thread that is there for nothing else and ends with it.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_call::Connection;
use farcall_link::memory::Space;
use farcall_link::stream::ByteStream;
use farcall_link::{Control, FrameHandler, Link, QUEUE_BYTES, Received};
use farcall_peer::Greeting;
use farcall_peer::recovery::{Attempts, Next};
use farcall_wire::kept::{asks_to_resume, comes_again};
use farcall_wire::{FrameHeader, Hello};
use rustix::event::{PollFd, PollFlags, poll};

use super::{Core, Line, Session};
use crate::clock::now;

/// Reaches the server's address within a time.
pub type Dial = Box<dyn Fn(Duration) -> Result<Box<dyn ByteStream>> + Send + Sync>;

/// How a connection is made again that is lost.
pub struct WayBack {
    dial: Dial,
    hello: Hello,
    keep: Duration,
    session: OnceLock<Weak<Session>>,
}

/// Whether a connection is made again, and how often it was.
pub(super) struct Returning {
    /// `None` where it ends with its first connection.
    way_back: Option<Arc<WayBack>>,
    /// How many connections were lost.
    losses: u64,
}

impl Returning {
    pub(super) fn new(way_back: Option<Arc<WayBack>>) -> Returning {
        Returning { way_back, losses: 0 }
    }

    pub(super) fn losses(&self) -> u64 {
        self.losses
    }

    /// Begins to make it again, where that is possible.
    fn begin(&mut self, heartbeat: Option<Duration>) -> bool {
        let Some(way_back) = &self.way_back else { return false };
        let begins = way_back.begin(self.losses + 1, heartbeat);
        self.losses += u64::from(begins);
        begins
    }
}

/// A connection that was made again.
struct Greeted {
    link: Link,
    connection: Connection,
    socket: OwnedFd,
}

impl WayBack {
    /// To the same server: `hello` is what it is told, `keep` for how long it is to keep calls.
    pub fn new(dial: Dial, mut hello: Hello, keep: Duration) -> Result<WayBack> {
        let mut name = [0; 16];
        rustix::rand::getrandom(&mut name, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| Error::system("connect", error.into()))?;
        hello.attributes.extend(asks_to_resume(name, keep));
        Ok(WayBack { dial, hello, keep, session: OnceLock::new() })
    }

    /// What the first connection says.
    pub fn hello(&self) -> Hello {
        self.hello.clone()
    }

    /// Whose connection it is.
    pub fn leads_to(&self, session: &Arc<Session>) {
        // It is said once.
        let _ = self.session.set(Arc::downgrade(session));
    }

    /// Begins to make a connection again, after so many that were lost; false where there is no
    /// thread to be had.
    pub(super) fn begin(self: &Arc<WayBack>, times: u64, heartbeat: Option<Duration>) -> bool {
        let way_back = self.clone();
        let attempts = Attempts::new(now(), self.keep, heartbeat);
        let thread = std::thread::Builder::new().name("farcall-reconnect".to_owned());
        thread.spawn(move || way_back.go(times, attempts)).is_ok()
    }

    fn go(&self, times: u64, mut attempts: Attempts) {
        loop {
            let begun = now();
            let mut met = false;
            let made = self.try_once(times, attempts.patience(begun), &mut met);
            // The program has closed the connection, or it is given up.
            let Some(session) = self.session.get().and_then(Weak::upgrade) else { return };
            if !matches!(session.lock().line, Line::Lost(_)) {
                return;
            }
            match made {
                Ok(greeted) => return session.come_back(greeted),
                Err(error) => match attempts.failed(&error, met, begun, now()) {
                    Next::GiveUp => return session.give_up(&error),
                    Next::Pause(pause) => {
                        drop(session);
                        std::thread::sleep(pause);
                    }
                },
            }
        }
    }

    fn try_once(&self, times: u64, patience: Duration, met: &mut bool) -> Result<Greeted> {
        let until = Instant::now() + patience;
        let stream = (self.dial)(patience)
            .inspect_err(|error| *met = error.to_string().contains("accepted"))?;
        *met = true;
        let mut hello = self.hello();
        hello.attributes.push(comes_again(times));
        let gone = || Error::internal("connect", "a stream without a descriptor");
        let socket = stream.readiness().ok_or_else(gone)?.try_clone_to_owned();
        let socket = socket.map_err(|error| Error::system("connect", error))?;
        let link = Link::new(stream, hello.limits.control_bytes_max, hello.limits.data_bytes_max);
        greet(link, Greeting::new(hello), socket, until)
    }
}

/// What comes on a connection whose peer has not greeted us.
struct Ungreeted<'a>(&'a mut Greeting);

impl FrameHandler for Ungreeted<'_> {
    fn control(
        &mut self,
        header: &FrameHeader,
        body: &[u8],
        _: &mut VecDeque<OwnedFd>,
    ) -> Result<()> {
        self.0.handle_control(header, body)
    }

    fn data_space(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Space>> {
        self.0.refuse_data(header, done).map(|()| None)
    }

    fn data_arrived(&mut self, header: &FrameHeader, _: u32, done: u32) -> Result<()> {
        self.0.refuse_data(header, done)
    }
}

fn greet(
    mut link: Link,
    mut greeting: Greeting,
    socket: OwnedFd,
    until: Instant,
) -> Result<Greeted> {
    loop {
        let sent = link.pump(QUEUE_BYTES, &mut Control(|| greeting.poll_transmit()))?;
        match link.receive(&mut Ungreeted(&mut greeting), 1)? {
            _ if greeting.is_ready() => {
                return Ok(Greeted { link, connection: greeting.end(), socket });
            }
            Received::Closed => return Err(super::ending::closed()),
            Received::More => continue,
            Received::Blocked => {}
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::new(
                ErrorKind::TimedOut,
                "connect",
                "the server did not answer the greeting in time",
            ));
        }
        let flags = if sent { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
        // Errors and interruptions look like readiness: the next receive tells.
        let _ = poll(
            &mut [PollFd::new(&socket, flags)],
            rustix::event::Timespec::try_from(left).ok().as_ref(),
        );
    }
}

impl Session {
    fn come_back(&self, greeted: Greeted) {
        let mut core = self.lock();
        let Greeted { link, connection, socket } = greeted;
        if let Err(error) = self.events.add(&socket) {
            core.die(error);
            return self.tell(&mut core);
        }
        core.come_back(link, connection, socket);
        self.advance(&mut core);
    }

    /// The server is not to be reached: calls end with what happened first, unless the server says
    /// that we may not.
    fn give_up(&self, last: &Error) {
        let mut core = self.lock();
        let Line::Lost(reason) = &core.line else { return };
        let is_answer = matches!(last.kind(), ErrorKind::PermissionDenied | ErrorKind::Version);
        let error = super::core::copy_of(if is_answer { last } else { reason });
        let error = if is_answer { error } else { error.with("reconnecting", last) };
        // Of the calls under way nobody can say now how far they came; later ones fail for the
        // reason alone.
        core.caller.end_all(|| super::core::copy_of(&error).with("call", "it may have run"));
        core.die(error);
        self.tell(&mut core);
    }
}

impl Core {
    /// The stream broke. If there is a way back, the calls wait; otherwise they end.
    pub(super) fn broke(&mut self, error: Error) {
        if !self.is_up() {
            return;
        }
        let may_return = self.caller.may_return() && !self.caller.application().shares;
        if !may_return || !self.returning.begin(self.heartbeat.time_limit()) {
            return self.die(error);
        }
        let sent = self.sent();
        self.link.drop_queued();
        self.gathering.clear();
        self.reader.has_more = false;
        self.registration.leave_soon();
        self.put_line(Line::Lost(error));
        self.caller.part(sent, now());
    }

    fn come_back(&mut self, link: Link, connection: Connection, socket: OwnedFd) {
        self.link = link;
        self.registration.replace(socket);
        self.put_line(Line::Up);
        self.heartbeat.restart();
        self.reader.restart();
        if connection.has_feature(farcall_wire::COMPRESSION)
            && let Some(mode) = self.compression
        {
            self.link.compress(mode);
        }
        self.caller.come_back(connection, now());
    }
}
