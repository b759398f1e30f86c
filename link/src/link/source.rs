//! Where a link's frames come from.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use farcall_base::{Error, Result};
use farcall_call::{Place, Transmit};
use farcall_wire::frame::FrameHeader;

use super::Link;

/// One end of a connection, as far as it has frames to send. Its control frames and the order of
/// all are decided already; where the bytes of data lie, it alone knows.
pub trait FrameSource {
    /// The next frame, with at most so many bytes of data.
    fn next(&mut self, data_bytes_max: u32) -> Option<Transmit>;

    /// What rides with a control frame; `shares` is the memory that it announces.
    ///
    /// # Errors
    /// When that is gone: the connection ends.
    fn descriptors(&mut self, _: &FrameHeader, shares: Option<u32>) -> Result<Vec<Arc<OwnedFd>>> {
        match shares {
            None => Ok(Vec::new()),
            Some(_) => Err(Error::internal("share memory", "this end of a connection shares none")),
        }
    }

    /// Queues a data frame with the bytes at `place`.
    ///
    /// # Errors
    /// When they are not there: the connection ends.
    fn queue_data(&mut self, link: &mut Link, header: FrameHeader, place: &Place) -> Result<()>;

    /// A frame of so many bytes is queued; `place` is where its data lay.
    fn queued(&mut self, _bytes: u64, _place: Option<&Place>) {}

    /// The body of a control frame was copied to where it leaves from.
    fn reuse(&mut self, _body: Vec<u8>) {}
}

/// A source of control frames alone: of a connection that is greeting, or that carries no arrays.
pub struct Control<F>(pub F);

impl<F: FnMut() -> Option<Transmit>> FrameSource for Control<F> {
    fn next(&mut self, _: u32) -> Option<Transmit> {
        (self.0)()
    }

    fn queue_data(&mut self, _: &mut Link, _: FrameHeader, _: &Place) -> Result<()> {
        Err(Error::internal("send an array", "this connection carries none"))
    }
}

impl Link {
    /// Queues the next frame of `source`; false when there is none.
    pub(super) fn queue_next(&mut self, source: &mut impl FrameSource) -> Result<bool> {
        let Some(transmit) = source.next(self.frame_bytes_max()) else { return Ok(false) };
        let before = self.bytes_queued();
        match transmit {
            Transmit::Control { header, body, shares } => {
                let descriptors = source.descriptors(&header, shares)?;
                self.queue_control(header, &body, descriptors);
                source.reuse(body);
                source.queued((self.bytes_queued() - before) as u64, None);
            }
            Transmit::Data { header, place } => {
                source.queue_data(self, header, &place)?;
                source.queued((self.bytes_queued() - before) as u64, Some(&place));
            }
        }
        Ok(true)
    }
}
