//! A compressed data frame on its way in: gathered, judged, and given to the handler as if it had
//! come as it was.

use farcall_base::{Clock, Error, Result, SystemClock};
use farcall_wire::FrameHeader;
use farcall_wire::compressed::{CompressedHead, broken};

use super::Saved;
use super::shuffle::unshuffle;
use crate::link::FrameHandler;
use crate::memory::{HeapRegion, Region, Space};

/// Bytes set aside for the compressed body at first; more when they came.
const FIRST_BYTES: usize = 64 << 10;

/// One compressed frame.
pub struct Expansion {
    /// As it is on the wire.
    header: FrameHeader,
    data_bytes_max: u32,
    /// Known once its 8 bytes are there.
    head: Option<CompressedHead>,
    body: HeapRegion,
    filled: usize,
}

impl Expansion {
    /// One that begins. No memory is set aside but for the head.
    ///
    /// # Errors
    /// `System` when there is no memory.
    pub fn new(header: FrameHeader, data_bytes_max: u32) -> Result<Expansion> {
        let body = HeapRegion::new(CompressedHead::BYTES)?;
        Ok(Expansion { header, data_bytes_max, head: None, body, filled: 0 })
    }

    /// Where the next bytes of the body go.
    ///
    /// # Errors
    /// `System` when there is no memory.
    pub fn space(&mut self) -> Result<Space> {
        if self.filled == self.body.bytes() {
            let bytes = (2 * self.filled).max(FIRST_BYTES).min(self.header.length as usize);
            let grown = HeapRegion::new(bytes)?;
            let filled = Space::of(&self.body, 0, self.filled)?.bytes().to_vec();
            Space::of(&grown, 0, self.filled)?.bytes().copy_from_slice(&filled);
            self.body = grown;
        }
        Space::of(&self.body, self.filled, self.body.bytes() - self.filled)
    }

    /// `count` bytes of the last [`Expansion::space`] came; true when the frame is over, and the
    /// handler has it.
    ///
    /// # Errors
    /// `Protocol` that names the argument; those of the handler.
    pub fn arrived(&mut self, handler: &mut dyn FrameHandler, count: usize) -> Result<bool> {
        self.filled += count;
        if self.head.is_none() && self.filled == CompressedHead::BYTES {
            self.judge(handler)?;
        }
        match self.head {
            Some(head) if self.filled == self.header.length as usize => {
                self.deliver(handler, head)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Looks at the head. The handler begins the frame, and refuses what was not announced or has
    /// no credit, before the body is taken.
    fn judge(&mut self, handler: &mut dyn FrameHandler) -> Result<()> {
        let mut bytes = Space::of(&self.body, 0, CompressedHead::BYTES)?;
        let bytes = bytes.bytes().first_chunk().expect("as many bytes as were asked for");
        let head = CompressedHead::decode(bytes, &self.header, self.data_bytes_max)?;
        handler.data_space(&head.uncompressed(&self.header), 0)?;
        self.head = Some(head);
        Ok(())
    }

    fn deliver(&self, handler: &mut dyn FrameHandler, head: CompressedHead) -> Result<()> {
        let mut body =
            Space::of(&self.body, CompressedHead::BYTES, self.filled - CompressedHead::BYTES)?;
        let clock = SystemClock::new();
        let begun = clock.now();
        let bytes = expanded(head, body.bytes(), &self.header)?;
        let header = head.uncompressed(&self.header);
        let saved = u64::from(head.bytes).saturating_sub(self.header.length.into());
        handler.data_expanded(&header, Saved { bytes: saved, time: clock.now().since(begun) });
        let mut done = 0;
        while done < head.bytes {
            let left = &bytes[done as usize..];
            let count = match handler.data_space(&header, done)? {
                None => left.len(),
                Some(mut space) => {
                    let count = space.length().min(left.len());
                    space.bytes()[..count].copy_from_slice(&left[..count]);
                    count
                }
            };
            if count == 0 {
                return Err(Error::internal(
                    "receive an array",
                    "no memory was provided for the bytes that arrive",
                ));
            }
            let count = u32::try_from(count).expect("no more than the frame's rest");
            done += count;
            handler.data_arrived(&header, count, done)?;
        }
        Ok(())
    }
}

/// The array bytes that `body` stands for.
///
/// # Errors
/// `Protocol` where it is no LZ4 block of exactly as many.
pub fn expanded(head: CompressedHead, body: &[u8], header: &FrameHeader) -> Result<Vec<u8>> {
    let mut bytes = vec![0; head.bytes as usize];
    let damaged = || broken(header, "a compressed data frame is damaged");
    let count = lz4_flex::block::decompress_into(body, &mut bytes).map_err(|_| damaged())?;
    if count != bytes.len() {
        return Err(damaged().with("expected", bytes.len()).with("got", count));
    }
    Ok(if head.width == 1 { bytes } else { unshuffle(&bytes, head.width.into()) })
}
