//! Strict reading of deterministic CBOR on top of minicbor: shortest forms, definite lengths,
//! ascending keys.

use farcall_base::{Error, ErrorKind, Result};
use minicbor::Decoder;
use minicbor::data::Type;

use crate::encode::half_from;

const OPERATION: &str = "decode an interface";

/// Reads one encoding from its begin to its end.
pub(crate) struct Reader<'b> {
    decoder: Decoder<'b>,
}

impl<'b> Reader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Reader { decoder: Decoder::new(bytes) }
    }

    /// An error at the current position.
    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Protocol, OPERATION, message).with("byte", self.decoder.position())
    }

    fn malformed(&self, error: &minicbor::decode::Error) -> Error {
        let message = if error.is_end_of_input() {
            "the data end too early".to_owned()
        } else {
            error.to_string()
        };
        self.error(message)
    }

    /// Runs one step of the decoder and demands that the head it read (all but `payload` bytes) was
    /// as short as can be.
    fn step<T>(
        &mut self,
        read: impl FnOnce(&mut Decoder<'b>) -> std::result::Result<T, minicbor::decode::Error>,
        head: impl FnOnce(&T) -> (u64, usize),
    ) -> Result<T> {
        let begin = self.decoder.position();
        let value = read(&mut self.decoder).map_err(|error| self.malformed(&error))?;
        let (argument, payload) = head(&value);
        let shortest = match argument {
            0..24 => 1,
            24..=0xff => 2,
            0x100..=0xffff => 3,
            0x1_0000..=0xffff_ffff => 5,
            _ => 9,
        };
        if self.decoder.position() - begin != shortest + payload {
            return Err(self.error("a number or length is not in its shortest form"));
        }
        Ok(value)
    }

    pub(crate) fn number(&mut self) -> Result<u64> {
        self.step(Decoder::u64, |value| (*value, 0))
    }

    /// A number of 32 bits.
    pub(crate) fn small(&mut self) -> Result<u32> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| self.error(format!("{number} is too large")))
    }

    /// The index of a parameter.
    pub(crate) fn index(&mut self) -> Result<u16> {
        let number = self.number()?;
        u16::try_from(number).map_err(|_| self.error(format!("no parameter has number {number}")))
    }

    fn integer(&mut self) -> Result<i64> {
        // CBOR writes a negative number as -1 - argument.
        self.step(Decoder::i64, |value| {
            (if *value < 0 { !*value as u64 } else { *value as u64 }, 0)
        })
    }

    pub(crate) fn text(&mut self) -> Result<String> {
        self.step(Decoder::str, |text| (text.len() as u64, text.len())).map(str::to_owned)
    }

    /// `true`: what is false is left out.
    pub(crate) fn flag(&mut self) -> Result<bool> {
        match self.decoder.bool().map_err(|error| self.malformed(&error))? {
            true => Ok(true),
            false => Err(self.error("false must be encoded by omitting the key")),
        }
    }

    /// The head of an array.
    pub(crate) fn array(&mut self) -> Result<u64> {
        let length = self.step(Decoder::array, |length| (length.unwrap_or(0), 0))?;
        length.ok_or_else(|| self.error("an array without a length"))
    }

    /// An array whose items `read` reads. A length that the bytes do not back ends in "too early",
    /// not in memory.
    pub(crate) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let length = self.array()?;
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(read(self)?);
        }
        Ok(items)
    }

    /// A map whose values `read` reads; it answers `false` for a key it does not know. Such a key
    /// is skipped with its value if it is positive, and refused if it is negative: critical.
    pub(crate) fn map(
        &mut self,
        mut read: impl FnMut(&mut Self, i64) -> Result<bool>,
    ) -> Result<()> {
        let length = self.step(Decoder::map, |length| (length.unwrap_or(0), 0))?;
        let length = length.ok_or_else(|| self.error("a map without a length"))?;
        let mut last = None;
        for _ in 0..length {
            let key = self.integer()?;
            // The order of encoded keys: 0, 1, 2, … then -1, -2, …
            let rank = (key < 0, key.unsigned_abs());
            if last.is_some_and(|last| last >= rank) {
                return Err(self.error(format!("key {key} is repeated or out of order")));
            }
            last = Some(rank);
            if !read(self, key)? {
                self.unknown(key)?;
            }
        }
        Ok(())
    }

    fn unknown(&mut self, key: i64) -> Result<()> {
        if key < 0 {
            let message =
                format!("the interface needs feature {key}, which this version does not support");
            return Err(Error::new(ErrorKind::Version, OPERATION, message)
                .fix("update Farcall on this side"));
        }
        self.decoder.skip().map_err(|error| self.malformed(&error))
    }

    fn datatype(&self) -> Result<Type> {
        self.decoder.datatype().map_err(|error| self.malformed(&error))
    }

    /// The integer at this place, if there is one.
    pub(crate) fn integer_here(&mut self) -> Result<Option<i64>> {
        match self.datatype()? {
            Type::U8
            | Type::U16
            | Type::U32
            | Type::U64
            | Type::I8
            | Type::I16
            | Type::I32
            | Type::I64
            | Type::Int => self.integer().map(Some),
            _ => Ok(None),
        }
    }

    /// The text at this place, if there is one.
    pub(crate) fn text_here(&mut self) -> Result<Option<String>> {
        match self.datatype()? {
            Type::String => self.text().map(Some),
            _ => Ok(None),
        }
    }

    /// The real number at this place, if there is one; finite, and in the shortest of the three
    /// widths.
    pub(crate) fn real_here(&mut self) -> Result<Option<f64>> {
        let (value, shortest) = match self.datatype()? {
            Type::F16 => (self.half()?, true),
            Type::F32 => {
                let value = f64::from(self.decoder.f32().map_err(|error| self.malformed(&error))?);
                (value, half_from(value).is_none())
            }
            Type::F64 => {
                let value = self.decoder.f64().map_err(|error| self.malformed(&error))?;
                (value, f64::from(value as f32) != value)
            }
            _ => return Ok(None),
        };
        match (value.is_finite(), shortest) {
            (true, true) => Ok(Some(value)),
            (true, false) => Err(self.error("a real number is not in its shortest form")),
            (false, _) => Err(self.error("a constant is infinite or not a number")),
        }
    }

    /// A half-precision number, which minicbor reads only with one more dependency.
    fn half(&mut self) -> Result<f64> {
        let begin = self.decoder.position() + 1;
        let Some(&[high, low]) = self.decoder.input().get(begin..begin + 2) else {
            return Err(self.error("the data end too early"));
        };
        self.decoder.set_position(begin + 2);
        let bits = u16::from_be_bytes([high, low]);
        let exponent = i32::from(bits >> 10 & 0x1f);
        let fraction = f64::from(bits & 0x3ff);
        let magnitude = match exponent {
            0 => fraction * 2.0_f64.powi(-24),
            31 => f64::INFINITY,
            _ => (fraction + 1024.0) * 2.0_f64.powi(exponent - 25),
        };
        Ok(if bits >> 15 == 1 { -magnitude } else { magnitude })
    }

    /// The value of a key that must not be missing.
    pub(crate) fn required<T>(&self, value: Option<T>, what: &str) -> Result<T> {
        value.ok_or_else(|| self.error(format!("{what} is missing")))
    }

    /// Demands that all bytes have been read.
    pub(crate) fn finish(&self) -> Result<()> {
        match self.decoder.input().len() - self.decoder.position() {
            0 => Ok(()),
            rest => Err(self.error(format!("{rest} bytes follow the end"))),
        }
    }
}
