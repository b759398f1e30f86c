//! The directory a socket file lives in: made private, judged before use, locked while a socket
//! changes hands.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::own_uid;

const OPERATION: &str = "listen";
/// How long another server may take to bind in the same directory.
const LOCK_MAX: Duration = Duration::from_secs(5);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

const STICKY: u32 = 0o1000;
const OTHERS_WRITE: u32 = 0o022;

/// The directory of `path`, made with mode 0700 if it is missing, and judged safe.
///
/// # Errors
/// `PermissionDenied` where another user could put a socket of theirs in our place.
pub fn prepare(path: &Path) -> Result<PathBuf> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    match DirBuilder::new().mode(0o700).create(&directory) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => {
            return Err(Error::system(OPERATION, error)
                .with("directory", directory.display())
                .fix("create the directory above it, or use another path: --listen unix:PATH"));
        }
    }
    judge(&directory)?;
    Ok(directory)
}

/// Refuses what another user controls, or could come to control between our check and our use.
fn judge(directory: &Path) -> Result<()> {
    let system = |error| Error::system(OPERATION, error).with("directory", directory.display());
    let named = fs::symlink_metadata(directory).map_err(system)?;
    let trusted = |uid: u32| uid == own_uid() || uid == 0;
    if named.is_symlink() && !trusted(named.uid()) {
        // The classic trap in /tmp: a link planted where the next server will look.
        return Err(unsafe_directory(
            directory,
            format!("is a symbolic link made by uid {}", named.uid()),
        ));
    }
    let real = fs::metadata(directory).map_err(system)?;
    if !real.is_dir() {
        return Err(unsafe_directory(directory, "is not a directory".into()));
    }
    if !trusted(real.uid()) {
        return Err(unsafe_directory(directory, format!("belongs to uid {}", real.uid())));
    }
    if real.mode() & OTHERS_WRITE != 0 && real.mode() & STICKY == 0 {
        return Err(unsafe_directory(
            directory,
            format!("is writable for others (mode {:o})", real.mode() & 0o7777),
        ));
    }
    Ok(())
}

fn unsafe_directory(directory: &Path, what: String) -> Error {
    Error::new(ErrorKind::PermissionDenied, OPERATION, format!("the socket's directory {what}"))
        .with("directory", directory.display())
        .with("own uid", own_uid())
        .fix("use your own directory with mode 0700")
}

/// Keeps other servers from binding in this directory until it is dropped.
///
/// # Errors
/// `Unreachable` when somebody holds the lock for seconds.
pub fn lock(directory: &Path) -> Result<File> {
    let system =
        |error: io::Error| Error::system(OPERATION, error).with("directory", directory.display());
    let file = File::open(directory).map_err(system)?;
    let begin = Instant::now();
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::WOULDBLOCK | Errno::INTR) if begin.elapsed() < LOCK_MAX => {
                std::thread::sleep(LOCK_PAUSE)
            }
            Err(Errno::WOULDBLOCK) => {
                let message = "another process holds the lock of the socket's directory";
                return Err(Error::new(ErrorKind::Unreachable, OPERATION, message)
                    .with("directory", directory.display())
                    .fix("try again, or use your own directory"));
            }
            Err(errno) => return Err(system(errno.into())),
        }
    }
}
