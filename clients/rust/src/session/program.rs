//! What the calls of this client are, and the memory that their data move through: the program
//! above `farcall_peer`.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use farcall_base::{Bytes, CallId, ChannelId, Error, ErrorKind, Result};
use farcall_call::Connection;
use farcall_link::memory::{MemorySource, Region};
use farcall_link::packing::Packing;
use farcall_peer::{Application, Reached, Terms};
use farcall_wire::{Argument as WireArgument, CallResult, Hello, Open, Reply, Resume};
use rustc_hash::FxHashMap;

use super::asked::{Call, CallClock};
use super::callbacks::Function;
use super::flight::{Came, Flight, InFlight};
use super::segments::Segments;
use super::{Conditions, PlacedAs};
use crate::argument::{Argument, Passed};
use crate::callback::Taken;
use crate::contract::Contract;
use crate::lending::{Borrower, Wanted, lend};
use crate::marshal::{
    Marshalled, Memory, OwnMemory, Shared, Slots, copy_arrays, marshal, results_of,
};
use crate::results::TimesHere;

/// Arrays of one callback, whatever the server says: they come unasked.
const CALLBACK_BYTES_MAX: Bytes = Bytes(4 << 30);

/// The memory of one connection's calls.
pub struct Program {
    /// Whether both ends see the same memory.
    pub shares: bool,
    source: Arc<dyn MemorySource>,
    /// Room for the arguments of the next call.
    slots: Slots,
    /// Memory that the server knows.
    segments: Segments,
    /// Who we are to memory that the program lends.
    borrower: Arc<Borrower>,
    /// Memory that calls were lent which are over, since somebody looked.
    given_back: Vec<Weak<dyn Region>>,
    /// Calls that were placed and failed, by number, until their owner has the outcome.
    returned: FxHashMap<u64, Returned>,
    /// What calls took whose transfers were measured, by id, until their owner asks.
    times: FxHashMap<u64, TimesHere>,
}

/// A call that failed, to be made elsewhere.
pub struct Returned {
    /// What was passed.
    pub passed: Passed,
    /// How it was made.
    pub conditions: Conditions,
    /// How far it came.
    pub reached: Reached,
    /// Whether nothing that was passed can have changed.
    pub is_intact: bool,
}

impl Program {
    /// That of a fresh connection.
    pub fn new(shares: bool, source: Arc<dyn MemorySource>) -> Program {
        Program {
            shares,
            source,
            slots: Slots::default(),
            segments: Segments::default(),
            borrower: Arc::default(),
            given_back: Vec::new(),
            returned: FxHashMap::default(),
            times: FxHashMap::default(),
        }
    }

    /// What a call took, once.
    pub fn take_times(&mut self, number: u64) -> Option<TimesHere> {
        self.times.remove(&number)
    }

    /// Nobody wants anything of a call any more.
    pub fn forget(&mut self, number: u64) {
        if !self.returned.is_empty() {
            self.returned.remove(&number);
        }
        if !self.times.is_empty() {
            self.times.remove(&number);
        }
    }

    /// A call is cancelled, which may have failed already.
    pub fn cancel(&mut self, number: u64) {
        if let Some(returned) = self.returned.get_mut(&number) {
            returned.reached.is_cancelled = true;
        }
    }

    /// What was passed to a call that failed, once.
    pub fn take_back(&mut self, number: u64) -> Option<Returned> {
        if self.returned.is_empty() { None } else { self.returned.remove(&number) }
    }

    /// The descriptor for a Share frame that leaves now.
    pub fn descriptor(&mut self, segment: u32) -> Result<Arc<OwnedFd>> {
        self.segments
            .descriptor(segment)
            .ok_or_else(|| Error::internal("share memory", "the memory has been released"))
    }

    /// Whether queued frames name memory of calls that are over.
    pub fn names_what_was_given_back(&mut self) -> bool {
        self.given_back.drain(..).any(|region| region.strong_count() > 0)
    }
}

/// A call that is being opened: memory of the program's, and the connection over which the server
/// is told of it.
struct Opening<'a> {
    program: &'a mut Program,
    connection: &'a mut Connection,
    shares: bool,
}

impl Opening<'_> {
    fn open(&mut self, call: &mut Call, id: CallId) -> Result<(ChannelId, InFlight)> {
        let limit =
            Bytes(self.connection.peer().map_or(u64::MAX, |peer| peer.limits.call_bytes_max));
        let is_measured = call.conditions.placed == PlacedAs::Alone;
        let begun = is_measured.then(Instant::now);
        let connection = &mut *self.connection;
        if let Some((body, prepared)) = call.open_short(id, limit, || connection.used()) {
            if let Some(begun) = begun {
                call.clock = Some(CallClock::new(begun, Duration::ZERO));
            }
            return Ok((self.connection.open_encoded(body)?, InFlight::Short(prepared)));
        }
        if std::mem::take(&mut call.conditions.copied) {
            copy_arrays(&call.contract, &mut call.passed, limit)?;
        }
        let slots = std::mem::take(&mut self.program.slots);
        let stays = call.conditions.stays();
        let mut data = marshal(&call.contract, &call.passed, stays, (limit, slots), self)?;
        call.clock = begun.map(|begun| CallClock::new(begun, begun.elapsed()));
        let open = call.open(id, &mut data);
        let channel = self.connection.open(&open)?;
        let wanted = open.wanted.unwrap_or_else(|| std::mem::take(&mut data.wanted));
        self.program.slots = Slots { routine: open.routine, arguments: open.arguments, wanted };
        data.own.iter().for_each(|own| own.opened());
        Ok((channel, InFlight::new(data)))
    }

    fn forget_freed(&mut self) {
        let freed = self.program.source.freed();
        for identity in freed.into_iter().chain(self.program.borrower.freed()) {
            self.program.segments.freed(identity);
        }
    }
}

impl Memory for Opening<'_> {
    fn shares(&self) -> bool {
        self.shares
    }

    fn share(&mut self, bytes: usize) -> Result<Option<Shared>> {
        let mut region = self.program.source.allocate(bytes)?;
        if region.descriptor().is_none() && self.program.segments.withdraw_oldest() {
            drop(region);
            region = self.program.source.allocate(bytes)?;
        }
        self.forget_freed();
        let segment = self.program.segments.share(&region, self.connection);
        Ok(segment.map(|segment| Shared { region, segment }))
    }

    fn lend(&mut self, wanted: &Wanted) -> Result<Option<OwnMemory>> {
        let Some(own) = lend(wanted, &self.program.borrower)? else { return Ok(None) };
        self.forget_freed();
        let segment = self.program.segments.share(&own.whole(), self.connection);
        Ok(segment.map(|segment| OwnMemory { own, segment }))
    }
}

impl Application for Program {
    type Call = Call;
    type Transfer = InFlight;
    type Residue = Vec<Shared>;
    type Output = Came;
    type Sought = Conditions;
    type Description = Arc<Contract>;
    type Callback = Function;
    type Answer = BTreeMap<u16, Packing>;

    fn greeted(&mut self, hello: &Hello) {
        self.segments.set_limit(self.source.shared_max().min(hello.limits.segments_max as usize));
    }

    fn open(
        &mut self,
        call: &mut Call,
        id: CallId,
        connection: &mut Connection,
    ) -> Result<(ChannelId, InFlight)> {
        // What lies in memory that both ends share goes with this process.
        let shares = self.shares && !call.is_to_stay;
        Opening { program: self, connection, shares }.open(call, id)
    }

    fn routine<'a>(&self, call: &'a Call) -> &'a str {
        &call.contract.name
    }

    fn renewed(&mut self, call: &Call, reply: Reply) -> Result<()> {
        match Contract::of_reply(reply)? {
            fresh if fresh.call_hash == call.contract.call_hash => Ok(()),
            _ => Err(call.contract.changed()),
        }
    }

    fn answered(
        &mut self,
        call: &Call,
        transfer: &mut InFlight,
        result: &CallResult,
    ) -> Result<()> {
        transfer.prepare_results(call, result)
    }

    fn forget_answer(&mut self, transfer: &mut InFlight) {
        if let Some(flight) = transfer.long_mut() {
            flight.forget_results();
        }
    }

    fn moved_data(&self, transfer: &InFlight) -> bool {
        transfer.long().is_some_and(Flight::moved_arrays)
    }

    fn release(&mut self, transfer: &mut InFlight) -> Result<()> {
        transfer.long_mut().map_or(Ok(()), Flight::give_own_back)
    }

    fn forget_memory(&mut self, transfer: &InFlight) {
        // It may have been the server's descriptors, and a segment that it never got: the next call
        // shares this again.
        let Some(flight) = transfer.long() else { return };
        let regions = flight.data.sides.iter().filter_map(|(_, side)| side.region.as_ref());
        regions.for_each(|region| self.segments.forget(region));
    }

    #[inline]
    fn outcome(
        &mut self,
        id: CallId,
        call: &Call,
        transfer: &mut InFlight,
        result: &mut CallResult,
    ) -> Result<Came> {
        if let Some(clock) = &call.clock {
            self.times.insert(call.number, clock.took());
        }
        transfer.outcome(id, call, result)
    }

    fn failed(&mut self, number: u64, call: Call, transfer: Option<&InFlight>, reached: Reached) {
        if call.conditions.placed == PlacedAs::Nowhere {
            return;
        }
        self.times.remove(&number);
        let is_written = transfer.and_then(InFlight::long).is_some_and(Flight::may_be_written);
        let is_intact = !(reached.is_answered || reached.has_left && is_written);
        let Call { passed, conditions, .. } = call;
        self.returned.insert(number, Returned { passed, conditions, reached, is_intact });
    }

    fn abandon(&mut self, transfer: InFlight) -> Vec<Shared> {
        match transfer {
            InFlight::Short(_) => Vec::new(),
            InFlight::Long(flight) => flight.shared_memory(),
        }
    }

    fn ends(&mut self, transfer: &InFlight) {
        if let Some(flight) = transfer.long() {
            self.given_back.extend(flight.data.lent.iter().cloned());
        }
    }

    fn adopt(
        &mut self,
        _: CallId,
        conditions: Conditions,
        resume: Resume,
        bytes_max: u64,
    ) -> Result<(Call, InFlight, Arc<Contract>)> {
        let untold = || {
            Error::new(ErrorKind::Protocol, "fetch a call", "the server did not name the routine")
        };
        let contract =
            Arc::new(Contract::of_reply(Reply::Interface(resume.interface.ok_or_else(untold)?))?);
        let data = sizes(&contract, &resume.arguments.ok_or_else(untold)?, Bytes(bytes_max))?;
        let passed = Passed::owned(Vec::new());
        let call = Call {
            contract: contract.clone(),
            passed,
            conditions,
            is_to_stay: true,
            clock: None,
            number: 0,
        };
        Ok((call, InFlight::new(data), contract))
    }

    fn call_back(&mut self, call: &Call, slot: usize, open: &Open) -> Result<(Function, u64)> {
        let kind = call.contract.callbacks.iter().find(|(index, _)| *index == slot);
        let (Some((_, kind)), Some(Argument::Callback(function))) =
            (kind, call.passed.arguments.get(slot))
        else {
            let message = "no function was passed for this parameter";
            return Err(Error::new(ErrorKind::InvalidArgument, "run a callback", message));
        };
        let taken = Taken::new(kind.clone(), open, CALLBACK_BYTES_MAX)?;
        let bytes = taken.announced;
        Ok((Function { function: function.clone(), taken }, bytes))
    }
}

fn sizes(contract: &Contract, arguments: &[WireArgument], limit: Bytes) -> Result<Marshalled> {
    let bytes: Vec<Option<&[u8]>> = arguments
        .iter()
        .map(|argument| match argument {
            WireArgument::Inline(bytes) => Some(bytes.as_slice()),
            _ => None,
        })
        .collect();
    if bytes.len() != contract.interface.parameters.len() {
        return Err(Error::new(
            ErrorKind::Protocol,
            "fetch a call",
            "the server sent the wrong number of arguments",
        ));
    }
    results_of(contract, contract.sizer.resolve(&contract.interface, &bytes, limit)?)
}

/// What the caller of `farcall_peer` needs to know of a call.
pub fn terms(conditions: &Conditions, contract: Option<&Contract>) -> Terms {
    let passes_functions = contract.is_some_and(|contract| !contract.callbacks.is_empty());
    let may_run_twice = contract.is_some_and(|contract| contract.interface.idempotent);
    let is_on_object = conditions.special().is_some_and(|special| special.on.is_some());
    Terms {
        announced: conditions.announced,
        has_news: conditions.has_news(),
        passes_functions,
        // The state of an object is gone, and the program's own functions ran.
        is_idempotent: may_run_twice && !is_on_object && !passes_functions,
    }
}

/// Call ids must not repeat between processes; they are no secrets.
pub fn fresh_seed() -> u64 {
    let mut bytes = [0; 8];
    if rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .is_ok_and(|count| count == 8)
    {
        return u64::from_ne_bytes(bytes);
    }
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    (now.as_nanos() as u64) ^ (u64::from(std::process::id()) << 32)
}
