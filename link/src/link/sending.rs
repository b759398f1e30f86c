//! What leaves: frames become pieces, and pieces leave as the stream takes them.

use std::io::ErrorKind as IoErrorKind;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use farcall_base::Result;
use farcall_wire::frame::{Flags, FrameHeader, padding};

use super::Link;
use super::source::FrameSource;
use crate::compression::Compressor;
use crate::memory::Block;
use crate::packing::Packing;

impl Link {
    /// Queues a control frame; the header's length is set to the body's.
    pub fn queue_control(
        &mut self,
        header: FrameHeader,
        body: &[u8],
        descriptors: Vec<Arc<OwnedFd>>,
    ) {
        self.queue.add_control(header, body, descriptors);
    }

    /// Queues a data frame that carries the blocks one behind the other.
    pub fn queue_data(&mut self, header: FrameHeader, blocks: impl IntoIterator<Item = Block>) {
        self.queue.add_data(header, blocks);
    }

    /// Queues a data frame with the next bytes of an array, compressed where that pays.
    ///
    /// # Errors
    /// `Internal` past the array's end, `System` when there is no memory.
    pub fn queue_array(&mut self, header: FrameHeader, array: &mut Packing) -> Result<()> {
        let blocks = array.blocks(header.length as usize)?;
        let compressor = self.compressor.as_mut().filter(|_| array.bytes() >= self.compress_from);
        match compressor.and_then(|compressor| compressor.body(&header, &blocks, array)) {
            Some(body) => self.queue_compressed(header, body),
            None => self.queue_data(header, blocks),
        }
        Ok(())
    }

    fn queue_compressed(&mut self, header: FrameHeader, body: Vec<u8>) {
        let length =
            u32::try_from(body.len()).expect("shorter than the data frame that it stands for");
        let flags = header.flags.with(Flags::COMPRESSED);
        self.queue.add_bytes(&FrameHeader { length, flags, ..header }.encode());
        self.queue.add_body(body);
        self.queue.add_bytes(&[0; 8][..padding(length)]);
    }

    /// Copies array bytes that are queued, so that the memory they lie in may be used for something
    /// else: for a call that ends before its arguments have left.
    ///
    /// # Errors
    /// `System` when there is no memory for the copy.
    pub fn copy_queued(&mut self) -> Result<()> {
        self.queue.copy()
    }

    /// Throws away what is queued: the stream is broken, and nothing leaves any more.
    pub fn drop_queued(&mut self) {
        self.queue.clear();
    }

    /// Queues the frames that `source` has and sends them, until it has none or the stream takes no
    /// more; about `queue_bytes` wait at a time. True when everything left; otherwise call again
    /// when the stream takes more.
    ///
    /// # Errors
    /// Those of `source`, and `ConnectionLost` when the stream is broken.
    pub fn pump(&mut self, queue_bytes: usize, source: &mut impl FrameSource) -> Result<bool> {
        loop {
            // Only `source` knows the end: a full queue may leave in one go while the other end
            // reads, and then there is more to make although nothing waits.
            let mut more = true;
            // What was compressed lies in memory of its own: one frame of it at a time.
            let active = self.compressor.as_ref().is_some_and(|compressor| compressor.is_active());
            let queue_bytes = if active { 1 } else { queue_bytes };
            while more && self.queue.bytes() < queue_bytes {
                more = self.queue_next(source)?;
            }
            if !self.flush()? {
                return Ok(false);
            }
            if !more {
                return Ok(true);
            }
        }
    }

    /// Sends what is queued; true when all of it is gone.
    ///
    /// # Errors
    /// `ConnectionLost` when the stream is broken.
    pub fn flush(&mut self) -> Result<bool> {
        while !self.queue.is_empty() {
            match self.queue.send(&mut *self.stream) {
                Ok(sent) => {
                    self.queue.sent(sent);
                    self.tell_compressor(|compressor| compressor.took(sent));
                }
                Err(error) if error.kind() == IoErrorKind::WouldBlock => {
                    self.tell_compressor(Compressor::is_full);
                    return Ok(false);
                }
                Err(error) if error.kind() == IoErrorKind::Interrupted => {}
                Err(error) => return Err(self.lost("send", error)),
            }
        }
        self.tell_compressor(Compressor::is_drained);
        Ok(true)
    }

    fn tell_compressor(&mut self, tell: impl FnOnce(&mut Compressor)) {
        if let Some(compressor) = &mut self.compressor {
            tell(compressor);
        }
    }
}
