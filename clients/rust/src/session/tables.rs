//! What one connection knows: its calls, its shared memory, its answers. Takes the frames that arrive.

use std::collections::{BTreeSet, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use farcall_base::{Bytes, CallId, ChannelId, Error, ErrorKind, Random, Result, SeededRandom};
use farcall_call::{Connection, Event, Side as DataSide, Transmit};
use farcall_interfaces::compression::Saved;
use farcall_interfaces::link::{FrameHandler, Link};
use farcall_interfaces::memory::{MemorySource, Region, Space};
use farcall_wire::{CallResult, Failure, FrameHeader, FrameKind, Hello, Lasting, Notice, Reply, Request, Shown};
use rustc_hash::FxHashMap;

use super::announced::Announced;
use super::callbacks::Callbacks;
use super::flight::{Call, InFlight, Outcome};
use super::keeping::Sought;
use super::news::News;
use super::questions::Questions;
use super::recovery::Known;
use super::segments::Segments;
use crate::contract::Contract;
use crate::lending::{Borrower, Wanted, lend};
use crate::marshal::{Memory, OwnMemory, Shared, Slots, copy_arrays, marshal};

/// More than any clock is asked to hold.
const FOR_EVER: Duration = Duration::from_secs(1 << 32);

/// A call that nobody wants any more, and of which the server still speaks.
#[derive(Default)]
pub struct Abandoned {
    /// Its id, if it is to end.
    pub id: Option<CallId>,
    /// Memory that the server may still use.
    pub _memory: Vec<Shared>,
}

/// Everything but the link, which needs it while it receives.
pub struct Tables {
    pub connection: Connection,
    pub calls: FxHashMap<ChannelId, Box<InFlight>>,
    /// Where a call by its number is under way: its own channel, or that of the question for its interface.
    pub channels: FxHashMap<u64, ChannelId>,
    /// Calls that are made again when the interface came that they ask for.
    pub fetching: FxHashMap<ChannelId, Call>,
    /// Calls that nobody waits for.
    pub abandoned: FxHashMap<ChannelId, Abandoned>,
    /// Those of them that are to end as soon as there is a connection again.
    pub orphans: Vec<CallId>,
    /// Calls that were asked for by their ids.
    pub seeking: FxHashMap<ChannelId, Sought>,
    /// Calls of which the server has said that they go on without us, until nobody asks any more.
    pub acknowledged: BTreeSet<u64>,
    /// What those of them call that the server has, until that was told.
    pub contracts: FxHashMap<u64, Arc<Contract>>,
    pub finished: FxHashMap<u64, Outcome>,
    pub announced: Announced,
    pub news: News,
    pub callbacks: Callbacks,
    pub questions: Questions,
    pub shares: bool,
    pub source: Arc<dyn MemorySource>,
    /// Room for the arguments of the next call.
    slots: Slots,
    /// Memory that the server knows.
    pub segments: Segments,
    /// Who we are to memory that the program lends.
    pub borrower: Arc<Borrower>,
    pub random: SeededRandom,
    /// Bytes of all frames so far.
    pub bytes_made: u64,
    pub ready: bool,
    /// Whether calls go on over another connection if this one is lost: then the server is told what has come.
    pub resumes: bool,
    /// Whether there is no connection just now.
    pub is_lost: bool,
    /// Whether the server has said goodbye.
    pub has_left: bool,
    /// Which run of the server it is.
    pub run: Option<[u8; 16]>,
    /// Whether a call ended while bytes of its caller's arrays were queued.
    pub ended_early: bool,
}

impl Tables {
    /// Those of a fresh connection.
    pub fn new(connection: Connection, shares: bool, source: Arc<dyn MemorySource>) -> Tables {
        Tables {
            connection,
            calls: FxHashMap::default(),
            channels: FxHashMap::default(),
            finished: FxHashMap::default(),
            announced: Announced::default(),
            news: Default::default(),
            callbacks: Default::default(),
            questions: Questions::default(),
            fetching: FxHashMap::default(),
            abandoned: FxHashMap::default(),
            orphans: Vec::new(),
            seeking: FxHashMap::default(),
            acknowledged: BTreeSet::new(),
            contracts: FxHashMap::default(),
            shares,
            source,
            slots: Slots::default(),
            segments: Segments::default(),
            borrower: Arc::default(),
            random: SeededRandom::new(fresh_seed()),
            bytes_made: 0,
            ready: false,
            resumes: false,
            is_lost: false,
            has_left: false,
            run: None,
            ended_early: false,
        }
    }

    /// Queues the next frame; false when there is none.
    pub fn make_frame(&mut self, link: &mut Link) -> Result<bool> {
        self.connection.limit_frames(link.frame_bytes_max());
        let Some(transmit) = self.connection.poll_transmit() else { return Ok(false) };
        let queued = link.bytes_queued();
        match transmit {
            Transmit::Control { header, body, shares } => {
                let descriptors = shares.map(|segment| self.descriptor(segment)).transpose()?;
                link.queue_control(header, &body, descriptors.into_iter().collect());
                self.connection.reuse(body);
            }
            Transmit::Data { header, place } if place.side == DataSide::Results => {
                let packing = self.callbacks.sending(place.channel, place.slot);
                let gone = || Error::internal("send a callback's result", "it is gone");
                link.queue_array(header, packing.ok_or_else(gone)?)?;
                if !self.connection.is_open(place.channel) {
                    self.callbacks.sent(place.channel);
                }
            }
            Transmit::Data { header, place } => {
                let flight = self.calls.get_mut(&place.channel);
                let gone = || Error::internal("send an argument", "its call is gone");
                let flight = flight.ok_or_else(gone)?;
                let data = &mut flight.data;
                match data.array_to_send(place.slot.into()) {
                    Some(packing) => link.queue_array(header, packing)?,
                    None => link.queue_array(header, &mut data.piece_of_file(&place, header.length)?)?,
                }
                flight.sent_at = self.bytes_made + (link.bytes_queued() - queued) as u64;
            }
        }
        self.bytes_made += (link.bytes_queued() - queued) as u64;
        Ok(true)
    }

    /// The descriptor for a Share frame that leaves now.
    fn descriptor(&mut self, segment: u32) -> Result<Arc<OwnedFd>> {
        self.segments.descriptor(segment).ok_or_else(|| Error::internal("share memory", "the memory is gone"))
    }

    /// Whether the server takes one more call now.
    pub fn has_room(&self) -> bool {
        let channels_max = self.connection.peer().map_or(0, |peer| peer.limits.channels_max);
        self.connection.channels_open() < channels_max as usize
    }

    fn handle_events(&mut self) -> Result<()> {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Ready(hello) => {
                    check_byte_order(&hello)?;
                    self.run = Lasting::of(&hello)?.instance;
                    let limit = self.source.shared_max().min(hello.limits.segments_max as usize);
                    self.segments.set_limit(limit);
                    self.ready = true;
                }
                Event::Replied(channel, reply) => match self.fetching.remove(&channel) {
                    Some(call) => self.repeat(call, reply),
                    None => self.questions.answer(channel, reply.shown(), Instant::now()),
                },
                Event::Noticed(channel, notice) => self.noticed(channel, notice),
                Event::Resulted(channel, result) => self.resulted(channel, result),
                Event::Agreed(channel, resume) => self.agreed(channel, *resume),
                Event::Finished(channel) => self.finish(channel),
                Event::Left(failure) => {
                    self.has_left = true;
                    return Err(goodbye(failure));
                }
                Event::Opened(channel, open) => self.called_back(channel, &open),
                Event::ArgumentsComplete(channel) => self.callback_complete(channel),
                Event::CancelRequested(channel) => self.callback_cancelled(channel),
                Event::Requested(channel, _) => {
                    let error = Error::new(ErrorKind::Unavailable, "ask a client", "it answers no questions");
                    self.connection.reply(channel, &Reply::Failed((&error).into()));
                }
                Event::Shared(_) | Event::Unshared(_) | Event::Resumed(..) | Event::Acknowledged(_) => {}
            }
        }
        Ok(())
    }

    /// Asks the server, unless the same is asked already: the question's number, and when it expires.
    pub fn ask(&mut self, request: &Request, patience: Duration) -> Result<(u64, Instant)> {
        let now = Instant::now();
        if let Some(asked) = self.questions.find(request, now) {
            return Ok(asked);
        }
        let expires = now.checked_add(patience).unwrap_or(now + FOR_EVER);
        // While there is no connection, it waits for one; the channel is none's.
        let channel = if self.is_lost { ChannelId(0) } else { self.connection.request(request)? };
        Ok((self.questions.add(request.clone(), channel, expires), expires))
    }

    fn noticed(&mut self, channel: ChannelId, notice: Notice) {
        let Some(flight) = self.calls.get_mut(&channel) else { return };
        let call = &flight.call;
        if notice == Notice::Kept {
            flight.is_kept = true;
            self.acknowledged.insert(call.number);
        }
        let (number, announced) = (call.number, call.conditions.announced);
        if self.news.add(number, notice.shown()) && announced {
            self.announced.add(number);
        }
    }

    fn resulted(&mut self, channel: ChannelId, result: Box<CallResult>) {
        if let Some(flight) = self.calls.get_mut(&channel) {
            flight.result = Some(result);
            if flight.is_resuming {
                return;
            }
            if let Err(error) = flight.prepare_results() {
                flight.trouble = Some(error);
            }
        } else {
            self.refused(channel, &result);
        }
    }

    /// The outcome of a call that is over. Who has it needs no announcement any more.
    pub fn take_finished(&mut self, number: u64) -> Option<Outcome> {
        let outcome = self.finished.remove(&number)?;
        self.announced.remove(number);
        self.news.forget(number);
        Some(outcome)
    }

    fn finish(&mut self, channel: ChannelId) {
        self.abandoned.remove(&channel);
        let Some(mut flight) = self.calls.remove(&channel) else { return };
        if flight.is_resuming {
            return self.not_taken_up(flight);
        }
        if self.resumes && flight.moved_arrays() {
            // Of others, the next call on the channel says as much.
            self.connection.acknowledge(channel);
        }
        flight.give_own_back();
        if !flight.call.contract.callbacks.is_empty() {
            self.end_callbacks(flight.id, flight.call.number);
        }
        let (number, announced) = (flight.call.number, flight.call.conditions.announced);
        let lent = std::mem::take(&mut flight.data.lent);
        if flight.was_refused_for_a_limit() {
            // It may have been the server's descriptors, and one that it never got: the next call shares this anew.
            let regions = flight.data.sides.iter().filter_map(|(_, side)| side.region.as_ref());
            regions.for_each(|region| self.segments.forget(region));
        }
        if flight.is_to_be_repeated() {
            self.fetch(flight.call);
        } else {
            self.conclude(number, announced, flight.outcome());
        }
        self.ended_early |= is_in_use(&lent);
    }

    /// The outcome of a call is there for its owner.
    pub(super) fn conclude(&mut self, number: u64, announced: bool, outcome: Outcome) {
        self.channels.remove(&number);
        self.finished.insert(number, outcome);
        if announced {
            self.announced.add(number);
        }
    }

    /// Opens a call, for the first time or again.
    pub fn open(&mut self, mut call: Call) -> Result<()> {
        let limit = self.connection.peer().map_or(u64::MAX, |peer| peer.limits.call_bytes_max);
        if std::mem::take(&mut call.conditions.copied) {
            copy_arrays(&call.contract, &mut call.passed, Bytes(limit))?;
        }
        // What lies in memory that both ends share goes with this process.
        let shares = self.shares;
        self.shares = shares && call.id.is_none();
        let slots = std::mem::take(&mut self.slots);
        let marshalled = marshal(&call.contract, &call.passed, Bytes(limit), slots, self);
        self.shares = shares;
        let mut data = marshalled?;
        let id = call.id.unwrap_or_else(|| CallId(self.random.bytes16()));
        let open = call.open(id, &mut data);
        let channel = self.connection.open(&open)?;
        let wanted = open.wanted.unwrap_or_else(|| std::mem::take(&mut data.wanted));
        self.slots = Slots { routine: open.routine, arguments: open.arguments, wanted };
        data.own.iter().for_each(|own| own.opened());
        if call.conditions.has_news() {
            self.news.expect(call.number);
        }
        if !call.contract.callbacks.is_empty() {
            self.callbacks.expect(id, channel);
        }
        self.channels.insert(call.number, channel);
        // Nothing of it has left, or of what was opened before: at least one more byte must.
        let (sent_at, known) = (self.bytes_made + 1, Known::of_ours(true));
        self.calls.insert(channel, Box::new(InFlight { sent_at, known, ..InFlight::new(id, call, data) }));
        Ok(())
    }

    /// Asks for the interface of a call again.
    pub(super) fn fetch(&mut self, call: Call) {
        match self.connection.request(&Request::Interface(call.contract.name.clone())) {
            Ok(channel) => {
                self.channels.insert(call.number, channel);
                self.fetching.insert(channel, call);
            }
            Err(error) => self.conclude(call.number, call.conditions.announced, Err(error)),
        }
    }

    /// Makes a call again whose interface came, if that is still the one that its arguments were made for.
    fn repeat(&mut self, call: Call, reply: Reply) {
        let (number, announced) = (call.number, call.conditions.announced);
        let opened = Contract::of_reply(reply).and_then(|fresh| {
            if fresh.hash != call.contract.hash {
                return Err(call.contract.changed());
            }
            self.open(Call { attempts_left: call.attempts_left - 1, ..call })
        });
        if let Err(error) = opened {
            self.conclude(number, announced, Err(error));
        }
    }

    /// Asks the server to end a call. One that waits for its interface ends here: nothing of it is with the server.
    pub fn cancel(&mut self, number: u64) {
        let Some(channel) = self.channels.get(&number).copied() else { return };
        match self.fetching.remove(&channel) {
            Some(call) => {
                let error = Error::new(ErrorKind::Cancelled, "call", "it was cancelled before it ran")
                    .with("routine", &call.contract.name);
                self.conclude(number, call.conditions.announced, Err(error));
            }
            None if self.is_lost => self.cancel_while_lost(channel),
            None => {
                if let Some(flight) = self.calls.get_mut(&channel) {
                    flight.known.cancelled = true;
                }
                self.connection.cancel(channel);
            }
        }
    }

    /// Gives a call up: asks the server to end it, and lets go of everything that is its caller's. No frame is made of
    /// its arguments any more, and what still comes of its results is thrown away.
    pub fn abandon(&mut self, number: u64) {
        self.take_finished(number);
        self.news.forget(number);
        let Some(channel) = self.channels.remove(&number) else { return };
        self.fetching.remove(&channel);
        self.seeking.remove(&channel);
        if let Some(flight) = self.calls.remove(&channel) {
            let id = Some(flight.id);
            if self.is_lost {
                self.orphans.extend(flight.known.sent_whole.then_some(flight.id));
            } else {
                self.connection.cancel(channel);
            }
            self.end_callbacks(flight.id, number);
            let lent = flight.data.lent.clone();
            self.abandoned.insert(channel, Abandoned { id, _memory: flight.shared_memory() });
            self.ended_early |= is_in_use(&lent);
        }
    }

    /// Ends all calls.
    pub fn end_all(&mut self, outcome: impl Fn() -> Outcome) {
        self.abandoned.clear();
        self.callbacks.clear();
        self.questions.drop_unanswered();
        let flights = self.calls.drain().map(|(_, flight)| flight.call);
        let calls: Vec<Call> = flights.chain(self.fetching.drain().map(|(_, call)| call)).collect();
        let seeking: Vec<Sought> = self.seeking.drain().map(|(_, sought)| sought).collect();
        for sought in seeking {
            self.lost(&sought, outcome());
        }
        for call in calls {
            self.conclude(call.number, call.conditions.announced, outcome());
        }
    }
}

/// Arrays travel as they are.
pub fn check_byte_order(hello: &Hello) -> Result<()> {
    if hello.byte_order == farcall_wire::ByteOrder::NATIVE {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Version, "connect", "the server has the other byte order"))
}

/// Why the server has left.
pub fn goodbye(failure: Option<Failure>) -> Error {
    let silent = || Error::new(ErrorKind::ShuttingDown, "wait for the server", "the server said goodbye");
    failure.map_or_else(silent, Error::from)
}

/// Whether queued frames name memory that a call, which is gone, was lent.
fn is_in_use(lent: &[Weak<dyn Region>]) -> bool {
    lent.iter().any(|region| region.strong_count() > 0)
}

impl Tables {
    fn forget_freed(&mut self) {
        for identity in self.source.freed().into_iter().chain(self.borrower.freed()) {
            self.segments.freed(identity);
        }
    }
}

impl Memory for Tables {
    fn shares(&self) -> bool {
        self.shares
    }

    fn share(&mut self, bytes: usize) -> Result<Option<Shared>> {
        let mut region = self.source.allocate(bytes)?;
        if region.descriptor().is_none() && self.segments.withdraw_oldest() {
            drop(region);
            region = self.source.allocate(bytes)?;
        }
        self.forget_freed();
        let segment = self.segments.share(&region, &mut self.connection);
        Ok(segment.map(|segment| Shared { region, segment }))
    }

    fn lend(&mut self, wanted: &Wanted) -> Result<Option<OwnMemory>> {
        let Some(own) = lend(wanted, &self.borrower)? else { return Ok(None) };
        self.forget_freed();
        let segment = self.segments.share(&own.whole(), &mut self.connection);
        Ok(segment.map(|segment| OwnMemory { own, segment }))
    }
}

impl FrameHandler for Tables {
    fn control(&mut self, header: &FrameHeader, body: &[u8], _: &mut VecDeque<OwnedFd>) -> Result<()> {
        if header.kind == FrameKind::Share as u8 {
            return Err(Error::new(
                ErrorKind::Protocol,
                "follow the server",
                "a server shares no memory with a client",
            ));
        }
        self.connection.handle_control(header, body)?;
        self.handle_events()
    }

    fn data_space(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Space>> {
        let Some(place) = self.connection.place(header, done)? else { return Ok(None) };
        let left = (header.length - done) as usize;
        if place.side == DataSide::Arguments {
            return self.callbacks.argument_space(place.channel, place.slot, left).transpose();
        }
        let flight = self.calls.get_mut(&place.channel);
        flight.and_then(|flight| flight.result_space(place.slot, left)).transpose()
    }

    fn data_expanded(&mut self, header: &FrameHeader, saved: Saved) {
        let flight = self.calls.get_mut(&header.channel);
        if let Some((packing, _)) = flight.and_then(|flight| flight.receiving.get_mut(&header.slot)) {
            packing.saved += saved;
        }
    }

    fn data_arrived(&mut self, header: &FrameHeader, count: u32, done: u32) -> Result<()> {
        if let Some(flight) = self.calls.get_mut(&header.channel) {
            flight.result_arrived(header.slot, count as usize)?;
        } else {
            self.callbacks.argument_arrived(header.channel, header.slot, count as usize)?;
        }
        self.connection.data_arrived(header, done)?;
        self.handle_events()
    }
}

/// Call ids must not repeat between processes; they are no secrets.
fn fresh_seed() -> u64 {
    let mut bytes = [0; 8];
    if rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).is_ok_and(|count| count == 8) {
        return u64::from_ne_bytes(bytes);
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    (now.as_nanos() as u64) ^ (u64::from(std::process::id()) << 32)
}
