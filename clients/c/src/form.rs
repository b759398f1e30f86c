//! What native calls need of an interface, worked out once for all calls of a routine. Routines of
//! numbers and arrays of numbers, as most are, are prepared in one pass over it.

use farcall_base::abi::tag::POINTER;
use farcall_client::idl::interface::{ElementType, Interface, Mode, Parameter, Shape};
use farcall_client::{Argument, Destination, Error, Result, Routine, View};

use crate::call::{Places, Prepared};
use crate::native::is_number_array;
use crate::passing::{fits, passing};
use crate::tagged::{TaggedValue, scalar};

/// How a routine is called.
pub struct Form {
    /// How each parameter is passed (see [`passing`]); `None` for those that no caller passes.
    pub tags: Vec<Option<u32>>,
    /// How many callers pass.
    pub passed: usize,
    /// Destinations up to the last that there is one for.
    written: usize,
    /// Whether it has no strings, files, structs or functions, and no arrays that sizes refer to.
    is_plain: bool,
}

fn is_plain(interface: &Interface) -> bool {
    let is_array = |index: &usize| interface.parameters[*index].shape != Shape::Scalar;
    let has_only_numbers = |parameter: &Parameter| {
        let is_number = parameter.shape == Shape::Scalar && passing(parameter) & POINTER == 0;
        let is_struct = matches!(parameter.element, ElementType::Struct(_));
        (is_number || is_number_array(parameter)) && !is_struct
    };
    !interface.inline_parameters().iter().any(is_array)
        && interface.caller_parameters().all(|(_, parameter)| has_only_numbers(parameter))
}

impl Form {
    /// That of a routine.
    ///
    /// # Errors
    /// `Internal` where another binding than that of C has worked out something of its own.
    pub fn of(routine: &Routine) -> Result<&Form> {
        let form = routine.bound(Form::new);
        form.ok_or_else(|| Error::internal("call", "the routine is used by another binding, too"))
    }

    fn new(interface: &Interface) -> Form {
        let is_passed = |parameter: &Parameter| parameter.mode != Mode::Work;
        let tag = |parameter: &Parameter| is_passed(parameter).then(|| passing(parameter));
        let tags: Vec<Option<u32>> = interface.parameters.iter().map(tag).collect();
        let passed = tags.iter().flatten().count();
        let last = interface.parameters.iter().rposition(|one| one.mode == Mode::InOut);
        let written = last.map_or(0, |last| last + 1);
        Form { tags, passed, written, is_plain: is_plain(interface) }
    }

    /// The arguments of a call; `None` where the routine is not plain, a value does not fit, or an
    /// array is NULL: that is for [`crate::native::prepare`] to tell.
    ///
    /// # Safety
    /// As for that.
    pub unsafe fn prepare<'a>(
        &self,
        routine: &Routine,
        values: &[TaggedValue],
    ) -> Option<Prepared<'a>> {
        if !self.is_plain || values.len() != self.passed {
            return None;
        }
        let interface = routine.interface();
        let mut values = values.iter();
        let mut arguments = Vec::with_capacity(self.tags.len());
        for (parameter, tag) in interface.parameters.iter().zip(&self.tags) {
            let Some(tag) = tag else {
                arguments.push(Argument::Unset);
                continue;
            };
            let value = values.next().filter(|value| value.tag == *tag || fits(value.tag, *tag))?;
            if tag & POINTER == 0 {
                arguments.push(scalar(interface, parameter, value).ok()?);
            } else if value.pointer().is_null() {
                return None;
            } else {
                // SAFETY: the caller's promise: an array as the interface lays it out.
                let view = unsafe { View::new(value.pointer(), parameter.element, None) };
                arguments.push(Argument::Array(view));
            }
        }
        let destinations = (0..self.written).map(|_| Destination::InPlace).collect();
        Some(Prepared { arguments, destinations, places: Places::default() })
    }
}
