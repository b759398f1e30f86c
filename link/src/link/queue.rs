//! What waits to leave: pieces, each sent by its own part of a system call.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use farcall_base::Result;
use farcall_wire::frame::{FrameHeader, HEADER_BYTES, padding};
use smallvec::SmallVec;

use super::READ_AHEAD;
use crate::memory::Block;
use crate::stream::ByteStream;

/// Parts given to one system call.
const PARTS_MAX: usize = 64;

enum Piece {
    Bytes(Vec<u8>, Vec<Arc<OwnedFd>>),
    Block(Block),
}

/// The pieces that wait.
#[derive(Default)]
pub(super) struct Queue {
    pieces: VecDeque<Piece>,
    /// The memory of one that has left.
    used: Vec<u8>,
    bytes: usize,
    sent_of_first: usize,
}

impl Queue {
    /// Bytes that wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub(super) fn add_bytes(&mut self, bytes: &[u8]) {
        self.piece_for(bytes.len()).extend_from_slice(bytes);
        self.bytes += bytes.len();
    }

    /// The last piece, if so many more bytes belong there, or a new one.
    fn piece_for(&mut self, bytes: usize) -> &mut Vec<u8> {
        let has_room = match self.pieces.back() {
            Some(Piece::Bytes(tail, _)) => tail.len() + bytes <= READ_AHEAD,
            _ => false,
        };
        if !has_room {
            let mut piece = std::mem::take(&mut self.used);
            piece.reserve(bytes.max(256));
            self.pieces.push_back(Piece::Bytes(piece, Vec::new()));
        }
        match self.pieces.back_mut() {
            Some(Piece::Bytes(tail, _)) => tail,
            _ => unreachable!("it is there, or was made above"),
        }
    }

    /// A control frame; the header's length is set to the body's.
    pub(super) fn add_control(
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
            self.pieces.push_back(Piece::Bytes(Vec::with_capacity(256), descriptors));
        }
        let padding = padding(length);
        let bytes = HEADER_BYTES + body.len() + padding;
        let piece = self.piece_for(bytes);
        piece.extend_from_slice(&header.encode());
        piece.extend_from_slice(body);
        piece.extend_from_slice(&[0; 8][..padding]);
        self.bytes += bytes;
    }

    /// A data frame that carries the blocks one behind the other.
    pub(super) fn add_data(
        &mut self,
        header: FrameHeader,
        blocks: impl IntoIterator<Item = Block>,
    ) {
        let at = self.pieces.len();
        let mut total = 0;
        for block in blocks {
            total += block.length();
            self.pieces.push_back(Piece::Block(block));
        }
        let length = u32::try_from(total).expect("data frames are cut to the peer's limit");
        let head = FrameHeader { length, ..header }.encode();
        match at.checked_sub(1).and_then(|last| self.pieces.get_mut(last)) {
            Some(Piece::Bytes(tail, _)) if tail.len() + head.len() <= READ_AHEAD => {
                tail.extend_from_slice(&head)
            }
            _ => self.pieces.insert(at, Piece::Bytes(head.to_vec(), Vec::new())),
        }
        self.bytes += head.len() + total;
        if padding(length) > 0 {
            self.add_bytes(&[0; 8][..padding(length)]);
        }
    }

    /// A body that is a piece of its own.
    pub(super) fn add_body(&mut self, body: Vec<u8>) {
        self.bytes += body.len();
        self.pieces.push_back(Piece::Bytes(body, Vec::new()));
    }

    /// See [`super::Link::copy_queued`].
    pub(super) fn copy(&mut self) -> Result<()> {
        for piece in &mut self.pieces {
            if let Piece::Block(block) = piece {
                *block = block.copied()?;
            }
        }
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        (self.bytes, self.sent_of_first) = (0, 0);
    }

    /// Offers the stream what comes first; [`Queue::sent`] takes off what it took.
    pub(super) fn send(&self, stream: &mut dyn ByteStream) -> io::Result<usize> {
        let mut parts: SmallVec<[IoSlice<'_>; 4]> = SmallVec::new();
        let mut skip = self.sent_of_first;
        let mut descriptors = Vec::new();
        for piece in &self.pieces {
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
        stream.send(&parts, &descriptors)
    }

    /// So many bytes have left.
    pub(super) fn sent(&mut self, sent: usize) {
        self.bytes -= sent;
        let mut left = self.sent_of_first + sent;
        while let Some(piece) = self.pieces.front() {
            let length = match piece {
                Piece::Bytes(bytes, _) => bytes.len(),
                Piece::Block(block) => block.length(),
            };
            if left < length {
                break;
            }
            left -= length;
            if let Some(Piece::Bytes(piece, _)) = self.pieces.pop_front() {
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
