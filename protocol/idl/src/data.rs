//! The types of data, and the routines that servers answer themselves for them (spec/wire.md,
//! section 12).

use std::fmt;

use crate::element::number_bytes;
use crate::expression::Expression;
use crate::interface::{Dimension, ElementType, Interface, Mode, Order, Parameter, Shape};
use crate::layout::{ArrayLayout, ResolvedDimension};

/// Most dimensions of data.
pub const DATA_RANK_MAX: usize = 15;
/// How the names of these routines begin. No published routine is called so.
const PREFIX: &str = "data:";
/// The types that data may have.
const ELEMENTS: [ElementType; 13] = [
    ElementType::Char,
    ElementType::Int8,
    ElementType::UInt8,
    ElementType::Int16,
    ElementType::UInt16,
    ElementType::Int32,
    ElementType::UInt32,
    ElementType::Int64,
    ElementType::UInt64,
    ElementType::Float32,
    ElementType::Float64,
    ElementType::Complex64,
    ElementType::Complex128,
];

/// What data consists of: all that its type says, but for its extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DataKind {
    /// Type of an element: a number or a character.
    pub element: ElementType,
    /// Number of dimensions.
    pub rank: usize,
    /// How it lies in memory. Of one dimension always [`Order::Row`].
    pub order: Order,
}

impl DataKind {
    /// The kind of an array; `None` where data cannot be such arrays.
    pub fn new(element: ElementType, rank: usize, order: Order) -> Option<DataKind> {
        let fits = ELEMENTS.contains(&element) && (1..=DATA_RANK_MAX).contains(&rank);
        let order = if rank == 1 { Order::Row } else { order };
        fits.then_some(DataKind { element, rank, order })
    }

    /// The kind that the name of a routine says; `None` for the names of all others.
    pub fn of_routine(name: &str) -> Option<DataKind> {
        let mut words = name.strip_prefix(PREFIX)?.split(':');
        let element = words.next()?;
        let rank = words.next()?;
        let order = words.next()?;
        let element = ELEMENTS.into_iter().find(|known| known.name() == element)?;
        let kind = DataKind::new(
            element,
            rank.parse().ok()?,
            if order == "column" { Order::Column } else { Order::Row },
        )?;
        // One name for each kind, however numbers may be written.
        (kind.to_string() == name).then_some(kind)
    }

    /// The kind of what a parameter takes; `None` for what is not an array that data can be.
    pub fn of_parameter(parameter: &Parameter) -> Option<DataKind> {
        let Shape::Array { dimensions, order } = &parameter.shape else { return None };
        DataKind::new(parameter.element, dimensions.len(), *order)
    }

    /// The interface of the routine that takes such data, and gives it back: its extents `n1`, `n2`
    /// and so on, and the INOUT array `value`.
    pub fn interface(&self) -> Interface {
        let extents = (1..=self.rank).map(|number| Parameter {
            wide: true,
            ..plain(format!("n{number}"), Mode::In, ElementType::Int64, Shape::Scalar)
        });
        let dimension = |number: usize| Dimension {
            size: Expression::Parameter(number as u16),
            start: None,
            end: None,
            stride: None,
        };
        let dimensions = (0..self.rank).map(dimension).collect();
        let shape = Shape::Array { dimensions, order: self.order };
        let value = plain("value".to_owned(), Mode::InOut, self.element, shape);
        Interface {
            module: String::new(),
            name: self.to_string(),
            aliases: Vec::new(),
            doc: String::new(),
            structs: Vec::new(),
            parameters: extents.chain([value]).collect(),
            idempotent: true,
            complexity: None,
            processors: None,
            resources: farcall_base::Resources::default(),
            class: String::new(),
            class_doc: String::new(),
        }
    }

    /// Where the elements of such data lie, one behind the other.
    pub fn layout(&self, extents: &[u64]) -> ArrayLayout {
        let dimension = |count: &u64| ResolvedDimension {
            size: *count,
            start: 0,
            end: *count,
            stride: 1,
            count: *count,
        };
        let element_bytes = number_bytes(self.element);
        let bytes = extents.iter().fold(element_bytes, |bytes, count| bytes.saturating_mul(*count));
        ArrayLayout {
            dimensions: extents.iter().map(dimension).collect(),
            order: self.order,
            element_bytes,
            full_bytes: bytes,
            transfer_bytes: bytes,
            is_given: true,
        }
    }
}

/// The routine's name.
impl fmt::Display for DataKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = if self.order == Order::Row { "row" } else { "column" };
        write!(f, "{PREFIX}{}:{}:{order}", self.element.name(), self.rank)
    }
}

fn plain(name: String, mode: Mode, element: ElementType, shape: Shape) -> Parameter {
    Parameter { shape, ..Parameter::scalar(name, mode, element) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::decode::decode_interface;
    use crate::encode::{contract_hash, encode_interface};

    #[test]
    fn every_kind_has_one_name_and_an_interface_that_travels() {
        let mut hashes = std::collections::HashSet::new();
        for element in ELEMENTS {
            for rank in 1..=DATA_RANK_MAX {
                for order in [Order::Row, Order::Column] {
                    let kind = DataKind::new(element, rank, order).unwrap();
                    assert_eq!(DataKind::of_routine(&kind.to_string()), Some(kind));
                    let interface = kind.interface();
                    assert_eq!(interface.full_name(), kind.to_string());
                    let read = decode_interface(&encode_interface(&interface)).unwrap();
                    assert_eq!(read, interface);
                    assert_eq!(
                        DataKind::of_parameter(interface.parameters.last().unwrap()),
                        Some(kind)
                    );
                    hashes.insert(contract_hash(&interface));
                }
            }
        }
        assert_eq!(hashes.len(), ELEMENTS.len() * (2 * DATA_RANK_MAX - 1));
    }

    #[test]
    fn other_names_are_those_of_no_kind() {
        for name in [
            "data:double:02:row",
            "data:double:0:row",
            "data:double:16:row",
            "data:double:2:diagonal",
            "data:double:1:column",
            "data:double:2:row:",
            "data:string:1:row",
            "data:double:2",
            "data:",
            "data/double",
        ] {
            assert_eq!(DataKind::of_routine(name), None, "{name}");
        }
    }

    #[test]
    fn elements_lie_one_behind_the_other() {
        let kind = DataKind::new(ElementType::Float64, 2, Order::Column).unwrap();
        let layout = kind.layout(&[3, 4]);
        assert_eq!((layout.full_bytes, layout.transfer_bytes, layout.element_bytes), (96, 96, 8));
        assert_eq!(layout.runs().collect::<Vec<_>>(), [(0, 96)]);
        assert_eq!(kind.layout(&[u64::MAX, 7]).full_bytes, u64::MAX);
    }
}
