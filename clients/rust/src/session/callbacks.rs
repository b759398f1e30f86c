//! Functions of the caller's that routines call: from the Open that the server sends inside a call of ours to the answer.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::{Bytes, CallId, ChannelId, Error, ErrorKind, Result};
use farcall_interfaces::memory::Space;
use farcall_interfaces::packing::Packing;
use farcall_wire::{Open, callback_slot};
use rustc_hash::FxHashMap;

use super::Session;
use super::tables::Tables;
use crate::argument::Argument;
use crate::callback::{Answer, Callback, Taken};

/// Callbacks of a connection that wait or run at a time. A server opens no more than 64 in one call.
const OPEN_MAX: usize = 4096;
/// Arrays of one callback, whatever the server says: they come unasked.
const BYTES_MAX: Bytes = Bytes(4 << 30);

thread_local! {
    /// The sessions and calls whose functions this thread runs, from the outermost to the innermost.
    static WITHIN: RefCell<Vec<(usize, CallId)>> = const { RefCell::new(Vec::new()) };
}

/// What callbacks of one call took so far.
#[derive(Clone, Copy, Debug, Default)]
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

/// The arrays of an answer that is under way.
struct Answering {
    number: u64,
    since: Instant,
    sending: BTreeMap<u16, Packing>,
}

/// A call of a function of ours.
pub struct Run {
    /// Its id, by which the answer finds its channel if that is open still.
    id: CallId,
    /// The call that it is part of: its number, and its id.
    number: u64,
    parent: CallId,
    function: Arc<dyn Callback>,
    taken: Taken,
    /// When it was asked for.
    since: Instant,
}

/// All of a connection.
#[derive(Default)]
pub struct Callbacks {
    /// Channels of calls that pass functions.
    callers: FxHashMap<CallId, ChannelId>,
    /// Those whose arguments still come.
    coming: FxHashMap<ChannelId, Box<Run>>,
    /// Those that wait for whoever waits for their call.
    waiting: FxHashMap<u64, VecDeque<Box<Run>>>,
    /// Channels of all that have no answer yet.
    channels: FxHashMap<CallId, ChannelId>,
    /// Arrays of answers that are under way.
    answering: FxHashMap<ChannelId, Answering>,
    /// What those of a call took that is not collected yet.
    times: FxHashMap<u64, CallbackTimes>,
}

impl Callbacks {
    /// A call was opened that passes functions.
    pub fn expect(&mut self, id: CallId, channel: ChannelId) {
        self.callers.insert(id, channel);
    }

    /// A call is over, or has another id now.
    pub fn forget(&mut self, id: CallId) {
        self.callers.remove(&id);
    }

    /// The next function to run for a call.
    pub fn next(&mut self, number: u64) -> Option<Box<Run>> {
        if self.waiting.is_empty() {
            return None;
        }
        let line = self.waiting.get_mut(&number)?;
        let next = line.pop_front();
        if line.is_empty() {
            self.waiting.remove(&number);
        }
        next
    }

    /// Where bytes of an argument go.
    pub fn argument_space(&mut self, channel: ChannelId, slot: u16, max: usize) -> Option<Result<Space>> {
        Some(self.coming.get_mut(&channel)?.taken.space(slot, max))
    }

    /// They are there.
    pub fn argument_arrived(&mut self, channel: ChannelId, slot: u16, count: usize) -> Result<()> {
        self.coming.get_mut(&channel).map_or(Ok(()), |run| run.taken.arrived(slot, count))
    }

    /// The array of an answer.
    pub fn sending(&mut self, channel: ChannelId, slot: u16) -> Option<&mut Packing> {
        self.answering.get_mut(&channel)?.sending.get_mut(&slot)
    }

    /// Nothing is left to send on a channel.
    pub fn sent(&mut self, channel: ChannelId) {
        let Some(sent) = self.answering.remove(&channel) else { return };
        if let Some(times) = self.times.get_mut(&sent.number) {
            times.results += sent.since.elapsed();
        }
    }

    /// What those of a call took so far.
    fn times(&self, number: u64) -> CallbackTimes {
        let coming = self.coming.values().filter(|run| run.number == number).map(|run| run.since);
        let leaving = self.answering.values().filter(|one| one.number == number).map(|one| one.since);
        let known = self.times.get(&number).copied().unwrap_or_default();
        CallbackTimes { arguments_since: coming.min(), results_since: leaving.min(), ..known }
    }

    /// The connection is gone. What was measured stays for those who collect their calls.
    pub fn clear(&mut self) {
        *self = Callbacks { times: std::mem::take(&mut self.times), ..Callbacks::default() };
    }
}

impl Tables {
    /// The server calls a function that was passed to a call.
    pub(super) fn called_back(&mut self, channel: ChannelId, open: &Open) {
        match self.accept(open) {
            Ok(run) => {
                self.connection.grant(channel, run.taken.announced);
                self.callbacks.channels.insert(run.id, channel);
                self.callbacks.coming.insert(channel, run);
            }
            Err(error) => drop(self.respond(channel, Answer::failed(&error))),
        }
    }

    fn accept(&mut self, open: &Open) -> Result<Box<Run>> {
        let parent = open.parent.as_ref().and_then(|parent| <[u8; 16]>::try_from(parent.as_slice()).ok()).map(CallId);
        let caller = parent.and_then(|parent| Some((parent, self.callbacks.callers.get(&parent)?)));
        let flight = caller.and_then(|(parent, channel)| Some((parent, self.calls.get(channel)?)));
        let (parent, flight) = flight.ok_or_else(|| refused(ErrorKind::NotFound, "no such call is under way here"))?;
        let call = &flight.call;
        let slot = callback_slot(open.attributes.as_deref()).map(usize::from);
        let slot = slot.ok_or_else(|| refused(ErrorKind::NotFound, "a client runs no routines but callbacks"))?;
        let kind = call.contract.callbacks.iter().find(|(index, _)| *index == slot);
        let (Some((_, kind)), Some(Argument::Callback(function))) = (kind, call.passed.arguments.get(slot)) else {
            return Err(refused(ErrorKind::InvalidArgument, "no function was passed there"));
        };
        if self.callbacks.channels.len() >= OPEN_MAX || self.callbacks.channels.contains_key(&open.call) {
            return Err(refused(ErrorKind::LimitExceeded, "too many callbacks wait here").with("callbacks", OPEN_MAX));
        }
        let (number, function) = (call.number, function.clone());
        let taken = Taken::new(kind.clone(), open, BYTES_MAX)?;
        Ok(Box::new(Run { id: open.call, number, parent, function, taken, since: Instant::now() }))
    }

    /// All of a callback's arguments are there: whoever waits for its call runs it.
    pub(super) fn callback_complete(&mut self, channel: ChannelId) {
        let Some(run) = self.callbacks.coming.remove(&channel) else { return };
        let number = run.number;
        let times = self.callbacks.times.entry(number).or_default();
        times.count = times.count.saturating_add(1);
        times.arguments += run.since.elapsed();
        self.callbacks.waiting.entry(number).or_default().push_back(run);
        let call = self.channels.get(&number).and_then(|channel| self.calls.get(channel));
        let announced = call.is_some_and(|flight| flight.call.conditions.announced);
        if announced {
            self.announced.add(number);
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
        let error = refused(ErrorKind::Cancelled, "the call that it belongs to is over");
        self.respond(channel, Answer::failed(&error));
    }

    /// A call is over, or given up: so are its callbacks, which the server ends, too.
    pub(super) fn end_callbacks(&mut self, id: CallId, number: u64) {
        if self.callbacks.callers.remove(&id).is_none() {
            return;
        }
        let waiting = self.callbacks.waiting.remove(&number).unwrap_or_default();
        let coming: Vec<ChannelId> =
            self.callbacks.coming.iter().filter(|(_, run)| run.number == number).map(|(channel, _)| *channel).collect();
        let waiting = waiting.iter().filter_map(|run| self.callbacks.channels.get(&run.id).copied());
        for channel in waiting.chain(coming).collect::<Vec<_>>() {
            self.callback_cancelled(channel);
        }
    }

    /// A function has run.
    fn answer(&mut self, number: u64, id: CallId, answer: Answer) {
        if let Some(channel) = self.callbacks.channels.remove(&id) {
            let sending = self.respond(channel, answer);
            if !sending.is_empty() && self.connection.is_open(channel) {
                self.callbacks.answering.insert(channel, Answering { number, since: Instant::now(), sending });
            }
        }
    }

    /// Answers; gives back the arrays that are to follow.
    fn respond(&mut self, channel: ChannelId, answer: Answer) -> BTreeMap<u16, Packing> {
        self.connection.respond(channel, &answer.result);
        answer.sending
    }
}

/// What there is for a thread that waits for a call.
pub enum Turn<T> {
    /// A function to run.
    Callback(Box<Run>),
    /// What it waits for.
    Over(T),
}

impl Session {
    /// Waits as [`Session::wait_until`], and runs the functions meanwhile that the routine of a call calls.
    pub(super) fn wait_and_run<T>(
        &self,
        number: u64,
        deadline: Option<Instant>,
        mut ready: impl FnMut(&mut Tables) -> Option<T>,
    ) -> Result<Option<T>> {
        loop {
            let turn = self.wait_until(deadline, |core| match core.tables.callbacks.next(number) {
                Some(run) => Some(Turn::Callback(run)),
                None => ready(&mut core.tables).map(Turn::Over),
            })?;
            match turn {
                Some(Turn::Callback(run)) => self.run(&run),
                Some(Turn::Over(found)) => return Ok(Some(found)),
                None => return Ok(None),
            }
        }
    }

    /// What callbacks of a call took so far.
    pub fn callback_times(&self, number: u64) -> CallbackTimes {
        self.lock().tables.callbacks.times(number)
    }

    /// Nobody asks for that any more.
    pub fn forget_callbacks(&self, number: u64) {
        self.lock().tables.callbacks.times.remove(&number);
    }

    /// The call of this connection's whose function this thread runs, the innermost one. A call that it makes meanwhile is
    /// part of that: so the server knows who waits for whom (spec/call.md, section 6.1).
    pub(super) fn within(&self) -> Option<CallId> {
        WITHIN.with_borrow(|within| within.iter().rev().find(|(of, _)| *of == self.identity()).map(|(_, call)| *call))
    }

    /// Differs from that of every other session, for as long as one of its functions runs.
    fn identity(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Runs a function of the caller's. Nothing is locked meanwhile: it may make calls itself.
    fn run(&self, run: &Run) {
        let begun = Instant::now();
        WITHIN.with_borrow_mut(|within| within.push((self.identity(), run.parent)));
        let answer = match catch_unwind(AssertUnwindSafe(|| run.function.run(&run.taken))) {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => Answer::failed(&error),
            Err(_) => Answer::failed(&refused(ErrorKind::RoutineFailed, "the function panicked")),
        };
        WITHIN.with_borrow_mut(Vec::pop);
        let mut core = self.enter();
        if let Some(times) = core.tables.callbacks.times.get_mut(&run.number) {
            times.calculation += begun.elapsed();
        }
        core.tables.answer(run.number, run.id, answer);
        self.advance(&mut core);
    }
}

fn refused(kind: ErrorKind, message: &'static str) -> Error {
    Error::new(kind, "run a callback", message)
}
