//! One call in the results folder: what it was, and its outcome once it is over.
//!
//! ```text
//!  0  "FCRESLT1"
//!  8  when it is forgotten, in microseconds since 1970; 0 while it is open
//! 16  how long it is kept after its end, in microseconds
//! 24  lengths of the parts, 4 bytes each: call, outcome (0 while it is open), principal, routine
//! 40  the parts: Resume and Result as on the wire (spec/wire.md, section 4), text, text
//!     XXH3-64 of all that
//!     the arrays of the outcome, packed, in order of their parameters; XXH3-64 of them
//! ```
//!
//! Numbers are little-endian. A file is written under another name, and gets its own when all of it
//! is on the disk: what has the name is whole, or was damaged later, which the sums show.

use std::fs::File;
use std::io::{Read, Write};
use std::time::Duration;

use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_link::packing::Packing;
use farcall_wire::message::{decode, encode};
use farcall_wire::{Argument, CallResult, Keep, Resume};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const MAGIC: &[u8; 8] = b"FCRESLT1";
const HEAD_BYTES: usize = 40;
/// Longest part: nothing longer was ever a control message.
pub const PART_BYTES_MAX: usize = 64 << 20;
/// Bytes of arrays read at a time, so that their sum is worked out while they are in the
/// processor's cache.
const PIECE_BYTES: usize = 1 << 18;

/// What stands before the arrays.
pub struct Head {
    /// When it is forgotten, since 1970; `None` while the call is open.
    pub expires: Option<Duration>,
    /// For how long after its end.
    pub keep: Keep,
    /// What the call was.
    pub resume: Resume,
    /// Its outcome.
    pub result: Option<CallResult>,
    /// Whose it is.
    pub principal: String,
    /// `module/name`.
    pub routine: String,
}

impl Head {
    /// As it is written.
    pub fn encode(&self) -> Vec<u8> {
        let result = self.result.as_ref().map(encode).unwrap_or_default();
        let parts =
            [&encode(&self.resume), &result, self.principal.as_bytes(), self.routine.as_bytes()];
        let mut bytes = MAGIC.to_vec();
        let expires =
            self.expires.map_or(0, |at| u64::try_from(at.as_micros()).unwrap_or(u64::MAX));
        bytes.extend_from_slice(&expires.to_le_bytes());
        bytes.extend_from_slice(&self.keep.after_end_us.to_le_bytes());
        for part in parts {
            bytes.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
        }
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        let sum = xxh3_64(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads it from a file of so many bytes, which belongs to this call; the arrays come next.
    ///
    /// # Errors
    /// `Damaged` for anything that was not written so.
    pub fn read(file: &mut File, file_bytes: u64, id: CallId) -> Result<Head> {
        let bytes = read_fixed(file, MAGIC, HEAD_BYTES)?;
        let number =
            |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let expires = number(8);
        let after_end_us = number(16);
        let lengths: Vec<usize> = bytes[24..HEAD_BYTES]
            .chunks_exact(4)
            .map(|part| u32::from_le_bytes(part.try_into().expect("four bytes")) as usize)
            .collect();
        let (parts, length) = read_parts(file, bytes, &lengths, file_bytes)?;
        let [resume, result, principal, routine] =
            [0, 1, 2, 3].map(|index| parts[index].as_slice());
        let resume: Resume = decode("Resume", resume)
            .map_err(|_| damaged("its description of the call is invalid"))?;
        if resume.call != id {
            return Err(damaged("it belongs to another call"));
        }
        let result = (!result.is_empty()).then(|| decode("Result", result)).transpose();
        let head = Head {
            expires: (expires != 0).then(|| Duration::from_micros(expires)),
            keep: Keep { after_end_us, durable: true },
            resume,
            result: result.map_err(|_| damaged("its outcome is invalid"))?,
            principal: name(principal)?,
            routine: name(routine)?,
        };
        head.check_length(file_bytes - length)?;
        Ok(head)
    }

    fn check_length(&self, left: u64) -> Result<()> {
        let arrays = self.arrays().map(|(_, bytes)| bytes).fold(0, u64::saturating_add);
        let needed = if arrays > 0 { arrays.saturating_add(8) } else { 0 };
        if left == needed { Ok(()) } else { Err(damaged("its length does not match its arrays")) }
    }

    /// The arrays that follow: their parameters and bytes.
    pub fn arrays(&self) -> impl Iterator<Item = (u16, u64)> {
        let results = self.result.iter().flat_map(|result| result.results.iter().enumerate());
        results.filter_map(|(slot, argument)| match argument {
            Argument::Blocks(Some(bytes @ 1..)) => Some((u16::try_from(slot).ok()?, *bytes)),
            _ => None,
        })
    }
}

/// Writes arrays, and their sum if there are any.
///
/// # Errors
/// Those of the disk.
pub fn write_arrays(file: &mut File, arrays: &mut [Packing]) -> Result<u64> {
    let mut sum = Xxh3::new();
    let mut written = 0;
    for array in &mut *arrays {
        while array.left() > 0 {
            let length = array.left().min(PIECE_BYTES as u64) as usize;
            for block in array.blocks(length)? {
                sum.update(block.bytes());
                file.write_all(block.bytes())
                    .map_err(|error| Error::system("write a result", error))?;
            }
            written += length as u64;
        }
    }
    if written == 0 {
        return Ok(0);
    }
    file.write_all(&sum.digest().to_le_bytes())
        .map_err(|error| Error::system("write a result", error))?;
    Ok(written + 8)
}

/// Reads bytes of arrays, and works out their sum.
pub struct ArrayReader {
    sum: Xxh3,
    any: bool,
}

impl ArrayReader {
    /// At the first of them.
    pub fn new() -> ArrayReader {
        ArrayReader { sum: Xxh3::new(), any: false }
    }

    /// The next bytes.
    ///
    /// # Errors
    /// `Damaged` when there are fewer.
    pub fn read(&mut self, file: &mut File, bytes: &mut [u8]) -> Result<()> {
        for piece in bytes.chunks_mut(PIECE_BYTES) {
            file.read_exact(piece).map_err(|_| damaged("it is too short"))?;
            self.sum.update(piece);
            self.any = true;
        }
        Ok(())
    }

    /// Whether they are those that were written.
    ///
    /// # Errors
    /// `Damaged` if not.
    pub fn check(&self, file: &mut File) -> Result<()> {
        let mut sum = [0; 8];
        if !self.any {
            return Ok(());
        }
        file.read_exact(&mut sum).map_err(|_| damaged("it is too short"))?;
        if sum == self.sum.digest().to_le_bytes() {
            Ok(())
        } else {
            Err(damaged("the checksum of its arrays differs"))
        }
    }
}

/// Reads the part of a fixed length that a file begins with, and checks what kind of file it is.
///
/// # Errors
/// `Version` for a file of another release, `Damaged` for anything else that does not begin as it
/// should.
pub fn read_fixed(file: &mut File, magic: &[u8; 8], length: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let (begin, rest) = bytes.split_at_mut(magic.len());
    file.read_exact(begin).map_err(|_| damaged("it is too short"))?;
    if begin[..7] == magic[..7] && begin[7] != magic[7] && begin[7].is_ascii_digit() {
        return Err(other_release());
    }
    if begin != magic {
        return Err(damaged("it does not start like a result file"));
    }
    file.read_exact(rest).map_err(|_| damaged("it is too short"))?;
    Ok(bytes)
}

/// What is told of a file whose format this release does not know. It stays as it is.
pub fn other_release() -> Error {
    Error::new(ErrorKind::Version, "read a result", "another release of Farcall wrote its file")
        .fix("start the server of that release again: the file is unchanged")
}

/// What is told of a file that is not what was written.
pub fn damaged(what: &'static str) -> Error {
    Error::new(ErrorKind::Damaged, "read a result", format!("its file was damaged: {what}")).fix(
        "repeat the call; check the server's disk, and which programs write to its results \
            directory",
    )
}

/// The parts of a head behind its fixed bytes, of these lengths, once their sum is seen to be
/// right; and the bytes of it all.
///
/// # Errors
/// `Damaged` for anything that was not written so.
pub(super) fn read_parts(
    file: &mut File,
    mut bytes: Vec<u8>,
    lengths: &[usize],
    file_bytes: u64,
) -> Result<(Vec<Vec<u8>>, u64)> {
    let fixed = bytes.len();
    let total: usize = lengths.iter().sum();
    let length = (fixed + total + 8) as u64;
    if length > file_bytes || lengths.iter().any(|length| *length > PART_BYTES_MAX) {
        return Err(damaged("its parts are longer than the file"));
    }
    bytes.resize(fixed + total + 8, 0);
    file.read_exact(&mut bytes[fixed..]).map_err(|_| damaged("it is too short"))?;
    let (said, sum) = bytes.split_at(fixed + total);
    if xxh3_64(said).to_le_bytes() != sum {
        return Err(damaged("the checksum of its header differs"));
    }
    let mut rest = &said[fixed..];
    let part = |length: &usize| {
        let (part, after) = rest.split_at(*length);
        rest = after;
        part.to_vec()
    };
    Ok((lengths.iter().map(part).collect(), length))
}

/// A name in a head.
///
/// # Errors
/// `Damaged` for what is no text.
pub(super) fn name(bytes: &[u8]) -> Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| damaged("a name in it is not text"))
}
