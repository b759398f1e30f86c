//! The battery over what relays hand over: two pipes, or one socket, as `sshd` gives them to a
//! command. In a process of its own, which ignores SIGPIPE as the server does.
#![allow(clippy::unwrap_used)]

use std::io::{IoSliceMut, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use farcall_link::stream::{ByteStream, Listener as _};
use farcall_transport_battery::Rig;
use farcall_transport_unix::{Listener, hand_over};

/// A server for relays, and the relays that have come.
struct Relays {
    folder: PathBuf,
    listener: Listener,
    relays: Vec<UnixStream>,
}

impl Relays {
    fn new() -> Relays {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("farcall-handed-{}-{number}", std::process::id()));
        let listener = Listener::bind_for_relays(&folder.join("s")).unwrap();
        Relays { folder, listener, relays: Vec::new() }
    }

    /// A relay that has connected, and the server's end.
    fn connect(&mut self) -> (&UnixStream, Box<dyn ByteStream>) {
        self.relays.push(UnixStream::connect(self.folder.join("s")).unwrap());
        let stream = loop {
            match self.listener.accept().unwrap() {
                Some(stream) => break stream,
                None => rest(),
            }
        };
        (self.relays.last().unwrap(), stream)
    }

    /// The server's end, when the relay has handed this over.
    fn handed(&mut self, input: &OwnedFd, output: &OwnedFd) -> Box<dyn ByteStream> {
        let (relay, stream) = self.connect();
        hand_over(relay.as_fd(), input.as_fd(), output.as_fd()).unwrap();
        stream
    }
}

impl Drop for Relays {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).unwrap();
    }
}

fn rest() {
    std::thread::sleep(Duration::from_micros(100));
}

/// Both ends are handed over: what one writes is what the other reads.
fn over_pipes() -> Rig {
    let mut relays = Relays::new();
    let pair = move || {
        let forth = rustix::pipe::pipe().unwrap();
        let back = rustix::pipe::pipe().unwrap();
        (relays.handed(&back.0, &forth.1), relays.handed(&forth.0, &back.1))
    };
    Rig { pair: Box::new(pair), pass_time: Box::new(rest) }
}

fn over_a_socket() -> Rig {
    let mut relays = Relays::new();
    let pair = move || {
        let (one, other) = UnixStream::pair().unwrap();
        let one = OwnedFd::from(one);
        let other = OwnedFd::from(other);
        (relays.handed(&one, &one), relays.handed(&other, &other))
    };
    Rig { pair: Box::new(pair), pass_time: Box::new(rest) }
}

mod pipes {
    farcall_transport_battery::stamp!(super::super::over_pipes);
}

mod socket {
    farcall_transport_battery::stamp!(super::super::over_a_socket);
}

/// What comes next; `None` when it ends.
fn next(stream: &mut dyn ByteStream) -> std::io::Result<Option<u8>> {
    let mut byte = [0];
    loop {
        match stream.receive(&mut [IoSliceMut::new(&mut byte)], &mut Vec::new()) {
            Ok(count) => return Ok((count > 0).then_some(byte[0])),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => rest(),
            Err(error) => return Err(error),
        }
    }
}

#[test]
fn the_end_of_a_relay_ends_the_stream_behind_what_came() {
    let mut relays = Relays::new();
    let forth = rustix::pipe::pipe().unwrap();
    let back = rustix::pipe::pipe().unwrap();
    let mut stream = relays.handed(&forth.0, &back.1);
    std::fs::File::from(forth.1.try_clone().unwrap()).write_all(b"ab").unwrap();
    relays.relays.clear();
    assert_eq!(next(&mut *stream).unwrap(), Some(b'a'));
    assert_eq!(next(&mut *stream).unwrap(), Some(b'b'));
    assert_eq!(next(&mut *stream).unwrap(), None, "although the pipe is open");
}

#[test]
fn a_relay_that_hands_nothing_over_is_refused() {
    let mut relays = Relays::new();
    let (mut relay, mut stream) = relays.connect();
    relay.write_all(b"GET / HTTP/1.1").unwrap();
    assert_eq!(next(&mut *stream).unwrap_err().kind(), std::io::ErrorKind::InvalidData);
    let (_, mut stream) = relays.connect();
    relays.relays.clear();
    assert!(next(&mut *stream).is_err(), "gone without a word");
}
