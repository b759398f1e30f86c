//! What the plugin has to do with the store: its lease, what it writes, and transactions of other
//! owners that it takes up.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use farcall_base::{DataId, Instant, TransactionId};
use farcall_services::store::{Change, Condition, LeaseId, Version};

use farcall_wire::Failure;

use super::journal::Journal;
use super::kept::{Head, Record};
use super::{QuestionNumber, TransactionNumber};

/// Time after which the store is asked again that could not be reached.
pub const AGAIN: Duration = Duration::from_secs(1);

/// What an answer of the store is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ticket {
    /// The lease of this process.
    Lease,
    /// Which transactions there are.
    Scan,
    /// The head of one that may be taken up.
    Head,
    /// Who runs one that may be taken up.
    Holder,
    /// That this process runs it from now on.
    Take,
    /// All that there is of it.
    Parts,
    /// That this process runs a transaction which begins.
    Claim(TransactionNumber, TransactionId),
    /// What it was given.
    Given(TransactionNumber),
    /// A record.
    Record(TransactionNumber),
    /// That nothing is left of it.
    Erase(TransactionId),
    /// Whether this process has claimed one whose Begin it refused.
    Claimed(TransactionId),
    /// Whether this process still runs one.
    Own(TransactionId),
    /// Who runs one that is to go from it, and that this process does not run any more.
    Left(TransactionId),
    /// That another process may take it up.
    Release(TransactionId),
    /// Whether nobody has taken up what this process could not go on with.
    Retake(TransactionId),
    /// Who runs a transaction that is not here.
    Whose(QuestionNumber),
}

/// A store, as this node has it.
#[derive(Clone, Debug)]
pub struct Store {
    /// What it is called in messages.
    pub name: String,
    /// What this node is called.
    pub node: String,
    /// This process, as others can tell whether it has ended.
    pub process: String,
    /// Microseconds since 1970 at the clock's zero.
    pub zero_us: u64,
}

/// What a transaction that begins writes before it runs.
pub struct Writing {
    /// When this process wrote that it runs it.
    pub owner: Option<Version>,
    /// Its head.
    pub head: Head,
    /// What is to be written, the first of which may be on its way.
    pub writes: VecDeque<Vec<Change>>,
    /// Inputs that are to be fetched and written.
    pub inputs: VecDeque<(u32, DataId)>,
    /// Whether the head says that all is there.
    pub is_complete: bool,
}

/// What the store had of a transaction that is taken up.
pub struct Taken {
    /// When this process wrote that it runs it.
    pub owner: Version,
    /// Its head.
    pub head: Head,
    /// Its records.
    pub records: Vec<Record>,
    /// Their epoch.
    pub epoch: u32,
    /// How many servers they know.
    pub servers: usize,
    /// What it was given.
    pub inputs: Vec<TakenInput>,
    /// Until when its servers are waited for.
    pub until: Instant,
    /// Whether it was asked which servers run its calls.
    pub has_asked: bool,
}

/// An input that is put at the server of this node again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenInput {
    /// Which.
    pub input: u32,
    /// `data:double:2:row`.
    pub kind: String,
    /// Its extents.
    pub extents: Vec<u64>,
    /// Its elements.
    pub elements: Vec<u8>,
}

/// A transaction that is not here, and that somebody asked for.
pub struct AskedFor {
    /// Which.
    pub id: TransactionId,
    /// Whose question it is.
    pub principal: String,
    /// Whether the store says that nobody runs it.
    pub has_no_owner: bool,
}

/// A transaction whose records cannot be believed.
pub struct Damaged {
    /// Whose it is.
    pub principal: String,
    /// When this process wrote that it runs it.
    pub owner: Version,
    /// When it began, in microseconds since 1970.
    pub began_us: u64,
    /// What is wrong.
    pub failure: Failure,
}

/// A transaction that is being read.
pub struct Loading {
    /// Which.
    pub id: TransactionId,
    /// Its head, and when that was written.
    pub head: Option<(Head, Version)>,
    /// When another process wrote that it runs it, if one did.
    pub holder: Option<Version>,
    /// When this process wrote that it runs it.
    pub owner: Option<Version>,
    /// What was read of it.
    pub parts: BTreeMap<String, Vec<u8>>,
}

/// All of it.
#[derive(Default)]
pub struct Keeping {
    /// The store, if the node has one.
    pub store: Option<Store>,
    /// The lease of this process.
    pub lease: Option<LeaseId>,
    /// Whether the log says already that there is no lease.
    pub has_complained: bool,
    /// Transactions that run and are written down.
    pub journals: BTreeMap<TransactionNumber, Journal>,
    /// Those of which something may have to be written.
    pub dirty: BTreeSet<TransactionNumber>,
    /// What the store is asked again.
    pub retries: BTreeSet<(Instant, Ticket)>,
    /// Transactions that are to go from the store, if this holds.
    pub leaving: BTreeMap<TransactionId, Condition>,
    /// Who ended transactions, and is answered when these have left the store.
    pub ending: BTreeMap<QuestionNumber, Vec<TransactionId>>,
    /// Transactions that may be taken up.
    pub found: VecDeque<TransactionId>,
    /// Those that this process could not go on with a moment ago.
    pub resting: BTreeSet<TransactionId>,
    /// Those that this process has taken, and that cannot go on.
    pub damaged: BTreeMap<TransactionId, Damaged>,
    /// One that is being taken up.
    pub loading: Option<Loading>,
    /// Where the look through all of them is.
    pub scanned: Option<String>,
    /// Questions for transactions that are not here.
    pub asking: BTreeMap<QuestionNumber, AskedFor>,
    /// What people should know.
    pub warnings: VecDeque<String>,
}

impl Keeping {
    /// The time on the wall.
    pub fn since_1970_us(&self, at: Instant) -> u64 {
        let zero = self.store.as_ref().map_or(0, |store| store.zero_us);
        zero.saturating_add(at.0 / 1000)
    }

    /// The time of this process when the wall had this one; what is past is now.
    pub fn instant(&self, now: Instant, since_1970_us: u64) -> Instant {
        let left = since_1970_us.saturating_sub(self.since_1970_us(now));
        now + Duration::from_micros(left)
    }

    /// The store is asked this again.
    pub fn again(&mut self, now: Instant, ticket: Ticket) {
        self.retries.insert((now + AGAIN, ticket));
    }

    /// Whether a transaction waits for the store.
    pub fn is_closed(&self, number: TransactionNumber) -> bool {
        self.journals.get(&number).is_some_and(Journal::is_closed)
    }
}
