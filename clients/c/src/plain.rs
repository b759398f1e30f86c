//! Routines of numbers and arrays of numbers, as most are: their native calls are prepared in one
//! pass over what was worked out of the interface before.

use farcall_base::abi::tag::POINTER;
use farcall_client::idl::interface::{ElementType, Interface, Mode, Shape};
use farcall_client::{Argument, Destination, Routine, View};

use crate::call::{Places, Prepared};
use crate::native::is_number_array;
use crate::passing::{fits, passing};
use crate::tagged::{TaggedValue, scalar};

/// How such a routine is called.
pub struct Plain {
    /// One per parameter; `None` for those that no caller passes.
    parameters: Vec<Option<Wanted>>,
    /// How many callers pass.
    passed: usize,
    /// Destinations up to the last that there is one for.
    written: usize,
}

/// What is wanted for a parameter.
struct Wanted {
    tag: u32,
    element: ElementType,
}

impl Plain {
    /// `None` for a routine with strings, files, structs, functions, or arrays that sizes refer to.
    pub fn new(interface: &Interface) -> Option<Plain> {
        let is_array = |index: &usize| interface.parameters[*index].shape != Shape::Scalar;
        if interface.inline_parameters().iter().any(is_array) {
            return None;
        }
        let mut parameters: Vec<Option<Wanted>> =
            interface.parameters.iter().map(|_| None).collect();
        for (index, parameter) in interface.caller_parameters() {
            let tag = passing(parameter);
            let is_number = parameter.shape == Shape::Scalar && tag & POINTER == 0;
            let is_plain = is_number || is_number_array(parameter);
            if !is_plain || matches!(parameter.element, ElementType::Struct(_)) {
                return None;
            }
            parameters[index] = Some(Wanted { tag, element: parameter.element });
        }
        let passed = parameters.iter().flatten().count();
        let last = interface.parameters.iter().rposition(|one| one.mode == Mode::InOut);
        Some(Plain { parameters, passed, written: last.map_or(0, |last| last + 1) })
    }

    /// The arguments of a call; `None` where a value does not fit, or an array is NULL: that is for
    /// [`crate::native::prepare`] to tell.
    ///
    /// # Safety
    /// As for that.
    pub unsafe fn prepare<'a>(
        &self,
        routine: &Routine,
        values: &[TaggedValue],
    ) -> Option<Prepared<'a>> {
        if values.len() != self.passed {
            return None;
        }
        let mut values = values.iter();
        let mut arguments = Vec::with_capacity(self.parameters.len());
        for (index, wanted) in self.parameters.iter().enumerate() {
            let Some(Wanted { tag, element }) = wanted else {
                arguments.push(Argument::Unset);
                continue;
            };
            let value = values.next().filter(|value| value.tag == *tag || fits(value.tag, *tag))?;
            if tag & POINTER == 0 {
                let interface = routine.interface();
                arguments.push(scalar(interface, &interface.parameters[index], value).ok()?);
            } else if value.pointer().is_null() {
                return None;
            } else {
                // SAFETY: the caller's promise: an array as the interface lays it out.
                arguments
                    .push(Argument::Array(unsafe { View::new(value.pointer(), *element, None) }));
            }
        }
        let destinations = (0..self.written).map(|_| Destination::InPlace).collect();
        Some(Prepared { arguments, destinations, places: Places::default() })
    }
}
