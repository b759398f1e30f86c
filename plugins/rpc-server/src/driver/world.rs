//! What the server's decisions need of the real world: the clock, argument memory, shared
//! descriptors.

use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use farcall_base::{Bytes, Clock, ConnectionId, Error, ErrorKind, Instant, Result, SystemClock};
use farcall_call::Place;
use farcall_link::memory::{MemorySource, Region};
use farcall_link::packing::Packing;
use farcall_link::strided::Strided;
use farcall_system::machine_memory::machine_memory;

use crate::state::{MemoryId, MemorySource as SharedSource, Nest, OwnMemory, ValueMemory};
use crate::step::{Server, SlotMemory, Surroundings};
use crate::transfers::Transfers;
use crate::{Options, Transports};

/// Memory that a client shares.
struct Segment {
    descriptor: Arc<OwnedFd>,
    /// Where it is mapped, once a call's data passes through here. It stays so: to map it and touch
    /// its pages for every call costs more than the data's way from the executable.
    mapped: Option<Arc<dyn Region>>,
    /// How many calls' data has passed through here.
    passed: u32,
    /// Bytes whose pages were made for an executable that is held to its memory.
    settled_bytes: u64,
}

/// Data of so many calls is written to a segment before it goes through the mapping: a page that
/// this process touches for the first time costs more than to write it twice.
const WRITTEN_CALLS: u32 = 2;

/// Clock, memory and descriptors.
pub struct World {
    clock: SystemClock,
    /// What the clock said last. Read once per connection and turn: a call passes a dozen places
    /// that ask for the time.
    now: Instant,
    transports: Transports,
    options: Options,
    memory_all_max: u64,
    sources: BTreeMap<String, Arc<dyn MemorySource>>,
    principals: BTreeMap<ConnectionId, String>,
    segments: BTreeMap<(ConnectionId, u32), Segment>,
    /// What goes with Share frames to executables that have not left yet.
    announced: BTreeMap<(ConnectionId, u32), Arc<OwnedFd>>,
    transfers: Transfers,
    /// Whether nothing has happened for a while: there is time to prepare memory.
    is_quiet: bool,
    /// Connections inside calls that executables asked for, and the ends that they sent.
    nests: Vec<(Nest, OwnedFd)>,
}

impl World {
    pub fn new(transports: Transports, options: Options) -> World {
        let clock = SystemClock::new();
        World {
            now: clock.now(),
            clock,
            transports,
            memory_all_max: options.memory_all_bytes_max(),
            options,
            sources: BTreeMap::new(),
            principals: BTreeMap::new(),
            segments: BTreeMap::new(),
            announced: BTreeMap::new(),
            transfers: Transfers::default(),
            is_quiet: false,
            nests: Vec::new(),
        }
    }

    /// What was asked for since this was asked last.
    pub fn take_nests(&mut self) -> Vec<(Nest, OwnedFd)> {
        std::mem::take(&mut self.nests)
    }

    /// An executable asked for a connection inside a call, and sent this end.
    pub fn add_nest(&mut self, nest: Nest, descriptor: OwnedFd) {
        self.nests.push((nest, descriptor));
    }

    /// A client shares memory.
    pub fn add_segment(&mut self, client: ConnectionId, segment: u32, descriptor: OwnedFd) {
        let known =
            Segment { descriptor: Arc::new(descriptor), mapped: None, passed: 0, settled_bytes: 0 };
        self.segments.insert((client, segment), known);
    }

    /// It takes that back.
    pub fn forget_segment(&mut self, client: ConnectionId, segment: u32) {
        self.segments.remove(&(client, segment));
    }

    /// Arrays on their way.
    pub fn transfers(&mut self) -> &mut Transfers {
        &mut self.transfers
    }

    /// Reads the clock.
    pub fn look_at_clock(&mut self) {
        self.now = self.clock.now();
    }

    /// Who is at the other end, if it is a client.
    pub fn principal(&self, connection: ConnectionId) -> Option<&str> {
        self.principals.get(&connection).map(String::as_str)
    }

    /// Memory is pooled per principal, so that nobody ever sees another's numbers.
    pub fn set_principal(&mut self, connection: ConnectionId, principal: String) {
        self.principals.insert(connection, principal);
    }

    /// A connection is closed.
    pub fn forget(&mut self, connection: ConnectionId) {
        self.transfers.forget(connection);
        self.segments.retain(|(of, _), _| *of != connection);
        self.announced.retain(|(to, _), _| *to != connection);
        let Some(principal) = self.principals.remove(&connection) else { return };
        if !self.principals.values().any(|other| *other == principal)
            && let Some(source) = self.sources.get(&principal)
        {
            source.trim(Duration::ZERO);
        }
    }

    /// Memory that went back to the system, by identity.
    pub fn freed(&self) -> Vec<u64> {
        self.sources.values().flat_map(|source| source.freed()).collect()
    }

    /// A region by the name that calls have for it.
    pub fn region(&self, memory: MemoryId) -> Option<Arc<dyn Region>> {
        self.transfers.region(memory)
    }

    /// Keeps a region under a new name.
    pub fn keep(&mut self, region: Arc<dyn Region>) -> MemoryId {
        self.transfers.keep(region)
    }

    /// The descriptor for a Share frame to an executable, which leaves now.
    pub fn descriptor(&mut self, connection: ConnectionId, segment: u32) -> Result<Arc<OwnedFd>> {
        self.announced.remove(&(connection, segment)).ok_or_else(gone)
    }

    /// A place for an array that comes from elsewhere than a connection.
    pub fn packing(&self, place: &SlotMemory) -> Result<Packing> {
        self.transfers.packing_of(place)
    }

    /// While nothing happens, memory is made ready for results that are to come: a piece at a time,
    /// in less than a tenth of a millisecond.
    pub fn prepare_if_quiet(&mut self, nothing_came: bool) {
        self.is_quiet = nothing_came && self.transfers.has_to_prepare();
        if self.is_quiet {
            self.transfers.prepare();
        }
    }

    /// When there is time for the next piece, if one is left: now, or when nothing has happened for
    /// so long.
    pub fn prepares_after(&self, quiet_after: Duration) -> Option<Duration> {
        let quiet = if self.is_quiet { Duration::ZERO } else { quiet_after };
        self.transfers.has_to_prepare().then_some(quiet)
    }

    /// The array whose next bytes a data frame carries.
    pub fn sending(
        &mut self,
        server: &Server,
        connection: ConnectionId,
        place: &Place,
    ) -> Result<&mut Packing> {
        let memory = if place.offset == 0 { server.memory_of(connection, place) } else { None };
        self.transfers.sending(connection, place, memory)
    }
}

impl Surroundings for World {
    fn now(&self) -> Instant {
        self.now
    }

    fn clock_us(&self) -> Option<u64> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        u64::try_from(since.as_micros()).ok()
    }

    fn speaks_for(&mut self, connection: ConnectionId, principal: &str) {
        self.set_principal(connection, principal.to_owned());
    }

    fn allocate(&mut self, client: ConnectionId, bytes: u64) -> Result<(MemoryId, u64, u64)> {
        let source = self.source(client).clone();
        self.allocate_from(&*source, bytes)
    }

    fn allocate_for(&mut self, principal: &str, bytes: u64) -> Result<(MemoryId, u64, u64)> {
        let source = self.source_of(principal);
        self.allocate_from(&*source, bytes)
    }

    fn allocate_value(&mut self, principal: &str, bytes: u64) -> Result<ValueMemory> {
        self.check_room_for(bytes)?;
        let region = self.source_of(principal).allocate_value(address(bytes)?)?;
        Ok(self.keep_value(region))
    }

    fn seal(&mut self, principal: &str, memory: &OwnMemory) -> Result<ValueMemory> {
        let region = self.region(memory.id).ok_or_else(gone)?;
        if region.seal() {
            let OwnMemory { id, identity, bytes, .. } = *memory;
            return Ok(ValueMemory { id, identity, bytes });
        }
        // Somebody holds on to it. What is there now is the value.
        let from =
            SlotMemory { memory: memory.id, base: 0, array: Strided::contiguous(memory.bytes) };
        self.copy_value(principal, &from)
    }

    fn copy_value(&mut self, principal: &str, from: &SlotMemory) -> Result<ValueMemory> {
        let bytes = from.array.bytes();
        self.check_room_for(bytes)?;
        let region = self.source_of(principal).allocate_value(address(bytes)?)?;
        self.transfers.copy(from, &*region)?;
        if !region.seal() {
            return Err(Error::internal("keep data", "fresh memory cannot be sealed"));
        }
        Ok(self.keep_value(region))
    }

    fn map(&mut self, client: ConnectionId, segment: u32, bytes: u64) -> Result<MemoryId> {
        let known = self.segments.get(&(client, segment)).ok_or_else(gone)?;
        let region = match &known.mapped {
            Some(region) => region.clone(),
            None => self.adopt(client, segment, usize::try_from(bytes).unwrap_or(usize::MAX))?,
        };
        let known = self.segments.get_mut(&(client, segment)).ok_or_else(gone)?;
        let file = (known.passed < WRITTEN_CALLS).then(|| known.descriptor.clone());
        known.passed += 1;
        Ok(self.transfers.keep_file(region, file))
    }

    fn expect(&mut self, memory: MemoryId, part: Range<u64>) {
        self.transfers.expect(memory, part);
    }

    fn settle_pages(&mut self, source: SharedSource, bytes: u64) {
        let (descriptor, is_settled) = match source {
            SharedSource::Client(client, segment) => match self.segments.get(&(client, segment)) {
                Some(known) => (Some(known.descriptor.clone()), known.settled_bytes > 0),
                None => return,
            },
            SharedSource::Own(identity) => {
                (self.transfers.by_identity(identity).and_then(|region| region.descriptor()), false)
            }
        };
        let settled: u64 = self.segments.values().map(|known| known.settled_bytes).sum();
        let room = self.memory_all_max.saturating_sub(self.memory_held()).saturating_sub(settled);
        // What a client shares beyond what calls may have counts for whoever touches it.
        let Some(descriptor) = descriptor.filter(|_| !is_settled) else { return };
        if let SharedSource::Client(client, segment) = source {
            if bytes > room {
                return;
            }
            let Some(known) = self.segments.get_mut(&(client, segment)) else { return };
            known.settled_bytes = bytes;
        }
        // Where it fails, the process that touches the pages pays for them.
        let _ = rustix::fs::fallocate(&*descriptor, rustix::fs::FallocateFlags::empty(), 0, bytes);
    }

    fn announce(
        &mut self,
        executable: ConnectionId,
        segment: u32,
        source: SharedSource,
    ) -> Result<()> {
        let descriptor = match source {
            SharedSource::Client(client, segment) => {
                self.segments.get(&(client, segment)).map(|known| known.descriptor.clone())
            }
            SharedSource::Own(identity) => {
                self.transfers.by_identity(identity).and_then(|region| region.descriptor())
            }
        };
        self.announced.insert((executable, segment), descriptor.ok_or_else(gone)?);
        Ok(())
    }

    fn release(&mut self, memory: MemoryId) {
        self.transfers.release(memory);
    }

    fn memory_held(&self) -> u64 {
        self.sources.values().map(|source| source.held()).sum()
    }
}

impl World {
    fn adopt(
        &mut self,
        client: ConnectionId,
        segment: u32,
        bytes: usize,
    ) -> Result<Arc<dyn Region>> {
        let descriptor = self.segments.get(&(client, segment)).ok_or_else(gone)?.descriptor.clone();
        let source = self.source(client).clone();
        let adopt = || {
            let copy = descriptor
                .try_clone()
                .map_err(|error| Error::system("map a client's memory", error))?;
            source.adopt(copy, bytes)
        };
        let mut region = adopt();
        if region.as_ref().is_err_and(|error| error.kind() == ErrorKind::LimitExceeded) {
            // What stays mapped for calls to come must not refuse one that is here.
            self.segments.values_mut().for_each(|known| known.mapped = None);
            region = adopt();
        }
        let region = region?;
        if let Some(known) = self.segments.get_mut(&(client, segment)) {
            known.mapped = Some(region.clone());
        }
        Ok(region)
    }

    fn allocate_from(
        &mut self,
        source: &dyn MemorySource,
        bytes: u64,
    ) -> Result<(MemoryId, u64, u64)> {
        let bytes = address(bytes)?;
        self.check_room_for(bytes as u64)?;
        let region = source.allocate(bytes)?;
        if self.memory_held() > self.memory_all_max {
            // Idle memory of all clients goes before a call is refused.
            self.sources.values().for_each(|source| source.trim(Duration::ZERO));
        }
        let identity = region.identity();
        let bytes = region.bytes() as u64;
        Ok((self.transfers.keep(region), identity, bytes))
    }

    /// The memory of a value that another server has sealed.
    pub fn adopt_shared(
        &mut self,
        principal: &str,
        descriptor: OwnedFd,
        bytes: u64,
    ) -> Result<ValueMemory> {
        self.check_room_for(bytes)?;
        let region = self.source_of(principal).adopt_shared(descriptor, address(bytes)?)?;
        Ok(self.keep_value(region))
    }

    fn keep_value(&mut self, region: Arc<dyn Region>) -> ValueMemory {
        let identity = region.identity();
        let bytes = region.bytes() as u64;
        ValueMemory { id: self.transfers.keep(region), identity, bytes }
    }

    /// Calls of all clients share what there is.
    fn check_room_for(&self, bytes: u64) -> Result<()> {
        let most = self.memory_all_max;
        let used: u64 =
            self.sources.values().map(|source| source.held().saturating_sub(source.idle())).sum();
        if used.saturating_add(bytes) <= most {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::LimitExceeded,
            "accept a call",
            "the calls of all clients use too much argument memory",
        )
        .with("bytes", Bytes(bytes))
        .with("memory_all_bytes_max", Bytes(most))
        .with("memory", machine_memory())
        .fix(
            "try again later, send less per call, or raise memory_all_bytes_max in the server's \
            farcall.toml",
        )
        .retryable())
    }

    /// What makes memory for a principal's calls.
    pub fn source_of(&mut self, principal: &str) -> Arc<dyn MemorySource> {
        let make = || (self.transports.memory)(&self.options);
        self.sources.entry(principal.to_owned()).or_insert_with(make).clone()
    }

    fn source(&mut self, client: ConnectionId) -> &Arc<dyn MemorySource> {
        let principal = self.principals.get(&client).cloned().unwrap_or_default();
        let make = || (self.transports.memory)(&self.options);
        self.sources.entry(principal).or_insert_with(make)
    }

    /// Memory that is not what it is said to be would end the executable that maps it, and with it
    /// somebody's call. Once per segment; no page of it is touched.
    pub fn check_shared(
        &mut self,
        client: ConnectionId,
        descriptor: OwnedFd,
        bytes: u64,
    ) -> Result<OwnedFd> {
        self.source(client).check(descriptor, usize::try_from(bytes).unwrap_or(usize::MAX))
    }
}

/// What tells this run of the server from others; `None` where the system gives no random bytes.
pub fn fresh_name() -> Option<[u8; 16]> {
    let mut name = [0; 16];
    let given = rustix::rand::getrandom(&mut name, rustix::rand::GetRandomFlags::empty());
    given.is_ok_and(|count| count == name.len()).then_some(name)
}

fn address(bytes: u64) -> Result<usize> {
    usize::try_from(bytes).map_err(|_| {
        Error::new(ErrorKind::LimitExceeded, "accept a call", "its arrays exceed the address space")
    })
}

fn gone() -> Error {
    Error::internal("share memory", "the memory has been released")
}
