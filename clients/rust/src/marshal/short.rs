//! Calls whose values all lie in their message: written straight from the caller's arguments, and
//! their results straight to the caller's arrays.
//!
//! Most calls are so, and there is nothing of memory, blocks or files to keep for them. What is
//! unusual about a call's arguments makes it one that is marshalled like all others.

use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_idl::interface::{ElementType, Mode, Parameter};
use farcall_idl::layout::{ArrayLayout, CallLayout, ParameterLayout};
use farcall_wire::{Argument as WireArgument, OpenExtras, OpenHead, OpenWriter};

use super::complete::number_bytes;
use super::prepared::number;
use super::views::{gather, given_elements, packing_of, whole, write_result};
use super::{INLINE_MAX, Ranks, destination_of, is_shape_of, place_of};
use crate::argument::Passed;
use crate::array::Place;
use crate::contract::Contract;
use crate::results::{Extents, Output, OwnedArray};

/// How such calls of one kind are written.
pub struct Short {
    head: OpenHead,
    /// One per parameter.
    steps: Vec<Step>,
    /// The parameters that have a result.
    results: Vec<usize>,
}

/// What is written for one parameter.
enum Step {
    /// Nothing.
    Absent,
    /// Nothing of the caller's array, which only takes the result.
    Unread,
    /// This value.
    Fixed(Box<[u8]>),
    /// The caller's number, as this type.
    Number(ElementType),
    /// The caller's array.
    Array,
}

/// What is known of a parameter in all calls of a kind.
pub enum Content<'a> {
    /// A number that each call has its own of.
    Number,
    /// The value of all.
    Fixed(&'a [u8]),
    /// An array.
    Array,
    /// Nothing.
    Unset,
}

impl Short {
    /// `None` where something is not a number or a short array, or its size is the routine's word.
    pub fn new<'a>(
        contract: &Contract,
        layout: &CallLayout,
        contents: impl Iterator<Item = Option<Content<'a>>>,
    ) -> Option<Short> {
        if contract.sizer.results_decide() {
            return None;
        }
        let parameters = contract.interface.parameters.iter().zip(&layout.parameters);
        let step = |((parameter, layout), content): (
            (&Parameter, &ParameterLayout),
            Option<Content<'_>>,
        )| match (parameter.mode, layout, content?) {
            (Mode::Work, ..) | (_, ParameterLayout::Absent, Content::Unset) => Some(Step::Absent),
            (Mode::In, ParameterLayout::Scalar { .. }, Content::Number) => {
                Some(Step::Number(parameter.element))
            }
            (Mode::In, ParameterLayout::Scalar { .. }, Content::Fixed(value)) => {
                Some(Step::Fixed(value.into()))
            }
            (_, ParameterLayout::Array(array), content) if array.transfer_bytes <= INLINE_MAX => {
                match (layout.mode(parameter).is_input(), content) {
                    (true, Content::Array) => Some(Step::Array),
                    (false, Content::Array) if parameter.mode.is_input() => Some(Step::Unread),
                    (false, Content::Array | Content::Unset) => Some(Step::Absent),
                    _ => None,
                }
            }
            _ => None,
        };
        let steps: Vec<Step> = parameters.zip(contents).map(step).collect::<Option<_>>()?;
        let head = OpenHead::new(&contract.name, &contract.call_hash, steps.len());
        let all = contract.interface.parameters.iter().enumerate();
        let results = all.filter(|(_, parameter)| parameter.mode.is_output());
        Some(Short { head, steps, results: results.map(|(index, _)| index).collect() })
    }

    /// The call's Open, in memory that was used before; `None` where something is unusual, which
    /// marshalling tells or does otherwise.
    pub fn encode(
        &self,
        contract: &Contract,
        layout: &CallLayout,
        passed: &Passed,
        id: CallId,
        extras: &OpenExtras,
        used: Vec<u8>,
    ) -> Option<Vec<u8>> {
        let mut out = self.head.begin(used, id, extras);
        for (index, step) in self.steps.iter().enumerate() {
            match step {
                Step::Absent => out.absent(),
                Step::Unread if place_of(&passed.arguments[index])?.may_be_url => return None,
                Step::Unread => out.absent(),
                Step::Fixed(value) => out.inline(value),
                Step::Number(element) => {
                    let value = number(&passed.arguments[index])?;
                    out.inline(&number_bytes(&contract.interface, *element, value)?);
                }
                Step::Array => {
                    let ParameterLayout::Array(array) = &layout.parameters[index] else {
                        return None;
                    };
                    write_array(&mut out, array, place_of(&passed.arguments[index])?)?;
                }
            }
        }
        let is_right = |index: &usize| {
            let parameter = &contract.interface.parameters[*index];
            let ParameterLayout::Array(array) = &layout.parameters[*index] else { return true };
            destination_of(parameter.mode, passed, *index).is_none_or(|place| {
                place.is_of(parameter.element) && place.is_writable() && is_shape_of(array, place)
            })
        };
        self.results.iter().all(is_right).then(|| out.finish(extras))
    }

    /// Whether the results lie in the message as they should. Others are received like those of
    /// all calls.
    pub fn takes(&self, results: &[WireArgument]) -> bool {
        let lies_here = |result: &WireArgument| {
            matches!(result, WireArgument::Inline(_) | WireArgument::Null | WireArgument::Absent)
        };
        results.len() == self.steps.len() && results.iter().all(lies_here)
    }
}

fn write_array(out: &mut OpenWriter, array: &ArrayLayout, place: &Place) -> Option<()> {
    if place.may_be_url {
        return None;
    }
    if let Some(bytes) = whole(place, array) {
        out.inline(bytes);
        return Some(());
    }
    let mut packing = packing_of(place, &given_elements(place, array)).ok()?;
    (packing.left() == array.transfer_bytes).then_some(())?;
    out.inline(&gather(&mut packing).ok()?);
    Some(())
}

/// The result of an array that came in the message.
pub fn inline_output(
    bytes: &[u8],
    destination: Option<&Place>,
    element: ElementType,
    array: &ArrayLayout,
    rank: Option<usize>,
) -> Result<Output> {
    if let Some(place) = destination {
        write_result(bytes, place, array)?;
        // Most have one dimension, for which collecting takes longer than all else here.
        let mut shape = Extents::new();
        array.dimensions.iter().for_each(|dimension| shape.push(dimension.count));
        return Ok(Output::Written(shape));
    }
    if bytes.len() as u64 != array.transfer_bytes {
        let message = "a result has the wrong length";
        return Err(Error::new(ErrorKind::Protocol, "receive the results", message));
    }
    Ok(Output::Array(OwnedArray::of_bytes(bytes, element, array)?.with_rank(rank)))
}

/// The results of a call of which [`Short::takes`] said that they lie in the message.
pub fn short_outputs(
    contract: &Contract,
    layout: &CallLayout,
    ranks: &Ranks,
    passed: &Passed,
    results: &[WireArgument],
) -> Result<Vec<Output>> {
    let mut outputs = Vec::with_capacity(results.len());
    for (index, result) in results.iter().enumerate() {
        let parameter = &contract.interface.parameters[index];
        outputs.push(match (&layout.parameters[index], result) {
            _ if !parameter.mode.is_output() => Output::None,
            (ParameterLayout::Array(array), WireArgument::Inline(bytes)) => {
                let destination = destination_of(parameter.mode, passed, index);
                let rank = ranks.iter().find(|(of, _)| *of == index).map(|(_, rank)| *rank);
                inline_output(bytes, destination, parameter.element, array, rank)
                    .map_err(|error| error.with("parameter", &parameter.name))?
            }
            (ParameterLayout::Array(_), _) => Output::Null,
            _ => Output::None,
        });
    }
    Ok(outputs)
}
