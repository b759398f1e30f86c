//! The elements of a result, for both ways of printing them.

use std::io;

use farcall_client::OwnedArray;
use farcall_idl::element::element_bytes;
use farcall_idl::expression::Expression;
use farcall_idl::interface::{Dimension, ElementType, Interface, Order, Parameter, Shape};
use farcall_idl::scalar::ScalarValue;

/// How values are written.
pub trait Notation {
    /// One number or character.
    fn scalar(&self, element: ElementType, value: ScalarValue) -> String;
    /// A struct, of which the fields are written already.
    fn fields(&self, fields: &[(&str, String)]) -> String;
}

/// A result's elements by rows, whatever their order in memory.
pub struct Elements<'a> {
    interface: &'a Interface,
    element: ElementType,
    /// Whether they say true or false.
    logical: bool,
    bytes: Vec<u8>,
}

impl<'a> Elements<'a> {
    /// Copies the elements of a parameter's array.
    pub fn of(
        interface: &'a Interface,
        parameter: &Parameter,
        array: &OwnedArray,
    ) -> io::Result<Elements<'a>> {
        let bytes = array.packed(Order::Row).map_err(io::Error::other)?;
        Ok(Elements { interface, element: array.element, logical: parameter.logical, bytes })
    }

    /// Type of an element.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// All elements, as bytes: the text of a `char` array.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// One element as text; a question mark for a place outside.
    pub fn text(&self, index: u64, notation: &dyn Notation) -> String {
        let ElementType::Struct(number) = self.element else {
            return match ScalarValue::read(self.element, &self.bytes, index) {
                Some(ScalarValue::Integer(value)) if self.logical => (value != 0).to_string(),
                Some(ScalarValue::Unsigned(value)) if self.logical => (value != 0).to_string(),
                _ => scalar(self.element, &self.bytes, index, notation),
            };
        };
        let width = element_bytes(self.interface, self.element) as usize;
        let structure = self.interface.structs.get(usize::from(number));
        let bytes = self.bytes.get((index as usize).saturating_mul(width)..).unwrap_or_default();
        let fields = structure.into_iter().flat_map(|structure| &structure.fields).map(|field| {
            let part = bytes.get(field.offset as usize..).unwrap_or_default();
            let one = |index: u32| scalar(field.element, part, index.into(), notation);
            let all = || (0..field.count).map(one).collect::<Vec<_>>().join(", ");
            (field.name.as_str(), if field.count == 1 { one(0) } else { format!("[{}]", all()) })
        });
        notation.fields(&fields.collect::<Vec<_>>())
    }
}

fn scalar(element: ElementType, bytes: &[u8], index: u64, notation: &dyn Notation) -> String {
    ScalarValue::read(element, bytes, index)
        .map_or_else(|| "?".to_owned(), |value| notation.scalar(element, value))
}

/// The shortest text that is this number again.
pub fn shortest(element: ElementType, value: f64) -> String {
    match element {
        ElementType::Float32 | ElementType::Complex64 => format!("{:?}", value as f32),
        _ => format!("{value:?}"),
    }
}

/// Whether a result of so many elements is one value: declared as a scalar, which for a result is
/// the same as `[1]`.
pub fn is_single(parameter: &Parameter, count: u64) -> bool {
    let one = |dimension: &Dimension| dimension.size == Expression::Integer(1);
    let declared = match &parameter.shape {
        Shape::Array { dimensions, .. } => matches!(dimensions.as_slice(), [only] if one(only)),
        _ => true,
    };
    declared && count == 1
}
