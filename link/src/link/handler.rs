//! What a link tells of the frames that it receives.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use farcall_base::Result;
use farcall_wire::frame::FrameHeader;

use crate::compression::Saved;
use crate::memory::Space;

/// Takes frames as they arrive.
pub trait FrameHandler {
    /// A control frame, or a data frame without bytes.
    ///
    /// # Errors
    /// An error ends the connection.
    fn control(
        &mut self,
        header: &FrameHeader,
        body: &[u8],
        descriptors: &mut VecDeque<OwnedFd>,
    ) -> Result<()>;

    /// Whether no further frame is to be taken now: they stay where they are, and receiving pauses
    /// as when its budget is used up.
    fn is_full(&self) -> bool {
        false
    }

    /// Where the data frame's bytes from `done` on go; at most the rest of the frame. `None` throws
    /// them away.
    ///
    /// # Errors
    /// An error ends the connection.
    fn data_space(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Space>>;

    /// The data frame came compressed, which saved this.
    fn data_expanded(&mut self, _: &FrameHeader, _: Saved) {}

    /// `count` bytes of the data frame have arrived, `done` in all.
    ///
    /// # Errors
    /// An error ends the connection.
    fn data_arrived(&mut self, header: &FrameHeader, count: u32, done: u32) -> Result<()>;
}
