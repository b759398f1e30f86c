//! The messages of a plain call, written and read in one pass.
//!
//! Almost every call is an Open with a few short values and a Result with as many. The general
//! encoder and decoder took as long for these two as all else that a client does. What is not plain
//! goes through the general ones, and both write and read the same bytes: a test compares them.

use farcall_base::{CallId, Result};

use crate::message::{
    ARGUMENTS_MAX, Argument, Attribute, CallResult, CallTimes, InlineBytes, Open, decode,
    encode_into,
};
use crate::placement::GRANT;

/// Major types of CBOR (RFC 8949, section 3.1), in their place.
const UNSIGNED: u8 = 0;
const BYTES: u8 = 2 << 5;
const TEXT: u8 = 3 << 5;
const ARRAY: u8 = 4 << 5;
const MAP: u8 = 5 << 5;
/// The value "false" (section 3.3).
const FALSE: u8 = 7 << 5 | 20;
/// The low bits of a head that say how many bytes its number has.
const ONE_BYTE: u8 = 24;
const TWO_BYTES: u8 = 25;
const FOUR_BYTES: u8 = 26;
const EIGHT_BYTES: u8 = 27;

/// Numbers of arguments of a plain call (spec/wire.md, section 5).
const ABSENT: u64 = 0;
const NO_POINTER: u64 = 1;
const INLINE: u64 = 2;
const BLOCKS: u64 = 3;

/// Encodes an Open in memory that was used before.
pub fn encode_open(used: Vec<u8>, open: &Open) -> Vec<u8> {
    if !is_plain_open(open) {
        return encode_into(used, open);
    }
    let mut out = Writer::new(used);
    let optional = u64::from(open.remaining_us.is_some()) + u64::from(open.wanted.is_some());
    out.head(MAP, 4 + optional);
    out.key(1);
    out.bytes(BYTES, &open.call.0);
    out.key(2);
    out.bytes(TEXT, open.routine.as_bytes());
    out.key(3);
    out.bytes(BYTES, &open.contract);
    out.key(4);
    out.arguments(&open.arguments);
    if let Some(remaining_us) = open.remaining_us {
        out.key(5);
        out.head(UNSIGNED, remaining_us);
    }
    if let Some(wanted) = &open.wanted {
        out.key(11);
        out.arguments(wanted);
    }
    out.0
}

/// What the Opens of one routine have in common, encoded once.
#[derive(Debug)]
pub struct OpenHead {
    /// From the routine's name to the count of arguments.
    middle: Vec<u8>,
}

/// An Open whose arguments are written one by one.
pub struct OpenWriter(Writer);

/// What an Open that is written one by one says beside its arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenExtras {
    /// Microseconds that are left of its time.
    pub remaining_us: Option<u64>,
    /// What placed it: see [`crate::placement::GRANT`].
    pub grant: Option<u64>,
}

impl OpenHead {
    /// That of calls of a routine, with so many arguments.
    pub fn new(routine: &str, contract: &[u8; 32], arguments: usize) -> OpenHead {
        let mut out = Writer(Vec::new());
        out.key(2);
        out.bytes(TEXT, routine.as_bytes());
        out.key(3);
        out.bytes(BYTES, contract);
        out.key(4);
        out.head(ARRAY, arguments as u64);
        OpenHead { middle: out.0 }
    }

    /// Begins an Open in memory that was used before. All results are wanted.
    pub fn begin(&self, used: Vec<u8>, call: CallId, extras: &OpenExtras) -> OpenWriter {
        let mut out = Writer::new(used);
        let optional = u64::from(extras.remaining_us.is_some()) + u64::from(extras.grant.is_some());
        out.head(MAP, 4 + optional);
        out.key(1);
        out.bytes(BYTES, &call.0);
        out.0.extend_from_slice(&self.middle);
        OpenWriter(out)
    }
}

impl OpenWriter {
    /// The next argument does not travel.
    pub fn absent(&mut self) {
        self.0.0.extend_from_slice(&[ARRAY | 1, ABSENT as u8]);
    }

    /// The next argument is this value.
    pub fn inline(&mut self, value: &[u8]) {
        self.0.inline(value);
    }

    /// Ends the Open, with what was announced when it began.
    pub fn finish(mut self, extras: &OpenExtras) -> Vec<u8> {
        if let Some(remaining_us) = extras.remaining_us {
            self.0.key(5);
            self.0.head(UNSIGNED, remaining_us);
        }
        if let Some(grant) = extras.grant {
            self.0.key(10);
            self.0.grant(grant);
        }
        self.0.0
    }
}

/// Encodes a Result in memory that was used before.
pub fn encode_result(used: Vec<u8>, result: &CallResult) -> Vec<u8> {
    if result.failure.is_some()
        || result.attributes.is_some()
        || !result.results.iter().all(is_plain)
    {
        return encode_into(used, result);
    }
    let mut out = Writer::new(used);
    out.head(MAP, 2);
    out.key(2);
    out.arguments(&result.results);
    out.key(3);
    let CallTimes { queued_ns, started_ns, finished_ns, processor_ns } = result.times;
    out.head(MAP, 3 + u64::from(processor_ns.is_some()));
    let times = [Some(queued_ns), Some(started_ns), Some(finished_ns), processor_ns];
    for (key, time) in (1..).zip(times).filter_map(|(key, time)| Some((key, time?))) {
        out.key(key);
        out.head(UNSIGNED, time);
    }
    out.0
}

/// Decodes an Open.
///
/// # Errors
/// As [`decode`].
pub fn decode_open(body: &[u8]) -> Result<Open> {
    Reader { rest: body }.open().map_or_else(|| decode("Open", body), Ok)
}

/// Decodes a Result.
///
/// # Errors
/// As [`decode`].
pub fn decode_result(body: &[u8]) -> Result<CallResult> {
    let mut result = CallResult::default();
    decode_result_into(body, &mut result).map(|()| result)
}

/// Decodes a Result into one that was used before.
///
/// # Errors
/// As [`decode`].
pub fn decode_result_into(body: &[u8], result: &mut CallResult) -> Result<()> {
    if (Reader { rest: body }).result(result).is_none() {
        *result = decode("Result", body)?;
    }
    Ok(())
}

fn is_plain_open(open: &Open) -> bool {
    let others = open.result_credit.is_some() || open.parent.is_some() || open.principal.is_some();
    !others
        && open.trace.is_none()
        && open.attributes.is_none()
        && open.arguments.iter().chain(open.wanted.iter().flatten()).all(is_plain)
}

fn is_plain(argument: &Argument) -> bool {
    matches!(
        argument,
        Argument::Absent | Argument::Null | Argument::Inline(_) | Argument::Blocks(_)
    )
}

struct Writer(Vec<u8>);

impl Writer {
    fn new(mut used: Vec<u8>) -> Writer {
        used.clear();
        used.reserve(crate::message::SMALL_BYTES);
        Writer(used)
    }

    fn key(&mut self, key: u8) {
        self.0.push(key);
    }

    fn head(&mut self, major: u8, number: u64) {
        if number < u64::from(ONE_BYTE) {
            self.0.push(major | number as u8);
        } else if let Ok(number) = u8::try_from(number) {
            self.0.extend_from_slice(&[major | ONE_BYTE, number]);
        } else if let Ok(number) = u16::try_from(number) {
            self.0.push(major | TWO_BYTES);
            self.0.extend_from_slice(&number.to_be_bytes());
        } else if let Ok(number) = u32::try_from(number) {
            self.0.push(major | FOUR_BYTES);
            self.0.extend_from_slice(&number.to_be_bytes());
        } else {
            self.0.push(major | EIGHT_BYTES);
            self.0.extend_from_slice(&number.to_be_bytes());
        }
    }

    fn bytes(&mut self, major: u8, bytes: &[u8]) {
        self.head(major, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// The attribute of a call that was placed, alone.
    fn grant(&mut self, grant: u64) {
        self.0.extend_from_slice(&[ARRAY | 1, ARRAY | 3]);
        self.bytes(TEXT, GRANT.as_bytes());
        self.0.push(FALSE);
        let length = self.0.len();
        self.0.push(BYTES);
        self.head(UNSIGNED, grant);
        // A number takes nine bytes at most, so that its length is in the head.
        self.0[length] |= (self.0.len() - length - 1) as u8;
    }

    #[inline]
    fn inline(&mut self, value: &[u8]) {
        // Almost all are short: one piece for what is before them.
        match u8::try_from(value.len()) {
            Ok(length) if length < ONE_BYTE => {
                self.0.extend_from_slice(&[ARRAY | 2, INLINE as u8, BYTES | length]);
                self.0.extend_from_slice(value);
            }
            _ => {
                self.0.extend_from_slice(&[ARRAY | 2, INLINE as u8]);
                self.bytes(BYTES, value);
            }
        }
    }

    fn arguments(&mut self, arguments: &[Argument]) {
        self.head(ARRAY, arguments.len() as u64);
        for argument in arguments {
            match argument {
                Argument::Absent => self.0.extend_from_slice(&[ARRAY | 1, ABSENT as u8]),
                Argument::Null => self.0.extend_from_slice(&[ARRAY | 1, NO_POINTER as u8]),
                Argument::Inline(bytes) => self.inline(bytes),
                Argument::Blocks(Some(length)) => {
                    self.0.extend_from_slice(&[ARRAY | 2, BLOCKS as u8]);
                    self.head(UNSIGNED, *length);
                }
                Argument::Blocks(None) => self.0.extend_from_slice(&[ARRAY | 1, BLOCKS as u8]),
                _ => unreachable!("only plain arguments come here"),
            }
        }
    }
}

/// What is left to read. Whatever is not plain, or not as the encoder above writes it, is `None`.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(count).ok()?)?;
        self.rest = rest;
        Some(taken)
    }

    fn head(&mut self, major: u8) -> Option<u64> {
        let low = self.byte()?.checked_sub(major)?;
        match low {
            0..ONE_BYTE => Some(low.into()),
            ONE_BYTE => self.byte().map(u64::from),
            TWO_BYTES => Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?).into()),
            FOUR_BYTES => Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?).into()),
            EIGHT_BYTES => Some(u64::from_be_bytes(self.take(8)?.try_into().ok()?)),
            _ => None,
        }
    }

    fn key(&mut self, key: u8) -> Option<()> {
        (self.byte()? == key).then_some(())
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let length = self.head(BYTES)?;
        self.take(length)?.try_into().ok()
    }

    fn arguments(&mut self) -> Option<Vec<Argument>> {
        let mut arguments = Vec::new();
        self.arguments_into(&mut arguments).map(|()| arguments)
    }

    fn arguments_into(&mut self, arguments: &mut Vec<Argument>) -> Option<()> {
        let count = self.head(ARRAY)?;
        if count > ARGUMENTS_MAX as u64 || count > self.rest.len() as u64 {
            return None;
        }
        arguments.clear();
        arguments.reserve(count as usize);
        for _ in 0..count {
            arguments.push(self.argument()?);
        }
        Some(())
    }

    fn argument(&mut self) -> Option<Argument> {
        let length = self.head(ARRAY)?;
        let kind = self.head(UNSIGNED)?;
        match (length, kind) {
            (1, ABSENT) => Some(Argument::Absent),
            (1, NO_POINTER) => Some(Argument::Null),
            (2, INLINE) => {
                let length = self.head(BYTES)?;
                Some(Argument::Inline(InlineBytes::from_slice(self.take(length)?)))
            }
            (1, BLOCKS) => Some(Argument::Blocks(None)),
            (2, BLOCKS) => self.head(UNSIGNED).map(|length| Argument::Blocks(Some(length))),
            _ => None,
        }
    }

    fn open(mut self) -> Option<Open> {
        let fields = self.head(MAP)?;
        self.key(1)?;
        let call = CallId(self.array()?);
        self.key(2)?;
        let length = self.head(TEXT)?;
        let routine = std::str::from_utf8(self.take(length)?).ok()?.to_owned();
        self.key(3)?;
        let contract = self.array()?;
        self.key(4)?;
        let arguments = self.arguments()?;
        let mut left = fields.checked_sub(4)?;
        let mut remaining_us = None;
        let mut attributes = None;
        let mut wanted = None;
        if left > 0 && self.rest.first() == Some(&5) {
            self.key(5)?;
            remaining_us = Some(self.head(UNSIGNED)?);
            left -= 1;
        }
        if left > 0 && self.rest.first() == Some(&10) {
            self.key(10)?;
            attributes = Some(vec![self.grant()?]);
            left -= 1;
        }
        if left > 0 {
            self.key(11)?;
            wanted = Some(self.arguments()?);
            left -= 1;
        }
        (left == 0 && self.rest.is_empty()).then_some(Open {
            call,
            routine,
            contract,
            arguments,
            wanted,
            remaining_us,
            result_credit: None,
            parent: None,
            principal: None,
            trace: None,
            attributes,
        })
    }

    /// The attribute of a call that was placed, alone.
    fn grant(&mut self) -> Option<Attribute> {
        self.key(ARRAY | 1)?;
        self.key(ARRAY | 3)?;
        let length = self.head(TEXT)?;
        let is_grant = self.take(length)? == GRANT.as_bytes() && self.byte()? == FALSE;
        let length = self.head(BYTES)?;
        let value = self.take(length)?.to_vec();
        is_grant.then(|| Attribute { name: GRANT.to_owned(), critical: false, value })
    }

    fn result(mut self, into: &mut CallResult) -> Option<()> {
        if self.head(MAP)? != 2 {
            return None;
        }
        self.key(2)?;
        self.arguments_into(&mut into.results)?;
        self.key(3)?;
        let fields = self.head(MAP)?;
        let mut times = [0; 4];
        if !(3..=4).contains(&fields) {
            return None;
        }
        for (key, time) in (1..).zip(&mut times).take(fields as usize) {
            self.key(key)?;
            *time = self.head(UNSIGNED)?;
        }
        let [queued_ns, started_ns, finished_ns, processor_ns] = times;
        let processor_ns = (fields == 4).then_some(processor_ns);
        into.times = CallTimes { queued_ns, started_ns, finished_ns, processor_ns };
        (into.failure, into.attributes) = (None, None);
        self.rest.is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests;
