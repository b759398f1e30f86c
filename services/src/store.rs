//! The store service: a small ordered table of keys and values that outlasts the process, with
//! compare-and-set, leases and watches. What must survive the death of a node is written here.
//!
//! Keys are short paths (`transactions/<id>/…`). Values are sealed below this interface: the plugin
//! that asks sees plain bytes, and what lies on a disk or on other hosts can be neither read nor
//! changed without the key. No array is kept here.

mod check;
pub mod memory;
mod watches;

use std::sync::Arc;
use std::time::Duration;

use farcall_base::Result;

use crate::mailbox::{Port, Reply};

pub use check::{check_key, check_lease, check_prefix, check_write, full, no_such_lease};
pub use memory::MemoryStore;
pub use watches::Watches;

/// The slot that a store fills.
pub const SLOT: &str = "store";

/// Bytes of the longest key, and of the longest prefix.
pub const KEY_BYTES_MAX: usize = 256;
/// Bytes of the longest value.
pub const VALUE_BYTES_MAX: usize = 1 << 20;
/// Bytes of all values of one write: etcd takes requests of 1.5 MiB, with all that is around them.
pub const WRITE_BYTES_MAX: usize = VALUE_BYTES_MAX + VALUE_BYTES_MAX / 4;
/// Changes of one write, and conditions of one write.
pub const CHANGES_MAX: usize = 64;
/// Entries of one page, however many are asked for.
pub const PAGE_ENTRIES_MAX: usize = 1000;
/// After an entry with which a page has this many bytes of values, the page ends.
pub const PAGE_BYTES_MAX: usize = 8 << 20;

/// When a key was written last. Each write has a larger version than all before it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

/// A lease, as its store numbers it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub u64);

/// What must hold when a write is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// There is no such key.
    Absent(String),
    /// The key was written last by the write of this version.
    Is(String, Version),
}

/// What a write does to keys. No key may be touched by two changes of one write, except by two that
/// delete it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Gives a key a value.
    Put {
        /// The key.
        key: String,
        /// Its value, instead of one that it has.
        value: Vec<u8>,
        /// The key goes when this lease ends; `None`: the key stays.
        lease: Option<LeaseId>,
    },
    /// Removes a key, if it is there.
    Delete {
        /// The key.
        key: String,
    },
    /// Removes all keys that begin so.
    DeleteAll {
        /// How they begin; not empty.
        prefix: String,
    },
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Its value.
    pub value: Vec<u8>,
    /// When it was written.
    pub version: Version,
}

/// What a store is asked.
///
/// Errors of all requests: `Unavailable` for a store that cannot be reached or has no quorum,
/// `LimitExceeded` for one that is full or has too many requests, `Damaged` for a value that does not
/// verify, `InvalidArgument` for a request that passes a bound of this module. A write that failed
/// with an error for which `is_retryable` holds was not done. With any other it may have been done:
/// read what is there.
///
/// Requests that wait at the same time are done in any order: where it matters, ask when the one before
/// is answered. `Damaged` has the key of the value in its context, as `key`: the page behind it can be
/// read.
pub enum Request {
    /// Does all changes, or none.
    Write {
        /// All must hold, or nothing is written.
        conditions: Vec<Condition>,
        /// What is done.
        changes: Vec<Change>,
        /// `None`: a condition did not hold. Else the version of all that was put. `NotFound`: a
        /// lease has ended.
        reply: Reply<Option<Version>>,
    },
    /// One page of the keys that begin with a prefix, in order of their bytes.
    Read {
        /// How they begin; empty: all keys.
        prefix: String,
        /// Only keys behind this one: the last key of the page before.
        after: Option<String>,
        /// Entries at most. There may be fewer though more follow (`PAGE_ENTRIES_MAX`,
        /// `PAGE_BYTES_MAX`): only an empty page is the end.
        limit: usize,
        /// The page. Two pages need not show the same moment.
        reply: Reply<Vec<Entry>>,
    },
    /// Begins a lease. The store keeps it while this process lives. When it has not been kept for
    /// this time, it ends, and its keys go.
    Lease {
        /// The time, which a store may round up.
        time: Duration,
        /// Its number.
        reply: Reply<LeaseId>,
    },
    /// Tells of changes from now on, until the port is closed.
    ///
    /// The first message is [`Changed::Lost`]. Each change after it is told: a plugin that reads
    /// when it comes misses none.
    Watch {
        /// Keys that begin so; empty: all keys.
        prefix: String,
        /// Where changes are told. It may be full: then [`Changed::Lost`] follows later.
        port: Port<Changed>,
    },
}

/// What a watch tells. One change may be told twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The key has a new value.
    Put(String),
    /// The key went: it was deleted, or its lease ended.
    Gone(String),
    /// Any keys may have changed: read again.
    Lost,
}

/// Whether a store is shared with other hosts.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// It outlives this process, and is lost with this host.
    ThisHost,
    /// It outlives this host, and other nodes use it too.
    Shared,
}

/// Sends requests to the store of this node.
#[derive(Clone)]
pub struct StoreHandle {
    port: Port<Request>,
    name: Arc<str>,
    sharing: Sharing,
}

impl StoreHandle {
    /// A handle on the plugin behind `port`; `name` is for messages ("the store in /var/…").
    pub fn new(port: Port<Request>, name: impl Into<Arc<str>>, sharing: Sharing) -> Self {
        StoreHandle { port, name: name.into(), sharing }
    }

    /// Asks. Whatever happens, also a store that is busy or gone, arrives at the request's reply. A
    /// watch has none: see [`StoreHandle::watch`].
    pub fn ask(&self, request: Request) {
        let Err(refused) = self.port.try_send(request) else { return };
        let error = refused.refusal.error("ask the store");
        match refused.message {
            Request::Write { reply, .. } => reply.answer(Err(error)),
            Request::Read { reply, .. } => reply.answer(Err(error)),
            Request::Lease { reply, .. } => reply.answer(Err(error)),
            Request::Watch { .. } => {}
        }
    }

    /// Asks for a watch, and says whether the store took the request.
    ///
    /// # Errors
    /// `LimitExceeded` or `ShuttingDown`.
    pub fn watch(&self, prefix: impl Into<String>, port: Port<Changed>) -> Result<()> {
        let sent = self.port.try_send(Request::Watch { prefix: prefix.into(), port });
        sent.map_err(|refused| refused.refusal.error("watch the store"))
    }

    /// Whether it outlives this host.
    pub fn is_shared(&self) -> bool {
        self.sharing == Sharing::Shared
    }

    /// What it is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }
}
