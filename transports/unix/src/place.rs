//! The address of a socket file whose path may have any length.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::SocketAddrUnix;

/// The bytes that an address has for a path: `sun_path` of unix(7) has 108, the last of which is
/// NUL.
const PATH_MAX: usize = 107;
/// The bytes of a file's name where its path is longer: what `/proc/self/fd/NUMBER/` leaves.
const NAME_MAX: usize = 80;

/// What a socket is bound or connected to. A path that is too long for an address is named from
/// its folder, which stays open while this value lives.
pub(crate) struct Place {
    pub(crate) address: SocketAddrUnix,
    _folder: Option<OwnedFd>,
}

impl Place {
    /// # Errors
    /// `ENAMETOOLONG` for a path that does not fit ([`fits`]), and where there is no `/proc`.
    /// What the system says of the folder.
    pub(crate) fn of(path: &Path) -> io::Result<Place> {
        if is_short(path) {
            return Ok(Place { address: SocketAddrUnix::new(path)?, _folder: None });
        }
        let (Some(parent), Some(name)) = (path.parent(), short_name(path)) else {
            return Err(Errno::NAMETOOLONG.into());
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(parent, flags, Mode::empty())?;
        let named = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        if !named.exists() {
            return Err(Errno::NAMETOOLONG.into());
        }
        Ok(Place { address: SocketAddrUnix::new(named.join(name))?, _folder: Some(folder) })
    }
}

/// Whether a socket can have this path: any of 107 bytes, or a longer one whose file has a name of
/// at most 80.
pub(crate) fn fits(path: &Path) -> bool {
    is_short(path) || short_name(path).is_some()
}

fn is_short(path: &Path) -> bool {
    path.as_os_str().len() <= PATH_MAX
}

fn short_name(path: &Path) -> Option<&OsStr> {
    path.file_name().filter(|name| name.len() <= NAME_MAX)
}

/// Connects to the program that listens there, with nothing said of who that is: for programs that
/// pass bytes on.
///
/// # Errors
/// What the system says.
pub fn connect_for_bytes(path: &Path) -> io::Result<UnixStream> {
    if is_short(path) {
        return UnixStream::connect(path);
    }
    let place = Place::of(path)?;
    let flags = rustix::net::SocketFlags::CLOEXEC;
    let family = rustix::net::AddressFamily::UNIX;
    let socket = rustix::net::socket_with(family, rustix::net::SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &place.address)?;
    Ok(UnixStream::from(socket))
}
