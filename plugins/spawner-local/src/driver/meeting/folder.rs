//! The folder of a launch by MPI: made, listened in, and removed when a server left it behind.

use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use farcall_system::temporary;
use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use rustix::rand::{GetRandomFlags, getrandom};

/// Memory that looks like files, where a system has it.
const MEMORY: &str = "/dev/shm";
/// Names of folders begin so.
const PREFIX: &str = "farcall-ranks-";
/// The socket's name.
pub(super) const SOCKET: &str = "server";

/// A new one, which nobody else may enter.
pub(super) fn make() -> std::io::Result<PathBuf> {
    let mut number = [0; 16];
    getrandom(&mut number, GetRandomFlags::empty())?;
    let name = format!("{PREFIX}{:032x}", u128::from_ne_bytes(number));
    let make = |place: &Path| {
        let folder = place.join(&name);
        std::fs::DirBuilder::new().mode(0o700).create(&folder).map(|()| folder)
    };
    make(Path::new(MEMORY)).or_else(|_| make(&std::env::temp_dir()))
}

/// The folder stays locked as long as this process uses it: others must not take it for left
/// behind.
pub(super) fn listen(
    folder: &Path,
    user: Option<(u32, u32)>,
) -> std::io::Result<(UnixListener, OwnedFd)> {
    let lock = OwnedFd::from(std::fs::File::open(folder)?);
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    let socket = folder.join(SOCKET);
    let listener = UnixListener::bind(&socket)?;
    listener.set_nonblocking(true)?;
    if let Some((user, group)) = user {
        std::os::unix::fs::chown(&socket, Some(user), Some(group))?;
        std::os::unix::fs::chown(folder, Some(user), Some(group))?;
    }
    Ok((listener, lock))
}

/// Removes what servers of ours left behind that were killed.
pub(super) fn sweep() {
    let own = geteuid();
    let entries =
        [PathBuf::from(MEMORY), std::env::temp_dir()].into_iter().flat_map(std::fs::read_dir);
    for entry in entries
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
    {
        let ours = entry
            .metadata()
            .is_ok_and(|data| data.is_dir() && (own.is_root() || data.uid() == own.as_raw()));
        // One without a socket is of processes that were started from another node: it goes when
        // they have emptied it.
        let is_left = ours
            && std::fs::remove_dir(entry.path()).is_err()
            && entry.path().join(SOCKET).exists();
        if is_left
            && std::fs::File::open(entry.path()).is_ok_and(|folder| {
                flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok()
            })
        {
            temporary::remove(&entry.path());
        }
    }
}
