//! An array that came back: the memory that it is in now, and whose that is.

use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::ElementType;
use farcall_idl::layout::ArrayLayout;
use farcall_link::memory::Region;
use farcall_wire::Argument as WireArgument;

use crate::array::Place;
use crate::marshal::{ResultCopy, Side, inline_output, lies_in};
use crate::results::{Extents, Output, OwnedArray};

/// A result that is an array, and what is known of it on this side.
pub(super) struct ArrayResult<'a> {
    pub(super) element: ElementType,
    pub(super) layout: &'a ArrayLayout,
    /// The rank that the caller gave, where it is lower than declared.
    pub(super) rank: Option<usize>,
    /// The memory that it was to come into.
    pub(super) side: Option<&'a Side>,
}

impl ArrayResult<'_> {
    /// What the caller has of it; `came_into` takes the memory that its blocks were received into.
    pub(super) fn output(
        &self,
        argument: WireArgument,
        came_into: impl FnOnce() -> Option<Arc<dyn Region>>,
        copies: &mut Vec<ResultCopy>,
    ) -> Result<Output> {
        match argument {
            WireArgument::Null | WireArgument::Absent => Ok(Output::Null),
            WireArgument::Inline(bytes) => {
                inline_output(&bytes, self.written(), self.element, self.layout, self.rank)
            }
            WireArgument::Data(_) => Ok(Output::Stayed(self.extents())),
            WireArgument::Shared(..) => self.shared(copies),
            WireArgument::Blocks(_) if self.written().is_some() => Ok(self.written_output()),
            WireArgument::Blocks(_) => {
                came_into().map(|region| self.packed(region)).ok_or_else(without_memory)
            }
            _ => Err(Error::new(
                ErrorKind::Protocol,
                "receive the results",
                "a result has an unknown kind",
            )),
        }
    }

    /// The caller's own memory for it.
    fn written(&self) -> Option<&Place> {
        self.side.and_then(|side| side.written.as_ref())
    }

    fn written_output(&self) -> Output {
        Output::Written(self.extents())
    }

    fn extents(&self) -> Extents {
        self.layout.dimensions.iter().map(|dimension| dimension.count).collect()
    }

    /// It lies in memory that both ends share: it is copied to the caller's from there, or stays.
    fn shared(&self, copies: &mut Vec<ResultCopy>) -> Result<Output> {
        let region = self.side.and_then(|side| side.region.as_ref()).ok_or_else(not_offered)?;
        let Some(place) = self.written() else {
            region.keep();
            let array = OwnedArray::laid_out_in(region.clone(), self.element, self.layout);
            return Ok(Output::Array(array.with_rank(self.rank)));
        };
        if !lies_in(region, place, self.layout)? {
            copies.push(ResultCopy {
                region: region.clone(),
                place: place.clone(),
                array: self.layout.clone(),
            });
        }
        Ok(self.written_output())
    }

    /// It came in blocks, into memory of its own.
    fn packed(&self, region: Arc<dyn Region>) -> Output {
        let array = OwnedArray::packed_in(region, self.element, self.layout);
        Output::Array(array.with_rank(self.rank))
    }
}

fn not_offered() -> Error {
    Error::new(
        ErrorKind::Protocol,
        "receive the results",
        "a result is in shared memory that was not offered",
    )
}

/// A result has nowhere to go.
pub(super) fn without_memory() -> Error {
    Error::internal("receive the results", "a result has no memory")
}
