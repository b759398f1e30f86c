//! Checks the completed arguments and words what is wrong with them.

use std::fmt::Write as _;

use farcall_base::{Error, Result};

use super::{Extent, Given, Inference, Origin, solve, wrong};
use crate::expression::Expression;
use crate::fault::{listed_with_and, parameters_of, value_text};
use crate::interface::{ElementType, Parameter, Shape};
use crate::scalar::ScalarValue;
use crate::scope::Scope;
use crate::text::short_text;
use crate::values::explain;

impl Inference<'_> {
    /// An array whose extent no value of the one unknown gives: the largest that leaves elements
    /// over is not what the caller meant.
    pub(super) fn refuse_misfits(&self) -> Result<()> {
        for extent in
            self.extents.iter().filter(|extent| self.is_present(extent.parameter) == Some(true))
        {
            let Some(expression) = self.extent_expression(extent.dimension) else { continue };
            let misses = solve::near_misses(self, &expression, extent.elements);
            if let Some((unknown, near)) =
                misses.filter(|(unknown, _)| self.is_open(usize::from(*unknown)))
            {
                return Err(self.misfit(extent, &expression, unknown, &near));
            }
        }
        Ok(())
    }

    /// A value that its type does not hold. Who passed an array may not know of its size as an
    /// argument, and is told which array it is.
    pub(super) fn too_large(
        &self,
        parameter: &Parameter,
        value: ScalarValue,
        origin: Origin,
    ) -> Error {
        let error = crate::values::does_not_fit(value, parameter);
        let Origin::Axis(array, axis) = origin else { return error };
        let name = &self.scope.parameters[array].name;
        let shape = self.shape_text(array);
        error.with("taken from", format!("axis {axis} of {name}, which {shape}"))
    }

    /// "x has 9 elements, which no n gives with incx = 3".
    fn misfit(
        &self,
        extent: &Extent<'_>,
        expression: &Expression,
        unknown: u16,
        near: &[u64],
    ) -> Error {
        let name = &self.scope.parameters[extent.parameter].name;
        let unknown = self.scope.name(unknown);
        let shape = self.shape_text(extent.parameter);
        let values = self.values_text(expression);
        let with = if values.is_empty() { values } else { format!(" with {values}") };
        let near = near.iter().map(u64::to_string).collect::<Vec<_>>().join(" or ");
        match self.is_vector(extent.parameter) {
            true => wrong(format!("{name} {shape}, which no {unknown} gives{with}"))
                .fix(format!("pass {name} with {near} elements")),
            false => {
                wrong(format!("{name} {shape}, and no {unknown} gives axis {}{with}", extent.axis))
                    .fix(format!("pass {name} with {near} elements along that axis"))
            }
        }
    }

    /// The extent that travels of each dimension must be the array's own.
    pub(super) fn check_extents(&self) -> Result<()> {
        let values = self.completed();
        for extent in
            self.extents.iter().filter(|extent| self.is_present(extent.parameter) == Some(true))
        {
            let Some(expression) = self.extent_expression(extent.dimension) else { continue };
            let wanted = match expression.try_integer(&values) {
                Ok(wanted) => wanted,
                // The server checks it, when it knows.
                Err(_) if self.waits() => continue,
                Err(fault) => return Err(explain(self.scope, &values, fault)),
            };
            if u64::try_from(wanted) != Ok(extent.elements) {
                return Err(self.disagreement(extent, &expression, wanted));
            }
        }
        Ok(())
    }

    /// What is wrong with an extent, in the simplest words that fit.
    fn disagreement(&self, extent: &Extent<'_>, expression: &Expression, wanted: i64) -> Error {
        let chosen = self.chosen(expression);
        if let Some(error) = self.not_square(extent, chosen) {
            return error;
        }
        let (message, fix) = match self.other_value(chosen, extent.elements) {
            Some(other) => {
                let fix = "pass arrays whose sizes agree, or pass the scalars by name".to_owned();
                (self.two_values(extent, expression, other), fix)
            }
            None => {
                (self.wrong_count(extent, expression, wanted), self.right_count(extent, wanted))
            }
        };
        wrong(message).fix(self.rank_advice(extent).unwrap_or(fix))
    }

    /// "A is 3 x 4, and both extents are n": two axes of one array that must be equal and are not.
    fn not_square(&self, extent: &Extent<'_>, expression: &Expression) -> Option<Error> {
        let Expression::Parameter(one) = expression else { return None };
        let (_, Origin::Axis(parameter, other)) = self.known[usize::from(*one)]? else {
            return None;
        };
        let Shape::Array { dimensions, .. } = &self.scope.parameters[parameter].shape else {
            return None;
        };
        let same = self
            .extent_expression(&dimensions[other])
            .is_some_and(|other| self.chosen(&other) == expression);
        let lower = self.lower_ranks.iter().any(|(index, _)| *index == parameter);
        if parameter != extent.parameter || !same || lower {
            return None;
        }
        let name = &self.scope.parameters[parameter].name;
        let shape = self.shape_text(parameter);
        let scalar = self.scope.name(*one);
        Some(match dimensions.len() {
            2 => wrong(format!("{name} {shape}, and both extents are {scalar}"))
                .fix(format!("{name} must be square")),
            _ => wrong(format!(
                "{name} {shape}, and the extents of axes {other} and {} are both {scalar}",
                extent.axis
            ))
            .fix("they must be equal"),
        })
    }

    /// "B has shape (4,) but the interface wants B[ldb:n][nrhs]: n = 3 from A axis 0, n = 4 from B
    /// axis 0".
    fn two_values(
        &self,
        extent: &Extent<'_>,
        expression: &Expression,
        (one, value): (u16, i64),
    ) -> String {
        let parameter = &self.scope.parameters[extent.parameter];
        let name = &parameter.name;
        let axis = extent.axis;
        let shape = tuple(&self.shape(extent.parameter));
        let declared = self.scope.declaration(parameter);
        let mut message = match declared == *name {
            // Too long to be read.
            true => format!("{name} has shape {shape}, which does not fit: "),
            false => format!("{name} has shape {shape} but the interface wants {declared}: "),
        };
        let scalar = self.scope.name(one);
        if let Some((known, origin)) =
            self.known[usize::from(one)].and_then(|(v, origin)| Some((v.integer()?, origin)))
        {
            let _ = write!(message, "{scalar} = {known} {}, ", self.origin_text(origin));
        }
        let letters = self.letters(expression);
        message + &format!("{scalar} = {value} from {name} axis {axis}{letters}")
    }

    /// "x has 3 elements; with n = 2 and incx = 1 it must have 2", with the expression where it is
    /// short.
    fn wrong_count(&self, extent: &Extent<'_>, expression: &Expression, wanted: i64) -> String {
        let name = &self.scope.parameters[extent.parameter].name;
        let shape = self.shape_text(extent.parameter);
        let values = self.values_text(expression);
        let with = if values.is_empty() { values } else { format!("with {values} ") };
        let rule = match self.chosen(expression) {
            Expression::Integer(_) | Expression::Parameter(_) => None,
            // How strides count is not what the interface says.
            _ if extent.dimension.stride.is_some() => None,
            other => short_text(other, &self.scope),
        };
        let rule = rule.map(|text| format!(" ({text})")).unwrap_or_default();
        match self.is_vector(extent.parameter) {
            true => format!("{name} {shape}; {with}it must have {wanted}{rule}"),
            false => format!(
                "{name} {shape}; {with}its axis {} must have {wanted} elements{rule}",
                extent.axis
            ),
        }
    }

    fn right_count(&self, extent: &Extent<'_>, wanted: i64) -> String {
        let name = &self.scope.parameters[extent.parameter].name;
        match (wanted, self.is_vector(extent.parameter)) {
            (..0, _) => "pass sizes of 0 or more".to_owned(),
            (_, true) => format!("pass {name} with {wanted} elements"),
            (_, false) => format!("pass {name} with {wanted} elements along axis {}", extent.axis),
        }
    }

    /// What to do about an array whose missing dimensions are to blame.
    fn rank_advice(&self, extent: &Extent<'_>) -> Option<String> {
        let name = &self.scope.parameters[extent.parameter].name;
        let lower = |(parameter, rank): &&(usize, usize)| {
            *parameter == extent.parameter && extent.axis >= *rank
        };
        self.lower_ranks.iter().find(lower)?;
        Some(format!("pass {name} with all its dimensions: a missing dimension counts as 1"))
    }

    /// The value that the only scalar of the expression would need for this extent.
    fn other_value(&self, expression: &Expression, elements: u64) -> Option<(u16, i64)> {
        let scalars = self.scalars_of(expression);
        let [one] = scalars.as_slice() else { return None };
        solve::solve_for(&self.completed(), expression, *one, elements).map(|value| (*one, value))
    }

    /// The branch that a settled condition leaves of an expression.
    fn chosen<'e>(&self, expression: &'e Expression) -> &'e Expression {
        let Expression::Select(condition, then, otherwise) = expression else { return expression };
        match condition.try_integer(&self.completed()) {
            Ok(0) => self.chosen(otherwise),
            Ok(_) => self.chosen(then),
            Err(_) => expression,
        }
    }

    /// The integer scalars that decide the expression's value; conditions that are settled do not
    /// count.
    fn scalars_of(&self, expression: &Expression) -> Vec<u16> {
        let mut scalars = parameters_of(self.chosen(expression));
        scalars.retain(|index| !self.is_letter(*index));
        scalars
    }

    fn is_letter(&self, index: u16) -> bool {
        self.scope.parameter(index).is_some_and(|parameter| parameter.element == ElementType::Char)
    }

    /// " with transb = 'N'": the letters that an expression's conditions look at.
    fn letters(&self, expression: &Expression) -> String {
        let texts = self.letter_values(expression);
        if texts.is_empty() { String::new() } else { format!(" with {}", listed_with_and(texts)) }
    }

    fn letter_values(&self, expression: &Expression) -> Vec<String> {
        let letters = parameters_of(expression).into_iter().filter(|index| self.is_letter(*index));
        letters.filter_map(|index| value_text(index, &self.completed(), &self.scope)).collect()
    }

    /// "n = 3 (from x), m = 2 and incx = 1": what an extent was worked out from; where from, if the
    /// caller did not say.
    fn values_text(&self, expression: &Expression) -> String {
        let mut texts = self.letter_values(expression);
        for index in self.scalars_of(expression) {
            let Some(text) = value_text(index, &self.completed(), &self.scope) else { continue };
            let from = match self.known[usize::from(index)] {
                Some((_, Origin::Axis(parameter, _))) if self.is_vector(parameter) => {
                    format!(" (from {})", self.scope.parameters[parameter].name)
                }
                Some((_, Origin::Axis(parameter, axis))) => {
                    format!(" (axis {axis} of {})", self.scope.parameters[parameter].name)
                }
                _ => String::new(),
            };
            texts.push(text + &from);
        }
        listed_with_and(texts)
    }

    fn origin_text(&self, origin: Origin) -> String {
        match origin {
            Origin::Given => "as given".to_owned(),
            Origin::Axis(parameter, axis) => {
                format!("from {} axis {axis}", self.scope.parameters[parameter].name)
            }
            Origin::Leading(parameter) => {
                format!("as leading dimension of {}", self.scope.parameters[parameter].name)
            }
            Origin::Default => "by default".to_owned(),
        }
    }

    fn shape(&self, parameter: usize) -> Vec<u64> {
        match &self.given[parameter] {
            Given::Text(text) => vec![text.len() as u64],
            given => given.shape().unwrap_or(&[]).to_vec(),
        }
    }

    /// Whether an array has one dimension, so that no axis need be named.
    fn is_vector(&self, parameter: usize) -> bool {
        match &self.scope.parameters[parameter].shape {
            Shape::Array { dimensions, .. } => dimensions.len() == 1,
            _ => false,
        }
    }

    /// "is 3 x 4", "has 3 elements", "is a single number".
    fn shape_text(&self, parameter: usize) -> String {
        match self.shape(parameter).as_slice() {
            [] => "is a single number".to_owned(),
            [1] => "has 1 element".to_owned(),
            [one] => format!("has {one} elements"),
            several => {
                format!("is {}", several.iter().map(u64::to_string).collect::<Vec<_>>().join(" x "))
            }
        }
    }
}

/// A shape as Python writes it: `(3,)`, `(3, 4)`.
fn tuple(shape: &[u64]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

pub(super) fn rank(scope: Scope<'_>, parameter: &Parameter, shape: &[u64]) -> Error {
    let Shape::Array { dimensions, .. } = &parameter.shape else {
        return wrong(parameter.name.clone());
    };
    let name = &parameter.name;
    let declared = scope.dimensions_text(parameter);
    let rank = shape.len();
    let wanted = dimensions.len();
    wrong(format!(
        "{name} has shape {} ({rank} dimensions) but the interface wants {name}{declared} \
            ({wanted})",
        tuple(shape)
    ))
    .fix("reshape the array")
}

pub(super) fn not_an_array(scope: Scope<'_>, parameter: &Parameter) -> Error {
    let element = scope.element_text(parameter.element);
    wrong(format!(
        "{} is an array: {element} {0}{}",
        parameter.name,
        scope.dimensions_text(parameter)
    ))
    .fix("pass an array of that type")
}

pub(super) fn not_a_scalar(parameter: &Parameter, given: Given<'_>) -> Error {
    let what = match given {
        Given::Integer(value) => value.to_string(),
        Given::Real(value) => format!("{value:?}"),
        Given::Complex(re, im) => format!("({re:?}, {im:?})"),
        Given::Text(text) => format!("{:?}", text.chars().take(40).collect::<String>()),
        Given::Array { shape } | Given::Elements { shape, .. } => {
            format!("an array of shape {}", tuple(shape))
        }
        Given::Bytes(bytes) => format!("{} bytes", bytes.len()),
        Given::Other | Given::Unset | Given::Later => "this".to_owned(),
    };
    let element = parameter.element.name();
    let message = format!("{} is one {element}, but got {what}", parameter.name);
    wrong(message).fix(if parameter.element == ElementType::Char {
        "pass one character"
    } else {
        "pass a number in range"
    })
}
