//! Records: what arrives is decrypted where it lies and copied out once; what leaves is encrypted
//! from where it lies.
//!
//! Large buffers belong to the thread and not to the connection: a thread serves one stream at a
//! time, and a thousand idle connections then hold no more than what an incomplete record left
//! behind.

use std::cell::Cell;
use std::io::{self, IoSliceMut};
use std::os::fd::OwnedFd;

use rustls::Error;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError};

use crate::engine::Engine;
use crate::socket;

/// Plaintext of a full record (RFC 8446, section 5.1).
pub const RECORD_BYTES: usize = 16 << 10;
/// What a record adds: header, type and tag.
const RECORD_EXTRA: usize = 5 + 1 + 16;
/// Ciphertext taken by one system call. Much more falls out of the processor's second cache before
/// it is decrypted.
const READ_MAX: usize = 256 << 10;
/// The least that is read, and what is read where a record is incomplete: a whole one (RFC 8446,
/// section 5.2).
const READ_MIN: usize = 4 << 10;
const READ_RECORD: usize = RECORD_BYTES + 256 + 5;
/// Room for what rustls puts before a record of ours: an alert, a change of keys.
const CONTROL_ROOM: usize = 1 << 10;

thread_local! {
    /// The thread's large buffer; empty while it is in use.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Lends the thread's buffer.
pub fn with_scratch<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut scratch = SCRATCH.take();
    let outcome = work(&mut scratch);
    SCRATCH.set(scratch);
    outcome
}

/// Ciphertext on its way out: the first `length` bytes of a buffer that is never shortened, because
/// clearing it again for every record costs as much as a copy.
pub struct Outgoing<'a> {
    buffer: &'a mut Vec<u8>,
    length: usize,
}

impl<'a> Outgoing<'a> {
    /// Nothing yet.
    pub fn new(buffer: &'a mut Vec<u8>) -> Self {
        Outgoing { buffer, length: 0 }
    }

    /// What is to be sent.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    /// `room` bytes behind what is there.
    fn room(&mut self, room: usize) -> &mut [u8] {
        if self.buffer.len() < self.length + room {
            self.buffer.resize(self.length + room, 0);
        }
        &mut self.buffer[self.length..self.length + room]
    }

    fn append(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
        self.length += bytes.len();
    }
}

/// Where received plaintext goes.
pub struct Room<'a, 'b> {
    parts: &'a mut [IoSliceMut<'b>],
    part: usize,
    at: usize,
    /// Bytes that are in place.
    pub filled: usize,
}

impl<'a, 'b> Room<'a, 'b> {
    /// All of `parts`, in order.
    pub fn new(parts: &'a mut [IoSliceMut<'b>]) -> Self {
        Room { parts, part: 0, at: 0, filled: 0 }
    }

    /// Bytes that still fit.
    pub fn left(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum::<usize>() - self.filled
    }

    /// Copies what fits; returns how much that is.
    fn put(&mut self, mut bytes: &[u8]) -> usize {
        let begin = self.filled;
        while let Some(part) = self.parts.get_mut(self.part).filter(|_| !bytes.is_empty()) {
            let room = &mut part[self.at..];
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            self.filled += count;
            self.at += count;
            if self.at == part.len() {
                (self.part, self.at) = (self.part + 1, 0);
            }
        }
        self.filled - begin
    }
}

/// What came of a look at the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Something was done; look again.
    Moved,
    /// Nothing more to do before bytes come; data may be sent.
    Traffic,
    /// The same, in the middle of the handshake.
    Handshake,
    /// The other end said that nothing more comes.
    Ended,
}

/// Whether bytes came from the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// They did, and there may be more.
    More,
    /// They did, and nothing more is there now.
    Last,
    /// The socket is at its end.
    End,
}

/// Ciphertext that came and is not decrypted: `bytes[begin..end]`.
#[derive(Default)]
struct Incoming {
    bytes: Vec<u8>,
    begin: usize,
    end: usize,
}

impl Incoming {
    fn is_empty(&self) -> bool {
        self.begin == self.end
    }

    /// Room for `wanted` more bytes behind those that are there.
    fn make_room(&mut self, wanted: usize) -> &mut [u8] {
        if self.bytes.len() < self.end + wanted {
            self.bytes.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
            if self.bytes.len() < self.end + wanted {
                self.bytes.resize(self.end + wanted, 0);
            }
        }
        &mut self.bytes[self.end..self.end + wanted]
    }

    /// Moves over to a larger buffer.
    fn borrow(&mut self, buffer: &mut Vec<u8>) {
        let held = &self.bytes[self.begin..self.end];
        if buffer.len() < held.len() {
            buffer.resize(held.len(), 0);
        }
        buffer[..held.len()].copy_from_slice(held);
        (self.begin, self.end) = (0, held.len());
        self.bytes = std::mem::take(buffer);
    }

    /// Gives the larger buffer back; what is left moves to one of its size.
    fn give_back(&mut self, buffer: &mut Vec<u8>) {
        let held = self.bytes[self.begin..self.end].to_vec();
        (self.begin, self.end) = (0, held.len());
        *buffer = std::mem::replace(&mut self.bytes, held);
    }
}

/// One end's state machine with the bytes on both of its sides.
pub struct Records<E> {
    engine: E,
    incoming: Incoming,
    /// Plaintext that came and was not asked for yet; at most what the records in `incoming` hold.
    plain: Vec<u8>,
    plain_taken: usize,
    /// Ciphertext that the socket did not take yet.
    held: Vec<u8>,
    held_sent: usize,
    ended: bool,
}

impl<E: Engine> Records<E> {
    /// Nothing came, nothing leaves.
    pub fn new(engine: E) -> Self {
        let (incoming, plain, held) = Default::default();
        Records { engine, incoming, plain, plain_taken: 0, held, held_sent: 0, ended: false }
    }

    /// The state machine.
    pub fn engine(&self) -> &E {
        &self.engine
    }

    /// Lets the thread's large buffer take what comes, until it is given back.
    pub fn borrow(&mut self, scratch: &mut Vec<u8>) {
        self.incoming.borrow(scratch);
    }

    /// Gives the thread's buffer back.
    pub fn give_back(&mut self, scratch: &mut Vec<u8>) {
        self.incoming.give_back(scratch);
    }

    /// Hands over plaintext that waits.
    pub fn take_plain(&mut self, room: &mut Room<'_, '_>) {
        self.plain_taken += room.put(&self.plain[self.plain_taken..]);
        if self.plain_taken == self.plain.len() {
            self.plain_taken = 0;
            self.plain = Vec::new();
        }
    }

    /// Does the next thing that the records ask for. Plaintext goes to `room`; what does not fit
    /// waits.
    ///
    /// # Errors
    /// What is wrong with the other end, or with its records; the connection is over.
    pub fn turn(&mut self, room: &mut Room<'_, '_>) -> Result<Turn, Error> {
        if self.ended {
            return Ok(Turn::Ended);
        }
        let status =
            self.engine.process(&mut self.incoming.bytes[self.incoming.begin..self.incoming.end]);
        self.incoming.begin += status.discard;
        let turn = match status.state? {
            ConnectionState::ReadTraffic(mut traffic) => {
                while let Some(record) = traffic.next_record() {
                    let payload = record?.payload;
                    let put = room.put(payload);
                    self.plain.extend_from_slice(&payload[put..]);
                }
                Turn::Moved
            }
            ConnectionState::EncodeTlsData(mut data) => {
                append(&mut self.held, |room| data.encode(room))?;
                Turn::Moved
            }
            ConnectionState::TransmitTlsData(data) => {
                data.done();
                Turn::Moved
            }
            ConnectionState::WriteTraffic(_) => Turn::Traffic,
            ConnectionState::BlockedHandshake => Turn::Handshake,
            // Early data is never offered, so none can come.
            _ => {
                self.ended = true;
                Turn::Ended
            }
        };
        Ok(turn)
    }

    /// After an error: puts what the other end is to be told of it into the bytes that leave.
    pub fn say_why(&mut self) {
        // The engine gives out what it has to send before it looks at what came, so the next turn
        // has the alert. One more would look at what was wrong again: rustls asserts that nobody
        // does.
        let _ = self.turn(&mut Room::new(&mut []));
    }

    /// Takes from the socket about what `room` wants, and the rest of an incomplete record.
    ///
    /// # Errors
    /// `WouldBlock`, or what the system says.
    pub fn fill(&mut self, from: &OwnedFd, room: usize) -> io::Result<Fill> {
        let records = room / RECORD_BYTES + 1;
        let wanted = (room + records * RECORD_EXTRA).clamp(READ_MIN, READ_MAX);
        let wanted = if self.incoming.is_empty() { wanted } else { wanted.max(READ_RECORD) };
        let count = socket::receive(from, self.incoming.make_room(wanted))?;
        self.incoming.end += count;
        Ok(match count {
            0 => Fill::End,
            count if count < wanted => Fill::Last,
            _ => Fill::More,
        })
    }

    /// Sends what is held; true when nothing is left.
    ///
    /// # Errors
    /// What the system says.
    pub fn flush(&mut self, to: &OwnedFd) -> io::Result<bool> {
        while self.held_sent < self.held.len() {
            match socket::send(to, &self.held[self.held_sent..]) {
                Ok(count) => self.held_sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        (self.held, self.held_sent) = (Vec::new(), 0);
        Ok(true)
    }

    /// Keeps ciphertext that the socket did not take.
    pub fn hold(&mut self, rest: &[u8]) {
        self.held.extend_from_slice(rest);
    }

    /// Encrypts `bytes` behind `out`.
    ///
    /// # Errors
    /// `NotConnected` when nothing may be sent any more.
    pub fn encrypt(&mut self, bytes: &[u8], out: &mut Outgoing<'_>) -> io::Result<()> {
        let reserve = bytes.len() + (bytes.len() / RECORD_BYTES + 1) * RECORD_EXTRA + CONTROL_ROOM;
        self.write(out, reserve, |traffic, room| traffic.encrypt(bytes, room))
    }

    /// Says behind `out` that nothing more comes.
    ///
    /// # Errors
    /// As [`Records::encrypt`].
    pub fn end(&mut self, out: &mut Outgoing<'_>) -> io::Result<()> {
        self.write(out, CONTROL_ROOM, |traffic, room| traffic.queue_close_notify(room))
    }

    fn write(
        &mut self,
        out: &mut Outgoing<'_>,
        reserve: usize,
        make: impl FnOnce(
            &mut rustls::unbuffered::WriteTraffic<'_, E::Data>,
            &mut [u8],
        ) -> Result<usize, EncryptError>,
    ) -> io::Result<()> {
        let broken = |_| io::Error::from(io::ErrorKind::NotConnected);
        // Records that came are looked at first, because rustls answers some of them; their
        // plaintext waits.
        while self.turn(&mut Room::new(&mut [])).map_err(broken)? == Turn::Moved {}
        out.append(&self.held);
        (self.held, self.held_sent) = (Vec::new(), 0);
        let status =
            self.engine.process(&mut self.incoming.bytes[self.incoming.begin..self.incoming.end]);
        self.incoming.begin += status.discard;
        let Ok(ConnectionState::WriteTraffic(mut traffic)) = status.state else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let written = make(&mut traffic, out.room(reserve));
        out.length +=
            written.map_err(|error| io::Error::new(io::ErrorKind::NotConnected, error))?;
        Ok(())
    }
}

/// Lets rustls append what it has to say.
fn append(
    out: &mut Vec<u8>,
    mut encode: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>,
) -> Result<(), Error> {
    let begin = out.len();
    let mut room = CONTROL_ROOM;
    loop {
        out.resize(begin + room, 0);
        match encode(&mut out[begin..]) {
            Ok(count) => {
                out.truncate(begin + count);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(needed)) => room = needed.required_size,
            Err(error) => return Err(Error::General(error.to_string())),
        }
    }
}
