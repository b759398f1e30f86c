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
use farcall_link::stream::{self, ByteStream, Peer, Proof, RelayedSocket};
use rustix::event::{Timespec, epoll};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use rustls::server::UnbufferedServerConnection;

use crate::certificate::Certificate;
use crate::credentials::{Credentials, Whose};
use crate::handshake::{Handshake, Progress, broken};
use crate::pending::{PendingHandshake, PendingHandshakes};
use crate::refusal::View;
use crate::relayed::{Opening, Seen};
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

/// A listening port, or the place where sockets are brought to. Every stream it accepts reports what the certificate proves that its other end
/// showed: a user's name, or a server's hosts.
pub struct Listener {
    /// Nobody can connect without it.
    port: Option<(TcpListener, SocketAddr)>,
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
    relayed: VecDeque<RelayedSocket>,
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
        let revocations = Revocations::read(files)?;
        let explain = |error| explain(host, port, error);
        let socket = TcpListener::bind((host, port)).map_err(explain)?;
        socket.set_nonblocking(true).map_err(explain)?;
        // Hundreds of programs of one job dial in at once; whoever finds no place tries again a
        // second later.
        rustix::net::listen(&socket, QUEUE_MAX).map_err(|errno| explain(errno.into()))?;
        let address = socket.local_addr().map_err(explain)?;
        let mut listener = Listener::new(host, revocations, limits).map_err(explain)?;
        watch(&listener.poller, &socket, SOCKET, epoll::EventFlags::IN).map_err(explain)?;
        listener.port = Some((socket, address));
        Ok(listener)
    }

    /// Serves those whose sockets are brought here ([`stream::Listener::adopt`]), and listens
    /// nowhere: for a server that only metaservers reach.
    ///
    /// # Errors
    /// As `Credentials::read`; `PermissionDenied` for a certificate that names no single host.
    pub fn of_joined(files: ServerFiles, limits: ListenerLimits) -> Result<Listener> {
        let host = Credentials::read(&files.credentials, Whose::Server)?.certificate.proof()?;
        let Proof::Server { hosts, .. } = host else {
            let message = "the certificate is a user's, and a server is to be named by it";
            return Err(Error::new(ErrorKind::PermissionDenied, OPERATION, message)
                .with("path", files.credentials.display())
                .fix("create a server's: farcall ca server HOST"));
        };
        let host = hosts.first().unwrap_or_default();
        let revocations = Revocations::read(files)?;
        let made = Listener::new(&host, revocations, limits);
        made.map_err(|error| Error::system(OPERATION, error))
    }

    fn new(host: &str, revocations: Revocations, limits: ListenerLimits) -> io::Result<Listener> {
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let clock = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        watch(&poller, &clock, CLOCK, epoll::EventFlags::IN)?;
        let (known, relayed, refused) = Default::default();
        Ok(Listener {
            port: None,
            host: host.to_owned(),
            limits,
            revocations: Arc::new(revocations),
            poller,
            clock,
            pending: PendingHandshakes::new(limits.handshakes_max),
            next: FIRST,
            known,
            relayed,
            refused,
            rings: false,
        })
    }

    /// The port, where any was asked for; 0 where it listens at none.
    pub fn port(&self) -> u16 {
        self.port.as_ref().map_or(0, |(_, address)| address.port())
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
            let Some((socket, _)) = &self.port else { return Ok(()) };
            match socket.accept() {
                Ok((socket, peer)) => self.begin(socket.into(), peer, None),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if vanished(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn begin(&mut self, socket: OwnedFd, peer: SocketAddr, led_by: Option<Box<str>>) {
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
        let opening = if led_by.is_some() { Opening::Tls } else { Opening::Unknown };
        let pending = PendingHandshake { socket, peer, until, opening, led_by, handshake };
        if let Some(evicted) = self.pending.begin(number, pending) {
            self.refuse(crowded(self.limits.handshakes_max), evicted.peer);
        }
        self.set_clock();
    }

    fn go_on(&mut self, number: u64) {
        let Some(mut stranger) = self.pending.take(number) else { return };
        match stranger.opening.look(&stranger.socket) {
            Ok(Seen::Tls) => {}
            Ok(Seen::Less) => return self.pending.go_on(number, stranger),
            Ok(Seen::Token(token)) => return self.take_token(token, stranger),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let message = "the client does not speak TLS as Farcall does";
                let error = Error::new(ErrorKind::Protocol, "secure the connection", message);
                return self.refuse(error, stranger.peer);
            }
            Err(error) => return self.refuse(broken(&error), stranger.peer),
        }
        let presented = std::cell::OnceCell::new();
        let view = || View::Server(presented.get_or_init(|| self.revocations.presented()).as_ref());
        match stranger.handshake.advance(&stranger.socket, view) {
            Ok(Progress::Done) => {
                self.hand_over(stranger);
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

    /// One end of a relayed stream is for somebody else.
    fn take_token(&mut self, token: [u8; 32], stranger: PendingHandshake) {
        let PendingHandshake { socket, peer, .. } = stranger;
        let _ = epoll::delete(&self.poller, &socket);
        // The thread that accepts takes all of them at once.
        if self.relayed.len() >= self.limits.handshakes_max {
            self.relayed.pop_front();
        }
        self.relayed.push_back(RelayedSocket { token, socket, peer: peer.to_string() });
    }

    fn hand_over(&mut self, stranger: PendingHandshake) {
        let PendingHandshake { socket, peer, handshake, led_by, .. } = stranger;
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
                let way = if led_by.is_some() { " (relayed)" } else { "" };
                let peer = Peer { address: format!("{peer}{way}"), proof };
                let records = handshake.into_records();
                let stream = TlsByteStream::new(records, socket, peer, Some(guard));
                self.known.push_back(Box::new(stream.led_by(led_by)));
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
        match &self.port {
            Some((_, address)) => format!("tls://{host}:{}", address.port()),
            None => format!("tls://{host}"),
        }
    }

    fn take_relayed(&mut self) -> Option<RelayedSocket> {
        self.relayed.pop_front()
    }

    fn adopts(&self) -> bool {
        true
    }

    fn adopt(&mut self, socket: OwnedFd, host: &str) -> io::Result<()> {
        let peer = rustix::net::getpeername(&socket)?;
        let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
        self.begin(socket, peer.ok_or(io::ErrorKind::Unsupported)?, Some(host.into()));
        Ok(())
    }

    fn joined_name(&self) -> Option<String> {
        self.port.is_none().then(|| self.address())
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
