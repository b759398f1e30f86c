//! Calls that go on without this program, and their outcomes: made by it before, or by another that
//! told it their ids.

use std::collections::BTreeSet;

use farcall_base::{CallId, ChannelId, Error, ErrorKind, Result};
use farcall_wire::{CallResult, Failure, Resume};
use rustc_hash::FxHashMap;

use super::{Abandoned, Caller, Made, OpenCall, Terms};
use crate::application::Application;
use crate::recovery::Known;

/// A call that was asked for by its id: whether the peer has it is not known yet.
pub(super) struct Sought<A: Application> {
    pub(super) number: u64,
    pub(super) id: CallId,
    pub(super) terms: Terms,
    sought: A::Sought,
}

/// What is known of calls that are kept.
pub(super) struct Kept<A: Application> {
    /// Calls that were asked for by their ids.
    pub(super) seeking: FxHashMap<ChannelId, Sought<A>>,
    /// Calls of which the peer has said that they go on without us, until nobody asks any more.
    acknowledged: BTreeSet<u64>,
    /// What those of them call that the peer has, until that was told.
    described: FxHashMap<u64, A::Description>,
}

impl<A: Application> Default for Kept<A> {
    fn default() -> Self {
        Kept {
            seeking: FxHashMap::default(),
            acknowledged: BTreeSet::new(),
            described: FxHashMap::default(),
        }
    }
}

impl<A: Application> Kept<A> {
    pub(super) fn acknowledge(&mut self, number: u64) {
        self.acknowledged.insert(number);
    }
}

impl<A: Application> Caller<A> {
    /// Asks for a call by its id.
    ///
    /// # Errors
    /// When the connection takes no more.
    pub fn seek(&mut self, number: u64, id: CallId, terms: Terms, sought: A::Sought) -> Result<()> {
        self.seek_again(Sought { number, id, terms, sought }).map_err(|(_, error)| error)
    }

    /// The same; gives back what was sought where it cannot be.
    pub(super) fn seek_again(
        &mut self,
        sought: Sought<A>,
    ) -> std::result::Result<(), (Sought<A>, Error)> {
        let channel = match self
            .connection
            .resume(&Resume { describe: Some(true), ..Resume::new(sought.id) })
        {
            Ok(channel) => channel,
            Err(error) => return Err((sought, error)),
        };
        if sought.terms.has_news {
            self.news.expect(sought.number);
        }
        self.outcomes.begin(sought.number, channel);
        self.kept.seeking.insert(channel, sought);
        Ok(())
    }

    /// Whether the peer has a call that was sought, once it has said so: what it calls, or why not.
    /// Its outcome is collected then.
    pub fn found(&mut self, number: u64) -> Option<Result<A::Description>> {
        if let Some(description) = self.kept.described.remove(&number) {
            // One that has failed is found, and its failure is its outcome.
            return Some(Ok(description));
        }
        self.outcomes.take_failure(number).map(Err)
    }

    /// The peer has a call that we asked for, or one that we took up again.
    pub(super) fn agreed(&mut self, channel: ChannelId, resume: Resume) {
        let Some(sought) = self.kept.seeking.remove(&channel) else {
            return self.agreed_again(channel);
        };
        let Sought { number, id, terms, sought } = sought;
        let bytes_max = self.peer().map_or(u64::MAX, |peer| peer.limits.call_bytes_max);
        match self.application.adopt(id, sought, resume, bytes_max) {
            Ok((call, transfer, description)) => {
                self.kept.described.insert(number, description);
                self.kept.acknowledge(number);
                // Its arguments are not here: it cannot be made again.
                let made = Made { number, call, terms, attempts_left: 0, id: Some(id) };
                let known = Known { sent_whole: true, ..Known::default() };
                let call = OpenCall { is_kept: true, known, ..OpenCall::new(id, made, transfer) };
                self.calls.put(channel, call);
            }
            Err(error) => {
                // What still comes is thrown away.
                self.abandoned
                    .insert(channel, Abandoned { id: None, _residue: A::Residue::default() });
                self.conclude(number, terms.announced, Err(error));
            }
        }
    }

    /// The peer has no call that we asked for, or does not give it to us.
    pub(super) fn refused(&mut self, channel: ChannelId, result: &CallResult) {
        let Some(sought) = self.kept.seeking.remove(&channel) else { return };
        let nothing =
            || Error::new(ErrorKind::Protocol, "fetch a call", "the server sent an empty outcome");
        let error = result.failure.clone().map_or_else(nothing, Error::from);
        self.conclude(sought.number, sought.terms.announced, Err(error));
    }

    /// Whether the peer has said that a call goes on without us, or nothing can be lost of it any
    /// more.
    pub fn is_kept(&self, number: u64) -> bool {
        match self.outcomes.channel(number) {
            Some(channel) => {
                self.calls.get(channel).is_some_and(|call| call.is_kept || call.result.is_some())
            }
            None => true,
        }
    }

    /// Whether the peer ever said that a call goes on without us.
    pub fn was_kept(&self, number: u64) -> bool {
        self.kept.acknowledged.contains(&number)
    }

    /// Why a call has ended that the peer never said it keeps; its outcome is still to be collected.
    pub fn refusal(&self, number: u64) -> Option<Failure> {
        let failed = self.outcomes.get(number).and_then(|outcome| outcome.as_ref().err());
        failed.filter(|_| !self.was_kept(number)).map(Failure::from)
    }

    /// Nobody asks any more whether a call was kept.
    pub fn forget_kept(&mut self, number: u64) {
        self.kept.acknowledged.remove(&number);
        // Each call comes by here, and nearly none was sought.
        if !self.kept.described.is_empty() {
            self.kept.described.remove(&number);
        }
    }

    /// Lets go of a call without having it ended.
    pub fn detach(&mut self, number: u64) {
        self.take_finished(number);
        self.kept.described.remove(&number);
        let Some(channel) = self.outcomes.forget(number) else { return };
        self.kept.seeking.remove(&channel);
        self.fetching.remove(&channel);
        if let Some(call) = self.calls.remove(channel) {
            // Its channel may be another call's before its routine calls back.
            self.end_callbacks(call.id, number);
            self.let_go(channel, call, None);
        }
    }
}
