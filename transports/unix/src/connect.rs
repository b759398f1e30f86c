//! Reaching a server by the path of its socket.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::stream::{ByteStream, Peer, Proof};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::place::Place;
use crate::stream::UnixStream;
use crate::{credentials, own_uid};

/// How long a server whose queue of new connections is full is asked again.
const BUSY_MAX: Duration = Duration::from_secs(5);
const BUSY_PAUSE: Duration = Duration::from_millis(5);
/// Longest path of a socket (unix(7)).
const PATH_BYTES_MAX: usize = 107;

/// Where a user's server listens by default: `$XDG_RUNTIME_DIR/farcall/server.sock`, or
/// `/tmp/farcall-<uid>/server.sock` where there is no such directory: without a login manager,
/// after `su`, in containers.
///
/// The path is only computed; [`crate::Listener::bind`] makes and judges the directory, [`connect`]
/// judges the server.
pub fn default_socket_path() -> PathBuf {
    own_socket_path("server.sock")
}

/// A socket of that name beside it: `/tmp/farcall-<uid>/NAME`, too, where the runtime directory's
/// name is too long for it.
pub fn own_socket_path(name: &str) -> PathBuf {
    socket_path_in(std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from), name)
}

pub(crate) fn socket_path_in(runtime_directory: Option<PathBuf>, name: &str) -> PathBuf {
    // A relative path is to be ignored, says the XDG base directory specification.
    let usable =
        runtime_directory.filter(|directory| directory.is_absolute() && directory.is_dir());
    let path = usable.map(|directory| directory.join("farcall").join(name));
    path.filter(|path| path.as_os_str().len() <= PATH_BYTES_MAX)
        .unwrap_or_else(|| common_socket_path(name))
}

/// A socket of that name where users have theirs who have no runtime directory:
/// `/tmp/farcall-<uid>/NAME`.
pub fn common_socket_path(name: &str) -> PathBuf {
    PathBuf::from(format!("/tmp/farcall-{}/{name}", own_uid()))
}

/// Connects to the server that listens on `path`; it must run as this user or as root.
///
/// # Errors
/// `Unreachable` when nobody listens, `PermissionDenied` when we may not connect or another user's
/// process listens.
pub fn connect(path: &Path) -> Result<Box<dyn ByteStream>> {
    connect_within(path, BUSY_MAX)
}

/// The same, and waits at most `timeout` for a server whose queue of new connections is full.
///
/// # Errors
/// As [`connect`].
pub fn connect_within(path: &Path, timeout: Duration) -> Result<Box<dyn ByteStream>> {
    connect_trusting(path, &[own_uid(), 0], timeout.min(BUSY_MAX))
}

/// Connects to the server of user `uid`, who is trusted with what the calls carry.
///
/// # Errors
/// As [`connect`].
pub fn connect_to_user(path: &Path, uid: u32) -> Result<Box<dyn ByteStream>> {
    connect_trusting(path, &[uid], BUSY_MAX)
}

fn connect_trusting(
    path: &Path,
    trusted: &[u32],
    patience: Duration,
) -> Result<Box<dyn ByteStream>> {
    let socket = connected_socket(path, patience).map_err(|error| explain(path, error))?;
    let system = |error| Error::system("connect", error).with("path", path.display());
    let proof = credentials::of_peer(socket.as_fd()).map_err(system)?;
    match &proof {
        Proof::User { uid, .. } if trusted.contains(uid) => {}
        Proof::User { uid, .. } => return Err(foreign_server(path, *uid)),
        _ => return Err(Error::internal("connect", "a Unix socket proves its user")),
    }
    let address = format!("unix:{}", path.display());
    Ok(Box::new(UnixStream::new(socket, Peer { address, proof }).blocking()))
}

/// A server of another user in our place could read and answer every call, so it gets nothing, not
/// even a Hello.
fn foreign_server(path: &Path, uid: u32) -> Error {
    Error::new(
        ErrorKind::PermissionDenied,
        "connect",
        format!("the server belongs to another user (uid {uid})"),
    )
    .with("path", path.display())
    .with("own uid", own_uid())
    .fix("start your own server: farcall serve --listen unix:PATH")
}

/// Connects without ever blocking for longer than `patience`.
pub(crate) fn connected_socket(path: &Path, patience: Duration) -> io::Result<OwnedFd> {
    let place = Place::of(path)?;
    // Non-blocking, because connect() to a full queue would wait as long as the server likes.
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let begin = Instant::now();
    loop {
        match rustix::net::connect(&socket, &place.address) {
            Ok(()) => return Ok(socket),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if begin.elapsed() < patience => std::thread::sleep(BUSY_PAUSE),
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// The system refuses what is none, a folder for instance, in the same words as a socket whose
/// server is gone.
fn is_socket(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.file_type().is_socket())
}

fn explain(path: &Path, error: io::Error) -> Error {
    let start = format!("farcall serve --listen unix:{}", path.display());
    let (kind, message, fix) = match Errno::from_io_error(&error) {
        Some(Errno::NOENT) => {
            (ErrorKind::Unreachable, "there is no such socket", format!("start a server: {start}"))
        }
        Some(Errno::CONNREFUSED) if !is_socket(path) => {
            let fix = "pass the path of the socket, as farcall serve prints it";
            (ErrorKind::Unreachable, "this is not a server's socket", fix.to_owned())
        }
        Some(Errno::CONNREFUSED) => (
            ErrorKind::Unreachable,
            "the server of this socket has ended",
            format!("start it again: {start}"),
        ),
        Some(Errno::ACCESS | Errno::PERM) => (
            ErrorKind::PermissionDenied,
            "the socket belongs to another user",
            "start your own server".to_owned(),
        ),
        Some(Errno::AGAIN) => (
            ErrorKind::Unreachable,
            "the server accepts no connections",
            "check whether it hangs".to_owned(),
        ),
        Some(Errno::NAMETOOLONG) => (
            ErrorKind::InvalidArgument,
            "the path is too long for a socket",
            "use one whose file name has at most 80 bytes".to_owned(),
        ),
        Some(Errno::NOTSOCK | Errno::PROTOTYPE) => (
            ErrorKind::InvalidArgument,
            "this is not a server's socket",
            "check the path".to_owned(),
        ),
        _ => return Error::system("connect", error).with("path", path.display()),
    };
    Error::new(kind, "connect", message).with("path", path.display()).fix(fix).source(error)
}
