//! Listening on a socket file that only its owner may connect to.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::stream::{self, ByteStream, Peer};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};

use crate::handed::HandedStream;
use crate::place::{self, Place};
use crate::stream::UnixStream;
use crate::{connect, credentials, directory};

const OPERATION: &str = "listen";
/// Connections that wait to be accepted.
const QUEUE_MAX: i32 = 128;
/// Connections that vanished while they waited and are passed over in one accept.
const VANISHED_MAX: usize = 16;

/// Who connects.
#[derive(Clone, Copy)]
enum Streams {
    /// Clients of this host.
    Direct,
    /// Relays, for clients elsewhere: they hand over what leads to these.
    Handed,
    /// Programs that pass bytes on.
    Bytes,
}

/// A socket file and the socket behind it.
///
/// Every stream it accepts reports the other end's user; whether that user is welcome is the
/// server's to decide, so that it can say why not.
pub struct Listener {
    socket: OwnedFd,
    path: PathBuf,
    /// Device and inode of our file: when we go, we remove it and no other.
    file: (u64, u64),
    streams: Streams,
}

impl Listener {
    /// Listens on `path` with mode 0600, in a directory that no other user can write to; makes the
    /// directory if it is missing. The file of a dead server is replaced in one step.
    ///
    /// # Errors
    /// `Unreachable` when another server already listens there, `PermissionDenied` for an unsafe
    /// directory, `InvalidArgument` when the path is too long or names something that is no socket.
    pub fn bind(path: &Path) -> Result<Listener> {
        Listener::bind_for(path, Streams::Direct)
    }

    /// The same for relays, which hand over what leads to their clients ([`crate::hand_over`]):
    /// nothing but bytes comes from these, and goes to them.
    ///
    /// # Errors
    /// As [`Listener::bind`].
    pub fn bind_for_relays(path: &Path) -> Result<Listener> {
        Listener::bind_for(path, Streams::Handed)
    }

    /// The same for programs that pass bytes on between us and somebody elsewhere.
    ///
    /// # Errors
    /// As [`Listener::bind`].
    pub fn bind_for_bytes(path: &Path) -> Result<Listener> {
        Listener::bind_for(path, Streams::Bytes)
    }

    fn bind_for(path: &Path, streams: Streams) -> Result<Listener> {
        let path = std::path::absolute(path).map_err(|error| Error::system(OPERATION, error))?;
        // Bound under a short name and renamed, a socket with a long one would exist, and nobody
        // could reach it.
        if !place::fits(&path) {
            return Err(explain(&path, Errno::NAMETOOLONG.into()));
        }
        let directory = directory::prepare(&path)?;
        // Two servers that start together would both find a dead file and replace each other's
        // fresh one.
        let _lock = directory::lock(&directory)?;
        refuse_unless_free(&path)?;
        // Listening under a name of our own and renaming it leaves no moment without a working
        // socket, and none in which the file has a wider mode.
        let fresh = directory.join(format!(".f{}", std::process::id()));
        let bound = listen_at(&fresh).and_then(|socket| {
            fs::rename(&fresh, &path)?;
            let file = fs::symlink_metadata(&path)?;
            Ok(Listener { socket, path: path.clone(), file: (file.dev(), file.ino()), streams })
        });
        if bound.is_err() {
            // It may not even exist; the first error is the one to tell.
            let _ = fs::remove_file(&fresh);
        }
        bound.map_err(|error| explain(&path, error))
    }

    /// The socket file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn listen_at(path: &Path) -> io::Result<OwnedFd> {
    let place = Place::of(path)?;
    // Left over from a process with our number that died here; the lock says that nobody uses it.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    net::bind(&socket, &place.address)?;
    rustix::fs::chmod(path, Mode::RUSR | Mode::WUSR)?;
    net::listen(&socket, QUEUE_MAX)?;
    Ok(socket)
}

/// Free is: nothing there, or the socket file of a server that is gone.
fn refuse_unless_free(path: &Path) -> Result<()> {
    let at = |error: Error| error.with("path", path.display());
    let there = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(at(Error::system(OPERATION, error))),
        Ok(there) => there,
    };
    if !there.file_type().is_socket() {
        return Err(at(Error::new(
            ErrorKind::InvalidArgument,
            OPERATION,
            "a file that is not a socket has this path",
        )
        .fix("remove it or choose another path")));
    }
    match connect::connected_socket(path, Duration::ZERO) {
        // Dead, or removed by its owner a moment ago.
        Err(error)
            if matches!(Errno::from_io_error(&error), Some(Errno::CONNREFUSED | Errno::NOENT)) =>
        {
            Ok(())
        }
        Ok(_) => Err(at(Error::new(
            ErrorKind::Unreachable,
            OPERATION,
            "another server already listens there",
        )
        .fix("use that server, stop it, or choose another path"))),
        Err(error) => Err(at(Error::new(
            ErrorKind::Unreachable,
            OPERATION,
            "a socket that may be in use has this path",
        )
        .fix("choose another path")
        .source(error))),
    }
}

fn explain(path: &Path, error: io::Error) -> Error {
    if Errno::from_io_error(&error) == Some(Errno::NAMETOOLONG) {
        return Error::new(
            ErrorKind::InvalidArgument,
            OPERATION,
            "the path is too long for a socket",
        )
        .with("path", path.display())
        .fix("use one whose file name has at most 80 bytes");
    }
    Error::system(OPERATION, error).with("path", path.display())
}

impl stream::Listener for Listener {
    fn accept(&mut self) -> io::Result<Option<Box<dyn ByteStream>>> {
        for _ in 0..VANISHED_MAX {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = match net::accept_with(&self.socket, flags) {
                Ok(socket) => socket,
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(Errno::CONNABORTED | Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
            };
            let proof = credentials::of_peer(socket.as_fd())?;
            let peer = Peer { address: self.address(), proof };
            return Ok(Some(match self.streams {
                Streams::Direct => Box::new(UnixStream::new(socket, peer)),
                Streams::Handed => Box::new(HandedStream::new(socket, peer)?),
                Streams::Bytes => Box::new(UnixStream::relayed(socket, peer)),
            }));
        }
        Ok(None)
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn address(&self) -> String {
        format!("unix:{}", self.path.display())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Under the lock, so that a successor's file is never taken for ours between the look and
        // the removal.
        let lock = self.path.parent().and_then(|directory| directory::lock(directory).ok());
        let ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|file| (file.dev(), file.ino()) == self.file);
        if lock.is_some() && ours {
            // A file that stays behind is replaced by the next server, so failing here harms
            // nobody.
            let _ = fs::remove_file(&self.path);
        }
    }
}
