//! Calls when their connection is lost, and when it is there again: by what `recovery.rs` says of
//! each.

use farcall_base::{CallId, ChannelId, Error, ErrorKind, Instant};
use farcall_call::Connection;
use farcall_wire::{Lasting, RESUME, Resume};

use super::keeping::Sought;
use super::{Abandoned, Caller, OpenCall, Standing};
use crate::application::Application;
use crate::recovery::{Fate, after_loss, after_refusal};

impl<A: Application> Caller<A> {
    /// Whether calls can go on over another connection to the same peer.
    pub fn may_return(&self) -> bool {
        let Standing { is_ready, has_left, .. } = self.standing;
        is_ready && !has_left && self.connection.has_feature(RESUME)
    }

    /// The connection is lost: `sent` bytes were taken of what was made.
    pub fn part(&mut self, sent: u64, now: Instant) {
        self.standing.is_lost = true;
        let orphans = self.abandoned.drain().filter_map(|(_, abandoned)| abandoned.id);
        self.orphans.extend(orphans);
        self.callbacks.clear();
        for (channel, call) in self.calls.iter_mut() {
            let left_whole = sent >= call.sent_at && !self.connection.has_arguments_left(channel);
            // It may have been lost before, when it was taken up and no answer had come.
            call.known.sent_whole |= call.is_resuming || left_whole;
            call.known.answered |= call.result.is_some() && !call.is_resuming;
            // What came of its results comes again.
            (call.result, call.trouble) = (None, None);
            self.application.forget_answer(&mut call.transfer);
        }
        self.questions.part(now);
    }

    /// There is another, which was greeted: everything goes on there, in the order in which it
    /// began.
    pub fn come_back(&mut self, connection: Connection, now: Instant) {
        self.standing.is_lost = false;
        self.connection = connection;
        self.bytes_made = 0;
        let run = self
            .connection
            .peer()
            .and_then(|hello| Lasting::of(hello).ok())
            .and_then(|lasting| lasting.instance);
        let is_another = std::mem::replace(&mut self.standing.run, run) != run;
        let mut calls: Vec<OpenCall<A>> = std::mem::take(&mut self.calls).into_values().collect();
        calls.sort_unstable_by_key(|call| call.made.number);
        let fetching: Vec<_> = self.fetching.drain().map(|(_, made)| made).collect();
        let seeking: Vec<Sought<A>> = self.kept.seeking.drain().map(|(_, sought)| sought).collect();
        self.outcomes.forget_channels();
        for mut call in calls {
            call.is_of_another_run |= is_another;
            match after_loss(call.known) {
                Fate::Resume => self.take_up(call),
                fate => self.end_or_open(call, fate),
            }
        }
        fetching.into_iter().for_each(|made| self.fetch(made));
        for sought in seeking {
            if let Err((sought, error)) = self.seek_again(sought) {
                self.conclude(sought.number, sought.terms.announced, Err(error));
            }
        }
        for id in std::mem::take(&mut self.orphans) {
            self.end_orphan(id);
        }
        self.questions.come_back(&mut self.connection, now);
    }

    fn take_up(&mut self, mut call: OpenCall<A>) {
        match self.connection.resume(&Resume::new(call.id)) {
            Ok(channel) => {
                call.is_resuming = true;
                if call.known.cancelled {
                    self.connection.cancel(channel);
                }
                if call.made.terms.passes_functions {
                    self.callbacks.expect(call.id, channel);
                }
                self.outcomes.begin(call.made.number, channel);
                self.calls.put(channel, call);
            }
            Err(error) => self.fail(call, error),
        }
    }

    fn end_or_open(&mut self, mut call: OpenCall<A>, fate: Fate) {
        self.callbacks.forget(call.id);
        let error = match fate {
            Fate::OpenAgain => {
                // It is opened with the same memory.
                let _ = self.application.release(&mut call.transfer);
                let OpenCall { made, transfer, .. } = call;
                drop(transfer);
                let number = made.number;
                let announced = made.terms.announced;
                if let Err(error) = self.open_made(made) {
                    self.conclude(number, announced, Err(error));
                }
                return;
            }
            Fate::Cancelled => cancelled(),
            Fate::Resume | Fate::Lost => lost(call.is_of_another_run),
        };
        self.fail(call, error);
    }

    /// A call that nobody wants any more, and that the peer may have.
    fn end_orphan(&mut self, id: CallId) {
        // What it cannot be asked now ends when it times out.
        let Ok(channel) = self.connection.resume(&Resume::new(id)) else { return };
        self.connection.cancel(channel);
        self.abandoned.insert(channel, Abandoned { id: Some(id), _residue: A::Residue::default() });
    }

    /// The peer has a call that we took up.
    pub(super) fn agreed_again(&mut self, channel: ChannelId) {
        if let Some(call) = self.calls.get_mut(channel) {
            call.is_resuming = false;
        }
    }

    /// The peer does not have a call that we wanted to take up.
    pub(super) fn not_taken_up(&mut self, call: OpenCall<A>) {
        let is_unknown =
            call.failure().is_some_and(|failure| failure.kind == ErrorKind::NotFound.code());
        if let Some(failure) = call.failure().filter(|_| !is_unknown) {
            let error = Error::from(failure.clone());
            return self.fail(call, error);
        }
        let never_ran = call.failure().is_some_and(|failure| failure.retryable);
        let fate = after_refusal(call.known, never_ran);
        self.end_or_open(call, fate);
    }

    /// A call was cancelled while there is no connection: its caller need not wait for that.
    pub(super) fn cancel_while_lost(&mut self, channel: ChannelId) {
        if let Some(call) = self.calls.remove(channel) {
            self.orphans.extend(call.known.sent_whole.then_some(call.id));
            self.fail(call, cancelled());
        } else if let Some(sought) = self.kept.seeking.remove(&channel) {
            self.orphans.push(sought.id);
            self.conclude(sought.number, sought.terms.announced, Err(cancelled()));
        }
    }
}

fn cancelled() -> Error {
    Error::new(
        ErrorKind::Cancelled,
        "call",
        "it was cancelled while the connection was lost; it may have run",
    )
}

fn lost(is_another_run: bool) -> Error {
    let (message, fix) = if is_another_run {
        (
            "the server was restarted while the call was running and lost the call; it may have \
                run",
            "repeat the call if that is safe; submit calls with keep to have them survive a \
                restart",
        )
    } else {
        (
            "the connection was lost, and the server no longer has the call: it may have run",
            "repeat the call if that is safe; submit calls with keep to have them kept longer",
        )
    };
    Error::new(ErrorKind::ConnectionLost, "call", message).fix(fix)
}
