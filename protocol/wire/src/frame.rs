//! Frame headers: 16 bytes, little-endian, then the body, padded to a multiple of 8 (spec/wire.md,
//! section 3).
//!
//! ```text
//!  0      1      2      3      4      5      6      7
//! +------+------+-------------+---------------------------+
//! | kind | flags|    slot     |          channel          |
//! +------+------+-------------+---------------------------+
//! |          sequence         |      length of the body   |
//! +---------------------------+---------------------------+
//! ```

use farcall_base::{ChannelId, Error, ErrorKind, Result};

/// The first bytes each end sends: a name that tells strangers apart, and the version of the wire.
pub const PREFACE: [u8; 8] = *b"FARCALL\x01";

/// Bytes of a frame header.
pub const HEADER_BYTES: usize = 16;

/// Number of zero bytes behind a body of `length` bytes.
pub fn padding(length: u32) -> usize {
    (length as usize).wrapping_neg() & 7
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FrameKind {
    /// Both ends' first frame: version, limits, who they are.
    Hello = 1,
    /// Ends the connection in order, or because of an error.
    Goodbye = 2,
    /// Are you there?
    Ping = 3,
    /// I am.
    Pong = 4,
    /// A question about the server: interface, list, publish.
    Request = 5,
    /// Its answer.
    Reply = 6,
    /// Opens a call.
    Open = 7,
    /// Raw bytes of argument `slot`.
    Data = 8,
    /// Credit and acknowledgement of a channel.
    Window = 9,
    /// The outcome of a call; the data of its results follow.
    Result = 10,
    /// The opener wants the call to end, or abandons what it has not sent.
    Cancel = 11,
    /// Progress, output lines, state changes of a running call.
    Notice = 12,
    /// A piece of shared memory; its descriptor rides with the frame.
    Share = 13,
    /// The segment will not be named again and may be unmapped.
    Unshare = 14,
    /// Takes a call up again on another connection.
    Resume = 15,
}

impl FrameKind {
    /// The kind with this number.
    pub fn from_code(code: u8) -> Option<FrameKind> {
        use FrameKind::*;
        let kinds = [
            Hello, Goodbye, Ping, Pong, Request, Reply, Open, Data, Window, Result, Cancel, Notice,
            Share, Unshare, Resume,
        ];
        kinds.get(usize::from(code).checked_sub(1)?).copied()
    }
}

/// The flag bits of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// Last frame of this slot's data, or of this direction of the channel.
    pub const END: Flags = Flags(1);
    /// A receiver that does not know this kind must end the connection instead of skipping the
    /// frame.
    pub const CRITICAL: Flags = Flags(2);
    /// The body of this data frame is compressed (section 5.8).
    pub const COMPRESSED: Flags = Flags(4);

    /// Whether all bits of `other` are set.
    pub fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and all bits of `other`.
    #[must_use]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// These, but for the bits of `other`.
    #[must_use]
    pub fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
}

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// The kind's number; may be one of a later version.
    pub kind: u8,
    /// Flag bits.
    pub flags: Flags,
    /// Argument's index in the interface; 0 where it means nothing.
    pub slot: u16,
    /// Which call or request; 0 is the connection.
    pub channel: ChannelId,
    /// Number of this frame on its channel and direction, from 0, wrapping.
    pub sequence: u32,
    /// Bytes of the body, without padding.
    pub length: u32,
}

impl FrameHeader {
    /// A header of a known kind on a channel.
    pub fn new(kind: FrameKind, channel: ChannelId, length: u32) -> Self {
        FrameHeader {
            kind: kind as u8,
            flags: Flags::default(),
            slot: 0,
            channel,
            sequence: 0,
            length,
        }
    }

    /// The 16 bytes.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = self.kind;
        bytes[1] = self.flags.0;
        bytes[2..4].copy_from_slice(&self.slot.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.channel.0.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    /// Reads 16 bytes. Any bytes are a header; the kind is judged by [`FrameHeader::known_kind`].
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Self {
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        FrameHeader {
            kind: bytes[0],
            flags: Flags(bytes[1]),
            slot: u16::from_le_bytes([bytes[2], bytes[3]]),
            channel: ChannelId(word(4)),
            sequence: word(8),
            length: word(12),
        }
    }

    /// The kind; `Ok(None)` for an unknown kind that may be skipped.
    ///
    /// # Errors
    /// `Version` for an unknown kind with the critical flag.
    pub fn known_kind(&self) -> Result<Option<FrameKind>> {
        match FrameKind::from_code(self.kind) {
            Some(kind) => Ok(Some(kind)),
            None if self.flags.contains(Flags::CRITICAL) => Err(Error::new(
                ErrorKind::Version,
                "read a frame",
                format!(
                    "the peer sent a frame of kind {}, which this version does not support \
                    but must",
                    self.kind
                ),
            )
            .fix("use the same version of Farcall at both ends")),
            None => Ok(None),
        }
    }

    /// Bytes of body and padding.
    pub fn padded_length(&self) -> usize {
        self.length as usize + padding(self.length)
    }
}
