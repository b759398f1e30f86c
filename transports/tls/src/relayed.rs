//! Connections that are one end of a relayed stream (spec/wire.md, section 11.1): what they begin
//! with is looked at before TLS, whose records begin with other bytes.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{RecvFlags, recv};

/// What comes before the token.
const PREFACE: [u8; 8] = farcall_wire::RELAY_PREFACE;
const HEAD_BYTES: usize = farcall_wire::RELAY_HEAD_BYTES;

/// What a connection begins with.
#[derive(Clone, Copy, Debug)]
pub enum Opening {
    /// Nothing was seen yet.
    Unknown,
    /// A handshake of TLS, or something else.
    Tls,
    /// The head of a relayed stream, as far as it came.
    Relayed([u8; HEAD_BYTES], usize),
}

/// How far that is.
#[derive(Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing, or a part of a head.
    Less,
    /// It is for TLS, which has read nothing of it.
    Tls,
    /// The token of a relayed stream; what follows it was not read.
    Token([u8; 32]),
}

impl Opening {
    /// Looks at what has come.
    ///
    /// # Errors
    /// The connection has ended, or began as a relayed stream does and went on otherwise.
    pub fn look(&mut self, socket: &OwnedFd) -> io::Result<Seen> {
        if let Opening::Unknown = self {
            let mut first = [0];
            match received(recv(socket, &mut first, RecvFlags::PEEK | RecvFlags::DONTWAIT))? {
                None => return Ok(Seen::Less),
                Some(_) if first[0] == PREFACE[0] => *self = Opening::Relayed([0; HEAD_BYTES], 0),
                Some(_) => *self = Opening::Tls,
            }
        }
        let Opening::Relayed(head, length) = self else { return Ok(Seen::Tls) };
        while *length < HEAD_BYTES {
            let room = &mut head[*length..];
            let Some(count) = received(recv(socket, room, RecvFlags::DONTWAIT))? else {
                return Ok(Seen::Less);
            };
            *length += count;
            let compared = (*length).min(PREFACE.len());
            if head[..compared] != PREFACE[..compared] {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let mut token = [0; 32];
        token.copy_from_slice(&head[PREFACE.len()..]);
        Ok(Seen::Token(token))
    }
}

/// Nothing where nothing is there.
fn received(outcome: rustix::io::Result<(usize, usize)>) -> io::Result<Option<usize>> {
    use rustix::io::Errno;
    match outcome {
        Ok((count, _)) => Ok(Some(count)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
