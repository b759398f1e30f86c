//! Calls end: with an outcome, cancelled, given up, or with their connection.

use farcall_base::{CallId, ChannelId, Error, ErrorKind, Result};
use farcall_call::Connection;
use farcall_wire::Failure;

use super::{Abandoned, Caller, Made, OpenCall, Terms};
use crate::application::{Application, Reached};

impl<A: Application> Caller<A> {
    /// Outcome and data of a call are there. Calls are large, and settled where they lie.
    pub(super) fn finish(&mut self, channel: ChannelId) {
        if !self.abandoned.is_empty() {
            self.abandoned.remove(&channel);
        }
        let Some(call) = self.calls.get_mut(channel) else { return };
        if call.is_resuming {
            if let Some(call) = self.calls.remove(channel) {
                self.not_taken_up(call);
            }
            return;
        }
        if self.resumes && self.application.moved_data(&call.transfer) {
            // Of others, the next call on the channel says as much.
            self.connection.acknowledge(channel);
        }
        call.trouble = call.trouble.take().or(self.application.release(&mut call.transfer).err());
        if call.made.terms.passes_functions {
            let id = call.id;
            let number = call.made.number;
            self.end_callbacks(id, number);
        }
        let Some(call) = self.calls.get_mut(channel) else { return };
        if call.was_refused_for_a_limit() {
            self.application.forget_memory(&call.transfer);
        }
        self.application.ends(&call.transfer);
        if call.is_to_be_repeated() {
            if let Some(call) = self.calls.remove(channel) {
                match call.known.cancelled {
                    false => self.fetch(call.made),
                    true => self.conclude_cancelled(call.made),
                }
            }
            return;
        }
        let number = call.made.number;
        let announced = call.made.terms.announced;
        let is_answered = call.failure().is_none();
        let outcome = settled(&mut self.application, &mut self.connection, call);
        if outcome.is_ok() {
            self.calls.close(channel);
        } else if let Some(call) = self.calls.remove(channel) {
            // An answer that is a failure brings nothing else.
            let is_cancelled = call.known.cancelled;
            let reached =
                Reached { has_left: true, is_answered, is_told: !is_answered, is_cancelled };
            self.application.failed(number, call.made.call, Some(&call.transfer), reached);
        }
        self.conclude(number, announced, outcome);
    }

    /// A call ends with an error of this end's.
    pub(super) fn fail(&mut self, mut call: OpenCall<A>, error: Error) {
        // The failure says more than what became of the memory.
        let _ = self.application.release(&mut call.transfer);
        self.callbacks.forget(call.id);
        let error = self.application.explain(&call.made.call, call.id, error);
        let Made { number, call: made, terms, .. } = call.made;
        self.application.failed(number, made, Some(&call.transfer), call.known.reached());
        self.conclude(number, terms.announced, Err(error));
    }

    /// Asks the peer to end a call. One that waits for its interface ends here: nothing of it is
    /// with the peer.
    pub fn cancel(&mut self, number: u64) {
        let Some(channel) = self.outcomes.channel(number) else { return };
        match self.fetching.remove(&channel) {
            Some(made) => self.conclude_cancelled(made),
            None if self.standing.is_lost => self.cancel_while_lost(channel),
            None => {
                if let Some(call) = self.calls.get_mut(channel) {
                    call.known.cancelled = true;
                }
                self.connection.cancel(channel);
            }
        }
    }

    /// A call that has not begun is cancelled.
    fn conclude_cancelled(&mut self, made: Made<A>) {
        let error = Error::new(ErrorKind::Cancelled, "call", "it was cancelled before it ran")
            .with("routine", self.application.routine(&made.call));
        self.conclude(made.number, made.terms.announced, Err(error));
    }

    /// Gives a call up: asks the peer to end it, and lets go of everything that is its caller's. No
    /// frame is made of its arguments any more, and what still comes of its results is thrown away.
    pub fn abandon(&mut self, number: u64) {
        self.take_finished(number);
        self.news.forget(number);
        let Some(channel) = self.outcomes.forget(number) else { return };
        self.fetching.remove(&channel);
        self.kept.seeking.remove(&channel);
        let Some(call) = self.calls.remove(channel) else { return };
        if self.standing.is_lost {
            self.orphans.extend(call.known.sent_whole.then_some(call.id));
        } else {
            self.connection.cancel(channel);
        }
        self.end_callbacks(call.id, number);
        let id = Some(call.id);
        self.let_go(channel, call, id);
    }

    /// What is left of a call that nobody waits for; `id` if the peer is to end it.
    pub(super) fn let_go(&mut self, channel: ChannelId, call: OpenCall<A>, id: Option<CallId>) {
        self.application.ends(&call.transfer);
        let residue = self.application.abandon(call.transfer);
        self.abandoned.insert(channel, Abandoned { id, _residue: residue });
    }

    /// Ends all calls: the peer is gone for good.
    pub fn end_all(&mut self, error: impl Fn() -> Error) {
        self.abandoned.clear();
        self.callbacks.clear();
        self.questions.drop_unanswered();
        let sought = self.kept.seeking.drain().map(|(_, sought)| (sought.number, sought.terms));
        let mut all: Vec<(u64, Terms)> = sought.collect();
        for call in std::mem::take(&mut self.calls).into_values() {
            all.push((call.made.number, call.made.terms));
            let is_up = !self.standing.is_lost;
            let known = call.known.reached();
            let reached = Reached {
                has_left: is_up || known.has_left,
                is_answered: is_up && call.result.is_some() || known.is_answered,
                is_told: false,
                is_cancelled: known.is_cancelled,
            };
            let OpenCall { made, transfer, .. } = call;
            self.application.failed(made.number, made.call, Some(&transfer), reached);
        }
        for (_, made) in self.fetching.drain() {
            all.push((made.number, made.terms));
            self.application.failed(made.number, made.call, None, Reached::default());
        }
        all.sort_unstable_by_key(|(number, _)| *number);
        for (number, terms) in all {
            self.conclude(number, terms.announced, Err(error()));
        }
    }
}

/// What a call came to that has ended with an answer.
#[inline(always)]
fn settled<A: Application>(
    application: &mut A,
    connection: &mut Connection,
    call: &mut OpenCall<A>,
) -> Result<A::Output> {
    let OpenCall { id, made, transfer, result, trouble, .. } = call;
    let gone = || Error::internal("receive the results", "a call ended without an answer");
    let outcome = match (trouble.take(), result.as_deref_mut()) {
        (Some(error), _) => Err(error),
        (None, Some(result)) => application.outcome(*id, &made.call, transfer, result),
        (None, None) => Err(gone()),
    };
    if let Some(result) = result.take() {
        connection.reuse_result(result);
    }
    outcome
}

impl<A: Application> OpenCall<A> {
    /// Whether nothing ran, and the peer asks for the interface to be fetched before the call is
    /// made again.
    fn is_to_be_repeated(&self) -> bool {
        let is_changed = |failure: &Failure| {
            failure.retryable && failure.kind == ErrorKind::InterfaceChanged.code()
        };
        self.made.attempts_left > 0 && self.failure().is_some_and(is_changed)
    }

    /// Whether the peer had no room for it.
    fn was_refused_for_a_limit(&self) -> bool {
        self.failure().is_some_and(|failure| failure.kind == ErrorKind::LimitExceeded.code())
    }
}
