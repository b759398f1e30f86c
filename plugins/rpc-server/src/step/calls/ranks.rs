//! How many processes MPI is to start for a call: what its opener asks for, or what the interface
//! says.
//!
//! Where neither says anything, the spawner's settings do, and they bound it in any case. Calls of
//! as many ranks share a pool: its executables consist of that many processes, and stay for the
//! next.

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::is_parallel;
use farcall_idl::values::ByteValues;
use farcall_wire::message::decode;
use farcall_wire::{Argument, Open, RANKS};

use crate::state::Known;

/// The number for a call; 0 where nobody says one, and for a routine that MPI does not start.
pub(in crate::step) fn of(routine: &Known, open: &Open) -> Result<u32> {
    if !is_parallel(&routine.module.executable.backend) {
        return Ok(0);
    }
    let asked = open.attributes.iter().flatten().find(|attribute| attribute.name == RANKS);
    if let Some(asked) = asked {
        return decode("number of ranks", &asked.value);
    }
    let Some(processors) = &routine.routine.interface.processors else { return Ok(0) };
    let given: Vec<Option<&[u8]>> = open.arguments.iter().map(inline).collect();
    let values = ByteValues::new(&routine.routine.interface, given.as_slice());
    let ranks = processors.evaluate_real(&values)?.round();
    if ranks >= 1.0 && ranks <= f64::from(u32::MAX) {
        return Ok(ranks as u32);
    }
    Err(Error::new(
        ErrorKind::InvalidArgument,
        "accept a call",
        "the routine needs a number of MPI processes, and none is set",
    )
    .with("Processors", ranks)
    .fix("set a number, or correct the interface file"))
}

/// The processors that a call takes by its interface, where MPI does not start its routine; nobody
/// is refused for a number that makes no sense.
pub(in crate::step) fn processors(routine: &Known, open: &Open) -> Option<u32> {
    let processors = routine.routine.interface.processors.as_ref()?;
    if is_parallel(&routine.module.executable.backend) {
        return None;
    }
    let given: Vec<Option<&[u8]>> = open.arguments.iter().map(inline).collect();
    let values = ByteValues::new(&routine.routine.interface, given.as_slice());
    let count = processors.evaluate_real(&values).ok()?.round();
    // What is no number, or too large for 32 bits, becomes the nearest.
    Some((count as u32).max(1))
}

fn inline(argument: &Argument) -> Option<&[u8]> {
    match argument {
        Argument::Inline(bytes) => Some(bytes.as_slice()),
        _ => None,
    }
}
