//! A stream as a socket: what speaks the wire by hand does so over TLS, too.

use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use farcall_link::stream::ByteStream;
use rustix::event::{PollFd, PollFlags, poll};

/// Bytes on their way in one direction, at most.
const BUFFER: usize = 64 << 10;

/// What passes one way.
#[derive(Default)]
struct Way {
    waiting: Vec<u8>,
    ended: bool,
}

impl Way {
    /// Takes what comes; whether anything did.
    fn fill(&mut self, receive: impl FnOnce(&mut [u8]) -> std::io::Result<usize>) -> bool {
        if self.ended || self.waiting.len() >= BUFFER {
            return false;
        }
        let mut room = vec![0; BUFFER];
        match receive(&mut room) {
            Ok(count) if count > 0 => self.waiting.extend_from_slice(&room[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            _ => self.ended = true,
        }
        true
    }

    /// Passes on what waits; whether anything went.
    fn drain(&mut self, send: impl FnOnce(&[u8]) -> std::io::Result<usize>) -> bool {
        if self.waiting.is_empty() {
            return false;
        }
        match send(&self.waiting) {
            Ok(count) => drop(self.waiting.drain(..count)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            // Nobody is there to take it.
            Err(_) => (self.waiting, self.ended) = (Vec::new(), true),
        }
        true
    }

    fn is_over(&self) -> bool {
        self.ended && self.waiting.is_empty()
    }
}

/// The other end of `stream`, passed on by a thread until either end closes.
///
/// # Panics
/// When there are no sockets.
pub fn socket_of(mut stream: Box<dyn ByteStream>) -> UnixStream {
    let (ours, mut theirs) = UnixStream::pair().expect("there are sockets");
    theirs.set_nonblocking(true).expect("sockets need not block");
    std::thread::spawn(move || {
        let mut out = Way::default();
        let mut back = Way::default();
        while !out.is_over() && !back.is_over() {
            let moved = [
                out.fill(|room| theirs.read(room)),
                out.drain(|bytes| stream.send(&[IoSlice::new(bytes)], &[])),
                back.fill(|room| stream.receive(&mut [IoSliceMut::new(room)], &mut Vec::new())),
                back.drain(|bytes| theirs.write(bytes)),
            ];
            if moved == [false; 4] {
                wait(&*stream, &out, &theirs, &back);
            }
        }
    });
    ours
}

/// Waits until one of both can go on.
fn wait(stream: &dyn ByteStream, out: &Way, socket: &UnixStream, back: &Way) {
    let wish = |reads: &Way, writes: &Way| {
        let read = if reads.waiting.len() < BUFFER { PollFlags::IN } else { PollFlags::empty() };
        if writes.waiting.is_empty() { read } else { read | PollFlags::OUT }
    };
    let descriptor = stream.readiness().expect("a stream of the system's");
    let near = PollFd::from_borrowed_fd(socket.as_fd(), wish(out, back));
    let far = PollFd::from_borrowed_fd(descriptor, wish(back, out));
    // An end shows as readiness, and a stream of records may hold bytes that no descriptor tells
    // of.
    let _ =
        poll(&mut [near, far], Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 20_000_000 }));
}
