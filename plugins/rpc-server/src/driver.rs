//! The server's driver: sockets, memory, other plugins. One thread; the only part that waits.

mod accept;
mod actions;
mod directory;
mod ending;
mod executables;
mod fetching;
mod frames;
mod journal;
mod orders;
mod placing;
pub(crate) mod results;
mod standing;
mod transacting;
mod wires;
mod world;

use std::os::fd::AsFd;
use std::time::Duration;

use farcall_base::{ConnectionId, DataId, ExecutableId, Result};
use farcall_link::stream::Listener;
use farcall_services::directory::{DirectoryHandle, ExecutableImage, Response};
use farcall_services::fetcher::{Fetched, FetcherHandle};
use farcall_services::jobs::JobsHandle;
use farcall_services::mailbox::{Receiver, Reply, Sender};
use farcall_services::placement::ToServer;
use farcall_services::spawner::{Exited, Said, SpawnerHandle, Started};
use farcall_services::transactions;
use farcall_wire::{JobStatus, ModuleReport, Status};
use rustix::event::epoll;

use crate::state::{CallKey, HoldNumber, Limits, State};
use crate::step::{Server, Surroundings};
use crate::{Control, Options, Transports};
use accept::Doors;
use directory::DirectoryWatch;
use ending::Endings;
use executables::UntoldOrders;
use journal::Journal;
pub use journal::moment;
use orders::Orders;
pub use placing::Metaserver;
use placing::StateAsker;
use results::{ResultsFolder, ResultsNews};
use standing::Standings;
pub use transacting::Transactor;
use wires::Wires;
use world::World;

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
    pub metaserver: Metaserver,
    pub transactor: Transactor,
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
    /// What is published, for somebody who asks how the server is.
    Stated(u64, Result<Response>),
    /// The metaserver's answer to a client.
    Placed(ConnectionId, farcall_base::ChannelId, Result<farcall_wire::Reply>),
    /// The metaserver says something, or asks.
    Metaserver(ToServer),
    /// An answer about transactions to a client.
    Transacted(ConnectionId, farcall_base::ChannelId, Result<farcall_wire::Reply>),
    /// Data that was pulled for a client.
    Pulled(ConnectionId, farcall_base::ChannelId, DataId, Result<transactions::Pulled>),
    /// The plugin that runs transactions says something.
    Transactions(transactions::ToServer),
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

/// The driver.
pub struct Driver {
    transports: Transports,
    doors: Doors,
    services: Services,
    sender: Sender<Message>,
    inbox: Receiver<Message>,
    wires: Wires,
    server: Server,
    world: World,
    options: Options,
    /// What the spawner was too busy to be told.
    untold: UntoldOrders,
    directory: DirectoryWatch,
    journal: Journal,
    orders: Orders,
    endings: Endings,
    standings: Standings,
    results: ResultsFolder,
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
        let journal = Journal::open(&options)?;
        let mut driver = Driver {
            server: Server::new(
                State::new(limits(&options, &transports, &services.spawner), (transports.host)())
                    .named(world::fresh_name()),
            ),
            world: World::new(transports, options.clone()),
            transports,
            doors: Doors::new(listeners),
            services,
            sender,
            inbox,
            wires: Wires::new()?,
            options,
            untold: UntoldOrders::default(),
            directory: DirectoryWatch::default(),
            journal,
            orders: Orders::default(),
            endings: Endings::default(),
            standings: Standings::default(),
            results: ResultsFolder::default(),
        };
        driver.server.know_access(&driver.options.access);
        driver.open_results();
        driver.wires.watch(driver.inbox.as_fd(), INBOX)?;
        for (index, listener) in driver.doors.listeners.iter().enumerate() {
            if let Some(descriptor) = listener.readiness() {
                driver.wires.watch(descriptor, 1 + index as u64)?;
            }
        }
        if transports.opens_when_published {
            driver.set_listening(epoll::EventFlags::empty());
        }
        Ok(driver)
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
            self.wires.wait(&mut events, timeout.as_ref())?;
            self.world.prepare_if_quiet(events.is_empty());
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
            for connection in self.wires.take_again() {
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

    /// The longest time that may pass before the next turn; `None` when nothing is due.
    fn patience(&self) -> Option<Duration> {
        let prepare = self.world.prepares_after(QUIET_AFTER);
        self.next_due().into_iter().chain(prepare).min()
    }

    fn next_due(&self) -> Option<Duration> {
        if self.wires.has_again() {
            return Some(Duration::ZERO);
        }
        let has_untold = !self.untold.is_empty()
            || self.services.metaserver.has_untold()
            || self.services.transactor.has_untold();
        if has_untold || !self.directory.is_watched() {
            return Some(RETRY_AFTER);
        }
        let own = self
            .doors
            .resting_until
            .into_iter()
            .chain(self.endings.next())
            .chain(self.standings.next());
        let own = own.chain(self.orders.next()).chain(self.results.again);
        let next = self.server.next_tick().into_iter().chain(own).min();
        next.map(|at| at.since(self.world.now()) + Duration::from_millis(1))
    }

    /// False when the node stops.
    fn take_messages(&mut self) -> bool {
        while let Ok(message) = self.inbox.try_receive() {
            match message {
                Message::Stop => return false,
                Message::Resolved(connection, channel, answer) => match answer {
                    Ok(Response::Elsewhere(routine)) => {
                        self.server.resolved_elsewhere(connection, channel, &routine)
                    }
                    answer => {
                        let answer = answer.and_then(directory::resolved);
                        self.server.resolved(connection, channel, answer);
                    }
                },
                Message::Listed(connection, channel, answer) => {
                    self.server.listed(connection, channel, answer.and_then(directory::union));
                }
                Message::Stated(number, answer) => self.stated(number, answer),
                Message::Placed(connection, channel, answer) => {
                    self.server.placed(connection, channel, answer)
                }
                Message::Metaserver(said) => self.metaserver(said),
                Message::Transacted(connection, channel, answer) => {
                    self.server.transacted(&mut self.world, connection, channel, answer);
                }
                Message::Pulled(connection, channel, data, outcome) => {
                    self.pulled((connection, channel), data, outcome);
                }
                Message::Transactions(said) => self.transactor(said),
                Message::Fetched(key, slot, outcome) => self.fetched(key, slot, outcome),
                Message::Held(hold, Ok(Response::Elsewhere(routine))) => {
                    self.server.held_elsewhere(&mut self.world, hold, &routine);
                }
                Message::Held(hold, answer) => {
                    self.server.held(&mut self.world, hold, answer.and_then(directory::held));
                }
                Message::Readmitted(answer) => self.readmit(answer.and_then(directory::listing)),
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

    /// Carries out what the server decided, until nothing is left.
    fn settle(&mut self) {
        self.watch_directory();
        self.tell_again();
        self.tell_metaserver();
        self.tell_transactor_again();
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
}

/// The server's limits; clients share no more with it than it can hold descriptors for.
fn limits(options: &Options, transports: &Transports, spawner: &SpawnerHandle) -> Limits {
    let mut limits = Limits { capacity: spawner.capacity(), ..options.limits() };
    let shared_max = (transports.memory)(options).shared_max();
    limits.hello.segments_max =
        limits.hello.segments_max.min(u32::try_from(shared_max).unwrap_or(u32::MAX));
    limits
}
