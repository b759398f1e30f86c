//! Many streams over one: how a pilot's connections pass the standard streams of a launcher
//! (spec/pilot.md, section 5).
//!
//! One side opens streams, the other takes them. Each stream has credit of its own in each
//! direction, so that one whose reader is slow holds up nobody else, and memory is bounded: by the
//! credit of those that are open.

use std::collections::{BTreeMap, VecDeque};

use farcall_base::{Error, ErrorKind, Result};

/// What comes first in each direction; whatever a site's start-up files print before it goes by.
pub const STREAMS_MARK: &[u8] = b"\nfarcall streams 1\n";
/// What may come before that.
pub const STREAMS_NOISE_BYTES_MAX: usize = 64 << 10;
/// What may be on its way in one direction of one stream.
pub const STREAM_CREDIT_BYTES: usize = 1 << 20;
/// Bytes of one frame: others have their turn behind it.
pub const STREAM_FRAME_BYTES_MAX: usize = 64 << 10;
/// Streams that are open at a time: twice as many as a pilot has slots, and its own.
pub const STREAMS_MAX: usize = (2 << 14) + 1;
/// What waits to be sent: no more is taken from streams then.
const OUTBOX_BYTES_MAX: usize = 256 << 10;
/// What may wait altogether: answers to what the other side says come on top.
const OUTBOX_BYTES_END: usize = 1 << 20;
/// Kind and length, and the stream's number.
const HEADER_BYTES: usize = 8;

const OPEN: u8 = 1;
const DATA: u8 = 2;
const CREDIT: u8 = 3;
const END: u8 = 4;
const REFUSE: u8 = 5;

/// A stream's number: of those that were opened, counted from 1.
pub type StreamNumber = u32;

/// Who opens streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamsSide {
    /// This one.
    Opens,
    /// The other.
    Takes,
}

/// One stream.
struct Stream {
    /// Bytes that may be sent.
    credit: usize,
    /// Bytes that came, and that nobody has taken yet.
    came: VecDeque<u8>,
    /// Taken since the last credit was given.
    taken: usize,
    said_end: bool,
    heard_end: bool,
}

impl Stream {
    fn new() -> Stream {
        Stream {
            credit: STREAM_CREDIT_BYTES,
            came: VecDeque::new(),
            taken: 0,
            said_end: false,
            heard_end: false,
        }
    }
}

/// Both directions of all streams; bytes in by `handle_bytes`, out by `poll_transmit`.
pub struct Streams {
    side: StreamsSide,
    /// Of the last stream that was opened.
    last: StreamNumber,
    open: BTreeMap<StreamNumber, Stream>,
    /// Bytes that came and are no whole frame yet: a header, or a piece of one.
    inbox: Vec<u8>,
    /// What the rest of a frame's bytes belongs to, and how many they are.
    rest: Option<(StreamNumber, usize)>,
    marked: bool,
    outbox: Vec<u8>,
    sent: usize,
    /// Streams that were opened or refused by the other side, and that nobody knows of yet.
    news: VecDeque<StreamsNews>,
}

/// What the other side did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamsNews {
    /// It opened a stream.
    Opened(StreamNumber),
    /// It does not take one: this has ended.
    Refused(StreamNumber),
}

impl Streams {
    /// Without any stream.
    pub fn new(side: StreamsSide) -> Streams {
        Streams {
            side,
            last: 0,
            open: BTreeMap::new(),
            inbox: Vec::new(),
            rest: None,
            marked: false,
            outbox: STREAMS_MARK.to_vec(),
            sent: 0,
            news: VecDeque::new(),
        }
    }

    /// Opens one.
    ///
    /// # Errors
    /// `LimitExceeded` when too many are open.
    pub fn open(&mut self) -> Result<StreamNumber> {
        if self.open.len() >= STREAMS_MAX || self.last == StreamNumber::MAX {
            let message = format!("there are {} connections", self.open.len());
            return Err(Error::new(ErrorKind::LimitExceeded, "open a stream", message));
        }
        self.last += 1;
        self.open.insert(self.last, Stream::new());
        self.say(OPEN, self.last, 0);
        Ok(self.last)
    }

    /// Ends one that the other side opened and that leads nowhere.
    pub fn refuse(&mut self, number: StreamNumber) {
        if self.open.remove(&number).is_some() {
            self.say(REFUSE, number, 0);
        }
    }

    /// Bytes of a stream that may be sent now.
    pub fn room(&self, number: StreamNumber) -> usize {
        let Some(stream) = self.open.get(&number).filter(|stream| !stream.said_end) else {
            return 0;
        };
        let room = OUTBOX_BYTES_MAX.saturating_sub(self.waiting());
        stream.credit.min(room).min(STREAM_FRAME_BYTES_MAX)
    }

    /// Sends bytes on a stream: as many as there is room for, which says how many.
    pub fn send(&mut self, number: StreamNumber, bytes: &[u8]) -> usize {
        let count = self.room(number).min(bytes.len());
        if let Some(stream) = self.open.get_mut(&number).filter(|_| count > 0) {
            stream.credit -= count;
            self.say(DATA, number, count);
            self.outbox.extend(&bytes[..count]);
        }
        count
    }

    /// No more bytes follow on a stream.
    pub fn end(&mut self, number: StreamNumber) {
        if let Some(stream) = self.open.get_mut(&number).filter(|stream| !stream.said_end) {
            stream.said_end = true;
            self.say(END, number, 0);
            self.forget_if_over(number);
        }
    }

    /// Bytes that came on a stream, the first ones.
    pub fn came(&self, number: StreamNumber) -> &[u8] {
        self.open.get(&number).map_or(&[], |stream| stream.came.as_slices().0)
    }

    /// Takes that many of them away.
    pub fn take(&mut self, number: StreamNumber, count: usize) {
        let Some(stream) = self.open.get_mut(&number) else { return };
        stream.came.drain(..count.min(stream.came.len()));
        stream.taken += count;
        // In large pieces: a frame for each would be as many as of bytes.
        if stream.taken >= STREAM_CREDIT_BYTES / 4 && !stream.heard_end {
            let taken = std::mem::take(&mut stream.taken);
            self.say(CREDIT, number, taken);
        }
        if self.open.get(&number).is_some_and(|stream| stream.came.is_empty()) {
            self.forget_if_over(number);
        }
    }

    /// Whether a stream brings no more, and all that came was taken.
    pub fn has_ended(&self, number: StreamNumber) -> bool {
        self.open.get(&number).is_none_or(|stream| stream.heard_end && stream.came.is_empty())
    }

    /// Whether a stream is there.
    pub fn is_open(&self, number: StreamNumber) -> bool {
        self.open.contains_key(&number)
    }

    fn forget_if_over(&mut self, number: StreamNumber) {
        let is_over =
            |stream: &Stream| stream.said_end && stream.heard_end && stream.came.is_empty();
        if self.open.get(&number).is_some_and(is_over) {
            self.open.remove(&number);
        }
    }

    /// What the other side did, one after the other.
    pub fn poll_news(&mut self) -> Option<StreamsNews> {
        self.news.pop_front()
    }

    /// Bytes that are to be sent.
    pub fn poll_transmit(&self) -> &[u8] {
        &self.outbox[self.sent..]
    }

    /// That many were.
    pub fn transmitted(&mut self, count: usize) {
        self.sent += count;
        if self.sent >= self.outbox.len() || self.sent >= OUTBOX_BYTES_MAX {
            self.outbox.drain(..self.sent.min(self.outbox.len()));
            self.sent = 0;
        }
    }

    fn waiting(&self) -> usize {
        self.outbox.len() - self.sent
    }

    /// Whether bytes may come: not from one that takes none of the answers.
    pub fn wants_bytes(&self) -> bool {
        self.waiting() < OUTBOX_BYTES_END
    }

    /// Whether the other side has said a word.
    pub fn has_begun(&self) -> bool {
        self.marked
    }

    /// What came before the first word, for people.
    pub fn noise(&self) -> &[u8] {
        if self.marked { &[] } else { &self.inbox }
    }

    /// Takes bytes in.
    ///
    /// # Errors
    /// `Protocol` for what the other side must not say.
    pub fn handle_bytes(&mut self, mut bytes: &[u8]) -> Result<()> {
        if !self.marked {
            self.inbox.extend(bytes);
            let Some(at) =
                self.inbox.windows(STREAMS_MARK.len()).position(|window| window == STREAMS_MARK)
            else {
                if self.inbox.len() > STREAMS_NOISE_BYTES_MAX {
                    return Err(broken(
                        "it is not a Farcall program: it sent too much other text".to_owned(),
                    ));
                }
                return Ok(());
            };
            self.marked = true;
            let rest = self.inbox.split_off(at + STREAMS_MARK.len());
            self.inbox.clear();
            return self.handle_bytes(&rest);
        }
        while !bytes.is_empty() {
            bytes = self.handle_piece(bytes)?;
        }
        Ok(())
    }

    /// Takes the rest of a frame, or a header; the bytes behind it.
    fn handle_piece<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8]> {
        if let Some((number, left)) = self.rest {
            let (piece, behind) = bytes.split_at(left.min(bytes.len()));
            // Of one that was refused, nothing is kept.
            if let Some(stream) = self.open.get_mut(&number) {
                stream.came.extend(piece);
            }
            self.rest = (left > piece.len()).then_some((number, left - piece.len()));
            return Ok(behind);
        }
        let (piece, behind) = bytes.split_at((HEADER_BYTES - self.inbox.len()).min(bytes.len()));
        self.inbox.extend(piece);
        if let Some(header) = self.inbox.first_chunk::<HEADER_BYTES>() {
            let header = *header;
            self.inbox.clear();
            self.handle_header(header)?;
        }
        Ok(behind)
    }

    fn handle_header(&mut self, header: [u8; HEADER_BYTES]) -> Result<()> {
        let [kind, a, b, c, number @ ..] = header;
        let value = u32::from_le_bytes([a, b, c, 0]) as usize;
        let number = StreamNumber::from_le_bytes(number);
        if kind == OPEN {
            return self.opened(number);
        }
        if number == 0 || number > self.last {
            return Err(broken(format!("stream {number} was never opened")));
        }
        if kind == DATA && value > 0 {
            self.rest = Some((number, value));
        }
        // One that has ended: what the other side said before it knew.
        let Some(stream) = self.open.get_mut(&number) else { return Ok(()) };
        match kind {
            DATA => {
                let on_its_way = stream.came.len() + stream.taken + value;
                if stream.heard_end
                    || value > STREAM_FRAME_BYTES_MAX
                    || on_its_way > STREAM_CREDIT_BYTES
                {
                    return Err(broken(format!("stream {number} has no credit for {value} bytes")));
                }
            }
            CREDIT => {
                stream.credit += value;
                if stream.credit > STREAM_CREDIT_BYTES {
                    return Err(broken(format!(
                        "stream {number} has credit for bytes that were never sent"
                    )));
                }
            }
            END => {
                stream.heard_end = true;
                self.forget_if_over(number);
            }
            REFUSE if self.side == StreamsSide::Opens => {
                self.open.remove(&number);
                self.news.push_back(StreamsNews::Refused(number));
            }
            _ => return Err(broken(format!("unknown frame kind {kind}"))),
        }
        Ok(())
    }

    fn opened(&mut self, number: StreamNumber) -> Result<()> {
        let expected = self.last.checked_add(1);
        if self.side == StreamsSide::Opens || Some(number) != expected {
            return Err(broken(format!("stream {number} is out of order")));
        }
        if self.open.len() >= STREAMS_MAX {
            return Err(broken(format!("more than {STREAMS_MAX} streams are open")));
        }
        self.last = number;
        self.open.insert(number, Stream::new());
        self.news.push_back(StreamsNews::Opened(number));
        Ok(())
    }

    /// `value` is at most [`STREAM_CREDIT_BYTES`], and three bytes hold it.
    fn say(&mut self, kind: u8, number: StreamNumber, value: usize) {
        let [a, b, c, _] = (value as u32).to_le_bytes();
        self.outbox.extend([kind, a, b, c]);
        self.outbox.extend(number.to_le_bytes());
    }
}

fn broken(message: String) -> Error {
    Error::new(ErrorKind::Protocol, "pass streams on", message)
}

#[cfg(test)]
#[path = "streams_tests.rs"]
mod tests;
