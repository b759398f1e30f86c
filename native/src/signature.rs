//! How a routine's code takes its arguments: one `Passing` per machine argument, in the order of
//! the code. Pure.
//!
//! C: IN scalars by value, everything else by pointer. Fortran: everything by reference, and a
//! hidden length for each CHARACTER. Inline bodies have the C convention whatever language they
//! name (spec/idl.md, section 7).

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::{
    Code, ElementType, Implementation, Language, Mode, Parameter, Routine, Shape, StringConvention,
};

/// One machine argument; the number is the parameter whose slot it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// The element itself.
    Value(usize, ElementType),
    /// The address in the slot: arrays, results, functions, everything in Fortran.
    Pointer(usize),
    /// The address of the slot's address: `char **` of an OUT or INOUT string, which the routine
    /// replaces.
    PointerToPointer(usize),
    /// Hidden length of a Fortran CHARACTER, from the slot.
    TextLength(usize),
    /// Hidden length of a single Fortran CHARACTER.
    LengthOne,
}

/// Where a function's result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// The routine is a subroutine, or its result is not wanted.
    Nothing,
    /// One element, stored where the slot points.
    Value(usize, ElementType),
    /// `char *`: becomes the slot's address.
    Text(usize),
    /// `char *`: goes to where the slot points, the place of one text.
    TextAt(usize),
}

/// All that the calling convention needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Machine arguments, in order.
    pub arguments: Vec<Passing>,
    /// The function's result.
    pub returned: Returned,
}

impl Signature {
    /// The signature of `routine`'s code.
    ///
    /// Fails for what no calling convention offers: Fortran CHARACTER functions, Fortran
    /// strings that the routine would have to allocate.
    pub fn of(routine: &Routine) -> Result<Signature> {
        let signature = match &routine.implementation.code {
            Code::Body { .. } => Self::of_body(&routine.interface.parameters),
            Code::Symbol { arguments, result, .. } => Self::of_symbol(
                &routine.interface.parameters,
                &routine.implementation,
                arguments,
                *result,
            ),
        };
        signature.map_err(|error| error.with("routine", routine.interface.full_name()))
    }

    /// A body takes every parameter in declared order, as C does.
    fn of_body(parameters: &[Parameter]) -> Result<Signature> {
        let arguments = parameters
            .iter()
            .enumerate()
            .map(|(index, p)| c_argument(index, p))
            .collect::<Result<_>>()?;
        Ok(Signature { arguments, returned: Returned::Nothing })
    }

    fn of_symbol(
        parameters: &[Parameter],
        code: &Implementation,
        order: &[usize],
        result: Option<usize>,
    ) -> Result<Signature> {
        let mut arguments = Arguments {
            strings: code.strings,
            listed: Vec::with_capacity(order.len()),
            hidden: vec![],
        };
        for &index in order {
            let parameter = parameter(parameters, index)?;
            match code.language {
                Language::Fortran => arguments.push_fortran(index, parameter)?,
                Language::C | Language::Cpp => arguments.listed.push(c_argument(index, parameter)?),
            }
        }
        let returned = match result {
            Some(index) => returned(index, parameter(parameters, index)?, code.language)?,
            None => Returned::Nothing,
        };
        Ok(Signature { arguments: arguments.finish(), returned })
    }
}

/// The arguments so far: what the source lists, and the lengths that follow it.
struct Arguments {
    strings: StringConvention,
    listed: Vec<Passing>,
    hidden: Vec<Passing>,
}

impl Arguments {
    /// Everything by reference; characters bring their length along.
    fn push_fortran(&mut self, index: usize, parameter: &Parameter) -> Result<()> {
        self.listed.push(Passing::Pointer(index));
        match fortran_length(index, parameter)? {
            Some(length) if self.strings == StringConvention::End => self.hidden.push(length),
            Some(length) if self.strings == StringConvention::After => self.listed.push(length),
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self) -> Vec<Passing> {
        self.listed.append(&mut self.hidden);
        self.listed
    }
}

/// The hidden length that goes with a Fortran argument, if it is a CHARACTER.
fn fortran_length(index: usize, parameter: &Parameter) -> Result<Option<Passing>> {
    match (parameter.element, &parameter.shape) {
        (_, Shape::Callback { .. }) => Ok(None),
        _ if parameter.stream => Err(refusal(
            parameter,
            "Fortran has no FILE *",
            "declare it `filename`: the routine receives a path and opens it",
        )),
        (ElementType::Char, Shape::Scalar) => Ok(Some(Passing::LengthOne)),
        (ElementType::Char, _) => Ok(Some(Passing::TextLength(index))),
        (ElementType::String, Shape::Scalar) if parameter.mode != Mode::Out => {
            Ok(Some(Passing::TextLength(index)))
        }
        (ElementType::Filename, Shape::Scalar) => Ok(Some(Passing::TextLength(index))),
        (ElementType::String | ElementType::Filename, _) => Err(refusal(
            parameter,
            "Fortran has neither texts nor arrays of texts whose length the routine chooses",
            "declare it as characters of a known length: `OUT char text[80]`, or `char \
                lines[count][80]` for many",
        )),
        _ => Ok(None),
    }
}

/// C: IN and WORK scalars by value, texts as `char *` or (where the routine answers) `char **`, the
/// rest by pointer.
fn c_argument(index: usize, parameter: &Parameter) -> Result<Passing> {
    let scalar = parameter.shape == Shape::Scalar;
    Ok(match parameter.element {
        _ if matches!(parameter.shape, Shape::Callback { .. }) => Passing::Pointer(index),
        ElementType::Filename => Passing::Pointer(index),
        ElementType::String if scalar && parameter.mode.is_output() => {
            Passing::PointerToPointer(index)
        }
        ElementType::String => Passing::Pointer(index),
        element if scalar && !parameter.mode.is_output() => Passing::Value(index, element),
        _ => Passing::Pointer(index),
    })
}

/// Where the function's result goes, if the language returns such a thing in registers.
fn returned(index: usize, parameter: &Parameter, language: Language) -> Result<Returned> {
    match parameter.element {
        _ if !parameter.mode.is_output() => Err(refusal(
            parameter,
            "a function's result must be an OUT parameter",
            "declare it OUT",
        )),
        ElementType::Char | ElementType::String if language == Language::Fortran => Err(refusal(
            parameter,
            "a Fortran CHARACTER function returns through hidden arguments",
            "wrap it in a subroutine with the text as an OUT argument, `OUT char text[n]`",
        )),
        ElementType::Filename => Err(refusal(
            parameter,
            "a function cannot return a file",
            "let the routine write to a file: add the argument `OUT filename f`",
        )),
        ElementType::String if parameter.shape == Shape::Scalar => Ok(Returned::Text(index)),
        ElementType::String => Ok(Returned::TextAt(index)),
        element => Ok(Returned::Value(index, element)),
    }
}

fn refusal(parameter: &Parameter, message: &str, fix: &'static str) -> Error {
    Error::new(ErrorKind::InvalidSource, "prepare the routine", message)
        .with("parameter", &parameter.name)
        .fix(fix)
}

/// Indexes come from a compiled interface; one that points outside is a fault of ours, not of the
/// IDL.
fn parameter(parameters: &[Parameter], index: usize) -> Result<&Parameter> {
    parameters.get(index).ok_or_else(|| {
        Error::internal(
            "prepare the routine",
            format!("argument {index} of {} parameters", parameters.len()),
        )
    })
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
