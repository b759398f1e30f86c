//! What a call brings, checked against its interface.

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::{ElementType, Interface, Parameter};
use farcall_idl::layout::{ArrayLayout, ParameterLayout};
use farcall_link::packing::Packing;
use farcall_wire::{Argument, Open};

use super::super::module::LoadedRoutine;
use super::super::ranks;
use super::{PendingCall, Place};

impl PendingCall {
    /// Texts reach the other ranks inside a message, as they do the first.
    pub(super) fn check_ranks(&self, interface: &Interface) -> Result<()> {
        let is_long = |place: &Place| matches!(place, Place::LongText(_) | Place::LongTexts(..));
        match self.places.iter().position(is_long).filter(|_| ranks::led().is_some()) {
            None => Ok(()),
            Some(index) => Err(Error::new(
                ErrorKind::LimitExceeded,
                "run a routine",
                "a text is too long for a routine of several ranks",
            )
            .with("parameter", &interface.parameters[index].name)
            .fix("declare it as an array that is broadcast: IN broadcast char text[n]")),
        }
    }
}

/// Length that Fortran reads of a CHARACTER array: one element's, the extent of the fastest
/// dimension.
pub(super) fn text_extent(parameter: &Parameter, layout: &ParameterLayout) -> usize {
    match layout {
        ParameterLayout::Array(array) if parameter.element == ElementType::Char => {
            let strides = array.strides_bytes();
            let fastest = strides.iter().position(|stride| *stride == 1).unwrap_or(0);
            array.dimensions.get(fastest).map_or(1, |dimension| dimension.size as usize)
        }
        _ => 1,
    }
}

pub(super) fn wanted(open: &Open, count: usize) -> Vec<Argument> {
    open.wanted.clone().unwrap_or_else(|| vec![Argument::Blocks(None); count])
}

pub(super) fn check_open(loaded: &LoadedRoutine, open: &Open) -> Result<()> {
    let count = loaded.routine.interface.parameters.len();
    let wanted = open.wanted.as_ref().map_or(count, Vec::len);
    if open.contract != loaded.contract {
        return Err(Error::new(
            ErrorKind::InterfaceChanged,
            "run a routine",
            "the interface changed",
        )
        .retryable());
    }
    if open.arguments.len() != count || wanted != count {
        return Err(Error::new(
            ErrorKind::Protocol,
            "run a routine",
            "the call has the wrong number of parameters",
        )
        .with("interface", count)
        .with("call", open.arguments.len()));
    }
    Ok(())
}

pub(super) fn wrong_length(parameter: &Parameter, given: usize, needed: usize) -> Error {
    Error::new(ErrorKind::Protocol, "run a routine", "a value has the wrong length")
        .with("parameter", &parameter.name)
        .with("bytes", given)
        .with("needed", needed)
}

pub(super) fn check_blocks(
    parameter: &Parameter,
    length: Option<u64>,
    array: &ArrayLayout,
) -> Result<()> {
    match length {
        Some(length) if length == array.transfer_bytes => Ok(()),
        length => Err(wrong_length(
            parameter,
            length.unwrap_or(0) as usize,
            array.transfer_bytes as usize,
        )),
    }
}

pub(super) fn fill_array(parameter: &Parameter, packing: &mut Packing, given: &[u8]) -> Result<()> {
    if given.len() as u64 != packing.left() {
        return Err(wrong_length(parameter, given.len(), packing.left() as usize));
    }
    let mut done = 0;
    while done < given.len() {
        let mut space = packing.space(given.len() - done)?;
        let count = space.length();
        space.bytes().copy_from_slice(&given[done..done + count]);
        packing.arrived(count)?;
        done += count;
    }
    Ok(())
}
