//! Is a call what its interface says, and what memory does it need? Nothing of a client's is
//! trusted beyond this.

use std::collections::BTreeMap;
use std::sync::Arc;

use farcall_base::{Bytes, ConnectionId, Error, ErrorKind, Result};
use farcall_idl::data::DataKind;
use farcall_idl::interface::{Interface, Mode, Parameter};
use farcall_idl::layout::{ArrayLayout, CallLayout, ParameterLayout};
use farcall_idl::sizer::Sizer;
use farcall_wire::{Argument, Open};

use crate::state::{MemoryId, OwnMemory, argument_word};
use crate::step::Surroundings;
use crate::step::calls::fetch;
use crate::step::calls::files;
use crate::step::data::make::PlannedStay;

/// Results up to this size come back inside the answer and need no memory of ours.
pub const INLINE_MAX: u64 = 4096;
/// Alignment of arrays in memory.
pub(in crate::step) const ALIGNMENT: u64 = 64;

/// Works out the sizes of a call from its inline values.
pub fn layout(
    interface: &Interface,
    sizer: &Sizer,
    open: &Open,
    limit: Bytes,
) -> Result<Arc<CallLayout>> {
    let count = interface.parameters.len();
    if open.arguments.len() != count
        || open.wanted.as_ref().is_some_and(|wanted| wanted.len() != count)
    {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            "accept a call",
            "wrong number of arguments",
        )
        .with("routine", interface.full_name())
        .with("interface", count)
        .with("call", open.arguments.len()));
    }
    let given: Vec<Option<&[u8]>> = open
        .arguments
        .iter()
        .map(|argument| match argument {
            Argument::Inline(bytes) => Some(bytes.as_slice()),
            _ => None,
        })
        .collect();
    for (parameter, bytes) in interface.parameters.iter().zip(&given) {
        check_scalar(interface, parameter, *bytes)?;
    }
    sizer.resolve(interface, &given, limit)
}

/// A scalar must have its type's size before anything is computed from it.
fn check_scalar(interface: &Interface, parameter: &Parameter, bytes: Option<&[u8]>) -> Result<()> {
    if !parameter.is_plain_scalar() || !parameter.mode.is_input() {
        return Ok(());
    }
    let needed = farcall_idl::element::element_bytes(interface, parameter.element);
    match bytes {
        Some(bytes) if bytes.len() as u64 == needed => Ok(()),
        None if parameter.default.is_some() => Ok(()),
        _ => Err(misfit(parameter, "a value has the wrong size").with("needed", needed)),
    }
}

/// What a call needs of the server.
#[derive(Default)]
pub struct Plan {
    /// Bytes of argument data that come as frames.
    pub announced: u64,
    /// Whether an array is named by URL.
    pub fetches: bool,
    /// Results that stay.
    pub stays: Vec<PlannedStay>,
    offsets: BTreeMap<u16, u64>,
    bytes: u64,
}

impl Plan {
    fn reserve(&mut self, slot: usize, bytes: u64) {
        // The sum of all arrays was checked against the call's limit; should that be near 2^64,
        // there is no such memory.
        let offset = self.bytes.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
        self.offsets.insert(slot as u16, offset);
        self.bytes = offset.saturating_add(bytes);
    }

    /// Bytes of that memory.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gets the memory, if any is needed.
    pub fn allocate(
        &self,
        surroundings: &mut dyn Surroundings,
        client: ConnectionId,
    ) -> Result<Option<OwnMemory>> {
        self.allocate_by(|bytes| surroundings.allocate(client, bytes))
    }

    /// The same for a call of this principal, whose client is not here.
    pub fn allocate_for(
        &self,
        surroundings: &mut dyn Surroundings,
        principal: &str,
    ) -> Result<Option<OwnMemory>> {
        self.allocate_by(|bytes| surroundings.allocate_for(principal, bytes))
    }

    fn allocate_by(
        &self,
        allocate: impl FnOnce(u64) -> Result<(MemoryId, u64, u64)>,
    ) -> Result<Option<OwnMemory>> {
        if self.offsets.is_empty() {
            return Ok(None);
        }
        let (id, identity, bytes) = allocate(self.bytes.max(1))?;
        Ok(Some(OwnMemory { id, identity, bytes, offsets: self.offsets.clone() }))
    }
}

/// Checks each argument against its layout and finds those that need memory of the server's.
/// With its files, whose length no layout tells, a call must not exceed `limit` either.
pub fn plan(
    interface: &Interface,
    open: &Open,
    layout: &CallLayout,
    segments: &BTreeMap<u32, u64>,
    limit: Bytes,
) -> Result<Plan> {
    let mut plan = Plan::default();
    let mut left = limit.0.saturating_sub(layout.array_bytes());
    for (slot, (parameter, layout)) in
        interface.parameters.iter().zip(&layout.parameters).enumerate()
    {
        let argument = &open.arguments[slot];
        let wanted = open.wanted.as_ref().map_or(&Argument::Blocks(None), |wanted| &wanted[slot]);
        if *layout == ParameterLayout::Callback {
            check_function(parameter, argument, wanted)?;
            continue;
        }
        check_direction(parameter, layout, argument)?;
        if let ParameterLayout::Array(array) = layout {
            check_array(parameter, array, argument, segments)?;
            check_wanted(parameter, array, argument, wanted, segments)?;
            if let Argument::Url(_) = argument {
                fetch::check(parameter)?;
                plan.fetches = true;
            }
            if let Argument::Blocks(_) = argument {
                plan.announced += array.transfer_bytes;
            }
            let stay = planned_stay(slot, parameter, array, argument, wanted)?;
            let is_elsewhere = stay.as_ref().is_some_and(|stay| stay.memory.is_some());
            if !is_elsewhere && needs_memory(parameter, array, argument, wanted) {
                plan.reserve(slot, array.full_bytes);
            }
            let is_shared = matches!(argument, Argument::Shared(..));
            if stay.is_some() && is_shared && DataKind::of_routine(&open.routine).is_none() {
                return Err(elsewhere(parameter));
            }
            plan.stays.extend(stay);
        } else if files::comes_as_content(parameter, layout, argument) {
            let bytes = files::check(parameter, argument)?;
            check_wanted_value(parameter, wanted)?;
            if let Some(bytes) = bytes {
                left = left
                    .checked_sub(bytes)
                    .ok_or_else(|| files::too_large(parameter, bytes, limit))?;
                plan.announced += bytes;
                plan.reserve(slot, bytes);
            }
        } else {
            check_value(parameter, layout, argument)?;
            check_wanted_value(parameter, wanted)?;
        }
    }
    Ok(plan)
}

/// Where a parameter's bytes go in a call: an INOUT array that was left out only comes back.
pub(in crate::step) fn mode_of(parameter: &Parameter, argument: &Argument) -> Mode {
    match (parameter.mode, argument) {
        (Mode::InOut, Argument::Absent) => Mode::Out,
        (mode, _) => mode,
    }
}

const WRONG_LENGTH: &str = "an array has the wrong length";

/// A function stays where it is: that there is one is all that travels.
fn check_function(parameter: &Parameter, argument: &Argument, wanted: &Argument) -> Result<()> {
    match (argument, wanted) {
        (Argument::Absent | Argument::Null, Argument::Absent | Argument::Blocks(None)) => Ok(()),
        _ => Err(misfit(parameter, "a function arrived as something else")
            .with("kind", argument_word(argument))),
    }
}

pub(in crate::step) fn misfit(parameter: &Parameter, message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "accept a call", message)
        .with("parameter", &parameter.name)
        .fix("update the client: its encoding of the call does not match the interface")
}

fn check_direction(
    parameter: &Parameter,
    layout: &ParameterLayout,
    argument: &Argument,
) -> Result<()> {
    let is_there = *layout != ParameterLayout::Absent;
    match argument {
        Argument::Absent
            if layout.mode(parameter).is_input() && is_there && parameter.default.is_none() =>
        {
            Err(misfit(parameter, "an argument is missing"))
        }
        Argument::Absent => Ok(()),
        // What the routine does not read may come all the same.
        _ if !parameter.mode.is_input() || !is_there => {
            Err(misfit(parameter, "an argument was passed for a parameter that has none"))
        }
        _ => Ok(()),
    }
}

fn check_array(
    parameter: &Parameter,
    array: &ArrayLayout,
    argument: &Argument,
    segments: &BTreeMap<u32, u64>,
) -> Result<()> {
    match argument {
        Argument::Absent | Argument::Null | Argument::Url(_) | Argument::Data(_) => Ok(()),
        Argument::Inline(bytes) if bytes.len() as u64 == array.transfer_bytes => Ok(()),
        Argument::Blocks(Some(length)) if *length == array.transfer_bytes => Ok(()),
        Argument::Inline(_) | Argument::Blocks(_) => {
            Err(Error::new(ErrorKind::InvalidArgument, "accept a call", WRONG_LENGTH)
                .with("parameter", &parameter.name)
                .with("needed", array.transfer_bytes)
                .with("kind", argument_word(argument))
                .fix(
                    "pass an array of the size that the other arguments say; in a transaction, \
                     results of other calls may say it",
                ))
        }
        Argument::Shared(segment, offset, length) => {
            check_shared(parameter, array, (*segment, *offset, *length), segments)
        }
        _ => Err(misfit(parameter, "an array arrived as something else")
            .with("kind", argument_word(argument))),
    }
}

fn check_shared(
    parameter: &Parameter,
    array: &ArrayLayout,
    (segment, offset, length): (u32, u64, u64),
    segments: &BTreeMap<u32, u64>,
) -> Result<()> {
    let bytes = *segments.get(&segment).ok_or_else(|| lost(parameter))?;
    let inside = offset.checked_add(length).is_some_and(|end| end <= bytes);
    if inside && length >= array.full_bytes && offset % 16 == 0 {
        return Ok(());
    }
    Err(misfit(parameter, "the array is not inside the shared memory")
        .with("segment bytes", bytes)
        .with("offset", offset)
        .with("length", length)
        .with("needed", array.full_bytes))
}

/// The connection knows each segment that a call names, so this one was dropped by us.
fn lost(parameter: &Parameter) -> Error {
    let message = "the server has no memory or file descriptor left for the memory of an array";
    Error::new(ErrorKind::LimitExceeded, "accept a call", message)
        .with("parameter", &parameter.name)
        .fix(
            "try again later; start the server with more open files (ulimit -n), or with fewer \
            clients",
        )
        .retryable()
}

fn check_wanted(
    parameter: &Parameter,
    array: &ArrayLayout,
    argument: &Argument,
    wanted: &Argument,
    segments: &BTreeMap<u32, u64>,
) -> Result<()> {
    match wanted {
        Argument::Shared(segment, offset, length) if parameter.mode.is_output() => {
            check_shared(parameter, array, (*segment, *offset, *length), segments)?;
            let is_elsewhere = argument != wanted && !matches!(argument, Argument::Data(_));
            if mode_of(parameter, argument) == Mode::InOut && is_elsewhere {
                Err(elsewhere(parameter))
            } else {
                Ok(())
            }
        }
        // The routine works on the memory that the argument came in: nothing of ours holds the
        // result.
        Argument::Blocks(None)
            if parameter.mode == Mode::InOut && matches!(argument, Argument::Shared(..)) =>
        {
            Err(elsewhere(parameter))
        }
        Argument::Absent | Argument::Null | Argument::Blocks(None) | Argument::Data(_) => Ok(()),
        _ => Err(wanted_impossibly(parameter, wanted)),
    }
}

/// A result that is to stay, if it is; it comes to memory of its own if that need not be packed.
fn planned_stay(
    slot: usize,
    parameter: &Parameter,
    array: &ArrayLayout,
    argument: &Argument,
    wanted: &Argument,
) -> Result<Option<PlannedStay>> {
    let Argument::Data(id) = wanted else { return Ok(None) };
    let kind = DataKind::of_parameter(parameter).filter(|_| parameter.mode.is_output());
    let kind = kind.ok_or_else(|| {
        misfit(parameter, "what is not an array of numbers that the routine gives cannot stay")
    })?;
    let needs = needs_memory(parameter, array, argument, &Argument::Blocks(None))
        && !matches!(argument, Argument::Shared(..));
    let is_packed = array.full_bytes == array.transfer_bytes && array.full_bytes > 0;
    let memory = (needs && is_packed).then_some(array.full_bytes);
    Ok(Some(PlannedStay { slot: slot as u16, id: *id, kind, bytes: array.transfer_bytes, memory }))
}

fn elsewhere(parameter: &Parameter) -> Error {
    misfit(parameter, "the result of an INOUT array was requested in another place")
}

/// Values come back inside the answer, and nowhere else.
fn check_wanted_value(parameter: &Parameter, wanted: &Argument) -> Result<()> {
    match wanted {
        Argument::Absent | Argument::Null | Argument::Blocks(None) => Ok(()),
        _ => Err(wanted_impossibly(parameter, wanted)),
    }
}

fn wanted_impossibly(parameter: &Parameter, wanted: &Argument) -> Error {
    misfit(parameter, "a result was requested in an unsupported way")
        .with("kind", argument_word(wanted))
}

fn check_value(parameter: &Parameter, layout: &ParameterLayout, argument: &Argument) -> Result<()> {
    let fits = match layout {
        ParameterLayout::Scalar { bytes } => match argument {
            Argument::Inline(given) => given.len() as u64 == *bytes,
            Argument::Absent => true,
            _ => false,
        },
        ParameterLayout::Text => {
            matches!(argument, Argument::Absent | Argument::Null | Argument::Inline(_))
        }
        ParameterLayout::TextArray { count } => match argument {
            Argument::Texts(texts) => texts.len() as u64 == *count,
            Argument::Absent | Argument::Null => true,
            _ => false,
        },
        _ => *argument == Argument::Absent,
    };
    if fits {
        Ok(())
    } else {
        Err(misfit(parameter, "a value does not fit").with("kind", argument_word(argument)))
    }
}

/// Arrays that travel as frames lie in our memory; so do results too long to come inside the
/// answer.
fn needs_memory(
    parameter: &Parameter,
    array: &ArrayLayout,
    argument: &Argument,
    wanted: &Argument,
) -> bool {
    let comes = matches!(argument, Argument::Blocks(_) | Argument::Url(_));
    let goes = parameter.mode.is_output()
        && matches!(wanted, Argument::Blocks(None) | Argument::Data(_))
        && array.transfer_bytes > INLINE_MAX
        && !matches!(argument, Argument::Null);
    comes || goes
}
