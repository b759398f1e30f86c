//! One call of a transaction as it is written down: its arguments as the message has them, and what
//! it makes.

use std::sync::Arc;

use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_graph::Argument as Written;
use farcall_idl::data::DataKind;
use farcall_idl::element::element_bytes;
use farcall_idl::interface::{ElementType, Interface, Mode, Parameter, Shape};
use farcall_idl::layout::{ArrayLayout, CallLayout, ParameterLayout};
use farcall_link::strided::Strided;
use farcall_wire::message::InlineBytes;

use super::Run;
use super::inputs::Inputs;
use super::recording::{MadeValue, refused};
use crate::argument::Argument;
use crate::array::Place;
use crate::client::Client;
use crate::contract::Contract;
use crate::data::{Data, storage_order};
use crate::marshal::{INLINE_MAX, complete, gather, packing_of, transfer_axes};

/// Where calls go that no transaction can have.
const OUTSIDE: &str = "make this call outside of the transaction";

/// Writes one call down.
pub(super) struct Writer<'a> {
    pub client: &'a Client,
    pub run: &'a Arc<Run>,
    pub contract: &'a Contract,
    pub inputs: &'a mut Inputs,
}

impl Writer<'_> {
    /// The arguments, and what the call makes.
    pub fn write(
        &mut self,
        mut arguments: Vec<Argument<'_>>,
    ) -> Result<(Vec<Written>, Vec<MadeValue>)> {
        let interface = self.contract.interface.clone();
        for (parameter, argument) in interface.parameters.iter().zip(&arguments) {
            self.check(parameter, argument)
                .map_err(|error| error.with("parameter", &parameter.name))?;
        }
        self.contract.fill_left_out(&mut arguments);
        let mut bytes = complete(self.contract, &arguments)?.bytes;
        let layout = self.layout(&arguments, &bytes)?;
        let known = |at: usize| layout.as_ref().map(|layout| &layout.parameters[at]);
        let mut written = Vec::with_capacity(arguments.len());
        let mut made = Vec::new();
        for (at, (parameter, argument)) in interface.parameters.iter().zip(&arguments).enumerate() {
            let one = One { interface: &interface, parameter, layout: known(at) };
            let bytes = bytes[at].take();
            let argument = self.argument(&one, argument, bytes);
            written.push(argument.map_err(|error| error.with("parameter", &parameter.name))?);
            made.extend(one.made(at as u16));
        }
        Ok((written, made))
    }

    /// Refuses what no transaction can have.
    fn check(&self, parameter: &Parameter, argument: &Argument<'_>) -> Result<()> {
        let is_text_array = matches!(parameter.shape, Shape::Array { .. })
            && parameter.element == ElementType::String;
        let outside = |message: &'static str| Err(refused(message).fix(OUTSIDE));
        match argument {
            _ if matches!(parameter.shape, Shape::Callback { .. }) => {
                outside("a call in a transaction cannot call functions of the program")
            }
            Argument::Unset => Ok(()),
            _ if parameter.element == ElementType::Filename => {
                outside("a call in a transaction cannot take files")
            }
            Argument::Texts(_) => outside("a call in a transaction cannot take several texts"),
            _ if is_text_array => outside("a call in a transaction cannot take several texts"),
            Argument::Url(_) => Err(no_url()),
            Argument::Array(_) if !parameter.mode.is_input() => {
                Err(refused("results of a transaction go to no array of the program")
                    .fix("leave it out, and fetch the result behind the transaction"))
            }
            Argument::Data(data) => self.check_data(parameter, data),
            _ => Ok(()),
        }
    }

    fn check_data(&self, parameter: &Parameter, data: &Data) -> Result<()> {
        let Some(made) = data.made_by().filter(|made| Arc::ptr_eq(&made.run, self.run)) else {
            return match data.is_later() {
                false => Ok(()),
                true => Err(refused("it is a result of another transaction, which has not begun")
                    .fix("end that one first, or make both calls in one transaction")),
            };
        };
        let is_number = parameter.is_plain_scalar();
        let is_one = data.kind().rank == 1 && data.kind().element == parameter.element;
        if !is_number || is_one && data.extents().is_none_or(|extents| extents == [1]) {
            return Ok(());
        }
        Err(refused("a result of another type was passed for one number")
            .with("result", format!("{} of call {}", data.kind(), made.call))
            .with("needed", format!("one {}", parameter.element.name()))
            .fix("pass a result of that type, or make this call outside of the transaction"))
    }

    /// Sizes of the call; `None` where they follow from what other calls make.
    fn layout(
        &self,
        arguments: &[Argument<'_>],
        bytes: &[Option<InlineBytes>],
    ) -> Result<Option<Arc<CallLayout>>> {
        let sizer = &self.contract.sizer;
        let is_open = |at: usize| {
            sizer.decides(at) && sizer.is_inline(at) && matches!(arguments[at], Argument::Data(_))
        };
        if (0..arguments.len()).any(is_open) {
            return Ok(None);
        }
        let values: Vec<Option<&[u8]>> = bytes.iter().map(Option::as_deref).collect();
        let limit = Bytes(isize::MAX as u64);
        sizer.resolve(&self.contract.interface, &values, limit).map(Some)
    }

    fn argument(
        &mut self,
        one: &One<'_>,
        argument: &Argument<'_>,
        bytes: Option<InlineBytes>,
    ) -> Result<Written> {
        if !one.is_read() {
            return Ok(Written::Absent);
        }
        match (argument, bytes) {
            (Argument::Data(data), _) => match data.made_by() {
                Some(made) if Arc::ptr_eq(&made.run, self.run) => {
                    Ok(Written::Result(made.call, made.slot))
                }
                _ => self.inputs.there(self.client, data).map(Written::Input),
            },
            (Argument::Null, None) => Ok(Written::Null),
            (_, Some(bytes)) => one.inline(&bytes),
            (Argument::Array(view), None) => self.array(one, &view.place),
            (Argument::Unset, None) if one.is_text() => Ok(Written::Null),
            // A default that follows from what other calls make, or an array without elements.
            (_, None) if one.is_empty() => Ok(Written::Inline(Vec::new())),
            (_, None) if one.parameter.default.is_some() => Ok(Written::Absent),
            (_, None) => {
                Err(refused("an argument is missing").fix("pass a value for the parameter"))
            }
        }
    }

    /// An array of the program, copied.
    fn array(&mut self, one: &One<'_>, place: &Place) -> Result<Written> {
        let Shape::Array { dimensions, order } = &one.parameter.shape else {
            return Err(refused("an array was passed for a parameter that takes one value")
                .fix("pass the value itself"));
        };
        let rank = dimensions.len();
        let step = element_bytes(one.interface, one.parameter.element);
        let (elements, extents, own_order) = match (&place.shape, one.layout) {
            (Some((counts, strides)), _) => {
                let order = storage_order(counts, strides);
                let axes = transfer_axes(counts, strides, rank, order);
                let mut extents = counts.clone();
                extents.resize(rank, 1);
                (Strided { offset: 0, element_bytes: step, axes }, extents, order)
            }
            (None, Some(ParameterLayout::Array(array))) => {
                let extents = array.dimensions.iter().map(|one| one.count).collect();
                (Strided::of_layout(array), extents, *order)
            }
            (None, _) => {
                return Err(refused("the size of an array follows from what another call makes")
                    .fix("pass the array with its shape"));
            }
        };
        let length = elements.bytes();
        one.check_length(length)?;
        if length > 0 && place.url(length).is_some() {
            return Err(no_url());
        }
        let kind = DataKind::new(one.parameter.element, rank, own_order);
        let is_short = length <= INLINE_MAX;
        if kind.is_none() && !is_short || is_short && self.inputs.takes_inline(length as usize) {
            let elements = match &place.shape {
                Some((counts, strides)) => {
                    let axes = transfer_axes(counts, strides, rank, *order);
                    Strided { axes, ..elements }
                }
                None => elements,
            };
            return one.inline(&gather(&mut packing_of(place, &elements)?)?);
        }
        let bytes = gather(&mut packing_of(place, &elements)?)?;
        let kind = kind.ok_or_else(|| too_long(length))?;
        Ok(Written::Input(self.inputs.array(self.client, kind, extents, bytes)))
    }
}

/// One parameter of a call.
struct One<'a> {
    interface: &'a Interface,
    parameter: &'a Parameter,
    /// `None` where it follows from what other calls make.
    layout: Option<&'a ParameterLayout>,
}

impl One<'_> {
    /// Whether the routine reads it.
    fn is_read(&self) -> bool {
        match self.layout {
            Some(ParameterLayout::Absent) => false,
            Some(layout) => layout.mode(self.parameter).is_input(),
            None => self.parameter.mode.is_input(),
        }
    }

    fn is_text(&self) -> bool {
        self.parameter.element == ElementType::String
    }

    fn array(&self) -> Option<&ArrayLayout> {
        match self.layout {
            Some(ParameterLayout::Array(array)) => Some(array),
            _ => None,
        }
    }

    fn is_empty(&self) -> bool {
        self.array().is_some_and(|array| array.transfer_bytes == 0)
    }

    fn check_length(&self, length: u64) -> Result<()> {
        let Some(array) = self.array().filter(|array| array.transfer_bytes != length) else {
            return Ok(());
        };
        Err(refused("an array has the wrong length")
            .with("bytes", length)
            .with("needed", array.transfer_bytes)
            .fix("pass the array that the interface declares"))
    }

    /// A value that goes into the message.
    fn inline(&self, bytes: &[u8]) -> Result<Written> {
        let length = bytes.len() as u64;
        self.check_length(length)?;
        if length > INLINE_MAX {
            return Err(too_long(length));
        }
        if self.is_text() && bytes.contains(&0) {
            return Err(refused("a string contains a NUL").fix("pass text without it"));
        }
        Ok(Written::Inline(bytes.to_vec()))
    }

    /// What the call makes for it, if that can stay at a server.
    fn made(&self, slot: u16) -> Option<MadeValue> {
        let is_absent = matches!(self.layout, Some(ParameterLayout::Absent));
        if !self.parameter.mode.is_output() || is_absent {
            return None;
        }
        let kind = DataKind::of_parameter(self.parameter)?;
        let counts =
            |array: &ArrayLayout| array.dimensions.iter().map(|one| one.count).collect::<Vec<_>>();
        let extents = self.array().filter(|_| !self.decides_itself()).map(counts);
        Some(MadeValue::new(slot, kind, extents))
    }

    /// Whether the routine itself says how much of an array comes back.
    fn decides_itself(&self) -> bool {
        let scope = self.interface.scope();
        self.parameter.mode != Mode::In
            && self.parameter.expressions().any(|one| scope.refers_to_output(one))
    }
}

fn no_url() -> Error {
    refused("a call in a transaction cannot fetch from a URL")
        .fix("make this call outside of the transaction, or pass the array")
}

fn too_long(length: u64) -> Error {
    let message = "a value is too long to be inside a transaction";
    Error::new(ErrorKind::LimitExceeded, "write a transaction down", message)
        .with("value", Bytes(length))
        .with("limit", Bytes(INLINE_MAX))
        .fix(OUTSIDE)
}
