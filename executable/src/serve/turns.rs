//! Whose turn it is: the calls that are ready to run, in the order in which they became so.

use std::collections::{BTreeMap, VecDeque};

use farcall_base::{ChannelId, Error};

/// Calls on their way to the routine and back.
#[derive(Default)]
pub struct Turns {
    ready: VecDeque<ChannelId>,
    /// Calls that cannot run, and why: they are told when it would be their turn.
    refused: BTreeMap<ChannelId, Error>,
    /// Calls whose outcome is queued, and that go with its last byte.
    answered: Vec<ChannelId>,
}

impl Turns {
    /// All that the call needs is there.
    pub fn ready(&mut self, channel: ChannelId) {
        if !self.refused.contains_key(&channel) {
            self.ready.push_back(channel);
        }
    }

    /// It has its turn like any other: every call passes the turnstile or is taken back, also one
    /// that does not run, because the server counts.
    pub fn refuse(&mut self, channel: ChannelId, error: Error) {
        self.refused.insert(channel, error);
        self.ready.push_back(channel);
    }

    /// Why it cannot run, once.
    pub fn refusal(&mut self, channel: ChannelId) -> Option<Error> {
        self.refused.remove(&channel)
    }

    /// It has no turn any more.
    pub fn remove(&mut self, channel: ChannelId) {
        self.ready.retain(|ready| *ready != channel);
        self.refused.remove(&channel);
    }

    /// The call whose turn it is; none before the outcome of the one before has left.
    pub fn next(&self) -> Option<ChannelId> {
        self.ready.front().copied().filter(|_| self.answered.is_empty())
    }

    /// It has its turn now; whether others follow.
    pub fn begin(&mut self) -> bool {
        self.ready.pop_front();
        !self.ready.is_empty()
    }

    /// Its outcome is queued.
    pub fn answered(&mut self, channel: ChannelId) {
        self.answered.push(channel);
    }

    /// Forgets those whose outcome has left, by what `has_left` says and does.
    pub fn forget(&mut self, mut has_left: impl FnMut(ChannelId) -> bool) {
        self.answered.retain(|channel| !has_left(*channel));
    }
}
