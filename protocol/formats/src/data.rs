//! Arrays in memory of this program: what files and inline values become before a call.

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::{ElementType, Order};
use farcall_idl::scalar::ScalarValue;

/// Bytes of one array at most, whatever a file announces.
pub const ARRAY_BYTES_MAX: u64 = 16 << 30;

/// An array without gaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// Type of the elements: a number or character.
    pub element: ElementType,
    /// Extents, in logical order; none for one value.
    pub shape: Vec<u64>,
    /// Which index varies fastest.
    pub order: Order,
    /// The elements, in this machine's byte order.
    pub bytes: Vec<u8>,
    /// Written as decimal text, which has no width: its reals may be rounded to `float`.
    pub decimal: bool,
}

impl Data {
    /// The same numbers as elements of another type, where no number changes.
    ///
    /// # Errors
    /// `InvalidArgument` when one would: the message says which and what to do.
    pub fn converted(self, wanted: ElementType) -> Result<Data> {
        if self.element == wanted
            || (wanted == ElementType::Char && element_bytes(self.element) == 1)
        {
            return Ok(self);
        }
        self.check_kinds(wanted)?;
        let width = element_bytes(wanted) as usize;
        let count = self.bytes.len() / (element_bytes(self.element) as usize).max(1);
        let mut bytes = zeros((count * width) as u64)?;
        for (index, place) in bytes.chunks_exact_mut(width).enumerate() {
            let value = ScalarValue::read(self.element, &self.bytes, index as u64);
            let value = value.ok_or_else(|| {
                Error::internal("convert an array", "its elements are not numbers")
            })?;
            value.write_exactly(wanted, place).map_err(|error| error.with("element", index))?;
        }
        Ok(Data { element: wanted, bytes, ..self })
    }

    /// Fails where a conversion would lose something of some numbers, even if not of these.
    fn check_kinds(&self, wanted: ElementType) -> Result<()> {
        let from = Class::of(self.element);
        let to = Class::of(wanted);
        let narrower = to.rank >= from.rank && to.bits < from.bits;
        let loses = from.rank > to.rank || (narrower && from.rank > 0 && !self.decimal);
        if to.rank < 0 || from.rank < 0 || loses {
            let message = format!(
                "an array of {} cannot become one of {}",
                self.element.name(),
                wanted.name()
            );
            return Err(Error::new(ErrorKind::InvalidArgument, "convert an array", message).fix(
                format!(
                    "store it with elements of type {} ({})",
                    wanted.name(),
                    numpy_name(wanted)
                ),
            ));
        }
        Ok(())
    }
}

/// What kind of number: 0 whole, 1 real, 2 complex, -1 none; and bits of a real or of a part.
struct Class {
    rank: i8,
    bits: u8,
}

impl Class {
    fn of(element: ElementType) -> Class {
        let (rank, bits) = match element {
            ElementType::Float32 => (1, 32),
            ElementType::Float64 => (1, 64),
            ElementType::Complex64 => (2, 32),
            ElementType::Complex128 => (2, 64),
            // Whole numbers are judged one by one, whatever their width.
            _ if element.is_integer() => (0, 0),
            _ => (-1, 0),
        };
        Class { rank, bits }
    }
}

/// Decimal text that is too large for its type must not become infinite.
pub fn check_range(value: ScalarValue, element: ElementType, place: &[u8]) -> Result<()> {
    if value.is_finite() && !ScalarValue::read(element, place, 0).is_none_or(ScalarValue::is_finite)
    {
        let message = format!("{value:?} is too large for {}", element.name());
        return Err(Error::new(ErrorKind::InvalidArgument, "read a value", message));
    }
    Ok(())
}

/// A real number as people, C and Fortran write it.
///
/// # Errors
/// `InvalidArgument` for what is none, and for digits that no double stands for: they must not
/// become infinite.
pub fn real(word: &str) -> Result<f64> {
    // Fortran writes exponents with a D; "infinity" has one that is none.
    let digits = word.bytes().any(|byte| byte.is_ascii_digit());
    let fortran = || digits.then(|| word.replace(['d', 'D'], "e").parse().ok()).flatten();
    let message = match word.parse().ok().or_else(fortran) {
        Some(value) if f64::is_finite(value) || !digits => return Ok(value),
        Some(_) => format!("{} is too large for a double", shown(word)),
        None if word.is_empty() => "a number is missing".to_owned(),
        None => format!("\"{}\" is not a number", shown(word)),
    };
    Err(Error::new(ErrorKind::InvalidArgument, "read a value", message))
}

/// A piece of what was typed, for a message: short, and without control characters.
pub fn shown(text: &str) -> String {
    text.chars().take(24).flat_map(char::escape_debug).collect()
}

/// Bytes of an element that is no struct.
pub fn element_bytes(element: ElementType) -> u64 {
    match element {
        ElementType::Int16 | ElementType::UInt16 => 2,
        ElementType::Int32 | ElementType::UInt32 | ElementType::Float32 => 4,
        ElementType::Int64
        | ElementType::UInt64
        | ElementType::Float64
        | ElementType::Complex64 => 8,
        ElementType::Complex128 => 16,
        _ => 1,
    }
}

/// NumPy's name of a type.
fn numpy_name(element: ElementType) -> &'static str {
    match element {
        ElementType::Int8 => "numpy.int8",
        ElementType::Int16 => "numpy.int16",
        ElementType::UInt16 => "numpy.uint16",
        ElementType::Int32 => "numpy.int32",
        ElementType::UInt32 => "numpy.uint32",
        ElementType::Int64 => "numpy.int64",
        ElementType::UInt64 => "numpy.uint64",
        ElementType::Float32 => "numpy.float32",
        ElementType::Float64 => "numpy.float64",
        ElementType::Complex64 => "numpy.complex64",
        ElementType::Complex128 => "numpy.complex128",
        _ => "numpy.uint8",
    }
}

/// Bytes of an array of this shape.
///
/// # Errors
/// `LimitExceeded` for more than [`ARRAY_BYTES_MAX`].
pub fn bytes_of(shape: &[u64], element: ElementType) -> Result<u64> {
    // An extent of 0 must not hide others whose product overflows later on.
    let product = shape
        .iter()
        .try_fold(element_bytes(element), |product, extent| product.checked_mul((*extent).max(1)));
    let product = product.filter(|bytes| *bytes <= ARRAY_BYTES_MAX);
    let bytes = product.ok_or_else(|| {
        Error::new(ErrorKind::LimitExceeded, "make room for an array", "it has more than 16 GiB")
            .with("shape", format!("{shape:?}"))
    })?;
    Ok(if shape.contains(&0) { 0 } else { bytes })
}

/// Memory for an array, all zero.
///
/// # Errors
/// `LimitExceeded` when this machine has not that much.
pub fn zeros(bytes: u64) -> Result<Vec<u8>> {
    let mut room: Vec<u8> = Vec::new();
    let length = usize::try_from(bytes).unwrap_or(usize::MAX);
    room.try_reserve_exact(length).map_err(|error| {
        Error::new(ErrorKind::LimitExceeded, "make room for an array", error.to_string())
            .with("bytes", bytes)
    })?;
    drop(room);
    // The system has zeros that cost nothing until they are written over; to fill memory that is
    // there would touch it all.
    Ok(vec![0; length])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn integers(values: &[i64]) -> Data {
        let bytes = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        let shape = vec![values.len() as u64];
        Data { element: ElementType::Int64, shape, order: Order::Row, bytes, decimal: false }
    }

    fn reals(values: &[f64], decimal: bool) -> Data {
        let bytes = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        let shape = vec![values.len() as u64];
        Data { element: ElementType::Float64, shape, order: Order::Row, bytes, decimal }
    }

    #[test]
    fn whole_numbers_become_whatever_holds_them() {
        let double = integers(&[1, -2]).converted(ElementType::Float64).unwrap();
        assert_eq!(double.bytes, [1.0_f64, -2.0].map(f64::to_ne_bytes).concat());
        let short = integers(&[1, -2]).converted(ElementType::Int32).unwrap();
        assert_eq!(short.bytes, [1_i32, -2].map(i32::to_ne_bytes).concat());
        let complex = integers(&[7]).converted(ElementType::Complex128).unwrap();
        assert_eq!(complex.bytes, [7.0_f64, 0.0].map(f64::to_ne_bytes).concat());
    }

    #[test]
    fn numbers_that_would_change_are_refused() {
        // One more than a double holds exactly, and one more than an int.
        assert!(integers(&[(1 << 53) + 1]).converted(ElementType::Float64).is_err());
        assert!(
            integers(&[0, 1 << 31])
                .converted(ElementType::Int32)
                .unwrap_err()
                .to_string()
                .contains("element: 1")
        );
        assert!(integers(&[-1]).converted(ElementType::UInt64).is_err());
        // A type that loses digits, fractions or imaginary parts is refused even where these
        // numbers would survive.
        for wanted in [ElementType::Float32, ElementType::Int64, ElementType::Complex64] {
            assert!(reals(&[1.0], false).converted(wanted).is_err(), "{wanted:?}");
        }
    }

    #[test]
    fn decimal_text_is_rounded_but_stays_finite() {
        let single = reals(&[0.1], true).converted(ElementType::Float32).unwrap();
        assert_eq!(single.bytes, 0.1_f32.to_ne_bytes());
        assert!(reals(&[1e300], true).converted(ElementType::Float32).is_err());
    }

    #[test]
    fn sizes_neither_overflow_nor_pass_the_limit() {
        assert_eq!(bytes_of(&[3, 0], ElementType::Float64).unwrap(), 0);
        assert_eq!(bytes_of(&[], ElementType::Float64).unwrap(), 8);
        assert!(
            bytes_of(&[0, u64::MAX, u64::MAX], ElementType::Float64).is_err(),
            "a zero hides no overflow"
        );
        assert!(bytes_of(&[1 << 40, 1 << 40], ElementType::Char).is_err());
    }
}
