//! Units that people read and write: sizes in bytes.

use std::fmt;

/// A number of bytes. Reads as `128 MiB`; parses the same from a manifest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

const UNITS: [(&str, u64); 4] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, unit) in UNITS {
            if self.0 >= unit && self.0.is_multiple_of(unit) {
                return write!(f, "{} {name}", self.0 / unit);
            }
            if self.0 >= unit * 10 {
                return write!(f, "{} {name}", self.0 / unit);
            }
        }
        write!(f, "{} bytes", self.0)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Bytes {
    type Err = String;

    /// `"64 MiB"`, `"64MiB"`, `"4096"`: a whole number and an optional unit of 1024s.
    fn from_str(text: &str) -> Result<Self, String> {
        let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let digits = &text[..split];
        let unit = text[split..].trim();
        let wrong = || {
            format!("\"{text}\" is not a size; write a whole number and a unit, as in \"64 MiB\"")
        };
        let number: u64 = digits.parse().map_err(|_| wrong())?;
        let factor = match unit {
            "" | "bytes" => 1,
            _ => UNITS
                .iter()
                .find(|(name, _)| *name == unit)
                .map(|(_, factor)| *factor)
                .ok_or_else(wrong)?,
        };
        number.checked_mul(factor).map(Bytes).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_and_parse() {
        for (text, bytes) in [("64 MiB", 64 << 20), ("3 KiB", 3 << 10), ("17 bytes", 17)] {
            assert_eq!(text.parse::<Bytes>(), Ok(Bytes(bytes)));
            assert_eq!(Bytes(bytes).to_string(), text);
        }
        assert!("64 MB".parse::<Bytes>().is_err());
        assert!("99999999999 GiB".parse::<Bytes>().is_err());
    }
}
