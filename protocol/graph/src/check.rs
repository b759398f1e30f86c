//! Checks the calls of a message one after another: what they name is there, has their type, and has
//! the size that they say, as far as sizes are known before anything runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_idl::data::DataKind;
use farcall_idl::element::element_bytes;
use farcall_idl::interface::{ElementType, Interface, Mode, Parameter, Shape};
use farcall_idl::layout::{CallLayout, ParameterLayout, resolve};
use farcall_idl::published::is_nullable;
use farcall_idl::sizer::Sizer;
use farcall_idl::values::ByteValues;

use crate::{Argument, CallMessage};

/// Bytes of a value inside the message: what is longer is an input.
const INLINE_BYTES_MAX: usize = 4096;

/// A routine of the message.
pub(crate) struct Routine {
    pub interface: Arc<Interface>,
    /// Parameters that sizes follow from.
    deciding: Vec<usize>,
    /// Of each parameter, what a value for it is; `None` for what cannot stay at a server.
    types: Vec<Option<Type>>,
}

/// What a value is. Storage order does not count: servers turn arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Number(ElementType),
    Array(ElementType, usize),
}

/// What is known of a value.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    of: Type,
    /// `None` where they follow from values that are not known yet.
    extents: Option<Vec<u64>>,
    /// 0 where it is not known.
    pub bytes: u64,
}

impl Value {
    pub fn array(kind: DataKind, extents: Vec<u64>, bytes: u64) -> Value {
        Value { of: Type::Array(kind.element, kind.rank), extents: Some(extents), bytes }
    }

    /// An array of one element is a number, too: so C has its results that are numbers. Where the
    /// size is not known yet, it may be.
    fn fits(&self, needed: Type) -> bool {
        let may_be_one = self.extents.as_deref().is_none_or(|extents| extents == [1]);
        match (needed, self.of) {
            (Type::Number(needed), Type::Array(element, 1)) if may_be_one => needed == element,
            (needed, of) => needed == of,
        }
    }
}

impl Routine {
    pub fn new(interface: Arc<Interface>) -> Routine {
        let sizer = Sizer::new(&interface);
        let mut deciding = interface.inline_parameters();
        deciding.retain(|at| sizer.decides(*at));
        let types = interface.parameters.iter().map(Type::of).collect();
        Routine { interface, deciding, types }
    }
}

impl Type {
    fn of(parameter: &Parameter) -> Option<Type> {
        let is_number = parameter.is_plain_scalar()
            && !matches!(parameter.element, ElementType::Struct(_))
            && !matches!(parameter.shape, Shape::Callback { .. });
        if is_number {
            return Some(Type::Number(parameter.element));
        }
        DataKind::of_parameter(parameter).map(|kind| Type::Array(kind.element, kind.rank))
    }

    fn shown(self) -> String {
        match self {
            Type::Number(element) => format!("one {}", element.name()),
            Type::Array(element, rank) => format!("{} of {rank} dimensions", element.name()),
        }
    }
}

/// The calls so far.
pub(crate) struct Checker<'a> {
    routines: &'a [Routine],
    inputs: &'a [Value],
    /// What each call makes, by parameter.
    results: Vec<Vec<Option<Value>>>,
    /// Results that calls are called with.
    pub used: BTreeSet<(u32, u16)>,
}

impl<'a> Checker<'a> {
    pub fn new(routines: &'a [Routine], inputs: &'a [Value]) -> Checker<'a> {
        Checker { routines, inputs, results: Vec::new(), used: BTreeSet::new() }
    }

    /// Checks the next call.
    pub fn call(&mut self, call: &CallMessage) -> Result<()> {
        let number = self.results.len();
        let routine = self.routines.get(call.routine as usize).ok_or_else(|| {
            refused("a call names a routine that is not listed")
                .with("call", number)
                .with("index", call.routine)
                .fix("list the routine in the transaction")
        })?;
        let made = self.check_call(routine, call).map_err(|error| {
            error.with("call", number).with("routine", routine.interface.full_name())
        })?;
        let named = call.arguments.iter().filter_map(|argument| match argument {
            Argument::Result(call, slot) => Some((*call, *slot)),
            _ => None,
        });
        self.used.extend(named);
        self.results.push(made);
        Ok(())
    }

    fn check_call(&self, routine: &Routine, call: &CallMessage) -> Result<Vec<Option<Value>>> {
        let parameters = &routine.interface.parameters;
        if call.arguments.len() != parameters.len() {
            return Err(refused("a call has more or fewer arguments than its routine parameters")
                .with("arguments", call.arguments.len())
                .with("parameters", parameters.len())
                .fix("pass one for each parameter, absent where it takes nothing"));
        }
        if let Some(before) = call.after.iter().find(|one| **one as usize >= self.results.len()) {
            return Err(self.not_before(*before));
        }
        for (parameter, argument) in parameters.iter().zip(&call.arguments) {
            check_direction(parameter, argument)
                .map_err(|error| error.with("parameter", &parameter.name))?;
        }
        let layout = layout(routine, call)?;
        let known = |at: usize| layout.as_ref().map(|layout| &layout.parameters[at]);
        for (at, (parameter, argument)) in parameters.iter().zip(&call.arguments).enumerate() {
            self.check_argument(routine, at, argument, known(at))
                .map_err(|error| error.with("parameter", &parameter.name))?;
        }
        Ok((0..parameters.len()).map(|at| made(routine, at, known(at))).collect())
    }

    fn check_argument(
        &self,
        routine: &Routine,
        at: usize,
        argument: &Argument,
        layout: Option<&ParameterLayout>,
    ) -> Result<()> {
        let parameter = &routine.interface.parameters[at];
        let value = match argument {
            Argument::Absent => return check_absent(parameter, layout),
            Argument::Null => return Ok(()),
            Argument::Inline(bytes) => {
                return check_inline(&routine.interface, parameter, layout, bytes);
            }
            Argument::Input(number) => self.inputs.get(*number as usize).ok_or_else(|| {
                refused("an argument names an input that is not there")
                    .with("input", *number)
                    .with("inputs", self.inputs.len())
                    .fix("list the input in the transaction")
            })?,
            Argument::Result(call, slot) => self.earlier_result(*call, *slot)?,
        };
        let needed = routine.types[at].ok_or_else(|| {
            refused("what this parameter takes cannot come from another call")
                .fix("pass a number, or an array of numbers or characters")
        })?;
        if !value.fits(needed) {
            return Err(refused("the value has another type than the parameter")
                .with("value", value.of.shown())
                .with("needed", needed.shown())
                .fix("pass a value of that type and number of dimensions"));
        }
        match (&value.extents, layout) {
            (Some(extents), Some(ParameterLayout::Array(array))) => {
                let needed: Vec<u64> = array.dimensions.iter().map(|one| one.count).collect();
                check_extents(extents, &needed)
            }
            (_, Some(ParameterLayout::Absent)) => Err(takes_nothing()),
            _ => Ok(()),
        }
    }

    /// A result of a call before this one.
    fn earlier_result(&self, call: u32, slot: u16) -> Result<&Value> {
        let made = self.results.get(call as usize).ok_or_else(|| self.not_before(call))?;
        made.get(usize::from(slot)).and_then(Option::as_ref).ok_or_else(|| no_result(call, slot))
    }

    fn not_before(&self, named: u32) -> Error {
        let message = if named as usize == self.results.len() {
            "a call waits for itself"
        } else {
            "a call waits for one that does not come before it"
        };
        refused(message)
            .with("named call", named)
            .fix("put each call behind those that it waits for; calls cannot wait in a circle")
    }

    /// Checks a result that the client wants.
    pub fn wanted(&self, call: u32, slot: u16) -> Result<()> {
        let made = self.results.get(call as usize).ok_or_else(|| {
            refused("a result of a call is wanted that is not there")
                .with("call", call)
                .with("calls", self.results.len())
                .fix("ask for results of calls of this transaction")
        })?;
        let found = made.get(usize::from(slot)).and_then(Option::as_ref);
        found.map(drop).ok_or_else(|| no_result(call, slot))
    }

    /// What a call makes for a parameter, which was found before.
    pub fn result(&self, call: u32, slot: u16) -> &Value {
        self.results[call as usize][usize::from(slot)].as_ref().expect("results are checked")
    }
}

/// Sizes of a call; `None` where they follow from values that other calls make.
fn layout(routine: &Routine, call: &CallMessage) -> Result<Option<CallLayout>> {
    let is_named =
        |at: &usize| matches!(call.arguments[*at], Argument::Input(_) | Argument::Result(..));
    if routine.deciding.iter().any(is_named) {
        return Ok(None);
    }
    let values = call.arguments.iter().map(|argument| match argument {
        Argument::Inline(bytes) => Some(bytes.as_slice()),
        _ => None,
    });
    let values: Vec<Option<&[u8]>> = values.collect();
    let values = ByteValues::new(&routine.interface, values);
    resolve(&routine.interface, &values, Bytes(isize::MAX as u64)).map(Some)
}

fn check_direction(parameter: &Parameter, argument: &Argument) -> Result<()> {
    if matches!(parameter.shape, Shape::Callback { .. }) {
        return Err(refused("a call in a transaction cannot call functions of the client")
            .fix("make this call outside of the transaction"));
    }
    let is_number = parameter.is_plain_scalar() && !is_nullable(parameter);
    match argument {
        Argument::Absent => Ok(()),
        _ if !parameter.mode.is_input() => Err(takes_nothing()),
        Argument::Null if is_number => {
            Err(refused("NULL was passed for a number").fix("pass its value"))
        }
        Argument::Inline(bytes) if bytes.len() > INLINE_BYTES_MAX => Err(Error::new(
            ErrorKind::LimitExceeded,
            "take a transaction",
            "a value inside the transaction is too long",
        )
        .with("value", Bytes(bytes.len() as u64))
        .with("limit", Bytes(INLINE_BYTES_MAX as u64))
        .fix("pass it as an input")),
        _ => Ok(()),
    }
}

fn check_absent(parameter: &Parameter, layout: Option<&ParameterLayout>) -> Result<()> {
    let is_read = match layout {
        Some(ParameterLayout::Absent) => false,
        Some(layout) => layout.mode(parameter).is_input(),
        // Conditions that are not known yet are left to the server.
        None => parameter.mode.is_input() && parameter.when.is_none() && parameter.given.is_none(),
    };
    if is_read && parameter.default.is_none() {
        return Err(refused("an argument is missing").fix("pass a value for the parameter"));
    }
    Ok(())
}

fn check_inline(
    interface: &Interface,
    parameter: &Parameter,
    layout: Option<&ParameterLayout>,
    bytes: &[u8],
) -> Result<()> {
    let needed = match layout {
        Some(ParameterLayout::Absent) => return Err(takes_nothing()),
        Some(ParameterLayout::Array(array)) => array.transfer_bytes,
        _ if parameter.is_plain_scalar() => element_bytes(interface, parameter.element),
        _ => return Ok(()),
    };
    if bytes.len() as u64 == needed {
        return Ok(());
    }
    Err(refused("a value has the wrong length")
        .with("value", Bytes(bytes.len() as u64))
        .with("needed", Bytes(needed))
        .fix("pass the value that the interface declares"))
}

/// What a call makes for a parameter, if it is a result that can stay at a server.
fn made(routine: &Routine, at: usize, layout: Option<&ParameterLayout>) -> Option<Value> {
    let parameter = &routine.interface.parameters[at];
    let of = routine.types[at].filter(|_| parameter.mode.is_output())?;
    match layout {
        Some(ParameterLayout::Absent) => None,
        Some(ParameterLayout::Array(array)) => {
            let extents = array.dimensions.iter().map(|one| one.count).collect();
            let extents = Some(extents).filter(|_| !decides_itself(routine, parameter));
            Some(Value { of, extents, bytes: array.transfer_bytes })
        }
        Some(ParameterLayout::Scalar { bytes }) => Some(Value { of, extents: None, bytes: *bytes }),
        _ => Some(Value { of, extents: None, bytes: 0 }),
    }
}

/// Whether the routine itself says how much of an array comes back.
fn decides_itself(routine: &Routine, parameter: &Parameter) -> bool {
    let scope = routine.interface.scope();
    parameter.mode != Mode::In && parameter.expressions().any(|one| scope.refers_to_output(one))
}

fn check_extents(extents: &[u64], needed: &[u64]) -> Result<()> {
    if extents == needed {
        return Ok(());
    }
    let shown = |extents: &[u64]| extents.iter().map(|one| format!("[{one}]")).collect::<String>();
    Err(refused("the value has another size than the call says")
        .with("value", shown(extents))
        .with("needed", shown(needed))
        .fix("pass the sizes that the value has"))
}

fn no_result(call: u32, slot: u16) -> Error {
    refused("a result is named that the call does not make, or that cannot stay at a server")
        .with("named call", call)
        .with("named parameter", slot)
        .fix(
            "name an OUT or INOUT parameter that is a number, or an array of numbers or characters",
        )
}

fn takes_nothing() -> Error {
    refused("an argument was passed for a parameter that takes nothing")
        .fix("leave it absent: it is a result, or the routine does not refer to it here")
}

pub(crate) fn refused(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "take a transaction", message)
}
