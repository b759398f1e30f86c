//! The server's driver: sockets, memory, other plugins. One thread; the only part that waits.

mod accept;
mod actions;
mod directory;
mod ending;
mod executables;
mod fetching;
mod journal;
mod orders;
pub(crate) mod results;
mod standing;
mod world;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use farcall_base::{ConnectionId, Error, ErrorKind, ExecutableId, Instant, Result};
use farcall_link::stream::{ByteStream, Listener};
use farcall_link::{Link, QUEUE_BYTES, Received};
use farcall_services::directory::{DirectoryHandle, ExecutableImage, Response};
use farcall_services::fetcher::{Fetched, FetcherHandle};
use farcall_services::jobs::JobsHandle;
use farcall_services::mailbox::{Receiver, Reply, Sender};
use farcall_services::spawner::{Exited, Said, SpawnerHandle, Started};
use farcall_wire::{COMPRESSION, JobStatus, ModuleReport, Status};
use rustix::event::epoll;

use crate::state::{CallKey, HoldNumber, Limits, State};
use crate::step::{Server, Surroundings};
use crate::{Control, Options, Transports};
use accept::spare_descriptor;
use ending::Endings;
use executables::Untold;
use journal::Journal;
pub use journal::moment;
use orders::Orders;
use results::{Results, ResultsNews};
use standing::Standings;
use world::{Sending, Taking, World};

/// Data taken from one connection before others have their turn.
const RECEIVE_BUDGET: usize = 8 << 20;
/// Time after which a busy spawner or directory is asked again.
const RETRY_AFTER: Duration = Duration::from_millis(20);
/// Time after which what was received is handled, though other connections have something, too:
/// when hundreds of results come at once, the first ones' clients are not to wait for the last one.
const SETTLE_AFTER: Duration = Duration::from_micros(500);
/// Time without an event after which memory is prepared for results: whoever shares the cores has
/// more urgent work before.
const QUIET_AFTER: Duration = Duration::from_millis(5);
/// Connections accepted in one turn.
const ACCEPT_BUDGET: usize = 64;
/// Time that listeners rest when connections cannot be accepted, for lack of descriptors or memory.
const ACCEPT_REST: Duration = Duration::from_millis(100);
/// Marks of what became ready; connections' are their ids, which begin above.
const INBOX: u64 = 0;
const FIRST_CONNECTION: u64 = 1 << 16;

/// Services of other plugins.
pub struct Services {
    pub directory: DirectoryHandle,
    pub spawner: SpawnerHandle,
    pub jobs: JobsHandle,
    pub fetcher: FetcherHandle,
}

impl Services {
    /// Whoever starts what an image says.
    fn spawner_of_image(&self, image: &ExecutableImage) -> &SpawnerHandle {
        if image.launcher.is_empty() { &self.spawner } else { self.jobs.spawner() }
    }
}

/// What arrives from other plugins.
pub enum Message {
    Resolved(ConnectionId, farcall_base::ChannelId, Result<Response>),
    Listed(ConnectionId, farcall_base::ChannelId, Result<Response>),
    Held(HoldNumber, Result<Response>),
    /// Everything that is published, for calls of an earlier server.
    Readmitted(Result<Response>),
    /// What is published is not what it was.
    Changed(Result<Response>),
    /// An array that a call names by URL.
    Fetched(CallKey, u16, Result<Fetched>),
    /// What became of an order.
    Obeyed(ConnectionId, farcall_base::ChannelId, Result<Vec<ModuleReport>>),
    Control(Control),
    /// Jobs that launchers hold for us, as they are now.
    Jobs(Vec<JobStatus>),
    /// Another plugin wants to know what is going on.
    Watched(Reply<Box<Status>>),
    Started(ExecutableId, Result<Started>),
    Exited(Result<Box<Exited>>),
    /// What an executable wrote whose call's output is wanted.
    Said(Said),
    /// It will be told, or cannot.
    Listening(ExecutableId, Result<()>),
    /// That was all.
    HeardOut(ExecutableId, Result<()>),
    Results(ResultsNews),
    Stop,
}

struct Wire {
    link: Link,
    interest: Interest,
    /// Its end broke a rule, and is to learn of it.
    is_broken: bool,
}

/// What a connection waits for.
#[derive(PartialEq)]
enum Interest {
    /// Bytes, room to send, both, or nothing for now: a socket says so for as long as it is true.
    Socket(epoll::EventFlags),
    /// Its bell, which rings once. Paused while nothing is taken from it: a stroke of that time
    /// must be made up for.
    Bell { paused: bool },
}

/// The driver.
pub struct Driver {
    transports: Transports,
    listeners: Vec<Box<dyn Listener>>,
    services: Services,
    sender: Sender<Message>,
    inbox: Receiver<Message>,
    poller: std::os::fd::OwnedFd,
    wires: BTreeMap<ConnectionId, Wire>,
    server: Server,
    world: World,
    next_connection: u64,
    options: Options,
    /// What the spawner was too busy to be told, and when it is told again.
    untold: Vec<Untold>,
    untold_until: Option<Instant>,
    /// Connections that may have more to give although nothing will tell so: a bell rings once, and
    /// a stream that decrypts holds bytes that its socket no longer knows of.
    again: Vec<ConnectionId>,
    /// A descriptor to spare: given up, it lets a client in when there is no other, who is told so.
    spare: Option<std::fs::File>,
    /// When resting listeners are to be looked at again.
    resting_until: Option<Instant>,
    /// Whether nothing has happened for a while: there is time to prepare memory.
    is_quiet: bool,
    /// What is published, as far as we know, and whether the directory is to tell when it is
    /// another.
    revision: u64,
    is_watching: bool,
    journal: Journal,
    orders: Orders,
    endings: Endings,
    standings: Standings,
    results: Option<Results>,
    /// When a results folder that could not be opened is tried again.
    results_again: Option<Instant>,
}

impl Driver {
    /// Everything that can fail at the start fails here.
    pub fn new(
        options: Options,
        transports: Transports,
        listeners: Vec<Box<dyn Listener>>,
        services: Services,
        sender: Sender<Message>,
        inbox: Receiver<Message>,
    ) -> Result<Driver> {
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|error| Error::system("wait for sockets", error.into()))?;
        let journal = Journal::open(&options)?;
        let mut driver = Driver {
            server: Server::new(
                State::new(limits(&options, &transports), (transports.host)())
                    .named(world::fresh_name()),
            ),
            world: World::new(transports, options.clone()),
            transports,
            listeners,
            services,
            sender,
            inbox,
            poller,
            wires: BTreeMap::new(),
            next_connection: FIRST_CONNECTION,
            options,
            untold: Vec::new(),
            untold_until: None,
            again: Vec::new(),
            spare: spare_descriptor(),
            resting_until: None,
            is_quiet: false,
            revision: 0,
            is_watching: false,
            journal,
            orders: Orders::default(),
            endings: Endings::default(),
            standings: Standings::default(),
            results: None,
            results_again: None,
        };
        driver.open_results();
        driver.watch(driver.inbox.as_fd(), INBOX)?;
        for (index, listener) in driver.listeners.iter().enumerate() {
            if let Some(descriptor) = listener.readiness() {
                driver.watch(descriptor, 1 + index as u64)?;
            }
        }
        Ok(driver)
    }

    fn watch(&self, descriptor: BorrowedFd<'_>, mark: u64) -> Result<()> {
        self.watch_for(descriptor, mark, epoll::EventFlags::IN)
    }

    fn watch_for(
        &self,
        descriptor: BorrowedFd<'_>,
        mark: u64,
        flags: epoll::EventFlags,
    ) -> Result<()> {
        epoll::add(&self.poller, descriptor, epoll::EventData::new_u64(mark), flags)
            .map_err(|error| Error::system("wait for sockets", error.into()))
    }

    /// Runs until told to stop.
    pub fn run(mut self) -> Result<()> {
        let mut events = Vec::with_capacity(256);
        self.watch_directory();
        self.services.jobs.watch(self.sender.port(Message::Jobs));
        loop {
            events.clear();
            let timeout =
                self.patience().and_then(|left| rustix::event::Timespec::try_from(left).ok());
            match epoll::wait(
                &self.poller,
                rustix::buffer::spare_capacity(&mut events),
                timeout.as_ref(),
            ) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Error::system("wait for sockets", error.into())),
            }
            self.prepare_memory(events.is_empty());
            self.world.look_at_clock();
            // Before any call: what a client was told of was published before, and is in the
            // mailbox.
            if !self.take_messages() {
                self.end_results();
                return Ok(());
            }
            let mut settled = self.world.now();
            for event in events.drain(..) {
                match event.data.u64() {
                    INBOX => {}
                    mark if mark < FIRST_CONNECTION => self.accept(mark as usize - 1),
                    mark => self.ready(ConnectionId(mark), event.flags),
                }
                if self.world.now().since(settled) >= SETTLE_AFTER {
                    self.settle();
                    settled = self.world.now();
                }
            }
            for connection in std::mem::take(&mut self.again) {
                self.receive(connection);
            }
            self.world.look_at_clock();
            self.server.tick(&mut self.world);
            self.endings.close_due(self.world.now());
            self.look_at_standings();
            self.look_for_results();
            self.settle();
            self.report_end();
            self.refresh();
        }
    }

    /// While nothing happens, memory is made ready for results that are to come.
    fn prepare_memory(&mut self, nothing_came: bool) {
        self.is_quiet = nothing_came && self.world.has_to_prepare();
        if self.is_quiet {
            self.world.prepare();
        }
    }

    /// The longest time that may pass before the next turn; `None` when nothing is due.
    fn patience(&self) -> Option<Duration> {
        let quiet = if self.is_quiet { Duration::ZERO } else { QUIET_AFTER };
        let prepare = self.world.has_to_prepare().then_some(quiet);
        self.next_due().into_iter().chain(prepare).min()
    }

    fn next_due(&self) -> Option<Duration> {
        if !self.again.is_empty() {
            return Some(Duration::ZERO);
        }
        if !self.untold.is_empty() || !self.is_watching {
            return Some(RETRY_AFTER);
        }
        let own =
            self.resting_until.into_iter().chain(self.endings.next()).chain(self.standings.next());
        let own = own.chain(self.orders.next()).chain(self.results_again);
        let next = self.server.next_tick().into_iter().chain(own).min();
        next.map(|at| at.since(self.world.now()) + Duration::from_millis(1))
    }

    /// False when the node stops.
    fn take_messages(&mut self) -> bool {
        while let Ok(message) = self.inbox.try_receive() {
            match message {
                Message::Stop => return false,
                Message::Resolved(connection, channel, answer) => {
                    self.server.resolved(connection, channel, answer.and_then(world::resolved));
                }
                Message::Listed(connection, channel, answer) => {
                    self.server.listed(connection, channel, answer.and_then(world::listing));
                }
                Message::Fetched(key, slot, outcome) => self.fetched(key, slot, outcome),
                Message::Held(hold, answer) => {
                    self.server.held(&mut self.world, hold, answer.and_then(world::held));
                }
                Message::Readmitted(answer) => self.readmit(answer.and_then(world::listing)),
                Message::Obeyed(connection, channel, outcome) => {
                    self.server.obeyed(connection, channel, outcome)
                }
                Message::Control(control) => self.control(control),
                Message::Jobs(jobs) => self.server.jobs(&self.world, jobs),
                Message::Watched(reply) => reply.answer(Ok(self.server.status(&self.world))),
                Message::Changed(answer) => self.directory_changed(answer),
                Message::Started(executable, Ok(started)) => self.started(executable, started),
                Message::Started(executable, Err(error)) => self.not_started(executable, &error),
                Message::Exited(Ok(exited)) => self.exited(&exited),
                Message::Listening(executable, outcome) => self.listening(executable, outcome),
                Message::Said(said) => self.server.said(&said),
                Message::HeardOut(executable, outcome) => self.heard_out(executable, &outcome),
                Message::Results(news) => self.results_news(news),
                // The spawner ended without a word on its executables: the node is stopping.
                Message::Exited(Err(_)) => {}
            }
        }
        true
    }

    fn add(&mut self, stream: Box<dyn ByteStream>) -> Option<ConnectionId> {
        let connection = ConnectionId(self.next_connection);
        let interest = if let Some(hangup) = stream.hangup() {
            self.watch_for(
                stream.readiness()?,
                connection.0,
                epoll::EventFlags::IN | epoll::EventFlags::ET,
            )
            .ok()?;
            self.watch_for(hangup, connection.0, epoll::EventFlags::RDHUP).ok()?;
            Interest::Bell { paused: false }
        } else {
            self.watch(stream.readiness()?, connection.0).ok()?;
            Interest::Socket(epoll::EventFlags::IN)
        };
        self.standings.watch(connection, &*stream, self.world.now());
        self.next_connection += 1;
        let link = Link::new(stream, self.options.control_bytes_max, self.options.data_bytes_max);
        self.wires.insert(connection, Wire { link, interest, is_broken: false });
        Some(connection)
    }

    /// Something came, or left, or the other end has ended. Of one that is gone nothing is waited
    /// for that is not read now: its socket would tell of it again and again.
    fn ready(&mut self, connection: ConnectionId, flags: epoll::EventFlags) {
        let is_gone = flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        if is_gone && self.wires.contains_key(&connection) && self.server.is_clogged(connection) {
            return self.close(connection);
        }
        self.receive(connection);
    }

    fn receive(&mut self, connection: ConnectionId) {
        let Some(mut wire) = self.wires.remove(&connection) else {
            if self.endings.discard(connection) {
                self.again.push(connection);
            }
            return;
        };
        self.world.look_at_clock();
        let clogged = self.server.is_clogged(connection);
        let outcome = if clogged {
            Ok(Received::Blocked)
        } else {
            let mut taking =
                Taking { server: &mut self.server, world: &mut self.world, connection };
            wire.link.receive(&mut taking, RECEIVE_BUDGET)
        };
        // Whoever names it sends no data before our Hello has left, which is after this.
        if !wire.link.may_compress() && self.server.has_feature(connection, COMPRESSION) {
            wire.link.compress(self.options.compression);
        }
        if matches!(outcome, Ok(Received::More)) {
            self.again.push(connection);
        }
        self.wires.insert(connection, wire);
        for (nest, descriptor) in self.world.take_nests() {
            self.nest(nest, descriptor);
        }
        match outcome {
            Ok(Received::Blocked | Received::More) => self.flush(connection),
            Ok(Received::Closed) => self.close(connection),
            Err(error) if error.kind() == ErrorKind::ConnectionLost => self.close(connection),
            Err(error) => {
                self.has_broken(connection);
                self.server.broken(connection, &error);
                self.flush(connection);
            }
        }
    }

    /// Carries out what the server decided, until nothing is left.
    fn settle(&mut self) {
        self.watch_directory();
        self.tell_again();
        for identity in self.world.freed() {
            self.server.forget_memory(crate::state::MemorySource::Own(identity));
        }
        loop {
            while let Some(action) = self.server.poll_action() {
                self.act(action);
            }
            let touched: Vec<ConnectionId> = self.server.take_touched().collect();
            if touched.is_empty() {
                return;
            }
            for connection in touched {
                self.flush(connection);
            }
        }
    }

    /// Sends what may be sent now; closes the connection when it is to go and everything is sent.
    fn flush(&mut self, connection: ConnectionId) {
        let Some(wire) = self.wires.get_mut(&connection) else { return };
        let outcome = send_frames(&mut self.server, &mut self.world, connection, &mut wire.link);
        self.server.settle(&mut self.world, connection);
        let done = match outcome {
            Ok(done) => done,
            Err(_) => return self.close(connection),
        };
        if done && self.server.is_leaving(connection) {
            self.let_read(connection);
            return self.close(connection);
        }
        self.set_interest(connection, done);
    }

    fn set_interest(&mut self, connection: ConnectionId, done: bool) {
        let clogged = self.server.is_clogged(connection);
        let Some(wire) = self.wires.get_mut(&connection) else { return };
        match &mut wire.interest {
            Interest::Bell { paused } => {
                if *paused && !clogged {
                    self.again.push(connection);
                }
                *paused = clogged;
            }
            Interest::Socket(known) => {
                let mut flags =
                    if done { epoll::EventFlags::empty() } else { epoll::EventFlags::OUT };
                flags.set(epoll::EventFlags::IN, !clogged);
                if !clogged && !known.contains(epoll::EventFlags::IN) {
                    self.again.push(connection);
                }
                if *known != flags
                    && let Some(descriptor) = wire.link.stream().readiness()
                {
                    *known = flags;
                    let data = epoll::EventData::new_u64(connection.0);
                    // Cannot fail for a descriptor that was added; the next event would still close
                    // the connection.
                    let _ = epoll::modify(&self.poller, descriptor, data, flags);
                }
            }
        }
    }

    fn close(&mut self, connection: ConnectionId) {
        // What it has begun must be known before its word is gone, and nothing may begin after.
        if let Some(executable) = self.server.executable_of(connection) {
            self.recall(executable, connection);
        }
        if let Some(wire) = self.wires.remove(&connection) {
            let stream = wire.link.stream();
            for descriptor in stream.readiness().into_iter().chain(stream.hangup()) {
                let _ = epoll::delete(&self.poller, descriptor);
            }
        }
        if let Some(principal) = self.world.principal(connection) {
            self.tell_of(connection, "closed", principal, None);
        }
        self.standings.forget(connection);
        self.server.ended(&mut self.world, connection);
        self.world.forget(connection);
        self.orders.forget(connection);
    }
}

/// Moves frames from the server's decisions to the link and to the socket; true when all of them
/// left.
fn send_frames(
    server: &mut Server,
    world: &mut World,
    connection: ConnectionId,
    link: &mut Link,
) -> Result<bool> {
    link.pump(QUEUE_BYTES, &mut Sending { server, world, connection })
}

/// The server's limits; clients share no more with it than it can hold descriptors for.
fn limits(options: &Options, transports: &Transports) -> Limits {
    let mut limits = options.limits();
    let shared_max = (transports.memory)(options).shared_max();
    limits.hello.segments_max =
        limits.hello.segments_max.min(u32::try_from(shared_max).unwrap_or(u32::MAX));
    limits
}
