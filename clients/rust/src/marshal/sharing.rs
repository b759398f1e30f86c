//! Arrays in memory that both ends share: memory of the connection, which they are copied to, or
//! the program's own.

use std::ops::Range;
use std::sync::Arc;

use farcall_base::{Error, Result};
use farcall_idl::layout::{ArrayLayout, ParameterLayout};
use farcall_link::memory::Region;
use farcall_link::strided::Strided;
use farcall_wire::Argument as WireArgument;

use super::views::{Direction, copy_place, given_elements, laid_out, spans};
use super::{One, OwnMemory, Shared, Side};
use crate::array::{Access, Place};
use crate::lending::Wanted;

impl One<'_> {
    /// The argument lies in memory that the server shares; the result comes there too.
    pub(super) fn share(
        &mut self,
        array: &ArrayLayout,
        Shared { region, segment }: Shared,
        source: Option<&Place>,
        destination: Option<Place>,
    ) -> Result<()> {
        if let Some(place) = source {
            self.copy_in(array, place, &region)?;
        }
        let place = WireArgument::Shared(*segment, 0, array.full_bytes);
        self.lies_at(
            place,
            Side { region: Some(region), written: destination, segment: Some(segment) },
        );
        Ok(())
    }

    pub(super) fn copy_in(
        &self,
        array: &ArrayLayout,
        place: &Place,
        region: &Arc<dyn Region>,
    ) -> Result<()> {
        let from = given_elements(place, array);
        if from.bytes() != array.transfer_bytes {
            return Err(self.wrong("an array has the wrong length"));
        }
        copy_place(place, &from, region, &Strided::of_layout(array), Direction::In)
    }

    /// The server finds the argument there, or is to put the result there.
    pub(super) fn lies_at(&mut self, place: WireArgument, side: Side) {
        if self.mode.is_input() {
            self.call.arguments[self.index] = place.clone();
        }
        self.want(place);
        self.call.sides.push((self.index, side));
    }

    /// Has the server use the program's own memory, if the array lies in such as the interface lays
    /// it out.
    pub(super) fn lend(
        &mut self,
        array: &ArrayLayout,
        source: Option<&Place>,
        destination: Option<&Place>,
    ) -> Result<bool> {
        let (place, access) = match (source, destination) {
            (_, Some(destination)) => (destination, Access::Write),
            // What is written comes back in memory of its own.
            (Some(source), None) if !self.parameter.mode.is_output() => (source, Access::Read),
            _ => return Ok(false),
        };
        let whole = array.transfer_bytes == array.full_bytes;
        let Some(addresses) = laid_out(place, array).filter(|_| whole || access == Access::Read)
        else {
            return Ok(false);
        };
        // What is read and written at once, in different ways or by different results, needs
        // copies.
        let source =
            source.filter(|source| source.base != place.base || source.shape != place.shape);
        if source.is_some_and(|source| overlap(&spans(source, array), &addresses))
            || self.writes_elsewhere(&addresses)
        {
            return Ok(false);
        }
        let wanted = Wanted { addresses, access, has_gaps: !whole };
        let named = |error: Error| error.with("parameter", &self.parameter.name);
        let Some(OwnMemory { own, segment }) = self.memory.lend(&wanted).map_err(named)? else {
            return Ok(false);
        };
        let region: Arc<dyn Region> = own.clone();
        if let Some(source) = source {
            self.copy_in(array, source, &region)?;
        }
        let place = WireArgument::Shared(*segment, own.offset(), array.full_bytes);
        self.call.own.push(own);
        self.lies_at(
            place,
            Side { region: Some(region), written: destination.cloned(), segment: Some(segment) },
        );
        Ok(true)
    }

    /// Whether another result of this call is to be written there.
    pub(super) fn writes_elsewhere(&self, addresses: &Range<usize>) -> bool {
        let others = (0..self.interface.parameters.len()).filter(|index| *index != self.index);
        others.filter_map(|index| Some((index, self.destination_of(index)?))).any(
            |(index, place)| {
                let ParameterLayout::Array(array) = &self.call.layout.parameters[index] else {
                    return false;
                };
                overlap(&spans(place, array), addresses)
            },
        )
    }
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}
