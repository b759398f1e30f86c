//! Calls that an earlier server accepted and this one has not taken up yet, and who waits for
//! them.
//!
//! - A call stands in `waiting` in its order until it is in the table of calls or has failed.
//! - It stands in `loading` from then until its arguments are read and it is in the queue.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use farcall_base::{CallId, ChannelId, ConnectionId, Instant};

use crate::state::CallKey;

/// Time after which parked calls are looked at again for which there was no memory.
const READMIT_AFTER: Duration = Duration::from_secs(1);
/// Time that a routine has to be published again when the server is up.
const PUBLISHED_WITHIN: Duration = Duration::from_secs(5);

/// Who asks for a call, on which channel, and whether they want to know what it was.
type Asking = (CallId, (ConnectionId, ChannelId), bool);

/// The calls of an earlier server.
#[derive(Default)]
pub struct ParkedCalls {
    waiting: VecDeque<CallId>,
    /// Those whose arguments are being read: they are about to stand in line.
    loading: BTreeSet<CallKey>,
    /// Calls that came since, and stand behind those that are parked or being loaded.
    behind: VecDeque<CallKey>,
    /// Those who ask for a call that is parked, or whose outcome is being written.
    asking: Vec<Asking>,
    /// When those are looked at again for which there was no memory.
    readmit_at: Option<Instant>,
    /// Whether those that came since pass them meanwhile.
    lets_by: bool,
    /// Whether all that is to be published when the server starts is.
    all_published: bool,
    /// When those fail whose routines are not published.
    give_up_at: Option<Instant>,
    /// Whether that time has passed.
    gives_up: bool,
}

impl ParkedCalls {
    /// Whether none waits to be taken up.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Those that do, in their order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &CallId> {
        self.waiting.iter()
    }

    /// One more does, after the others.
    pub(crate) fn push(&mut self, id: CallId) {
        self.waiting.push_back(id);
    }

    /// One of them failed.
    pub(crate) fn forget(&mut self, id: CallId) {
        self.waiting.retain(|parked| *parked != id);
    }

    /// All is published; whether the directory is to be asked for the routines of those that wait.
    pub(crate) fn all_published(&mut self, now: Instant) -> bool {
        self.all_published = true;
        self.begin(now)
    }

    /// Whether the directory is to be asked: a routine that is not there may be in a moment.
    pub(crate) fn begin(&mut self, now: Instant) -> bool {
        if !self.waiting.is_empty() {
            self.give_up_at = self.all_published.then_some(now + PUBLISHED_WITHIN);
        }
        !self.waiting.is_empty()
    }

    /// They are looked at: those that wait.
    pub(crate) fn take(&mut self) -> VecDeque<CallId> {
        std::mem::take(&mut self.waiting)
    }

    /// The directory has answered.
    pub(crate) fn begin_readmission(&mut self) {
        self.readmit_at = None;
        self.lets_by = false;
    }

    /// They are looked at again later.
    pub(crate) fn readmit_later(&mut self, now: Instant) {
        self.readmit_at = Some(now + READMIT_AFTER);
    }

    /// There is no memory for one now. Those that stand behind it might hold what it waits for:
    /// they pass.
    pub(crate) fn wait_for_memory(&mut self, now: Instant) {
        self.readmit_later(now);
        self.lets_by = true;
    }

    /// Whether they are looked at again later.
    pub(crate) fn waits(&self) -> bool {
        self.readmit_at.is_some()
    }

    /// Whether those that came since pass them.
    pub(crate) fn lets_by(&self) -> bool {
        self.lets_by
    }

    /// Whether those fail whose routines are not published.
    pub(crate) fn gives_up(&self) -> bool {
        self.gives_up
    }

    /// When something becomes due.
    pub(crate) fn next_due(&self) -> impl Iterator<Item = Instant> {
        self.readmit_at.into_iter().chain(self.give_up_at)
    }

    /// Time went by: whether the directory is to be asked again.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        let gives_up = self.give_up_at.take_if(|at| *at <= now).is_some();
        self.gives_up |= gives_up;
        self.readmit_at.take_if(|at| *at <= now).is_some() || gives_up
    }
}

/// Those that are being loaded, and calls that stand behind.
impl ParkedCalls {
    /// The arguments of one are being read.
    pub(crate) fn begin_loading(&mut self, key: CallKey) {
        self.loading.insert(key);
    }

    /// They are; whether those of all are.
    pub(crate) fn end_loading(&mut self, key: CallKey) -> bool {
        self.loading.remove(&key);
        self.loading.is_empty()
    }

    /// Those whose arguments are being read.
    pub(crate) fn loading(&self) -> impl Iterator<Item = CallKey> {
        self.loading.iter().copied()
    }

    /// Whether a call might have to stand behind others: there are any, and it is not one of them.
    pub(crate) fn may_hold_up(&self, key: CallKey) -> bool {
        (!self.waiting.is_empty() || !self.loading.is_empty()) && !self.loading.contains(&key)
    }

    /// A call stands behind them.
    pub(crate) fn hold_up(&mut self, key: CallKey) {
        self.behind.push_back(key);
    }

    /// How many do.
    pub(crate) fn held_up(&self) -> usize {
        self.behind.len()
    }

    /// The first of these.
    pub(crate) fn next_held_up(&mut self) -> Option<CallKey> {
        self.behind.pop_front()
    }
}

/// Those who ask for one.
impl ParkedCalls {
    /// Somebody does.
    pub(crate) fn ask(&mut self, id: CallId, client: (ConnectionId, ChannelId), describe: bool) {
        self.asking.push((id, client, describe));
    }

    /// Nobody asks on a connection any more.
    pub(crate) fn forget_connection(&mut self, connection: ConnectionId) {
        self.asking.retain(|(_, client, _)| client.0 != connection);
    }

    /// The call that somebody asks for on a channel.
    pub(crate) fn asked_on(&self, client: (ConnectionId, ChannelId)) -> Option<CallId> {
        let asked = self.asking.iter().find(|(_, asking, _)| *asking == client);
        asked.map(|(id, ..)| *id)
    }

    /// Who asked for a call: they hear of it now.
    pub(crate) fn take_asking(&mut self, id: CallId) -> Vec<((ConnectionId, ChannelId), bool)> {
        if self.asking.is_empty() {
            return Vec::new();
        }
        let (asked, others): (Vec<Asking>, _) =
            std::mem::take(&mut self.asking).into_iter().partition(|(of, ..)| *of == id);
        self.asking = others;
        asked.into_iter().map(|(_, client, describe)| (client, describe)).collect()
    }
}
