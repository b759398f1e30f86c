//! Calls when their connection is lost, and when it is there again: by what `recovery.rs` says of each.

use std::time::Instant;

use farcall_base::{CallId, ChannelId, Error, ErrorKind};
use farcall_call::Connection;
use farcall_wire::{Lasting, RESUME, Resume};

use super::flight::InFlight;
use super::keeping::Sought;
use super::recovery::{Fate, Known, after_loss, after_refusal};
use super::tables::{Abandoned, Tables};

impl Tables {
    /// Whether calls can go on over another connection to the same server.
    pub fn may_return(&self) -> bool {
        self.ready && !self.has_left && !self.shares && self.connection.has_feature(RESUME)
    }

    /// The connection is lost: `sent` bytes were taken of what was made.
    pub fn part(&mut self, sent: u64) {
        self.is_lost = true;
        let orphans = self.abandoned.drain().filter_map(|(_, abandoned)| abandoned.id);
        self.orphans.extend(orphans);
        self.callbacks.clear();
        for (channel, flight) in &mut self.calls {
            let left_whole = sent >= flight.sent_at && !self.connection.has_arguments_left(*channel);
            // It may have been lost before, when it was taken up and no answer had come.
            flight.known.sent_whole |= flight.is_resuming || left_whole;
            flight.forget_results();
        }
        self.questions.part(Instant::now());
    }

    /// There is another: everything goes on there, in the order in which it began.
    pub fn come_back(&mut self, connection: Connection) {
        self.is_lost = false;
        self.connection = connection;
        self.bytes_made = 0;
        let run = self.connection.peer().and_then(|hello| Lasting::of(hello).ok()).and_then(|lasting| lasting.instance);
        let is_another = std::mem::replace(&mut self.run, run) != run;
        let mut flights: Vec<Box<InFlight>> = self.calls.drain().map(|(_, flight)| flight).collect();
        flights.sort_unstable_by_key(|flight| flight.call.number);
        let fetching: Vec<_> = self.fetching.drain().map(|(_, call)| call).collect();
        let seeking: Vec<Sought> = self.seeking.drain().map(|(_, sought)| sought).collect();
        self.channels.clear();
        for mut flight in flights {
            flight.is_of_another_run |= is_another;
            match after_loss(flight.known) {
                Fate::Resume => self.take_up(flight),
                fate => self.end_or_open(flight, fate),
            }
        }
        fetching.into_iter().for_each(|call| self.fetch(call));
        for sought in seeking {
            let (number, announced) = (sought.number, sought.conditions.announced);
            if let Err(error) = self.seek(sought) {
                self.conclude(number, announced, Err(error));
            }
        }
        for id in std::mem::take(&mut self.orphans) {
            self.end_orphan(id);
        }
        self.questions.come_back(&mut self.connection, Instant::now());
    }

    fn take_up(&mut self, mut flight: Box<InFlight>) {
        match self.connection.resume(&Resume::new(flight.id)) {
            Ok(channel) => {
                flight.is_resuming = true;
                if flight.known.cancelled {
                    self.connection.cancel(channel);
                }
                if !flight.call.contract.callbacks.is_empty() {
                    self.callbacks.expect(flight.id, channel);
                }
                self.channels.insert(flight.call.number, channel);
                self.calls.insert(channel, flight);
            }
            Err(error) => self.end(*flight, error),
        }
    }

    fn end_or_open(&mut self, mut flight: Box<InFlight>, fate: Fate) {
        self.callbacks.forget(flight.id);
        let error = match fate {
            Fate::OpenAgain => {
                flight.give_own_back();
                let InFlight { call, data, .. } = *flight;
                drop(data);
                let (number, announced) = (call.number, call.conditions.announced);
                if let Err(error) = self.open(call) {
                    self.conclude(number, announced, Err(error));
                }
                return;
            }
            Fate::Cancelled => cancelled(),
            Fate::Resume | Fate::Lost => lost(flight.is_of_another_run),
        };
        self.end(*flight, error);
    }

    fn end(&mut self, mut flight: InFlight, error: Error) {
        flight.give_own_back();
        self.callbacks.forget(flight.id);
        let error = error.with("routine", &flight.call.contract.name).with("call", flight.id);
        self.conclude(flight.call.number, flight.call.conditions.announced, Err(error));
    }

    /// A call that nobody wants any more, and that the server may have.
    fn end_orphan(&mut self, id: CallId) {
        // What it cannot be asked now ends when its time is over.
        let Ok(channel) = self.connection.resume(&Resume::new(id)) else { return };
        self.connection.cancel(channel);
        self.abandoned.insert(channel, Abandoned { id: Some(id), _memory: Vec::new() });
    }

    /// The server has a call that we took up.
    pub(super) fn agreed_again(&mut self, channel: ChannelId) {
        if let Some(flight) = self.calls.get_mut(&channel) {
            flight.is_resuming = false;
        }
    }

    /// The server does not have a call that we wanted to take up.
    pub(super) fn not_taken_up(&mut self, flight: Box<InFlight>) {
        let failure = flight.result.as_ref().and_then(|result| result.failure.as_ref());
        let is_unknown = failure.is_some_and(|failure| failure.kind == ErrorKind::NotFound.code());
        if let Some(failure) = failure.filter(|_| !is_unknown) {
            let error = Error::from(failure.clone());
            return self.end(*flight, error);
        }
        let never_ran = failure.is_some_and(|failure| failure.retryable);
        let fate = after_refusal(flight.known, never_ran);
        self.end_or_open(flight, fate);
    }

    /// A call was cancelled while there is no connection: its caller need not wait for that.
    pub(super) fn cancel_while_lost(&mut self, channel: ChannelId) {
        if let Some(flight) = self.calls.remove(&channel) {
            self.orphans.extend(flight.known.sent_whole.then_some(flight.id));
            self.end(*flight, cancelled());
        } else if let Some(sought) = self.seeking.remove(&channel) {
            self.orphans.push(sought.id);
            self.conclude(sought.number, sought.conditions.announced, Err(cancelled()));
        }
    }
}

impl InFlight {
    /// What came of its results comes again.
    fn forget_results(&mut self) {
        self.known.answered |= self.result.is_some() && !self.is_resuming;
        self.result = None;
        self.after = None;
        self.receiving.clear();
        self.files = Default::default();
        self.trouble = None;
    }

    /// Whether arrays of it passed through the connection.
    pub(super) fn moved_arrays(&self) -> bool {
        let sent = !self.data.sending.is_empty() || !self.data.files.is_empty();
        sent || !self.receiving.is_empty() || self.files.progress().0 > 0
    }
}

impl Known {
    /// Of a call that begins.
    pub fn of_ours(is_ours: bool) -> Known {
        Known { is_ours, ..Known::default() }
    }
}

fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "call", "it was cancelled while the connection was lost; it may have run")
}

fn lost(is_another_run: bool) -> Error {
    let (message, fix) = if is_another_run {
        (
            "the server was started anew while the call was under way: what it had of the call is gone; it may have run",
            "see whether the call may be made again; one that is to outlive the server is made with keep",
        )
    } else {
        (
            "the connection was lost, and the server has the call no more: it may have run",
            "see whether the call may be made again; one that is to be kept longer is made with keep",
        )
    };
    Error::new(ErrorKind::ConnectionLost, "call", message).fix(fix)
}
