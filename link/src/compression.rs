//! Compression of data frames, each on its own (spec/wire.md, section 5.8): bytes shuffled by
//! element, then LZ4.
//!
//! A link that may compress owns a [`Compressor`], whose [`Chooser`] decides for each argument from
//! what the stream takes and from what a sample gives. A link that receives owns an [`Expansion`]
//! while a compressed frame comes.

mod chooser;
mod expansion;
mod shuffle;

use std::borrow::Cow;
use std::ops::AddAssign;
use std::str::FromStr;
use std::time::Duration;

use farcall_base::{Clock, Error, ErrorKind, SystemClock};
use farcall_wire::{CompressedHead, Flags, FrameHeader};

use crate::memory::Block;
use crate::packing::Packing;
use chooser::{Argument, Choice, Chooser, Trial};
pub(crate) use expansion::Expansion;
pub use expansion::expanded;
use shuffle::shuffle;

/// Whether to compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Compression {
    /// Where it is faster than to send the bytes as they are.
    #[default]
    Auto,
    /// Never, and nobody compresses for us.
    Off,
    /// Whatever gets shorter: for measurements, and for links that are paid by the byte.
    Always,
}

impl Compression {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Auto => "auto",
            Compression::Off => "off",
            Compression::Always => "always",
        }
    }
}

impl FromStr for Compression {
    type Err = Error;

    fn from_str(text: &str) -> Result<Compression, Error> {
        [Compression::Auto, Compression::Off, Compression::Always]
            .into_iter()
            .find(|mode| mode.name() == text)
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::InvalidArgument,
                    "choose compression",
                    format!("\"{text}\" is not a setting"),
                )
                .fix("write auto, off or always")
            })
    }
}

/// What compression saved of an array, and at what price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Saved {
    /// Bytes that did not travel.
    pub bytes: u64,
    /// Time to compress, or to expand, those that did.
    pub time: Duration,
}

impl AddAssign for Saved {
    fn add_assign(&mut self, more: Saved) {
        self.bytes += more.bytes;
        self.time += more.time;
    }
}

/// Bytes of a chunk that a width is chosen by.
const SAMPLE_BYTES: usize = 32 << 10;
/// Bytes below which a data frame is not worth a thought.
const FRAME_BYTES_MIN: u32 = 4096;

/// What a link compresses with.
pub(crate) struct Compressor {
    chooser: Chooser,
    always: bool,
    clock: SystemClock,
}

impl Compressor {
    /// `None` where nothing is to be compressed.
    pub(crate) fn new(mode: Compression) -> Option<Box<Compressor>> {
        let always = mode == Compression::Always;
        let compressor = Compressor { chooser: Chooser::new(), always, clock: SystemClock::new() };
        (mode != Compression::Off).then(|| Box::new(compressor))
    }

    /// The stream took so many bytes.
    pub(crate) fn took(&mut self, bytes: usize) {
        self.chooser.took(bytes as u64);
    }

    /// The stream takes no more for now.
    pub(crate) fn is_full(&mut self) {
        self.chooser.is_full(self.clock.now());
    }

    /// Everything left: the stream waits for us.
    pub(crate) fn is_drained(&mut self) {
        if self.chooser.is_measuring() {
            self.chooser.is_drained(self.clock.now());
        }
    }

    /// Whether frames are compressed at present: then one at a time is enough to keep the stream
    /// busy.
    pub(crate) fn is_active(&self) -> bool {
        self.always || self.chooser.is_slow()
    }

    /// The longest frames that should be made: while the stream is slow or unknown, decisions are
    /// made in small steps.
    pub(crate) fn frame_bytes_max(&self) -> u32 {
        if self.is_active() { chooser::CHUNK_BYTES } else { self.chooser.frame_bytes_max() }
    }

    /// The body of the frame, compressed, if that is to be sent in the place of `blocks`, the
    /// array's next ones.
    pub(crate) fn body(
        &mut self,
        header: &FrameHeader,
        blocks: &[Block],
        array: &mut Packing,
    ) -> Option<Vec<u8>> {
        let widest = u8::try_from(array.element_bytes()).unwrap_or(1).max(1);
        let begun = self.clock.now();
        let body = if header.length < FRAME_BYTES_MIN {
            None
        } else if self.always {
            let bytes = gathered(blocks);
            compressed(&bytes, best_width(&bytes, widest).0)
        } else {
            self.chosen(header, blocks, widest)
        };
        if header.flags.contains(Flags::END) {
            self.chooser.forget(Argument::of(header));
        }
        if let Some(body) = &body {
            let bytes = u64::from(header.length) - body.len() as u64;
            array.saved += Saved { bytes, time: self.clock.now().since(begun) };
        }
        body
    }

    fn chosen(&mut self, header: &FrameHeader, blocks: &[Block], widest: u8) -> Option<Vec<u8>> {
        let argument = Argument::of(header);
        let choice = self.chooser.choose(argument, header.length);
        let bytes = if choice == Choice::Raw { return None } else { gathered(blocks) };
        let width = match choice {
            Choice::Compress { width } => width,
            _ => self.sample(argument, &bytes, widest)?,
        };
        let begun = self.clock.now();
        let body = compressed(&bytes, width);
        let time = self.clock.now().since(begun);
        let left = body.as_ref().map_or(bytes.len(), Vec::len);
        let trial = Trial { bytes: bytes.len() as u64, left: left as u64, time };
        let is_sent = self.chooser.compressed(argument, &trial);
        body.filter(|_| is_sent)
    }

    /// The width that suits the argument, if any does.
    fn sample(&mut self, argument: Argument, bytes: &[u8], widest: u8) -> Option<u8> {
        let begun = self.clock.now();
        let (width, left) = best_width(bytes, widest);
        // One of the two widths tried: what the chunk will take.
        let time = self.clock.now().since(begun) / if widest > 1 { 2 } else { 1 };
        let trial = Trial {
            bytes: bytes.len().min(SAMPLE_BYTES) as u64,
            left,
            time: time.max(Duration::from_nanos(1)),
        };
        self.chooser.sampled(argument, width, &trial).then_some(width)
    }
}

/// Tries the first bytes as they are and shuffled: numbers that are mostly zeros are shorter as
/// they are.
fn best_width(bytes: &[u8], widest: u8) -> (u8, u64) {
    let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
    let left = |width| compressed(sample, width).map_or(sample.len(), |body| body.len()) as u64;
    let plain = (1, left(1));
    let shuffled = if widest > 1 { (widest, left(widest)) } else { plain };
    if shuffled.1 < plain.1 { shuffled } else { plain }
}

/// The bytes of all blocks in one piece.
fn gathered(blocks: &[Block]) -> Cow<'_, [u8]> {
    if let [block] = blocks {
        return Cow::Borrowed(block.bytes());
    }
    let mut bytes = Vec::with_capacity(blocks.iter().map(Block::length).sum());
    blocks.iter().for_each(|block| bytes.extend_from_slice(block.bytes()));
    Cow::Owned(bytes)
}

/// Head and compressed bytes, if they are shorter than `bytes`.
fn compressed(bytes: &[u8], width: u8) -> Option<Vec<u8>> {
    let head = CompressedHead { bytes: u32::try_from(bytes.len()).ok()?, width };
    let mut body =
        vec![0; CompressedHead::BYTES + lz4_flex::block::get_maximum_output_size(bytes.len())];
    body[..CompressedHead::BYTES].copy_from_slice(&head.encode());
    let room = &mut body[CompressedHead::BYTES..];
    let count = match width {
        1 => lz4_flex::block::compress_into(bytes, room).ok()?,
        width => lz4_flex::block::compress_into(&shuffle(bytes, width.into()), room).ok()?,
    };
    body.truncate(CompressedHead::BYTES + count);
    (body.len() < bytes.len()).then_some(body)
}

#[cfg(test)]
mod tests;
