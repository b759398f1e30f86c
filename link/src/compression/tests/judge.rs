//! What must hold of any body of a compressed frame: asked by the loop with a fixed seed, and by the
//! fuzz target of `tests/fuzz`, which includes this file.

use farcall_base::{ChannelId, Error};
use farcall_wire::{CompressedHead, FrameHeader, FrameKind};

use super::expanded;

/// What a peer may send at most, in array bytes.
const BYTES_MAX: u32 = 4 << 20;

pub fn header(length: usize) -> FrameHeader {
    FrameHeader { slot: 3, ..FrameHeader::new(FrameKind::Data, ChannelId(1), length as u32) }
}

/// The array bytes of a body of 8 bytes or more.
pub fn back(body: &[u8]) -> Result<Vec<u8>, Error> {
    let header = header(body.len());
    let head = CompressedHead::decode(body.first_chunk().unwrap(), &header, BYTES_MAX)?;
    expanded(head, &body[CompressedHead::BYTES..], &header)
}

/// How many bytes the body gives, if any: no more than a peer may send.
pub fn length(body: &[u8]) -> Option<usize> {
    if body.len() < CompressedHead::BYTES {
        return None;
    }
    let length = back(body).ok()?.len();
    assert!(length <= BYTES_MAX as usize);
    Some(length)
}
