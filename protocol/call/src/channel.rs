//! The two directions of one channel: numbering, credit, and how far each slot has come.

use std::collections::VecDeque;

use farcall_base::{Error, ErrorKind, Result};
use farcall_wire::message::ARGUMENTS_MAX;
use farcall_wire::{Argument, Flags, FrameHeader};

/// A slot's share of the data still to be sent.
#[derive(Clone, Copy, Debug)]
struct Pending {
    slot: u16,
    offset: u64,
    left: u64,
}

/// Refuses a message with more arguments than slots can number.
///
/// # Errors
/// `LimitExceeded`.
pub fn check_count(arguments: &[Argument]) -> Result<()> {
    if arguments.len() <= ARGUMENTS_MAX {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::LimitExceeded,
        "follow a call",
        "a call has more arguments than the wire allows",
    )
    .with("arguments", arguments.len())
    .with("limit", ARGUMENTS_MAX))
}

/// Bytes of arrays that the arguments claim; saturates, because a hostile sum must not come out
/// small.
pub fn declared_bytes(arguments: &[Argument]) -> u64 {
    let claim = |argument: &Argument| match argument {
        Argument::Inline(bytes) => bytes.len() as u64,
        Argument::Blocks(length) => length.unwrap_or(0),
        Argument::Shared(_, _, length) => *length,
        _ => 0,
    };
    arguments.iter().map(claim).fold(0, u64::saturating_add)
}

/// What one end sends on a channel.
#[derive(Debug, Default)]
pub struct Outbound {
    sequence: u32,
    credit: u64,
    sent: u64,
    pending: VecDeque<Pending>,
    /// Whether it stands in line to send.
    in_line: bool,
}

/// One data frame's worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub slot: u16,
    pub offset: u64,
    pub length: u32,
    pub last: bool,
}

impl Outbound {
    /// Queues the slots whose arguments are blocks of known length.
    pub fn queue(&mut self, arguments: &[Argument]) {
        for (slot, argument) in arguments.iter().enumerate() {
            if let Argument::Blocks(Some(left @ 1..)) = *argument {
                let slot = u16::try_from(slot).expect("check_count let fewer than 65,536 pass");
                self.pending.push_back(Pending { slot, offset: 0, left });
            }
        }
    }

    /// The number of the next frame.
    pub fn number(&mut self) -> u32 {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        sequence
    }

    /// Raises the credit; lower values are old news.
    pub fn allow(&mut self, credit: u64) {
        self.credit = self.credit.max(credit);
    }

    pub fn is_done(&self) -> bool {
        self.pending.is_empty()
    }

    /// Forgets what was not sent; true if there was any.
    pub fn abandon(&mut self) -> bool {
        let any = !self.pending.is_empty();
        self.pending.clear();
        any
    }

    /// Whether it is to come into the line of those that send: it can, and does not stand there
    /// yet. From now on it does.
    pub fn comes_into_line(&mut self) -> bool {
        let comes = !self.in_line && !self.pending.is_empty() && self.sent < self.credit;
        self.in_line |= comes;
        comes
    }

    /// It has had its turn.
    pub fn leaves_line(&mut self) {
        self.in_line = false;
    }

    /// The next frame's worth within credit and `bytes_max`.
    pub fn next_chunk(&mut self, bytes_max: u32) -> Option<Chunk> {
        let room = (self.credit - self.sent.min(self.credit)).min(u64::from(bytes_max));
        let front = self.pending.front_mut().filter(|_| room > 0)?;
        let length = u32::try_from(front.left.min(room)).expect("bounded by bytes_max");
        let chunk = Chunk {
            slot: front.slot,
            offset: front.offset,
            length,
            last: u64::from(length) == front.left,
        };
        front.offset += u64::from(length);
        front.left -= u64::from(length);
        self.sent += u64::from(length);
        if chunk.last {
            self.pending.pop_front();
        }
        Some(chunk)
    }
}

/// A slot that is still coming.
#[derive(Clone, Copy, Debug)]
struct Coming {
    slot: u16,
    /// Declared length; `None` until END says so.
    length: Option<u64>,
    received: u64,
}

/// What one end receives on a channel.
#[derive(Debug, Default)]
pub struct Inbound {
    next_sequence: u32,
    granted: u64,
    received: u64,
    coming: Vec<Coming>,
    /// Received before the current frame's bytes, so that the frame's offset is known throughout.
    frame_base: u64,
}

impl Inbound {
    /// Expects the slots whose arguments are blocks.
    pub fn expect(&mut self, arguments: &[Argument]) {
        for (slot, argument) in arguments.iter().enumerate() {
            match *argument {
                Argument::Blocks(Some(0)) => {}
                Argument::Blocks(length) => {
                    let slot = u16::try_from(slot).expect("check_count let fewer than 65,536 pass");
                    self.coming.push(Coming { slot, length, received: 0 });
                }
                _ => {}
            }
        }
    }

    /// Checks the number of a frame that arrived.
    pub fn check_number(&mut self, header: &FrameHeader) -> Result<()> {
        if header.sequence != self.next_sequence {
            return Err(broken("a frame was lost, repeated or forged")
                .with("channel", header.channel)
                .with("expected number", self.next_sequence)
                .with("got", header.sequence));
        }
        self.next_sequence = self.next_sequence.wrapping_add(1);
        Ok(())
    }

    pub fn next_sequence(&self) -> u32 {
        self.next_sequence
    }

    /// Raises what the sender may send in all; returns the new total if it grew.
    pub fn grant(&mut self, total: u64) -> Option<u64> {
        let grew = total > self.granted;
        self.granted = self.granted.max(total);
        grew.then_some(total)
    }

    pub fn is_complete(&self) -> bool {
        self.coming.is_empty()
    }

    pub fn abandon(&mut self) {
        self.coming.clear();
    }

    /// The header of a data frame arrived: is it announced, within its slot and within credit?
    pub fn begin_frame(&mut self, header: &FrameHeader) -> Result<()> {
        self.check_number(header)?;
        let total = self.received.saturating_add(header.length.into());
        if total > self.granted {
            return Err(broken("the peer sent more data than it had credit for")
                .with("credit", self.granted)
                .with("channel", header.channel));
        }
        let coming = self.find(header)?;
        let length = u64::from(header.length);
        let end = header.flags.contains(Flags::END);
        let fits = match coming.length {
            // Subtracting cannot overflow: `received` never passes `declared`.
            Some(declared) => {
                length <= declared - coming.received
                    && end == (length == declared - coming.received)
            }
            None => true,
        };
        if !fits {
            return Err(broken(
                "the peer sent more or less data than an argument's declared length",
            )
            .with("slot", header.slot)
            .with("channel", header.channel));
        }
        self.frame_base = coming.received;
        self.received = total;
        Ok(())
    }

    fn find(&mut self, header: &FrameHeader) -> Result<&mut Coming> {
        self.coming.iter_mut().find(|coming| coming.slot == header.slot).ok_or_else(|| {
            broken("the peer sent data for an unannounced or complete argument")
                .with("slot", header.slot)
                .with("channel", header.channel)
        })
    }

    /// Offset in the argument of the current frame's byte `done`.
    pub fn offset(&self, done: u32) -> u64 {
        self.frame_base + u64::from(done)
    }

    /// `done` bytes of the frame are there; true when that completes all arguments.
    pub fn arrived(&mut self, header: &FrameHeader, done: u32) -> Result<bool> {
        if done < header.length {
            return Ok(false);
        }
        let coming = self.find(header)?;
        coming.received += u64::from(header.length);
        if header.flags.contains(Flags::END) {
            self.coming.retain(|coming| coming.slot != header.slot);
        }
        Ok(self.coming.is_empty())
    }
}

/// An error that means: the peer speaks of a call that is not open.
pub fn no_call(header: &FrameHeader) -> Error {
    broken("the peer sent a frame for a call that is not open")
        .with("channel", header.channel)
        .with("kind", header.kind)
}

/// An error that means: the peer breaks the rules.
pub fn broken(message: &'static str) -> Error {
    Error::new(ErrorKind::Protocol, "follow a call", message)
        .fix("the peer is faulty, hostile or not Farcall; the connection is closed")
}
