//! Standard output and standard error, written without waiting forever for a reader.
//!
//! A pipe that nobody reads and a terminal that was stopped (Ctrl-S) take nothing, and a plain
//! `write` to them does not return. The open file is shared with other processes, so O_NONBLOCK
//! cannot be set on it: a pipe or terminal is opened again here, without blocking, and this process
//! writes to its own open file. Only a file on a dead file system can still hold a writer
//! (docs/explanation/waiting.md).

use std::fs::Metadata;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;

/// Bytes written to a pipe at a time: as many go in whole or not at all (POSIX, PIPE_BUF).
const PIECE_BYTES: usize = 4096;
/// The same of a terminal that cannot be opened again: its buffer may have little room.
const TERMINAL_PIECE_BYTES: usize = 256;
/// Pause when a descriptor says that it has room and takes nothing.
const PAUSE: Duration = Duration::from_millis(2);
/// Longest single wait: poll(2) counts milliseconds in 31 bits.
const WAIT_MAX: Duration = Duration::from_secs(3600);

/// Standard output or standard error.
pub struct Outlet {
    descriptor: fn() -> BorrowedFd<'static>,
    /// How it is written, and for which open file that was found out.
    way: Mutex<Option<Known>>,
}

/// Device and number of an open file, and how it is written.
type Known = ((u64, u64), Way);

/// How a descriptor is written without blocking.
enum Way {
    /// As it is: a file takes what it is given.
    Plain,
    /// A socket can be asked not to wait.
    Socket,
    /// By an open file of our own.
    Own(OwnedFd),
    /// A pipe or terminal that may not be opened again: it is asked for room before each short
    /// piece.
    Asked(usize),
}

static OUTPUT: Outlet = Outlet { descriptor: rustix::stdio::stdout, way: Mutex::new(None) };
static ERROR: Outlet = Outlet { descriptor: rustix::stdio::stderr, way: Mutex::new(None) };

/// Standard output.
pub fn output() -> &'static Outlet {
    &OUTPUT
}

/// Standard error.
pub fn error() -> &'static Outlet {
    &ERROR
}

impl Outlet {
    /// Writes some of the bytes: as soon as the reader takes any, within `patience`.
    ///
    /// # Errors
    /// `TimedOut` when the reader takes nothing; `Interrupted` when a signal came meanwhile; what
    /// the system says.
    pub fn write_some(&self, bytes: &[u8], patience: Duration) -> io::Result<usize> {
        let begin = Instant::now();
        loop {
            match self.try_write(bytes) {
                Err(Errno::AGAIN) => {}
                outcome => return Ok(outcome?),
            }
            let Some(left) = patience.checked_sub(begin.elapsed()).filter(|left| !left.is_zero())
            else {
                return Err(io::Error::new(ErrorKind::TimedOut, "its reader takes nothing"));
            };
            let asked = Instant::now();
            if self.wait(left.min(WAIT_MAX))? && asked.elapsed() < PAUSE {
                std::thread::sleep(PAUSE);
            }
        }
    }

    /// Writes all bytes; each piece has `patience`, so that a slow reader gets everything.
    ///
    /// # Errors
    /// As [`Outlet::write_some`], but for signals, which do not end it.
    pub fn write(&self, bytes: &[u8], patience: Duration) -> io::Result<()> {
        Patient { outlet: self, patience }.write_all(bytes)
    }

    /// A writer that waits this long for room, each time.
    pub fn patient(&self, patience: Duration) -> Patient<'_> {
        Patient { outlet: self, patience }
    }

    /// A writer that waits for its reader forever: for a thread that nobody waits for.
    pub fn waiting(&self) -> Patient<'_> {
        self.patient(Duration::MAX)
    }

    /// Waits for room; true if there is some, or an error to hear of.
    fn wait(&self, time: Duration) -> rustix::io::Result<bool> {
        let descriptor = (self.descriptor)();
        let time = Timespec::try_from(time).ok();
        poll(&mut [PollFd::new(&descriptor, PollFlags::OUT)], time.as_ref()).map(|ready| ready > 0)
    }

    /// Writes what there is room for now; `AGAIN` where that is nothing.
    fn try_write(&self, bytes: &[u8]) -> rustix::io::Result<usize> {
        let descriptor = (self.descriptor)();
        let mut way = self.way(descriptor)?;
        let piece = &bytes[..bytes.len().min(PIECE_BYTES)];
        match way.as_mut().map(|(_, way)| way) {
            None | Some(Way::Plain) => rustix::io::write(descriptor, bytes),
            Some(Way::Socket) => {
                rustix::net::send(descriptor, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)
            }
            Some(Way::Own(own)) => rustix::io::write(own, piece),
            Some(Way::Asked(most)) => match self.wait(Duration::ZERO)? {
                true => rustix::io::write(descriptor, &piece[..piece.len().min(*most)]),
                false => Err(Errno::AGAIN),
            },
        }
    }

    /// Finds out how the descriptor is written, again where it leads elsewhere now (dup2).
    fn way(&self, descriptor: BorrowedFd<'_>) -> rustix::io::Result<MutexGuard<'_, Option<Known>>> {
        let status = rustix::fs::fstat(descriptor)?;
        let file = (status.st_dev, status.st_ino);
        let mut way = self.way.lock().unwrap_or_else(PoisonError::into_inner);
        if way.as_ref().is_none_or(|(known, _)| *known != file) {
            *way = Some((file, Way::of(descriptor)));
        }
        Ok(way)
    }
}

impl Way {
    fn of(descriptor: BorrowedFd<'_>) -> Way {
        let is_terminal = rustix::termios::isatty(descriptor);
        let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
        let Ok(status) = std::fs::metadata(&path) else { return Way::Plain };
        if status.file_type().is_socket() {
            return Way::Socket;
        }
        if !status.file_type().is_fifo() && !is_terminal {
            return Way::Plain;
        }
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(own) if is_same(&own, &status) => Way::Own(own),
            // Without a reader, or another user's.
            _ => Way::Asked(if is_terminal { TERMINAL_PIECE_BYTES } else { PIECE_BYTES }),
        }
    }
}

fn is_same(own: &OwnedFd, status: &Metadata) -> bool {
    rustix::fs::fstat(own.as_fd())
        .is_ok_and(|own| (own.st_dev, own.st_ino) == (status.dev(), status.ino()))
}

/// Writes to an outlet, and fails when its reader takes nothing for too long.
pub struct Patient<'a> {
    outlet: &'a Outlet,
    patience: Duration,
}

impl Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outlet.write_some(bytes, self.patience)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static TESTED: Cell<Option<BorrowedFd<'static>>> = const { Cell::new(None) };
    }

    /// An outlet to this descriptor, for this thread's tests.
    fn to(descriptor: OwnedFd) -> Outlet {
        let leaked: &'static OwnedFd = Box::leak(Box::new(descriptor));
        TESTED.set(Some(leaked.as_fd()));
        Outlet { descriptor: || TESTED.get().unwrap(), way: Mutex::new(None) }
    }

    fn refused_in_time(outlet: &Outlet) {
        let begin = Instant::now();
        let error = outlet.write(&vec![b'x'; 1 << 20], Duration::from_millis(100)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(begin.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_pipe_that_nobody_reads_holds_no_writer() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let flags = rustix::fs::fcntl_getfl(&writer).unwrap();
        let outlet = to(writer.try_clone().unwrap());
        refused_in_time(&outlet);
        // What others share is as it was.
        assert_eq!(rustix::fs::fcntl_getfl(&writer).unwrap(), flags);
        // A reader that is slow and reads gets everything.
        let reading = std::thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            let mut count = 0;
            while !bytes[..count].contains(&b'z') {
                count = rustix::io::read(&reader, &mut bytes).unwrap();
            }
        });
        outlet.write(&vec![b'y'; 1 << 20], Duration::from_secs(60)).unwrap();
        outlet.write(b"z", Duration::from_secs(60)).unwrap();
        reading.join().unwrap();
    }

    #[test]
    fn a_socket_that_nobody_reads_holds_no_writer() {
        let (_near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        refused_in_time(&to(far.into()));
    }

    #[test]
    fn a_stopped_terminal_holds_no_writer() {
        let flags = rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY;
        let master = rustix::pty::openpt(flags).unwrap();
        rustix::pty::grantpt(&master).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        let name = rustix::pty::ptsname(&master, Vec::new()).unwrap();
        let terminal =
            rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        rustix::termios::tcflow(&terminal, rustix::termios::Action::OOff).unwrap();
        refused_in_time(&to(terminal));
        // Where it cannot be opened again, it is asked for room.
        let asked =
            to(rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap());
        let status = rustix::fs::fstat((asked.descriptor)()).unwrap();
        let way = Way::Asked(TERMINAL_PIECE_BYTES);
        *asked.way.lock().unwrap() = Some(((status.st_dev, status.st_ino), way));
        refused_in_time(&asked);
    }

    #[test]
    fn an_outlet_follows_its_descriptor() {
        let read = |reader: &OwnedFd| {
            let mut bytes = [0; 8];
            let count = rustix::io::read(reader, &mut bytes).unwrap();
            bytes[..count].to_vec()
        };
        let (first, writer) = rustix::pipe::pipe().unwrap();
        let (second, other) = rustix::pipe::pipe().unwrap();
        let outlet = to(writer);
        outlet.write(b"one", Duration::from_secs(60)).unwrap();
        let other: &'static OwnedFd = Box::leak(Box::new(other));
        TESTED.set(Some(other.as_fd()));
        outlet.write(b"two", Duration::from_secs(60)).unwrap();
        assert_eq!((read(&first), read(&second)), (b"one".to_vec(), b"two".to_vec()));
    }
}
