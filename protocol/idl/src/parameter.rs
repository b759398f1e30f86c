//! A parameter: made, and asked what it is and what a call evaluates for it.

use crate::expression::Expression;
use crate::interface::{ElementType, Mode, Parameter, Shape};

impl Parameter {
    /// One value, of which nothing else is declared.
    pub fn scalar(name: impl Into<String>, mode: Mode, element: ElementType) -> Parameter {
        Parameter {
            name: name.into(),
            mode,
            element,
            shape: Shape::Scalar,
            when: None,
            given: None,
            default: None,
            domain: None,
            constant: false,
            wide: false,
            stream: false,
            logical: false,
            returned: false,
            captured: None,
            doc: String::new(),
            unit: String::new(),
        }
    }

    /// Whether code passes it as an argument: not the value of a function, nor the routine's.
    pub fn is_passed(&self) -> bool {
        !self.returned && self.captured.is_none()
    }

    /// Every expression of the parameter that a call evaluates: sizes, ranges, conditions, default.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.dimension_expressions().chain(&self.when).chain(&self.given).chain(&self.default)
    }

    fn dimension_expressions(&self) -> impl Iterator<Item = &Expression> {
        let dimensions = match &self.shape {
            Shape::Array { dimensions, .. } => dimensions.as_slice(),
            Shape::Scalar | Shape::Callback { .. } => &[],
        };
        dimensions
            .iter()
            .flat_map(|d| std::iter::once(&d.size).chain(&d.start).chain(&d.end).chain(&d.stride))
    }

    /// One value that is a number or a character: what travels in a few bytes and never by
    /// reference.
    pub fn is_plain_scalar(&self) -> bool {
        self.shape == Shape::Scalar
            && !matches!(self.element, ElementType::String | ElementType::Filename)
    }
}
