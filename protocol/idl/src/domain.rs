//! Domains of scalars: which values a routine allows (spec/idl.md, section 3.4). Caller, server and
//! executable refuse all others with the same code, before anything runs.

use farcall_base::{Error, ErrorKind, Result, printable_line};

use crate::evaluate::{Fault, Values};
use crate::fault::{involved_beside, value_text};
use crate::interface::{Domain, ElementType, Parameter};
use crate::scope::Scope;
use crate::values::explain;

const OPERATION: &str = "check values";

/// Refuses the first scalar whose value is not allowed, or whose value or condition is not known.
pub(crate) fn check(scope: Scope<'_>, values: &dyn Values) -> Result<()> {
    for (index, parameter) in with_domains(scope) {
        match allows(parameter, index, values) {
            Some(Ok(true)) => {}
            Some(Err(fault)) => {
                return Err(explain(scope, values, fault).with("parameter", &parameter.name));
            }
            Some(Ok(false)) | None => return Err(refused(scope, index, parameter, values)),
        }
    }
    Ok(())
}

/// Refuses the first scalar whose value is known and not allowed. For callers that do not know all
/// values yet, so that a wrong letter is reported before the extents that seem to contradict it.
pub(crate) fn check_known(scope: Scope<'_>, values: &dyn Values) -> Result<()> {
    match with_domains(scope)
        .find(|(index, parameter)| matches!(allows(parameter, *index, values), Some(Ok(false))))
    {
        Some((index, parameter)) => Err(refused(scope, index, parameter, values)),
        None => Ok(()),
    }
}

fn with_domains(scope: Scope<'_>) -> impl Iterator<Item = (u16, &Parameter)> {
    // Bounded by PARAMETERS_MAX.
    scope
        .parameters
        .iter()
        .enumerate()
        .filter(|(_, p)| p.domain.is_some())
        .map(|(index, p)| (index as u16, p))
}

/// Whether the value is allowed; `None` where there is no value.
fn allows<'p>(
    parameter: &'p Parameter,
    index: u16,
    values: &dyn Values,
) -> Option<std::result::Result<bool, Fault<'p>>> {
    match parameter.domain.as_ref()? {
        Domain::Characters(characters) => {
            let code = u8::try_from(values.integer(index, 0)?).ok()?;
            Some(Ok(characters.as_bytes().contains(&code.to_ascii_uppercase())))
        }
        Domain::Condition(condition) if is_real(parameter.element) => {
            Some(condition.try_real(values).map(|value| value != 0.0))
        }
        Domain::Condition(condition) => Some(condition.try_integer(values).map(|value| value != 0)),
    }
}

/// Whether conditions on a parameter of this type are evaluated in double precision.
pub(crate) fn is_real(element: ElementType) -> bool {
    matches!(element, ElementType::Float32 | ElementType::Float64)
}

/// `norm = '2' is not one of M, 1, O, I, F, E`; `k = 5, but k <= n must hold (n = 3)`.
#[cold]
fn refused(scope: Scope<'_>, index: u16, parameter: &Parameter, values: &dyn Values) -> Error {
    let value = value_text(index, values, &scope)
        .unwrap_or_else(|| format!("{} has no value; it", parameter.name));
    let (message, fix) = match &parameter.domain {
        Some(Domain::Condition(condition)) => {
            let others = involved_beside(index, condition, values, &scope);
            let message =
                format!("{value}, but {} must hold{others}", scope.expression_text(condition));
            (message, format!("pass another {}", parameter.name))
        }
        Some(Domain::Characters(characters)) => {
            (format!("{value} is not one of {}", listed(characters)), advice(characters).to_owned())
        }
        None => (value, String::new()),
    };
    Error::new(ErrorKind::InvalidArgument, OPERATION, message).fix(fix)
}

fn advice(characters: &str) -> &'static str {
    match characters.contains(|c: char| c.is_ascii_uppercase()) {
        true => "pass one of these characters (letters in either case)",
        false => "pass one of these characters",
    }
}

/// `N, T, C`.
pub(crate) fn listed(characters: &str) -> String {
    let one = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_string()
        } else {
            format!("'{}'", printable_line(c.encode_utf8(&mut [0; 4])))
        }
    };
    characters.chars().map(one).collect::<Vec<_>>().join(", ")
}

/// Why a text is no set of characters, as the end of the sentence "the set …"; `None` if it is one.
pub(crate) fn wrong_set(characters: &str) -> Option<String> {
    let mut seen = [false; 128];
    for c in characters.chars() {
        match u8::try_from(c) {
            Ok(byte @ b' '..=b'~') if byte.is_ascii_lowercase() => {
                return Some(format!("holds the lower case '{c}'"));
            }
            Ok(byte @ b' '..=b'~') if seen[usize::from(byte)] => {
                return Some(format!("holds '{c}' twice"));
            }
            Ok(byte @ b' '..=b'~') => seen[usize::from(byte)] = true,
            _ => return Some(format!("holds {c:?}, which is not a visible ASCII character")),
        }
    }
    characters.is_empty().then(|| "is empty".to_owned())
}
