//! Arrays of numbers that are combined element by element.

use farcall_base::{Error, ErrorKind, Result};

/// What an array consists of; its bytes are little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 64 bits.
    U64,
    /// IEEE 754, 64 bits.
    F64,
}

/// How two arrays of one length are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Integers wrap around.
    Sum,
    /// The smaller one; NaN where one is NaN.
    Min,
    /// The greater one; NaN where one is NaN.
    Max,
}

impl Element {
    pub(crate) fn code(self) -> u64 {
        self as u64
    }

    pub(crate) fn from_code(code: u64) -> Option<Element> {
        [Element::I64, Element::U64, Element::F64].into_iter().find(|one| one.code() == code)
    }
}

impl Fold {
    pub(crate) fn code(self) -> u64 {
        self as u64
    }

    pub(crate) fn from_code(code: u64) -> Option<Fold> {
        [Fold::Sum, Fold::Min, Fold::Max].into_iter().find(|one| one.code() == code)
    }

    /// Folds `other` into `all`.
    ///
    /// # Errors
    /// `InvalidArgument` where the lengths differ, or are not of whole elements.
    pub fn fold(self, element: Element, all: &mut [u8], other: &[u8]) -> Result<()> {
        if all.len() != other.len() || !all.len().is_multiple_of(8) {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "combine numbers of members",
                "members gave different numbers of elements",
            )
            .with("bytes of one member", all.len())
            .with("of another", other.len())
            .fix("give as many elements at each member"));
        }
        let (all, _) = all.as_chunks_mut::<8>();
        let (other, _) = other.as_chunks::<8>();
        for (one, other) in all.iter_mut().zip(other) {
            *one = self.both(element, *one, *other);
        }
        Ok(())
    }

    fn both(self, element: Element, one: [u8; 8], other: [u8; 8]) -> [u8; 8] {
        match element {
            Element::I64 => {
                let both = [one, other].map(i64::from_le_bytes);
                self.whole(both, i64::wrapping_add).to_le_bytes()
            }
            Element::U64 => {
                let both = [one, other].map(u64::from_le_bytes);
                self.whole(both, u64::wrapping_add).to_le_bytes()
            }
            Element::F64 => {
                let [one, other] = [one, other].map(f64::from_le_bytes);
                let both = match self {
                    Fold::Sum => one + other,
                    _ if one.is_nan() || other.is_nan() => f64::NAN,
                    Fold::Min => one.min(other),
                    Fold::Max => one.max(other),
                };
                both.to_le_bytes()
            }
        }
    }

    fn whole<T: Ord>(self, [one, other]: [T; 2], add: impl Fn(T, T) -> T) -> T {
        match self {
            Fold::Sum => add(one, other),
            Fold::Min => one.min(other),
            Fold::Max => one.max(other),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn floats(fold: Fold, one: f64, other: f64) -> f64 {
        let mut all = one.to_le_bytes();
        fold.fold(Element::F64, &mut all, &other.to_le_bytes()).unwrap();
        f64::from_le_bytes(all)
    }

    #[test]
    fn nan_is_never_lost() {
        for fold in [Fold::Sum, Fold::Min, Fold::Max] {
            assert!(floats(fold, f64::NAN, 1.0).is_nan() && floats(fold, 1.0, f64::NAN).is_nan());
        }
        assert_eq!([floats(Fold::Min, 1.0, 2.0), floats(Fold::Max, 1.0, 2.0)], [1.0, 2.0]);
    }

    #[test]
    fn integers_are_exact() {
        let mut all = [i64::MAX.to_le_bytes(), 5i64.to_le_bytes()].concat();
        let other = [1i64.to_le_bytes(), (-7i64).to_le_bytes()].concat();
        Fold::Sum.fold(Element::I64, &mut all, &other).unwrap();
        assert_eq!(all, [i64::MIN.to_le_bytes(), (-2i64).to_le_bytes()].concat());
    }

    #[test]
    fn lengths_must_agree() {
        for lengths in [[8, 16], [4, 4], [0, 8]] {
            let [mut all, other] = lengths.map(|length| vec![0; length]);
            assert!(Fold::Sum.fold(Element::F64, &mut all, &other).is_err());
        }
    }
}
