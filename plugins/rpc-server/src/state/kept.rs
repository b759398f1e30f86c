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

mod data;
mod entry;
mod finished;
mod parked;
mod retry;
mod returning;
mod room;
mod written;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use farcall_base::{CallId, DataId, ErrorKind, Instant};

use super::State;
pub use data::{Content, Data, DataTable, Value, ValueMemory, ValuePlace};
pub use entry::{Kept, Outcome, Recorded};
pub use finished::{Finished, OVERHEAD, Resuming};
pub use parked::ParkedCalls;
pub use retry::Retry;
pub use returning::{ClientKey, Returning};
use room::Use;
pub use room::{KeepLimits, KeptRoom};
pub use written::{Accepted, ResultsOrder, Written};

/// All calls that are kept.
#[derive(Default)]
pub struct KeptCalls {
    calls: HashMap<CallId, Kept>,
    due: BTreeSet<(Instant, CallId)>,
    /// Those that are not over and whose callers showed a certificate, which may be revoked.
    certified: BTreeSet<CallId>,
    /// What is counted for them.
    pub(crate) room: KeptRoom,
    /// Those who may come back.
    pub(crate) clients: Returning,
    /// Calls that an earlier server accepted and this one has not taken up yet.
    pub(crate) parked: ParkedCalls,
    /// Calls whose files cannot be read, and why.
    unreadable: BTreeMap<CallId, ErrorKind>,
    /// When outcomes that could not be written are tried again.
    pub(crate) retry: Retry,
    /// Values that stay, which count as kept calls do.
    pub(crate) data: DataTable,
}

impl KeptCalls {
    /// A call by its id.
    pub fn get(&self, id: &CallId) -> Option<&Kept> {
        self.calls.get(id)
    }

    /// Whether a call of this id is kept, also where its file could not be read, or data has it.
    pub fn has(&self, id: &CallId) -> bool {
        self.data.get(&DataId(id.0)).is_some()
            || self.calls.contains_key(id)
            || self.unreadable.contains_key(id)
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.data.is_empty() && !self.room.has_held()
    }

    /// The files of some calls cannot be read, for these reasons.
    pub(crate) fn add_unreadable(&mut self, unreadable: Vec<(CallId, ErrorKind)>) {
        self.unreadable.extend(unreadable);
    }

    /// Why those of a call cannot be read.
    pub(crate) fn unreadable(&self, id: &CallId) -> Option<ErrorKind> {
        self.unreadable.get(id).copied()
    }

    /// Whether an outcome is being written down.
    pub fn is_being_written(&self) -> bool {
        self.calls.values().any(|kept| kept.storing)
    }

    /// Whether a call is open, an outcome is not where it will stay, or data waits for its client: the
    /// server must not end for lack of clients.
    pub fn needs_server(&self) -> bool {
        let is_open = |kept: &Kept| matches!(kept.outcome, Outcome::Open(_) | Outcome::Parked(_));
        self.data.is_leased() || self.calls.values().any(|kept| is_open(kept) || kept.is_unstored())
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
        self.room.take(&kept.principal, Use::of(&kept));
        self.due.extend(kept.expires.map(|at| (at, id)));
        let is_over = matches!(kept.outcome, Outcome::Ended(_) | Outcome::Stored { .. });
        self.certified.extend(kept.certificate.iter().filter(|_| !is_over).map(|_| id));
        self.calls.insert(id, kept);
    }

    /// Takes a call out.
    pub fn remove(&mut self, id: &CallId) -> Option<Kept> {
        let kept = self.calls.remove(id)?;
        self.room.give_back(&kept.principal, Use::of(&kept));
        if kept.certificate.is_some() {
            self.certified.remove(id);
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
        let due = due.chain(self.retry.next()).chain(self.parked.next_due());
        due.chain(self.data.next_due()).min()
    }

    /// One whose time has passed.
    pub fn due(&self, now: Instant) -> Option<CallId> {
        self.due.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id)
    }
}

/// Data.
impl KeptCalls {
    /// Enters data, and counts it.
    pub(crate) fn enter_data(&mut self, id: DataId, data: Data) {
        self.room.take(&data.principal, Use::of_data(data.bytes));
        self.data.insert(id, data);
    }

    /// It takes so many bytes.
    pub(crate) fn resize_data(&mut self, id: &DataId, bytes: u64) {
        let Some(data) = self.data.get_mut(id) else { return };
        self.room.give_back(&data.principal, Use::of_data(data.bytes));
        data.bytes = bytes;
        self.room.take(&data.principal, Use::of_data(bytes));
    }

    /// Takes data out.
    pub(crate) fn remove_data(&mut self, id: &DataId) -> Option<Data> {
        let data = self.data.remove(id)?;
        self.room.give_back(&data.principal, Use::of_data(data.bytes));
        Some(data)
    }
}

impl State {
    /// Outcomes that connections hold.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Arc<Finished>> {
        self.front.peers().flat_map(|(_, peer)| peer.resuming.held.values())
    }
}
