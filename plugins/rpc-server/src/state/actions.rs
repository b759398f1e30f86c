//! What the server has its driver do.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{ChannelId, ConnectionId, Error, ExecutableId};
use farcall_services::directory::{ExecutableImage, Reach, Visible};
use farcall_services::fetcher::Wanted;
use farcall_services::placement::{self, Asker};
use farcall_services::transactions;
use farcall_wire::{Order, PullRequest, StateQuestion, TransactionRequest};

use super::{AuditRecord, CallKey, HoldNumber, ResultsOrder};
use crate::Orderer;

/// What the driver is to do, in this order.
pub enum Action {
    /// Ask the directory for a routine; tell [`crate::step::Server::resolved`].
    Resolve {
        /// Who asks.
        connection: ConnectionId,
        /// On which channel.
        channel: ChannelId,
        /// The name as asked for.
        name: String,
        /// What whoever asks may know of.
        visible: Visible,
        /// Whether it can call what others publish.
        reach: Reach,
    },
    /// Ask the directory for everything, of others, too; tell [`crate::step::Server::listed`].
    List {
        /// Who asks.
        connection: ConnectionId,
        /// On which channel.
        channel: ChannelId,
    },
    /// Find out how this node is, and what it publishes if that is to be told; tell
    /// [`crate::step::Server::tell_state`].
    State {
        /// Who asks.
        connection: ConnectionId,
        /// On which channel.
        channel: ChannelId,
        /// What it wants to know.
        question: StateQuestion,
    },
    /// Ask the metaserver of this node; tell [`crate::step::Server::placed`].
    Place {
        /// Who asks.
        connection: ConnectionId,
        /// On which channel.
        channel: ChannelId,
        /// The same for the metaserver.
        asker: Asker,
        /// What.
        request: placement::Request,
    },
    /// Ask the plugin that runs transactions here; tell [`crate::step::Server::transacted`].
    Transact {
        /// Who asks.
        asker: transactions::Asker,
        /// What.
        request: TransactionRequest,
    },
    /// Have the plugin that runs transactions here pull data; tell [`crate::step::Server::pulled`].
    Pull {
        /// Who asks.
        connection: ConnectionId,
        /// On which channel.
        channel: ChannelId,
        /// What.
        pull: Box<PullRequest>,
    },
    /// Tell the plugin that runs transactions here.
    TellTransactions(transactions::Message),
    /// Ask the directory for everything; tell [`crate::step::Server::readmit`], with the table of
    /// rights.
    Readmit,
    /// Ask the directory what is to be held; tell [`crate::step::Server::held`].
    Hold {
        /// For whom.
        hold: HoldNumber,
        /// A routine or a class, in full.
        name: String,
        /// What whoever asks may know of.
        visible: Visible,
    },
    /// Have an array fetched and laid into [`crate::step::Server::fetched_memory`]; tell
    /// [`crate::step::Server::fetched`].
    Fetch {
        /// Whose argument it is.
        key: CallKey,
        /// Which.
        slot: u16,
        /// What it is.
        wanted: Wanted,
    },
    /// Have an order carried out; tell [`crate::step::Server::obeyed`].
    Order {
        /// Who gives it.
        connection: ConnectionId,
        /// On which channel.
        channel: ChannelId,
        /// What is to be done.
        order: Order,
        /// Whose order it is.
        by: Orderer,
    },
    /// Start an executable; tell [`crate::step::Server::executable_started`] or
    /// `executable_exited`.
    Start {
        /// Its name.
        executable: ExecutableId,
        /// Its module's name.
        module: String,
        /// What to start.
        image: Box<ExecutableImage>,
        /// The array of handles that it is for.
        array: Option<HoldNumber>,
    },
    /// End an executable.
    Stop {
        /// Which.
        executable: ExecutableId,
        /// Time to end politely.
        grace: Duration,
    },
    /// Shut an executable's turnstile; tell [`crate::step::Server::recalled`] how many calls went
    /// through.
    Recall(ExecutableId, ConnectionId),
    /// Open an executable's turnstile again.
    Resume(ConnectionId),
    /// Have the spawner tell [`crate::step::Server::said`] what an executable writes from now on,
    /// and
    /// [`crate::step::Server::listening`] when it does.
    Listen(ExecutableId),
    /// Have the spawner tell the rest of what an executable wrote; then tell
    /// [`crate::step::Server::heard_out`].
    Hush(ExecutableId),
    /// Take what came over a connection, though its bell may not have been struck.
    Look(ConnectionId),
    /// Close a connection; what is queued was sent.
    Close(ConnectionId),
    /// Log what an administrator should know of a routine.
    Warn(Box<Error>),
    /// Keep a record of what became of a call, or of somebody who wanted in.
    Audit(Arc<AuditRecord>),
    /// Write to the results folder, or read there; tell [`crate::step::Server`] as each says.
    Results(ResultsOrder),
}
