//! Checks the completed arguments and words what is wrong with them.

use std::fmt::Write as _;

use farcall_base::{Error, Result};

use super::{Extent, Given, Inference, Origin, solve, wrong};
use crate::expression::Expression;
use crate::interface::{ElementType, Parameter, Shape};
use crate::scope::Scope;
use crate::values::explain;

impl Inference<'_> {
    /// An array whose extent no value of the one unknown gives: the largest that leaves elements over is not what the
    /// caller meant.
    pub(super) fn refuse_misfits(&self) -> Result<()> {
        for extent in self.extents.iter().filter(|extent| self.is_present(extent.parameter) == Some(true)) {
            let Some(expression) = self.extent_expression(extent.dimension) else { continue };
            let misses = solve::near_misses(self, &expression, extent.elements);
            if let Some((unknown, near)) = misses.filter(|(unknown, _)| self.is_open(usize::from(*unknown))) {
                return Err(self.misfit(extent, &expression, unknown, &near));
            }
        }
        Ok(())
    }

    /// "x has shape (9,): no n gives axis 0 of x[1 + (n - 1)*abs(incx)] 9 elements, with incx = 3 as given".
    fn misfit(&self, extent: &Extent<'_>, expression: &Expression, unknown: u16, near: &[u64]) -> Error {
        let name = &self.scope.parameters[extent.parameter].name;
        let (shape, text) = (self.shape_text(extent.parameter), self.scope.expression_text(expression));
        let mut message = format!(
            "{name} has shape {shape}, but no {} makes the extent of axis {}, {text}, {}",
            self.scope.name(unknown),
            extent.axis,
            extent.elements
        );
        let origins = self.origins(expression);
        if !origins.is_empty() {
            let _ = write!(message, "; {origins}");
        }
        let near: Vec<String> = near.iter().map(u64::to_string).collect();
        wrong(message).fix(format!("pass {name} with {} elements along that axis", near.join(" or ")))
    }

    /// The extent that travels of each dimension must be the array's own.
    pub(super) fn check_extents(&self) -> Result<()> {
        let values = self.completed();
        for extent in self.extents.iter().filter(|extent| self.is_present(extent.parameter) == Some(true)) {
            let Some(expression) = self.extent_expression(extent.dimension) else { continue };
            let wanted = expression.try_integer(&values).map_err(|fault| explain(self.scope, &values, fault))?;
            if u64::try_from(wanted) != Ok(extent.elements) {
                return Err(self.disagreement(extent, &expression, wanted));
            }
        }
        Ok(())
    }

    /// "A has shape (3, 4) but the interface wants A[n][n]: n = 3 from A axis 0, n = 4 from A axis 1".
    fn disagreement(&self, extent: &Extent<'_>, expression: &Expression, wanted: i64) -> Error {
        let parameter = &self.scope.parameters[extent.parameter];
        let (name, axis) = (&parameter.name, extent.axis);
        let declared = self.scope.dimensions_text(parameter);
        let shape = self.shape_text(extent.parameter);
        let mut message = format!("{name} has shape {shape} but the interface wants {name}{declared}: ");
        let origins = self.origins(expression);
        match self.other_value(expression, extent.elements) {
            Some((one, value)) => {
                let _ = write!(message, "{origins}, {} = {value} from {name} axis {axis}", self.scope.name(one));
            }
            None => {
                let text = self.scope.expression_text(expression);
                let _ = write!(message, "axis {axis} must have {wanted} elements ({text}), not {}", extent.elements);
                let _ = if origins.is_empty() { Ok(()) } else { write!(message, "; {origins}") };
            }
        }
        wrong(message).fix(self.advice(extent))
    }

    fn advice(&self, extent: &Extent<'_>) -> String {
        let name = &self.scope.parameters[extent.parameter].name;
        match self.lower_ranks.iter().find(|(parameter, rank)| *parameter == extent.parameter && extent.axis >= *rank) {
            Some(_) => format!("pass {name} with all its dimensions: one that is left out counts as 1"),
            None => "pass arrays whose extents agree, or the scalars by name".to_owned(),
        }
    }

    /// The value that the only scalar of the expression would need for this extent.
    fn other_value(&self, expression: &Expression, elements: u64) -> Option<(u16, i64)> {
        let scalars = self.scalars_of(expression);
        let [one] = scalars.as_slice() else { return None };
        solve::solve_for(&self.completed(), expression, *one, elements).map(|value| (*one, value))
    }

    /// The integer scalars that decide the expression's value; conditions that are settled do not count.
    fn scalars_of(&self, expression: &Expression) -> Vec<u16> {
        let mut scalars = Vec::new();
        expression.refers_to(&mut |index| {
            if self.scope.parameter(index).is_some_and(|p| p.element != ElementType::Char) && !scalars.contains(&index)
            {
                scalars.push(index);
            }
            false
        });
        scalars
    }

    /// "n = 3 from A axis 0, m = 2 as given".
    fn origins(&self, expression: &Expression) -> String {
        let mut text = String::new();
        for index in self.scalars_of(expression) {
            let Some((value, origin)) = self.known[usize::from(index)] else { continue };
            let Some(value) = value.integer() else { continue };
            let separator = if text.is_empty() { "" } else { ", " };
            let _ = write!(text, "{separator}{} = {value} {}", self.scope.name(index), self.origin_text(origin));
        }
        text
    }

    fn origin_text(&self, origin: Origin) -> String {
        match origin {
            Origin::Given => "as given".to_owned(),
            Origin::Axis(parameter, axis) => format!("from {} axis {axis}", self.scope.parameters[parameter].name),
            Origin::Leading(parameter) => format!("as leading dimension of {}", self.scope.parameters[parameter].name),
            Origin::Default => "by default".to_owned(),
        }
    }

    fn shape_text(&self, parameter: usize) -> String {
        match &self.given[parameter] {
            Given::Text(text) => tuple(&[text.len() as u64]),
            given => tuple(given.shape().unwrap_or(&[])),
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
    let Shape::Array { dimensions, .. } = &parameter.shape else { return wrong(parameter.name.clone()) };
    let (name, declared) = (&parameter.name, scope.dimensions_text(parameter));
    let (rank, wanted) = (shape.len(), dimensions.len());
    wrong(format!(
        "{name} has shape {} ({rank} dimensions) but the interface wants {name}{declared} ({wanted})",
        tuple(shape)
    ))
    .fix("reshape the array")
}

pub(super) fn not_an_array(scope: Scope<'_>, parameter: &Parameter) -> Error {
    let element = scope.element_text(parameter.element);
    wrong(format!("{} is an array: {element} {0}{}", parameter.name, scope.dimensions_text(parameter)))
        .fix("pass an array of that type")
}

pub(super) fn not_a_scalar(parameter: &Parameter, given: Given<'_>) -> Error {
    let what = match given {
        Given::Integer(value) => value.to_string(),
        Given::Real(value) => format!("{value:?}"),
        Given::Complex(re, im) => format!("({re:?}, {im:?})"),
        Given::Text(text) => format!("{:?}", text.chars().take(40).collect::<String>()),
        Given::Array { shape } | Given::Elements { shape, .. } => format!("an array of shape {}", tuple(shape)),
        Given::Bytes(bytes) => format!("{} bytes", bytes.len()),
        Given::Other | Given::Unset => "this".to_owned(),
    };
    let element = parameter.element.name();
    let message = format!("{} is one {element}, and {what} is none", parameter.name);
    wrong(message).fix(if parameter.element == ElementType::Char {
        "pass one character"
    } else {
        "pass a number in range"
    })
}
