//! Values of parameters from their raw bytes, and of those that the interface itself defines: WORK
//! scalars, defaults.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use farcall_base::{Error, ErrorKind, Result};

use crate::evaluate::{Fault, Reason, Values};
use crate::expression::Expression;
use crate::interface::{ElementType, Interface, Mode, Parameter, Shape};
use crate::scalar::{ScalarValue, misfit};
use crate::scope::Scope;

/// A WORK scalar or a default may refer to another one, and that to another: at most this many in a
/// chain.
pub const DEFAULT_CHAIN_MAX: usize = 8;

/// Values read from the raw bytes of the parameters, in this machine's byte order, without copying
/// them.
///
/// A scalar without bytes takes the value of its default expression; that is how WORK scalars get
/// theirs and how a caller leaves out an argument. Such values are computed when first asked for,
/// once.
#[derive(Debug)]
pub struct ByteValues<'a> {
    scope: Scope<'a>,
    bytes: Cow<'a, [Option<&'a [u8]>]>,
    derived: Derived,
}

impl<'a> ByteValues<'a> {
    /// Values of an interface's parameters. `bytes` has one entry per parameter, WORK ones
    /// included; missing entries count as `None`. Strings are given without their NUL, or with it.
    pub fn new(interface: &'a Interface, bytes: impl Into<Cow<'a, [Option<&'a [u8]>]>>) -> Self {
        Self::in_scope(interface.scope(), bytes)
    }

    /// The same for any scope, such as a callback's.
    pub fn in_scope(scope: Scope<'a>, bytes: impl Into<Cow<'a, [Option<&'a [u8]>]>>) -> Self {
        ByteValues { scope, bytes: bytes.into(), derived: Derived::default() }
    }

    fn bytes(&self, parameter: u16) -> Option<&'a [u8]> {
        self.bytes.get(usize::from(parameter)).copied().flatten()
    }

    fn value(&self, parameter: u16, element: u64) -> Option<ScalarValue> {
        match self.bytes(parameter) {
            Some(bytes) => {
                ScalarValue::read(self.scope.parameter(parameter)?.element, bytes, element)
            }
            None if element == 0 => self.derived.value(self.scope, self, parameter),
            None => None,
        }
    }

    /// The value that the routine gets for scalar parameter number `parameter`: the one given, or
    /// else its default.
    ///
    /// # Errors
    /// `InvalidArgument` that says why there is none: not given, or an expression that fails.
    pub fn scalar(&self, parameter: u16) -> Result<ScalarValue> {
        self.value(parameter, 0).ok_or_else(|| missing(self.scope, self, parameter))
    }
}

impl Values for ByteValues<'_> {
    fn integer(&self, parameter: u16, element: u64) -> Option<i64> {
        self.value(parameter, element)?.integer()
    }

    fn real(&self, parameter: u16, element: u64) -> Option<f64> {
        self.value(parameter, element)?.float()
    }

    fn complex(&self, parameter: u16, element: u64) -> Option<(f64, f64)> {
        self.value(parameter, element)?.complex()
    }

    fn length(&self, parameter: u16) -> Option<u64> {
        let bytes = self.bytes(parameter)?;
        Some(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()) as u64)
    }

    fn name(&self, parameter: u16) -> Option<&str> {
        self.scope.parameter(parameter).map(|p| p.name.as_str())
    }
}

/// Any values, completed with those that the interface defines itself.
#[derive(Debug)]
pub(crate) struct Completed<'a, V: ?Sized> {
    scope: Scope<'a>,
    values: &'a V,
    derived: Derived,
}

impl<'a, V: Values + ?Sized> Completed<'a, V> {
    /// Adds WORK scalars and the defaults of arguments that were left out.
    pub(crate) fn new(scope: Scope<'a>, values: &'a V) -> Self {
        Completed { scope, values, derived: Derived::default() }
    }

    /// Adds WORK scalars alone, while it is still open what was left out.
    pub(crate) fn work_only(scope: Scope<'a>, values: &'a V) -> Self {
        Completed { scope, values, derived: Derived { work_only: true, ..Derived::default() } }
    }
}

impl<V: Values + ?Sized> Values for Completed<'_, V> {
    fn integer(&self, parameter: u16, element: u64) -> Option<i64> {
        let derived = || self.derived.value(self.scope, self, parameter).filter(|_| element == 0);
        self.values.integer(parameter, element).or_else(|| derived()?.integer())
    }

    fn real(&self, parameter: u16, element: u64) -> Option<f64> {
        let derived = || self.derived.value(self.scope, self, parameter).filter(|_| element == 0);
        self.values.real(parameter, element).or_else(|| derived()?.float())
    }

    fn complex(&self, parameter: u16, element: u64) -> Option<(f64, f64)> {
        let derived = || self.derived.value(self.scope, self, parameter).filter(|_| element == 0);
        self.values.complex(parameter, element).or_else(|| derived()?.complex())
    }

    fn length(&self, parameter: u16) -> Option<u64> {
        self.values.length(parameter)
    }

    fn name(&self, parameter: u16) -> Option<&str> {
        self.scope.parameter(parameter).map(|p| p.name.as_str())
    }
}

/// The values of default expressions, each computed once: a chain in which every one refers twice
/// to the one before would else take exponential time.
#[derive(Debug, Default)]
struct Derived {
    states: OnceCell<Box<[Cell<State>]>>,
    depth: Cell<usize>,
    work_only: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Unknown,
    /// Being computed: whoever asks now stands in a cycle.
    Busy,
    Known(Option<ScalarValue>),
}

impl Derived {
    fn value(&self, scope: Scope<'_>, values: &dyn Values, parameter: u16) -> Option<ScalarValue> {
        let declared = scope.parameter(parameter)?;
        let default = declared.default.as_ref().filter(|_| declared.shape == Shape::Scalar)?;
        if self.work_only && declared.mode != Mode::Work {
            return None;
        }
        let states =
            self.states.get_or_init(|| vec![Cell::default(); scope.parameters.len()].into());
        let state = states.get(usize::from(parameter))?;
        match state.get() {
            State::Known(value) => return value,
            State::Busy => return None,
            State::Unknown if self.depth.get() >= DEFAULT_CHAIN_MAX => return None,
            State::Unknown => {}
        }
        state.set(State::Busy);
        self.depth.set(self.depth.get() + 1);
        let value = default_value(declared, default, values).ok();
        self.depth.set(self.depth.get() - 1);
        let value = value.filter(|value| value.fits(declared.element));
        state.set(State::Known(value));
        value
    }
}

/// The value of a default expression in the domain of its parameter's type.
pub(crate) fn default_value<'e>(
    parameter: &Parameter,
    default: &'e Expression,
    values: &dyn Values,
) -> std::result::Result<ScalarValue, Fault<'e>> {
    match parameter.element {
        ElementType::Float32
        | ElementType::Float64
        | ElementType::Complex64
        | ElementType::Complex128 => default.try_real(values).map(ScalarValue::Real),
        _ => default.try_integer(values).map(ScalarValue::Integer),
    }
}

/// Why `parameter` has no value: nobody gave one, or its default expression fails.
fn missing(scope: Scope<'_>, values: &dyn Values, parameter: u16) -> Error {
    let at = Expression::Parameter(parameter);
    explain(scope, values, Fault { reason: Reason::Unknown(parameter), at: &at })
}

/// The error behind a fault. Where a value is missing because its default failed, that failure is
/// the error.
pub(crate) fn explain(scope: Scope<'_>, values: &dyn Values, fault: Fault<'_>) -> Error {
    let mut fault = fault;
    for _ in 0..DEFAULT_CHAIN_MAX {
        let Reason::Unknown(index) = fault.reason else { break };
        let Some(parameter) = scope.parameter(index) else { break };
        let Some(default) = &parameter.default else { break };
        match default_value(parameter, default, values) {
            Err(inner) => fault = inner,
            Ok(value) if !value.fits(parameter.element) => {
                return does_not_fit(value, parameter);
            }
            Ok(_) => break,
        }
    }
    let Reason::Unknown(index) = fault.reason else {
        return fault.into_error("compute sizes", values, &scope);
    };
    let message = format!("{} has no value to compute a size from", scope.name(index));
    Error::new(ErrorKind::InvalidArgument, "compute sizes", message)
        .fix(format!("pass an integer for {}", scope.name(index)))
}

/// A computed value that its parameter's type cannot hold.
pub(crate) fn does_not_fit(value: ScalarValue, parameter: &Parameter) -> Error {
    misfit(value, parameter.element).with("parameter", &parameter.name)
}
