//! Calls that go on without their clients, and outcomes that wait for them (spec/wire.md, section
//! 7).
//!
//! - A call that is kept stands in `calls` here from its Open, or from the loss of its connection,
//!   until it is forgotten.
//! - A call that an earlier server accepted and never began is `Parked`, and stands in `parked` in
//!   its order, until it is in the tables of this one or has failed.
//! - An outcome that is to survive the server is `Ended` until it is on the disk, and `Stored` from
//!   then on.
//! - What is counted as kept, by principal, is what the entries say, and nothing else; what
//!   connections hold is counted beside it, and counts for its principal's share too, but makes
//!   room for what somebody asked to be kept.
//! - An outcome's memory is released when nothing sends it and nothing keeps it any more.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{
    CallId, ChannelId, ConnectionId, Error, ErrorKind, ExecutableId, Instant, Result,
};
use farcall_call::Channels;
use farcall_wire::{Argument, CallResult, Keep, Open, Resume};

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

impl KeepLimits {
    /// What one principal may have of that.
    fn share(&self, max: u64) -> u64 {
        (u128::from(max) * u128::from(self.share_percent) / 100) as u64
    }
}

/// The outcome of a call, and where the arrays among it lie.
pub struct Finished {
    /// The call's id.
    pub id: CallId,
    /// The call itself; `None` where its outcome was read from the results folder.
    pub call: Option<Box<Call>>,
    /// What was read, then.
    pub files: Option<ResultFiles>,
    /// What the call was, where the call itself is not here.
    pub written: Option<Box<Written>>,
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

    /// What it costs to keep it, about: in memory with all that lies beside its arrays there.
    pub fn bytes(&self) -> u64 {
        let inline = self.result.results.iter().map(inline_bytes);
        self.memories().map(|memory| memory.bytes).chain(inline).fold(OVERHEAD, u64::saturating_add)
    }

    /// The same in the results folder: the outcome alone.
    pub fn file_bytes(&self) -> u64 {
        let blocks = |argument: &Argument| {
            if let Argument::Blocks(Some(bytes)) = argument { *bytes } else { 0 }
        };
        let bytes = self
            .result
            .results
            .iter()
            .map(|argument| inline_bytes(argument).saturating_add(blocks(argument)));
        bytes.fold(OVERHEAD, u64::saturating_add)
    }
}

fn inline_bytes(argument: &Argument) -> u64 {
    match argument {
        Argument::Inline(bytes) => bytes.len() as u64,
        Argument::Texts(texts) => texts.iter().flatten().map(|text| text.len() as u64 + 16).sum(),
        _ => 0,
    }
}

/// What an entry takes beside its arrays, about.
pub const OVERHEAD: u64 = 1024;

/// How far a kept call is.
pub enum Outcome {
    /// An earlier server accepted it, and it has not begun: its arguments are in the results
    /// folder.
    Parked(Box<Accepted>),
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

/// What the results folder says of a call that is not over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recorded {
    /// Nothing, or it is about to.
    #[default]
    No,
    /// That it waits: another server would run it.
    Waits,
    /// That it has begun: no other server runs it.
    Began,
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
    /// The certificate that its caller showed, if any.
    pub certificate: Option<Arc<str>>,
    /// What the results folder says of it while it is not over.
    pub recorded: Recorded,
    /// Whether its outcome is being written to the results folder.
    pub storing: bool,
    /// Whether the log has said that its outcome could not be written.
    pub complained: bool,
}

impl Kept {
    /// Whether what was said of it so far would survive the server now.
    pub fn is_on_disk(&self) -> bool {
        match &self.outcome {
            Outcome::Parked(_) | Outcome::Stored { .. } => true,
            Outcome::Open(_) => self.recorded != Recorded::No,
            Outcome::Ended(_) => false,
        }
    }

    /// Whether its outcome is still to be written to the results folder.
    pub fn is_unstored(&self) -> bool {
        self.keep.durable && matches!(self.outcome, Outcome::Ended(_))
    }
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
    /// Those that are not over and whose callers showed a certificate, which may be revoked.
    certified: BTreeSet<CallId>,
    by_principal: BTreeMap<String, Use>,
    /// Bytes of outcomes of connections that are there, whose clients have not said that they have
    /// them; of all, and by principal.
    held_bytes: u64,
    held: BTreeMap<String, u64>,
    /// Those who may come back.
    pub clients: Returning,
    /// Calls that an earlier server accepted and this one has not taken up yet, in their order.
    pub parked: VecDeque<CallId>,
    /// Calls of an earlier server whose arguments are being read: they are about to stand in line.
    pub loading: BTreeSet<CallKey>,
    /// Calls that came since, and stand behind those that are parked or being loaded.
    pub behind: VecDeque<CallKey>,
    /// Those who ask for a call that is parked: on which channel, and whether they want to know
    /// what it was.
    pub asking: Vec<(CallId, (ConnectionId, ChannelId), bool)>,
    /// Calls whose files cannot be read, and why.
    pub unreadable: BTreeMap<CallId, ErrorKind>,
    /// When outcomes that could not be written are tried again, and how long after a failure.
    pub retry_at: Option<Instant>,
    /// Time from one attempt to the next.
    pub retry_after: Duration,
    /// When parked calls are looked at again for which there was no memory.
    pub readmit_at: Option<Instant>,
    /// Whether those that came since pass them meanwhile.
    pub lets_by: bool,
    /// Whether all that is to be published when the server starts is.
    pub all_published: bool,
    /// When parked calls fail whose routines are not published.
    pub give_up_at: Option<Instant>,
    /// Whether that time is over.
    pub gives_up: bool,
}

impl KeptCalls {
    /// A call by its id.
    pub fn get(&self, id: &CallId) -> Option<&Kept> {
        self.calls.get(id)
    }

    /// Whether a call of this id is kept, also where its file could not be read.
    pub fn has(&self, id: &CallId) -> bool {
        self.calls.contains_key(id) || self.unreadable.contains_key(id)
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.held_bytes == 0
    }

    /// Whether connections hold anything.
    pub fn has_held(&self) -> bool {
        self.held_bytes > 0
    }

    /// A connection of a principal's holds so much more.
    pub fn hold(&mut self, principal: &str, bytes: u64) {
        self.held_bytes += bytes;
        match self.held.get_mut(principal) {
            Some(held) => *held += bytes,
            None => drop(self.held.insert(principal.to_owned(), bytes)),
        }
    }

    /// It holds so much less.
    pub fn hold_less(&mut self, principal: &str, bytes: u64) {
        self.held_bytes -= bytes;
        if let Some(held) = self.held.get_mut(principal) {
            *held -= bytes;
            if *held == 0 {
                self.held.remove(principal);
            }
        }
    }

    /// Whose connections hold the most, where what they hold leaves no room for so many bytes that
    /// are to be kept in memory.
    pub fn holds_too_much(&self, bytes: u64, limits: &KeepLimits) -> Option<&str> {
        let all = self.all.memory.saturating_add(self.held_bytes).saturating_add(bytes);
        let most = self.held.iter().max_by_key(|(_, held)| **held);
        most.filter(|_| all > limits.memory_bytes_max).map(|(principal, _)| principal.as_str())
    }

    /// Whether a connection of this principal's may hold so many bytes more.
    pub fn may_hold(&self, principal: &str, bytes: u64, limits: &KeepLimits) -> bool {
        let kept = self.by_principal.get(principal).map_or(0, |mine| mine.memory);
        let mine = kept.saturating_add(self.held.get(principal).copied().unwrap_or(0));
        let all = self.all.memory.saturating_add(self.held_bytes);
        all.saturating_add(bytes) <= limits.memory_bytes_max
            && mine.saturating_add(bytes) <= limits.share(limits.memory_bytes_max)
    }

    /// Whether an outcome is being written down.
    pub fn is_being_written(&self) -> bool {
        self.calls.values().any(|kept| kept.storing)
    }

    /// Whether a call is open, or an outcome is not where it will stay: the server must not end for
    /// lack of clients.
    pub fn needs_server(&self) -> bool {
        let is_open = |kept: &Kept| matches!(kept.outcome, Outcome::Open(_) | Outcome::Parked(_));
        self.calls.values().any(|kept| is_open(kept) || kept.is_unstored())
    }

    /// Those that are not over and whose callers showed a certificate.
    pub fn certified(&self) -> impl Iterator<Item = (&CallId, &Kept)> {
        self.certified.iter().filter_map(|id| Some((id, self.calls.get(id)?)))
    }

    /// Outcomes that could not be written, with what they take.
    pub fn unstored(&self) -> impl Iterator<Item = (u64, CallId)> {
        let unstored = self.calls.iter().filter(|(_, kept)| kept.is_unstored() && !kept.storing);
        unstored.map(|(id, kept)| (kept.bytes, *id))
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
        let is_over = matches!(kept.outcome, Outcome::Ended(_) | Outcome::Stored { .. });
        self.certified.extend(kept.certificate.iter().filter(|_| !is_over).map(|_| id));
        self.calls.insert(id, kept);
    }

    /// Takes a call out.
    pub fn remove(&mut self, id: &CallId) -> Option<Kept> {
        let kept = self.calls.remove(id)?;
        let used = Use::of(&kept);
        self.all.take(used);
        if kept.certificate.is_some() {
            self.certified.remove(id);
        }
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
        let due = self.due.first().map(|(at, _)| *at).into_iter().chain(self.clients.next_due());
        due.chain(self.retry_at).chain(self.readmit_at).chain(self.give_up_at).min()
    }

    /// One whose time is over.
    pub fn due(&self, now: Instant) -> Option<CallId> {
        self.due.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id)
    }

    /// Whether one more call of this principal's, and so many bytes, may be kept.
    ///
    /// # Errors
    /// `LimitExceeded`, which may be retried.
    pub fn check_room(
        &self,
        principal: &str,
        bytes: u64,
        durable: bool,
        limits: &KeepLimits,
    ) -> Result<()> {
        let mine = self.by_principal.get(principal).copied().unwrap_or_default();
        let calls_max = limits.calls_max as u64;
        if self.all.calls >= calls_max {
            return full(
                "the server has reached its limit of kept calls",
                "results_max",
                calls_max,
            );
        }
        let own_max = limits.share(calls_max);
        if mine.calls >= own_max.max(1) {
            return full(
                "you have reached your limit of kept calls",
                "your share of results_max",
                own_max,
            );
        }
        self.check_bytes(principal, bytes, durable, limits)
    }

    /// Whether so many bytes more of this principal's may be kept, of a call that is.
    ///
    /// # Errors
    /// `LimitExceeded`, which may be retried.
    pub fn check_bytes(
        &self,
        principal: &str,
        bytes: u64,
        durable: bool,
        limits: &KeepLimits,
    ) -> Result<()> {
        let mine = self.by_principal.get(principal).copied().unwrap_or_default();
        let (all, own, max, name) = match durable {
            true => (self.all.files, mine.files, limits.file_bytes_max, "results_bytes_max"),
            false => {
                (self.all.memory, mine.memory, limits.memory_bytes_max, "results_memory_bytes_max")
            }
        };
        if all.saturating_add(bytes) > max {
            return full("the server has reached its limit of kept bytes", name, max);
        }
        if own.saturating_add(bytes) > limits.share(max) {
            return full(
                "you have reached your limit of kept bytes",
                "your share",
                limits.share(max),
            );
        }
        Ok(())
    }
}

fn full(what: &'static str, name: &'static str, limit: u64) -> Result<()> {
    const FIX: &str = "delete outcomes that you have fetched (`farcall kept`), wait until others \
        expire, or raise the limit in the server's farcall.toml";
    Err(Error::new(ErrorKind::LimitExceeded, "keep a call", what)
        .with(name, limit)
        .fix(FIX)
        .retryable())
}

/// What becomes of a connection's calls if it is lost.
#[derive(Default)]
pub struct Resuming {
    /// How long they are kept then.
    pub keep: Option<Duration>,
    /// How its client names itself.
    pub client: Option<ClientKey>,
    /// The last outcome on each channel, until the client shows that it has it: by a Window, or the
    /// next Open there.
    pub held: Channels<Arc<Finished>>,
}

/// What is to be done in the results folder.
pub enum ResultsOrder {
    /// Write down that a call was accepted; tell [`crate::step::Server::recorded`].
    Record(Box<Accepted>, CallKey),
    /// Write down that it begins; tell [`crate::step::Server::begun`] for the executable that is
    /// kept for it.
    Begin(CallId, ExecutableId),
    /// Write its outcome down; tell [`crate::step::Server::stored`].
    Store {
        /// What the call was.
        written: Box<Written>,
        /// Its outcome.
        finished: Arc<Finished>,
        /// For how long it is kept yet.
        left: Duration,
    },
    /// Read the arrays among the arguments of a call; tell [`crate::step::Server::loaded`].
    Load(CallId, CallKey),
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
    /// Remove what is written of a call; tell [`crate::step::Server::erased`] if somebody waits for
    /// that.
    Erase(CallId, Option<(ConnectionId, ChannelId)>),
}

/// What is written of a call beside its outcome.
#[derive(Clone)]
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

/// An accepted call as another server needs it to run it.
pub struct Accepted {
    /// What is said of it to whoever asks.
    pub written: Written,
    /// The request, with the time that is left to it.
    pub open: Open,
    /// Where its client is, for people.
    pub address: String,
    /// Whether its caller is the server's own user.
    pub owns_server: bool,
    /// The certificate that its caller showed, if any.
    pub certificate: Option<Arc<str>>,
    /// Whether it is a call on an object, which ends with its server.
    pub on_object: bool,
    /// Whether an executable has it.
    pub has_begun: bool,
}

impl State {
    /// Outcomes that connections hold.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Arc<Finished>> {
        self.front.peers().flat_map(|(_, peer)| peer.resuming.held.values())
    }
}
