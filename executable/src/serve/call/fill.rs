//! What came with a call is written where its routine finds it.

use farcall_base::Result;
use farcall_idl::element::element_bytes;
use farcall_idl::interface::{Interface, Mode, Parameter};
use farcall_idl::layout::ParameterLayout;
use farcall_idl::scalar::ScalarValue;
use farcall_idl::values::ByteValues;
use farcall_link::memory::{Block, Region, Space};
use farcall_link::packing::Packing;
use farcall_link::strided::Strided;
use farcall_wire::{Argument, Open};

use super::checks::{check_blocks, fill_array, wrong_length};
use super::{PendingCall, Place, Segments};

impl PendingCall {
    /// Writes what came inline, and prepares to receive what comes as data.
    pub(super) fn fill(
        &mut self,
        interface: &Interface,
        open: &Open,
        values: &ByteValues<'_>,
        segments: &Segments,
    ) -> Result<()> {
        for index in 0..interface.parameters.len() {
            let parameter = &interface.parameters[index];
            match (&self.layout.parameters[index], &open.arguments[index], &self.places[index]) {
                (ParameterLayout::Scalar { bytes }, argument, Place::Memory(region, offset)) => {
                    let bytes = usize::try_from(*bytes).unwrap_or(0);
                    let mut space = Space::of(&**region, *offset, bytes)?;
                    match argument {
                        Argument::Inline(given) if given.len() == bytes => {
                            space.bytes().copy_from_slice(given)
                        }
                        Argument::Inline(given) => {
                            return Err(wrong_length(parameter, given.len(), bytes));
                        }
                        _ if parameter.mode == Mode::Out => {}
                        _ => {
                            values.scalar(index as u16)?.write(parameter.element, space.bytes())?
                        }
                    }
                }
                (ParameterLayout::Array(_), argument, Place::Memory(..)) => {
                    self.fill_array(index, parameter, argument, segments)?;
                }
                (ParameterLayout::Text, Argument::Inline(text), Place::Text(Some(offset), _)) => {
                    Space::of(&*self.arena, *offset, text.len())?.bytes().copy_from_slice(text);
                }
                (_, Argument::Inline(content), Place::File(Some(place))) => {
                    place.space()?.bytes().copy_from_slice(content);
                }
                (
                    _,
                    Argument::Blocks(_),
                    Place::File(Some(place)) | Place::LongText(place) | Place::LongTexts(_, place),
                ) => {
                    self.announced_bytes += place.bytes as u64;
                    self.receiving.insert(index as u16, place.receive()?);
                }
                (
                    ParameterLayout::TextArray { .. },
                    Argument::Texts(texts),
                    Place::Texts(offset),
                ) => {
                    self.fill_texts(*offset, texts)?;
                }
                _ => {}
            }
            if parameter.logical {
                self.make_truth(interface, index)?;
            }
        }
        Ok(())
    }

    fn fill_array(
        &mut self,
        index: usize,
        parameter: &Parameter,
        argument: &Argument,
        segments: &Segments,
    ) -> Result<()> {
        let ParameterLayout::Array(array) = &self.layout.parameters[index] else { return Ok(()) };
        let Place::Memory(region, offset) = &self.places[index] else { return Ok(()) };
        let mut packing = Packing::new(region.clone(), *offset, &Strided::of_layout(array))?;
        match argument {
            Argument::Inline(given) => fill_array(parameter, &mut packing, given)?,
            Argument::Blocks(length) => {
                check_blocks(parameter, *length, array)?;
                self.announced_bytes += array.transfer_bytes;
                self.receiving.insert(index as u16, packing);
            }
            Argument::Shared(segment, at, length) if parameter.mode.is_input() => {
                let needed = array.transfer_bytes;
                let (from, at) = segments.find(*segment, *at, *length, needed)?;
                if from.base() != region.base() {
                    let value = Block::of(&from, at, needed as usize)?;
                    fill_array(parameter, &mut packing, value.bytes())?;
                } else if from.is_sealed() && !parameter.constant {
                    self.usage.is_copied(from);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A single value that is not 0 is true also for code that looks at one bit of it, or takes it
    /// for a `bool`.
    fn make_truth(&self, interface: &Interface, index: usize) -> Result<()> {
        let Place::Memory(region, offset) = &self.places[index] else { return Ok(()) };
        let element = interface.parameters[index].element;
        let width = element_bytes(interface, element);
        let is_one = match &self.layout.parameters[index] {
            ParameterLayout::Scalar { .. } => true,
            ParameterLayout::Array(array) => array.full_bytes == width,
            _ => false,
        };
        let is_here = is_one && !self.receiving.contains_key(&(index as u16));
        if is_here {
            let mut space = Space::of(&**region, *offset, width as usize)?;
            let truth = i64::from(space.bytes().iter().any(|byte| *byte != 0));
            ScalarValue::Integer(truth).write(element, space.bytes())?;
        }
        Ok(())
    }

    fn fill_texts(&self, offset: usize, texts: &[Option<minicbor::bytes::ByteVec>]) -> Result<()> {
        let base = self.arena.base() as usize;
        let mut text_at = (offset + texts.len() * 8).next_multiple_of(64);
        for (index, text) in texts.iter().enumerate() {
            let address = text.as_ref().map_or(0, |_| base + text_at);
            Space::of(&*self.arena, offset + index * 8, 8)?
                .bytes()
                .copy_from_slice(&address.to_ne_bytes());
            if let Some(text) = text {
                Space::of(&*self.arena, text_at, text.len())?.bytes().copy_from_slice(text);
                text_at += text.len() + 1;
            }
        }
        Ok(())
    }
}
