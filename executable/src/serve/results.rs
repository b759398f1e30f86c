//! What a routine left behind, as the answer to its call.

use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::Parameter;
use farcall_idl::layout::{ArrayLayout, ParameterLayout};
use farcall_link::content::Outgoing;
use farcall_link::memory::{Block, Region};
use farcall_link::packing::Packing;
use farcall_link::strided::Strided;
use farcall_wire::{Argument, InlineBytes};

use super::call::{PendingCall, Place};
use super::files::CallFiles;
use super::module::LoadedRoutine;
use super::texts::{Answered, AnsweredTexts};
use farcall_native::invoke::Slot;

/// Arrays up to this many bytes come back inside the answer.
pub const INLINE_MAX: u64 = 4096;
/// Longest text a routine may answer.
const TEXT_BYTES_MAX: usize = 1 << 30;

impl PendingCall {
    /// One answer per parameter.
    pub(super) fn results(
        &mut self,
        loaded: &LoadedRoutine,
        slots: &[Slot],
        files: &CallFiles,
    ) -> Result<Vec<Argument>> {
        let interface = &loaded.routine.interface;
        let bytes = self.places.iter().zip(&self.layout.parameters).map(visible_bytes);
        let layout = loaded
            .sizer
            .resolve_results(interface, bytes, &self.layout)?
            .unwrap_or_else(|| self.layout.clone());
        let mut results = Vec::with_capacity(interface.parameters.len());
        let mut texts = AnsweredTexts::default();
        for (index, parameter) in interface.parameters.iter().enumerate() {
            let result = if !parameter.mode.is_output() || self.wanted[index] == Argument::Absent {
                Argument::Absent
            } else if matches!(self.places[index], Place::File(_)) {
                self.file_result(index, files)?
            } else {
                let layout = &layout.parameters[index];
                match self.text(
                    parameter,
                    layout,
                    (&self.places[index], slots[index]),
                    &mut texts,
                )? {
                    Some(Answered::Inside(text)) => text,
                    Some(Answered::Behind(reader)) => self.follow(index, reader),
                    None => self.result(index, layout)?,
                }
            };
            results.push(result);
        }
        Ok(results)
    }

    /// A result that is text, or an array of texts.
    fn text(
        &self,
        parameter: &Parameter,
        layout: &ParameterLayout,
        (place, slot): (&Place, Slot),
        answered: &mut AnsweredTexts,
    ) -> Result<Option<Answered>> {
        Ok(match (layout, place) {
            (ParameterLayout::Text, Place::Text(..) | Place::LongText(_)) => {
                Some(answered.one(read_text(parameter, slot.memory)?))
            }
            (
                ParameterLayout::TextArray { count },
                Place::Texts(offset) | Place::LongTexts(offset, _),
            ) => Some(answered.several(self.texts(parameter, *offset, *count)?)),
            _ => None,
        })
    }

    /// What is sent behind the answer.
    fn follow(&mut self, index: usize, reader: Box<dyn Outgoing>) -> Argument {
        let bytes = reader.travelling();
        self.sending_files.insert(index as u16, reader);
        Argument::Blocks(Some(bytes))
    }

    fn result(&mut self, index: usize, layout: &ParameterLayout) -> Result<Argument> {
        match (layout, &self.places[index]) {
            (ParameterLayout::Scalar { bytes }, Place::Memory(region, offset)) => {
                Ok(Argument::Inline(Block::of(region, *offset, *bytes as usize)?.bytes().into()))
            }
            (ParameterLayout::Array(array), Place::Memory(region, offset)) => {
                let packing = Packing::new(region.clone(), *offset, &Strided::of_layout(array))?;
                self.array_result(index, array, packing)
            }
            (_, Place::None) => Ok(Argument::Null),
            _ => Ok(Argument::Absent),
        }
    }

    fn array_result(
        &mut self,
        index: usize,
        array: &ArrayLayout,
        mut packing: Packing,
    ) -> Result<Argument> {
        if let Argument::Shared(segment, offset, _) = self.wanted[index] {
            return Ok(Argument::Shared(segment, offset, array.full_bytes));
        }
        if array.transfer_bytes <= INLINE_MAX {
            let mut bytes = InlineBytes::with_capacity(array.transfer_bytes as usize);
            for block in packing.blocks(array.transfer_bytes as usize)? {
                bytes.extend_from_slice(block.bytes());
            }
            return Ok(Argument::Inline(bytes));
        }
        self.sending.insert(index as u16, packing);
        Ok(Argument::Blocks(Some(array.transfer_bytes)))
    }

    /// What the routine left in a file; NULL if it left none.
    fn file_result(&mut self, index: usize, files: &CallFiles) -> Result<Argument> {
        let Some(mut reader) = files.left(index)? else { return Ok(Argument::Null) };
        let bytes = reader.travelling();
        if bytes <= INLINE_MAX {
            return Ok(Argument::Inline(reader.inline()?));
        }
        Ok(self.follow(index, reader))
    }

    fn texts(
        &self,
        parameter: &Parameter,
        offset: usize,
        count: u64,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let arena: Arc<dyn Region> = self.arena.clone();
        let pointers = Block::of(&arena, offset, count as usize * 8)?;
        let texts = pointers.bytes().chunks_exact(8).map(|pointer| {
            let address = usize::from_ne_bytes(pointer.try_into().expect("chunks of eight"));
            read_text(parameter, address as *const u8)
        });
        texts.collect()
    }
}

/// Bytes of values that ranges may refer to: scalars and the first elements of arrays.
fn visible_bytes<'a>((place, layout): (&'a Place, &ParameterLayout)) -> Option<&'a [u8]> {
    let Place::Memory(region, offset) = place else { return None };
    let bytes = match layout {
        ParameterLayout::Scalar { bytes } => *bytes,
        ParameterLayout::Array(array) => array.full_bytes,
        _ => return None,
    } as usize;
    let end = offset.checked_add(bytes)?;
    if end > region.bytes() {
        return None;
    }
    // SAFETY: within the region, which outlives the borrow; nobody writes until the results are
    // gathered, since the routine has returned.
    Some(unsafe { std::slice::from_raw_parts(region.base().add(*offset), bytes) })
}

/// Copies a routine's text; it may be static or alias an input, so it is never freed.
fn read_text(parameter: &Parameter, text: *const u8) -> Result<Option<Vec<u8>>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the routine's interface says that this is a NUL-terminated text; at most
    // TEXT_BYTES_MAX are looked at.
    let length = unsafe { libc::strnlen(text.cast(), TEXT_BYTES_MAX) };
    if length == TEXT_BYTES_MAX {
        return Err(Error::new(
            ErrorKind::LimitExceeded,
            "return a text",
            "it is longer than 1 GiB or has no terminating NUL",
        )
        .with("parameter", &parameter.name)
        .fix("terminate it with a NUL, or return a char array"));
    }
    // SAFETY: strnlen saw that many bytes.
    Ok(Some(unsafe { std::slice::from_raw_parts(text, length) }.to_vec()))
}
