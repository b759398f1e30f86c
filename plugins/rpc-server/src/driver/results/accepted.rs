//! An accepted call in the results folder until its outcome is there: what another server needs to
//! run it.
//!
//! ```text
//!  0  "FCCALLS1"
//!  8  its place among those that wait: the lowest number is the first
//! 16  how long its outcome is kept after its end, in microseconds
//! 24  when its time is over, in microseconds since 1970; 0: never
//! 32  bits: 1 its caller is the server's own user, 2 it is a call on an object, 4 the address begins with what tells its
//!     caller's certificate from others, and a blank
//! 36  lengths of the parts, 4 bytes each: call, open, principal, routine, address
//! 56  the parts: Resume and Open as on the wire (spec/wire.md, section 4), three texts
//!     XXH3-64 of all that
//!     the arrays among its arguments, packed, in order of their parameters; XXH3-64 of them
//! ```
//!
//! The arrays may be missing altogether: of a call that has begun nobody needs them.

use std::fs::File;
use std::time::Duration;

use farcall_base::{CallId, Result};
use farcall_wire::message::{decode, encode};
use farcall_wire::{Argument, Keep, Open, Resume};
use xxhash_rust::xxh3::xxh3_64;

use super::file::{damaged, name, read_fixed, read_parts};
use super::folder::since_1970;
use crate::state::{Accepted, Written};

const MAGIC: &[u8; 8] = b"FCCALLS1";
const HEAD_BYTES: usize = 56;
const PARTS: usize = 5;
const OWNS_SERVER: u32 = 1;
const ON_OBJECT: u32 = 2;
const HAS_CERTIFICATE: u32 = 4;

/// A call as it is written, with what only the disk and the clock on the wall know.
pub struct AcceptedHead {
    /// Its place among those that wait.
    pub order: u64,
    /// When its time is over, since 1970.
    pub deadline: Option<Duration>,
    /// The call.
    pub accepted: Accepted,
}

impl AcceptedHead {
    /// A call that is written down now.
    pub fn new(accepted: Accepted) -> AcceptedHead {
        let left = accepted.open.remaining_us.map(Duration::from_micros);
        AcceptedHead {
            order: 0,
            deadline: left.map(|left| since_1970().saturating_add(left)),
            accepted,
        }
    }

    /// As it is written.
    pub fn encode(&self) -> Vec<u8> {
        let Accepted { written, open, owns_server, on_object, certificate, .. } = &self.accepted;
        let address = match certificate {
            Some(certificate) => format!("{certificate} {}", self.accepted.address),
            None => self.accepted.address.clone(),
        };
        let texts =
            [&written.principal, &written.routine, &address].map(|text| text.as_bytes().to_vec());
        let [principal, routine, address] = texts;
        let parts: [Vec<u8>; PARTS] =
            [encode(&written.resume), encode(open), principal, routine, address];
        let certified = if certificate.is_some() { HAS_CERTIFICATE } else { 0 };
        let bits = if *owns_server { OWNS_SERVER } else { 0 }
            | if *on_object { ON_OBJECT } else { 0 }
            | certified;
        // 0 stands for no deadline.
        let deadline =
            self.deadline.map_or(0, |at| u64::try_from(at.as_micros()).unwrap_or(u64::MAX).max(1));
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.order.to_le_bytes());
        bytes.extend_from_slice(&written.keep.after_end_us.to_le_bytes());
        bytes.extend_from_slice(&deadline.to_le_bytes());
        bytes.extend_from_slice(&bits.to_le_bytes());
        for part in &parts {
            bytes.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
        }
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        let sum = xxh3_64(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads it from a file of so many bytes, which belongs to this call; the arrays come next.
    /// Also its own length.
    ///
    /// # Errors
    /// `Version` for a file of another release, `Damaged` for anything that was not written so.
    pub fn read(file: &mut File, file_bytes: u64, id: CallId) -> Result<(AcceptedHead, u64)> {
        let bytes = read_fixed(file, MAGIC, HEAD_BYTES)?;
        let number =
            |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let short =
            |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let order = number(8);
        let after_end_us = number(16);
        let deadline = number(24);
        let bits = short(32);
        let lengths: Vec<usize> = (0..PARTS).map(|part| short(36 + 4 * part) as usize).collect();
        let (parts, length) = read_parts(file, bytes, &lengths, file_bytes)?;
        let resume: Resume = decode("Resume", &parts[0])
            .map_err(|_| damaged("its description of the call is invalid"))?;
        let open: Open =
            decode("Open", &parts[1]).map_err(|_| damaged("its request is invalid"))?;
        if resume.call != id || open.call != id {
            return Err(damaged("it belongs to another call"));
        }
        let principal = name(&parts[2])?;
        let routine = name(&parts[3])?;
        let address = name(&parts[4])?;
        let keep = Keep { after_end_us, durable: true };
        let written = Written { resume, routine, principal, keep };
        let owns_server = bits & OWNS_SERVER != 0;
        let on_object = bits & ON_OBJECT != 0;
        let (certificate, address) = match address.split_once(' ') {
            Some((certificate, address)) if bits & HAS_CERTIFICATE != 0 => {
                (Some(certificate.into()), address.to_owned())
            }
            _ => (None, address),
        };
        let accepted = Accepted {
            written,
            open,
            address,
            owns_server,
            certificate,
            on_object,
            has_begun: false,
        };
        let deadline = (deadline != 0).then(|| Duration::from_micros(deadline));
        Ok((AcceptedHead { order, deadline, accepted }, length))
    }

    /// Whether a file has all arrays behind the head.
    ///
    /// # Errors
    /// `Damaged` if not.
    pub fn check_arrays(&self, left: u64) -> Result<()> {
        let bytes = self.array_bytes();
        let needed = if bytes > 0 { bytes.saturating_add(8) } else { 0 };
        if left == needed {
            Ok(())
        } else {
            Err(damaged("its length does not match its arguments"))
        }
    }

    /// Bytes of the arrays that follow.
    pub fn array_bytes(&self) -> u64 {
        let bytes = |argument: &Argument| {
            if let Argument::Blocks(Some(bytes)) = argument { *bytes } else { 0 }
        };
        self.accepted.open.arguments.iter().map(bytes).fold(0, u64::saturating_add)
    }
}
