//! What comes for a parameter that is a file, or an array of them: bytes are received into a buffer,
//! checked, and kept.

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::memory::{HeapRegion, Space};

use super::{Content, Contents, Received, Target};

/// Bytes received before they are written.
const BUFFER_BYTES: usize = 256 << 10;

/// A file that comes back, or several.
pub struct Coming {
    receiver: Receiver,
    travelling: u64,
    left: u64,
    buffer: Option<HeapRegion>,
}

/// What checks and keeps the bytes.
enum Receiver {
    One(Content),
    Several(Contents),
}

/// What has come.
pub enum Came {
    /// For a file.
    One(Received),
    /// For an array of them; `None` is NULL.
    Several(Vec<Option<Received>>),
}

impl Coming {
    /// One content in so many bytes.
    pub fn one(target: &Target, travelling: u64) -> Result<Coming> {
        Ok(Coming::new(Receiver::One(Content::new(target, travelling)?), travelling))
    }

    /// One for each target in so many bytes.
    pub fn several(targets: Vec<Target>, travelling: u64) -> Result<Coming> {
        Ok(Coming::new(Receiver::Several(Contents::new(targets, travelling)?), travelling))
    }

    fn new(receiver: Receiver, travelling: u64) -> Coming {
        Coming { receiver, travelling, left: travelling, buffer: None }
    }

    /// Bytes of it, and how many of them are missing.
    pub fn progress(&self) -> (u64, u64) {
        (self.travelling, self.left)
    }

    /// Where the next bytes go, at most `max`.
    pub fn space(&mut self, max: usize) -> Result<Space> {
        let made = match self.buffer.take() {
            Some(made) => made,
            None => HeapRegion::new(BUFFER_BYTES)?,
        };
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(BUFFER_BYTES).min(max);
        Space::of(self.buffer.insert(made), 0, room)
    }

    /// `count` bytes of the last [`Coming::space`] are there.
    pub fn arrived(&mut self, count: usize) -> Result<()> {
        let Some(buffer) = self.buffer.take() else { return Ok(()) };
        let outcome = Space::of(&buffer, 0, count).and_then(|mut space| self.take(space.bytes()));
        self.buffer = Some(buffer);
        outcome
    }

    /// Takes bytes.
    pub fn take(&mut self, bytes: &[u8]) -> Result<()> {
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(|| {
            Error::new(
                ErrorKind::Protocol,
                "receive a file",
                "the server sent more of it than it announced",
            )
        })?;
        match &mut self.receiver {
            Receiver::One(content) => {
                content.take(bytes);
                Ok(())
            }
            Receiver::Several(contents) => contents.take(bytes),
        }
    }

    /// All came.
    pub fn finish(self) -> Result<Came> {
        match self.receiver {
            Receiver::One(content) => content.finish().map(Came::One),
            Receiver::Several(contents) => contents.finish().map(Came::Several),
        }
    }
}
