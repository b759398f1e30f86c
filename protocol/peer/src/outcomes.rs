//! Calls by their numbers: where each is running, and what came of it until its owner takes that.

use std::collections::hash_map::Entry;

use farcall_base::{ChannelId, Error, Result};
use rustc_hash::FxHashMap;

/// Calls of which the owner has not taken the outcome.
#[derive(Debug)]
pub struct Outcomes<T> {
    calls: FxHashMap<u64, Stage<T>>,
    over: usize,
}

#[derive(Debug)]
enum Stage<T> {
    /// On this channel; on that of the question for its interface, if that is fetched first.
    UnderWay(ChannelId),
    Over(Result<T>),
}

impl<T> Default for Outcomes<T> {
    fn default() -> Self {
        Outcomes { calls: FxHashMap::default(), over: 0 }
    }
}

impl<T> Outcomes<T> {
    /// A call is running on this channel.
    pub fn begin(&mut self, number: u64, channel: ChannelId) {
        self.put(number, Stage::UnderWay(channel));
    }

    /// A call has ended.
    #[inline(always)]
    pub fn conclude(&mut self, number: u64, outcome: Result<T>) {
        self.over += 1;
        self.put(number, Stage::Over(outcome));
    }

    #[inline]
    fn put(&mut self, number: u64, stage: Stage<T>) {
        if let Some(Stage::Over(_)) = self.calls.insert(number, stage) {
            self.over -= 1;
        }
    }

    /// Where a call is running.
    pub fn channel(&self, number: u64) -> Option<ChannelId> {
        match self.calls.get(&number)? {
            Stage::UnderWay(channel) => Some(*channel),
            Stage::Over(_) => None,
        }
    }

    /// Whether a call has ended, or was never made.
    pub fn is_over(&self, number: u64) -> bool {
        self.channel(number).is_none()
    }

    /// Whether there are outcomes that nobody has taken.
    pub fn has_some(&self) -> bool {
        self.over > 0
    }

    /// What came of a call that has ended.
    pub fn get(&self, number: u64) -> Option<&Result<T>> {
        match self.calls.get(&number)? {
            Stage::UnderWay(_) => None,
            Stage::Over(outcome) => Some(outcome),
        }
    }

    /// What came of a call, for its owner.
    pub fn take(&mut self, number: u64) -> Option<Result<T>> {
        if self.over == 0 {
            return None;
        }
        let Entry::Occupied(call) = self.calls.entry(number) else { return None };
        if matches!(call.get(), Stage::UnderWay(_)) {
            return None;
        }
        let Stage::Over(outcome) = call.remove() else { return None };
        self.over -= 1;
        Some(outcome)
    }

    /// The error of a call that has failed.
    pub fn take_failure(&mut self, number: u64) -> Option<Error> {
        self.get(number)?.as_ref().err()?;
        self.take(number)?.err()
    }

    /// Nobody wants to know what becomes of a call any more. Where it is running.
    pub fn forget(&mut self, number: u64) -> Option<ChannelId> {
        match self.calls.remove(&number)? {
            Stage::UnderWay(channel) => Some(channel),
            Stage::Over(_) => {
                self.over -= 1;
                None
            }
        }
    }

    /// The channels are gone with their connection.
    pub fn forget_channels(&mut self) {
        self.calls.retain(|_, stage| matches!(stage, Stage::Over(_)));
    }
}
