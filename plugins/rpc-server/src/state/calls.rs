//! Calls: those that are open, and those whose result data still leave.
//!
//! - An id stands in `ids` as long as its call stands in the table.
//! - `deadlines` has exactly the times that calls name: their own, and until when they may run.
//! - A call stands in `arriving` from its Open until its arguments are complete, or it ends.

mod call;
mod callbacks;
mod nesting;
mod table;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{CallId, ChannelId, ConnectionId, Instant};

use super::Finished;
pub use call::{Allowed, AllowedBy, Arguments, Call, CallClock, CallMemory, Run, Stay, Wants};
pub use callbacks::{Callback, Callbacks};
pub use nesting::{Nest, Nesting};
pub use table::{CallKey, CallTable};

/// All calls that are not over, and outcomes on their way.
#[derive(Default)]
pub struct Calls {
    table: CallTable<Call>,
    ids: HashSet<CallId>,
    deadlines: BTreeSet<(Instant, CallKey)>,
    /// Calls whose arguments still come.
    arriving: BTreeSet<CallKey>,
    /// Calls whose outcome is given but whose result data has not all left yet.
    sending: BTreeMap<(ConnectionId, ChannelId), Arc<Finished>>,
    /// When to look for calls whose clients stand still, if any call waits for its client then.
    stalls_checked_at: Option<Instant>,
}

impl Calls {
    /// Enters a call under a number that no other has or had.
    pub(crate) fn enter(&mut self, number: u64, call: Call) -> CallKey {
        let id = call.id;
        let deadline = call.times.deadline;
        self.ids.insert(id);
        let key = self.table.insert(number, Box::new(call));
        self.deadlines.extend(deadline.map(|deadline| (deadline, key)));
        key
    }

    /// Takes a call out.
    pub(crate) fn remove(&mut self, key: CallKey) -> Option<Box<Call>> {
        let call = self.table.remove(&key)?;
        self.ids.remove(&call.id);
        self.arriving.remove(&key);
        if let Some(deadline) = call.times.deadline {
            self.deadlines.remove(&(deadline, key));
        }
        if let Some(allowed) = call.times.allowed {
            self.deadlines.remove(&(allowed.until, key));
        }
        Some(call)
    }

    /// A call that has not ended.
    pub(crate) fn get(&self, key: &CallKey) -> Option<&Call> {
        self.table.get(key)
    }

    /// As [`Calls::get`], to change it.
    pub(crate) fn get_mut(&mut self, key: &CallKey) -> Option<&mut Call> {
        self.table.get_mut(key)
    }

    /// Whether a call has not ended.
    pub(crate) fn contains_key(&self, key: &CallKey) -> bool {
        self.table.contains_key(key)
    }

    /// Whether a call that is not over has this id.
    pub(crate) fn has_id(&self, id: &CallId) -> bool {
        self.ids.contains(id)
    }

    /// All calls that are not over, in no order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Call> {
        self.table.values()
    }

    /// The same, the oldest first.
    pub(crate) fn by_age(&self) -> Vec<(CallKey, &Call)> {
        self.table.by_age()
    }

    /// Whether every call has ended.
    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}

/// Their times.
impl Calls {
    /// When the next call times out.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// A call that timed out, and which of its times passed; that one is taken out.
    pub(crate) fn take_deadline(&mut self, now: Instant) -> Option<(Instant, CallKey)> {
        let first = *self.deadlines.first().filter(|(at, _)| *at <= now)?;
        self.deadlines.remove(&first);
        Some(first)
    }

    /// A call was passed on whose module allows it so much time, if it says any: it may run until
    /// that or the time of its client has passed.
    pub(crate) fn allow(&mut self, now: Instant, key: CallKey, by_module: Option<Duration>) {
        let Some(call) = self.table.get_mut(&key) else { return };
        let by_module = by_module.map(|time| (time, AllowedBy::Module));
        let by_client = call.times.run_timeout.map(|time| (time, AllowedBy::Client));
        let by_wall = call.times.wall_time.map(|time| (time, AllowedBy::WallTime));
        let all = by_module.into_iter().chain(by_client).chain(by_wall);
        let shortest = all.min_by_key(|(time, _)| *time);
        let Some((time, by)) = shortest else { return };
        let until = now + time;
        call.times.allowed = Some(Allowed { until, time, by });
        self.deadlines.insert((until, key));
    }

    /// It came back.
    pub(crate) fn stop_clock(&mut self, key: CallKey) {
        let allowed = self.table.get_mut(&key).and_then(|call| call.times.allowed.take());
        if let Some(allowed) = allowed {
            self.deadlines.remove(&(allowed.until, key));
        }
    }
}

/// Data on its way from clients, and to them.
impl Calls {
    /// Data comes with a call.
    pub(crate) fn begin_arriving(&mut self, key: CallKey) {
        self.arriving.insert(key);
    }

    /// All of it is here.
    pub(crate) fn arrived(&mut self, key: CallKey) {
        self.arriving.remove(&key);
    }

    /// Whether some of it is not.
    pub(crate) fn is_arriving(&self, key: CallKey) -> bool {
        self.arriving.contains(&key)
    }

    /// Calls whose data still comes.
    pub(crate) fn arriving(&self) -> impl Iterator<Item = (CallKey, &Call)> {
        self.arriving.iter().filter_map(|key| Some((*key, self.table.get(key)?)))
    }

    /// The data of an outcome leaves on a channel.
    pub(crate) fn send(&mut self, client: (ConnectionId, ChannelId), finished: Arc<Finished>) {
        self.sending.insert(client, finished);
    }

    /// The outcome whose data leaves on a channel.
    pub(crate) fn sending_on(&self, client: (ConnectionId, ChannelId)) -> Option<&Arc<Finished>> {
        self.sending.get(&client)
    }

    /// All of its data has left.
    pub(crate) fn sent(&mut self, client: (ConnectionId, ChannelId)) -> Option<Arc<Finished>> {
        self.sending.remove(&client)
    }

    /// Channels of a connection on which data of outcomes leaves.
    pub(crate) fn channels_sending(
        &self,
        connection: ConnectionId,
    ) -> impl Iterator<Item = ChannelId> {
        let all = (connection, ChannelId(u32::MIN))..=(connection, ChannelId(u32::MAX));
        self.sending.range(all).map(|((_, channel), _)| *channel)
    }

    /// Outcomes whose data leaves.
    pub(crate) fn sending(&self) -> impl Iterator<Item = &Arc<Finished>> {
        self.sending.values()
    }

    /// The same, with the connections.
    pub(crate) fn sending_to(&self) -> impl Iterator<Item = (ConnectionId, &Arc<Finished>)> {
        self.sending.iter().map(|((connection, _), finished)| (*connection, finished))
    }

    /// Whether data of any outcome leaves.
    pub(crate) fn is_sending(&self) -> bool {
        !self.sending.is_empty()
    }

    /// Calls that are not over, and those whose results have not left: both hold memory.
    pub(crate) fn count(&self) -> usize {
        self.table.len() + self.sending.len()
    }

    /// A call waits for its client from now on: by then it is to be looked at.
    pub(crate) fn watch_for_stalls(&mut self, at: Instant) {
        self.stalls_checked_at.get_or_insert(at);
    }

    /// When to look for calls whose clients stand still.
    pub(crate) fn next_stall_check(&self) -> Option<Instant> {
        let waits = !self.arriving.is_empty() || !self.sending.is_empty();
        self.stalls_checked_at.filter(|_| waits)
    }

    /// They were looked at; when to look again.
    pub(crate) fn checked_stalls(&mut self, next: Option<Instant>) {
        self.stalls_checked_at = next;
    }
}
