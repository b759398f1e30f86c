//! One call in two peers' terms: the client's request as the executable gets it, and the
//! executable's answer as the client gets it. Values stay, memory changes its name.

use std::sync::Arc;

use farcall_base::{ConnectionId, Error, ErrorKind, ExecutableId, Instant, Result};
use farcall_idl::interface::{ElementType, Parameter};
use farcall_idl::layout::{CallLayout, ParameterLayout};
use farcall_wire::{Argument, CallResult, CallTimes, DATA, InlineBytes, Open, gives_up_attribute};

use crate::state::{Call, CallKey, FREE_BYTES, MemoryId, MemorySource, OwnMemory, PeerKind};
use crate::step::calls::{check, files};
use crate::step::data::take::given_memory;
use crate::step::{Server, Surroundings};

/// Where an array lies: memory, its size, and the array's part of it.
struct Lies {
    source: MemorySource,
    bytes: u64,
    offset: u64,
    length: u64,
}

/// Memory of ours that was made without a descriptor, when none was left: its bytes go through the
/// connection.
const UNSHARED: MemorySource = MemorySource::Own(0);

impl Server {
    /// The client's request in the executable's terms: same values, memory under the executable's
    /// names.
    pub(in crate::step) fn translate(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
        executable: ExecutableId,
        shares: bool,
    ) -> Result<Open> {
        let call = self.state.calls.get(&key).ok_or_else(gone)?;
        let routine = call.routine.clone();
        let count = call.open.arguments.len();
        let mut arguments = Vec::with_capacity(count);
        let mut wanted = Vec::with_capacity(count);
        let mut given_up = Vec::new();
        let reads = shares
            && self
                .connection_of(executable)
                .is_some_and(|connection| self.has_feature(connection, DATA));
        for (slot, parameter) in routine.routine.interface.parameters.iter().enumerate().take(count)
        {
            let is_output = parameter.mode.is_output();
            let place =
                self.place_in_terms(surroundings, (key, slot), (executable, shares), is_output)?;
            let call = self.state.calls.get(&key).ok_or_else(gone)?;
            let argument = argument_to_send(call, slot, place.is_some());
            let (argument, want) =
                in_executables_terms(parameter, argument, want(call, slot), place);
            let given =
                self.given_in_executables_terms(surroundings, key, slot, (executable, reads))?;
            let is_apart = given.is_some() && !reads && want != Argument::Absent;
            // One that does not know of data finds an argument and its result in one place.
            let want = if is_apart { Argument::Blocks(None) } else { want };
            arguments.push(given.unwrap_or(argument));
            if let Argument::Shared(segment, ..) = &want
                && self.state.calls.get(&key).is_some_and(|call| call.memory.stay(slot).is_some())
            {
                given_up.push(*segment);
            }
            wanted.push(want);
        }
        let is_launched =
            self.state.executables.get(&executable).is_some_and(|record| record.launched);
        let mut attributes = self.attributes_for(key, executable);
        if !given_up.is_empty() {
            attributes.get_or_insert_default().push(gives_up_attribute(&given_up));
        }
        let call = self.state.calls.get(&key).ok_or_else(gone)?;
        Ok(Open {
            call: call.id,
            routine: routine.name.clone(),
            contract: routine.contract,
            arguments,
            wanted: Some(wanted),
            remaining_us: None,
            result_credit: is_launched.then_some(FREE_BYTES),
            parent: None,
            principal: None,
            trace: call.open.trace.clone(),
            attributes,
        })
    }

    /// Where a parameter's array lies, in the executable's terms; `None` if it goes through the
    /// connection.
    fn place_in_terms(
        &mut self,
        surroundings: &mut dyn Surroundings,
        (key, slot): (CallKey, usize),
        (executable, shares): (ExecutableId, bool),
        is_output: bool,
    ) -> Result<Option<Argument>> {
        match self.lies(key, slot)? {
            Some(Lies { source, bytes, offset, length }) if shares && source != UNSHARED => {
                let segment = self.share_with(surroundings, executable, source, bytes)?;
                Ok(Some(Argument::Shared(segment, offset, length)))
            }
            Some(Lies { source: MemorySource::Client(client, segment), bytes, offset, length }) => {
                let memory = self.map(surroundings, key, slot, (client, segment, bytes, offset))?;
                if let Some(memory) = memory.filter(|_| is_output) {
                    surroundings.expect(memory, offset..offset + length);
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// The value that a parameter was given: in memory, for an executable that reads it there, if it lies
    /// there in the parameter's order; otherwise through the connection.
    fn given_in_executables_terms(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
        slot: usize,
        (executable, reads): (ExecutableId, bool),
    ) -> Result<Option<Argument>> {
        let call = self.state.calls.get(&key).ok_or_else(gone)?;
        let Some(value) = call.memory.given(slot) else { return Ok(None) };
        let is_whole = given_memory(call, slot as u16).is_some_and(|at| at.array.is_contiguous());
        let is_shared = reads && is_whole;
        let Some(memory) = value.memory().filter(|memory| is_shared && memory.identity != 0) else {
            return Ok(Some(Argument::Blocks(Some(value.bytes()))));
        };
        let source = MemorySource::Own(memory.identity);
        let bytes = memory.bytes;
        let length = value.bytes();
        let segment = self.share_with(surroundings, executable, source, bytes)?;
        Ok(Some(Argument::Shared(segment, 0, length)))
    }

    /// Maps where a client has an argument or its result; `None` where that was done for an
    /// executable before.
    pub(in crate::step) fn map(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
        slot: usize,
        (client, segment, bytes, offset): (ConnectionId, u32, u64, u64),
    ) -> Result<Option<MemoryId>> {
        let call = self.state.calls.get_mut(&key).ok_or_else(gone)?;
        if is_mapped(call, slot) {
            return Ok(None);
        }
        let id = surroundings.map(client, segment, bytes)?;
        let offsets = [(slot as u16, offset)].into();
        call.memory.mapped.push(OwnMemory { id, identity: 0, bytes, offsets });
        Ok(Some(id))
    }

    /// The memory of an argument or its result, ours or the client's; `None` for what needs none.
    fn lies(&self, key: CallKey, slot: usize) -> Result<Option<Lies>> {
        let call = self.state.calls.get(&key).ok_or_else(gone)?;
        let argument = &call.open.arguments[slot];
        let stay = call.memory.stay(slot).and_then(|stay| stay.memory.as_ref());
        let own = stay
            .or(call.memory.own.as_ref())
            .and_then(|memory| Some((memory, *memory.offsets.get(&(slot as u16))?)));
        if let Some((memory, offset)) = own {
            let length = files::argument_bytes(call, slot)
                .unwrap_or_else(|| full_bytes(&call.layout.parameters[slot]));
            return Ok(Some(Lies {
                source: MemorySource::Own(memory.identity),
                bytes: memory.bytes,
                offset,
                length,
            }));
        }
        let ((Argument::Shared(segment, offset, length), _)
        | (_, Argument::Shared(segment, offset, length))) = (argument, want(call, slot))
        else {
            return Ok(None);
        };
        let (client, _) = call.client.ok_or_else(gone)?;
        let bytes = self.segment_bytes(client, *segment).ok_or_else(gone)?;
        let source = MemorySource::Client(client, *segment);
        Ok(Some(Lies { source, bytes, offset: *offset, length: *length }))
    }

    pub(in crate::step) fn segment_bytes(
        &self,
        connection: ConnectionId,
        segment: u32,
    ) -> Option<u64> {
        match &self.state.front.peer(connection)?.kind {
            PeerKind::Client { segments, .. } => segments.get(&segment).copied(),
            PeerKind::Executable(_) => None,
        }
    }
}

/// An argument as it came, or as bytes that are sent on. The client's own stay as they are: a call
/// that has not begun may be passed to another executable.
fn argument_to_send(call: &Call, slot: usize, has_place: bool) -> Argument {
    match (&call.open.arguments[slot], &call.layout.parameters[slot]) {
        (Argument::Shared(..), ParameterLayout::Array(array)) if !has_place => {
            match array.transfer_bytes {
                0 => Argument::Inline(InlineBytes::new()),
                bytes => Argument::Blocks(Some(bytes)),
            }
        }
        (argument, _) => argument.clone(),
    }
}

/// An argument, and how its result is wanted, for an executable that finds both at `place` if there
/// is one.
fn in_executables_terms(
    parameter: &Parameter,
    argument: Argument,
    want: &Argument,
    place: Option<Argument>,
) -> (Argument, Argument) {
    let comes_in_memory = matches!(argument, Argument::Blocks(_) | Argument::Shared(..));
    let is_input = check::mode_of(parameter, &argument).is_input();
    let want = match &place {
        _ if !parameter.mode.is_output() || *want == Argument::Absent => Argument::Absent,
        // Its process works on a copy, and gives back what that has become.
        _ if matches!(parameter.element, ElementType::Filename | ElementType::String) => {
            want.clone()
        }
        Some(place) if comes_in_memory || !is_input => place.clone(),
        // A short INOUT array that came inline goes back inline; the executable keeps it in memory
        // of its own.
        _ => Argument::Blocks(None),
    };
    match place {
        Some(place) if is_input && comes_in_memory => (place, want),
        _ => (argument, want),
    }
}

/// How the client wants a result.
fn want(call: &Call, slot: usize) -> &Argument {
    call.open.wanted.as_ref().map_or(&Argument::Blocks(None), |wanted| &wanted[slot])
}

fn full_bytes(layout: &ParameterLayout) -> u64 {
    match layout {
        ParameterLayout::Array(array) => array.full_bytes,
        _ => 0,
    }
}

fn gone() -> Error {
    Error::internal("pass a call on", "the call or its executable has ended")
}

fn is_mapped(call: &Call, slot: usize) -> bool {
    call.memory.mapped.iter().any(|memory| memory.offsets.contains_key(&(slot as u16)))
}

/// Refuses bytes that nobody waits for, before they come: an executable that announces them may
/// never send them, and one that sends fewer leaves its caller with what was in that memory before.
pub(super) fn check_announced(call: &Call, results: &[Argument]) -> Result<()> {
    for (slot, result) in results.iter().enumerate() {
        let Argument::Blocks(Some(bytes)) = result else { continue };
        let expected = match call.layout.parameters.get(slot) {
            Some(ParameterLayout::Array(array)) if comes_in_blocks(call, slot) => {
                array.transfer_bytes
            }
            // How long a file or text is, is its sender's to say.
            Some(ParameterLayout::Text | ParameterLayout::TextArray { .. })
                if is_wanted_content(call, slot) =>
            {
                *bytes
            }
            _ => 0,
        };
        if *bytes != expected {
            let parameter = call.routine.routine.interface.parameters.get(slot);
            return Err(Error::new(
                ErrorKind::Protocol,
                "receive a result",
                "the executable sent data that were not requested",
            )
            .with("parameter", parameter.map_or("", |parameter| parameter.name.as_str()))
            .with("bytes", bytes)
            .with("expected", expected)
            .fix("the routine may have damaged the memory of its process"));
        }
    }
    Ok(())
}

fn is_wanted_content(call: &Call, slot: usize) -> bool {
    let parameter = &call.routine.routine.interface.parameters[slot];
    let wanted = *want(call, slot) == Argument::Blocks(None);
    let layout = &call.layout.parameters[slot];
    wanted && parameter.mode.is_output() && files::is_content(parameter, layout)
}

/// Whether a result has a place of ours to come to.
fn comes_in_blocks(call: &Call, slot: usize) -> bool {
    let has_memory =
        call.memory.own.as_ref().is_some_and(|memory| memory.offsets.contains_key(&(slot as u16)));
    let has_memory = has_memory || call.memory.stay(slot).is_some_and(|stay| stay.memory.is_some());
    (has_memory || is_mapped(call, slot))
        && call.routine.routine.interface.parameters[slot].mode.is_output()
}

/// The executable's results in the client's terms.
pub(in crate::step) fn answer(
    call: &Call,
    results: Vec<Argument>,
    times: CallTimes,
) -> Result<CallResult> {
    let parameters = &call.routine.routine.interface.parameters;
    if results.len() != parameters.len() {
        return Err(Error::internal(
            "pass a result on",
            "the executable sent the wrong number of results",
        ));
    }
    let results: Result<Vec<Argument>> = results
        .into_iter()
        .enumerate()
        .map(|(slot, result)| in_clients_terms(call, slot, result))
        .collect();
    // A routine that wrote over its process's memory may have left any number in them.
    let since =
        |at: Instant| u64::try_from(at.since(call.times.accepted).as_nanos()).unwrap_or(u64::MAX);
    let begun = since(call.times.started);
    let times = CallTimes {
        queued_ns: since(call.times.queued),
        started_ns: begun.saturating_add(times.started_ns),
        finished_ns: begun.saturating_add(times.finished_ns),
        processor_ns: times.processor_ns,
    };
    Ok(CallResult { failure: None, results: results?, times, attributes: None })
}

fn in_clients_terms(call: &Call, slot: usize, result: Argument) -> Result<Argument> {
    if let (Argument::Data(id), false) = (want(call, slot), result == Argument::Absent) {
        return Ok(Argument::Data(*id));
    }
    let (Argument::Shared(..) | Argument::Blocks(_)) = result else { return Ok(result) };
    let parameter = &call.routine.routine.interface.parameters[slot];
    let file = call.memory.files.as_ref().and_then(|files| files.bytes.get(&(slot as u16)));
    match (want(call, slot), &call.layout.parameters[slot]) {
        (Argument::Blocks(None), ParameterLayout::Text | ParameterLayout::TextArray { .. })
            if file.is_some() =>
        {
            Ok(result)
        }
        (wanted @ Argument::Shared(..), ParameterLayout::Array(_)) => Ok(wanted.clone()),
        (Argument::Blocks(None), ParameterLayout::Array(array)) if comes_in_blocks(call, slot) => {
            Ok(match array.transfer_bytes {
                0 => Argument::Inline(InlineBytes::new()),
                bytes => Argument::Blocks(Some(bytes)),
            })
        }
        _ => Err(Error::internal(
            "pass a result on",
            "the executable sent an array that was not requested",
        )
        .with("parameter", &parameter.name)),
    }
}

/// The layout that results decide, where they do.
pub(super) fn layout_after(call: &Call, results: &[Argument]) -> Result<Option<Arc<CallLayout>>> {
    let interface = &call.routine.routine.interface;
    if results.len() != interface.parameters.len() {
        return Ok(None);
    }
    let bytes = results.iter().map(|result| match result {
        Argument::Inline(bytes) => Some(bytes.as_slice()),
        _ => None,
    });
    call.routine.sizer.resolve_results(interface, bytes, &call.layout)
}

/// The answer to a call that has no results.
pub(in crate::step) fn failed(call: &Call, error: &Error, now: Instant) -> CallResult {
    let since =
        |at: Instant| u64::try_from(at.since(call.times.accepted).as_nanos()).unwrap_or(u64::MAX);
    let has_run = call.run.has_run || call.run.executable.is_some();
    // 0 would say that it never began.
    let started_ns = if has_run { since(call.times.started).max(1) } else { 0 };
    let times = CallTimes { started_ns, finished_ns: since(now), ..CallTimes::default() };
    CallResult { failure: Some(error.into()), results: Vec::new(), times, attributes: None }
}
