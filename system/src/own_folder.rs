//! A folder in which a process keeps what later ones go on with: for its user alone, and for one
//! process at a time.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};
use rustix::fs::{FlockOperation, OFlags, flock};

/// What errors say of a folder.
#[derive(Clone, Copy, Debug)]
pub struct Purpose {
    /// What is being done.
    pub operation: &'static str,
    /// The folder, as in "the results directory".
    pub folder: &'static str,
    /// Where its path is set, as in "`results_dir` in farcall.toml".
    pub option: &'static str,
}

/// An open folder. Its lock is held while this value lives.
#[derive(Debug)]
pub struct OwnFolder {
    path: PathBuf,
    /// The folder itself, to have names in it on the disk.
    handle: File,
    _lock: File,
}

impl OwnFolder {
    /// Opens the folder, and makes it if it is absent.
    ///
    /// # Errors
    /// `PermissionDenied` for one that others may use, `Unavailable` for one that another process
    /// uses, `System`.
    pub fn open(path: &Path, purpose: Purpose) -> Result<OwnFolder> {
        let Purpose { operation, folder, option } = purpose;
        let system = |error| Error::system(operation, error).with("folder", path.display());
        make(path).map_err(system)?;
        let handle = OpenOptions::new()
            .read(true)
            .custom_flags((OFlags::DIRECTORY | OFlags::NOFOLLOW).bits() as i32)
            .open(path)
            .map_err(system)?;
        let about = handle.metadata().map_err(system)?;
        if about.mode() & 0o077 != 0 || about.uid() != rustix::process::geteuid().as_raw() {
            let message = format!("other users may read or write {folder}");
            return Err(Error::new(ErrorKind::PermissionDenied, operation, message)
                .with("folder", path.display())
                .with("mode", format!("{:o}", about.mode() & 0o7777))
                .fix(format!(
                    "run chmod 700 on it if it is yours alone, or set {option} to another directory"
                )));
        }
        let lock = private_file(&path.join("lock"), OFlags::CREATE).map_err(system)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            let message = format!("another process uses {folder}");
            Error::new(ErrorKind::Unavailable, operation, message)
                .with("folder", path.display())
                .retryable()
                .fix(format!("stop the other server, or give each its own directory: {option}"))
        })?;
        Ok(OwnFolder { path: path.to_owned(), handle, _lock: lock })
    }

    /// Where it was when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the folder that is open still has its name: somebody may have removed it, or put
    /// another in its place.
    pub fn is_in_place(&self) -> bool {
        let identity = |about: fs::Metadata| (about.dev(), about.ino());
        let named = fs::symlink_metadata(&self.path).map(identity);
        let held = self.handle.metadata().map(identity);
        matches!((named, held), (Ok(named), Ok(held)) if named == held)
    }

    /// Has the names in it on the disk.
    ///
    /// # Errors
    /// What the system says; some file systems sync no folders.
    pub fn sync(&self) -> io::Result<()> {
        self.handle.sync_all()
    }
}

/// A file for its owner alone, which is no link; `CREATE` and `EXCL` mean what they do in `open`.
///
/// # Errors
/// What the system says.
pub fn private_file(path: &Path, flags: OFlags) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(flags.contains(OFlags::CREATE))
        .create_new(flags.contains(OFlags::EXCL))
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(path)
}

/// Makes the folder if it is absent, and has it on the disk under all names that are new.
fn make(path: &Path) -> io::Result<()> {
    let new: Vec<&Path> = path.ancestors().take_while(|one| !one.exists()).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    for parent in new.into_iter().filter_map(Path::parent) {
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        // Some file systems sync no folders.
        let _ = File::open(parent).and_then(|folder| folder.sync_all());
    }
    Ok(())
}
