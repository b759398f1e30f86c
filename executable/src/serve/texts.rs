//! Texts that are too long for a message: they come and go as the contents of files do (spec/idl.md,
//! section 6.7), and lie in memory of the call.

use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::content::{ContentCheck, ContentReader, Outgoing};
use farcall_link::contents::{ContentsParts, ContentsReader, Part, Promised};
use farcall_link::memory::{HeapRegion, Region, Space};
use farcall_native::invoke::Slot;
use farcall_wire::Argument;

use super::CALL_BYTES_MAX;
use super::call::Place;
use super::files::Content;
use super::memory::Segments;

/// Bytes of all texts that an answer holds; longer ones follow it.
const INLINE_MAX: u64 = 768 << 10;
/// Texts of so many bytes are always in the answer.
const SHORT: u64 = 4096;

impl Content {
    /// Where a text comes to that is too long for a message; `None` for any other argument.
    ///
    /// # Errors
    /// `LimitExceeded` where it is too long for a call; those of memory that is not there.
    pub fn of_text(argument: &Argument, segments: &Segments) -> Result<Option<Content>> {
        match argument {
            Argument::Blocks(Some(bytes)) if *bytes > CALL_BYTES_MAX => {
                let message = "the text is longer than a call's data may be";
                Err(Error::new(ErrorKind::LimitExceeded, "take a text", message)
                    .with("bytes", bytes)
                    .with("limit", CALL_BYTES_MAX))
            }
            Argument::Blocks(Some(bytes)) => {
                let bytes = *bytes as usize;
                let region: Arc<dyn Region> = Arc::new(HeapRegion::new(bytes.max(1))?);
                Ok(Some(Content { region, offset: 0, bytes }))
            }
            Argument::Shared(segment, offset, bytes) => {
                let (region, offset) = segments.find(*segment, *offset, *bytes, *bytes)?;
                Ok(Some(Content { region, offset, bytes: *bytes as usize }))
            }
            _ => Ok(None),
        }
    }

    /// The text that it is, if it is what was sent, with a NUL behind it.
    fn text(&self) -> Result<Vec<u8>> {
        let mut text = Received::new(self.bytes as u64)?;
        self.pieces(|piece| {
            text.take(piece);
            Ok(())
        })?;
        text.finish()
    }

    /// The texts of an array, each with a NUL behind it; `None` is NULL.
    fn texts(&self, count: u64) -> Result<Vec<Option<Vec<u8>>>> {
        let mut parts = ContentsParts::new(count, self.bytes as u64)?;
        let mut texts = Vec::new();
        let mut current: Option<Received> = None;
        let mut all = |mut bytes: &[u8]| -> Result<()> {
            while let Some(part) = parts.next(&mut bytes)? {
                match part {
                    Part::Begins(None) => texts.push(None),
                    Part::Begins(Some(length)) => current = Some(Received::new(length)?),
                    Part::Bytes(bytes) => current.iter_mut().for_each(|text| text.take(bytes)),
                    Part::Ends => {
                        texts.push(current.take().map(Received::finish).transpose()?);
                    }
                }
            }
            Ok(())
        };
        self.pieces(&mut all)?;
        all(&[])?;
        parts.finish()?;
        Ok(texts)
    }
}

/// A text that is put together.
struct Received {
    check: ContentCheck,
    text: Vec<u8>,
}

impl Received {
    fn new(travelling: u64) -> Result<Received> {
        Ok(Received { check: ContentCheck::new(travelling)?, text: Vec::new() })
    }

    fn take(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(self.check.take(bytes));
    }

    fn finish(mut self) -> Result<Vec<u8>> {
        self.check.finish()?;
        self.text.push(0);
        Ok(self.text)
    }
}

/// The long texts of a call, while its routine runs.
#[derive(Default)]
pub struct LongTexts(Vec<Option<Vec<u8>>>);

impl LongTexts {
    /// Puts those of a parameter together, and says where the routine finds them.
    ///
    /// # Errors
    /// `Damaged` for what is not what was sent.
    pub fn slot(&mut self, place: &Place, count: u64, arena: &HeapRegion) -> Result<Option<Slot>> {
        match place {
            Place::LongText(content) => {
                let text = content.text()?;
                let slot = Slot::new(text.as_ptr().cast_mut(), text.len() - 1);
                self.0.push(Some(text));
                Ok(Some(slot))
            }
            Place::LongTexts(offset, content) => {
                for (index, text) in content.texts(count)?.into_iter().enumerate() {
                    let address = text.as_ref().map_or(0, |text| text.as_ptr() as usize);
                    let mut space = Space::of(arena, *offset + index * 8, 8)?;
                    space.bytes().copy_from_slice(&address.to_ne_bytes());
                    self.0.push(text);
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }
}

/// Texts of an answer: in it, as long as they fit, or behind it.
#[derive(Default)]
pub struct AnsweredTexts {
    bytes: u64,
}

impl AnsweredTexts {
    fn goes_along(&mut self, bytes: u64) -> bool {
        let all = self.bytes.saturating_add(bytes);
        let fits = bytes <= SHORT || all <= INLINE_MAX;
        if fits {
            self.bytes = all;
        }
        fits
    }

    /// A text, or what sends it.
    pub fn one(&mut self, text: Option<Vec<u8>>) -> Answered {
        match text {
            None => Answered::Inside(Argument::Null),
            Some(text) if self.goes_along(text.len() as u64) => {
                Answered::Inside(Argument::Inline(text.into()))
            }
            Some(text) => Answered::Behind(Box::new(ContentReader::of_bytes(text))),
        }
    }

    /// The texts of an array, or what sends them.
    pub fn several(&mut self, texts: Vec<Option<Vec<u8>>>) -> Answered {
        let bytes = texts.iter().map(|text| text.as_ref().map_or(1, |text| text.len() as u64 + 5));
        if self.goes_along(bytes.sum()) {
            let texts = texts.into_iter().map(|text| text.map(Into::into)).collect();
            return Answered::Inside(Argument::Texts(texts));
        }
        let promised = |text: Vec<u8>| {
            let bytes = text.len() as u64;
            Promised { bytes, open: Box::new(move || Ok(ContentReader::of_bytes(text))) }
        };
        let contents = texts.into_iter().map(|text| text.map(promised)).collect();
        Answered::Behind(Box::new(ContentsReader::new(contents)))
    }
}

/// Where a result that is text goes.
pub enum Answered {
    /// It is in the answer.
    Inside(Argument),
    /// It follows.
    Behind(Box<dyn Outgoing>),
}
