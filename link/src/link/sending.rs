//! What leaves: frames become pieces, and pieces leave as the stream takes them.

use std::io::{ErrorKind as IoErrorKind, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use farcall_base::Result;
use farcall_wire::frame::{Flags, FrameHeader, HEADER_BYTES, padding};
use smallvec::SmallVec;

use super::source::FrameSource;
use super::{Link, Piece, READ_AHEAD};
use crate::compression::Compressor;
use crate::memory::Block;
use crate::packing::Packing;

/// Parts given to one system call.
const PARTS_MAX: usize = 64;

impl Link {
    pub(super) fn queue_bytes(&mut self, bytes: &[u8]) {
        self.piece_for(bytes.len()).extend_from_slice(bytes);
        self.out_bytes += bytes.len();
    }

    /// The last piece, if so many more bytes belong there, or a new one.
    fn piece_for(&mut self, bytes: usize) -> &mut Vec<u8> {
        let has_room = matches!(self.out.back(), Some(Piece::Bytes(tail, _)) if tail.len() + bytes <= READ_AHEAD);
        if !has_room {
            let mut piece = std::mem::take(&mut self.used);
            piece.reserve(bytes.max(256));
            self.out.push_back(Piece::Bytes(piece, Vec::new()));
        }
        match self.out.back_mut() {
            Some(Piece::Bytes(tail, _)) => tail,
            _ => unreachable!("it is there, or was made above"),
        }
    }

    /// Queues a control frame; the header's length is set to the body's.
    pub fn queue_control(
        &mut self,
        header: FrameHeader,
        body: &[u8],
        descriptors: Vec<Arc<OwnedFd>>,
    ) {
        let length = u32::try_from(body.len()).expect("control bodies are bounded far below 4 GiB");
        let header = FrameHeader { length, ..header };
        if !descriptors.is_empty() {
            // Descriptors ride with the first byte of a system call, so their frame begins a piece
            // of its own.
            self.out.push_back(Piece::Bytes(Vec::with_capacity(256), descriptors));
        }
        let padding = padding(length);
        let bytes = HEADER_BYTES + body.len() + padding;
        let piece = self.piece_for(bytes);
        piece.extend_from_slice(&header.encode());
        piece.extend_from_slice(body);
        piece.extend_from_slice(&[0; 8][..padding]);
        self.out_bytes += bytes;
    }

    /// Queues a data frame that carries the blocks one behind the other.
    pub fn queue_data(&mut self, header: FrameHeader, blocks: impl IntoIterator<Item = Block>) {
        let at = self.out.len();
        let mut total = 0;
        for block in blocks {
            total += block.length();
            self.out.push_back(Piece::Block(block));
        }
        let length = u32::try_from(total).expect("data frames are cut to the peer's limit");
        let head = FrameHeader { length, ..header }.encode();
        match at.checked_sub(1).and_then(|last| self.out.get_mut(last)) {
            Some(Piece::Bytes(tail, _)) if tail.len() + head.len() <= READ_AHEAD => {
                tail.extend_from_slice(&head)
            }
            _ => self.out.insert(at, Piece::Bytes(head.to_vec(), Vec::new())),
        }
        self.out_bytes += head.len() + total;
        if padding(length) > 0 {
            self.queue_bytes(&[0; 8][..padding(length)]);
        }
    }

    /// Queues a data frame with the next bytes of an array, compressed where that pays.
    ///
    /// # Errors
    /// `Internal` past the array's end, `System` when there is no memory.
    pub fn queue_array(&mut self, header: FrameHeader, array: &mut Packing) -> Result<()> {
        let blocks = array.blocks(header.length as usize)?;
        let compressor = self.compressor.as_mut().filter(|_| array.bytes() >= self.compress_from);
        match compressor.and_then(|compressor| compressor.body(&header, &blocks, array)) {
            Some(body) => self.queue_compressed(header, body),
            None => self.queue_data(header, blocks),
        }
        Ok(())
    }

    fn queue_compressed(&mut self, header: FrameHeader, body: Vec<u8>) {
        let length =
            u32::try_from(body.len()).expect("shorter than the data frame that it stands for");
        self.queue_bytes(
            &FrameHeader { length, flags: header.flags.with(Flags::COMPRESSED), ..header }.encode(),
        );
        self.out_bytes += body.len();
        self.out.push_back(Piece::Bytes(body, Vec::new()));
        self.queue_bytes(&[0; 8][..padding(length)]);
    }

    /// Copies array bytes that are queued, so that the memory they lie in may be used for something
    /// else: for a call that ends before its arguments have left.
    ///
    /// # Errors
    /// `System` when there is no memory for the copy.
    pub fn copy_queued(&mut self) -> Result<()> {
        for piece in &mut self.out {
            if let Piece::Block(block) = piece {
                *block = block.copied()?;
            }
        }
        Ok(())
    }

    /// Throws away what is queued: the stream is broken, and nothing leaves any more.
    pub fn drop_queued(&mut self) {
        self.out.clear();
        (self.out_bytes, self.sent_of_first) = (0, 0);
    }

    /// Queues the frames that `source` has and sends them, until it has none or the stream takes no
    /// more; about `queue_bytes` wait at a time. True when everything left; otherwise call again
    /// when the stream takes more.
    ///
    /// # Errors
    /// Those of `source`, and `ConnectionLost` when the stream is broken.
    pub fn pump(&mut self, queue_bytes: usize, source: &mut impl FrameSource) -> Result<bool> {
        loop {
            // Only `source` knows the end: a full queue may leave in one go while the other end
            // reads, and then there is more to make although nothing waits.
            let mut more = true;
            // What was compressed lies in memory of its own: one frame of it at a time.
            let active = self.compressor.as_ref().is_some_and(|compressor| compressor.is_active());
            let queue_bytes = if active { 1 } else { queue_bytes };
            while more && self.out_bytes < queue_bytes {
                more = self.queue_next(source)?;
            }
            if !self.flush()? {
                return Ok(false);
            }
            if !more {
                return Ok(true);
            }
        }
    }

    /// Sends what is queued; true when all of it is gone.
    ///
    /// # Errors
    /// `ConnectionLost` when the stream is broken.
    pub fn flush(&mut self) -> Result<bool> {
        while !self.out.is_empty() {
            match self.send_some() {
                Ok(sent) => {
                    self.drop_sent(sent);
                    self.tell_compressor(|compressor| compressor.took(sent));
                }
                Err(error) if error.kind() == IoErrorKind::WouldBlock => {
                    self.tell_compressor(Compressor::is_full);
                    return Ok(false);
                }
                Err(error) if error.kind() == IoErrorKind::Interrupted => {}
                Err(error) => return Err(self.lost("send", error)),
            }
        }
        self.tell_compressor(Compressor::is_drained);
        Ok(true)
    }

    fn tell_compressor(&mut self, tell: impl FnOnce(&mut Compressor)) {
        if let Some(compressor) = &mut self.compressor {
            tell(compressor);
        }
    }

    fn send_some(&mut self) -> std::io::Result<usize> {
        let mut parts: SmallVec<[IoSlice<'_>; 4]> = SmallVec::new();
        let mut skip = self.sent_of_first;
        let mut descriptors = Vec::new();
        for piece in &self.out {
            let bytes = match piece {
                Piece::Block(block) => block.bytes(),
                Piece::Bytes(bytes, riding) => {
                    if !riding.is_empty() && !parts.is_empty() {
                        break;
                    }
                    // Later pieces carry none; a piece whose first byte is gone has delivered its
                    // own.
                    if parts.is_empty() && skip == 0 {
                        descriptors = riding.iter().map(|descriptor| descriptor.as_fd()).collect();
                    }
                    bytes
                }
            };
            if parts.len() == PARTS_MAX {
                break;
            }
            parts.push(IoSlice::new(&bytes[skip..]));
            skip = 0;
        }
        self.stream.send(&parts, &descriptors)
    }

    fn drop_sent(&mut self, sent: usize) {
        self.out_bytes -= sent;
        let mut left = self.sent_of_first + sent;
        while let Some(piece) = self.out.front() {
            let length = match piece {
                Piece::Bytes(bytes, _) => bytes.len(),
                Piece::Block(block) => block.length(),
            };
            if left < length {
                break;
            }
            left -= length;
            if let Some(Piece::Bytes(piece, _)) = self.out.pop_front() {
                self.reuse(piece);
            }
        }
        self.sent_of_first = left;
    }

    /// Keeps the memory of a piece that has left for the next one.
    fn reuse(&mut self, mut piece: Vec<u8>) {
        if self.used.capacity() == 0 && piece.capacity() <= READ_AHEAD {
            piece.clear();
            self.used = piece;
        }
    }
}
