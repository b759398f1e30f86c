//! Numbers in messages.

use farcall_wide_engines::Element;

/// A number that members send and combine.
pub trait Number: Copy + 'static {
    /// What it is in a message.
    const ELEMENT: Element;
    /// As people call it.
    const NAME: &'static str;
    /// Its bytes, little-endian.
    fn to_bytes(self) -> [u8; 8];
    /// From its bytes.
    fn from_bytes(bytes: [u8; 8]) -> Self;
}

macro_rules! numbers {
    ($($number:ident $element:ident)*) => {
        $(impl Number for $number {
            const ELEMENT: Element = Element::$element;
            const NAME: &'static str = stringify!($number);

            fn to_bytes(self) -> [u8; 8] {
                self.to_le_bytes()
            }

            fn from_bytes(bytes: [u8; 8]) -> $number {
                $number::from_le_bytes(bytes)
            }
        })*
    };
}

numbers! { i64 I64 u64 U64 f64 F64 }

pub(crate) fn to_bytes<N: Number>(numbers: &[N]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_bytes()).collect()
}

pub(crate) fn from_bytes<N: Number>(bytes: &[u8]) -> Vec<N> {
    bytes.as_chunks().0.iter().map(|bytes| N::from_bytes(*bytes)).collect()
}
