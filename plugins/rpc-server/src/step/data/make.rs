//! Results that stay: where they come to, and what becomes of them when their call has ended.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{ChannelId, ConnectionId, DataId, Error, ErrorKind, Instant, Result};
use farcall_call::{Place, Side};
use farcall_idl::data::DataKind;
use farcall_idl::interface::Language;
use farcall_idl::layout::ParameterLayout;
use farcall_link::strided::Strided;
use farcall_wire::{Argument, CallTimes, DATA, InlineBytes, LEASE, Open, TicketKey, lease_of};

use crate::state::{
    Call, CallKey, Caller, Content, Data, Known, MemorySource, OVERHEAD, OwnMemory, Resuming, Stay,
    Value, ValuePlace,
};
use crate::step::calls::check::Plan;
use crate::step::calls::place::{SlotMemory, call_memory};
use crate::step::data::take::not_there;
use crate::step::{Server, Surroundings};

impl Server {
    /// The routine of a call that only puts a value here.
    pub(in crate::step) fn data_routine(&mut self, open: &Open) -> Option<Arc<Known>> {
        let kind = DataKind::of_routine(&open.routine)?;
        Some(self.routine_of_kind(kind))
    }

    /// The routine that takes and gives such data.
    pub(in crate::step) fn routine_of_kind(&mut self, kind: DataKind) -> Arc<Known> {
        if let Some(known) = self.state.routines.get(&kind.to_string()) {
            return known.clone();
        }
        self.remember(&Arc::new(published(kind)))
    }

    /// Whether results of a call may stay under the names that it gives them, and for how long they
    /// do without their client.
    pub(in crate::step) fn check_stays(
        &self,
        connection: ConnectionId,
        open: &Open,
        caller: &Caller,
        plan: &Plan,
    ) -> Result<Duration> {
        let refused = |kind, message: &'static str| Error::new(kind, "keep data", message);
        let lease = lease_of(open)?;
        TicketKey::of(open)?;
        if plan.stays.is_empty() {
            return match lease {
                Duration::ZERO => Ok(lease),
                _ => Err(refused(
                    ErrorKind::InvalidArgument,
                    "a lease was given for a call that makes no data",
                )
                .fix(format!("leave \"{LEASE}\" out"))),
            };
        }
        if !self.has_feature(connection, DATA) {
            let message = "data was requested by a client that does not know it";
            return Err(refused(ErrorKind::InvalidArgument, message));
        }
        for (index, stay) in plan.stays.iter().enumerate() {
            let is_twice = plan.stays[..index].iter().any(|other| other.id == stay.id);
            if is_twice || !self.may_make(stay.id, stay.kind, caller.rights.principal()) {
                return Err(refused(
                    ErrorKind::InvalidArgument,
                    "an id of data is the id of a call, or of other data",
                )
                .with("data", stay.id)
                .fix("give all data ids of their own: sixteen random bytes"));
            }
        }
        self.check_lease(lease)?;
        let limits = &self.state.limits.keep;
        let bytes = plan.stays.iter().map(PlannedStay::counted).fold(0, u64::saturating_add);
        let count = plan.stays.len() as u64;
        self.state.kept.room.check_data_room(caller.rights.principal(), (count, bytes), limits)?;
        Ok(lease)
    }

    /// Whether data may stay for so long without its client.
    pub(in crate::step) fn check_lease(&self, lease: Duration) -> Result<()> {
        let limits = &self.state.limits.keep;
        if lease <= limits.longest {
            return Ok(());
        }
        let message = "the server does not keep data for that long without its client";
        Err(Error::new(ErrorKind::LimitExceeded, "keep data", message)
            .with("lease", format!("{lease:?}"))
            .with("results_keep_ms_max", limits.longest.as_millis())
            .fix("use a shorter lease, or raise the limit in the server's farcall.toml"))
    }

    /// Gets memory for results that stay.
    pub(in crate::step) fn allocate_stays(
        &mut self,
        surroundings: &mut dyn Surroundings,
        caller: &Caller,
        plan: &Plan,
    ) -> Result<Vec<Stay>> {
        let principal = caller.rights.principal();
        let bytes = plan.stays.iter().map(PlannedStay::counted).fold(0, u64::saturating_add);
        if bytes > 0 {
            self.make_room_to_keep(surroundings, bytes);
        }
        let mut stays: Vec<Stay> = Vec::with_capacity(plan.stays.len());
        for planned in &plan.stays {
            let memory = planned.memory.map(|bytes| surroundings.allocate_value(principal, bytes));
            let memory = match memory.transpose() {
                Ok(memory) => memory,
                Err(error) => {
                    release(surroundings, &stays);
                    return Err(error);
                }
            };
            let offsets = [(planned.slot, 0)].into();
            let memory = memory.map(|memory| OwnMemory {
                id: memory.id,
                identity: memory.identity,
                bytes: memory.bytes,
                offsets,
            });
            let PlannedStay { slot, id, kind, .. } = *planned;
            stays.push(Stay { slot, id, kind, memory });
        }
        Ok(stays)
    }

    /// The data of a call that was entered is coming.
    pub(in crate::step) fn enter_stays(&mut self, key: CallKey, lease: Duration, plan: &Plan) {
        let Some(call) = self.state.calls.get(&key) else { return };
        let owner = call.client.map(|(connection, _)| connection);
        let client = owner.and_then(|connection| self.client_of(connection));
        let principal = call.caller.rights.principal().to_owned();
        // It was looked at with the rest of the Open.
        let tickets = TicketKey::of(&call.open).ok().flatten();
        for stay in &plan.stays {
            if let Some(data) = self.state.kept.data.get_mut(&stay.id) {
                // It was promised: calls and clients that wait for it go on to wait.
                data.content = Content::Coming(Some(key));
                data.kind = stay.kind;
                data.tickets = tickets;
                self.state.kept.resize_data(&stay.id, stay.counted());
                continue;
            }
            let data = Data {
                principal: principal.clone(),
                kind: stay.kind,
                content: Content::Coming(Some(key)),
                is_promised: false,
                tickets,
                pulled: BTreeSet::new(),
                bytes: stay.counted(),
                lease,
                owner,
                client: client.clone(),
                expires: None,
                waiting: Vec::new(),
                asking: Vec::new(),
            };
            self.state.kept.enter_data(stay.id, data);
        }
    }

    /// A call that only puts a value here has all of it.
    pub(in crate::step) fn put(&mut self, surroundings: &mut dyn Surroundings, key: CallKey) {
        if let Err(error) = self.map_put(surroundings, key) {
            return self.finish(surroundings, key, Err(error));
        }
        let Some(call) = self.state.calls.get(&key) else { return };
        let results = call.open.arguments.iter().zip(&call.routine.routine.interface.parameters);
        let results = results
            .map(|(argument, parameter)| match argument {
                argument if parameter.mode.is_output() => argument.clone(),
                _ => Argument::Absent,
            })
            .collect();
        self.finish(surroundings, key, Ok((results, CallTimes::default())));
    }

    /// What a client shared is read in place: it may write there yet.
    fn map_put(&mut self, surroundings: &mut dyn Surroundings, key: CallKey) -> Result<()> {
        let Some(call) = self.state.calls.get(&key) else { return Ok(()) };
        let last = call.open.arguments.len().saturating_sub(1);
        let Some(Argument::Shared(segment, offset, _)) = call.open.arguments.last() else {
            return Ok(());
        };
        let segment = *segment;
        let offset = *offset;
        let gone = || Error::internal("keep data", "its client has left");
        let (client, _) = call.client.ok_or_else(gone)?;
        let bytes = self.segment_bytes(client, segment).ok_or_else(gone)?;
        self.map(surroundings, key, last, (client, segment, bytes, offset)).map(|_| ())
    }

    /// A call has ended: its results that stay are data now, or never will be.
    pub(in crate::step) fn settle_stays(
        &mut self,
        surroundings: &mut dyn Surroundings,
        (key, call): (CallKey, &mut Call),
        outcome: &Result<(Vec<Argument>, CallTimes)>,
    ) {
        for stay in std::mem::take(&mut call.memory.stays) {
            if let Some(memory) = &stay.memory {
                // Its executable has unmapped it.
                self.forget_memory(MemorySource::Own(memory.identity));
            }
            let content = match outcome {
                Ok((results, _)) => {
                    let result = results.get(usize::from(stay.slot)).unwrap_or(&Argument::Absent);
                    value_of(surroundings, call, &stay, result)
                }
                Err(error) => {
                    Err(Error::new(error.kind(), "make data", error.message().to_owned())
                        .with("call", call.id))
                }
            };
            let used = content.as_ref().ok().and_then(|value| Some(value.memory()?.id));
            if let Some(memory) = stay.memory.filter(|memory| Some(memory.id) != used) {
                surroundings.release(memory.id);
            }
            self.settle_data(surroundings, (key, stay.id), content);
        }
        for (_, value) in std::mem::take(&mut call.memory.given) {
            self.let_value_go(surroundings, value);
        }
    }

    fn settle_data(
        &mut self,
        surroundings: &mut dyn Surroundings,
        (key, id): (CallKey, DataId),
        content: Result<Value>,
    ) {
        let content = content.map(Arc::new);
        let bytes = content.as_ref().map_or(0, |value| value.bytes()).saturating_add(OVERHEAD);
        let is_its = |data: &&Data| matches!(data.content, Content::Coming(of) if of == Some(key));
        if self.state.kept.data.get(&id).filter(is_its).is_none() {
            // It was deleted meanwhile, and another call may make data of that name by now.
            return content.into_iter().for_each(|value| self.let_value_go(surroundings, value));
        }
        self.state.kept.resize_data(&id, bytes);
        let Some(data) = self.state.kept.data.get_mut(&id) else { return };
        data.content = match content {
            Ok(value) => Content::There(value),
            Err(_) if data.is_promised => return data.content = Content::Coming(None),
            Err(error) => Content::Failed((&error).into()),
        };
        self.tell_of_data(surroundings, id);
    }

    /// Data is there, or never will be: calls and clients that wait for it are told.
    pub(in crate::step) fn tell_of_data(
        &mut self,
        surroundings: &mut dyn Surroundings,
        id: DataId,
    ) {
        let Some(data) = self.state.kept.data.get_mut(&id) else { return };
        let waiting = std::mem::take(&mut data.waiting);
        let asking = self.state.kept.data.take_asking(&id);
        self.state.kept.data.woken.extend(waiting);
        for (connection, channel, describe) in asking {
            self.fetch_data(surroundings, (connection, channel), id, describe);
        }
    }

    /// A connection has ended: its data stays for its lease, or for as long as its client may come
    /// back.
    pub(in crate::step) fn data_owner_gone(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        resuming: &Resuming,
    ) {
        self.promisers_gone(surroundings, connection);
        let now = surroundings.now();
        let may_return = resuming.client.as_ref().and(resuming.keep).unwrap_or_default();
        let until = |data: &Data| {
            let stays = data.lease.max(may_return);
            (!stays.is_zero()).then(|| now + stays)
        };
        for id in self.state.kept.data.lost(connection, until) {
            self.delete_data(surroundings, id);
        }
        self.wake_calls(surroundings);
    }

    /// Data is gone. Calls that have it keep it until they end.
    pub(in crate::step) fn delete_data(&mut self, surroundings: &mut dyn Surroundings, id: DataId) {
        let asking = self.state.kept.data.take_asking(&id);
        let Some(data) = self.state.kept.remove_data(&id) else { return };
        if let Content::There(value) = data.content {
            self.let_value_go(surroundings, value);
        }
        self.state.kept.data.woken.extend(data.waiting);
        for (connection, channel, _) in asking {
            self.refuse(connection, channel, &not_there(id));
        }
    }
}

/// A result that is to stay.
pub struct PlannedStay {
    /// Its parameter.
    pub slot: u16,
    /// The id that its opener gave it.
    pub id: DataId,
    /// What it consists of.
    pub kind: DataKind,
    /// Bytes of its elements, as far as that is known.
    pub bytes: u64,
    /// Bytes of the memory of its own that it comes to, if it needs any.
    pub memory: Option<u64>,
}

impl PlannedStay {
    /// What counts for it.
    fn counted(&self) -> u64 {
        self.bytes.saturating_add(OVERHEAD)
    }
}

pub(in crate::step) fn release(surroundings: &mut dyn Surroundings, stays: &[Stay]) {
    let memories = stays.iter().filter_map(|stay| stay.memory.as_ref());
    memories.for_each(|memory| surroundings.release(memory.id));
}

/// The value of a result. Its memory is that of `stay`, or other.
fn value_of(
    surroundings: &mut dyn Surroundings,
    call: &Call,
    stay: &Stay,
    result: &Argument,
) -> Result<Value> {
    let none = || {
        Error::new(ErrorKind::InvalidArgument, "make data", "the routine left no value")
            .with("call", call.id)
    };
    let layout = call.layout.parameters.get(usize::from(stay.slot));
    let Some(ParameterLayout::Array(array)) = layout else { return Err(none()) };
    let extents = array.dimensions.iter().map(|dimension| dimension.count).collect();
    let place = match result {
        _ if array.transfer_bytes == 0 => ValuePlace::Inline(InlineBytes::new()),
        Argument::Inline(bytes) if bytes.len() as u64 == array.transfer_bytes => {
            ValuePlace::Inline(bytes.clone())
        }
        Argument::Shared(..) | Argument::Blocks(_) => {
            let principal = call.caller.rights.principal();
            ValuePlace::Memory(match &stay.memory {
                Some(memory) if array.full_bytes == array.transfer_bytes => {
                    surroundings.seal(principal, memory)?
                }
                memory => {
                    let from = match memory {
                        Some(memory) => Some(SlotMemory {
                            memory: memory.id,
                            base: 0,
                            array: Strided::of_layout(array),
                        }),
                        None => call_memory(call, &result_place(stay.slot)),
                    };
                    surroundings.copy_value(principal, &from.ok_or_else(none)?)?
                }
            })
        }
        _ => return Err(none()),
    };
    Ok(Value { kind: stay.kind, extents, place })
}

fn result_place(slot: u16) -> Place {
    Place { channel: ChannelId(0), side: Side::Results, slot, offset: 0 }
}

/// A routine that no directory knows.
fn published(kind: DataKind) -> farcall_services::directory::PublishedRoutine {
    use farcall_idl::encode::{contract_hash, encode_interface};
    use farcall_idl::interface::{Code, Implementation, Routine, StringConvention};
    use farcall_services::directory::{
        ExecutableImage, ImageKind, PublishedModule, PublishedRoutine, Trust,
    };
    let interface = kind.interface();
    let implementation = Implementation {
        language: Language::C,
        strings: StringConvention::End,
        code: Code::Symbol { symbol: String::new(), arguments: Vec::new(), result: None },
        required: Vec::new(),
        backend: String::new(),
        distribution: Vec::new(),
    };
    let executable = ExecutableImage {
        kind: ImageKind::GenericHost { libraries: Vec::new() },
        readable: Vec::new(),
        listed: Vec::new(),
        trust: Trust::Confined,
        environment: Vec::new(),
        backend: String::new(),
        ranks: 0,
        resources: farcall_base::Resources::default(),
        executables_max: 0,
        launcher: String::new(),
        module_text: Arc::from([].as_slice()),
    };
    PublishedRoutine {
        encoded: encode_interface(&interface).into(),
        contract: contract_hash(&interface),
        routine: Arc::new(Routine { interface, implementation }),
        module: Arc::new(PublishedModule {
            name: String::new(),
            generation: 0,
            publication: 0,
            executable,
        }),
    }
}

/// When data without a client is deleted.
pub(in crate::step) fn expire(
    server: &mut Server,
    surroundings: &mut dyn Surroundings,
    now: Instant,
) {
    while let Some(id) = server.state.kept.data.due(now) {
        server.delete_data(surroundings, id);
    }
    server.wake_calls(surroundings);
}
