//! A routine's way to its own server: a connection for calls inside the call that runs (spec/call.md, section 6).
//!
//! It needs no path and no right to the network: this process makes a pair of sockets, and sends one to the server over the
//! connection that it has. That connection is idle while a routine runs, since everything was sent before.

use std::ffi::{CStr, c_char, c_int};
use std::os::fd::{AsFd, FromRawFd, IntoRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_call::{Connection, Transmit};
use farcall_interfaces::link::{Link, QUEUE_BYTES};
use farcall_interfaces::stream::{ByteStream, Proof};
use farcall_transport_unix::Birthplace;
use farcall_wire::Request;
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};

use super::wait::Waiter;
use crate::entry::EntryPoint;

/// Where another copy of this code asks, if it is not the one that runs calls: a descriptor, or -1 and why not, in `words`
/// of so many bytes, with a NUL.
pub type Door = unsafe extern "C" fn(words: *mut c_char, words_bytes: usize) -> c_int;

/// The door of the process's host, where this code came in with a routine's library.
static DOOR: OnceLock<Door> = OnceLock::new();
/// The call that runs, while one does.
static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

/// What leads to the server.
pub(super) struct Way<'a> {
    pub connection: &'a mut Connection,
    pub link: &'a mut Link,
    pub waiter: &'a mut Waiter,
    /// Whether the server lets routines call others.
    pub nests: bool,
}

struct Running {
    /// Taken from whoever runs the call, who takes it back before it goes on.
    way: NonNull<Way<'static>>,
    call: CallId,
    /// A fork of a process that runs a call has no way: two that write to one connection destroy it.
    process: Birthplace,
    /// Our ends of the connections that were asked for, to end them with the call.
    given: Vec<OwnedFd>,
}

// SAFETY: whoever holds the lock on `RUNNING` has the way alone: the thread that lent it waits for the routine, and takes it
// back under the same lock.
unsafe impl Send for Running {}

fn running() -> MutexGuard<'static, Option<Running>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the routine that `run` runs ask for its server. The connections that it got end with it.
pub(super) fn during<T>(mut way: Way<'_>, call: CallId, run: impl FnOnce() -> T) -> T {
    let way = NonNull::from(&mut way).cast::<Way<'static>>();
    *running() = Some(Running { way, call, process: Birthplace::here(), given: Vec::new() });
    // However the routine is left, nobody finds the way any more.
    let _end = End;
    run()
}

struct End;

impl Drop for End {
    fn drop(&mut self) {
        let ended = running().take();
        // A fork that came this far must not end what its parent uses.
        let given = ended.filter(|ended| ended.process.is_here()).map_or(Vec::new(), |ended| ended.given);
        for socket in &given {
            // Fails only if the other end is gone.
            let _ = shutdown(socket, Shutdown::Both);
        }
    }
}

/// A new connection to the server of the call that this process runs: for calls inside it, with its caller's rights, in what
/// is left of its time. It ends with the call.
///
/// # Errors
/// `Unavailable` where no call runs, or the server or the connection to it cannot do this.
pub fn running_server() -> Result<Box<dyn ByteStream>> {
    let socket = match DOOR.get() {
        Some(door) => through(*door)?,
        None => ask()?,
    };
    farcall_transport_unix::from_descriptor(socket, Proof::Inherited)
}

fn through(door: Door) -> Result<OwnedFd> {
    let mut words: [c_char; 512] = [0; 512];
    // SAFETY: the door writes at most so many bytes, and a NUL; what it returns is ours.
    let descriptor = unsafe { door(words.as_mut_ptr(), words.len()) };
    if descriptor < 0 {
        // SAFETY: as above.
        return Err(refused(unsafe { CStr::from_ptr(words.as_ptr()) }.to_string_lossy().into_owned()));
    }
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Shows the way to a library that was loaded with a copy of this code: `entry` is its `farcall_executable_door`.
pub(crate) fn show_door(entry: EntryPoint) {
    if entry.function() as usize == farcall_executable_door as *const () as usize {
        return;
    }
    // SAFETY: that is the signature of the function of this name.
    unsafe {
        let tell = std::mem::transmute::<unsafe extern "C" fn(), unsafe extern "C" fn(Option<Door>)>(entry.function());
        tell(Some(door));
    }
}

/// The door of this process.
unsafe extern "C" fn door(words: *mut c_char, words_bytes: usize) -> c_int {
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
    let mut running = running();
    let running = running.as_mut().filter(|running| running.process.is_here()).ok_or_else(|| {
        refused("no call runs in this process".to_owned())
            .fix("ask while the routine runs, in the process that runs it")
    })?;
    // SAFETY: it was lent for as long as it stands there, and the lock is held.
    let way = unsafe { running.way.as_mut() };
    if !way.nests {
        return Err(refused("this server lets routines call no others (nesting_max in its farcall.toml)".to_owned()));
    }
    if !way.link.stream().passes_descriptors() {
        return Err(refused("the connection to the server passes no descriptors: it is on another host".to_owned()));
    }
    let system = |errno: rustix::io::Errno| Error::system("make a pair of sockets", errno.into());
    let (own, server) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).map_err(system)?;
    let kept = own.as_fd().try_clone_to_owned().map_err(|error| Error::system("make a pair of sockets", error))?;
    way.send(running.call, server)?;
    running.given.push(kept);
    Ok(own)
}

impl Way<'_> {
    /// Sends the other end to the server; its answer is read when the routine has returned, and says what it says over that
    /// connection, too.
    fn send(&mut self, call: CallId, socket: OwnedFd) -> Result<()> {
        self.connection.request(&Request::Nest(call))?;
        let (connection, mut socket) = (&mut *self.connection, Some(Arc::new(socket)));
        self.link.hold_bell(false);
        loop {
            let done = self.link.pump(QUEUE_BYTES, |link| {
                let Some(Transmit::Control { header, body, .. }) = connection.poll_transmit() else { return Ok(false) };
                link.queue_control(header, &body, socket.take().into_iter().collect());
                Ok(true)
            })?;
            if done {
                return Ok(());
            }
            self.waiter.wait_for_room(self.link)?;
        }
    }
}

fn refused(message: String) -> Error {
    Error::new(ErrorKind::Unavailable, "ask for the running server", message)
}

/// Where to ask for the running server, for a copy of this code that does not run calls itself.
///
/// # Safety
/// `door` is as farcall-executable.h says, for as long as the process lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_executable_door(door: Option<Door>) {
    if let Some(door) = door {
        let _ = DOOR.set(door);
    }
}
