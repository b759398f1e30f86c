//! Copies of a caller's arrays, for a call whose caller changes them as soon as it is started.

use std::sync::Arc;

use farcall_base::{Bytes, Result};
use farcall_idl::interface::{ElementType, Mode};
use farcall_idl::layout::{ParameterLayout, packed_strides};
use farcall_link::memory::{HeapRegion, Region};
use farcall_link::strided::Strided;

use super::complete::complete;
use super::views::{Direction, copy_place, given_elements, transfer_axes, url_at};
use crate::argument::{Argument, Destination, Passed};
use crate::array::View;
use crate::contract::Contract;

/// Has a call read copies of its arrays. Results go where they went.
///
/// # Errors
/// As [`super::marshal`].
pub fn copy_arrays(contract: &Contract, passed: &mut Passed, limit: Bytes) -> Result<()> {
    let interface = &*contract.interface;
    let values = complete(contract, &passed.arguments)?;
    let bytes: Vec<Option<&[u8]>> = values.bytes.iter().map(Option::as_deref).collect();
    let layout = contract.sizer.resolve(interface, &bytes, limit)?;
    for (index, parameter) in interface.parameters.iter().enumerate() {
        let of = &layout.parameters[index];
        let ParameterLayout::Array(array) = of else { continue };
        let is_text = matches!(parameter.element, ElementType::String | ElementType::Filename);
        let Argument::Array(view) = &passed.arguments[index] else { continue };
        if is_text || !of.mode(parameter).is_input() {
            continue;
        }
        let place = &view.place;
        if let Some(url) = url_at(parameter, array, place)? {
            passed.arguments[index] = Argument::Url(url);
            continue;
        }
        let from = given_elements(place, array);
        let counts: Vec<u64> = match &place.shape {
            Some((counts, _)) => counts.clone(),
            None => array.dimensions.iter().map(|dimension| dimension.count).collect(),
        };
        let Some(strides) = packed_strides(&counts, array.element_bytes, array.order) else {
            continue;
        };
        let axes = transfer_axes(&counts, &strides, array.dimensions.len(), array.order);
        let inside = Strided { offset: 0, element_bytes: array.element_bytes, axes };
        let region: Arc<dyn Region> =
            Arc::new(HeapRegion::new(usize::try_from(from.bytes()).unwrap_or(usize::MAX))?);
        copy_place(place, &from, &region, &inside, Direction::In)?;
        let copy = View::kept(region, 0, parameter.element, (counts, strides));
        let given = std::mem::replace(&mut passed.arguments[index], Argument::Array(copy));
        if parameter.mode == Mode::InOut
            && let (Some(place @ Destination::InPlace), Argument::Array(given)) =
                (passed.destinations.get_mut(index), given)
        {
            *place = Destination::Into(given);
        }
    }
    Ok(())
}
