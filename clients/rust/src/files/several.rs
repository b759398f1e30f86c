//! Several files of one parameter that come back, one after the other.

use farcall_base::Result;
use farcall_link::contents::{ContentsParts, Part};

use super::{Content, Received, Target};

/// Contents that come back.
pub struct Contents {
    parts: ContentsParts,
    targets: Vec<Target>,
    current: Option<Content>,
    done: Vec<Option<Received>>,
    trouble: Option<farcall_base::Error>,
}

impl Contents {
    /// For `targets`, in so many bytes.
    pub fn new(targets: Vec<Target>, travelling: u64) -> Result<Contents> {
        let parts = ContentsParts::new(targets.len() as u64, travelling)?;
        Ok(Contents { parts, targets, current: None, done: Vec::new(), trouble: None })
    }

    /// Takes bytes. The rest still comes after a file that could not be kept.
    pub fn take(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while let Some(part) = self.parts.next(&mut rest)? {
            match part {
                Part::Begins(None) => self.done.push(None),
                Part::Begins(Some(length)) => self.begin(length),
                Part::Bytes(bytes) => {
                    if let Some(content) = &mut self.current {
                        content.take(bytes);
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
        match Content::new(target, length) {
            Ok(content) => self.current = Some(content),
            Err(error) => self.failed(error),
        }
    }

    fn end(&mut self) {
        let received = self.current.take().map(Content::finish).transpose();
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
