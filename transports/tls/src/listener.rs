//! Listening beyond this machine: a stream is handed over when its handshake is done, and not
//! before.
//!
//! Handshakes lie in a table of bounded length, each with a time limit (`pending.rs` says who goes
//! when it is full): whoever opens connections and says nothing keeps nobody out. One descriptor
//! tells of all of it: an epoll of the listening socket, the sockets in the table, and a clock.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::stream::{self, ByteStream, Peer};
use rustix::event::{Timespec, epoll};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use rustls::server::UnbufferedServerConnection;

use crate::certificate::Certificate;
use crate::handshake::{Handshake, Progress};
use crate::pending::{PendingHandshake, PendingHandshakes};
use crate::refusal::View;
use crate::revocation::{Guard, Revocations, ServerFiles};
use crate::socket;
use crate::stream::TlsByteStream;

const QUEUE_MAX: i32 = 4096;
const OPERATION: &str = "listen";
/// Marks of what became ready; handshakes' are their numbers, which begin above.
const SOCKET: u64 = 0;
const CLOCK: u64 = 1;
const FIRST: u64 = 2;
/// Things looked at in one turn, and refusals remembered: together they are told within what a
/// server accepts at once.
const EVENTS_MAX: usize = 32;
/// Connections taken from the system in one accept.
const ACCEPTS_MAX: usize = 16;
/// What strangers may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenerLimits {
    /// Handshakes at a time.
    pub handshakes_max: usize,
    /// Time for one.
    pub handshake_max: Duration,
    /// Time after which a peer whose machine answers nothing is given up.
    pub silence_max: Duration,
}

/// A listening port. Every stream it accepts reports what the certificate proves that its other end
/// showed: a user's name, or a server's hosts.
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    /// As the manifest or the person wrote it: the name in the certificate is the one to connect
    /// by.
    host: String,
    limits: ListenerLimits,
    revocations: Arc<Revocations>,
    poller: OwnedFd,
    clock: OwnedFd,
    pending: PendingHandshakes,
    next: u64,
    known: VecDeque<Box<dyn ByteStream>>,
    refused: VecDeque<Error>,
    /// The clock was set to ring at once.
    rings: bool,
}

impl Listener {
    /// Listens on `port` (0: any free one) of `host`, and serves with what `files` hold.
    ///
    /// # Errors
    /// As `Credentials::read`; `Unreachable` when the port is taken or the host is not this
    /// machine's.
    pub fn bind(
        host: &str,
        port: u16,
        files: ServerFiles,
        limits: ListenerLimits,
    ) -> Result<Listener> {
        let revocations = Arc::new(Revocations::read(files)?);
        let explain = |error| explain(host, port, error);
        let socket = TcpListener::bind((host, port)).map_err(explain)?;
        socket.set_nonblocking(true).map_err(explain)?;
        // Hundreds of programs of one job dial in at once; whoever finds no place tries again a
        // second later.
        rustix::net::listen(&socket, QUEUE_MAX).map_err(|errno| explain(errno.into()))?;
        let address = socket.local_addr().map_err(explain)?;
        let system = |errno: rustix::io::Errno| explain(errno.into());
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(system)?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let clock = timerfd_create(TimerfdClockId::Monotonic, flags).map_err(system)?;
        watch(&poller, &socket, SOCKET, epoll::EventFlags::IN).map_err(explain)?;
        watch(&poller, &clock, CLOCK, epoll::EventFlags::IN).map_err(explain)?;
        let (known, refused) = Default::default();
        let host = host.to_owned();
        Ok(Listener {
            socket,
            address,
            host,
            limits,
            revocations,
            poller,
            clock,
            pending: PendingHandshakes::new(limits.handshakes_max),
            next: FIRST,
            known,
            refused,
            rings: false,
        })
    }

    /// The port, where any was asked for.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn look(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS_MAX);
        let nothing = Timespec { tv_sec: 0, tv_nsec: 0 };
        epoll::wait(&self.poller, rustix::buffer::spare_capacity(&mut events), Some(&nothing))?;
        for event in events {
            match event.data.u64() {
                SOCKET => self.take_strangers()?,
                CLOCK => self.end_late(),
                number => self.go_on(number),
            }
        }
        Ok(())
    }

    fn take_strangers(&mut self) -> io::Result<()> {
        for _ in 0..ACCEPTS_MAX {
            match self.socket.accept() {
                Ok((socket, peer)) => self.begin(socket.into(), peer),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if vanished(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn begin(&mut self, socket: OwnedFd, peer: SocketAddr) {
        let engine = self.revocations.config().and_then(|config| {
            UnbufferedServerConnection::new(config)
                .map_err(|error| Error::internal("secure the connection", error.to_string()))
        });
        let engine = match engine {
            Ok(engine) => engine,
            Err(error) => return self.refuse(error, peer),
        };
        let number = self.next;
        let watched = socket::tune(&socket, peer, self.limits.silence_max)
            .and_then(|()| watch(&self.poller, &socket, number, epoll::EventFlags::IN));
        // One that is gone already, or for which there is no memory to watch it.
        if watched.is_err() {
            return;
        }
        self.next += 1;
        let until = Instant::now() + self.limits.handshake_max;
        let handshake = Box::new(Handshake::new(engine));
        if let Some(evicted) =
            self.pending.begin(number, PendingHandshake { socket, peer, until, handshake })
        {
            self.refuse(crowded(self.limits.handshakes_max), evicted.peer);
        }
        self.set_clock();
    }

    fn go_on(&mut self, number: u64) {
        let Some(mut stranger) = self.pending.take(number) else { return };
        let presented = std::cell::OnceCell::new();
        let view = || View::Server(presented.get_or_init(|| self.revocations.presented()).as_ref());
        match stranger.handshake.advance(&stranger.socket, view) {
            Ok(Progress::Done) => {
                self.hand_over(*stranger.handshake, stranger.socket, stranger.peer)
            }
            Ok(progress) => {
                let flags = match progress {
                    Progress::WaitsForRoom => epoll::EventFlags::OUT,
                    _ => epoll::EventFlags::IN,
                };
                // Cannot fail for a descriptor that was added; its time limit would end it.
                let _ = epoll::modify(
                    &self.poller,
                    &stranger.socket,
                    epoll::EventData::new_u64(number),
                    flags,
                );
                self.pending.go_on(number, stranger);
            }
            Err(error) => {
                stranger.handshake.farewell(&stranger.socket);
                self.refuse(error, stranger.peer);
            }
        }
    }

    fn hand_over(
        &mut self,
        handshake: Handshake<UnbufferedServerConnection>,
        socket: OwnedFd,
        peer: SocketAddr,
    ) {
        let _ = epoll::delete(&self.poller, &socket);
        let shown = handshake.engine().peer_certificates().and_then(|chain| chain.first());
        let no_certificate = || {
            Error::internal("secure the connection", "a client without a certificate was accepted")
        };
        let certificate = shown.ok_or_else(no_certificate).and_then(|der| Certificate::parse(der));
        match certificate.and_then(|certificate| Ok((certificate.proof()?, certificate))) {
            Ok((proof, certificate)) => {
                self.pending.completed(peer, Instant::now());
                let guard = Guard::new(self.revocations.clone(), certificate);
                let peer = Peer { address: peer.to_string(), proof };
                self.known.push_back(Box::new(TlsByteStream::new(
                    handshake.into_records(),
                    socket,
                    peer,
                    Some(guard),
                )));
            }
            Err(error) => self.refuse(error, peer),
        }
    }

    /// Remembers whom it refused, for whoever keeps a log. Of a flood it forgets the oldest.
    fn refuse(&mut self, error: Error, peer: SocketAddr) {
        if self.refused.len() >= EVENTS_MAX {
            self.refused.pop_front();
        }
        self.refused.push_back(error.with("peer", peer));
    }

    fn end_late(&mut self) {
        let mut ticks = [0; 8];
        let _ = rustix::io::read(&self.clock, &mut ticks);
        self.rings = false;
        let now = Instant::now();
        for PendingHandshake { peer, .. } in self.pending.take_late(now) {
            let message = "the client did not authenticate in time";
            self.refuse(Error::new(ErrorKind::TimedOut, "secure the connection", message), peer);
        }
        self.set_clock();
    }

    /// Who takes a few at a time comes back for those that are left: the sockets alone would not
    /// tell of them.
    fn ring_for_the_rest(&mut self) {
        if self.rings || (self.known.is_empty() && self.refused.is_empty()) {
            return;
        }
        self.rings = true;
        self.set_clock_to(Timespec { tv_sec: 0, tv_nsec: 1 });
    }

    /// Wakes us when the next time is over.
    fn set_clock(&self) {
        if self.rings {
            return;
        }
        let next = self.pending.next_end();
        // Zero would stop the clock.
        let left = next
            .map(|at| at.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)));
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        self.set_clock_to(left.and_then(|left| Timespec::try_from(left).ok()).unwrap_or(never));
    }

    fn set_clock_to(&self, left: Timespec) {
        let once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let time = Itimerspec { it_interval: once, it_value: left };
        // Cannot fail for a clock of ours and a time of normal size.
        let _ = timerfd_settime(&self.clock, TimerfdTimerFlags::empty(), &time);
    }
}

fn watch(poller: &OwnedFd, what: impl AsFd, mark: u64, flags: epoll::EventFlags) -> io::Result<()> {
    Ok(epoll::add(poller, what, epoll::EventData::new_u64(mark), flags)?)
}

fn crowded(handshakes_max: usize) -> Error {
    let message = "others connected, and this client had not authenticated yet";
    Error::new(ErrorKind::LimitExceeded, "secure the connection", message)
        .with("handshakes_max", handshakes_max)
        .fix("raise handshakes_max in farcall.toml if many clients connect at the same time")
        .retryable()
}

/// The client gave up while it waited: an affair of its own, not of the listener.
fn vanished(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionReset, Interrupted, InvalidInput, NotConnected,
    };
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | Interrupted | NotConnected | InvalidInput
    )
}

fn explain(host: &str, port: u16, error: io::Error) -> Error {
    let taken = |message: &str, fix: &str| {
        let message = message.to_owned();
        Error::new(ErrorKind::Unreachable, OPERATION, message).fix(fix.to_owned())
    };
    let error = match error.kind() {
        io::ErrorKind::AddrInUse => taken(
            "the port is taken",
            "stop the program that listens there, or choose another port",
        )
        .source(error),
        io::ErrorKind::AddrNotAvailable => taken(
            "the host is not this machine",
            "listen on 0.0.0.0, or on an address of this machine",
        )
        .source(error),
        _ => Error::system(OPERATION, error),
    };
    error.with("host", host).with("port", port)
}

impl stream::Listener for Listener {
    /// A refused client is a `ConnectionAborted` that carries an error of ours.
    fn accept(&mut self) -> io::Result<Option<Box<dyn ByteStream>>> {
        if self.known.is_empty() && self.refused.is_empty() {
            self.look()?;
        }
        let refused = self.refused.pop_front();
        let known = if refused.is_none() { self.known.pop_front() } else { None };
        self.ring_for_the_rest();
        refused
            .map_or(Ok(known), |error| Err(io::Error::new(io::ErrorKind::ConnectionAborted, error)))
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        Some(self.poller.as_fd())
    }

    fn address(&self) -> String {
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("tls://{host}:{}", self.address.port())
    }

    fn is_revoked(&self, certificate: &str) -> bool {
        self.revocations.lists(certificate)
    }

    fn strangers(&self) -> usize {
        self.pending.len()
    }

    fn end_stranger(&mut self) -> bool {
        let ended = self.pending.evict();
        if let Some(PendingHandshake { peer, .. }) = &ended {
            self.refuse(crowded(self.limits.handshakes_max), *peer);
        }
        ended.is_some()
    }
}
