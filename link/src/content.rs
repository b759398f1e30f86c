//! The content of a file on its way: its bytes, then their XXH3-64 (spec/idl.md, section 6.6).
//!
//! Whoever reads a file promises its length before its first byte leaves. If the file changes under
//! way or cannot be read to its end, what is missing is sent as zeros, with a checksum that is
//! none: so the receiver refuses it, and nothing of the connection is out of step.

use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_wire::InlineBytes;
use xxhash_rust::xxh3::Xxh3;

use crate::memory::{HeapRegion, Region, Space};
use crate::packing::Packing;
use crate::strided::Strided;

/// Bytes of the checksum behind the content.
pub const CHECKSUM_BYTES: u64 = 8;

/// Bytes that leave one after the other, as many as were promised.
pub trait Outgoing: Send {
    /// Bytes that travel, checksums included.
    fn travelling(&self) -> u64;

    /// How many of them have not been read yet.
    fn left(&self) -> u64;

    /// Why what was sent is not what was promised.
    fn trouble(&self) -> Option<&Error>;

    /// The next bytes, as many as there is room for.
    ///
    /// # Errors
    /// `Internal` past the end.
    fn read(&mut self, room: &mut [u8]) -> Result<()>;

    /// The next `length` bytes to send, in memory of their own.
    ///
    /// # Errors
    /// `System` when there is no memory; `Internal` past the end.
    fn piece(&mut self, length: usize) -> Result<Packing> {
        let region = HeapRegion::new(length)?;
        self.read(Space::of(&region, 0, length)?.bytes())?;
        let region: Arc<dyn Region> = Arc::new(region);
        Packing::new(region, 0, &Strided::contiguous(length as u64))
    }

    /// All of them, for an argument inside a message.
    ///
    /// # Errors
    /// As [`Outgoing::piece`].
    fn inline(&mut self) -> Result<InlineBytes> {
        let mut bytes = vec![0; usize::try_from(self.left()).unwrap_or(usize::MAX)];
        self.read(&mut bytes)?;
        Ok(bytes.as_slice().into())
    }
}

/// What a content is read from.
enum Source {
    File {
        file: File,
        found: Stamp,
    },
    Memory(Vec<u8>),
    /// It cannot be had any more.
    Lost,
}

/// By what a file is known whose content changes. Its names may change, and go.
#[derive(PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(data: &Metadata) -> Stamp {
        Stamp { bytes: data.size(), changed: (data.mtime(), data.mtime_nsec()) }
    }
}

/// A content that is sent, piece by piece: no more than one piece of it is held.
pub struct ContentReader {
    source: Source,
    bytes: u64,
    done: u64,
    hash: Box<Xxh3>,
    trouble: Option<Error>,
}

impl ContentReader {
    /// All that `file` holds now.
    ///
    /// # Errors
    /// `System` when the system does not tell its size.
    pub fn of_file(file: File) -> Result<ContentReader> {
        let data = file.metadata().map_err(|error| Error::system("read a file", error))?;
        let found = Stamp::of(&data);
        Ok(ContentReader::new(found.bytes, Source::File { file, found }))
    }

    /// A content that lies in memory.
    pub fn of_bytes(bytes: Vec<u8>) -> ContentReader {
        ContentReader::new(bytes.len() as u64, Source::Memory(bytes))
    }

    /// So many bytes that were promised, and cannot be had any more.
    pub fn lost(bytes: u64, why: Error) -> ContentReader {
        ContentReader { trouble: Some(why), ..ContentReader::new(bytes, Source::Lost) }
    }

    fn new(bytes: u64, source: Source) -> ContentReader {
        ContentReader { source, bytes, done: 0, hash: Box::default(), trouble: None }
    }

    fn read_content(&mut self, room: &mut [u8]) {
        let outcome = match &self.source {
            Source::File { file, .. } => file.read_exact_at(room, self.done),
            Source::Lost => {
                room.fill(0);
                Ok(())
            }
            Source::Memory(bytes) => {
                let begin = self.done as usize;
                room.copy_from_slice(&bytes[begin..begin + room.len()]);
                Ok(())
            }
        };
        if let Err(error) = outcome {
            room.fill(0);
            self.failed(match error.kind() {
                std::io::ErrorKind::UnexpectedEof => changed(),
                _ => Error::system("read a file", error)
                    .fix("see the system's log: the disk or file server may be failing"),
            });
        }
        self.hash.update(room);
    }

    fn check_unchanged(&mut self) {
        let Source::File { file, found } = &self.source else { return };
        match file.metadata() {
            Ok(data) if Stamp::of(&data) == *found => {}
            Ok(_) => self.failed(changed()),
            Err(error) => self.failed(Error::system("read a file", error)),
        }
    }

    fn failed(&mut self, error: Error) {
        self.trouble.get_or_insert(error);
    }

    fn checksum(&self) -> [u8; CHECKSUM_BYTES as usize] {
        let sum = self.hash.digest();
        // Of what was not read as promised, no receiver must believe anything.
        if self.trouble.is_some() { !sum } else { sum }.to_le_bytes()
    }
}

impl Outgoing for ContentReader {
    fn travelling(&self) -> u64 {
        self.bytes.saturating_add(CHECKSUM_BYTES)
    }

    fn left(&self) -> u64 {
        self.travelling().saturating_sub(self.done)
    }

    fn trouble(&self) -> Option<&Error> {
        self.trouble.as_ref()
    }

    fn read(&mut self, room: &mut [u8]) -> Result<()> {
        let content = usize::try_from(self.bytes.saturating_sub(self.done))
            .unwrap_or(usize::MAX)
            .min(room.len());
        let (content, end) = room.split_at_mut(content);
        if !content.is_empty() {
            self.read_content(content);
            self.done += content.len() as u64;
        }
        if end.is_empty() {
            return Ok(());
        }
        let begin = (self.done - self.bytes) as usize;
        if begin == 0 {
            self.check_unchanged();
        }
        let part = self.checksum().get(begin..begin + end.len()).map(<[u8]>::to_vec);
        end.copy_from_slice(&part.ok_or_else(|| {
            Error::internal("send a file", "more bytes were requested than it has")
        })?);
        self.done += end.len() as u64;
        Ok(())
    }
}

/// What the sender is told of a file that is not what it was.
pub(crate) fn changed() -> Error {
    Error::new(ErrorKind::Damaged, "send a file", "the file changed while it was sent")
        .fix("call again when no program writes to it")
}

/// Judges a content that is received, piece by piece.
pub struct ContentCheck {
    left: u64,
    hash: Box<Xxh3>,
    checksum: Vec<u8>,
}

impl ContentCheck {
    /// Of so many bytes, the checksum's included.
    ///
    /// # Errors
    /// `Protocol` when that is less than a checksum has.
    pub fn new(travelling: u64) -> Result<ContentCheck> {
        let left = travelling.checked_sub(CHECKSUM_BYTES).ok_or_else(|| {
            Error::new(ErrorKind::Protocol, "receive a file", "the file arrived without a checksum")
                .with("bytes", travelling)
        })?;
        Ok(ContentCheck { left, hash: Box::default(), checksum: Vec::new() })
    }

    /// Takes the next bytes; gives back those that are content.
    pub fn take<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        let (content, end) = bytes.split_at(count);
        self.left -= count as u64;
        self.hash.update(content);
        self.checksum.extend_from_slice(
            &end[..end.len().min(CHECKSUM_BYTES as usize - self.checksum.len())],
        );
        content
    }

    /// All came.
    ///
    /// # Errors
    /// `Damaged` when it is not what was sent.
    pub fn finish(&self) -> Result<()> {
        if self.left == 0 && self.checksum == self.hash.digest().to_le_bytes() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Damaged,
            "receive a file",
            "the checksum differs: the file was \
            damaged on the way",
        )
        .fix(
            "call again when no program writes to the file; if this happens again, check the \
                    network and the disks",
        ))
    }
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;

/// What tells one content from all others: its XXH3-128. No proof against somebody who wants two to
/// have the same.
pub fn digest(content: &[u8]) -> u128 {
    xxhash_rust::xxh3::xxh3_128(content)
}
