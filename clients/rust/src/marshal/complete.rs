//! The values of a call: what the caller gave, and what follows from that, as bytes.

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::element::element_bytes;
use farcall_idl::infer::{self, Given};
use farcall_idl::interface::{ElementType, Interface, Order, Parameter, Shape};
use farcall_idl::scalar::ScalarValue;
use farcall_link::strided::Strided;
use farcall_wire::message::InlineBytes;

use super::views::{gather, packing_of, transfer_axes};
use super::{INLINE_MAX, Ranks};
use crate::argument::Argument;
use crate::contract::Contract;
use crate::data;

/// The caller's values, completed and as bytes.
pub struct Values {
    pub bytes: Vec<Option<InlineBytes>>,
    /// Rank that the caller gave, where it is lower than declared.
    pub ranks: Ranks,
}

/// Completes the arguments by what they determine.
pub fn complete(contract: &Contract, arguments: &[Argument<'_>]) -> Result<Values> {
    let interface = &*contract.interface;
    let (completed, contents) = with_given(contract, arguments, |given, contents| {
        Ok((infer::complete(interface, given)?, contents.to_vec()))
    })?;
    let ranks = completed.lower_ranks.into_iter().collect();
    let mut bytes = contents;
    for (index, value) in completed.scalars.iter().enumerate() {
        if let Some(value) = value {
            bytes[index] = Some(scalar_bytes(
                interface,
                &interface.parameters[index],
                *value,
                &arguments[index],
            )?);
        }
    }
    Ok(Values { bytes, ranks })
}

/// Does something with the arguments as inference wants them, and with the bytes of those that sizes
/// may refer to.
pub fn with_given<T>(
    contract: &Contract,
    arguments: &[Argument<'_>],
    work: impl FnOnce(&[Given<'_>], &[Option<InlineBytes>]) -> Result<T>,
) -> Result<T> {
    let interface = &*contract.interface;
    if arguments.len() != interface.parameters.len() {
        return Err(Error::internal("call", "one argument per parameter is expected"));
    }
    // Before anything of an array is read: it is as long as its own elements make it.
    for (parameter, argument) in interface.parameters.iter().zip(arguments) {
        match argument {
            Argument::Array(view) => {
                view.place.check_element(&parameter.name, parameter.element)?;
            }
            Argument::Data(data) => data.check_kind(parameter)?,
            _ => {}
        }
    }
    let counts: Vec<[u64; 1]> = arguments.iter().map(strings_of).collect();
    let contents: Vec<Option<InlineBytes>> = arguments
        .iter()
        .enumerate()
        .map(|(index, argument)| {
            content_of(interface, argument, index, contract.sizer.is_inline(index))
        })
        .collect::<Result<_>>()?;
    let given: Vec<Given<'_>> = interface
        .caller_parameters()
        .map(|(index, parameter)| {
            given(parameter, &arguments[index], &counts[index], contents[index].as_deref())
        })
        .collect::<Result<_>>()?;
    work(&given, &contents)
}

/// A scalar's value as the interface's type has it.
pub fn scalar_bytes(
    interface: &Interface,
    parameter: &Parameter,
    value: ScalarValue,
    given: &Argument<'_>,
) -> Result<InlineBytes> {
    if let Argument::Raw(raw) = given {
        return Ok(raw.as_slice().into());
    }
    if let Some(bytes) = common_bytes(parameter.element, value) {
        return Ok(bytes);
    }
    let mut bytes = InlineBytes::from_elem(0, element_bytes(interface, parameter.element) as usize);
    value
        .write_exactly(parameter.element, &mut bytes)
        .map_err(|error| error.with("parameter", &parameter.name))?;
    Ok(bytes)
}

/// A number as the interface's type has it; `None` where it is not one of that type.
pub fn number_bytes(
    interface: &Interface,
    element: ElementType,
    value: ScalarValue,
) -> Option<InlineBytes> {
    let rarely = || {
        let mut bytes = InlineBytes::from_elem(0, element_bytes(interface, element) as usize);
        let is_written = value.fits(element) && value.write_exactly(element, &mut bytes).is_ok();
        is_written.then_some(bytes)
    };
    common_bytes(element, value).or_else(rarely)
}

/// The same for the commonest types, of which there is nothing to check.
#[inline]
fn common_bytes(element: ElementType, value: ScalarValue) -> Option<InlineBytes> {
    match (element, value) {
        (ElementType::Float64, ScalarValue::Real(value)) => {
            Some(InlineBytes::from_slice(&value.to_ne_bytes()))
        }
        (ElementType::Int64, ScalarValue::Integer(value)) => {
            Some(InlineBytes::from_slice(&value.to_ne_bytes()))
        }
        (ElementType::Int32, ScalarValue::Integer(value)) => {
            i32::try_from(value).ok().map(|value| InlineBytes::from_slice(&value.to_ne_bytes()))
        }
        _ => None,
    }
}

/// The number of strings in an array of them.
fn strings_of(argument: &Argument<'_>) -> [u64; 1] {
    match argument {
        Argument::Texts(texts) => [texts.len() as u64],
        _ => [0],
    }
}

/// Bytes of values that sizes may refer to: strings, raw scalars, and the elements of arrays that
/// must travel inline.
fn content_of(
    interface: &Interface,
    argument: &Argument<'_>,
    index: usize,
    inline: bool,
) -> Result<Option<InlineBytes>> {
    let parameter = &interface.parameters[index];
    if parameter.element == ElementType::Filename {
        // No size refers to a file, and its content may be large.
        return Ok(None);
    }
    match argument {
        Argument::Text(text) => Ok(Some(text.as_slice().into())),
        Argument::Raw(raw) => Ok(Some(raw.as_slice().into())),
        Argument::Array(view) if inline && parameter.mode.is_input() => {
            let Some((shape, strides)) = &view.place.shape else { return Ok(None) };
            let (rank, order) = match &parameter.shape {
                Shape::Array { dimensions, order } => (dimensions.len().max(shape.len()), *order),
                Shape::Scalar | Shape::Callback { .. } => (shape.len(), Order::Column),
            };
            let axes = transfer_axes(shape, strides, rank, order);
            let array = Strided {
                offset: 0,
                element_bytes: element_bytes(interface, parameter.element),
                axes,
            };
            let mut packing = packing_of(&view.place, &array)?;
            let length = packing.left();
            if length > INLINE_MAX * 64 {
                return Err(Error::new(
                    ErrorKind::LimitExceeded,
                    "call",
                    "an array that sizes depend on is too long",
                )
                .with("parameter", &parameter.name)
                .with("bytes", length));
            }
            gather(&mut packing).map(|bytes| Some(bytes.into()))
        }
        _ => Ok(None),
    }
}

fn unfit(parameter: &Parameter, message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "call", message)
        .with("parameter", &parameter.name)
        .fix("pass the value itself")
}

fn given<'a>(
    parameter: &Parameter,
    argument: &'a Argument<'_>,
    count: &'a [u64; 1],
    content: Option<&'a [u8]>,
) -> Result<Given<'a>> {
    Ok(match argument {
        Argument::Unset => Given::Unset,
        Argument::Data(data) if data::is_array(parameter) => match data.extents() {
            Some(shape) => Given::Array { shape },
            None => Given::Other,
        },
        Argument::Data(data) if parameter.is_plain_scalar() && data.is_later() => Given::Later,
        Argument::Data(data) => {
            if parameter.is_plain_scalar() {
                data.check_begun("call")?;
            }
            return Err(unfit(parameter, "data was passed for a parameter that is not an array"));
        }
        // It says nothing of sizes, wherever it leads.
        Argument::Url(_) if matches!(parameter.shape, Shape::Array { .. }) => Given::Other,
        Argument::Url(_) => {
            return Err(unfit(parameter, "a URL was passed for a parameter that is not an array"));
        }
        _ if parameter.element == ElementType::Filename && parameter.shape == Shape::Scalar => {
            Given::Other
        }
        // NULL is a value of texts and arrays; it says nothing of sizes.
        Argument::Null
            if parameter.shape != Shape::Scalar || parameter.element == ElementType::String =>
        {
            Given::Other
        }
        Argument::Null => Given::Unset,
        Argument::Callback(_) => Given::Other,
        Argument::Integer(value) => Given::Integer(*value),
        Argument::Real(value) => Given::Real(*value),
        Argument::Complex(re, im) => Given::Complex(*re, *im),
        Argument::Raw(raw) => Given::Bytes(raw),
        Argument::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Given::Text(text),
            Err(_) => Given::Bytes(text),
        },
        // Where results are to go says nothing of how many there are.
        Argument::Texts(_) if !parameter.mode.is_input() => Given::Other,
        // Their number is an extent like that of any array; of several dimensions it tells none.
        Argument::Texts(_) if has_several_dimensions(&parameter.shape) => Given::Other,
        Argument::Texts(_) => Given::Array { shape: count },
        Argument::Array(view) => {
            if let Some((shape, _)) = &view.place.shape {
                return Ok(content
                    .map_or(Given::Array { shape }, |bytes| Given::Elements { shape, bytes }));
            }
            if matches!(parameter.shape, Shape::Scalar) {
                let message = "an array was passed for a parameter that takes one value";
                return Err(unfit(parameter, message));
            }
            // It is there; its extents follow from the other arguments.
            Given::Other
        }
    })
}

fn has_several_dimensions(shape: &Shape) -> bool {
    match shape {
        Shape::Array { dimensions, .. } => dimensions.len() > 1,
        _ => false,
    }
}
