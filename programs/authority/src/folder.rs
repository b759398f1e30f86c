//! The authority's folder: nobody but its owner looks into it, and its files are replaced whole.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use rustix::fs::FlockOperation;
use rustix::io::Errno;

/// Certificate and key of the server.
pub const SERVER_FILE: &str = "server.pem";
/// The list of revoked certificates.
pub const REVOKED_FILE: &str = "revoked.crl";
const OPERATION: &str = "keep the authority's files";
const OTHERS: u32 = 0o077;
/// How often it is looked whether another process that changes the folder is done.
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// `$FARCALL_CA`, or `farcall/ca` among the user's configuration (`$XDG_CONFIG_HOME`, or
/// `~/.config`).
pub fn authority_folder() -> PathBuf {
    named("FARCALL_CA").unwrap_or_else(|| config_folder().join("ca"))
}

/// `farcall` among the user's configuration.
pub fn config_folder() -> PathBuf {
    let home = || named("HOME").unwrap_or_else(|| PathBuf::from("/")).join(".config");
    named("XDG_CONFIG_HOME").unwrap_or_else(home).join("farcall")
}

fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A folder that this process alone changes.
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    _lock: File,
}

/// Takes the lock as soon as nobody else has it.
fn wait_for(lock: &File, path: &Path, busy_max: Duration) -> Result<()> {
    let until = Instant::now() + busy_max;
    loop {
        match rustix::fs::flock(lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) if Instant::now() < until => std::thread::sleep(BUSY_PAUSE),
            Err(Errno::WOULDBLOCK) => {
                let message = "another farcall ca uses the directory and does not finish";
                return Err(Error::new(ErrorKind::TimedOut, OPERATION, message)
                    .with("path", path.display())
                    .fix(
                        "stop that process (`fuser` on the file lock in the directory names it), \
                        and try again",
                    ));
            }
            Err(errno) => {
                return Err(Error::system(OPERATION, errno.into()).with("path", path.display()));
            }
        }
    }
}

impl Folder {
    /// Makes the folder where there is none, and waits for so long for whoever changes it.
    ///
    /// # Errors
    /// `PermissionDenied` when others can look into it, with the command that shuts it.
    pub fn make(path: &Path, busy_max: Duration) -> Result<Folder> {
        let system =
            |error: std::io::Error| Error::system(OPERATION, error).with("path", path.display());
        private_folders(path).map_err(system)?;
        let status = fs::metadata(path).map_err(system)?;
        if status.mode() & OTHERS != 0 {
            let message =
                format!("other users can read the directory (mode {:o})", status.mode() & 0o7777);
            return Err(Error::new(ErrorKind::PermissionDenied, OPERATION, message)
                .with("path", path.display())
                .fix(format!("chmod 700 {}", path.display())));
        }
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path.join("lock"));
        let lock = lock.map_err(system)?;
        wait_for(&lock, path, busy_max)?;
        Ok(Folder { path: path.to_owned(), _lock: lock })
    }

    /// Its certificate and key.
    pub fn authority(&self) -> PathBuf {
        self.path.join("authority.pem")
    }

    /// What it gave.
    pub fn issued(&self) -> PathBuf {
        self.path.join("issued.json")
    }

    /// Replaces a file that only its owner may read.
    ///
    /// # Errors
    /// `System`.
    pub fn write_private(&self, path: &Path, text: &str) -> Result<()> {
        replace(path, text, 0o600)
    }

    /// Replaces a file that servers of other users may read.
    ///
    /// # Errors
    /// `System`.
    pub fn write_public(&self, path: &Path, text: &str) -> Result<()> {
        replace(path, text, 0o644)
    }
}

fn private_folders(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A reader finds the old file or the new one, never a part; so does one that comes after a power
/// failure.
fn replace(path: &Path, text: &str, mode: u32) -> Result<()> {
    let system =
        |error: std::io::Error| Error::system(OPERATION, error).with("path", path.display());
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        private_folders(folder).map_err(system)?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let fresh = PathBuf::from(name);
    // create_new (O_EXCL) follows no link that somebody planted.
    let written = OpenOptions::new().write(true).create_new(true).mode(mode).open(&fresh).and_then(
        |mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        },
    );
    written.and_then(|()| fs::rename(&fresh, path)).map_err(|error| {
        let _ = fs::remove_file(&fresh);
        system(error)
    })
}
