//! The folder of a store: for its owner alone, and for one server at a time.

use std::fs::File;
use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};
use farcall_sealed::{KEY_BYTES, Sealer};
use farcall_system::key_file;
use farcall_system::own_folder::{OwnFolder, Purpose, private_file};
use rustix::fs::OFlags;

use super::file::OPERATION;
use crate::options::Settings;

/// The table of keys and values.
const FILE: &str = "store.redb";
/// The key, unless the manifest names another file.
const KEY: &str = "key";

/// Whether something may have been kept by these settings.
pub fn has_table(settings: &Settings) -> bool {
    settings.folder().is_ok_and(|folder| folder.join(FILE).exists())
}

/// An open folder. Its lock is held while this value lives.
pub struct Folder(OwnFolder);

impl Folder {
    /// Opens the folder, and makes it if it is absent.
    ///
    /// # Errors
    /// Those of [`OwnFolder::open`].
    pub fn open(path: &Path) -> Result<Folder> {
        const PURPOSE: Purpose = Purpose {
            operation: OPERATION,
            folder: "the directory of the store",
            option: "folder of store-file in farcall.toml",
        };
        Ok(Folder(OwnFolder::open(path, PURPOSE)?))
    }

    /// Where the table lies.
    pub fn table(&self) -> PathBuf {
        self.0.path().join(FILE)
    }

    /// The file of the table, for this user alone. The name of a new one is on the disk.
    ///
    /// # Errors
    /// `System`.
    pub fn open_table(&self) -> Result<File> {
        let system = |error| Error::system(OPERATION, error).with("file", self.table().display());
        let is_new = !self.table().exists();
        let file = private_file(&self.table(), OFlags::CREATE).map_err(system)?;
        if is_new {
            // Some file systems sync no folders: nothing can be done there.
            let _ = self.0.sync();
        }
        Ok(file)
    }

    /// What seals values. `is_new`: nothing was sealed yet.
    ///
    /// # Errors
    /// `NotFound` where values were sealed with a key that is gone; what is wrong with the key file.
    pub fn sealer(&self, key_file: &str, is_new: bool) -> Result<Sealer> {
        let path =
            if key_file.is_empty() { self.0.path().join(KEY) } else { PathBuf::from(key_file) };
        let key: Result<[u8; KEY_BYTES]> = match key_file::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound && is_new => key_file::create(&path),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let message = "the key that its values were encrypted with is gone";
                Err(Error::new(ErrorKind::NotFound, OPERATION, message)
                    .with("path", path.display())
                    .with("folder", self.0.path().display())
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
