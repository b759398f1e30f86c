//! One number: read from bytes, and written as an element of a type that holds it.

use farcall_base::{Error, ErrorKind, Result};

use crate::element::number_bytes;
use crate::interface::ElementType;

/// The value of one scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScalarValue {
    /// An integer or a character's code.
    Integer(i64),
    /// An unsigned 64-bit integer above `i64::MAX`.
    Unsigned(u64),
    /// A real number.
    Real(f64),
    /// Real and imaginary part.
    Complex(f64, f64),
}

impl ScalarValue {
    /// Reads element `index` from bytes in this machine's order. `None` if it is outside or no
    /// number.
    pub fn read(element: ElementType, bytes: &[u8], index: u64) -> Option<ScalarValue> {
        let width = usize::try_from(number_bytes(element)).ok()?;
        let start = usize::try_from(index).ok()?.checked_mul(width)?;
        let one = bytes.get(start..start.checked_add(width)?)?;
        read_one(element, one)
    }

    /// Writes the value as one element in this machine's order; `bytes` is exactly one element
    /// long.
    ///
    /// # Errors
    /// `InvalidArgument` if the value does not fit the type: out of range, a fraction for an
    /// integer type.
    pub fn write(self, element: ElementType, bytes: &mut [u8]) -> Result<()> {
        let mut buffer = [0; 16];
        let length = self.encode(element, &mut buffer).ok_or_else(|| misfit(self, element))?;
        if bytes.len() != length {
            return Err(Error::internal(
                "write a scalar",
                "the destination is not one element long",
            ));
        }
        bytes.copy_from_slice(&buffer[..length]);
        Ok(())
    }

    /// Writes the value as [`ScalarValue::write`] does, unless that would change the number: a
    /// whole number must be one that a real type holds, and a finite one must stay finite. Reals
    /// may be rounded to the type's width.
    ///
    /// # Errors
    /// `InvalidArgument` as [`ScalarValue::write`], and for a number that would change.
    pub fn write_exactly(self, element: ElementType, bytes: &mut [u8]) -> Result<()> {
        self.write(element, bytes)?;
        let written = ScalarValue::read(element, bytes, 0);
        match (self.wide(), written) {
            (Some(whole), Some(ScalarValue::Real(kept) | ScalarValue::Complex(kept, _)))
                if kept as i128 != whole =>
            {
                let message =
                    format!("{whole} cannot be represented exactly as {}", element.name());
                Err(Error::new(ErrorKind::InvalidArgument, "pass a scalar", message)
                    .fix("round it before the call"))
            }
            (None, Some(kept)) if self.is_finite() && !kept.is_finite() => {
                let message = format!("{} is too large for {}", shown(self), element.name());
                Err(Error::new(ErrorKind::InvalidArgument, "pass a scalar", message))
            }
            _ => Ok(()),
        }
    }

    /// Whether the number is neither infinite nor NaN, in both its parts.
    pub fn is_finite(self) -> bool {
        match self {
            ScalarValue::Real(value) => value.is_finite(),
            ScalarValue::Complex(re, im) => re.is_finite() && im.is_finite(),
            ScalarValue::Integer(_) | ScalarValue::Unsigned(_) => true,
        }
    }

    fn encode(self, element: ElementType, out: &mut [u8; 16]) -> Option<usize> {
        match element {
            ElementType::Char | ElementType::UInt8 => {
                put(out, u8::try_from(self.wide()?).ok()?.to_ne_bytes())
            }
            ElementType::Int8 => put(out, i8::try_from(self.wide()?).ok()?.to_ne_bytes()),
            ElementType::Int16 => put(out, i16::try_from(self.wide()?).ok()?.to_ne_bytes()),
            ElementType::UInt16 => put(out, u16::try_from(self.wide()?).ok()?.to_ne_bytes()),
            ElementType::Int32 => put(out, i32::try_from(self.wide()?).ok()?.to_ne_bytes()),
            ElementType::UInt32 => put(out, u32::try_from(self.wide()?).ok()?.to_ne_bytes()),
            ElementType::Int64 => put(out, i64::try_from(self.wide()?).ok()?.to_ne_bytes()),
            ElementType::UInt64 => put(out, u64::try_from(self.wide()?).ok()?.to_ne_bytes()),
            ElementType::Float32 => put(out, (self.float()? as f32).to_ne_bytes()),
            ElementType::Float64 => put(out, self.float()?.to_ne_bytes()),
            ElementType::Complex64 | ElementType::Complex128 => self.encode_complex(element, out),
            ElementType::Struct(_) | ElementType::String | ElementType::Filename => None,
        }
    }

    fn encode_complex(self, element: ElementType, out: &mut [u8; 16]) -> Option<usize> {
        let (re, im) = match self {
            ScalarValue::Complex(re, im) => (re, im),
            _ => (self.float()?, 0.0),
        };
        if element == ElementType::Complex128 {
            out[..8].copy_from_slice(&re.to_ne_bytes());
            out[8..].copy_from_slice(&im.to_ne_bytes());
            return Some(16);
        }
        out[..4].copy_from_slice(&(re as f32).to_ne_bytes());
        out[4..8].copy_from_slice(&(im as f32).to_ne_bytes());
        Some(8)
    }

    /// The value as a whole number.
    fn wide(self) -> Option<i128> {
        match self {
            ScalarValue::Integer(value) => Some(value.into()),
            ScalarValue::Unsigned(value) => Some(value.into()),
            ScalarValue::Real(_) | ScalarValue::Complex(..) => None,
        }
    }

    /// The value as a signed 64-bit integer, if it is one.
    pub fn integer(self) -> Option<i64> {
        self.wide().and_then(|value| i64::try_from(value).ok())
    }

    /// The value as a real number, if it is not complex.
    pub fn float(self) -> Option<f64> {
        match self {
            ScalarValue::Real(value) => Some(value),
            ScalarValue::Complex(..) => None,
            _ => self.wide().map(|value| value as f64),
        }
    }

    /// Real and imaginary part of any number.
    pub fn complex(self) -> Option<(f64, f64)> {
        match self {
            ScalarValue::Complex(re, im) => Some((re, im)),
            _ => Some((self.float()?, 0.0)),
        }
    }

    /// Whether the type holds the value: in range, and no fraction in an integer type.
    pub fn fits(self, element: ElementType) -> bool {
        self.encode(element, &mut [0; 16]).is_some()
    }
}

fn put<const N: usize>(out: &mut [u8; 16], bytes: [u8; N]) -> Option<usize> {
    out[..N].copy_from_slice(&bytes);
    Some(N)
}

pub(crate) fn misfit(value: ScalarValue, element: ElementType) -> Error {
    let message = format!("{} does not fit {}", shown(value), element.name());
    Error::new(ErrorKind::InvalidArgument, "pass a scalar", message)
}

/// The number as a person writes it.
fn shown(value: ScalarValue) -> String {
    match value {
        ScalarValue::Integer(value) => value.to_string(),
        ScalarValue::Unsigned(value) => value.to_string(),
        ScalarValue::Real(value) => format!("{value:?}"),
        ScalarValue::Complex(re, im) => format!("{re:?}{im:+?}i"),
    }
}

/// Reads one element; `one` has exactly its width.
fn read_one(element: ElementType, one: &[u8]) -> Option<ScalarValue> {
    let signed = |value: i64| Some(ScalarValue::Integer(value));
    match element {
        ElementType::Char | ElementType::UInt8 => signed((*one.first()?).into()),
        ElementType::Int8 => signed(i8::from_ne_bytes(one.try_into().ok()?).into()),
        ElementType::Int16 => signed(i16::from_ne_bytes(one.try_into().ok()?).into()),
        ElementType::UInt16 => signed(u16::from_ne_bytes(one.try_into().ok()?).into()),
        ElementType::Int32 => signed(i32::from_ne_bytes(one.try_into().ok()?).into()),
        ElementType::UInt32 => signed(u32::from_ne_bytes(one.try_into().ok()?).into()),
        ElementType::Int64 => signed(i64::from_ne_bytes(one.try_into().ok()?)),
        ElementType::UInt64 => {
            let value = u64::from_ne_bytes(one.try_into().ok()?);
            Some(i64::try_from(value).map_or(ScalarValue::Unsigned(value), ScalarValue::Integer))
        }
        ElementType::Float32 => {
            Some(ScalarValue::Real(f32::from_ne_bytes(one.try_into().ok()?).into()))
        }
        ElementType::Float64 => Some(ScalarValue::Real(f64::from_ne_bytes(one.try_into().ok()?))),
        ElementType::Complex64 | ElementType::Complex128 => {
            let (re, im) = one.split_at(one.len() / 2);
            let part = if element == ElementType::Complex64 {
                ElementType::Float32
            } else {
                ElementType::Float64
            };
            Some(ScalarValue::Complex(read_one(part, re)?.float()?, read_one(part, im)?.float()?))
        }
        ElementType::Struct(_) | ElementType::String | ElementType::Filename => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn written(value: ScalarValue, element: ElementType) -> Result<ScalarValue> {
        let mut bytes = vec![0; number_bytes(element) as usize];
        value.write_exactly(element, &mut bytes)?;
        Ok(ScalarValue::read(element, &bytes, 0).unwrap())
    }

    #[test]
    fn numbers_that_would_change_are_not_written() {
        use ElementType::{Complex64, Complex128, Float32, Float64};
        use ScalarValue::{Complex, Integer, Real, Unsigned};
        // One more than the type holds exactly, and the largest number of 64 bits.
        for (whole, element) in
            [((1 << 53) + 1, Float64), ((1 << 24) + 1, Float32), ((1 << 53) + 1, Complex128)]
        {
            let error = written(Integer(whole), element).unwrap_err().to_string();
            assert!(
                error.contains(&format!(
                    "{whole} cannot be represented exactly as {}",
                    element.name()
                )),
                "{error}"
            );
            assert!(written(Integer(whole - 1), element).is_ok(), "{element:?}");
        }
        assert!(written(Unsigned(u64::MAX), Float64).is_err());
        // Finite in, infinite out.
        assert!(
            written(Real(1e39), Float32)
                .unwrap_err()
                .to_string()
                .contains("1e39 is too large for float")
        );
        assert!(written(Complex(0.0, -1e39), Complex64).is_err());
        // Rounding is what a narrower type is for, and infinities are numbers that were given.
        assert_eq!(written(Real(0.1), Float32).unwrap(), Real(0.1_f32.into()));
        assert_eq!(written(Real(f64::INFINITY), Float32).unwrap(), Real(f64::INFINITY));
        assert!(written(Integer(300), ElementType::UInt8).is_err());
    }
}
