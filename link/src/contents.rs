//! Several contents on their way as one: an array of files (spec/idl.md, section 6.6). Before each
//! stands how many bytes of it travel, or that there is none.

use std::collections::VecDeque;

use farcall_base::{Error, ErrorKind, Result};

use crate::content::{CHECKSUM_BYTES, ContentReader, Outgoing, changed};

/// Bytes before each content.
const HEAD_BYTES: usize = 8;
/// What stands there for NULL.
const NONE: u64 = u64::MAX;

/// Opens a content when its turn comes.
pub type Open = Box<dyn FnOnce() -> Result<ContentReader> + Send>;

/// A content that will be sent: its bytes without the checksum, as promised, and how it is opened.
pub struct Promised {
    /// Bytes.
    pub bytes: u64,
    /// Opens it.
    pub open: Open,
}

/// Contents that are sent, one after the other: no more than one of them is open.
pub struct ContentsReader {
    waiting: VecDeque<Option<Promised>>,
    head: Vec<u8>,
    current: Option<ContentReader>,
    travelling: u64,
    left: u64,
    trouble: Option<Error>,
}

impl ContentsReader {
    /// These contents; `None` stands for NULL.
    pub fn new(contents: Vec<Option<Promised>>) -> ContentsReader {
        let bytes = |promised: &Option<Promised>| {
            let content = promised
                .as_ref()
                .map_or(0, |promised| promised.bytes.saturating_add(CHECKSUM_BYTES));
            content.saturating_add(HEAD_BYTES as u64)
        };
        let travelling = contents.iter().map(bytes).fold(0, u64::saturating_add);
        let waiting = contents.into();
        ContentsReader {
            waiting,
            head: Vec::new(),
            current: None,
            travelling,
            left: travelling,
            trouble: None,
        }
    }

    /// Goes on to the next content; an error past the last one.
    fn turn(&mut self) -> Result<()> {
        self.note();
        let next = self.waiting.pop_front();
        let next = next.ok_or_else(|| {
            Error::internal("send files", "more bytes were requested than they have")
        })?;
        let length = next.as_ref().map_or(NONE, |promised| promised.bytes + CHECKSUM_BYTES);
        self.head = length.to_le_bytes().to_vec();
        self.current = next.map(|Promised { bytes, open }| match open() {
            Ok(content) if content.travelling() == length => content,
            Ok(_) => ContentReader::lost(bytes, changed()),
            Err(error) => ContentReader::lost(bytes, error),
        });
        Ok(())
    }

    /// The first trouble is the one that is told.
    fn note(&mut self) {
        let copy = |error: &Error| Error::from(farcall_wire::Failure::from(error));
        let found = self.current.as_ref().and_then(Outgoing::trouble).map(copy);
        self.trouble = self.trouble.take().or(found);
    }
}

impl Outgoing for ContentsReader {
    fn travelling(&self) -> u64 {
        self.travelling
    }

    fn left(&self) -> u64 {
        self.left
    }

    fn trouble(&self) -> Option<&Error> {
        self.trouble.as_ref()
    }

    fn read(&mut self, room: &mut [u8]) -> Result<()> {
        self.left = self.left.saturating_sub(room.len() as u64);
        let mut rest = room;
        while !rest.is_empty() {
            let count = if self.head.is_empty() {
                let left = self.current.as_ref().map_or(0, Outgoing::left);
                usize::try_from(left).unwrap_or(usize::MAX).min(rest.len())
            } else {
                self.head.len().min(rest.len())
            };
            let (now, later) = rest.split_at_mut(count);
            if !self.head.is_empty() {
                now.copy_from_slice(&self.head[..count]);
                self.head.drain(..count);
            } else if let Some(content) = self.current.as_mut().filter(|_| count > 0) {
                content.read(now)?;
            } else {
                self.turn()?;
            }
            rest = later;
        }
        self.note();
        Ok(())
    }
}

/// What comes next of contents that are received.
#[derive(Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// A content of so many bytes, its checksum included, or NULL.
    Begins(Option<u64>),
    /// Bytes of it.
    Bytes(&'a [u8]),
    /// That was all of it.
    Ends,
}

/// Takes what is received apart again.
pub struct ContentsParts {
    /// Contents that have not begun.
    count: u64,
    /// Bytes that have not come.
    left: u64,
    head: Vec<u8>,
    current: Option<u64>,
}

impl ContentsParts {
    /// Of `count` contents in so many bytes.
    ///
    /// # Errors
    /// `Protocol` for fewer than they must have.
    pub fn new(count: u64, travelling: u64) -> Result<ContentsParts> {
        if count.checked_mul(HEAD_BYTES as u64).is_none_or(|least| travelling < least) {
            return Err(wrong("fewer bytes arrived than the files need")
                .with("files", count)
                .with("bytes", travelling));
        }
        Ok(ContentsParts { count, left: travelling, head: Vec::new(), current: None })
    }

    /// The next part in `bytes`, which becomes what follows it; `None` when more must come.
    ///
    /// # Errors
    /// `Protocol` when they do not add up.
    pub fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Option<Part<'a>>> {
        if self.current == Some(0) {
            self.current = None;
            return Ok(Some(Part::Ends));
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        if let Some(left) = &mut self.current {
            let count = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
            let (now, later) = bytes.split_at(count);
            *bytes = later;
            *left -= count as u64;
            self.left = self.left.saturating_sub(count as u64);
            return Ok(Some(Part::Bytes(now)));
        }
        self.begin(bytes)
    }

    fn begin<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Option<Part<'a>>> {
        if self.count == 0 {
            return Err(wrong("more bytes arrived than the files need"));
        }
        let (now, later) = bytes.split_at(bytes.len().min(HEAD_BYTES - self.head.len()));
        *bytes = later;
        self.left = self.left.saturating_sub(now.len() as u64);
        self.head.extend_from_slice(now);
        let Ok(head) = <[u8; HEAD_BYTES]>::try_from(self.head.as_slice()) else { return Ok(None) };
        self.head.clear();
        self.count -= 1;
        let length = u64::from_le_bytes(head);
        if length == NONE {
            return Ok(Some(Part::Begins(None)));
        }
        if length < CHECKSUM_BYTES || length > self.left {
            return Err(wrong("a file is longer than all bytes that arrived").with("bytes", length));
        }
        self.current = Some(length);
        Ok(Some(Part::Begins(Some(length))))
    }

    /// All bytes were given.
    ///
    /// # Errors
    /// `Protocol` when something is missing.
    pub fn finish(&self) -> Result<()> {
        if self.count == 0 && self.current.is_none() && self.head.is_empty() {
            return Ok(());
        }
        Err(wrong("fewer files arrived than announced").with("missing", self.count))
    }
}

fn wrong(message: &'static str) -> Error {
    Error::new(ErrorKind::Protocol, "receive files", message)
}

#[cfg(test)]
#[path = "contents_tests.rs"]
mod tests;
