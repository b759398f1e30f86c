//! Calls that go on without their clients, and outcomes that wait for them (spec/wire.md, section 7).
//!
//! - A call that is kept stands in `calls` here from its Open, or from the loss of its connection, until it is forgotten.
//! - What is counted as kept, by principal, is what the entries say, and nothing else.
//! - An outcome's memory is released when nothing sends it and nothing keeps it any more.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{CallId, ChannelId, ConnectionId, Error, ErrorKind, Instant, Result};
use farcall_call::Channels;
use farcall_wire::{Argument, CallResult, Keep, Resume};

use super::returning::{ClientKey, Returning};
use super::{Call, CallKey, OwnMemory, ResultFiles, State};

/// How much is kept, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct KeepLimits {
    /// Longest time that a call may be kept after its end.
    pub longest: Duration,
    /// Longest time for which the calls of a lost connection wait for their client; zero: none do.
    pub resume: Duration,
    /// Calls that are kept at once.
    pub calls_max: usize,
    /// Bytes of outcomes in memory.
    pub memory_bytes_max: u64,
    /// Bytes of outcomes in the results folder.
    pub file_bytes_max: u64,
    /// What one principal may have of each of these, in percent.
    pub share_percent: u64,
    /// Whether there is a results folder.
    pub has_folder: bool,
}

/// The outcome of a call, and where the arrays among it lie.
pub struct Finished {
    /// The call's id.
    pub id: CallId,
    /// The call itself; `None` where its outcome was read from the results folder.
    pub call: Option<Box<Call>>,
    /// What was read, then.
    pub files: Option<ResultFiles>,
    /// What the client is told.
    pub result: CallResult,
    /// Since when it waits to be taken.
    pub waits_since: Instant,
}

impl Finished {
    /// Memory of ours that it lies in.
    pub fn memories(&self) -> impl Iterator<Item = &OwnMemory> {
        let call = self.call.iter().flat_map(|call| call.memories());
        call.chain(self.files.iter().map(|files| &files.memory))
    }

    /// Whether it is sent and not kept as well.
    pub fn is_only_sent(self: &Arc<Finished>) -> bool {
        Arc::strong_count(self) == 1
    }

    /// Whether arrays follow the answer.
    pub fn sends_memory(&self) -> bool {
        self.result.results.iter().any(|argument| matches!(argument, Argument::Blocks(_)))
    }

    /// What it costs to keep it, about.
    pub fn bytes(&self) -> u64 {
        let inline = self.result.results.iter().map(|argument| match argument {
            Argument::Inline(bytes) => bytes.len() as u64,
            Argument::Texts(texts) => texts.iter().flatten().map(|text| text.len() as u64 + 16).sum(),
            _ => 0,
        });
        self.memories().map(|memory| memory.bytes).chain(inline).fold(OVERHEAD, u64::saturating_add)
    }
}

/// What an entry takes beside its arrays, about.
pub const OVERHEAD: u64 = 1024;

/// How far a kept call is.
pub enum Outcome {
    /// It is open.
    Open(CallKey),
    /// It is over, and its outcome lies in memory.
    Ended(Arc<Finished>),
    /// It is over, and its outcome lies in the results folder.
    Stored {
        /// Whether it failed.
        failed: bool,
    },
}

/// A call that is kept.
pub struct Kept {
    /// Whose.
    pub principal: String,
    /// `module/name`.
    pub routine: String,
    /// For how long, and where.
    pub keep: Keep,
    /// Who made it, if that may come back under its name.
    pub client: Option<ClientKey>,
    /// Whether its client asked for this call to be kept; otherwise all of its connection's are.
    pub asked: bool,
    /// Whether all its arguments came: from then on it is kept.
    pub accepted: bool,
    /// How far it is.
    pub outcome: Outcome,
    /// What is counted for it.
    pub bytes: u64,
    /// When it is forgotten.
    pub expires: Option<Instant>,
    /// Who waits for the outcome until that is in the results folder.
    pub waits: Option<(ConnectionId, ChannelId)>,
}

/// What somebody keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Use {
    calls: u64,
    memory: u64,
    files: u64,
}

impl Use {
    fn of(kept: &Kept) -> Use {
        let (memory, files) = if kept.keep.durable { (0, kept.bytes) } else { (kept.bytes, 0) };
        Use { calls: 1, memory, files }
    }

    fn add(&mut self, other: Use) {
        self.calls += other.calls;
        self.memory = self.memory.saturating_add(other.memory);
        self.files = self.files.saturating_add(other.files);
    }

    fn take(&mut self, other: Use) {
        self.calls = self.calls.saturating_sub(other.calls);
        self.memory = self.memory.saturating_sub(other.memory);
        self.files = self.files.saturating_sub(other.files);
    }
}

/// All calls that are kept.
#[derive(Default)]
pub struct KeptCalls {
    calls: HashMap<CallId, Kept>,
    due: BTreeSet<(Instant, CallId)>,
    all: Use,
    by_principal: BTreeMap<String, Use>,
    /// Bytes of outcomes of connections that are there, whose clients have not said that they have them.
    pub held_bytes: u64,
    /// Those who may come back.
    pub clients: Returning,
}

impl KeptCalls {
    /// A call by its id.
    pub fn get(&self, id: &CallId) -> Option<&Kept> {
        self.calls.get(id)
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.held_bytes == 0
    }

    /// Whether somebody waits for an outcome that is being written down.
    pub fn is_awaited(&self) -> bool {
        self.calls.values().any(|kept| kept.waits.is_some())
    }

    /// All of them, oldest end first where that is known, in no order otherwise.
    pub fn all(&self) -> impl Iterator<Item = (&CallId, &Kept)> {
        self.calls.iter()
    }

    /// Outcomes that lie in memory.
    pub fn in_memory(&self) -> impl Iterator<Item = &Arc<Finished>> {
        self.calls.values().filter_map(|kept| match &kept.outcome {
            Outcome::Ended(finished) => Some(finished),
            _ => None,
        })
    }

    /// Enters a call.
    pub fn insert(&mut self, id: CallId, kept: Kept) {
        self.remove(&id);
        let used = Use::of(&kept);
        self.all.add(used);
        self.by_principal.entry(kept.principal.clone()).or_default().add(used);
        self.due.extend(kept.expires.map(|at| (at, id)));
        self.calls.insert(id, kept);
    }

    /// Takes a call out.
    pub fn remove(&mut self, id: &CallId) -> Option<Kept> {
        let kept = self.calls.remove(id)?;
        let used = Use::of(&kept);
        self.all.take(used);
        if let Some(mine) = self.by_principal.get_mut(&kept.principal) {
            mine.take(used);
            if *mine == Use::default() {
                self.by_principal.remove(&kept.principal);
            }
        }
        if let Some(at) = kept.expires {
            self.due.remove(&(at, *id));
        }
        Some(kept)
    }

    /// Changes a call.
    pub fn change(&mut self, id: &CallId, change: impl FnOnce(&mut Kept)) {
        if let Some(mut kept) = self.remove(id) {
            change(&mut kept);
            self.insert(*id, kept);
        }
    }

    /// When the next one is forgotten.
    pub fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at).into_iter().chain(self.clients.next_due()).min()
    }

    /// One whose time is over.
    pub fn due(&self, now: Instant) -> Option<CallId> {
        self.due.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id)
    }

    /// Whether so many bytes more of this principal's may be kept.
    ///
    /// # Errors
    /// `LimitExceeded`, which may be retried.
    pub fn check_room(&self, principal: &str, bytes: u64, durable: bool, limits: &KeepLimits) -> Result<()> {
        let mine = self.by_principal.get(principal).copied().unwrap_or_default();
        let (all, own, max, name) = match durable {
            true => (self.all.files, mine.files, limits.file_bytes_max, "results_bytes_max"),
            false => (
                self.all.memory.saturating_add(self.held_bytes),
                mine.memory,
                limits.memory_bytes_max,
                "results_memory_bytes_max",
            ),
        };
        let share = |max: u64| (u128::from(max) * u128::from(limits.share_percent) / 100) as u64;
        let calls_max = limits.calls_max as u64;
        let full = |what: &'static str, name: &'static str, limit: u64| {
            Err(Error::new(ErrorKind::LimitExceeded, "keep a call", what)
                .with(name, limit)
                .fix("forget outcomes that you have (`farcall kept`), wait for others to be forgotten, or raise that limit in the server's farcall.toml")
                .retryable())
        };
        if self.all.calls >= calls_max {
            return full("the server keeps as many calls as it may", "results_max", calls_max);
        }
        if mine.calls >= share(calls_max).max(1) {
            return full("as many calls of yours are kept as may be", "your share of results_max", share(calls_max));
        }
        if all.saturating_add(bytes) > max {
            return full("the server keeps as many bytes as it may", name, max);
        }
        if own.saturating_add(bytes) > share(max) {
            return full("as many bytes of yours are kept as may be", "your share", share(max));
        }
        Ok(())
    }
}

/// What becomes of a connection's calls if it is lost.
#[derive(Default)]
pub struct Resuming {
    /// How long they are kept then.
    pub keep: Option<Duration>,
    /// How its client names itself.
    pub client: Option<ClientKey>,
    /// The last outcome on each channel, until the client shows that it has it: by a Window, or the next Open there.
    pub held: Channels<Arc<Finished>>,
}

/// What is to be done in the results folder.
pub enum ResultsOrder {
    /// Write down that a call was accepted; tell [`crate::step::Server::recorded`].
    Record(Box<Written>),
    /// Write its outcome down; tell [`crate::step::Server::stored`].
    Store(Box<Written>, Arc<Finished>),
    /// Read an outcome; tell [`crate::step::Server::read_back`].
    Fetch {
        /// Whose.
        call: CallId,
        /// In memory of whom.
        principal: String,
        /// Where it goes.
        client: (ConnectionId, ChannelId),
        /// Whether the client wants to know what the call was.
        describe: bool,
    },
    /// Remove what is written of a call.
    Erase(CallId),
}

/// What is written of a call beside its outcome.
pub struct Written {
    /// What the call was.
    pub resume: Resume,
    /// `module/name`.
    pub routine: String,
    /// Whose it is.
    pub principal: String,
    /// For how long after its end it is kept.
    pub keep: Keep,
}

impl State {
    /// Outcomes that connections hold.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Arc<Finished>> {
        self.peers.values().flat_map(|peer| peer.resuming.held.values())
    }
}
