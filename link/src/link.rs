//! A link: one byte stream, cut into frames in both directions, without copying array bytes.
//!
//! Control frames gather in a small buffer. The body of a data frame is received straight into the
//! memory that the handler names, and sent straight from the block it lies in. Only what happens to
//! arrive in one piece with a control frame passes through the buffer; [`Link::bytes_copied`]
//! counts it, so that a test can hold it to `READ_AHEAD` a call.

mod handler;
mod lending;
mod queue;
mod sending;
mod source;

use std::collections::VecDeque;
use std::io::{ErrorKind as IoErrorKind, IoSliceMut};
use std::os::fd::OwnedFd;

use farcall_base::{Error, ErrorKind, Result};
use farcall_wire::compressed::check_compressed;
use farcall_wire::frame::{Flags, FrameHeader, FrameKind, HEADER_BYTES, PREFACE, padding};
use farcall_wire::{FrameReader, Step};

use crate::compression::{Compression, Compressor, Expansion};
use crate::memory::Space;
use crate::stream::ByteStream;

pub use handler::FrameHandler;
use lending::Lent;
use queue::Queue;
pub use source::{Control, FrameSource};

/// Most bytes read beyond what is certainly control: the price of one system call for many small
/// frames.
pub const READ_AHEAD: usize = 4096;
/// Bytes queued before no more frames are made: enough to keep a fast stream busy.
pub const QUEUE_BYTES: usize = 8 << 20;
/// Descriptors received and not yet claimed.
const DESCRIPTORS_MAX: usize = 64;

/// Why receiving paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// Nothing more is there now.
    Blocked,
    /// The other end closed its direction.
    Closed,
    /// The budget is used up, or the handler takes no more now; there may be more.
    More,
}

/// One byte stream in frames.
pub struct Link {
    stream: Box<dyn ByteStream>,
    reader: FrameReader,
    buffer: Vec<u8>,
    filled: usize,
    begin: usize,
    lent: Lent,
    descriptors: VecDeque<OwnedFd>,
    current: Option<(FrameHeader, u32)>,
    /// What the current data frame becomes, where it is compressed.
    expansion: Option<Box<Expansion>>,
    data_bytes_max: u32,
    /// Whether both ends named the feature.
    may_compress: bool,
    compressor: Option<Box<Compressor>>,
    /// Arrays of fewer bytes are not.
    compress_from: u64,
    queue: Queue,
    copied: u64,
    received: u64,
}

impl Link {
    /// A link over a fresh stream; the preface is queued.
    pub fn new(stream: Box<dyn ByteStream>, control_bytes_max: u32, data_bytes_max: u32) -> Link {
        let mut link = Link {
            stream,
            reader: FrameReader::new(control_bytes_max, data_bytes_max),
            buffer: vec![0; READ_AHEAD],
            filled: 0,
            begin: 0,
            lent: Lent::No,
            descriptors: VecDeque::new(),
            current: None,
            expansion: None,
            data_bytes_max,
            may_compress: false,
            compressor: None,
            compress_from: 0,
            queue: Queue::default(),
            copied: 0,
            received: 0,
        };
        link.queue.add_bytes(&PREFACE);
        link
    }

    /// The stream underneath.
    pub fn stream(&self) -> &dyn ByteStream {
        &*self.stream
    }

    /// See [`ByteStream::open_turnstile`].
    pub fn open_turnstile(&mut self) {
        self.stream.open_turnstile();
    }

    /// See [`ByteStream::hold_bell`].
    pub fn hold_bell(&mut self, held: bool) {
        self.stream.hold_bell(held);
    }

    /// Both ends named the feature `compression`: compressed frames are taken from now on, and made
    /// as `mode` says.
    pub fn compress(&mut self, mode: Compression) {
        self.may_compress = true;
        self.compressor = Compressor::new(mode);
    }

    /// Arrays of fewer bytes leave as they are.
    pub fn compress_from(&mut self, bytes: u64) {
        self.compress_from = bytes;
    }

    /// Whether compressed frames are taken.
    pub fn may_compress(&self) -> bool {
        self.may_compress
    }

    /// The longest data frames that should be made now.
    pub fn frame_bytes_max(&self) -> u32 {
        self.compressor.as_ref().map_or(u32::MAX, |compressor| compressor.frame_bytes_max())
    }

    /// Array bytes that passed through the buffer so far.
    pub fn bytes_copied(&self) -> u64 {
        self.copied
    }

    /// Bytes taken from the stream so far.
    pub fn bytes_received(&self) -> u64 {
        self.received
    }

    /// Bytes queued and not yet sent.
    pub fn bytes_queued(&self) -> usize {
        self.queue.bytes()
    }

    /// Receives frames and gives them to `handler`, until nothing is there or about `budget` bytes
    /// were taken.
    ///
    /// # Errors
    /// What the handler or the frames' rules say, or `ConnectionLost`.
    pub fn receive(&mut self, handler: &mut dyn FrameHandler, budget: usize) -> Result<Received> {
        let mut taken = 0;
        let mut drained = match self.lent.take_back() {
            Lent::Out => return Ok(Received::Blocked),
            Lent::Drained => true,
            Lent::No => false,
        };
        loop {
            if !self.dispatch(handler)? {
                return Ok(Received::More);
            }
            if drained && self.current.is_none() {
                return Ok(Received::Blocked);
            }
            if taken >= budget {
                return Ok(Received::More);
            }
            // Less than there was room for means that nothing more is there: asking again would
            // cost a system call per small message only to hear so. Whatever comes later makes the
            // stream ready again.
            let room = self.buffer.len() - self.filled;
            let control = self.current.is_none();
            let outcome = self.receive_some(handler);
            drained = control && matches!(outcome, Ok(count) if count > 0 && count < room);
            match outcome {
                Ok(0) => return self.end_of_stream(),
                Ok(count) => {
                    taken += count;
                    self.received += count as u64;
                }
                Err(Trouble::Stream(error)) if error.kind() == IoErrorKind::WouldBlock => {
                    return Ok(Received::Blocked);
                }
                Err(Trouble::Stream(error)) if error.kind() == IoErrorKind::Interrupted => {}
                Err(Trouble::Stream(error)) => return Err(self.lost("receive", error)),
                Err(Trouble::Handler(error)) => return Err(error),
            }
        }
    }

    /// Gives every whole frame in the buffer to the handler, and moves array bytes that came along
    /// to their place. False where the handler wants no more.
    fn dispatch(&mut self, handler: &mut dyn FrameHandler) -> Result<bool> {
        loop {
            if let Some((header, done)) = self.current {
                if !self.place_buffered(handler, header, done)? {
                    return Ok(true);
                }
                continue;
            }
            match self.reader.step(&self.buffer[self.begin..self.filled])? {
                Step::Need { consumed, wanted } => {
                    self.begin += consumed;
                    self.make_room(wanted);
                    return Ok(true);
                }
                Step::Control { header, start, consumed } => {
                    if header.kind == FrameKind::Data as u8 {
                        self.begin_data(&header)?;
                    }
                    let start = self.begin + start;
                    self.begin += consumed;
                    let body = &self.buffer[start..start + header.length as usize];
                    handler.control(&header, body, &mut self.descriptors)?;
                    if handler.is_full() {
                        return Ok(false);
                    }
                }
                Step::Data { header, consumed, .. } => {
                    self.begin += consumed;
                    self.begin_data(&header)?;
                    self.current = Some((header, 0));
                }
            }
        }
    }

    /// A data frame that is compressed is gathered before its bytes find their place.
    fn begin_data(&mut self, header: &FrameHeader) -> Result<()> {
        if header.flags.contains(Flags::COMPRESSED) {
            check_compressed(header, self.may_compress)?;
            self.expansion = Some(Box::new(Expansion::new(*header, self.data_bytes_max)?));
        }
        Ok(())
    }

    /// Where the current data frame's bytes from `done` on go.
    fn data_space(
        &mut self,
        handler: &mut dyn FrameHandler,
        header: &FrameHeader,
        done: u32,
    ) -> Result<Option<Space>> {
        match &mut self.expansion {
            None => handler.data_space(header, done),
            Some(expansion) => expansion.space().map(Some),
        }
    }

    fn data_arrived(
        &mut self,
        handler: &mut dyn FrameHandler,
        header: &FrameHeader,
        count: u32,
        done: u32,
    ) -> Result<()> {
        let Some(expansion) = &mut self.expansion else {
            return handler.data_arrived(header, count, done);
        };
        if expansion.arrived(handler, count as usize)? {
            self.expansion = None;
        }
        Ok(())
    }

    /// Copies buffered bytes of the current data frame to their place; false when there are none.
    fn place_buffered(
        &mut self,
        handler: &mut dyn FrameHandler,
        header: FrameHeader,
        done: u32,
    ) -> Result<bool> {
        let there = (self.filled - self.begin).min((header.length - done) as usize);
        if there == 0 {
            return Ok(false);
        }
        let count = match self.data_space(handler, &header, done)? {
            None => there,
            Some(mut space) => {
                let count = there.min(space.length());
                space.bytes()[..count]
                    .copy_from_slice(&self.buffer[self.begin..self.begin + count]);
                self.copied += count as u64;
                count
            }
        };
        self.begin += count;
        self.data_progress(handler, header, done, count)?;
        Ok(true)
    }

    fn data_progress(
        &mut self,
        handler: &mut dyn FrameHandler,
        header: FrameHeader,
        done: u32,
        count: usize,
    ) -> Result<()> {
        let count = u32::try_from(count).expect("no more than the frame's rest");
        self.reader.data_received(count);
        let done = done + count;
        self.current = (done < header.length).then_some((header, done));
        self.data_arrived(handler, &header, count, done)
    }

    fn make_room(&mut self, wanted: usize) {
        if self.begin == self.filled {
            (self.begin, self.filled) = (0, 0);
        }
        if self.begin + wanted > self.buffer.len() {
            self.buffer.copy_within(self.begin..self.filled, 0);
            self.filled -= self.begin;
            self.begin = 0;
        }
        if wanted > self.buffer.len() {
            self.buffer.resize(wanted, 0);
        } else if self.filled == 0 && self.buffer.len() > READ_AHEAD && wanted <= READ_AHEAD {
            self.buffer.truncate(READ_AHEAD);
            self.buffer.shrink_to_fit();
        }
    }

    fn receive_some(
        &mut self,
        handler: &mut dyn FrameHandler,
    ) -> std::result::Result<usize, Trouble> {
        let mut fresh = Vec::new();
        let result = match self.current {
            Some((header, done)) => self.receive_data(handler, header, done, &mut fresh),
            None => {
                let space = IoSliceMut::new(&mut self.buffer[self.filled..]);
                let count =
                    self.stream.receive(&mut [space], &mut fresh).map_err(Trouble::Stream)?;
                self.filled += count;
                Ok(count)
            }
        };
        self.descriptors.extend(fresh);
        if self.descriptors.len() > DESCRIPTORS_MAX {
            let error = Error::new(
                ErrorKind::Protocol,
                "receive",
                "the peer sent descriptors that no frame announced",
            );
            return Err(Trouble::Handler(error));
        }
        result
    }

    /// Receives array bytes into their place, and the next frame's header behind them.
    fn receive_data(
        &mut self,
        handler: &mut dyn FrameHandler,
        header: FrameHeader,
        done: u32,
        fresh: &mut Vec<OwnedFd>,
    ) -> std::result::Result<usize, Trouble> {
        let left = (header.length - done) as usize;
        // The buffer is empty here: dispatch() has placed what it held.
        (self.begin, self.filled) = (0, 0);
        let Some(mut space) = self.data_space(handler, &header, done).map_err(Trouble::Handler)?
        else {
            let room = left.min(self.buffer.len());
            let count = self
                .stream
                .receive(&mut [IoSliceMut::new(&mut self.buffer[..room])], fresh)
                .map_err(Trouble::Stream)?;
            return self.account(handler, header, done, count, left);
        };
        let room = space.length().min(left);
        if room == 0 {
            return Err(Trouble::Handler(Error::internal(
                "receive an array",
                "no memory was provided for the bytes that arrive",
            )));
        }
        let ahead = if room == left { padding(header.length) + HEADER_BYTES } else { 0 };
        let mut parts = [
            IoSliceMut::new(&mut space.bytes()[..room]),
            IoSliceMut::new(&mut self.buffer[..ahead]),
        ];
        let count = self.stream.receive(&mut parts, fresh).map_err(Trouble::Stream)?;
        self.filled = count.saturating_sub(room);
        self.account(handler, header, done, count, room)
    }

    fn account(
        &mut self,
        handler: &mut dyn FrameHandler,
        header: FrameHeader,
        done: u32,
        count: usize,
        room: usize,
    ) -> std::result::Result<usize, Trouble> {
        if count > 0 {
            self.data_progress(handler, header, done, count.min(room)).map_err(Trouble::Handler)?;
        }
        Ok(count)
    }

    fn end_of_stream(&self) -> Result<Received> {
        if self.current.is_none() && self.begin == self.filled && self.reader.between_frames() {
            return Ok(Received::Closed);
        }
        Err(Error::new(
            ErrorKind::ConnectionLost,
            "receive",
            "the peer closed the connection inside a frame",
        )
        .with("peer", &self.stream.peer().address))
    }

    fn lost(&self, operation: &'static str, error: std::io::Error) -> Error {
        // A transport that knows more than the system says so itself.
        let error = match error.downcast::<Error>() {
            Ok(known) => return known.with("peer", &self.stream.peer().address),
            Err(error) => error,
        };
        Error::new(ErrorKind::ConnectionLost, operation, format!("the connection broke: {error}"))
            .with("peer", &self.stream.peer().address)
            .source(error)
    }
}

enum Trouble {
    Stream(std::io::Error),
    Handler(Error),
}
