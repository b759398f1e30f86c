//! What the first rank passes on to the others.

use farcall_idl::expression::Expression;
use farcall_idl::interface::{Dimension, Distribution, ElementType, Shape};
use farcall_idl::layout::ParameterLayout;
use farcall_wire::message::encode;
use farcall_wire::{Argument, Open};

use super::super::module::LoadedRoutine;

/// Whether a parameter has memory at all ranks: it is marked, or a number. OUT numbers are arrays
/// of one element.
pub(super) fn is_everywhere(loaded: &LoadedRoutine, index: usize) -> bool {
    let one = |dimension: &Dimension| dimension.size == Expression::Integer(1);
    let shape = &loaded.routine.interface.parameters[index].shape;
    let is_number = matches!(shape, Shape::Array { dimensions, .. } if dimensions.iter().all(one));
    is_number || loaded.routine.implementation.distribution(index) != Distribution::Root
}

/// A call as the other ranks are told of it: numbers and texts are in it, memory for marked arrays
/// is theirs to get.
pub fn for_others(loaded: &LoadedRoutine, open: &Open, layout: &[ParameterLayout]) -> Vec<u8> {
    let parameters = &loaded.routine.interface.parameters;
    let marked = |index| is_everywhere(loaded, index);
    let mut told = open.clone();
    for (index, argument) in told.arguments.iter_mut().enumerate() {
        let bytes = match &layout[index] {
            ParameterLayout::Array(array) => Some(array.transfer_bytes),
            _ => None,
        };
        let replaced = match (&*argument, bytes) {
            (Argument::Shared(..) | Argument::Blocks(_), Some(bytes)) if marked(index) => {
                Argument::Blocks(Some(bytes))
            }
            (Argument::Shared(_, _, bytes) | Argument::Blocks(Some(bytes)), None)
                if marked(index) =>
            {
                Argument::Blocks(Some(*bytes))
            }
            (Argument::Shared(..) | Argument::Blocks(_), _) => Argument::Null,
            (Argument::Absent, Some(_)) if !marked(index) => Argument::Null,
            // A file that is small.
            (Argument::Inline(_), None)
                if parameters[index].element == ElementType::Filename && !marked(index) =>
            {
                Argument::Null
            }
            _ if matches!(parameters[index].shape, Shape::Callback { .. }) => Argument::Null,
            _ => continue,
        };
        *argument = replaced;
    }
    // Results are rank 0's; of files, nobody else keeps any.
    let nothing = |index: usize| if marked(index) { Argument::Absent } else { Argument::Null };
    told.wanted = Some((0..parameters.len()).map(nothing).collect());
    told.attributes = None;
    encode(&told)
}
