//! A handshake over a socket that never blocks.

use std::io;
use std::os::fd::OwnedFd;

use farcall_base::{Error, ErrorKind};

use crate::engine::Engine;
use crate::records::{Fill, Records, Room, Turn};
use crate::refusal::{View, explain};

/// Bytes that are asked for at a time.
const FILL_BYTES: usize = 4 << 10;

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Both ends know each other.
    Done,
    /// The other end must send.
    WaitsForBytes,
    /// The other end must take what we sent.
    WaitsForRoom,
}

/// Both ends on their way to know each other.
pub struct Handshake<E> {
    records: Records<E>,
}

impl<E: Engine> Handshake<E> {
    /// Nothing was said yet.
    pub fn new(engine: E) -> Self {
        Handshake { records: Records::new(engine) }
    }

    /// The records, for the stream that follows.
    pub fn into_records(self) -> Records<E> {
        self.records
    }

    /// The state machine.
    pub fn engine(&self) -> &E {
        self.records.engine()
    }

    /// Goes on as far as the socket lets it. After an error, [`Handshake::farewell`] tells the
    /// other end why.
    ///
    /// # Errors
    /// What is wrong with the other end, in words.
    pub fn advance<'a>(
        &mut self,
        socket: &OwnedFd,
        view: impl Fn() -> View<'a>,
    ) -> Result<Progress, Error> {
        loop {
            // Data that came right behind the handshake waits with the records.
            match self
                .records
                .turn(&mut Room::new(&mut []))
                .map_err(|error| explain(&error, view()))?
            {
                Turn::Moved => {}
                Turn::Ended => return Err(left()),
                Turn::Traffic | Turn::Handshake => {
                    if !self.records.flush(socket).map_err(|error| broken(&error))? {
                        return Ok(Progress::WaitsForRoom);
                    }
                    if !self.records.engine().is_handshaking() {
                        return Ok(Progress::Done);
                    }
                    if !self.fill(socket)? {
                        return Ok(Progress::WaitsForBytes);
                    }
                }
            }
        }
    }

    /// rustls bounds what may come before both ends know each other: 64 KiB a message, and no
    /// message out of turn.
    fn fill(&mut self, socket: &OwnedFd) -> Result<bool, Error> {
        match self.records.fill(socket, FILL_BYTES) {
            Ok(Fill::End) => Err(left()),
            Ok(Fill::More | Fill::Last) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(broken(&error)),
        }
    }

    /// Says why, as far as the socket takes it.
    pub fn farewell(&mut self, socket: &OwnedFd) {
        self.records.say_why();
        let _ = self.records.flush(socket);
    }
}

fn left() -> Error {
    Error::new(
        ErrorKind::ConnectionLost,
        "secure the connection",
        "the other end disconnected during the TLS handshake",
    )
}

pub fn broken(error: &io::Error) -> Error {
    Error::new(
        ErrorKind::ConnectionLost,
        "secure the connection",
        format!("the connection broke: {error}"),
    )
}
