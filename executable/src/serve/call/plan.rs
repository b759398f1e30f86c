//! Where each value of a call is to lie, decided before there is any memory.

use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::{ElementType, Mode, Parameter};
use farcall_idl::layout::{ArrayLayout, ParameterLayout};
use farcall_link::memory::HeapRegion;
use farcall_wire::{Argument, Open};

use super::super::CALL_BYTES_MAX;
use super::super::files::Content;
use super::super::memory::{ArenaPlan, Segments};
use super::Place;
use super::checks::wrong_length;

/// Memory given for a parameter that is not referenced: enough for a routine that peeks at its
/// first element.
const ABSENT_BYTES: u64 = 64;

/// A place that may still be an offset in an arena that is not made yet.
pub(super) enum Planned {
    Arena(usize),
    ContentInArena(usize, usize),
    Ready(Place),
}

impl Planned {
    pub(super) fn in_arena(self, arena: &Arc<HeapRegion>) -> Place {
        match self {
            Planned::Arena(offset) => Place::Memory(arena.clone(), offset),
            Planned::ContentInArena(offset, bytes) => {
                Place::File(Some(Content { region: arena.clone(), offset, bytes }))
            }
            Planned::Ready(place) => place,
        }
    }
}

pub(super) struct Builder<'a> {
    pub(super) open: &'a Open,
    pub(super) segments: &'a Segments,
    pub(super) plan: ArenaPlan,
}

impl Builder<'_> {
    pub(super) fn plan(
        &mut self,
        index: usize,
        parameter: &Parameter,
        layout: &ParameterLayout,
    ) -> Result<Planned> {
        let argument = &self.open.arguments[index];
        Ok(match layout {
            ParameterLayout::Absent => Planned::Arena(self.plan.reserve(ABSENT_BYTES)?),
            ParameterLayout::Scalar { bytes } => Planned::Arena(self.plan.reserve(*bytes)?),
            ParameterLayout::Array(_) if *argument == Argument::Null => Planned::Ready(Place::None),
            ParameterLayout::Array(array) => self.plan_array(index, parameter, array)?,
            ParameterLayout::Text | ParameterLayout::TextArray { .. }
                if parameter.element == ElementType::Filename =>
            {
                self.plan_file(index, parameter)?
            }
            ParameterLayout::Text => Planned::Ready(self.plan_text(argument)?),
            // NULL is not the same as none of them; an array of some has a pointer for each.
            ParameterLayout::TextArray { count: 0 }
                if parameter.mode == Mode::In && *argument == Argument::Null =>
            {
                Planned::Ready(Place::None)
            }
            ParameterLayout::TextArray { count } => {
                Planned::Ready(self.plan_texts(parameter, argument, *count)?)
            }
            ParameterLayout::Callback if *argument == Argument::Null => Planned::Ready(Place::None),
            ParameterLayout::Callback => Planned::Ready(Place::Function),
        })
    }

    fn plan_array(
        &mut self,
        index: usize,
        parameter: &Parameter,
        array: &ArrayLayout,
    ) -> Result<Planned> {
        let wanted = self.open.wanted.as_ref().map(|wanted| &wanted[index]);
        // A result has its own place, to which an INOUT array that lies elsewhere is copied.
        let shared = match (&self.open.arguments[index], wanted) {
            (_, Some(Argument::Shared(segment, offset, length))) if parameter.mode.is_output() => {
                Some((segment, offset, length))
            }
            (Argument::Shared(segment, offset, length), _)
                if parameter.mode.is_input() && self.is_used_there(index, parameter, array)? =>
            {
                Some((segment, offset, length))
            }
            _ => None,
        };
        match shared {
            Some((segment, offset, length)) => {
                let (region, at) =
                    self.segments.find(*segment, *offset, *length, array.full_bytes)?;
                if region.is_sealed() && parameter.mode.is_output() {
                    let message = "the peer shared memory that is read-only for a result";
                    return Err(Error::new(ErrorKind::Protocol, "map shared memory", message)
                        .with("parameter", &parameter.name));
                }
                Ok(Planned::Ready(Place::Memory(region, at)))
            }
            None => Ok(Planned::Arena(self.plan.reserve(array.full_bytes)?)),
        }
    }

    /// Whether a routine is given an array in place: not one that it would write to though nobody
    /// may, nor one without the gaps that the routine expects.
    fn is_used_there(
        &self,
        index: usize,
        parameter: &Parameter,
        array: &ArrayLayout,
    ) -> Result<bool> {
        let Argument::Shared(segment, offset, length) = self.open.arguments[index] else {
            return Ok(true);
        };
        let needed = array.transfer_bytes;
        let (region, _) = self.segments.find(segment, offset, length, needed)?;
        let is_whole = length >= array.full_bytes;
        Ok(!region.is_sealed() || (is_whole && parameter.mode == Mode::In))
    }

    /// A file has its content, if it comes with one, in memory until the call begins.
    fn plan_file(&mut self, index: usize, parameter: &Parameter) -> Result<Planned> {
        let wanted = self.open.wanted.as_ref().map(|wanted| &wanted[index]);
        if parameter.mode == Mode::Out {
            let named = wanted != Some(&Argument::Null);
            return Ok(Planned::Ready(if named { Place::File(None) } else { Place::None }));
        }
        match &self.open.arguments[index] {
            Argument::Inline(content) => {
                let offset = self.plan.reserve(content.len() as u64)?;
                Ok(Planned::ContentInArena(offset, content.len()))
            }
            Argument::Blocks(Some(bytes)) if *bytes <= CALL_BYTES_MAX => {
                Ok(Planned::ContentInArena(self.plan.reserve(*bytes)?, *bytes as usize))
            }
            Argument::Shared(segment, offset, bytes) => {
                let (region, offset) = self.segments.find(*segment, *offset, *bytes, *bytes)?;
                Ok(Planned::Ready(Place::File(Some(Content {
                    region,
                    offset,
                    bytes: *bytes as usize,
                }))))
            }
            Argument::Null => Ok(Planned::Ready(Place::None)),
            _ => Err(Error::new(
                ErrorKind::Protocol,
                "run a routine",
                "a file arrived as something else",
            )
            .with("parameter", &parameter.name)),
        }
    }

    fn plan_text(&mut self, argument: &Argument) -> Result<Place> {
        match argument {
            Argument::Inline(text) => {
                let offset = self.plan.reserve(text.len() as u64 + 1)?;
                Ok(Place::Text(Some(offset), text.len()))
            }
            argument => {
                let long = Content::of_text(argument, self.segments)?;
                Ok(long.map_or(Place::Text(None, 0), Place::LongText))
            }
        }
    }

    fn plan_texts(
        &mut self,
        parameter: &Parameter,
        argument: &Argument,
        count: u64,
    ) -> Result<Place> {
        let bytes = match argument {
            Argument::Texts(texts) if texts.len() as u64 == count => {
                texts.iter().flatten().map(|text| text.len() as u64 + 1).sum::<u64>()
            }
            Argument::Texts(texts) => {
                return Err(wrong_length(parameter, texts.len(), count as usize));
            }
            _ => 0,
        };
        let long = Content::of_text(argument, self.segments)?;
        let pointers = count.checked_mul(8).filter(|bytes| *bytes < CALL_BYTES_MAX);
        let pointers = pointers.ok_or_else(|| wrong_length(parameter, 0, count as usize))?;
        let offset = self.plan.reserve(pointers + 64 + bytes)?;
        Ok(long.map_or(Place::Texts(offset), |content| Place::LongTexts(offset, content)))
    }
}
