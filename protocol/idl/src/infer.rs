//! Completes a call of which the caller passes arrays only: the scalars that follow from their
//! extents, and defaults (spec/idl.md, section 8). For callers that know their arrays' shapes:
//! Python, the command line.

mod leading;
mod missing;
mod report;
mod sizes;
pub(crate) mod solve;

pub(crate) use leading::{is_only_leading, leading_uses};
pub use sizes::complete_sizes;

use farcall_base::{Error, ErrorKind, Result};

use crate::domain;
use crate::evaluate::Values;
use crate::expression::Expression;
use crate::interface::{Dimension, ElementType, Interface, Parameter, Shape};
use crate::scalar::ScalarValue;
use crate::scope::Scope;
use crate::values::{Completed, default_value};

const OPERATION: &str = "complete the arguments";

/// What a caller gives for one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Given<'a> {
    /// Nothing: to be inferred, or a default, or a result.
    Unset,
    /// A whole number.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// Real and imaginary part.
    Complex(f64, f64),
    /// Raw elements in this machine's byte order: a character, or one value whose type is the
    /// parameter's own.
    Bytes(&'a [u8]),
    /// An array of this shape, in logical order, whose content no size refers to.
    Array {
        /// Extents, as the caller sees them.
        shape: &'a [u64],
    },
    /// An array together with its elements in this machine's order, for arrays that sizes refer to.
    Elements {
        /// Extents, as the caller sees them.
        shape: &'a [u64],
        /// The elements, without gaps.
        bytes: &'a [u8],
    },
    /// A string, a file, a one-character `char`, or the characters of a `char` array.
    Text(&'a str),
    /// Something else that needs no checks here: a callback, an array of strings.
    Other,
    /// A number that is known only when the call runs. What follows from it stays open.
    Later,
}

impl Given<'_> {
    fn shape(&self) -> Option<&[u64]> {
        match self {
            Given::Array { shape } | Given::Elements { shape, .. } => Some(shape),
            // One number may stand for an array of one element.
            Given::Integer(_) | Given::Real(_) | Given::Complex(..) => Some(&[]),
            Given::Unset | Given::Bytes(_) | Given::Text(_) | Given::Other | Given::Later => None,
        }
    }
}

/// All arguments of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    /// Value of each scalar that a caller passes, by parameter number; `None` for everything else.
    pub scalars: Vec<Option<ScalarValue>>,
    /// Arrays that were given with fewer dimensions than declared (missing trailing ones count as
    /// 1): parameter number and rank given. A client returns results of these parameters with that
    /// rank.
    pub lower_ranks: Vec<(usize, usize)>,
}

/// Infers what the caller left out, and checks what was given.
///
/// `given` has one entry per parameter that a caller passes ([`Interface::caller_parameters`]), in
/// that order. The extent that travels in each dimension must equal the array's extent. Unset IN
/// integers are solved for, one unknown at a time, where an extent is linear in them; one that only
/// occurs as the size of a ranged dimension (a leading dimension) becomes max(1, end of the range);
/// then defaults apply. Extents that depend on a [`Given::Later`] are not checked, and defaults that do
/// are left to the server that runs the call.
///
/// # Errors
/// `InvalidArgument`: wrong number or kind of arguments, values that are not allowed, extents that
/// disagree (with where each value came from), scalars that nothing determines. All of them name
/// the routine.
pub fn complete(interface: &Interface, given: &[Given<'_>]) -> Result<Arguments> {
    completed(interface, given).map_err(|error| error.with("routine", interface.full_name()))
}

fn completed(interface: &Interface, given: &[Given<'_>]) -> Result<Arguments> {
    let mut inference = Inference::new(interface, given)?;
    inference.infer();
    domain::check_known(inference.scope, &inference.completed())?;
    inference.refuse_misfits()?;
    inference.require_all()?;
    inference.check_extents()?;
    inference.finish()
}

/// Where a scalar's value came from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Origin {
    Given,
    /// Array parameter and its axis.
    Axis(usize, usize),
    /// The leading dimension of an array parameter.
    Leading(usize),
    Default,
}

/// One axis of one given array: this many elements travel.
#[derive(Clone, Copy)]
struct Extent<'a> {
    parameter: usize,
    axis: usize,
    dimension: &'a Dimension,
    elements: u64,
}

struct Inference<'a> {
    scope: Scope<'a>,
    name: &'a str,
    /// By parameter number; WORK parameters are `Unset`.
    given: Vec<Given<'a>>,
    known: Vec<Option<(ScalarValue, Origin)>>,
    extents: Vec<Extent<'a>>,
    lower_ranks: Vec<(usize, usize)>,
}

impl Values for Inference<'_> {
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
        match self.given.get(usize::from(parameter))? {
            Given::Text(text) => Some(text.len() as u64),
            Given::Bytes(bytes) => Some(bytes.len() as u64),
            _ => None,
        }
    }

    fn name(&self, parameter: u16) -> Option<&str> {
        self.scope.parameter(parameter).map(|p| p.name.as_str())
    }
}

impl<'a> Inference<'a> {
    fn new(interface: &'a Interface, given: &[Given<'a>]) -> Result<Self> {
        let expected = interface.caller_parameters().count();
        if given.len() != expected {
            let message =
                format!("{} takes {expected} arguments, not {}", interface.name, given.len());
            return Err(wrong(message));
        }
        let mut inference = Inference {
            scope: interface.scope(),
            name: &interface.name,
            given: vec![Given::Unset; interface.parameters.len()],
            known: vec![None; interface.parameters.len()],
            extents: Vec::new(),
            lower_ranks: Vec::new(),
        };
        for ((index, parameter), one) in interface.caller_parameters().zip(given) {
            inference.given[index] = *one;
            inference.take(index, parameter, *one)?;
        }
        Ok(inference)
    }

    fn value(&self, parameter: u16, element: u64) -> Option<ScalarValue> {
        let index = usize::from(parameter);
        let declared = self.scope.parameter(parameter)?;
        match self.given.get(index)? {
            _ if declared.shape == Shape::Scalar => {
                self.known[index].map(|(value, _)| value).filter(|_| element == 0)
            }
            Given::Elements { bytes, .. } => ScalarValue::read(declared.element, bytes, element),
            Given::Integer(value) if element == 0 => Some(ScalarValue::Integer(*value)),
            Given::Text(text) => text
                .as_bytes()
                .get(usize::try_from(element).ok()?)
                .map(|b| ScalarValue::Integer((*b).into())),
            _ => None,
        }
    }

    /// Files one argument under scalar or array.
    fn take(&mut self, index: usize, parameter: &'a Parameter, given: Given<'a>) -> Result<()> {
        let text = matches!(parameter.element, ElementType::String | ElementType::Filename);
        match (&parameter.shape, given) {
            (_, Given::Unset) | (Shape::Scalar, Given::Later) => Ok(()),
            (Shape::Scalar, Given::Text(_)) if text => Ok(()),
            (Shape::Scalar, Given::Bytes(_) | Given::Other) if text => Ok(()),
            (Shape::Scalar, _) if matches!(parameter.element, ElementType::Struct(_)) => Ok(()),
            (Shape::Scalar, _) => {
                let value = scalar_given(parameter, given)?;
                self.known[index] = Some((value, Origin::Given));
                Ok(())
            }
            (Shape::Array { dimensions, .. }, Given::Text(text))
                if parameter.element == ElementType::Char =>
            {
                self.take_shape(index, dimensions, &[text.len() as u64])
            }
            (Shape::Array { dimensions, .. }, _) => match given {
                Given::Array { shape } | Given::Elements { shape, .. } => {
                    self.take_shape(index, dimensions, shape)
                }
                Given::Other | Given::Bytes(_) => Ok(()),
                _ if given.shape().is_some() => self.take_shape(index, dimensions, &[]),
                _ => Err(report::not_an_array(self.scope, parameter)),
            },
            (Shape::Callback { .. }, Given::Other) => Ok(()),
            (Shape::Callback { .. }, _) => Err(wrong(format!("{} is a function", parameter.name))),
        }
    }

    /// An extent per axis. Trailing dimensions that the array lacks count as 1, in both storage
    /// orders: a vector is one column.
    fn take_shape(
        &mut self,
        index: usize,
        dimensions: &'a [Dimension],
        shape: &[u64],
    ) -> Result<()> {
        if shape.len() > dimensions.len() {
            return Err(report::rank(self.scope, &self.scope.parameters[index], shape));
        }
        if shape.len() < dimensions.len() {
            self.lower_ranks.push((index, shape.len()));
        }
        for (axis, dimension) in dimensions.iter().enumerate() {
            let elements = shape.get(axis).copied().unwrap_or(1);
            self.extents.push(Extent { parameter: index, axis, dimension, elements });
        }
        Ok(())
    }

    /// Whether the routine refers to the parameter; `None` while its `when` depends on something
    /// unknown.
    fn is_present(&self, index: usize) -> Option<bool> {
        match &self.scope.parameters[index].when {
            Some(when) => when.try_integer(&self.completed()).ok().map(|value| value != 0),
            None => Some(true),
        }
    }

    /// Whether the routine reads an array; `None` while that depends on something unknown.
    fn is_given(&self, index: usize) -> Option<bool> {
        match &self.scope.parameters[index].given {
            Some(given) => given.try_holds(&self.completed()).ok(),
            None => Some(true),
        }
    }

    /// The values with WORK scalars added. Made again each time: what is known changes.
    fn completed(&self) -> Completed<'_, Self> {
        Completed::work_only(self.scope, self)
    }

    fn set(&mut self, index: usize, value: i64, origin: Origin) {
        self.known[index] = Some((ScalarValue::Integer(value), origin));
    }

    /// Whether scalar `index` may be inferred: an integer that the caller passes and left out.
    fn is_open(&self, index: usize) -> bool {
        let parameter = &self.scope.parameters[index];
        parameter.mode.is_input()
            && parameter.shape == Shape::Scalar
            && parameter.element.is_integer()
            && self.known[index].is_none()
            && self.given[index] != Given::Later
    }

    /// Whether a number is known only when the call runs.
    fn waits(&self) -> bool {
        self.given.contains(&Given::Later)
    }

    /// Solves each extent that has one open unknown. Whether anything was found.
    fn solve_extents(&mut self) -> bool {
        let mut progress = false;
        for at in 0..self.extents.len() {
            let extent = self.extents[at];
            if self.is_present(extent.parameter) != Some(true) {
                continue;
            }
            let Some(expression) = self.extent_expression(extent.dimension) else { continue };
            let solved = solve::solve(self, &expression, extent.elements);
            if let Some((index, value)) = solved.filter(|(index, _)| self.is_open(*index)) {
                self.set(index, value, Origin::Axis(extent.parameter, extent.axis));
                progress = true;
            }
        }
        progress
    }

    /// The number of elements that travel, as an expression; `None` where results decide.
    ///
    /// ceil((end - start) / stride) is written out only where there is a stride.
    fn extent_expression(&self, dimension: &Dimension) -> Option<Expression> {
        solve::extent_expression(self.scope, dimension)
    }

    /// Unknowns that occur only as size of ranged dimensions: the largest end of their ranges, at
    /// least 1.
    fn infer_leading_dimensions(&mut self) -> bool {
        let mut progress = false;
        for index in 0..self.scope.parameters.len() {
            if self.is_open(index)
                && is_only_leading(self.scope, index)
                && let Some((value, parameter)) = self.leading_value(index)
            {
                self.set(index, value, Origin::Leading(parameter));
                progress = true;
            }
        }
        progress
    }

    /// Largest end among the dimensions that `index` is the size of, once all are known; and whose
    /// it is.
    fn leading_value(&self, index: usize) -> Option<(i64, usize)> {
        let values = self.completed();
        let mut best = None;
        for (parameter, dimension) in leading_uses(self.scope, index) {
            if self.is_present(parameter) == Some(false) {
                continue;
            }
            let end = dimension.end.as_ref()?.try_integer(&values).ok()?.max(1);
            if best.is_none_or(|(value, _)| end > value) {
                best = Some((end, parameter));
            }
        }
        best
    }

    /// A leading dimension of arrays that this call does not refer to: 1, which every library
    /// accepts.
    fn fill_absent_leading(&mut self) -> bool {
        let absent = |it: &Self, index: usize| {
            leading_uses(it.scope, index)
                .all(|(parameter, _)| it.is_present(parameter) == Some(false))
        };
        let mut progress = false;
        for index in 0..self.scope.parameters.len() {
            if self.is_open(index) && is_only_leading(self.scope, index) && absent(self, index) {
                self.set(index, 1, Origin::Default);
                progress = true;
            }
        }
        progress
    }

    /// Gives unset scalars that `admit` admits their defaults, where these can be computed.
    fn apply_defaults(&mut self, admit: impl Fn(&Parameter) -> bool) -> bool {
        let scope = self.scope;
        let mut progress = false;
        for (index, parameter) in scope.parameters.iter().enumerate() {
            let open = parameter.mode.is_input()
                && parameter.is_plain_scalar()
                && self.known[index].is_none()
                && self.given[index] != Given::Later;
            let Some(default) = parameter.default.as_ref().filter(|_| open && admit(parameter))
            else {
                continue;
            };
            if let Ok(value) = default_value(parameter, default, &self.completed()) {
                self.known[index] = Some((value, Origin::Default));
                progress = true;
            }
        }
        progress
    }

    fn finish(self) -> Result<Arguments> {
        for (parameter, known) in self.scope.parameters.iter().zip(&self.known) {
            if let Some((value, origin)) = known.filter(|(value, _)| !value.fits(parameter.element))
            {
                return Err(self.too_large(parameter, value, origin));
            }
        }
        let scalars = self.known.into_iter().map(|known| known.map(|(value, _)| value)).collect();
        Ok(Arguments { scalars, lower_ranks: self.lower_ranks })
    }
}

/// The value given for a scalar, in the domain of its type.
fn scalar_given(parameter: &Parameter, given: Given<'_>) -> Result<ScalarValue> {
    let value = match given {
        Given::Integer(value) => Some(ScalarValue::Integer(value)),
        Given::Real(value) => Some(ScalarValue::Real(value)),
        Given::Complex(re, im) => Some(ScalarValue::Complex(re, im)),
        Given::Bytes(bytes) => ScalarValue::read(parameter.element, bytes, 0),
        Given::Elements { shape, bytes } if shape.iter().all(|extent| *extent == 1) => {
            ScalarValue::read(parameter.element, bytes, 0)
        }
        Given::Text(text) if parameter.element == ElementType::Char && text.len() == 1 => {
            Some(ScalarValue::Integer(text.as_bytes()[0].into()))
        }
        _ => None,
    };
    value
        .filter(|value| value.fits(parameter.element))
        .ok_or_else(|| report::not_a_scalar(parameter, given))
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, OPERATION, message)
}
