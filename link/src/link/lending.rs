//! The receive buffer while another thread receives into it without the link.

use std::os::fd::OwnedFd;

use super::Link;

/// Where the buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lent {
    /// Here.
    No,
    /// With the thread that waits for bytes.
    Out,
    /// Here again, with all that the stream had.
    Drained,
}

impl Lent {
    /// The state, which is told once where the buffer is here.
    pub(super) fn take_back(&mut self) -> Lent {
        let before = *self;
        if before == Lent::Drained {
            *self = Lent::No;
        }
        before
    }
}

impl Link {
    /// Gives the empty receive buffer away, for a [`crate::stream::BlockingReceive`]: until
    /// [`Link::return_buffer`] nothing is received. `None` inside a frame.
    pub fn lend_buffer(&mut self) -> Option<Vec<u8>> {
        let is_between = self.current.is_none() && self.begin == self.filled;
        if !is_between || !self.reader.between_frames() || self.lent == Lent::Out {
            return None;
        }
        (self.begin, self.filled) = (0, 0);
        self.lent = Lent::Out;
        Some(std::mem::take(&mut self.buffer))
    }

    /// Takes the buffer back with the bytes and descriptors that came; [`Link::receive`] handles
    /// them.
    pub fn return_buffer(&mut self, buffer: Vec<u8>, filled: usize, descriptors: Vec<OwnedFd>) {
        let is_drained = filled > 0 && filled < buffer.len();
        self.lent = if is_drained { Lent::Drained } else { Lent::No };
        self.received += filled as u64;
        (self.buffer, self.filled) = (buffer, filled);
        self.descriptors.extend(descriptors);
    }
}
