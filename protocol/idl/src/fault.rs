//! Words for an expression that has no value, and for the values that it was computed from.

use farcall_base::{Error, ErrorKind};

use crate::evaluate::{EXPRESSION_DEPTH_MAX, Fault, Reason, Values};
use crate::expression::Expression;
use crate::text::{Names, expression_text};

/// Names as a [`Values`] gives them, where no interface is at hand.
pub(crate) struct ValueNames<'a>(pub &'a dyn Values);

impl Names for ValueNames<'_> {
    fn name_of(&self, parameter: u16) -> Option<&str> {
        self.0.name(parameter)
    }

    fn is_character(&self, _: u16) -> bool {
        false
    }
}

impl Fault<'_> {
    /// The error a person reads: the guilty part as IDL text, what is wrong with it, and the values
    /// it came from.
    pub(crate) fn into_error(
        self,
        operation: &'static str,
        values: &dyn Values,
        names: &dyn Names,
    ) -> Error {
        if self.reason == Reason::TooDeep {
            // Its text would nest as deeply.
            let message = format!("an expression nests deeper than {EXPRESSION_DEPTH_MAX} levels");
            return Error::new(ErrorKind::InvalidArgument, operation, message);
        }
        let text = expression_text(self.at, names);
        let name = |parameter| names.name_of(parameter).unwrap_or("?").to_owned();
        let message = match self.reason {
            Reason::Overflow => format!("{text} overflows 64 bits"),
            Reason::DivisionByZero => format!("{text} divides by zero"),
            Reason::NegativePower => {
                format!("{text} has a negative exponent, which does not return an integer")
            }
            Reason::Shift => format!("{text} shifts by less than 0 or more than 62 bits"),
            Reason::Unknown(parameter) => {
                format!("{} has no value to compute a size from", name(parameter))
            }
            Reason::UnknownElement(parameter, element) => {
                format!("{text}: {} has no element {element}", name(parameter))
            }
            Reason::NotWhole => format!("{text} is not an integer"),
            Reason::NotFinite => format!("{text} is infinite or not a number"),
            Reason::TooDeep | Reason::Arguments => {
                format!("{text} passes arguments that its function does not accept")
            }
        };
        Error::new(
            ErrorKind::InvalidArgument,
            operation,
            message + &involved(self.at, values, names),
        )
    }
}

/// ` (n = 3, lda = 4)`: the known values of the parameters in `expression`, or nothing.
pub(crate) fn involved(expression: &Expression, values: &dyn Values, names: &dyn Names) -> String {
    bracketed(&parameters_of(expression), values, names)
}

/// The same without parameter `own`, whose value stands beside it.
pub(crate) fn involved_beside(
    own: u16,
    expression: &Expression,
    values: &dyn Values,
    names: &dyn Names,
) -> String {
    let mut parameters = parameters_of(expression);
    parameters.retain(|parameter| *parameter != own);
    bracketed(&parameters, values, names)
}

/// `n = 3 and incx = 1`: the known values of the parameters in `expression`, as part of a sentence.
pub(crate) fn enumerated(
    expression: &Expression,
    values: &dyn Values,
    names: &dyn Names,
) -> String {
    let texts = parameters_of(expression)
        .into_iter()
        .filter_map(|one| value_text(one, values, names))
        .collect();
    listed_with_and(texts)
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed_with_and(mut texts: Vec<String>) -> String {
    let last = texts.pop().unwrap_or_default();
    if texts.is_empty() { last } else { format!("{} and {last}", texts.join(", ")) }
}

/// The parameters that an expression refers to, each once, in order of appearance.
pub(crate) fn parameters_of(expression: &Expression) -> Vec<u16> {
    let mut list = Vec::new();
    expression.refers_to(&mut |parameter| {
        if !list.contains(&parameter) {
            list.push(parameter);
        }
        false
    });
    list
}

fn bracketed(parameters: &[u16], values: &dyn Values, names: &dyn Names) -> String {
    let texts: Vec<String> =
        parameters.iter().filter_map(|one| value_text(*one, values, names)).collect();
    if texts.is_empty() { String::new() } else { format!(" ({})", texts.join(", ")) }
}

/// `n = 3`, `trans = 'N'`; `None` where there is no value.
pub(crate) fn value_text(parameter: u16, values: &dyn Values, names: &dyn Names) -> Option<String> {
    let name = names.name_of(parameter).unwrap_or("?");
    match (values.integer(parameter, 0), values.real(parameter, 0)) {
        (Some(code @ 32..127), _) if names.is_character(parameter) => {
            Some(format!("{name} = '{}'", char::from(code as u8)))
        }
        (Some(value), _) => Some(format!("{name} = {value}")),
        (None, Some(value)) => Some(format!("{name} = {value:?}")),
        (None, None) => None,
    }
}
