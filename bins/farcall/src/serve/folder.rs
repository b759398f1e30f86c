//! The folder of a private server: its user alone can enter it, and it goes with its server,
//! however that ends.
//!
//! A server that is killed leaves its folder behind, so the next one removes those whose server is
//! dead. A server holds the lock of a file in its folder as long as it lives: a lock cannot be left
//! behind, as a process number can.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};
use farcall_system::temporary;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};

/// Names tried for one process before it gives up.
const NAMES_MAX: u32 = 100;
/// Entries of the base folder that are looked at for dead servers' folders: a shared one may hold
/// any number.
const ENTRIES_MAX: usize = 10_000;
/// The file whose lock says that the server lives.
const LOCK: &str = "lock";
/// The socket file.
const SOCKET: &str = "s";
/// The folder of files that were sent to it.
const PUBLISHED: &str = "published";
/// The folder of its store.
const STORE: &str = "store";
/// The socket's name while it is being bound begins like this; a process number follows.
const FRESH_SOCKET: &str = ".f";

/// A folder only this user can enter, removed with its socket at the end.
pub struct PrivateFolder {
    path: PathBuf,
    /// Its lock is held while this value lives.
    _lock: File,
}

impl PrivateFolder {
    /// Makes one where this user's sockets belong, and removes those of servers that were killed.
    ///
    /// # Errors
    /// `System` when no folder can be made.
    pub fn new() -> Result<PrivateFolder> {
        let base = std::env::var_os("XDG_RUNTIME_DIR")
            .filter(|value| !value.is_empty())
            .map(PathBuf::from);
        let base = base.filter(|base| base.is_dir()).unwrap_or_else(temporary::folder);
        remove_dead(&base);
        PrivateFolder::make(&base)
    }

    fn make(base: &Path) -> Result<PrivateFolder> {
        for attempt in 0..NAMES_MAX {
            let path = base.join(format!("farcall-{}-{attempt}", std::process::id()));
            let made = match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => claim(&path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
                Err(error) => Err(error),
            };
            match made {
                Ok(Some(lock)) => return Ok(PrivateFolder { path, _lock: lock }),
                Ok(None) => {}
                Err(error) => {
                    return Err(Error::system("make a private folder", error)
                        .with("folder", path.display()));
                }
            }
        }
        Err(Error::new(ErrorKind::System, "make a private folder", "every name is taken")
            .with("in", base.display()))
    }

    /// Where its server listens.
    pub fn socket(&self) -> PathBuf {
        self.path.join(SOCKET)
    }

    /// Where it keeps files that are sent to it.
    pub fn published(&self) -> PathBuf {
        self.path.join(PUBLISHED)
    }

    /// Where its store lies, if it keeps something.
    pub fn store(&self) -> PathBuf {
        self.path.join(STORE)
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // What stays behind is removed by the next private server.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Takes the lock of a folder that was made just now; `None` when another server took it for a dead
/// one's and removed it in between. The folder's own lock keeps the two apart: what is there once
/// we hold it stays.
fn claim(path: &Path) -> io::Result<Option<File>> {
    match lock_in(path) {
        Ok(lock) => Ok(Some(lock)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn lock_in(path: &Path) -> io::Result<File> {
    let folder = open_folder(path)?;
    rustix::fs::flock(&folder, FlockOperation::LockExclusive)?;
    let lock = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path.join(LOCK))?;
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    Ok(lock)
}

fn open_folder(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Removes the folders of servers that are dead. What cannot be judged or removed stays: it harms
/// nobody.
fn remove_dead(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    let names = entries.take(ENTRIES_MAX).flatten().map(|entry| entry.file_name());
    for name in names.filter(|name| name.to_str().is_some_and(is_folder_name)) {
        let _ = remove_if_dead(&base.join(name));
    }
}

/// `farcall-PROCESS-NUMBER`.
fn is_folder_name(name: &str) -> bool {
    let numbers = name.strip_prefix("farcall-").and_then(|rest| rest.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

fn remove_if_dead(path: &Path) -> io::Result<()> {
    let folder = open_folder(path)?;
    let metadata = folder.metadata()?;
    if metadata.uid() != farcall_transport_unix::own_uid() || metadata.mode() & 0o7777 != 0o700 {
        return Ok(());
    }
    rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    let names = names_in(path)?;
    if names.iter().any(|(name, is_ours)| name == LOCK && *is_ours) {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = rustix::fs::openat(&folder, LOCK, flags, Mode::empty())?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    }
    if !names.iter().all(|(_, is_ours)| *is_ours) {
        return Ok(());
    }
    for (name, _) in names {
        match name == PUBLISHED || name == STORE {
            true => fs::remove_dir_all(path.join(name))?,
            false => rustix::fs::unlinkat(&folder, name, AtFlags::empty())?,
        }
    }
    fs::remove_dir(path)
}

/// The names in a folder, and which of them a private server made.
fn names_in(path: &Path) -> io::Result<Vec<(String, bool)>> {
    let entry = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let file_type = entry.file_type()?;
        let is_socket = name == SOCKET || name.starts_with(FRESH_SOCKET);
        let is_ours = match name.as_str() {
            LOCK => file_type.is_file(),
            PUBLISHED | STORE => file_type.is_dir(),
            _ => is_socket && file_type.is_socket(),
        };
        Ok((name, is_ours))
    };
    // One more than a server makes is enough to see that somebody else made it.
    fs::read_dir(path)?.take(6).map(|found| found.and_then(entry)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "folder_tests.rs"]
mod tests;
