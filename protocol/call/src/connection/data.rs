//! Data frames of a connection: which is made next, and where the bytes of one that comes go.

use farcall_base::{ChannelId, Result};
use farcall_wire::{Flags, FrameHeader, FrameKind};

use super::Connection;
use crate::event::{Place, Side, Transmit};

impl Connection {
    pub(super) fn next_data(
        &mut self,
        channel: ChannelId,
        side: Side,
        bytes_max: u32,
    ) -> Option<Transmit> {
        let outbound = match side {
            Side::Arguments => self.outgoing.outbound(channel),
            Side::Results => self.incoming.outbound(channel),
        }?;
        outbound.leaves_line();
        let chunk = outbound.next_chunk(bytes_max)?;
        let sequence = outbound.number();
        let more = outbound.comes_into_line();
        let header = FrameHeader {
            flags: if chunk.last { Flags::END } else { Flags::default() },
            slot: chunk.slot,
            sequence,
            ..FrameHeader::new(FrameKind::Data, channel, chunk.length)
        };
        if more {
            self.senders.push_back((channel, side));
        }
        if side == Side::Results {
            self.incoming.settle(channel);
        }
        Some(Transmit::Data {
            header,
            place: Place { channel, side, slot: chunk.slot, offset: chunk.offset },
        })
    }

    /// Where the current data frame's byte `done` goes; `None` to throw it away.
    ///
    /// # Errors
    /// As [`Connection::handle_control`].
    pub fn place(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Place>> {
        // A frame of no bytes has nowhere to go; it begins in `handle_control`.
        if header.length == 0 {
            return Ok(None);
        }
        let side = if self.is_ours(header.channel) { Side::Results } else { Side::Arguments };
        // An owner may ask again before the first byte comes: the frame begins once.
        let begun = self.receiving.as_ref() == Some(header);
        if done == 0 && !begun {
            self.check_turn(FrameKind::Data)?;
            let wanted = self.begin_data(header, side)?;
            self.receiving = Some(*header);
            if !wanted {
                return Ok(None);
            }
        }
        let inbound = match side {
            Side::Results => self.outgoing.inbound(header.channel),
            Side::Arguments => self.incoming.inbound(header.channel),
        };
        Ok(inbound.map(|inbound| Place {
            channel: header.channel,
            side,
            slot: header.slot,
            offset: inbound.offset(done),
        }))
    }

    fn begin_data(&mut self, header: &FrameHeader, side: Side) -> Result<bool> {
        match side {
            Side::Results => self.outgoing.begin_data(header),
            Side::Arguments => self.incoming.begin_data(header),
        }
    }

    /// `done` bytes of the data frame are in place (or thrown away).
    ///
    /// # Errors
    /// As [`Connection::handle_control`].
    pub fn data_arrived(&mut self, header: &FrameHeader, done: u32) -> Result<()> {
        if done >= header.length {
            self.receiving = None;
        }
        if self.is_ours(header.channel) {
            self.outgoing.data_arrived(header, done, &mut self.events)
        } else {
            self.incoming.data_arrived(header, done, &mut self.events)
        }
    }
}
