//! What a member and the hub say to one another. A frame is a kind, a length of four bytes, and
//! the content; numbers are little-endian.

use std::io::{Read, Write};

use farcall_base::{Error, ErrorKind, Result};
use farcall_wide_engines::{Destination, MESSAGE_BYTES_MAX, Rank, ThingNumber};

/// A thing that a member has made; what must be alike at all members is in the description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The hash of its name.
    pub number: ThingNumber,
    /// As the program says it.
    pub name: String,
    /// Kind, order, element, size: for people.
    pub description: String,
}

/// From a member. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToHub {
    /// A message goes, at this time of the member's clock.
    Send(u64, Destination, Vec<u8>),
    /// The member waits until then; without a time, for a message. For people: for what.
    Wait(Option<u64>, String),
    /// It has made a thing.
    Declare(Declared),
    /// What the run has found.
    Answer(String),
    /// It ends, at this time; it has computed for so long.
    End(u64, u64),
    /// It ends the run with this error.
    Fail(String),
}

/// To a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToMember {
    /// It goes on: nothing else happens before the second time.
    Go(u64, u64),
    /// A message has arrived at the first time; nothing else happens before the second one.
    Deliver(u64, u64, Rank, Vec<u8>),
}

const SEND: u8 = 1;
const WAIT: u8 = 2;
const DECLARE: u8 = 3;
const ANSWER: u8 = 4;
const END: u8 = 5;
const FAIL: u8 = 6;
const GO: u8 = 7;
const DELIVER: u8 = 8;
/// For a message of a member.
const ANY: u64 = u64::MAX;
/// Bytes of a message, and of what goes with it.
const FRAME_BYTES_MAX: usize = MESSAGE_BYTES_MAX + 64;

impl ToHub {
    /// Appends it.
    pub fn write(&self, to: &mut Vec<u8>) {
        match self {
            ToHub::Send(time, destination, message) => {
                let (kind, number) = match destination {
                    Destination::Member(rank) => (0u8, rank.0),
                    Destination::Site(site) => (1, *site),
                    Destination::All => (2, 0),
                };
                let parts: [&[u8]; 4] =
                    [&time.to_le_bytes(), &[kind], &number.to_le_bytes(), message];
                frame(to, SEND, &parts);
            }
            ToHub::Wait(until, what) => {
                frame(to, WAIT, &[&until.unwrap_or(ANY).to_le_bytes(), what.as_bytes()]);
            }
            ToHub::Declare(Declared { number, name, description }) => {
                let length = (name.len() as u32).to_le_bytes();
                let parts: [&[u8]; 4] =
                    [&number.0.to_le_bytes(), &length, name.as_bytes(), description.as_bytes()];
                frame(to, DECLARE, &parts);
            }
            ToHub::Answer(text) => frame(to, ANSWER, &[text.as_bytes()]),
            ToHub::End(time, work) => frame(to, END, &[&time.to_le_bytes(), &work.to_le_bytes()]),
            ToHub::Fail(text) => frame(to, FAIL, &[text.as_bytes()]),
        }
    }

    /// The next one.
    ///
    /// # Errors
    /// `ConnectionLost` at the end of the stream, `Protocol`.
    pub fn read(from: &mut impl Read) -> Result<ToHub> {
        let (kind, content) = next(from)?;
        let mut content = Content(&content);
        Ok(match kind {
            SEND => {
                let time = content.long()?;
                let to = match (content.byte()?, content.short()?) {
                    (0, rank) => Destination::Member(Rank(rank)),
                    (1, site) => Destination::Site(site),
                    (2, 0) => Destination::All,
                    _ => return Err(malformed()),
                };
                ToHub::Send(time, to, content.0.to_vec())
            }
            WAIT => {
                let until = content.long()?;
                ToHub::Wait((until != ANY).then_some(until), content.text()?)
            }
            DECLARE => {
                let number = ThingNumber(content.short()?);
                let length = content.short()? as usize;
                let name = Content(content.bytes(length)?).text()?;
                ToHub::Declare(Declared { number, name, description: content.text()? })
            }
            ANSWER => ToHub::Answer(content.text()?),
            END => ToHub::End(content.long()?, content.long()?),
            FAIL => ToHub::Fail(content.text()?),
            _ => return Err(malformed()),
        })
    }
}

impl ToMember {
    /// Writes it.
    ///
    /// # Errors
    /// `ConnectionLost`.
    pub fn send(&self, to: &mut impl Write, room: &mut Vec<u8>) -> Result<()> {
        room.clear();
        match self {
            ToMember::Go(now, horizon) => {
                frame(room, GO, &[&now.to_le_bytes(), &horizon.to_le_bytes()]);
            }
            ToMember::Deliver(now, horizon, from, message) => {
                let parts: [&[u8]; 4] =
                    [&now.to_le_bytes(), &horizon.to_le_bytes(), &from.0.to_le_bytes(), message];
                frame(room, DELIVER, &parts);
            }
        }
        to.write_all(room).and_then(|()| to.flush()).map_err(lost)
    }

    /// The next one.
    ///
    /// # Errors
    /// `ConnectionLost` at the end of the stream, `Protocol`.
    pub fn read(from: &mut impl Read) -> Result<ToMember> {
        let (kind, content) = next(from)?;
        let mut content = Content(&content);
        let now = content.long()?;
        let horizon = content.long()?;
        match kind {
            GO => Ok(ToMember::Go(now, horizon)),
            DELIVER => {
                let from = Rank(content.short()?);
                Ok(ToMember::Deliver(now, horizon, from, content.0.to_vec()))
            }
            _ => Err(malformed()),
        }
    }
}

fn frame(to: &mut Vec<u8>, kind: u8, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    to.push(kind);
    to.extend_from_slice(&(length as u32).to_le_bytes());
    parts.iter().for_each(|part| to.extend_from_slice(part));
}

fn next(from: &mut impl Read) -> Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    from.read_exact(&mut head).map_err(lost)?;
    let [kind, length @ ..] = head;
    let length = u32::from_le_bytes(length) as usize;
    if length > FRAME_BYTES_MAX {
        return Err(malformed());
    }
    let mut content = vec![0; length];
    from.read_exact(&mut content).map_err(lost)?;
    Ok((kind, content))
}

/// What of a frame was not read yet.
struct Content<'a>(&'a [u8]);

impl<'a> Content<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or_else(malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.bytes(1)?[0])
    }

    fn short(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.bytes(4)?.try_into().expect("it has four bytes")))
    }

    fn long(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.bytes(8)?.try_into().expect("it has eight bytes")))
    }

    fn text(&mut self) -> Result<String> {
        let text = std::mem::take(&mut self.0);
        String::from_utf8(text.to_vec()).map_err(|_| malformed())
    }
}

fn malformed() -> Error {
    Error::new(ErrorKind::Protocol, "read a frame of a run", "it is not one")
        .fix("run programs that were built with this version of Farcall")
}

fn lost(error: std::io::Error) -> Error {
    Error::new(ErrorKind::ConnectionLost, "speak in a run", "the other end has gone").source(error)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back() {
        let declared = Declared {
            number: ThingNumber(7),
            name: "rows".into(),
            description: "halo, exact".into(),
        };
        let all = [
            ToHub::Send(5, Destination::Site(3), b"message".to_vec()),
            ToHub::Send(6, Destination::All, Vec::new()),
            ToHub::Wait(Some(9), "work".into()),
            ToHub::Wait(None, "rows".into()),
            ToHub::Declare(declared),
            ToHub::Answer("52 iterations".into()),
            ToHub::End(10, 4),
            ToHub::Fail("no".into()),
        ];
        let mut bytes = Vec::new();
        all.iter().for_each(|one| one.write(&mut bytes));
        let mut from = bytes.as_slice();
        for one in all {
            assert_eq!(ToHub::read(&mut from).unwrap(), one);
        }
        assert_eq!(ToHub::read(&mut from).unwrap_err().kind(), ErrorKind::ConnectionLost);
        let mut to = Vec::new();
        let one = ToMember::Deliver(1, 2, Rank(3), vec![4]);
        one.send(&mut to, &mut Vec::new()).unwrap();
        assert_eq!(ToMember::read(&mut to.as_slice()).unwrap(), one);
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        for bytes in [[9, 0, 0, 0, 0], [SEND, 1, 0, 0, 0], [WAIT, 0xff, 0xff, 0xff, 0xff]] {
            let bytes = [&bytes[..], &[0; 8]].concat();
            assert!(ToHub::read(&mut bytes.as_slice()).is_err());
        }
    }
}
