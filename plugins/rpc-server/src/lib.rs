//! Accepts connections, checks calls and relays them to executables (README.md).
//!
//! The plugin knows no transport: the binary that contains it hands over what listens, what adopts
//! a descriptor as a stream, and what makes argument memory.

pub mod access;
pub mod counters;
mod descriptors;
mod driver;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod golden;
mod options;
pub mod state;
pub mod step;
pub mod transfers;

use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::time::Duration;

use farcall_base::Result;
use farcall_kernel::{
    Plugin, PluginContext, PluginDescription, RunningPlugin, SlotName, driver_mailbox,
};
use farcall_link::memory::MemorySource;
use farcall_link::stream::{ByteStream, Listener, Proof};
use farcall_services::directory::{self, DirectoryHandle, Visible};
use farcall_services::fetcher::{self, FetcherHandle};
use farcall_services::jobs::JobsHandle;
use farcall_services::mailbox::{Port, Reply};
use farcall_services::placement::{self, PlacementHandle};
use farcall_services::spawner::{self, SpawnerHandle};
use farcall_services::status::{self, StatusHandle};
use farcall_services::transactions::{self, TransactionsHandle};
use farcall_system::open_files::open_files_max;
use farcall_wire::{ModuleReport, Order};

pub use descriptors::Crowds;
pub use driver::moment;
pub use driver::results::{folder_of as results_folder, state_folder, user_state_folder};
pub use options::{LogFormat, LogLevel, Options};

/// The slot that the server fills.
pub const SLOT: SlotName = "rpc";
const NAME: &str = "rpc-server";

/// What the server offers to other plugins and to its binary.
#[derive(Clone)]
pub struct RpcHandle {
    /// Where it listens, as clients write it.
    pub addresses: Arc<[String]>,
    control: Port<Control>,
}

/// An order of a client that may give it, on its way to whoever carries it out.
pub struct Instruction {
    /// What is to be done.
    pub order: Order,
    /// Where the outcome goes; without reports it is simply done.
    pub reply: Reply<Vec<ModuleReport>>,
    /// Lives as long as the connection of whoever gave it.
    pub giver: Weak<()>,
    /// Who that is.
    pub by: Orderer,
    /// Bytes of files that may come with it, in pieces too.
    pub files_bytes_max: u64,
}

/// Who gives an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orderer {
    /// Their principal.
    pub principal: String,
    /// Whether they may administer the server, and so change what others have published.
    pub administers: bool,
    /// Modules that the outcome may name to them.
    pub visible: Visible,
}

/// What the binary tells the server.
enum Control {
    /// Here orders are carried out.
    Obey(Port<Instruction>),
    /// Take no more calls; answer when none is open.
    Drain(Reply<()>),
    /// Say goodbye to every client; answer when all are gone.
    Farewell(Reply<()>),
    /// All that is to be published when the server starts is.
    Published,
    /// Whether what the owner publishes has the owner's rights.
    IsOwn(bool),
    /// Answer when no client has been there, and no call was open, for so long.
    Linger(Duration, Reply<()>),
    /// This is who may do what from now on.
    Grant(Vec<access::Entry>),
}

impl RpcHandle {
    /// Sends clients' orders to `port` from now on; before, clients are told that nobody takes any.
    ///
    /// # Errors
    /// `LimitExceeded` or `ShuttingDown`.
    pub fn obey(&self, port: Port<Instruction>) -> Result<()> {
        self.control
            .try_send(Control::Obey(port))
            .map_err(|refused| refused.refusal.error("take orders"))
    }

    /// Takes no more calls; `reply` is answered when no call is open any more and every result has
    /// left.
    pub fn drain(&self, reply: Reply<()>) {
        self.tell(Control::Drain(reply));
    }

    /// Another table of who may do what, for connections that are open, too; calls that are open go
    /// on.
    ///
    /// # Errors
    /// `LimitExceeded` or `ShuttingDown`.
    pub fn grant(&self, table: Vec<access::Entry>) -> Result<()> {
        self.control
            .try_send(Control::Grant(table))
            .map_err(|refused| refused.refusal.error("change the table of rights"))
    }

    /// All that is to be published when the server starts is: calls of an earlier server whose
    /// routines are missing fail in a moment.
    pub fn published(&self) {
        self.tell(Control::Published);
    }

    /// Whether this is a server of its owner's own: the status says so.
    pub fn is_own(&self, own: bool) {
        self.tell(Control::IsOwn(own));
    }

    /// `reply` is answered when no client has been connected for so long, and no call was open that
    /// goes on without one.
    pub fn linger(&self, time: Duration, reply: Reply<()>) {
        self.tell(Control::Linger(time, reply));
    }

    /// Listens no more and says goodbye to every client; `reply` is answered when all are gone.
    pub fn farewell(&self, reply: Reply<()>) {
        self.tell(Control::Farewell(reply));
    }

    /// A reply that cannot be delivered is dropped, which answers it with the reason.
    fn tell(&self, control: Control) {
        drop(self.control.try_send(control));
    }
}

/// What accepts clients.
pub type Listeners = Vec<Box<dyn Listener>>;

/// The transports that a binary gives its server.
#[derive(Clone, Copy)]
pub struct Transports {
    /// Listens where the options say.
    pub listen: fn(&Options) -> Result<Listeners>,
    /// Makes a stream of an executable's end of a socket pair.
    pub adopt: fn(OwnedFd, Proof) -> Result<Box<dyn ByteStream>>,
    /// Makes a stream of a Unix socket that an executable sent, for the calls of its routine.
    pub socket: fn(OwnedFd, Proof) -> Result<Box<dyn ByteStream>>,
    /// Makes argument memory for one principal.
    pub memory: fn(&Options) -> Arc<dyn MemorySource>,
    /// The user whose clients may connect.
    pub own_uid: fn() -> u32,
    /// Whether a process, by its number, was started by this one: it has the server's user, and is
    /// not its owner for that.
    pub was_started_here: fn(u32) -> bool,
    /// What tells this host from others.
    pub host: fn() -> String,
    /// Whether clients that connect before [`RpcHandle::published`] wait: they would find nothing.
    pub opens_when_published: bool,
}

/// Describes the plugin; `construct` is `|options| farcall_rpc_server::construct(options,
/// TRANSPORTS)`.
pub fn plugin(
    construct: fn(&farcall_kernel::Options) -> Result<Box<dyn Plugin>>,
) -> PluginDescription {
    PluginDescription {
        name: NAME,
        provides: &[SLOT, status::SLOT, placement::SLOT, transactions::SLOT],
        needs: &[directory::SLOT, spawner::SLOT, spawner::JOBS_SLOT, fetcher::SLOT],
        uses: &[],
        options: include_str!("options.toml"),
        construct,
    }
}

/// Makes the plugin.
///
/// # Errors
/// `InvalidSource` for wrong options.
pub fn construct(
    options: &farcall_kernel::Options,
    transports: Transports,
) -> Result<Box<dyn Plugin>> {
    Ok(Box::new(RpcServer {
        options: Options::read(options)?.fitting(open_files_max()),
        transports,
    }))
}

struct RpcServer {
    options: Options,
    transports: Transports,
}

impl Plugin for RpcServer {
    fn start(self: Box<Self>, context: PluginContext) -> Result<RunningPlugin> {
        // One place more for the directory's word that something changed.
        let messages_max = self.options.messages_max.saturating_add(1);
        let (sender, receiver, stop) = driver_mailbox(messages_max, driver::Message::Stop)?;
        let listeners = (self.transports.listen)(&self.options)?;
        let listening = listeners.iter().filter(|listener| listener.joined_name().is_none());
        let addresses = listening.map(|listener| listener.address()).collect();
        let services = driver::Services {
            directory: context.service::<DirectoryHandle>(directory::SLOT)?,
            spawner: context.service::<SpawnerHandle>(spawner::SLOT)?,
            jobs: context.service::<JobsHandle>(spawner::JOBS_SLOT)?,
            fetcher: context.service::<FetcherHandle>(fetcher::SLOT)?,
            metaserver: driver::Metaserver::default(),
            transactor: driver::Transactor::default(),
        };
        let control = sender.port(driver::Message::Control);
        let status = StatusHandle::new(sender.port(driver::Message::Watched));
        let placement = PlacementHandle::new(sender.port(driver::Message::Metaserver));
        let transactions = TransactionsHandle::new(sender.port(driver::Message::Transactions));
        let driver = driver::Driver::new(
            self.options,
            self.transports,
            listeners,
            services,
            sender,
            receiver,
        )?;
        let running = RunningPlugin::new(stop, move || driver.run());
        let running = running.provides(SLOT, RpcHandle { addresses, control });
        let running = running.provides(status::SLOT, status).provides(placement::SLOT, placement);
        Ok(running.provides(transactions::SLOT, transactions))
    }
}
