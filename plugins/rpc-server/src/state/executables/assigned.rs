//! The calls that an executable was passed and has not answered, in the order in which it runs
//! them, and its turnstile.
//!
//! - What it has answered and what it has yet to do is what its turnstile counts together.
//! - Calls that were taken back stand here no more; the executable has yet to close their channels.

use std::collections::VecDeque;
use std::time::Duration;

use farcall_base::{ChannelId, ConnectionId, Instant};

use crate::state::CallKey;

/// The spawner has read what a process wrote after so much time.
const OUTPUT_READ_WITHIN: Duration = Duration::from_secs(1);

/// A call that was passed to an executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InLine {
    /// Which.
    pub key: CallKey,
    /// Its channel on the executable's connection.
    pub channel: ChannelId,
    /// Its client's connection.
    pub client: Option<ConnectionId>,
}

/// Whether an executable may begin calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Recall {
    /// It may.
    #[default]
    Open,
    /// Its turnstile is about to be shut: nothing more is passed to it.
    Asked,
    /// It may not until it has closed what was taken back.
    Shut,
}

/// The calls of one executable.
#[derive(Debug, Default)]
pub struct AssignedCalls {
    calls: VecDeque<InLine>,
    /// Since when the first of them may be running.
    front_since: Instant,
    /// Whose call it answered last, and when.
    left: Option<(Option<ConnectionId>, Instant)>,
    /// When its answers were last looked at without having been announced.
    looked: Instant,
    /// Whether it may be passed calls ahead of time: it has a turnstile.
    takes_ahead: bool,
    /// Calls it has answered, modulo 2³².
    answered: u32,
    recall: Recall,
    /// Calls taken back whose channels it has not closed yet.
    withdrawn: usize,
}

impl AssignedCalls {
    /// Whether it has nothing to do.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// How many it has.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// The one that it works on, if it works on one.
    pub fn front(&self) -> Option<CallKey> {
        self.calls.front().map(|one| one.key)
    }

    /// The last one.
    pub fn back(&self) -> Option<InLine> {
        self.calls.back().copied()
    }

    /// All of them.
    pub fn keys(&self) -> impl Iterator<Item = CallKey> {
        self.calls.iter().map(|one| one.key)
    }

    /// The one on a channel.
    pub fn on(&self, channel: ChannelId) -> Option<CallKey> {
        self.calls.iter().find(|one| one.channel == channel).map(|one| one.key)
    }

    /// It has a turnstile, or has not.
    pub fn set_takes_ahead(&mut self, takes_ahead: bool) {
        self.takes_ahead = takes_ahead;
    }

    /// Whether it may be passed calls ahead of time.
    pub fn takes_ahead(&self) -> bool {
        self.takes_ahead
    }

    /// One more was passed to it.
    pub fn push(&mut self, now: Instant, one: InLine) {
        if self.calls.is_empty() {
            self.front_since = now;
            self.looked = now;
        }
        self.calls.push_back(one);
    }

    /// It has answered on a channel, or closed that of a call that was taken back: which call is
    /// over?
    pub fn leave(&mut self, now: Instant, channel: ChannelId) -> Option<CallKey> {
        let at = self.calls.iter().position(|one| one.channel == channel);
        let over = at.and_then(|at| self.calls.remove(at));
        if over.is_some() {
            self.answered = self.answered.wrapping_add(1);
            self.front_since = now;
        } else {
            self.withdrawn = self.withdrawn.saturating_sub(1);
        }
        self.left = over.map(|one| (one.client, now)).or(self.left);
        over.map(|one| one.key)
    }

    /// Whether what its process wrote since `began` can only be this call's, or another one's of the
    /// same client: the end of a call does not wait until its standard output was read.
    pub fn speaks_for(&self, client: Option<ConnectionId>, began: Instant) -> bool {
        self.left.is_none_or(|(other, at)| {
            client.is_some() && client == other || began.since(at) >= OUTPUT_READ_WITHIN
        })
    }

    /// It has ended: what it still had.
    pub fn take(&mut self) -> VecDeque<InLine> {
        std::mem::take(&mut self.calls)
    }

    /// Nothing more is to be passed to it, and its turnstile to be shut; whether that is news.
    pub fn ask_back(&mut self) -> bool {
        let is_news = self.takes_ahead && self.recall == Recall::Open;
        if is_news {
            self.recall = Recall::Asked;
        }
        is_news
    }

    /// Its turnstile is shut after `begun` calls: those that it has not begun.
    pub fn shut(&mut self, begun: u32) -> VecDeque<InLine> {
        self.recall = Recall::Shut;
        // A routine that wrote over its process's memory may have left any number there.
        let begun = usize::try_from(begun.wrapping_sub(self.answered) as i32)
            .unwrap_or(0)
            .min(self.calls.len());
        let back = self.calls.split_off(begun);
        self.withdrawn += back.len();
        back
    }

    /// Whether its turnstile can be opened, or was never shut: it has closed what was taken back.
    pub fn may_reopen(&self) -> bool {
        self.withdrawn == 0 && self.recall != Recall::Asked
    }

    /// It may begin calls again; whether its turnstile was shut.
    pub fn reopen(&mut self) -> bool {
        std::mem::take(&mut self.recall) == Recall::Shut
    }

    /// Whether its turnstile is not asked to be shut.
    pub fn is_open(&self) -> bool {
        self.recall == Recall::Open
    }

    /// Whether its turnstile is shut.
    pub fn is_shut(&self) -> bool {
        self.recall == Recall::Shut
    }

    /// When its answers are to be looked at, if they are this often.
    pub fn next_look(&self, every: Duration) -> Instant {
        self.looked.max(self.front_since) + every
    }

    /// They were.
    pub fn looked(&mut self, now: Instant) {
        self.looked = now;
    }

    /// Since when the first may be running.
    pub fn front_since(&self) -> Instant {
        self.front_since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_after_a_call_of_another_client_is_not_told() {
        let second = 1_000_000_000;
        let mut line = AssignedCalls::default();
        let [one, other] = [Some(ConnectionId(1)), Some(ConnectionId(2))];
        assert!(line.speaks_for(other, Instant(0)), "nobody was there before");
        line.left = Some((one, Instant(second)));
        assert!(line.speaks_for(one, Instant(second)), "the same client");
        assert!(!line.speaks_for(other, Instant(second + 1)));
        assert!(line.speaks_for(other, Instant(2 * second)), "it was read by then");
        line.left = Some((None, Instant(second)));
        assert!(!line.speaks_for(None, Instant(second)), "two clients that are gone");
    }
}
