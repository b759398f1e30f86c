//! Several files of one parameter that come back, one after the other.

use farcall_base::Result;
use farcall_link::contents::{ContentsParts, Part};
use farcall_link::memory::{HeapRegion, Space};

use super::{Received, Sink, Target, room};

/// Contents that come back.
pub struct Sinks {
    parts: ContentsParts,
    targets: Vec<Target>,
    travelling: u64,
    left: u64,
    current: Option<Sink>,
    done: Vec<Option<Received>>,
    buffer: Option<HeapRegion>,
    trouble: Option<farcall_base::Error>,
}

impl Sinks {
    /// For `targets`, in so many bytes.
    pub fn new(targets: Vec<Target>, travelling: u64) -> Result<Sinks> {
        let parts = ContentsParts::new(targets.len() as u64, travelling)?;
        Ok(Sinks {
            parts,
            targets,
            travelling,
            left: travelling,
            current: None,
            done: Vec::new(),
            buffer: None,
            trouble: None,
        })
    }

    /// Bytes of them, and how many are missing.
    pub fn progress(&self) -> (u64, u64) {
        (self.travelling, self.left)
    }

    /// Where the next bytes go, at most `max`.
    pub fn space(&mut self, max: usize) -> Result<Space> {
        room(&mut self.buffer, self.left, max)
    }

    /// `count` bytes of the last [`Sinks::space`] are there.
    pub fn arrived(&mut self, count: usize) -> Result<()> {
        let Some(buffer) = self.buffer.take() else { return Ok(()) };
        let outcome = Space::of(&buffer, 0, count).and_then(|mut space| self.take(space.bytes()));
        self.buffer = Some(buffer);
        outcome
    }

    /// Takes bytes. The rest still comes after a file that could not be kept.
    pub fn take(&mut self, bytes: &[u8]) -> Result<()> {
        self.left = self.left.saturating_sub(bytes.len() as u64);
        let mut rest = bytes;
        while let Some(part) = self.parts.next(&mut rest)? {
            match part {
                Part::Begins(None) => self.done.push(None),
                Part::Begins(Some(length)) => self.begin(length),
                Part::Bytes(bytes) => {
                    if let Some(sink) = &mut self.current {
                        sink.take(bytes)?;
                    }
                }
                Part::Ends => self.end(),
            }
        }
        Ok(())
    }

    fn begin(&mut self, length: u64) {
        // There are as many targets as contents, or the parts do not add up.
        let Some(target) = self.targets.get(self.done.len()) else { return };
        match Sink::new(target, length) {
            Ok(sink) => self.current = Some(sink),
            Err(error) => self.failed(error),
        }
    }

    fn end(&mut self) {
        let received = self.current.take().map(Sink::finish).transpose();
        match received {
            Ok(received) => self.done.push(received),
            Err(error) => {
                self.done.push(None);
                self.failed(error);
            }
        }
    }

    fn failed(&mut self, error: farcall_base::Error) {
        self.trouble.get_or_insert(error);
    }

    /// All came.
    pub fn finish(mut self) -> Result<Vec<Option<Received>>> {
        self.take(&[])?;
        if let Some(error) = self.trouble {
            return Err(error);
        }
        self.parts.finish().map(|()| self.done)
    }
}
