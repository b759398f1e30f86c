//! Resolves an interface against the values of one call: how large each array is and which of its
//! bytes travel (spec/idl.md, section 6). Client, server and executable use the same code, and none
//! trusts the other's result.

use farcall_base::{Bytes, Error, ErrorKind, Result};

use crate::domain;
use crate::evaluate::Values;
use crate::expression::Expression;
use crate::interface::{Dimension, ElementType, Interface, Mode, Order, Parameter, Shape};
use crate::runs::Runs;
use crate::scope::Scope;
use crate::values::Completed;
pub use certain::certain_refusal;
use refusals::too_large;

mod certain;
mod range;
mod refusals;

const OPERATION: &str = "compute sizes";

/// Texts of one argument at most (spec/idl.md, section 6.4).
pub const TEXTS_MAX: u64 = 1 << 20;

/// What each parameter of one call is, in interface order.
#[derive(Clone, Debug, PartialEq)]
pub struct CallLayout {
    /// One entry per parameter, WORK ones and callbacks included.
    pub parameters: Vec<ParameterLayout>,
    /// Bytes of the values that it was worked out from, by parameter. Kept only where results
    /// decide what travels back: their ranges may refer to these values, too, and no answer repeats
    /// them.
    pub(crate) given: Vec<Option<Vec<u8>>>,
}

/// What one parameter is in one call.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterLayout {
    /// Its `when` is zero: the routine does not refer to it, nothing travels.
    Absent,
    /// One value of this many bytes.
    Scalar {
        /// Bytes of the value.
        bytes: u64,
    },
    /// Numbers, characters or structs in memory.
    Array(ArrayLayout),
    /// One string or file; its length is its own.
    Text,
    /// An array of strings or files.
    TextArray {
        /// Number of them.
        count: u64,
    },
    /// A function of the client.
    Callback,
}

/// One array of one call.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayLayout {
    /// Dimensions, in declared order.
    pub dimensions: Vec<ResolvedDimension>,
    /// Storage order.
    pub order: Order,
    /// Bytes of one element.
    pub element_bytes: u64,
    /// Bytes in the routine's memory.
    pub full_bytes: u64,
    /// Bytes that travel; 0 for a WORK array.
    pub transfer_bytes: u64,
    /// Whether the routine reads it, if it is INOUT. What it does not read only comes back.
    pub is_given: bool,
}

/// One dimension of one call: `0 <= start <= end <= size`, `stride >= 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedDimension {
    /// Elements in memory.
    pub size: u64,
    /// First index that travels.
    pub start: u64,
    /// End (exclusive) of the indexes that travel.
    pub end: u64,
    /// Distance between indexes that travel.
    pub stride: u64,
    /// Number of indexes that travel.
    pub count: u64,
}

impl CallLayout {
    /// Bytes of all arrays, in the routine's memory.
    pub fn array_bytes(&self) -> u64 {
        self.parameters.iter().map(ParameterLayout::full_bytes).fold(0, u64::saturating_add)
    }
}

impl ArrayLayout {
    /// The contiguous pieces that travel, in transfer order: (offset from the array's begin,
    /// length), both in bytes. Transfer order is storage order. The pieces are as long as they can
    /// be; none is empty.
    pub fn runs(&self) -> Runs {
        Runs::new(self)
    }

    /// Whether what travels is one piece of memory, or nothing.
    pub fn is_contiguous(&self) -> bool {
        self.transfer_bytes == self.full_bytes
            || self.transfer_bytes == 0
            || self.runs().next().is_some_and(|(_, length)| length == self.transfer_bytes)
    }

    /// Distance in bytes between neighbours along each dimension, in declared order.
    pub fn strides_bytes(&self) -> Vec<u64> {
        let mut strides = vec![0; self.dimensions.len()];
        self.storage_strides().for_each(|(index, stride)| strides[index] = stride);
        strides
    }

    /// The same from the fastest dimension to the slowest in memory, each with its index.
    pub fn storage_strides(&self) -> impl Iterator<Item = (usize, u64)> {
        storage_order(self.order, self.dimensions.len()).scan(self.element_bytes, |step, index| {
            let stride = *step;
            // Bounded when the layout was resolved: the product of all sizes but zeros fits.
            *step = stride.saturating_mul(self.dimensions[index].size.max(1));
            Some((index, stride))
        })
    }
}

/// Distances between neighbours of an array without gaps along each dimension, in the order of
/// `shape`, where those of the fastest are `step` apart; `None` when they do not fit 64 bits. A
/// dimension without elements counts as one of one.
pub fn packed_strides(shape: &[u64], step: u64, order: Order) -> Option<Vec<i64>> {
    let mut strides = vec![0; shape.len()];
    let mut step = i64::try_from(step).ok()?;
    for index in storage_order(order, shape.len()) {
        strides[index] = step;
        step = step.checked_mul(i64::try_from(shape[index].max(1)).ok()?)?;
    }
    Some(strides)
}

/// Indexes of the dimensions from the fastest to the slowest in memory.
pub(crate) fn storage_order(order: Order, rank: usize) -> impl Iterator<Item = usize> {
    (0..rank).map(move |step| if order == Order::Column { step } else { rank - 1 - step })
}

impl ResolvedDimension {
    /// All of `size` elements.
    pub fn whole(size: u64) -> Self {
        ResolvedDimension { size, start: 0, end: size, stride: 1, count: size }
    }
}

/// Works out every parameter of a call from the values that are known before it, and refuses values
/// that the interface does not allow.
///
/// `values` holds IN and INOUT scalars and whatever else sizes refer to; WORK scalars and defaults
/// are added from the interface. A range that an OUT value gives counts as the whole dimension: its
/// bound. `limit` bounds the sum of all arrays, WORK ones included.
///
/// # Errors
/// `InvalidArgument` for values outside their domain, and for sizes that are negative, out of
/// order, overflow or not computable; `LimitExceeded` if the arrays exceed the limit. Both name the
/// routine, the parameter and the values.
pub fn resolve(interface: &Interface, values: &dyn Values, limit: Bytes) -> Result<CallLayout> {
    resolve_in(interface.scope(), values, limit)
        .map_err(|error| error.with("routine", interface.full_name()))
}

/// [`resolve`] for any scope, such as the parameters of a callback.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_in(scope: Scope<'_>, values: &dyn Values, limit: Bytes) -> Result<CallLayout> {
    let values = &Completed::new(scope, values);
    domain::check(scope, values)?;
    let resolver = Resolver { scope, values, after: false };
    let mut parameters = Vec::with_capacity(scope.parameters.len());
    let mut total = 0_u64;
    for parameter in scope.parameters {
        let layout = resolver.parameter(parameter)?;
        total = total.saturating_add(layout.full_bytes());
        if total > limit.0 {
            return Err(too_large(&resolver, parameter, &layout, limit));
        }
        parameters.push(layout);
    }
    Ok(CallLayout { parameters, given: Vec::new() })
}

/// The ranges that travel back, with the values the routine left behind.
///
/// `before` is what [`resolve`] gave for the same call. Sizes stay as they were; ranges that refer
/// to OUT or INOUT parameters are evaluated again with `values_after` and must lie within their
/// dimension.
///
/// # Errors
/// `RoutineFailed` if the routine reported a range that lies outside its bound.
pub fn resolve_results(
    interface: &Interface,
    values_after: &dyn Values,
    before: &CallLayout,
) -> Result<CallLayout> {
    resolve_results_in(interface.scope(), values_after, before)
        .map_err(|error| error.with("routine", interface.full_name()))
}

/// [`resolve_results`] for any scope.
///
/// # Errors
/// As [`resolve_results`].
pub fn resolve_results_in(
    scope: Scope<'_>,
    values_after: &dyn Values,
    before: &CallLayout,
) -> Result<CallLayout> {
    if before.parameters.len() != scope.parameters.len() {
        return Err(Error::internal(OPERATION, "the layout is for another interface"));
    }
    let resolver = Resolver { scope, values: &Completed::new(scope, values_after), after: true };
    let mut layout = before.clone();
    for (parameter, known) in scope.parameters.iter().zip(&mut layout.parameters) {
        let (Shape::Array { dimensions, .. }, ParameterLayout::Array(array)) =
            (&parameter.shape, known)
        else {
            continue;
        };
        if parameter.mode.is_output() && dimensions.iter().any(|d| resolver.range_depends(d)) {
            resolver.update(parameter, dimensions, array)?;
        }
    }
    Ok(layout)
}

impl ParameterLayout {
    /// Where the bytes of `parameter`, which this is the layout of, go in the call: what is not
    /// given comes back alone.
    pub fn mode(&self, parameter: &Parameter) -> Mode {
        match (parameter.mode, self) {
            (Mode::InOut, ParameterLayout::Array(array)) if !array.is_given => Mode::Out,
            (mode, _) => mode,
        }
    }

    fn full_bytes(&self) -> u64 {
        match self {
            ParameterLayout::Array(array) => array.full_bytes,
            // The routine gets a pointer per text; the texts themselves are bounded where they
            // arrive.
            ParameterLayout::TextArray { count } => count.saturating_mul(8),
            ParameterLayout::Scalar { bytes } => *bytes,
            ParameterLayout::Absent | ParameterLayout::Text | ParameterLayout::Callback => 0,
        }
    }
}

struct Resolver<'a> {
    scope: Scope<'a>,
    values: &'a dyn Values,
    /// Whether the routine has run, so that OUT values are known.
    after: bool,
}

impl Resolver<'_> {
    fn parameter(&self, parameter: &Parameter) -> Result<ParameterLayout> {
        if let Some(when) = &parameter.when
            && self.integer(when, parameter)? == 0
        {
            return Ok(ParameterLayout::Absent);
        }
        let text = matches!(parameter.element, ElementType::String | ElementType::Filename);
        match &parameter.shape {
            Shape::Callback { .. } => Ok(ParameterLayout::Callback),
            Shape::Scalar if text => Ok(ParameterLayout::Text),
            Shape::Scalar => {
                Ok(ParameterLayout::Scalar { bytes: self.scope.element_bytes(parameter.element) })
            }
            Shape::Array { dimensions, .. } if text => {
                // Ranges mean nothing for texts: all of them travel.
                dimensions
                    .iter()
                    .try_fold(1, |count: u64, d| {
                        self.times(parameter, count, self.size(parameter, d)?)
                    })
                    .and_then(|count| self.texts(parameter, count))
            }
            Shape::Array { dimensions, order } => {
                self.array(parameter, dimensions, *order).map(ParameterLayout::Array)
            }
        }
    }

    /// Whether the routine reads what the array holds before the call.
    fn is_given(&self, parameter: &Parameter) -> Result<bool> {
        let holds = |given: &Expression| {
            given.try_holds(self.values).map_err(|fault| self.failed(fault, parameter))
        };
        parameter.given.as_ref().map_or(Ok(true), holds)
    }

    /// Texts travel inside a message, whose length is bounded, and each costs its receiver far more
    /// than it has bytes: an interface may promise any number of empty ones.
    fn texts(&self, parameter: &Parameter, count: u64) -> Result<ParameterLayout> {
        if count <= TEXTS_MAX {
            return Ok(ParameterLayout::TextArray { count });
        }
        let message = format!(
            "{} has {count} texts; an argument may have at most {TEXTS_MAX}",
            self.describe(parameter)
        );
        Err(self
            .error(ErrorKind::LimitExceeded, message)
            .fix("check the sizes passed, or pass the texts in several calls"))
    }

    fn array(
        &self,
        parameter: &Parameter,
        dimensions: &[Dimension],
        order: Order,
    ) -> Result<ArrayLayout> {
        let element_bytes = self.scope.element_bytes(parameter.element);
        let mut resolved = Vec::with_capacity(dimensions.len());
        // The product without zeros: it bounds every stride and offset, also of an array that is
        // empty in one dimension.
        let mut extent = element_bytes;
        for dimension in dimensions {
            let size = self.size(parameter, dimension)?;
            extent = self.times(parameter, extent, size.max(1))?;
            resolved.push(self.range(parameter, dimension, size)?);
        }
        let mut array = ArrayLayout {
            dimensions: resolved,
            order,
            element_bytes,
            full_bytes: 0,
            transfer_bytes: 0,
            is_given: self.is_given(parameter)?,
        };
        array.full_bytes = if array.dimensions.iter().any(|d| d.size == 0) { 0 } else { extent };
        array.transfer_bytes =
            if parameter.mode == Mode::Work { 0 } else { array.count_transfer() };
        Ok(array)
    }

    fn update(
        &self,
        parameter: &Parameter,
        dimensions: &[Dimension],
        array: &mut ArrayLayout,
    ) -> Result<()> {
        for (dimension, known) in dimensions.iter().zip(&mut array.dimensions) {
            if self.range_depends(dimension) {
                *known = self.range(parameter, dimension, known.size)?;
            }
        }
        array.transfer_bytes = array.count_transfer();
        Ok(())
    }

    /// Whether the routine itself decides what of this dimension travels back.
    fn range_depends(&self, dimension: &Dimension) -> bool {
        [&dimension.start, &dimension.end, &dimension.stride]
            .into_iter()
            .flatten()
            .any(|expression| self.scope.refers_to_output(expression))
    }

    fn size(&self, parameter: &Parameter, dimension: &Dimension) -> Result<u64> {
        let size = self.integer(&dimension.size, parameter)?;
        u64::try_from(size).map_err(|_| {
            self.wrong(parameter, &dimension.size, format!("has the negative size {size}"))
        })
    }

    /// A bound of a range: `None` where it is absent, or not known before the call.
    fn bound(&self, parameter: &Parameter, expression: &Option<Expression>) -> Result<Option<i64>> {
        match expression {
            Some(expression) if self.after || !self.scope.refers_to_result(expression) => {
                self.integer(expression, parameter).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn range(
        &self,
        parameter: &Parameter,
        dimension: &Dimension,
        size: u64,
    ) -> Result<ResolvedDimension> {
        if dimension.start.is_none() && dimension.end.is_none() && dimension.stride.is_none() {
            return Ok(ResolvedDimension::whole(size));
        }
        let start = self.bound(parameter, &dimension.start)?.unwrap_or(0);
        let end = match self.bound(parameter, &dimension.end)? {
            Some(0) if self.zero_means_size(dimension) => size as i64,
            Some(end) => end,
            None => size as i64,
        };
        let stride = self
            .bound(parameter, &dimension.stride)?
            .map_or(1, |stride| if stride == 0 { 1 } else { stride });
        if start < 0 || start > end || end > size as i64 || stride < 1 {
            return Err(self.wrong_range(parameter, dimension, [start, end, stride], size));
        }
        let start = start as u64;
        let end = end as u64;
        let stride = stride as u64;
        Ok(ResolvedDimension { size, start, end, stride, count: (end - start).div_ceil(stride) })
    }

    /// An end of 0 means the whole dimension if it is written so, or if it is computed beside a
    /// written start, as in Ninf-G. `[lda:n]` with n = 0 means no elements: a leading dimension of
    /// an empty matrix. So does a count of 0 that a routine reports.
    fn zero_means_size(&self, dimension: &Dimension) -> bool {
        match &dimension.end {
            Some(Expression::Integer(_)) | None => true,
            Some(end) => dimension.start.is_some() && !self.scope.refers_to_output(end),
        }
    }

    fn integer(&self, expression: &Expression, parameter: &Parameter) -> Result<i64> {
        match expression {
            Expression::Integer(value) => Ok(*value),
            _ => expression.try_integer(self.values).map_err(|fault| self.failed(fault, parameter)),
        }
    }

    fn times(&self, parameter: &Parameter, left: u64, right: u64) -> Result<u64> {
        // Within 63 bits, so that offsets fit pointer arithmetic on every side.
        left.checked_mul(right).filter(|product| *product <= i64::MAX as u64).ok_or_else(|| {
            let message = format!("the size of {} overflows 63 bits", self.describe(parameter));
            self.error(ErrorKind::InvalidArgument, message)
                .fix("check the sizes passed: the array is too large for any machine")
        })
    }
}

impl ArrayLayout {
    fn count_transfer(&self) -> u64 {
        self.dimensions
            .iter()
            .fold(self.element_bytes, |bytes, dimension| bytes.saturating_mul(dimension.count))
    }
}
