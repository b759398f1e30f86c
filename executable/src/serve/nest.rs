//! A routine's way to its own server: a connection for calls inside the call that runs
//! (spec/call.md, section 6).
//!
//! It needs no path and no right to the network: this process makes a pair of sockets, and sends
//! one to the server over the connection that it has. That connection is idle while a routine runs,
//! since everything was sent before.

use std::ffi::{CStr, c_char, c_int};
use std::os::fd::{AsFd, FromRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;

use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_call::{Place, Transmit};
use farcall_link::stream::{ByteStream, Proof};
use farcall_link::{FrameSource, Link, QUEUE_BYTES};
use farcall_wire::{FrameHeader, FrameKind, Request};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::Session;
use super::running::{self, Way};

/// Where another copy of this code asks, if it is not the one that runs calls: a descriptor, or -1
/// and why not, in `words` of so many bytes, with a NUL.
pub type Door = unsafe extern "C" fn(words: *mut c_char, words_bytes: usize) -> c_int;

/// A new connection to the server of the call that this process runs: for calls inside it, with its
/// caller's rights, in what is left of its time. It ends with the call.
///
/// # Errors
/// `Unavailable` where no call runs, or the server or the connection to it cannot do this.
pub fn running_server() -> Result<Box<dyn ByteStream>> {
    let socket = match running::door() {
        Some(door) => through(door)?,
        None => ask()?,
    };
    farcall_transport_unix::from_descriptor(socket, Proof::Inherited)
}

/// Whether a call may run in this process, inside which others can be made.
pub fn in_call() -> bool {
    running::door().is_some() || running::with(|_| ()).is_some()
}

fn through(door: Door) -> Result<OwnedFd> {
    let mut words: [c_char; 512] = [0; 512];
    // SAFETY: the door writes at most so many bytes, and a NUL; what it returns is ours.
    let descriptor = unsafe { door(words.as_mut_ptr(), words.len()) };
    if descriptor < 0 {
        // SAFETY: as above.
        return Err(refused(
            unsafe { CStr::from_ptr(words.as_ptr()) }.to_string_lossy().into_owned(),
        ));
    }
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// The door of this process.
pub(super) unsafe extern "C" fn door(words: *mut c_char, words_bytes: usize) -> c_int {
    match ask() {
        Ok(socket) => socket.into_raw_fd(),
        Err(error) => {
            let said = error.message();
            let count = said.len().min(words_bytes.saturating_sub(1));
            // SAFETY: the caller has room for so many bytes.
            unsafe {
                words.cast::<u8>().copy_from_nonoverlapping(said.as_ptr(), count);
                words.add(count).write(0);
            }
            -1
        }
    }
}

fn ask() -> Result<OwnedFd> {
    let asked = running::with(|running| {
        let call = running.call;
        let way = running.way();
        if !way.session.nests {
            return Err(refused(
                "this server does not let routines call others (nesting_max in its farcall.toml)"
                    .to_owned(),
            ));
        }
        if !way.link.stream().passes_descriptors() {
            return Err(refused(
                "the connection to the server passes no descriptors: it is on another host"
                    .to_owned(),
            ));
        }
        let system =
            |errno: rustix::io::Errno| Error::system("make a pair of sockets", errno.into());
        let (own, server) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .map_err(system)?;
        let kept = own
            .as_fd()
            .try_clone_to_owned()
            .map_err(|error| Error::system("make a pair of sockets", error))?;
        way.send_socket(call, server)?;
        running.given.push(kept);
        Ok(own)
    });
    asked.unwrap_or_else(|| {
        Err(refused("no call runs in this process".to_owned())
            .fix("request it while the routine runs, in the process that runs it"))
    })
}

impl Way<'_> {
    /// Sends the other end to the server; its answer is read later, and says what it says over that
    /// connection, too.
    fn send_socket(&mut self, call: CallId, socket: OwnedFd) -> Result<()> {
        // What else waits leaves before: the socket rides with this one frame.
        self.link.hold_bell(false);
        self.session.send(self.link, self.waiter)?;
        self.session.connection.request(&Request::Nest(call))?;
        let mut asking = Asking { session: self.session, socket: Some(Arc::new(socket)) };
        while !self.link.pump(QUEUE_BYTES, &mut asking)? {
            self.waiter.wait_for_room(self.link)?;
        }
        Ok(())
    }
}

/// The session's frames, and the socket that rides with the question.
struct Asking<'a> {
    session: &'a mut Session,
    socket: Option<Arc<OwnedFd>>,
}

impl FrameSource for Asking<'_> {
    fn next(&mut self, data_bytes_max: u32) -> Option<Transmit> {
        self.session.next(data_bytes_max)
    }

    fn descriptors(&mut self, header: &FrameHeader, _: Option<u32>) -> Result<Vec<Arc<OwnedFd>>> {
        let rides = header.kind == FrameKind::Request as u8;
        Ok(if rides { self.socket.take().into_iter().collect() } else { Vec::new() })
    }

    fn queue_data(&mut self, link: &mut Link, header: FrameHeader, place: &Place) -> Result<()> {
        self.session.queue_data(link, header, place)
    }
}

fn refused(message: String) -> Error {
    Error::new(ErrorKind::Unavailable, "ask for the running server", message)
}
