//! Passes bytes on between an executable and its server.

use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, OwnedFd};

use farcall_base::{Error, Result};
use farcall_interfaces::stream::ByteStream;
use rustix::event::{PollFd, PollFlags, poll};

/// Bytes on their way in each direction.
const PIECE_BYTES: usize = 256 << 10;

/// Bytes of one direction.
struct Piece {
    bytes: Vec<u8>,
    begin: usize,
    end: usize,
    /// Nothing comes any more.
    over: bool,
}

impl Piece {
    fn new() -> Piece {
        Piece { bytes: vec![0; PIECE_BYTES], begin: 0, end: 0, over: false }
    }

    fn is_empty(&self) -> bool {
        self.begin == self.end
    }

    /// Room to fill, while nothing is in it.
    fn wants(&self) -> bool {
        self.is_empty() && !self.over
    }

    fn fill(&mut self, take: impl FnOnce(&mut [u8]) -> std::io::Result<usize>) -> std::io::Result<bool> {
        match ready(take(&mut self.bytes))? {
            Some(0) => self.over = true,
            Some(count) => (self.begin, self.end) = (0, count),
            None => return Ok(false),
        }
        Ok(true)
    }

    fn drain(&mut self, give: impl FnOnce(&[u8]) -> std::io::Result<usize>) -> std::io::Result<bool> {
        match ready(give(&self.bytes[self.begin..self.end]))? {
            Some(count) => self.begin += count,
            None => return Ok(false),
        }
        Ok(true)
    }
}

/// `None` where it would have to wait.
fn ready(outcome: std::io::Result<usize>) -> std::io::Result<Option<usize>> {
    match outcome {
        Ok(count) => Ok(Some(count)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Until the executable has said all, or its server is gone.
///
/// # Errors
/// `System` or `ConnectionLost` when either end fails.
pub fn carry(near: &OwnedFd, mut far: Box<dyn ByteStream>) -> Result<()> {
    let system = |error: std::io::Error| Error::system("pass bytes on", error);
    rustix::io::ioctl_fionbio(near, true).map_err(|errno| system(errno.into()))?;
    let (mut up, mut down) = (Piece::new(), Piece::new());
    loop {
        let mut moved = false;
        if up.wants() {
            moved |= up.fill(|bytes| Ok(rustix::io::read(near, bytes)?)).map_err(system)?;
        }
        if !up.is_empty() {
            moved |= up.drain(|bytes| far.send(&[IoSlice::new(bytes)], &[])).map_err(system)?;
        }
        if up.over && up.is_empty() {
            return Ok(());
        }
        if down.wants() {
            moved |= down.fill(|bytes| far.receive(&mut [IoSliceMut::new(bytes)], &mut Vec::new())).map_err(system)?;
            if down.over {
                // The server has said all: the executable ends by itself, or is ended.
                let _ = rustix::net::shutdown(near, rustix::net::Shutdown::Write);
            }
        }
        if !down.is_empty() {
            moved |= down.drain(|bytes| Ok(rustix::io::write(near, bytes)?)).map_err(system)?;
        }
        if !moved {
            wait(near, &*far, &up, &down)?;
        }
    }
}

fn wait(near: &OwnedFd, far: &dyn ByteStream, up: &Piece, down: &Piece) -> Result<()> {
    let flags = |reads: bool, writes: bool| {
        let read = if reads { PollFlags::IN } else { PollFlags::empty() };
        read | if writes { PollFlags::OUT } else { PollFlags::empty() }
    };
    let Some(descriptor) = far.readiness() else {
        return Err(Error::internal("pass bytes on", "nothing to wait on"));
    };
    let near = PollFd::from_borrowed_fd(near.as_fd(), flags(up.wants(), !down.is_empty()));
    let far = PollFd::from_borrowed_fd(descriptor, flags(down.wants(), !up.is_empty()));
    match poll(&mut [near, far], None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(Error::system("pass bytes on", errno.into())),
    }
}
