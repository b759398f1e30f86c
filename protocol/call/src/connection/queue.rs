//! The control frames that wait to leave, and how many bytes those are.

use std::collections::VecDeque;

use farcall_base::{ChannelId, Error, ErrorKind, Result};
use farcall_wire::{FrameHeader, FrameKind, HEADER_BYTES};

use crate::event::Transmit;

/// Bytes of answers waiting to leave from which on the owner must stop reading: see
/// [`Connection::is_clogged`](super::Connection::is_clogged).
pub const CLOGGED_BYTES: usize = 4 << 20;
/// Bytes of answers waiting that end the connection, should the owner read on. Ours for a peer that
/// asks and does not read; a polite owner never gets here.
pub const ANSWERS_BYTES_MAX: usize = 64 << 20;

/// Frames that wait for which there is room all the time.
const WAITING_KEPT: usize = 256;

/// A control frame waiting to leave. It has its number already: data frames leave, and are
/// numbered, only when no control frame waits, so numbers follow the order on the stream.
pub(super) struct Waiting {
    pub(super) header: FrameHeader,
    pub(super) body: Vec<u8>,
    /// The segment whose descriptor leaves with it.
    pub(super) shares: Option<u32>,
}

impl Waiting {
    fn bytes(&self) -> usize {
        HEADER_BYTES + self.body.len()
    }

    fn is_pong(&self) -> bool {
        self.header.kind == FrameKind::Pong as u8
    }
}

/// The control frames that wait, in their order.
pub(super) struct ControlQueue {
    /// Whether we made the connection: then our channels are odd.
    initiator: bool,
    frames: VecDeque<Waiting>,
    /// Bytes of all that waits, and of what answers the peer: that part grows by the peer's doing.
    bytes: usize,
    answers_bytes: usize,
    has_pong: bool,
}

impl ControlQueue {
    pub(super) fn new(initiator: bool) -> ControlQueue {
        ControlQueue {
            initiator,
            frames: VecDeque::new(),
            bytes: 0,
            answers_bytes: 0,
            has_pong: false,
        }
    }

    /// Whether a channel was (or would be) opened by us.
    #[inline]
    pub(super) fn is_ours(&self, channel: ChannelId) -> bool {
        (channel.0 % 2 == 1) == self.initiator
    }

    /// Whether the peer asked for a frame.
    fn is_answer(&self, waiting: &Waiting) -> bool {
        let channel = waiting.header.channel;
        waiting.is_pong() || channel.0 != 0 && !self.is_ours(channel)
    }

    #[inline]
    pub(super) fn push(&mut self, waiting: Waiting) {
        self.bytes += waiting.bytes();
        if self.is_answer(&waiting) {
            self.answers_bytes += waiting.bytes();
            self.has_pong |= waiting.is_pong();
        }
        self.frames.push_back(waiting);
    }

    /// The next to leave. It is written straight to where the connection's owner reads it.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Transmit> {
        let Some(waiting) = self.frames.pop_front() else {
            if self.frames.capacity() > WAITING_KEPT {
                // What somebody who did not read made long is given back.
                self.frames = VecDeque::new();
            }
            return None;
        };
        self.bytes -= waiting.bytes();
        if self.is_answer(&waiting) {
            self.answers_bytes -= waiting.bytes();
            self.has_pong &= !waiting.is_pong();
        }
        let Waiting { header, body, shares } = waiting;
        Some(Transmit::Control { header, body, shares })
    }

    /// Bytes of all frames.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of those that the peer asked for.
    pub(super) fn answers_bytes(&self) -> usize {
        self.answers_bytes
    }

    /// Whether an answer to a ping waits.
    pub(super) fn has_pong(&self) -> bool {
        self.has_pong
    }

    /// That the peer has not asked for more than it reads, by far.
    pub(super) fn check_answers(&self) -> Result<()> {
        if self.answers_bytes <= ANSWERS_BYTES_MAX {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::LimitExceeded,
            "follow a call",
            "the peer sends requests but reads no answers",
        )
        .with("bytes waiting", self.answers_bytes)
        .with("limit", ANSWERS_BYTES_MAX))
    }
}
