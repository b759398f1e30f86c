//! The native call: tagged values checked against the interface, and turned into arguments.

mod texts;

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::Arc;

use farcall_base::Bytes;
use farcall_base::abi::element::CHAR;
use farcall_base::abi::status::OK;
use farcall_base::abi::tag::{CONST, ELEMENT, OTHER, POINTER};
use farcall_client::idl::element::element_bytes;
use farcall_client::idl::interface::{Dimension, ElementType, Interface, Mode, Parameter, Shape};
use farcall_client::idl::layout::{ParameterLayout, packed_strides, resolve};
use farcall_client::idl::scalar::ScalarValue;
use farcall_client::idl::values::ByteValues;
use farcall_client::{
    Argument, CallOptions, Client, Destination, Error, ErrorKind, NativeFunction, Result, Routine,
    View,
};

use crate::boundary::{Place, elements, guard, object, text};
use crate::call::{CallObject, Places, Prepared, call, start};
use crate::client::ClientObject;
use crate::error::ErrorObject;
use crate::form::Form;
use crate::passing::{c_type, fits, passing};
use crate::tagged::{TaggedValue, scalar};

/// An array that sizes refer to and that is longer than this is the client's to refuse.
const ELEMENTS_BYTES_MAX: u64 = 1 << 20;

/// More strings than this in one argument are a mistake.
const TEXTS_MAX: u64 = 1 << 24;

/// The arguments of a call, in the making.
struct Making<'i, 'a> {
    routine: &'i Routine,
    interface: &'i Interface,
    prepared: Prepared<'a>,
    /// Of arrays that sizes refer to, by parameter, once their extents are known.
    elements: BTreeMap<usize, Vec<u8>>,
}

/// Turns one value per parameter that a caller passes into arguments.
///
/// # Safety
/// Pointers point to what their tags say, and to as many elements as the interface says, through
/// `'a`.
pub unsafe fn prepare<'a>(routine: &Routine, values: &[TaggedValue]) -> Result<Prepared<'a>> {
    // SAFETY: the caller's promise, here and below.
    if let Some(prepared) = unsafe { Form::of(routine)?.prepare(routine, values) } {
        return Ok(prepared);
    }
    let interface = routine.interface();
    check_count(interface, values.len())?;
    let arguments = interface.parameters.iter().map(|_| Argument::Unset).collect();
    // Up to the last that has one.
    let written = interface
        .parameters
        .iter()
        .rposition(|parameter| parameter.mode == Mode::InOut)
        .map_or(0, |last| last + 1);
    let destinations = (0..written).map(|_| Destination::InPlace).collect();
    let prepared = Prepared { arguments, destinations, places: Places::default() };
    let mut making = Making { routine, interface, prepared, elements: BTreeMap::new() };
    let mut has_text_arrays = false;
    let mut has_nulls = false;
    for (position, ((index, parameter), value)) in
        interface.caller_parameters().zip(values).enumerate()
    {
        let wanted = passing(parameter);
        if !fits(value.tag, wanted) {
            return Err(misfit(interface, position, parameter, (value.tag, wanted)));
        }
        // SAFETY: the caller's promise, and the tag is the one that the interface wants.
        let argument = unsafe { making.argument(index, parameter, wanted, value) };
        let argument = argument.map_err(|error| error.with("argument", position + 1))?;
        has_nulls |= matches!(argument, Argument::Null);
        has_text_arrays |= is_text_array(parameter);
        making.prepared.arguments[index] = argument;
    }
    // Now that all scalars are known, so are the extents of what has to be read here. An array that
    // sizes refer to may be as long as an element of another one says; strings come last, as any of
    // these may say how many there are. SAFETY: as above.
    while routine.has_inline() && unsafe { making.read_elements(values) } {}
    let text_arrays = interface.caller_parameters().zip(values).filter(|_| has_text_arrays);
    for ((index, parameter), value) in text_arrays {
        if is_text_array(parameter) && !value.pointer().is_null() {
            // SAFETY: as above.
            unsafe { making.read_texts(index, parameter, value.pointer().cast()) }?;
        }
    }
    if has_nulls {
        making.check_nulls()?;
    }
    Ok(making.prepared)
}

/// Checks that so many arguments are what the interface wants.
///
/// # Errors
/// `InvalidArgument` with both numbers, and the names.
pub fn check_count(interface: &Interface, given: usize) -> Result<()> {
    if interface.caller_parameters().count() == given {
        return Ok(());
    }
    let names: Vec<&str> =
        interface.caller_parameters().map(|(_, parameter)| parameter.name.as_str()).collect();
    let arguments = if names.len() == 1 { "argument" } else { "arguments" };
    let message =
        format!("{} takes {} {arguments}, not {given}", interface.full_name(), names.len());
    let takes = if names.is_empty() {
        "pass none".to_owned()
    } else {
        format!("pass {}", names.join(", "))
    };
    Err(Error::new(ErrorKind::InvalidArgument, "call", message).fix(takes))
}

/// What is said of a tag that is not the one that the interface wants.
#[cold]
fn misfit(
    interface: &Interface,
    position: usize,
    parameter: &Parameter,
    (given, wanted): (u32, u32),
) -> Error {
    if matches!(parameter.shape, Shape::Callback { .. }) {
        let message = format!(
            "argument {} ({}) is {}, the interface wants a function",
            position + 1,
            parameter.name,
            c_type(given)
        );
        return Error::new(ErrorKind::InvalidArgument, "call", message)
            .with("routine", interface.full_name())
            .fix("pass a function with the callback's parameters, or NULL");
    }
    let position = position + 1;
    let name = &parameter.name;
    let given_type = c_type(given);
    let wanted_type = if parameter.stream { "FILE *".to_owned() } else { c_type(wanted) };
    let message =
        format!("argument {position} ({name}) is {given_type}, the interface wants {wanted_type}");
    let error = Error::new(ErrorKind::InvalidArgument, "call", message)
        .with("routine", interface.full_name());
    error.fix(if parameter.stream { "pass an open file".to_owned() } else { advice(given, wanted) })
}

/// What to do about a tag that does not fit.
fn advice(given: u32, wanted: u32) -> String {
    match (given & POINTER != 0, wanted & POINTER != 0) {
        (true, false) if wanted & ELEMENT == CHAR => {
            "pass a character by value: 'N', not \"N\"".to_owned()
        }
        (true, false) => "pass the value itself".to_owned(),
        (false, true) => format!("pass its address as {}", c_type(wanted)),
        (false, false) => format!("convert it to {}", c_type(wanted)),
        (true, true) if fits(given & !CONST, wanted) => {
            "the routine writes to it: pass memory that is not const".to_owned()
        }
        (true, true) if given & OTHER != 0 => {
            format!("cast it to {} or void * if it is one", c_type(wanted))
        }
        (true, true) => format!("pass {}", c_type(wanted)),
    }
}

impl<'a> Making<'_, 'a> {
    /// # Safety
    /// As for [`prepare`]; the tag fits.
    unsafe fn argument(
        &mut self,
        index: usize,
        parameter: &Parameter,
        wanted: u32,
        value: &TaggedValue,
    ) -> Result<Argument<'a>> {
        if matches!(parameter.shape, Shape::Callback { .. }) {
            // SAFETY: the caller's promise: a function of the callback's prototype, or NULL.
            let function = unsafe { NativeFunction::new(value.pointer().cast_const().cast()) };
            return Ok(
                function.map_or(Argument::Null, |function| Argument::Callback(Arc::new(function)))
            );
        }
        if wanted & POINTER == 0 {
            return scalar(self.interface, parameter, value);
        }
        if parameter.stream {
            // SAFETY: the caller's promise: an open file, or NULL.
            return unsafe { self.stream(index, parameter, value.pointer()) };
        }
        if matches!(parameter.element, ElementType::String | ElementType::Filename) {
            // SAFETY: the caller's promise, here and below.
            return unsafe { self.string(index, parameter, value.pointer(), wanted) };
        }
        match (&parameter.shape, value.pointer().is_null()) {
            // An OUT array that is NULL: the result is not wanted.
            (_, true) if parameter.mode == Mode::Out => Ok(Argument::Unset),
            (_, true) => Ok(Argument::Null),
            (Shape::Scalar, false) => {
                let bytes = element_bytes(self.interface, parameter.element) as usize;
                // SAFETY: as above: a pointer to a struct of the interface's.
                let given = unsafe { std::slice::from_raw_parts(value.pointer(), bytes) };
                Ok(Argument::Raw(given.to_vec()))
            }
            (_, false) => {
                // SAFETY: as above: an array as the interface lays it out.
                Ok(Argument::Array(unsafe { View::new(value.pointer(), parameter.element, None) }))
            }
        }
    }

    /// Reads arrays that sizes refer to, where their own extents are known by now. Whether there
    /// were any.
    ///
    /// # Safety
    /// As for [`prepare`].
    unsafe fn read_elements(&mut self, values: &[TaggedValue]) -> bool {
        let mut some = false;
        for ((index, parameter), value) in self.interface.caller_parameters().zip(values) {
            let wanted = parameter.mode.is_input()
                && is_whole_array(parameter)
                && self.routine.is_inline(index);
            if !wanted || self.elements.contains_key(&index) || value.pointer().is_null() {
                continue;
            }
            let element_bytes = element_bytes(self.interface, parameter.element);
            // Where an extent is never known, or too large, the client finds out and says why.
            let Ok(shape) = self.extents(parameter) else { continue };
            let (Shape::Array { order, .. }, Argument::Array(view)) =
                (&parameter.shape, &mut self.prepared.arguments[index])
            else {
                continue;
            };
            let bytes =
                shape.iter().try_fold(element_bytes, |bytes, extent| bytes.checked_mul(*extent));
            let strides = packed_strides(&shape, element_bytes, *order);
            // SAFETY: the caller's promise: these are the extents that the interface declares.
            *view = unsafe {
                View::new(
                    value.pointer(),
                    parameter.element,
                    strides.map(|strides| (shape, strides)),
                )
            };
            let read = bytes.filter(|bytes| *bytes <= ELEMENTS_BYTES_MAX).map(|bytes| {
                // SAFETY: as above.
                unsafe { std::slice::from_raw_parts(value.pointer(), bytes as usize) }.to_vec()
            });
            self.elements.insert(index, read.unwrap_or_default());
            some = true;
        }
        some
    }

    /// The declared extents of an array, from what is known.
    fn extents(&self, parameter: &Parameter) -> Result<Vec<u64>> {
        let Shape::Array { dimensions, .. } = &parameter.shape else { return Ok(Vec::new()) };
        let known: Vec<Option<Vec<u8>>> =
            (0..self.interface.parameters.len()).map(|index| self.known(index)).collect();
        let known: Vec<Option<&[u8]>> = known.iter().map(Option::as_deref).collect();
        let values = ByteValues::new(self.interface, known.as_slice());
        let extent = |size: i64| {
            u64::try_from(size).map_err(|_| {
                Error::new(
                    ErrorKind::InvalidArgument,
                    "call",
                    format!("{} has the negative size {size}", parameter.name),
                )
            })
        };
        dimensions.iter().map(|one| one.size.evaluate_integer(&values).and_then(extent)).collect()
    }

    /// NULL where the routine takes elements would end it at once. Those that ask for NULL get it
    /// as FARCALL_NULL.
    fn check_nulls(&self) -> Result<()> {
        let null = |index: usize, parameter: &Parameter| {
            matches!(self.prepared.arguments[index], Argument::Null) && is_number_array(parameter)
        };
        if !self.interface.caller_parameters().any(|(index, parameter)| null(index, parameter)) {
            return Ok(());
        }
        let known: Vec<Option<Vec<u8>>> =
            (0..self.interface.parameters.len()).map(|index| self.known(index)).collect();
        let known: Vec<Option<&[u8]>> = known.iter().map(Option::as_deref).collect();
        let values = ByteValues::new(self.interface, known.as_slice());
        // Sizes that cannot be worked out are the client's to explain, and their limit is the
        // server's.
        let Ok(layout) = resolve(self.interface, &values, Bytes(u64::MAX)) else { return Ok(()) };
        for (position, (index, parameter)) in self.interface.caller_parameters().enumerate() {
            let of = &layout.parameters[index];
            if let ParameterLayout::Array(array) = of
                && null(index, parameter)
                && of.mode(parameter).is_input()
                && array.transfer_bytes > 0
            {
                let name = &parameter.name;
                let message = format!(
                    "argument {} ({name}) is NULL, and the routine uses elements of it",
                    position + 1
                );
                return Err(Error::new(ErrorKind::InvalidArgument, "call", message)
                    .with("routine", self.interface.full_name())
                    .with("bytes", array.transfer_bytes)
                    .fix(
                        "pass an array; farcall_call_arguments passes NULL (FARCALL_NULL) to \
                            routines that accept it",
                    ));
            }
        }
        Ok(())
    }

    fn known(&self, index: usize) -> Option<Vec<u8>> {
        self.elements
            .get(&index)
            .cloned()
            .or_else(|| known_of(self.interface, &self.prepared, index))
    }
}

/// The bytes of a scalar or string that was passed.
pub fn known_of(interface: &Interface, prepared: &Prepared<'_>, index: usize) -> Option<Vec<u8>> {
    let parameter = &interface.parameters[index];
    let value = match &prepared.arguments[index] {
        Argument::Text(text) | Argument::Raw(text) => return Some(text.clone()),
        Argument::Integer(value) => ScalarValue::Integer(*value),
        Argument::Real(value) => ScalarValue::Real(*value),
        Argument::Complex(re, im) => ScalarValue::Complex(*re, *im),
        _ => return None,
    };
    let mut bytes = vec![0; element_bytes(interface, parameter.element) as usize];
    value.write(parameter.element, &mut bytes).ok()?;
    Some(bytes)
}

pub fn is_number_array(parameter: &Parameter) -> bool {
    matches!(parameter.shape, Shape::Array { .. }) && !is_text_array(parameter)
}

/// An array of numbers that travels whole.
fn is_whole_array(parameter: &Parameter) -> bool {
    let Shape::Array { dimensions, .. } = &parameter.shape else { return false };
    let whole = |one: &Dimension| one.start.is_none() && one.end.is_none() && one.stride.is_none();
    !is_text_array(parameter) && dimensions.iter().all(whole)
}

/// Strings, or files by their paths.
fn is_text_array(parameter: &Parameter) -> bool {
    matches!(parameter.shape, Shape::Array { .. })
        && matches!(parameter.element, ElementType::String | ElementType::Filename)
}

/// Looks the routine up that the first value names, and prepares a call with the others.
///
/// # Safety
/// As farcall-native.h says.
unsafe fn look_up<'a>(
    client: &Client,
    values: *const TaggedValue,
    count: usize,
) -> Result<(Routine, Prepared<'a>)> {
    // SAFETY: the caller's promise, here and below.
    let values = unsafe { elements(values, count, "the arguments") }?;
    let name = values.first().filter(|name| fits(name.tag, CHAR | POINTER | CONST));
    let name = name.ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, "call", "the routine's name is missing")
            .fix("pass it before the arguments")
    })?;
    // SAFETY: as above.
    let routine = client.routine(unsafe { text(name.pointer().cast(), "the routine's name") }?)?;
    // SAFETY: as above.
    let prepared = unsafe { prepare(&routine, &values[1..]) }?;
    Ok((routine, prepared))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_call_tagged(
    client: *const ClientObject,
    error: *mut *mut ErrorObject,
    values: *const TaggedValue,
    count: usize,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall-native.h says what all of them are, here and below.
        let client = &unsafe { object(client, "the client") }?.client;
        // SAFETY: as above.
        let (routine, prepared) = unsafe { look_up(client, values, count) }?;
        // SAFETY: as above.
        unsafe { call(&routine, prepared, &CallOptions::default()) }?;
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_start_tagged(
    client: *const ClientObject,
    error: *mut *mut ErrorObject,
    started: *mut *mut CallObject,
    values: *const TaggedValue,
    count: usize,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall-native.h says what all of them are, here and below.
        let place = unsafe { Place::new(started, "the pointer for the call") }?;
        // SAFETY: as above.
        let client = &unsafe { object(client, "the client") }?.client;
        // SAFETY: as above.
        let (routine, prepared) = unsafe { look_up(client, values, count) }?;
        let options = CallOptions { announced: true, ..CallOptions::default() };
        // SAFETY: as above.
        place.fill(unsafe { start(client, &routine, prepared, &options) }?);
        Ok(OK)
    })
}
