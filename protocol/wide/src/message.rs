//! The bytes that each message begins with (spec/wide-area.md, section 3).

use farcall_base::Result;

use crate::bytes::{Reader, Writer};

/// Bytes that a message may have.
pub const MESSAGE_BYTES_MAX: usize = 1 << 30;

/// Which thing a message is of: the FNV-1a hash of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThingNumber(pub u32);

impl ThingNumber {
    /// That of a name.
    pub fn of(name: &str) -> ThingNumber {
        let hashed = name
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        ThingNumber(hashed)
    }
}

/// A message as it comes in.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a> {
    /// Which thing's it is.
    pub thing: ThingNumber,
    /// Which of the thing's protocol.
    pub kind: u8,
    /// Its fields and its body.
    pub content: Reader<'a>,
}

impl<'a> Envelope<'a> {
    /// Reads how it begins.
    ///
    /// # Errors
    /// `Protocol` where it is cut off.
    pub fn read(message: &'a [u8]) -> Result<Envelope<'a>> {
        let mut content = Reader::new(message);
        let number = content.raw(4)?;
        let kind = content.raw(1)?[0];
        let thing =
            ThingNumber(number.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte)));
        Ok(Envelope { thing, kind, content })
    }

    /// Writes one.
    pub fn write(thing: ThingNumber, kind: u8, fields: &[u64], body: &[u8]) -> Vec<u8> {
        let mut writer = Writer::with_room(5 + 4 * fields.len() + body.len());
        writer.raw(&thing.0.to_le_bytes());
        writer.raw(&[kind]);
        fields.iter().for_each(|field| writer.number(*field));
        writer.raw(body);
        writer.finish()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back() {
        let thing = ThingNumber::of("rows");
        assert_eq!(ThingNumber::of("a"), ThingNumber(0xe40c_292c), "a vector of FNV's authors");
        let bytes = Envelope::write(thing, 1, &[7, 300], b"body");
        let mut read = Envelope::read(&bytes).unwrap();
        assert_eq!((read.thing, read.kind), (thing, 1));
        assert_eq!([read.content.number().unwrap(), read.content.number().unwrap()], [7, 300]);
        assert_eq!(read.content.rest(), b"body");
        assert!((0..5).all(|length| Envelope::read(&bytes[..length]).is_err()));
    }
}
