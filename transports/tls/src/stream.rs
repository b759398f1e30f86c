//! A byte stream over TLS, once both ends know each other.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use farcall_link::stream::{ByteStream, Peer};

use crate::engine::Engine;
use crate::records::{Fill, Outgoing, RECORD_BYTES, Records, Room, Turn, with_scratch};
use crate::refusal::refusal;
use crate::revocation::Guard;
use crate::socket;

/// Plaintext that is encrypted before the socket is asked to take it: few system calls, and little
/// that a full socket leaves behind.
const SEND_BYTES: usize = 16 * RECORD_BYTES;
/// Parts shorter than this are gathered into one record.
const PART_MIN: usize = 2 << 10;

/// A connected stream.
pub struct TlsByteStream<E: Engine> {
    records: Records<E>,
    socket: OwnedFd,
    peer: Peer,
    /// Whether the peer's certificate still holds; on the server's side.
    guard: Option<Guard>,
    /// The host that was dialled for it, where a metaserver led the other end here.
    led_by: Option<Box<str>>,
    /// Bytes that were encrypted and are not reported as sent, because their records have not all
    /// left.
    encrypted: usize,
}

impl<E: Engine> TlsByteStream<E> {
    /// A stream over a handshake that is done.
    pub fn new(records: Records<E>, socket: OwnedFd, peer: Peer, guard: Option<Guard>) -> Self {
        TlsByteStream { records, socket, peer, guard, led_by: None, encrypted: 0 }
    }

    /// The same, where this end dialled a host for a client that is led here.
    pub fn led_by(mut self, host: Option<Box<str>>) -> Self {
        self.led_by = host;
        self
    }

    fn receive_into(&mut self, room: &mut Room<'_, '_>) -> io::Result<()> {
        let mut last = false;
        loop {
            if room.left() == 0 {
                return Ok(());
            }
            match self.records.turn(room).map_err(|error| self.broken(&error))? {
                Turn::Moved => {}
                Turn::Ended => return Ok(()),
                // What the socket held is used up: asking again would cost a system call only to
                // hear so.
                Turn::Traffic | Turn::Handshake if last => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Turn::Traffic | Turn::Handshake => {
                    match self.records.fill(&self.socket, room.left())? {
                        Fill::More => {}
                        Fill::Last => last = true,
                        // Without the farewell that TLS ends with: somebody may have cut the stream
                        // short.
                        Fill::End => return Err(io::ErrorKind::UnexpectedEof.into()),
                    }
                }
            }
        }
    }

    /// The other end is told why, as far as it can be.
    fn broken(&mut self, error: &rustls::Error) -> io::Error {
        self.records.say_why();
        let _ = self.records.flush(&self.socket);
        refusal(error, &self.peer)
    }

    /// A peer that refused us closes its socket after it said why: what it said is more use than
    /// that sending failed.
    fn reason_of(&mut self, error: io::Error) -> io::Error {
        use io::ErrorKind::{BrokenPipe, ConnectionReset};
        if !matches!(error.kind(), BrokenPipe | ConnectionReset) {
            return error;
        }
        let mut unread = [0; RECORD_BYTES];
        let mut parts = [IoSliceMut::new(&mut unread)];
        match self.receive_into(&mut Room::new(&mut parts)) {
            Err(reason) if reason.get_ref().is_some() => reason,
            _ => error,
        }
    }

    /// Encrypts and sends what the socket takes of `parts` from `skip` on.
    fn send_from(&mut self, parts: &[IoSlice<'_>], skip: usize) -> io::Result<usize> {
        let mut cursor = Cursor::new(parts, skip);
        let mut taken = 0;
        with_scratch(|scratch| {
            loop {
                let mut out = Outgoing::new(scratch);
                let count = self.encrypt_some(&mut cursor, &mut out)?;
                if count == 0 {
                    return Ok(taken);
                }
                let sent = self.send_out(out.bytes())?;
                if sent < out.bytes().len() {
                    self.records.hold(&out.bytes()[sent..]);
                    self.encrypted = count;
                    return Ok(taken);
                }
                taken += count;
            }
        })
    }

    fn send_out(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match socket::send(&self.socket, bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            outcome => outcome,
        }
    }

    fn encrypt_some(
        &mut self,
        cursor: &mut Cursor<'_, '_>,
        out: &mut Outgoing<'_>,
    ) -> io::Result<usize> {
        let mut count = 0;
        let mut gathered = [0; RECORD_BYTES];
        while count < SEND_BYTES {
            let part = cursor.next(SEND_BYTES - count, &mut gathered);
            if part.is_empty() {
                break;
            }
            self.records.encrypt(part, out)?;
            count += part.len();
        }
        Ok(count)
    }
}

/// A place in a list of parts.
struct Cursor<'a, 'b> {
    parts: &'a [IoSlice<'b>],
    at: usize,
}

impl<'a, 'b> Cursor<'a, 'b> {
    fn new(parts: &'a [IoSlice<'b>], skip: usize) -> Self {
        let mut cursor = Cursor { parts, at: 0 };
        cursor.advance(skip);
        cursor
    }

    fn advance(&mut self, count: usize) {
        self.at += count;
        while let Some(first) = self.parts.first().filter(|first| self.at >= first.len()) {
            self.at -= first.len();
            self.parts = &self.parts[1..];
        }
    }

    /// The next bytes, at most `most`: of one part, or of several short ones in `gathered`. Empty
    /// at the end.
    fn next<'c>(&mut self, most: usize, gathered: &'c mut [u8]) -> &'c [u8]
    where
        'a: 'c,
    {
        let Some(first) = self.parts.first() else { return &[] };
        let first: &'a [u8] = &first[self.at..];
        let only: bool = self.parts.len() == 1;
        if first.len() >= PART_MIN || only {
            let part = &first[..first.len().min(most)];
            self.advance(part.len());
            return part;
        }
        let mut length = 0;
        while let Some(part) = self.parts.first() {
            let part = &part[self.at..];
            if part.len() >= PART_MIN || length + part.len() > gathered.len().min(most) {
                break;
            }
            gathered[length..length + part.len()].copy_from_slice(part);
            length += part.len();
            self.advance(part.len());
        }
        if length == 0 {
            // A short part that no longer fits below `most`.
            let part = &first[..first.len().min(most)];
            self.advance(part.len());
            return part;
        }
        &gathered[..length]
    }
}

impl<E: Engine> ByteStream for TlsByteStream<E> {
    /// Bytes count as sent when their records have left. So what is sent after `WouldBlock` must
    /// begin with the bytes that were refused, as it does where nothing is taken back.
    fn send(&mut self, parts: &[IoSlice<'_>], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
        if !descriptors.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "descriptors cannot be sent over TLS",
            ));
        }
        if !self.records.flush(&self.socket).map_err(|error| self.reason_of(error))? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let offered: usize = parts.iter().map(|part| part.len()).sum();
        let left_now = self.encrypted.min(offered);
        self.encrypted -= left_now;
        if self.encrypted > 0 || offered == 0 {
            return Ok(left_now);
        }
        match self.send_from(parts, left_now).map_err(|error| self.reason_of(error))? + left_now {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            sent => Ok(sent),
        }
    }

    fn receive(&mut self, parts: &mut [IoSliceMut<'_>], _: &mut Vec<OwnedFd>) -> io::Result<usize> {
        if let Some(guard) = &self.guard {
            guard.check()?;
        }
        let mut room = Room::new(parts);
        self.records.take_plain(&mut room);
        if room.left() == 0 {
            return Ok(room.filled);
        }
        let outcome = with_scratch(|scratch| {
            self.records.borrow(scratch);
            let outcome = self.receive_into(&mut room);
            self.records.give_back(scratch);
            outcome
        });
        match outcome {
            // What came before the trouble is handed over first; the trouble comes again.
            Err(_) if room.filled > 0 => Ok(room.filled),
            outcome => outcome.map(|()| room.filled),
        }
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn standing(&self) -> Option<io::Result<()>> {
        self.guard.as_ref().map(Guard::check_now)
    }

    fn certificate(&self) -> Option<String> {
        self.guard.as_ref().map(Guard::certificate)
    }

    fn led_by(&self) -> Option<&str> {
        self.led_by.as_deref()
    }

    fn passes_descriptors(&self) -> bool {
        false
    }

    fn peer(&self) -> &Peer {
        &self.peer
    }
}

impl<E: Engine> Drop for TlsByteStream<E> {
    fn drop(&mut self) {
        // As far as the socket takes it: nobody waits for a farewell.
        if !matches!(self.records.flush(&self.socket), Ok(true)) {
            return;
        }
        with_scratch(|scratch| {
            let mut out = Outgoing::new(scratch);
            if self.records.end(&mut out).is_ok() {
                let _ = socket::send(&self.socket, out.bytes());
            }
        });
    }
}
