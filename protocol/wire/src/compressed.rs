//! The head of a compressed data frame's body (spec/wire.md, section 5.8).
//!
//! ```text
//!  0             4        5       6        8
//! +-------------+--------+-------+--------+----------------------
//! | array bytes | method | width | 0    0 | compressed bytes …
//! +-------------+--------+-------+--------+----------------------
//! ```

use farcall_base::{Bytes, Error, ErrorKind, Result};

use crate::frame::{Flags, FrameHeader};

/// The feature that allows compressed data frames.
pub const COMPRESSION: &str = "compression";
/// An LZ4 block: no frame around it, no dictionary before it.
pub const METHOD_LZ4: u8 = 1;

/// What stands before the compressed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressedHead {
    /// Array bytes that the frame stands for.
    pub bytes: u32,
    /// Bytes of one element as they were shuffled; 1: they were not.
    pub width: u8,
}

impl CompressedHead {
    /// Bytes of the head.
    pub const BYTES: usize = 8;

    /// The 8 bytes.
    pub fn encode(self) -> [u8; Self::BYTES] {
        let bytes = self.bytes.to_le_bytes();
        [bytes[0], bytes[1], bytes[2], bytes[3], METHOD_LZ4, self.width, 0, 0]
    }

    /// Judges the head of a frame: what is beyond a limit, unknown or longer than what it stands
    /// for is refused before memory is set aside for it.
    ///
    /// # Errors
    /// `Protocol` that names the argument's slot.
    pub fn decode(
        head: &[u8; Self::BYTES],
        header: &FrameHeader,
        data_bytes_max: u32,
    ) -> Result<CompressedHead> {
        let bytes = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let width = head[5];
        if bytes > data_bytes_max {
            return Err(broken(
                header,
                "a compressed data frame has more bytes than a frame may have",
            )
            .with("bytes", Bytes(bytes.into()))
            .with("limit", Bytes(data_bytes_max.into())));
        }
        if header.length >= bytes {
            return Err(broken(header, "a compressed data frame is not shorter than its data")
                .with("bytes", bytes)
                .with("length", header.length));
        }
        if head[4] != METHOD_LZ4 {
            return Err(broken(header, "a data frame uses an unknown compression method")
                .with("method", head[4]));
        }
        if width == 0 || head[6..] != [0, 0] {
            return Err(broken(header, "the header of a compressed data frame is invalid")
                .with("width", width));
        }
        Ok(CompressedHead { bytes, width })
    }

    /// The frame as it would have come uncompressed.
    pub fn uncompressed(self, header: &FrameHeader) -> FrameHeader {
        FrameHeader {
            length: self.bytes,
            flags: header.flags.without(Flags::COMPRESSED),
            ..*header
        }
    }
}

/// Refuses a compressed frame that has no room for its head, or that was not agreed on.
///
/// # Errors
/// `Protocol` that names the argument's slot.
pub fn check_compressed(header: &FrameHeader, agreed: bool) -> Result<()> {
    if !agreed {
        return Err(broken(
            header,
            "the peer sent a compressed data frame without the feature `compression`",
        ));
    }
    if header.length as usize <= CompressedHead::BYTES {
        return Err(broken(header, "a compressed data frame ends inside its header")
            .with("length", header.length));
    }
    Ok(())
}

/// An error that means: this compressed frame breaks the rules.
pub fn broken(header: &FrameHeader, message: &'static str) -> Error {
    Error::new(ErrorKind::Protocol, "read compressed data", message)
        .with("channel", header.channel)
        .with("slot", header.slot)
        .fix("the peer is faulty, hostile or not Farcall; the connection is closed")
}
