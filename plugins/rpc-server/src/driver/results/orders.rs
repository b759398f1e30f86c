//! What the server wants of the results folder, and what it hears of it.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{CallId, ChannelId, Error, Result};
use farcall_call::{Place, Side};
use farcall_link::packing::Packing;
use farcall_wire::{Argument, CallResult};

use super::accepted::AcceptedHead;
use super::file::Head;
use super::folder::since_1970;
use super::{Job, REOPEN_AFTER, Read, Results, ResultsFolder, ResultsNews, folder_of};
use crate::driver::{Driver, Message};
use crate::state::{Action, CallKey, Finished, OwnMemory, ResultsOrder, Written};
use crate::step::{ReadBack, ReadMemory, SlotMemory, Surroundings, result_memory};

impl Driver {
    /// Opens the results folder. Where that cannot be, calls that are to survive the server are
    /// refused, the log says why, and it is tried again.
    pub(in crate::driver) fn open_results(&mut self) {
        let Some(path) = folder_of(&self.options) else { return };
        let now = self.world.now();
        let is_first = self.results.again.is_none();
        match Results::open(&path) {
            Ok((results, found)) => {
                self.results = ResultsFolder { open: Some(results), again: None };
                self.server.has_folder(true);
                self.server.restore(found.restored, found.unreadable, now);
                found.wrong.iter().for_each(|error| self.complain(error));
            }
            Err(error) => {
                self.results.again = Some(now + REOPEN_AFTER);
                self.server.has_folder(false);
                if is_first {
                    self.complain(&error);
                }
            }
        }
    }

    /// Tries a folder again that could not be opened.
    pub(in crate::driver) fn look_for_results(&mut self) {
        if self.results.again.is_some_and(|at| at <= self.world.now()) {
            self.open_results();
        }
    }

    fn complain(&self, error: &Error) {
        self.journal.results(error);
    }

    /// What the server wants done in the results folder.
    pub(in crate::driver) fn order_results(&mut self, order: ResultsOrder) {
        match order {
            ResultsOrder::Record(accepted, key) => {
                let id = accepted.open.call;
                let has_begun = accepted.has_begun;
                let arrays = if has_begun { Ok(Vec::new()) } else { self.arguments_of(key) };
                let reply = self
                    .sender
                    .reply(move |done| Message::Results(ResultsNews::Recorded(id, done)));
                match arrays.and_then(|arrays| Ok((arrays, reply?))) {
                    Ok((arrays, reply)) => {
                        self.tell_results(Job::Record(
                            Box::new(AcceptedHead::new(*accepted)),
                            arrays,
                            reply,
                        ));
                    }
                    Err(error) => self.server.recorded(&mut self.world, id, Err(error)),
                }
            }
            ResultsOrder::Begin(id, executable) => {
                match self
                    .sender
                    .reply(move |done| Message::Results(ResultsNews::Begun(id, executable, done)))
                {
                    Ok(reply) => self.tell_results(Job::Begin(id, reply)),
                    Err(error) => self.server.begun(&mut self.world, id, executable, Err(error)),
                }
            }
            ResultsOrder::Load(id, key) => {
                let reply =
                    self.sender.reply(move |done| Message::Results(ResultsNews::Loaded(key, done)));
                match self.arguments_of(key).and_then(|arrays| Ok((arrays, reply?))) {
                    Ok((arrays, reply)) => self.tell_results(Job::Load(id, arrays, reply)),
                    Err(error) => self.server.loaded_arguments(&mut self.world, key, Err(error)),
                }
            }
            ResultsOrder::Store { written, finished, left } => self.store(*written, finished, left),
            ResultsOrder::Fetch { call, principal, client, describe } => {
                let source = self.world.source_of(&principal);
                match self
                    .sender
                    .reply(move |read| Message::Results(ResultsNews::Fetched(call, client, read)))
                {
                    Ok(reply) => self.tell_results(Job::Fetch(call, describe, source, reply)),
                    Err(error) => self.server.read_back(&mut self.world, call, client, Err(error)),
                }
            }
            ResultsOrder::Erase(id, None) => self.tell_results(Job::Erase(id, None)),
            ResultsOrder::Erase(id, Some(client)) => {
                match self
                    .sender
                    .reply(move |done| Message::Results(ResultsNews::Erased(client, done)))
                {
                    Ok(reply) => self.tell_results(Job::Erase(id, Some(reply))),
                    Err(error) => self.server.erased(client.0, client.1, Err(error)),
                }
            }
        }
    }

    fn store(&mut self, written: Written, finished: Arc<Finished>, left: Duration) {
        let id = finished.id;
        let head = head_of(written, &finished.result, left);
        let reply = self.sender.reply(move |done| Message::Results(ResultsNews::Stored(id, done)));
        match self.arrays_of(&finished).and_then(|arrays| Ok((arrays, reply?))) {
            Ok((arrays, reply)) => self.tell_results(Job::Store(id, head, arrays, reply)),
            Err(error) => self.stored(id, Err(error)),
        }
        self.server.stores(&mut self.world, finished);
    }

    /// The server ends: what it decided is written down, and what it has not begun is as if nobody
    /// had thought of it.
    pub(in crate::driver) fn end_results(&mut self) {
        while let Some(action) = self.server.poll_action() {
            if let Action::Results(order) = action {
                self.order_results(order);
            }
        }
        self.server
            .about_to_begin()
            .into_iter()
            .for_each(|id| self.tell_results(Job::WaitAgain(id)));
    }

    fn tell_results(&self, job: Job) {
        if let Some(results) = &self.results.open {
            results.tell(job);
        }
    }

    fn stored(&mut self, id: CallId, outcome: Result<u64>) {
        let error =
            outcome.as_ref().err().map(|error| Error::from(farcall_wire::Failure::from(error)));
        let is_news = self.server.stored(&mut self.world, id, outcome);
        if let Some(error) = error.filter(|_| is_news) {
            self.complain(&error.with("call", id));
        }
    }

    /// The arrays among the arguments of a call, one after the other.
    fn arguments_of(&self, key: CallKey) -> Result<Vec<Packing>> {
        self.server.argument_memory(key).iter().map(|place| self.packing(place)).collect()
    }

    fn packing(&self, place: &SlotMemory) -> Result<Packing> {
        let gone = || Error::internal("keep a result", "its memory has been released");
        Packing::new(
            self.world.region(place.memory).ok_or_else(gone)?,
            place.base as usize,
            &place.array,
        )
    }

    /// The arrays of an outcome, to be written one after the other.
    fn arrays_of(&self, finished: &Finished) -> Result<Vec<Packing>> {
        let results = finished.result.results.iter().enumerate();
        let blocks =
            results.filter(|(_, argument)| matches!(argument, Argument::Blocks(Some(1..))));
        let gone = || Error::internal("keep a result", "its memory has been released");
        blocks
            .map(|(slot, _)| {
                let place = Place {
                    channel: ChannelId(0),
                    side: Side::Results,
                    slot: slot as u16,
                    offset: 0,
                };
                self.packing(&result_memory(finished, &place).ok_or_else(gone)?)
            })
            .collect()
    }

    /// What the results folder's thread has done.
    pub(in crate::driver) fn results_news(&mut self, news: ResultsNews) {
        match news {
            ResultsNews::Recorded(id, outcome) => {
                self.server.recorded(&mut self.world, id, outcome)
            }
            ResultsNews::Stored(id, outcome) => self.stored(id, outcome),
            ResultsNews::Begun(id, executable, outcome) => {
                let trims = outcome.is_ok();
                self.server.begun(&mut self.world, id, executable, outcome);
                if trims && self.server.has_begun(&id) {
                    self.tell_results(Job::Trim(id));
                }
            }
            ResultsNews::Loaded(key, outcome) => {
                if let Err(error) = &outcome {
                    self.complain(error);
                }
                self.server.loaded_arguments(&mut self.world, key, outcome);
            }
            ResultsNews::Erased((connection, channel), outcome) => {
                self.server.erased(connection, channel, outcome)
            }
            ResultsNews::Fetched(id, client, read) => {
                if let Err(error) = &read {
                    self.complain(error);
                }
                let fetched = read.map(|read| self.fetched_of(*read));
                self.server.read_back(&mut self.world, id, client, fetched);
            }
        }
    }

    fn fetched_of(&mut self, read: Read) -> ReadBack {
        let places = read.places;
        let memory = read.region.map(|region| {
            let identity = region.identity();
            let bytes = region.bytes() as u64;
            let offsets = places.iter().map(|(slot, (offset, _))| (*slot, *offset)).collect();
            let lengths = places.iter().map(|(slot, (_, length))| (*slot, *length)).collect();
            let memory = OwnMemory { id: self.world.keep(region), identity, bytes, offsets };
            ReadMemory { memory, bytes: lengths }
        });
        ReadBack { resume: read.resume, result: read.result, memory }
    }
}

fn head_of(written: Written, result: &CallResult, left: Duration) -> Box<Head> {
    let Written { resume, routine, principal, keep } = written;
    let expires = Some(since_1970().saturating_add(left));
    Box::new(Head { expires, keep, resume, result: Some(result.clone()), principal, routine })
}
