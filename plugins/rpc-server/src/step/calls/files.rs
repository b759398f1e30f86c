//! Contents of files and long texts on their way through the server: bytes of a length that no
//! interface tells. They are bounded as a call's arrays are, and judged by whoever reads them.

use std::collections::BTreeMap;

use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_call::{Place, Side};
use farcall_idl::interface::{ElementType, Parameter};
use farcall_idl::layout::ParameterLayout;
use farcall_link::strided::Strided;
use farcall_wire::Argument;

use crate::state::{Call, OwnMemory, ResultFiles, argument_word};
use crate::step::calls::check::{ALIGNMENT, misfit};
use crate::step::{SlotMemory, Surroundings};

/// Whether a parameter is a file, or an array of them, in this call.
pub fn is_file(parameter: &Parameter, layout: &ParameterLayout) -> bool {
    let travels = matches!(layout, ParameterLayout::Text | ParameterLayout::TextArray { .. });
    parameter.element == ElementType::Filename && travels
}

/// Whether a parameter may come as a content does: a file, or a text, or an array of them.
pub fn is_content(parameter: &Parameter, layout: &ParameterLayout) -> bool {
    let travels = matches!(layout, ParameterLayout::Text | ParameterLayout::TextArray { .. });
    travels && matches!(parameter.element, ElementType::Filename | ElementType::String)
}

/// Whether an argument does: texts that are too long for a message.
pub fn comes_as_content(
    parameter: &Parameter,
    layout: &ParameterLayout,
    argument: &Argument,
) -> bool {
    is_file(parameter, layout)
        || is_content(parameter, layout) && matches!(argument, Argument::Blocks(_))
}

/// Checks how a file comes; returns how many bytes of it come as frames, if they do. Nothing is set
/// aside yet.
pub fn check(parameter: &Parameter, argument: &Argument) -> Result<Option<u64>> {
    match argument {
        Argument::Absent | Argument::Null | Argument::Inline(_) => Ok(None),
        Argument::Blocks(Some(bytes @ 1..)) => Ok(Some(*bytes)),
        _ => Err(misfit(parameter, "a file arrived as something else")
            .with("kind", argument_word(argument))),
    }
}

/// Bytes of a file or text that came as frames.
pub fn argument_bytes(call: &Call, slot: usize) -> Option<u64> {
    if !is_content(&call.routine.routine.interface.parameters[slot], &call.layout.parameters[slot])
    {
        return None;
    }
    match call.open.arguments[slot] {
        Argument::Blocks(bytes) => bytes,
        _ => None,
    }
}

/// Where the bytes of a file or text lie; `None` for what is neither.
pub fn memory_of(call: &Call, place: &Place) -> Option<SlotMemory> {
    let (memory, bytes) = match place.side {
        Side::Arguments => {
            (call.memory.own.as_ref()?, argument_bytes(call, usize::from(place.slot))?)
        }
        Side::Results => {
            let files = call.memory.files.as_deref()?;
            (&files.memory, *files.bytes.get(&place.slot)?)
        }
    };
    let base = *memory.offsets.get(&place.slot)?;
    Some(SlotMemory { memory: memory.id, base, array: Strided::contiguous(bytes) })
}

/// An outcome came with files or texts behind it: makes room for those that the client wants.
///
/// # Errors
/// `LimitExceeded` when they are too large; then what comes of them is thrown away.
pub fn make_room(
    call: &mut Call,
    results: &[Argument],
    limit: Bytes,
    surroundings: &mut dyn Surroundings,
) -> Result<()> {
    if !results.iter().any(|result| matches!(result, Argument::Blocks(_))) {
        return Ok(());
    }
    // Of a call that runs again, those of the run before.
    if let Some(before) = call.memory.files.take() {
        surroundings.release(before.memory.id);
    }
    let mut offsets = BTreeMap::new();
    let mut bytes = BTreeMap::new();
    let mut total = 0_u64;
    let parameters = call.routine.routine.interface.parameters.iter().zip(&call.layout.parameters);
    for (slot, ((parameter, layout), result)) in parameters.zip(results).enumerate() {
        let Argument::Blocks(Some(length)) = result else { continue };
        if !is_content(parameter, layout) || !parameter.mode.is_output() {
            continue;
        }
        offsets.insert(slot as u16, total);
        bytes.insert(slot as u16, *length);
        let end = total.saturating_add(*length);
        total = end.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
        if call.layout.array_bytes().saturating_add(total) > limit.0 {
            return Err(too_large(parameter, *length, limit));
        }
    }
    if bytes.is_empty() {
        return Ok(());
    }
    let (id, identity, size) = surroundings.allocate_for(call.caller.rights.principal(), total)?;
    call.memory.files = Some(Box::new(ResultFiles {
        memory: OwnMemory { id, identity, bytes: size, offsets },
        bytes,
    }));
    Ok(())
}

/// What a caller is told whose file is too large, in either direction.
pub fn too_large(parameter: &Parameter, bytes: u64, limit: Bytes) -> Error {
    let message = match parameter.element {
        ElementType::String => "with this text, the call's data exceed the server's limit",
        _ => "with this file, the call's data exceed the server's limit",
    };
    let operation = match parameter.element {
        ElementType::String => "pass a text",
        _ => "pass a file",
    };
    Error::new(ErrorKind::LimitExceeded, operation, message)
        .with("parameter", &parameter.name)
        .with("bytes", bytes)
        .with("call_bytes_max", limit)
        .fix("write or pass less data, or raise call_bytes_max in the server's farcall.toml")
}
