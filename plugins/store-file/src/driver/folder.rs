//! The folder of a store: for its owner alone, and for one server at a time.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};
use farcall_sealed::{KEY_BYTES, Sealer};
use farcall_system::key_file;
use rustix::fs::{FlockOperation, OFlags, flock};

use super::file::OPERATION;
use crate::options::Settings;

/// The table of keys and values.
const FILE: &str = "store.redb";
/// The key, unless the manifest names another file.
const KEY: &str = "key";
/// Its lock says that a server uses the store.
const LOCK: &str = "lock";

/// Whether something may have been kept by these settings.
pub fn has_table(settings: &Settings) -> bool {
    settings.folder().is_ok_and(|folder| folder.join(FILE).exists())
}

/// An open folder. Its lock is held while this value lives.
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Opens the folder, and makes it if it is absent.
    ///
    /// # Errors
    /// `PermissionDenied` for one that others may use, `Unavailable` for one that another process
    /// uses, `System`.
    pub fn open(path: &Path) -> Result<Folder> {
        let system = |error| Error::system(OPERATION, error).with("folder", path.display());
        make(path).map_err(system)?;
        let handle = OpenOptions::new()
            .read(true)
            .custom_flags((OFlags::DIRECTORY | OFlags::NOFOLLOW).bits() as i32)
            .open(path);
        let about = handle.and_then(|folder| folder.metadata()).map_err(system)?;
        if about.mode() & 0o077 != 0 || about.uid() != rustix::process::geteuid().as_raw() {
            let message = "other users may read or write the directory of the store";
            return Err(Error::new(ErrorKind::PermissionDenied, OPERATION, message)
                .with("folder", path.display())
                .with("mode", format!("{:o}", about.mode() & 0o7777))
                .fix(
                    "run chmod 700 on it if it is yours alone, or set folder of store-file in \
                    farcall.toml to another directory",
                ));
        }
        let lock = private(&path.join(LOCK)).map_err(system)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            Error::new(ErrorKind::Unavailable, OPERATION, "another process uses the store")
                .with("folder", path.display())
                .retryable()
                .fix(
                    "stop the other server, or give each its own directory: folder of store-file \
                    in farcall.toml",
                )
        })?;
        Ok(Folder { path: path.to_owned(), _lock: lock })
    }

    /// Where the table lies.
    pub fn table(&self) -> PathBuf {
        self.path.join(FILE)
    }

    /// The file of the table, for this user alone. The name of a new one is on the disk.
    ///
    /// # Errors
    /// `System`.
    pub fn open_table(&self) -> Result<File> {
        let system = |error| Error::system(OPERATION, error).with("file", self.table().display());
        let is_new = !self.table().exists();
        let file = private(&self.table()).map_err(system)?;
        if is_new {
            sync(&self.path);
        }
        Ok(file)
    }

    /// What seals values. `is_new`: nothing was sealed yet.
    ///
    /// # Errors
    /// `NotFound` where values were sealed with a key that is gone; what is wrong with the key file.
    pub fn sealer(&self, key_file: &str, is_new: bool) -> Result<Sealer> {
        let path = if key_file.is_empty() { self.path.join(KEY) } else { PathBuf::from(key_file) };
        let key: Result<[u8; KEY_BYTES]> = match key_file::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound && is_new => key_file::create(&path),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let message = "the key that its values were encrypted with is gone";
                Err(Error::new(ErrorKind::NotFound, OPERATION, message)
                    .with("path", path.display())
                    .with("folder", self.path.display())
                    .fix(
                        "put the key file back; without it the values cannot be read: move the \
                        directory away to begin with an empty store",
                    ))
            }
            other => other,
        };
        Ok(Sealer::new(&key?))
    }
}

/// Makes the folder if it is absent, and has it on the disk under all names that are new.
fn make(path: &Path) -> io::Result<()> {
    let new: Vec<&Path> = path.ancestors().take_while(|one| !one.exists()).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    for parent in new.into_iter().filter_map(Path::parent) {
        sync(if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
    }
    Ok(())
}

/// Some file systems sync no folders: nothing can be done there.
fn sync(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// A file for its owner alone, which is no link.
fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(path)
}
