//! What the plugin knows: transactions that begin, run, or are kept.
//!
//! - A transaction stands in `entries` from the question that begins it until it was refused, was
//!   ended, or its time has passed.
//! - `due` has exactly the times that entries name.
//! - The calls and data of a transaction belong to a connection of its own to the server, and go with
//!   that. So nothing is left when a transaction leaves the table.

mod entry;
mod ids;
mod journal;
mod keeping;
pub mod kept;
mod naming;
mod recorded;
mod running;
mod servers;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use std::time::Duration;

use farcall_base::{CallId, ChannelId, ConnectionId, DataId, Instant, Result, TransactionId};
use farcall_graph::{CallNumber, DataNumber, ServerNumber};
use farcall_link::line::Return;
use farcall_services::store::{Change, Condition};
use farcall_services::transactions::{User, key_of_user};
use farcall_wire::{Open, RelayTicket, Reply, Request, TicketKey};

pub use entry::{Beginning, Entry, Owner, Phase};
pub use ids::Ids;
pub use journal::Journal;
pub use keeping::{AskedFor, Damaged, Keeping, Loading, Store, Taken, TakenInput, Ticket, Writing};
pub use recorded::{Check, Recorded};
pub use running::{Delayed, Learned, Running, Wanted, kind_of};
pub use servers::{HERE, Server, Servers, Standing, Way};

use crate::options::Settings;

/// A transaction, as this run of the plugin numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionNumber(pub u64);

/// A question of a client, as the driver numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuestionNumber(pub u64);

/// A connection of a transaction to one of its servers.
pub type LineNumber = (TransactionNumber, ServerNumber);

/// What an answer of a server is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// The interface of a routine, by its index in the message.
    Interface(u32),
    /// How inputs are.
    Inputs,
    /// Which servers there are.
    Servers,
    /// Where calls of a routine can run, by its index in the message.
    Place(u32),
    /// The way to a server that the metaserver of this node leads to.
    Way(ServerNumber),
    /// The promise of results.
    Promise,
    /// A call, and how often it was opened before.
    Call(CallNumber, u32),
    /// A number that was put there for the client.
    Put(DataNumber),
    /// An input that is a number.
    Number(DataNumber),
    /// An input that is to be written down, by its index in the message.
    Input(u32),
    /// An input that was put there again.
    Given(DataNumber),
    /// A call that is taken up, before it is known whether it is there.
    TakenUp(CallNumber, u32),
    /// What is there of values that are to be there.
    There(u32),
    /// It is of no interest.
    Other,
}

/// A value that is to be brought from one server to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Which.
    pub data: DataNumber,
    /// Where it is, or is being made.
    pub from: (ServerNumber, DataId),
    /// Where to.
    pub to: (ServerNumber, DataId),
    /// The call that puts it there.
    pub call: CallId,
    /// The key of tickets for it there, if that server lets others pull.
    pub key: Option<TicketKey>,
}

/// How one server pulls a value from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pull {
    /// The key of tickets for it where it is.
    pub key: TicketKey,
    /// Who pulls, as the source knows it.
    pub receiver: String,
    /// Where the source is.
    pub addresses: Vec<String>,
    /// Bytes that it has at most.
    pub bytes_max: u64,
}

/// What the driver is to do.
#[derive(Debug)]
pub enum Action {
    /// Answer a client.
    Answer(QuestionNumber, Result<Reply>),
    /// Connect to the server of this node for the client that asked this.
    Connect(TransactionNumber, (ConnectionId, ChannelId)),
    /// Connect to another server at one of these addresses, for this user if one is named.
    Dial(LineNumber, Vec<String>, Option<String>),
    /// The same for one of this name over a relayed stream.
    DialLed(LineNumber, String, RelayTicket, String),
    /// Ask a server over the connection of a transaction.
    Ask(LineNumber, Tag, Request),
    /// Open a call there.
    Open(LineNumber, Tag, Box<Open>),
    /// Have a value sent from there.
    Fetch(LineNumber, Tag, DataId),
    /// Bring a value from one server of a transaction to another, which pulls it if it can.
    Move(TransactionNumber, Move, Option<Pull>),
    /// End a call there.
    Cancel(LineNumber, CallNumber, u32),
    /// Leave all servers of a transaction.
    Leave(TransactionNumber),
    /// Connect to the server of this node for a user whose client has left.
    ConnectFor(TransactionNumber, User),
    /// Put an input there again.
    Give(LineNumber, CallId, DataId, Box<TakenInput>),
    /// Take a call up that was opened over another connection.
    Resume(LineNumber, Tag, CallId),
    /// Close a connection, or all of a transaction, as if they were lost: others go on with what is
    /// there.
    Drop(TransactionNumber, Option<ServerNumber>),
    /// Write to the store.
    Write(Ticket, Vec<Condition>, Vec<Change>),
    /// Read a page of the store.
    Read(Ticket, String, Option<String>, usize),
    /// Tell whether a process of this host has ended.
    Look(String),
    /// Have a lease.
    Lease,
}

/// What keys of tickets are made of.
#[derive(Clone, Copy, Debug)]
pub struct SecretKeys {
    /// For what transactions make at other servers: these are told the keys.
    pub made: TicketKey,
    /// For all that lies at the server of this node, which has it, too.
    pub here: TicketKey,
}

impl SecretKeys {
    /// The keys of one transaction.
    pub(crate) fn of(&self, id: &TransactionId, principal: &str) -> SecretKeys {
        SecretKeys { made: self.made.derived(&id.0), here: key_of_user(&self.here, principal) }
    }
}

/// All transactions.
pub struct State {
    pub(crate) settings: Settings,
    /// Processors of this host.
    pub(crate) processors: u32,
    /// Whether servers over TLS take this node for its user.
    pub(crate) is_user: bool,
    pub(crate) keys: SecretKeys,
    entries: BTreeMap<TransactionNumber, Entry>,
    numbers: HashMap<TransactionId, TransactionNumber>,
    due: BTreeSet<(Instant, TransactionNumber)>,
    last: u64,
    pub(crate) out: VecDeque<Action>,
    pub(crate) keeping: Keeping,
}

impl State {
    /// There are none yet.
    pub fn new(settings: Settings, processors: u32, is_user: bool, keys: SecretKeys) -> State {
        State {
            settings,
            processors,
            is_user,
            keys,
            entries: BTreeMap::new(),
            numbers: HashMap::new(),
            due: BTreeSet::new(),
            last: 0,
            out: VecDeque::new(),
            keeping: Keeping::default(),
        }
    }

    /// How the connections of a transaction come back, if they do; `connections` of the same kind
    /// were there before.
    pub fn returns(&self, (number, server): LineNumber) -> Option<Return> {
        let entry = self.entries.get(&number)?;
        self.keeping.store.as_ref().filter(|_| entry.keep.is_some())?;
        let again = entry.servers().get(server).map_or(0, |server| server.connections);
        let keep = Duration::from_millis(self.settings.resume_ms);
        Some(Return { name: Ids(entry.id).name(), keep, again })
    }

    /// Whether a transaction still waits to reach a server: it may have ended since that was dialled.
    pub fn awaits(&self, (number, server): LineNumber) -> bool {
        let entry = self.entries.get(&number);
        let known = entry.and_then(|entry| entry.servers().get(server));
        known.is_some_and(|known| matches!(known.standing, Standing::Coming(_)))
    }

    /// How long after the end of this process others may take up its transactions.
    pub fn owner_lease_ms(&self) -> u64 {
        self.settings.owner_lease_ms
    }

    /// Whether news of a transaction are not to be taken: what was decided is being written.
    pub fn is_closed(&self, number: TransactionNumber) -> bool {
        self.keeping.is_closed(number)
    }

    /// The next thing to do.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.out.pop_front()
    }

    /// All of them, the oldest first.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (TransactionNumber, &Entry)> {
        self.entries.iter().map(|(number, entry)| (*number, entry))
    }

    /// One of them.
    pub(crate) fn entry_mut(&mut self, number: TransactionNumber) -> Option<&mut Entry> {
        self.entries.get_mut(&number)
    }

    /// One of them, with room for what it leads to: that of one which is written down waits.
    pub(crate) fn parts(
        &mut self,
        number: TransactionNumber,
    ) -> Option<(&mut Entry, &mut VecDeque<Action>)> {
        let out = match self.keeping.journals.get_mut(&number) {
            Some(journal) => {
                self.keeping.dirty.insert(number);
                &mut journal.pending
            }
            None => &mut self.out,
        };
        Some((self.entries.get_mut(&number)?, out))
    }

    /// The transaction of this id, if it is this principal's.
    pub(crate) fn of(&self, id: &TransactionId, principal: &str) -> Option<TransactionNumber> {
        let number = self.numbers.get(id).copied()?;
        let is_its = self.entries.get(&number).is_some_and(|entry| entry.principal == principal);
        is_its.then_some(number)
    }

    /// The same, to read.
    pub(crate) fn entry(&self, number: TransactionNumber) -> Option<&Entry> {
        self.entries.get(&number)
    }

    /// Whether there is a transaction of this id, whosever it is.
    pub(crate) fn has(&self, id: &TransactionId) -> bool {
        self.numbers.contains_key(id)
    }

    /// Enters a transaction.
    pub(crate) fn enter(&mut self, entry: Entry) -> TransactionNumber {
        self.last += 1;
        let number = TransactionNumber(self.last);
        self.numbers.insert(entry.id, number);
        self.entries.insert(number, entry);
        number
    }

    /// Forgets a transaction.
    pub(crate) fn remove(&mut self, number: TransactionNumber) -> Option<Entry> {
        let entry = self.entries.remove(&number)?;
        self.numbers.remove(&entry.id);
        if let Some(at) = entry.due {
            self.due.remove(&(at, number));
        }
        Some(entry)
    }

    /// When something is due of a transaction may have changed.
    pub(crate) fn reschedule(&mut self, number: TransactionNumber) {
        let Some(entry) = self.entries.get_mut(&number) else { return };
        let next = entry.next_due();
        if let Some(before) = std::mem::replace(&mut entry.due, next) {
            self.due.remove(&(before, number));
        }
        self.due.extend(next.map(|at| (at, number)));
        if self.keeping.journals.contains_key(&number) {
            self.keeping.dirty.insert(number);
        }
    }

    /// When [`State::tick`] has something to do.
    pub fn next_tick(&self) -> Option<Instant> {
        let due = self.due.first().map(|(at, _)| *at);
        let again = self.keeping.retries.first().map(|(at, _)| *at);
        due.into_iter().chain(again).min()
    }

    /// Transactions of which something is due.
    pub(crate) fn due(&self, now: Instant) -> Vec<TransactionNumber> {
        let past = self.due.iter().take_while(|(at, _)| *at <= now);
        past.map(|(_, number)| *number).collect()
    }
}
