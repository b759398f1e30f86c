//! Numbers in messages.

use farcall_base::{Error, ErrorKind, Result};

/// Writes a message.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// One that has room for so many bytes.
    pub fn with_room(bytes: usize) -> Writer {
        Writer { bytes: Vec::with_capacity(bytes) }
    }

    /// Appends an unsigned number, LEB128.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Appends bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// How many bytes were written.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What was written.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads a message.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Of these bytes.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes }
    }

    /// The next number.
    ///
    /// # Errors
    /// `Protocol` where it is cut off, has more than 64 bits, or more bytes than it needs.
    pub fn number(&mut self) -> Result<u64> {
        let mut number = 0u64;
        for (index, byte) in self.bytes.iter().enumerate().take(10) {
            let part = u64::from(byte & 0x7f);
            let is_last = byte & 0x80 == 0;
            if (index == 9 && part > 1) || (is_last && index > 0 && part == 0) {
                return Err(malformed(
                    "a number has more than 64 bits, or bytes that it does not need",
                ));
            }
            number |= part << (7 * index);
            if is_last {
                self.bytes = &self.bytes[index + 1..];
                return Ok(number);
            }
        }
        Err(malformed("a number is cut off"))
    }

    /// A number of at most 32 bits.
    ///
    /// # Errors
    /// As [`Reader::number`].
    pub fn small(&mut self) -> Result<u32> {
        self.number()?.try_into().map_err(|_| malformed("a number has more than 32 bits"))
    }

    /// So many bytes.
    ///
    /// # Errors
    /// `Protocol` where there are fewer.
    pub fn raw(&mut self, count: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self
            .bytes
            .split_at_checked(count)
            .ok_or_else(|| malformed("it has fewer bytes than it says"))?;
        self.bytes = rest;
        Ok(bytes)
    }

    /// All that follows.
    pub fn rest(self) -> &'a [u8] {
        self.bytes
    }

    /// Whether nothing follows.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

pub(crate) fn malformed(message: &'static str) -> Error {
    Error::new(ErrorKind::Protocol, "read a message of a member", message)
        .fix("run one build of the program at all members")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), 1 << 63, u64::MAX] {
            let mut writer = Writer::default();
            writer.number(number);
            let bytes = writer.finish();
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.number().unwrap(), number);
            assert!(reader.is_empty());
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let cases: [&[u8]; 5] = [
            &[],
            &[0x80],
            &[0x80, 0x00],
            &[0xff; 10],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02],
        ];
        for bytes in cases {
            assert_eq!(Reader::new(bytes).number().unwrap_err().kind(), ErrorKind::Protocol);
        }
    }
}
