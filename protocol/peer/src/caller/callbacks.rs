//! Functions of the program's that routines call: from the Open that the peer sends inside a call
//! of ours to the answer. The program runs them; here is which of them come, wait and have no
//! answer yet.

use std::collections::VecDeque;
use std::time::Duration;

use farcall_base::{CallId, ChannelId, Error, ErrorKind, Instant, Result};
use farcall_wire::{CallResult, CallTimes, Open, callback_slot};
use rustc_hash::FxHashMap;

use super::Caller;
use crate::application::Application;

/// Callbacks of a connection that wait or run at a time. A server opens no more than 64 in one
/// call.
const OPEN_MAX: usize = 4096;

/// What callbacks of one call took so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallbackTimes {
    /// How many there were.
    pub count: u32,
    /// Until all of their arguments had come.
    pub arguments: Duration,
    /// While the functions ran.
    pub calculation: Duration,
    /// Until their results had left.
    pub results: Duration,
    /// Since when arguments come that are not there yet.
    pub arguments_since: Option<Instant>,
    /// Since when results leave that have not left yet.
    pub results_since: Option<Instant>,
}

/// The data of an answer that are under way.
struct Answering<T> {
    number: u64,
    since: Instant,
    data: T,
}

/// A call of a function of the program's.
pub struct Run<A: Application> {
    /// Its id, by which the answer finds its channel if that is open still.
    id: CallId,
    number: u64,
    parent: CallId,
    since: Instant,
    /// What is to run.
    pub callback: A::Callback,
}

impl<A: Application> Run<A> {
    /// The call that it is part of.
    pub fn parent(&self) -> CallId {
        self.parent
    }
}

/// All of a connection.
pub(super) struct Callbacks<A: Application> {
    /// Channels of calls that pass functions.
    callers: FxHashMap<CallId, ChannelId>,
    /// Those whose arguments still come.
    coming: FxHashMap<ChannelId, Box<Run<A>>>,
    /// Those that wait for whoever waits for their call.
    waiting: FxHashMap<u64, VecDeque<Box<Run<A>>>>,
    /// Channels of all that have no answer yet.
    channels: FxHashMap<CallId, ChannelId>,
    /// Data of answers that are under way.
    answering: FxHashMap<ChannelId, Answering<A::Answer>>,
    /// What those of a call took that is not collected yet.
    times: FxHashMap<u64, CallbackTimes>,
}

impl<A: Application> Default for Callbacks<A> {
    fn default() -> Self {
        Callbacks {
            callers: FxHashMap::default(),
            coming: FxHashMap::default(),
            waiting: FxHashMap::default(),
            channels: FxHashMap::default(),
            answering: FxHashMap::default(),
            times: FxHashMap::default(),
        }
    }
}

impl<A: Application> Callbacks<A> {
    /// A call was opened that passes functions.
    pub fn expect(&mut self, id: CallId, channel: ChannelId) {
        self.callers.insert(id, channel);
    }

    /// A call has ended, or has another id now.
    pub fn forget(&mut self, id: CallId) {
        self.callers.remove(&id);
    }

    /// The connection is gone. What was measured stays for those who collect their calls.
    pub fn clear(&mut self) {
        *self = Callbacks { times: std::mem::take(&mut self.times), ..Callbacks::default() };
    }
}

impl<A: Application> Caller<A> {
    /// The next function to run for a call.
    pub fn next_callback(&mut self, number: u64) -> Option<Box<Run<A>>> {
        if self.callbacks.waiting.is_empty() {
            return None;
        }
        let line = self.callbacks.waiting.get_mut(&number)?;
        let next = line.pop_front();
        if line.is_empty() {
            self.callbacks.waiting.remove(&number);
        }
        next
    }

    /// What the arguments of a callback come into.
    pub fn callback_arguments(&mut self, channel: ChannelId) -> Option<&mut A::Callback> {
        self.callbacks.coming.get_mut(&channel).map(|run| &mut run.callback)
    }

    /// What the data of an answer leave from.
    pub fn callback_answer(&mut self, channel: ChannelId) -> Option<&mut A::Answer> {
        self.callbacks.answering.get_mut(&channel).map(|answering| &mut answering.data)
    }

    /// A data frame of an answer was made: perhaps nothing is left of it.
    pub fn callback_sent(&mut self, channel: ChannelId, now: Instant) {
        if self.connection.is_open(channel) {
            return;
        }
        let Some(sent) = self.callbacks.answering.remove(&channel) else { return };
        if let Some(times) = self.callbacks.times.get_mut(&sent.number) {
            times.results += now.since(sent.since);
        }
    }

    /// What those of a call took so far.
    pub fn callback_times(&self, number: u64) -> CallbackTimes {
        let coming =
            self.callbacks.coming.values().filter(|run| run.number == number).map(|run| run.since);
        let leaving = self
            .callbacks
            .answering
            .values()
            .filter(|one| one.number == number)
            .map(|one| one.since);
        let known = self.callbacks.times.get(&number).copied().unwrap_or_default();
        CallbackTimes { arguments_since: coming.min(), results_since: leaving.min(), ..known }
    }

    /// Nobody asks for that any more.
    pub fn forget_callbacks(&mut self, number: u64) {
        self.callbacks.times.remove(&number);
    }

    /// A function has run for so long.
    pub fn answer_callback(
        &mut self,
        run: &Run<A>,
        result: &CallResult,
        data: Option<A::Answer>,
        (took, now): (Duration, Instant),
    ) {
        if let Some(times) = self.callbacks.times.get_mut(&run.number) {
            times.calculation += took;
        }
        let Some(channel) = self.callbacks.channels.remove(&run.id) else { return };
        self.connection.respond(channel, result);
        if let Some(data) = data.filter(|_| self.connection.is_open(channel)) {
            self.callbacks
                .answering
                .insert(channel, Answering { number: run.number, since: now, data });
        }
    }

    /// The peer calls a function that was passed to a call.
    pub(super) fn called_back(&mut self, channel: ChannelId, open: &Open, now: Instant) {
        match self.accept(open, now) {
            Ok((run, bytes)) => {
                self.connection.grant(channel, bytes);
                self.callbacks.channels.insert(run.id, channel);
                self.callbacks.coming.insert(channel, run);
            }
            Err(error) => self.refuse_callback(channel, &error),
        }
    }

    fn accept(&mut self, open: &Open, now: Instant) -> Result<(Box<Run<A>>, u64)> {
        let parent = open
            .parent
            .as_ref()
            .and_then(|parent| <[u8; 16]>::try_from(parent.as_slice()).ok())
            .map(CallId);
        let caller = parent.and_then(|parent| Some((parent, self.callbacks.callers.get(&parent)?)));
        let call = caller.and_then(|(parent, channel)| Some((parent, self.calls.get(*channel)?)));
        let (parent, call) =
            call.ok_or_else(|| refused(ErrorKind::NotFound, "no such call is under way here"))?;
        let slot = callback_slot(open.attributes.as_deref()).map(usize::from);
        let slot =
            slot.ok_or_else(|| refused(ErrorKind::NotFound, "a client runs only callbacks"))?;
        if self.callbacks.channels.len() >= OPEN_MAX
            || self.callbacks.channels.contains_key(&open.call)
        {
            return Err(refused(ErrorKind::LimitExceeded, "too many callbacks wait here")
                .with("callbacks", OPEN_MAX));
        }
        let (callback, bytes) = self.application.call_back(&call.made.call, slot, open)?;
        Ok((
            Box::new(Run { id: open.call, number: call.made.number, parent, since: now, callback }),
            bytes,
        ))
    }

    /// All of a callback's arguments are there: whoever waits for its call runs it.
    pub(super) fn callback_complete(&mut self, channel: ChannelId, now: Instant) {
        let Some(run) = self.callbacks.coming.remove(&channel) else { return };
        let number = run.number;
        let times = self.callbacks.times.entry(number).or_default();
        times.count = times.count.saturating_add(1);
        times.arguments += now.since(run.since);
        self.callbacks.waiting.entry(number).or_default().push_back(run);
        if let Some(audience) = self.open_call(number).map(|call| call.made.terms.announced) {
            self.announced.add(audience, number);
        }
    }

    /// Nobody waits for a callback any more. One that runs goes on, for nobody.
    pub(super) fn callback_cancelled(&mut self, channel: ChannelId) {
        self.callbacks.coming.remove(&channel);
        let id = self.callbacks.channels.iter().find(|(_, of)| **of == channel).map(|(id, _)| *id);
        let Some(id) = id else { return };
        self.callbacks.channels.remove(&id);
        self.callbacks.waiting.values_mut().for_each(|line| line.retain(|run| run.id != id));
        self.callbacks.waiting.retain(|_, line| !line.is_empty());
        self.refuse_callback(channel, &refused(ErrorKind::Cancelled, "its call has ended"));
    }

    /// A call has ended or is given up. Its callbacks end with it, at the peer, too.
    pub(super) fn end_callbacks(&mut self, id: CallId, number: u64) {
        if self.callbacks.callers.remove(&id).is_none() {
            return;
        }
        let waiting = self.callbacks.waiting.remove(&number).unwrap_or_default();
        let coming: Vec<ChannelId> = self
            .callbacks
            .coming
            .iter()
            .filter(|(_, run)| run.number == number)
            .map(|(channel, _)| *channel)
            .collect();
        let waiting =
            waiting.iter().filter_map(|run| self.callbacks.channels.get(&run.id).copied());
        for channel in waiting.chain(coming).collect::<Vec<_>>() {
            self.callback_cancelled(channel);
        }
    }

    fn refuse_callback(&mut self, channel: ChannelId, error: &Error) {
        let failure = Some(error.into());
        let times = CallTimes::default();
        self.connection.respond(
            channel,
            &CallResult { failure, results: Vec::new(), times, attributes: None },
        );
    }
}

fn refused(kind: ErrorKind, message: &'static str) -> Error {
    Error::new(kind, "run a callback", message)
}
