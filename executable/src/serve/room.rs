//! The module's working folder. A cleaner of temporary files may remove it; its name is made again
//! for others, but what confines this process names the folder that was. So this process takes no
//! more calls, and the next one begins in a new folder.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};

use crate::confine;

/// How often it is looked for before calls that need no files: their routines may use $TMPDIR.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Looks whether the folder is there.
pub struct WorkingFolder {
    /// `None` for a process that was given none.
    path: Option<PathBuf>,
    looked: Instant,
}

impl WorkingFolder {
    /// That of this process.
    pub fn own() -> WorkingFolder {
        let path = confine::rules().ok().and_then(|rules| rules.folder.as_ref().map(PathBuf::from));
        WorkingFolder { path: path.filter(|path| path.exists()), looked: Instant::now() }
    }

    /// Before a call is taken, which `has_files` or not: so it can still be given to another
    /// process.
    ///
    /// # Errors
    /// `Unavailable` when the folder is gone.
    pub fn check(&mut self, has_files: bool) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        if !has_files && self.looked.elapsed() < LOOK_EVERY {
            return Ok(());
        }
        self.looked = Instant::now();
        if !matches!(path.try_exists(), Ok(false)) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unavailable, "take a call", "the working directory was removed")
            .with("folder", path.display())
            .fix(
                "configure programs that clean temporary files to skip locked directories, as \
                systemd-tmpfiles does",
            ))
    }
}
